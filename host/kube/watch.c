/* One watch: opening it, the events of its stream, and why it ended. Coming back is the
 * reflector's. */
#include "kube/client_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "kube/decode.h"

#include <stdio.h>

#define OPEN_GRACE (30 * PL_SECOND) /* beyond timeoutSeconds: then the server forgot the watch */
#define QUOTED     200              /* bytes from the start of a stream that is none */

struct pl_watch {
    struct pl_link link;      /* in client->watches; first, for pl_client_destroy */
    struct pl_client *client; /* back-pointer */
    const struct pl_resource *resource;
    bool metadata_only;
    struct pl_wire wire;
    const char *path;
    int64_t silence_ns, deadline_ns; /* deadline 0: none */
    struct pl_attempt *attempt;      /* NULL: ending */
    struct pl_timer timer;           /* against a server that does not open, or tells the end */
    struct pl_wait wait;
    struct pl_scan_options scan_options;
    struct pl_scan *scan;      /* NULL: not open */
    struct pl_decoder decoder; /* of an answer that is no stream */
    char first[QUOTED];        /* of the stream, until an event was understood */
    size_t first_len;
    bool understood;
    int64_t retry_after_ms;
    int64_t heard_ns; /* when the latest bytes came */
    bool renewed_once;
    bool feeding; /* inside pl_scan_feed: the scanner and the watch must stay */
    bool ended;   /* on_end was called inside of feeding */
    struct pl_err err;
    const struct pl_watch_ops *ops;
    void *arg;
};

static void send_attempt(struct pl_watch *watch);

/* ---- the end ---- */

static void destroy(struct pl_watch *watch)
{
    pl_scan_destroy(watch->scan);
    pl_decoder_reset(&watch->decoder);
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
    if (!watch->feeding)
        destroy(watch);
}

static void on_finish(struct pl_timer *timer)
{
    complete(PL_CONTAINER_OF(timer, struct pl_watch, timer));
}

static void finish_later(struct pl_watch *watch)
{
    pl_attempt_cancel(watch->attempt);
    watch->attempt = NULL;
    pl_timer_start(watch->client->timers, &watch->timer, 0, on_finish);
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
    finish_later(watch);
}

static void on_not_opened(struct pl_timer *timer)
{
    struct pl_watch *watch = PL_CONTAINER_OF(timer, struct pl_watch, timer);
    watch->client->distrusted_lanes |= 1;
    pl_err_set(&watch->err, PL_ETIMEOUT, "the server did not open the watch of %s in time",
               watch->path);
    finish_later(watch);
}

int64_t pl_watches_heard(const struct pl_client *client)
{
    int64_t heard = INT64_MAX;
    PL_LIST_FOR (link, &client->watches) {
        struct pl_watch *watch = PL_CONTAINER_OF(link, struct pl_watch, link);
        if (watch->scan != NULL && watch->attempt != NULL && watch->heard_ns < heard)
            heard = watch->heard_ns;
    }
    return heard;
}

void pl_watches_give_up(struct pl_client *client, int64_t since_ns)
{
    PL_LIST_FOR (link, &client->watches) {
        struct pl_watch *watch = PL_CONTAINER_OF(link, struct pl_watch, link);
        if (watch->scan == NULL || watch->attempt == NULL || watch->heard_ns > since_ns)
            continue;
        pl_err_set(&watch->err, PL_ETIMEOUT,
                   "watch of %s: silent, and the server gave no sign of life when asked",
                   watch->path);
        snprintf(watch->err.reason, sizeof watch->err.reason, "Silence");
        finish_later(watch);
    }
}

/* ---- events ---- */

static enum pl_watch_type type_of(struct pl_slice type)
{
    static const char *const names[] = {
        [PL_WATCH_ADDED] = "ADDED",     [PL_WATCH_MODIFIED] = "MODIFIED",
        [PL_WATCH_DELETED] = "DELETED", [PL_WATCH_BOOKMARK] = "BOOKMARK",
        [PL_WATCH_ERROR] = "ERROR",
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        if (pl_slice_eqz(type, names[i]))
            return (enum pl_watch_type)i;
    }
    return PL_WATCH_UNKNOWN;
}

static int on_doc(void *arg, struct pl_slice type_name, struct pl_doc *doc)
{
    struct pl_watch *watch = arg;
    enum pl_watch_type type = type_of(type_name);
    watch->understood = true;
    if (type != PL_WATCH_ERROR && type != PL_WATCH_UNKNOWN)
        doc = pl_doc_with_kind(doc, &watch->resource->kind, watch->metadata_only,
                               watch->scan_options.pool);
    watch->ops->on_event(watch->arg, type, doc);
    return watch->ended || watch->attempt == NULL ? PL_ECANCELED : 0;
}

static int on_list(void *arg, struct pl_doc *list)
{
    PL_UNUSED(arg);
    pl_doc_unref(list);
    return 0;
}

