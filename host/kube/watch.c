/* One watch: opening it, the events of its stream, and the reason for its end. The reflector opens
 * it again. */
#include "kube/client_impl.h"

#include "base/alloc.h"
#include "kube/decode_thread.h"

#include <stdio.h>

#define OPEN_GRACE                                                                                 \
    (30 * PL_SECOND) /* added to timeoutSeconds: a server that has not ended the watch by then has \
                        forgotten it */
#define QUOTED 80    /* bytes of a stream's beginning that errors quote */

struct pl_watch {
    struct pl_link link;      /* in client->watches; first, for pl_client_destroy */
    struct pl_client *client; /* back-pointer */
    struct pl_expected expected;
    struct pl_decode_thread *thread; /* for the list it begins with; NULL: none */
    struct pl_wire wire;
    const char *path;
    int64_t silence_ns, deadline_ns; /* deadline 0: none */
    struct pl_attempt *attempt;      /* NULL: ended */
    struct pl_timer timer;           /* limits the opening, or reports the end */
    struct pl_wait wait;
    struct pl_decoding *decoding; /* of the attempt */
    bool open;
    bool understood; /* an event was understood */
    int64_t retry_after_ms;
    int64_t heard_ns; /* time of the latest bytes */
    bool renewed;     /* the latest answer was 401, and the credentials have changed now */
    bool renewed_once;
    bool telling; /* inside on_event: the watch must stay */
    bool ending;  /* the timer will report the end to its owner; there are no other callbacks */
    bool ended;   /* on_end was called */
    struct pl_err err;
    const struct pl_watch_ops *ops;
    void *arg;
};

static void send_attempt(struct pl_watch *watch);

/* ---- the end ---- */

static void watch_destroy(struct pl_watch *watch)
{
    pl_decoding_drop(watch->decoding);
    pl_wire_deinit(&watch->wire);
    pl_free(watch);
}

static void complete(struct pl_watch *watch)
{
    pl_link_unlink(&watch->link);
    pl_wait_end(&watch->wait);
    pl_timer_stop(watch->client->timers, &watch->timer);
    watch->ended = true;
    watch->ops->on_end(watch->arg, watch->err.code != 0 ? &watch->err : NULL);
    if (!watch->telling)
        watch_destroy(watch);
}

static void on_watch_finish(struct pl_timer *timer)
{
    complete(PL_CONTAINER_OF(timer, struct pl_watch, timer));
}

static void watch_finish_later(struct pl_watch *watch)
{
    pl_attempt_cancel(watch->attempt);
    watch->attempt = NULL;
    watch->ending = true;
    pl_timer_start(watch->client->timers, &watch->timer, 0, on_watch_finish);
}

void pl_watch_abort(struct pl_watch *watch)
{
    pl_attempt_cancel(watch->attempt);
    watch->attempt = NULL;
    pl_err_set(&watch->err, PL_ECANCELED, "canceled");
    complete(watch);
}

void pl_watch_cancel(struct pl_watch *watch)
{
    if (watch->ended)
        return;
    pl_err_set(&watch->err, PL_ECANCELED, "canceled");
    watch_finish_later(watch);
}

static void on_not_opened(struct pl_timer *timer)
{
    struct pl_watch *watch = PL_CONTAINER_OF(timer, struct pl_watch, timer);
    watch->client->distrusted_lanes |= 1;
    pl_err_set(&watch->err, PL_ETIMEOUT, "the server did not open the watch of %s in time",
               watch->path);
    watch_finish_later(watch);
}

int64_t pl_watches_heard(const struct pl_client *client)
{
    int64_t heard = INT64_MAX;
    PL_LIST_FOR (link, &client->watches) {
        struct pl_watch *watch = PL_CONTAINER_OF(link, struct pl_watch, link);
        if (watch->open && watch->attempt != NULL && watch->heard_ns < heard)
            heard = watch->heard_ns;
    }
    return heard;
}

void pl_watches_give_up(struct pl_client *client, int64_t since_ns)
{
    PL_LIST_FOR (link, &client->watches) {
        struct pl_watch *watch = PL_CONTAINER_OF(link, struct pl_watch, link);
        if (!watch->open || watch->attempt == NULL || watch->heard_ns > since_ns)
            continue;
        pl_err_set(&watch->err, PL_ETIMEOUT,
                   "watch of %s: no data, and the server did not answer a probe", watch->path);
        snprintf(watch->err.reason, sizeof watch->err.reason, "Silence");
        watch_finish_later(watch);
    }
}

/* ---- events ---- */

static void on_items(void *owner, const struct pl_docs *items, const uint8_t *types)
{
    struct pl_watch *watch = owner;
    watch->understood = watch->telling = true;
    for (size_t i = 0; i < items->count; i++) {
        if (watch->ending || watch->ended)
            pl_doc_unref(items->items[i]);
        else
            watch->ops->on_event(watch->arg, (enum pl_watch_type)types[i], items->items[i]);
    }
    watch->telling = false;
    if (watch->ended)
        watch_destroy(watch);
}