static void explain(struct pl_watch *watch, const struct pl_err *err)
{
    if (watch->err.code != 0)
        return;
    watch->err = *err;
    if (err->code == PL_ESYNTAX && !watch->understood && watch->first_len > 0)
        pl_err_set(&watch->err, PL_ESYNTAX, "%s (it begins with \"%.*s\")", err->message,
                   (int)(watch->first_len < 80 ? watch->first_len : 80), watch->first);
    if (err->code == PL_ELIMIT)
        pl_err_prefix(&watch->err, "an event is too long (at most %u bytes)", PL_SCAN_BYTES);
    pl_err_prefix(&watch->err, "watch of %s", watch->path);
}

static int feed(struct pl_watch *watch, struct pl_slice piece)
{
    struct pl_err err;
    watch->heard_ns = pl_client_now(watch->client);
    if (!watch->understood && watch->first_len < QUOTED) {
        size_t room = QUOTED - watch->first_len;
        size_t n = piece.len < room ? piece.len : room;
        memcpy(watch->first + watch->first_len, piece.ptr, n);
        watch->first_len += n;
    }
    watch->feeding = true;
    int code = pl_scan_feed(watch->scan, piece, &err);
    watch->feeding = false;
    if (watch->ended) {
        destroy(watch);
        return PL_ECANCELED;
    }
    if (code != 0 && code != PL_ECANCELED)
        explain(watch, &err);
    return code;
}

/* ---- the attempt ---- */

static void on_response(void *owner, const struct pl_http_response *response)
{
    struct pl_watch *watch = owner;
    watch->retry_after_ms = pl_retry_after_ms(response);
    pl_decoder_begin(&watch->decoder, response);
    if (watch->decoder.scan == NULL)
        return;
    watch->scan =
        pl_scan_create(PL_SCAN_WATCH, &watch->scan_options,
                       &(struct pl_scan_sink){.on_doc = on_doc, .on_list = on_list, .arg = watch});
    pl_timer_stop(watch->client->timers, &watch->timer);
    if (watch->client->waits != NULL)
        pl_wait_begin_open(watch->client->waits, &watch->wait, "watch", watch->path,
                           "a watch ends when the server says so");
    watch->heard_ns = pl_client_now(watch->client);
    pl_probe_expect(watch->client);
    if (watch->ops->on_open != NULL)
        watch->ops->on_open(watch->arg);
}

static int on_body(void *owner, struct pl_slice piece)
{
    struct pl_watch *watch = owner;
    return watch->scan != NULL ? feed(watch, piece) : pl_decoder_feed(&watch->decoder, piece);
}

static void on_done(void *owner, const struct pl_err *err, bool renewed)
{
    struct pl_watch *watch = owner;
    watch->attempt = NULL;
    if (watch->err.code != 0) { /* what the scanner said counts */
        complete(watch);
        return;
    }
    if (err != NULL)
        watch->err = *err;
    else if (watch->scan == NULL)
        pl_decoder_end(&watch->decoder, &watch->err);
    if (watch->err.status == 401 && renewed && !watch->renewed_once) {
        watch->renewed_once = true;
        pl_err_clear(&watch->err);
        pl_decoder_reset(&watch->decoder);
        send_attempt(watch);
        return;
    }
    if (watch->err.code == PL_EAPI && watch->retry_after_ms >= 0)
        watch->err.retry_after_ms = watch->retry_after_ms;
    complete(watch);
}

static const struct pl_attempt_ops attempt_ops = {on_response, on_body, on_done};

static void send_attempt(struct pl_watch *watch)
{
    struct pl_attempt_spec spec = {
        .wire = &watch->wire,
        .deadline_ns = watch->deadline_ns,
        .silence_ns = watch->silence_ns,
        .long_response = true, /* a list may come before its events */
    };
    watch->attempt = pl_attempt_start(watch->client, &spec, &attempt_ops, watch);
}

struct pl_watch *pl_client_watch(struct pl_client *client, const struct pl_watch_call *call,
                                 const struct pl_watch_ops *ops, void *arg)
{
    struct pl_watch *watch = PL_NEW(struct pl_watch);
    watch->client = client;
    watch->resource = call->resource;
    watch->metadata_only = call->metadata_only;
    watch->ops = ops;
    watch->arg = arg;
    watch->silence_ns = call->silence_ns;
    if (call->timeout_seconds > 0)
        watch->deadline_ns = pl_client_now(client) + call->timeout_seconds * PL_SECOND + OPEN_GRACE;
    watch->scan_options = (struct pl_scan_options){
        .pool = client->pool,
        .keep_managed_fields = call->keep_managed_fields,
    };
    pl_err_clear(&watch->err);
    pl_list_push(&client->watches, &watch->link);
    watch->path = "";
    if (pl_wire_of_watch(&watch->wire, client->config->server, call, &watch->err) != 0) {
        finish_later(watch);
        return watch;
    }
    watch->path = pl_buf_z(&watch->wire.url) + strlen(client->config->server);
    pl_client_wait(client, &watch->wait, "opening a watch", watch->path,
                   client->request_timeout_ns);
    pl_timer_start(client->timers, &watch->timer, client->request_timeout_ns, on_not_opened);
    send_attempt(watch);
    return watch;
}