/* The error of the decoder. */
static void watch_explain(struct pl_watch *watch, const struct pl_decoder *decoder)
{
    struct pl_slice first = pl_buf_slice(&decoder->text);
    watch->err = decoder->err;
    if (watch->err.code == PL_ESYNTAX && !watch->understood && first.len > 0)
        pl_err_set(&watch->err, PL_ESYNTAX, "%s (it begins with \"%.*s\")", decoder->err.message,
                   (int)(first.len < QUOTED ? first.len : QUOTED), first.ptr);
    if (watch->err.code == PL_ELIMIT)
        pl_err_prefix(&watch->err, "an event is too long (at most %u bytes)", PL_SCAN_BYTES);
    pl_err_prefix(&watch->err, "watch of %s", watch->path);
}

/* ---- the attempt ---- */

static void on_watch_response(void *owner, const struct pl_http_response *response)
{
    struct pl_watch *watch = owner;
    struct pl_decoder *decoder = pl_decoding_decoder(watch->decoding);
    watch->retry_after_ms = pl_retry_after_ms(response);
    pl_decoder_begin(decoder, response);
    if (decoder->scan == NULL)
        return;
    watch->open = true;
    pl_timer_stop(watch->client->timers, &watch->timer);
    if (watch->client->waits != NULL)
        pl_wait_begin_open(watch->client->waits, &watch->wait, "watch", watch->path,
                           "a watch ends when the server says so");
    watch->heard_ns = pl_client_now(watch->client);
    pl_probe_expect(watch->client);
    if (watch->ops->on_open != NULL)
        watch->ops->on_open(watch->arg);
}

static int on_watch_body(void *owner, struct pl_slice piece)
{
    struct pl_watch *watch = owner;
    watch->heard_ns = pl_client_now(watch->client);
    return pl_decoding_feed(watch->decoding, piece);
}

static void on_watch_done(void *owner, const struct pl_err *err, bool renewed)
{
    struct pl_watch *watch = owner;
    watch->attempt = NULL;
    watch->renewed = renewed;
    if (err != NULL)
        watch->err = *err;
    pl_decoding_end(watch->decoding);
}

static void on_broken(void *owner)
{
    struct pl_watch *watch = owner;
    pl_attempt_cancel(watch->attempt);
    watch->attempt = NULL;
    pl_decoding_end(watch->decoding);
}

static void on_decoded(void *owner)
{
    struct pl_watch *watch = owner;
    struct pl_decoder *decoder = pl_decoding_decoder(watch->decoding);
    if (watch->ending)
        return;
    if (watch->open && decoder->err.code != 0)
        watch_explain(watch, decoder);
    else if (watch->err.code == 0)
        watch->err.code = pl_decoder_end(decoder, &watch->err);
    if (watch->err.status == 401 && watch->renewed && !watch->renewed_once) {
        watch->renewed_once = true;
        pl_err_clear(&watch->err);
        pl_decoding_drop(watch->decoding);
        send_attempt(watch);
        return;
    }
    if (watch->err.code == PL_EAPI && watch->retry_after_ms >= 0)
        watch->err.retry_after_ms = watch->retry_after_ms;
    complete(watch);
}

static const struct pl_attempt_ops attempt_ops = {on_watch_response, on_watch_body, on_watch_done};
static const struct pl_decoding_ops decoding_ops = {on_items, NULL, on_broken, on_decoded};

static void send_attempt(struct pl_watch *watch)
{
    struct pl_attempt_spec spec = {
        .wire = &watch->wire,
        .deadline_ns = watch->deadline_ns,
        .silence_ns = watch->silence_ns,
        .long_response = true, /* it may begin with a list */
    };
    watch->decoding = pl_decoding_create(watch->thread, &watch->expected, &decoding_ops, watch);
    watch->attempt = pl_attempt_start(watch->client, &spec, &attempt_ops, watch);
}

struct pl_watch *pl_client_watch(struct pl_client *client, const struct pl_watch_call *call,
                                 const struct pl_watch_ops *ops, void *arg)
{
    pl_timers_require(client->timers);
    struct pl_watch *watch = PL_NEW(struct pl_watch);
    watch->client = client;
    watch->thread = call->initial_events ? client->decode_thread : NULL;
    watch->expected = (struct pl_expected){
        .form = PL_FORM_EVENTS,
        .metadata_only = call->metadata_only,
        .has_kind = true,
        .kind = call->resource->kind,
        .pool = client->pool,
        .keep_managed_fields = call->keep_managed_fields,
    };
    watch->ops = ops;
    watch->arg = arg;
    watch->silence_ns = call->silence_ns;
    if (call->timeout_seconds > 0)
        watch->deadline_ns = pl_client_now(client) + call->timeout_seconds * PL_SECOND + OPEN_GRACE;
    pl_err_clear(&watch->err);
    pl_list_push(&client->watches, &watch->link);
    watch->path = "";
    if (pl_wire_of_watch(&watch->wire, client->config->server, call, &watch->err) != 0) {
        watch_finish_later(watch);
        return watch;
    }
    watch->path = pl_buf_z(&watch->wire.url) + strlen(client->config->server);
    pl_client_wait(client, &watch->wait, "opening a watch", watch->path,
                   client->request_timeout_ns);
    pl_timer_start(client->timers, &watch->timer, client->request_timeout_ns, on_not_opened);
    send_attempt(watch);
    return watch;
}
