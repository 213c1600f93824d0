/* One operation: attempts, and the waits between them, until there is an answer or the deadline has
 * passed. */
#include "kube/op_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "kube/decode_thread.h"
#include "kube/status.h"
#include "kube/warning.h"

#define MAX_RETRIES 10 /* rule 152 */
#define RECONNECT   (1 * PL_SECOND)
/* Lists are decoded while they arrive, and the size of each object is limited; this limit only ends
 * an answer without end. */
#define MAX_LIST ((size_t)8 << 30)

static struct pl_op *op_create(struct pl_client *client, const struct pl_op_asked *asked);
static void op_begin(struct pl_op *op);
static void attempt_now(struct pl_op *op);

/* ---- the end ---- */

static void drop_answer(struct pl_op *op)
{
    pl_decoding_drop(op->decoding);
    op->decoding = NULL;
    pl_docs_deinit(&op->items);
    pl_buf_clear(&op->token);
}

static void op_destroy(struct pl_op *op)
{
    drop_answer(op);
    pl_buf_deinit(&op->token);
    pl_buf_deinit(&op->warnings);
    pl_wire_deinit(&op->wire);
    pl_op_exec_deinit(op);
    pl_free(op);
}

static void end_op(struct pl_op *op)
{
    pl_link_unlink(&op->link);
    pl_wait_end(&op->wait);
    pl_timer_stop(op->client->timers, &op->timer);
}

static void on_op_finish(struct pl_timer *timer);

void pl_op_finish_later(struct pl_op *op)
{
    op->state = OP_FINISHING;
    pl_timer_start(op->client->timers, &op->timer, 0, on_op_finish);
}

/* The owner does not know it yet. */
static void forget_next(struct pl_op *op)
{
    struct pl_op *next = op->next;
    op->next = NULL;
    if (next == NULL)
        return;
    pl_attempt_cancel(next->attempt);
    end_op(next);
    op_destroy(next);
}

/* Gives the next page to the owner; if that page has ended, it is reported next. */
static struct pl_op *release_next(struct pl_op *op)
{
    struct pl_op *next = op->next;
    if (next == NULL)
        return NULL;
    op->next = next->front = NULL;
    if (next->state == OP_HELD)
        pl_op_finish_later(next);
    return next;
}

static void complete(struct pl_op *op)
{
    bool failed = op->err.code != 0;
    if (op->front != NULL) {
        op->state = OP_HELD;
        return;
    }
    if (failed)
        forget_next(op);
    struct pl_decoder *decoder = op->decoding != NULL ? pl_decoding_decoder(op->decoding) : NULL;
    end_op(op);
    bool is_text = !failed && decoder != NULL && decoder->is_text;
    struct pl_answer answer = {
        .err = failed ? &op->err : NULL,
        .status = decoder != NULL ? decoder->status : 0,
        .doc = decoder != NULL ? decoder->doc : NULL,
        .text = is_text ? pl_slice(pl_buf_z(&decoder->text), decoder->text.len) : pl_slice(NULL, 0),
        .exec = !failed && op->exec.run != NULL ? pl_exec_end(op->exec.run, NULL) : NULL,
        .warnings = pl_buf_slice(&op->warnings),
        .items = op->asked.expected.form == PL_FORM_LIST && !failed ? &op->items : NULL,
        .next = release_next(op),
    };
    op->asked.on_answer(op->asked.arg, &answer); /* may destroy the client */
    op_destroy(op);
}

static void on_op_finish(struct pl_timer *timer)
{
    complete(PL_CONTAINER_OF(timer, struct pl_op, timer));
}

static void drop_attempt(struct pl_op *op)
{
    forget_next(op);
    pl_attempt_cancel(op->attempt);
    op->attempt = NULL;
    drop_answer(op);
}

void pl_op_abort(struct pl_op *op)
{
    drop_attempt(op);
    pl_err_set(&op->err, PL_ECANCELED, "canceled");
    complete(op);
}

void pl_op_cancel(struct pl_op *op)
{
    drop_attempt(op);
    pl_err_set(&op->err, PL_ECANCELED, "canceled");
    pl_op_finish_later(op);
}

/* ---- one attempt ---- */

static void on_op_response(void *owner, const struct pl_http_response *response)
{
    struct pl_op *op = owner;
    op->retry_after_ms = pl_retry_after_ms(response);
    pl_buf_clear(&op->warnings);
    pl_warnings_add(&op->warnings, response);
    if (op->asked.exec && response->status == 101)
        pl_op_exec_begin(op, response);
    else
        pl_decoder_begin(pl_decoding_decoder(op->decoding), response);
}

static int on_op_body(void *owner, struct pl_slice piece)
{
    struct pl_op *op = owner;
    if (op->exec.run != NULL)
        return pl_op_exec_feed(op, piece);
    return pl_decoding_feed(op->decoding, piece);
}

static void on_items(void *owner, const struct pl_docs *items, const uint8_t *types)
{
    PL_UNUSED(types);
    struct pl_op *op = owner;
    pl_docs_reserve(&op->items, items->count);
    for (size_t i = 0; i < items->count; i++) {
        struct pl_doc *item = items->items[i];
        if (op->asked.each_item != NULL)
            item = op->asked.each_item(op->asked.each_item_arg, item);
        if (item != NULL)
            pl_docs_add(&op->items, item);
    }
}

static int64_t left_ns(const struct pl_op *op)
{
    return op->deadline_ns - pl_client_now(op->client);
}

static void on_op_pause_over(struct pl_timer *timer)
{
    struct pl_op *op = PL_CONTAINER_OF(timer, struct pl_op, timer);
    attempt_now(op);
}

static void pause_for(struct pl_op *op, int64_t delay_ns, const char *why)
{
    drop_answer(op);
    op->retries++;
    op->state = OP_PAUSED;
    pl_client_wait(op->client, &op->wait, why, op->path, left_ns(op));
    pl_timer_start(op->client->timers, &op->timer, delay_ns, on_op_pause_over);
}

/* Rule 152: 429 and 5xx with a Retry-After. Not for a version that the server has not reached: each
 * such answer took it 3 s already, and the caller will ask differently (rule 57, F12). */
static int64_t asked_delay(const struct pl_op *op)
{
    const struct pl_err *err = &op->err;
    if (err->code != PL_EAPI || err->retry_after_ms < 0 || pl_err_is_too_large_rv(err))
        return -1;
    return err->status == 429 || err->status >= 500 ? err->retry_after_ms * PL_MS : -1;
}

static bool connection_was_lost(const struct pl_op *op)
{
    if (op->asked.cut_is_final && pl_decoding_decoder(op->decoding)->status != 0)
        return false;
    return op->err.code == PL_ENETWORK && strcmp(op->err.reason, "ConnectionReset") == 0 &&
           (op->asked.verb == PL_VERB_GET || op->asked.verb == PL_VERB_LIST);
}

/* No part of it was processed, so even a write may be sent again (GOAWAY, F18). */
static bool was_not_processed(const struct pl_op *op)
{
    return op->err.code == PL_ENETWORK && strcmp(op->err.reason, "NotProcessed") == 0;
}

/* True when another attempt will follow. */
static bool op_try_again(struct pl_op *op)
{
    if (op->err.status == 401 && op->renewed && !op->renewed_once) {
        op->renewed_once = true;
        pause_for(op, 0, "retry with fresh credentials");
        return true;
    }
    int64_t delay = asked_delay(op);
    bool unused = was_not_processed(op);
    bool lost = unused || connection_was_lost(op);
    if (lost)
        delay = unused ? 0 : RECONNECT;
    if (delay < 0 || op->retries >= MAX_RETRIES || delay >= left_ns(op))
        return false;
    op->fresh = lost;
    pause_for(op, delay, lost ? "retry after a lost connection" : "retry after Retry-After");
    return true;
}

/* Requests the next page, so that the server makes and sends it while this one is decoded. */
static void fetch_next(struct pl_op *op)
{
    if (op->state != OP_DECODING || op->err.code != 0 || op->token.len == 0)
        return;
    struct pl_op *next = op_create(op->client, &op->asked);
    next->front = op;
    op->next = next;
    pl_wire_of_next_page(&next->wire, &op->wire, pl_buf_slice(&op->token));
    next->server_len = op->server_len;
    op_begin(next);
}

static void on_op_done(void *owner, const struct pl_err *err, bool renewed)
{
    struct pl_op *op = owner;
    op->attempt = NULL;
    op->state = OP_DECODING;
    op->renewed = renewed;
    pl_err_clear(&op->err);
    if (err != NULL)
        op->err = *err;
    if (op->exec.run != NULL) {
        pl_op_exec_done(op);
        return;
    }
    fetch_next(op);
    pl_decoding_end(op->decoding);
}

static void on_token(void *owner, struct pl_slice token)
{
    struct pl_op *op = owner;
    pl_buf_add_slice(&op->token, token);
    fetch_next(op);
}

static void on_decoded(void *owner)
{
    struct pl_op *op = owner;
    struct pl_decoder *decoder = pl_decoding_decoder(op->decoding);
    if (op->err.code == 0 || decoder->err.code != 0)
        op->err.code = pl_decoder_end(decoder, &op->err);
    if (op->err.code == PL_EAPI && op->retry_after_ms >= 0)
        op->err.retry_after_ms = op->retry_after_ms;
    if (op->err.code == PL_ESYNTAX || op->err.code == PL_ELIMIT)
        pl_err_prefix(&op->err, "the answer to %s %s", op->wire.method, op->path);
    if (op->err.code == 0 && op->asked.exec)
        pl_err_set(&op->err, PL_ENETWORK,
                   "exec: the server answered %d instead of switching to WebSocket; is there a "
                   "proxy between that does not let it pass?",
                   decoder->status);
    if (op->err.code == 0 || !op_try_again(op))
        complete(op);
}

static const struct pl_attempt_ops attempt_ops = {on_op_response, on_op_body, on_op_done};
static const struct pl_decoding_ops decoding_ops = {on_items, on_token, NULL, on_decoded};

static void find_path(struct pl_op *op)
{
    op->path = pl_buf_z(&op->wire.url) + op->server_len;
    if (!op->asked.exec)
        return;
    pl_free(op->exec.path);
    op->path = op->exec.path = pl_memdup0(op->path, strcspn(op->path, "?"));
}

/* The client may have been configured since the URL was made, and its credentials must not go to
 * another server than theirs. */
static void rebase(struct pl_op *op)
{
    struct pl_slice server = pl_slice_z(op->client->config->server);
    struct pl_buf url = PL_BUF_INIT;
    if (pl_slice_eq(server, pl_slice(op->wire.url.ptr, op->server_len)))
        return;
    pl_buf_add_slice(&url, server);
    pl_buf_add(&url, op->wire.url.ptr + op->server_len, op->wire.url.len - op->server_len);
    pl_buf_deinit(&op->wire.url);
    op->wire.url = url;
    op->server_len = server.len;
    find_path(op);
}

static void send_attempt(struct pl_op *op)
{
    rebase(op);
    bool is_list = op->asked.expected.form == PL_FORM_LIST;
    struct pl_attempt_spec spec = {
        .wire = &op->wire,
        .deadline_ns = op->deadline_ns,
        .max_response = is_list ? MAX_LIST : 2 * (size_t)PL_SCAN_BYTES,
        .long_response = is_list,
        .fresh_connection = op->fresh,
        .lane = op->asked.lane,
        .may_send = op->asked.may_send,
        .may_send_arg = op->asked.may_send_arg,
        .fence = op->asked.fence,
        .upgrade = op->asked.exec,
    };
    if (op->asked.exec)
        spec.max_response = 0; /* its output has a limit of its own */
    op->state = OP_SENT;
    op->retry_after_ms = -1;
    op->decoding = pl_decoding_create(op->asked.large ? op->client->decode_thread : NULL,
                                      &op->asked.expected, &decoding_ops, op);
    pl_client_wait(op->client, &op->wait, pl_verb_name(op->asked.verb), op->path, left_ns(op));
    op->attempt = pl_attempt_start(op->client, &spec, &attempt_ops, op);
}

static void on_limit_over(struct pl_timer *timer)
{
    send_attempt(PL_CONTAINER_OF(timer, struct pl_op, timer));
}

/* ---- waiting for the configuration ---- */

static void on_await_over(struct pl_timer *timer)
{
    struct pl_op *op = PL_CONTAINER_OF(timer, struct pl_op, timer);
    pl_err_set(&op->err, PL_ETIMEOUT, "%s", op->client->held->message);
    complete(op);
}

static void await_client(struct pl_op *op)
{
    op->state = OP_AWAITING;
    pl_client_wait(op->client, &op->wait, "the cluster's configuration", op->path, left_ns(op));
    pl_timer_start(op->client->timers, &op->timer, left_ns(op), on_await_over);
}

static void on_go_on(struct pl_timer *timer)
{
    attempt_now(PL_CONTAINER_OF(timer, struct pl_op, timer));
}

void pl_ops_go_on(struct pl_client *client)
{
    PL_LIST_FOR (link, &client->ops) {
        struct pl_op *op = (struct pl_op *)link;
        if (op->state == OP_AWAITING)
            pl_timer_start(client->timers, &op->timer, 0, on_go_on);
    }
}

/* Each attempt passes the client-side limit (rule 152). */
static void attempt_now(struct pl_op *op)
{
    int64_t delay = 0;
    if (op->client->awaited) {
        await_client(op);
        return;
    }
    if (op->asked.lane == 0 || op->asked.fence != NULL)
        delay = pl_client_limit(op->client);
    if (delay <= 0) {
        send_attempt(op);
    } else if (delay >= left_ns(op)) {
        pl_err_set(
            &op->err, PL_ETIMEOUT,
            "the client-side rate limit would delay this request by %.1f s, past its deadline",
            (double)delay / (double)PL_SECOND);
        pl_op_finish_later(op);
    } else {
        op->state = OP_LIMITED;
        pl_client_wait(op->client, &op->wait, "client-side rate limit", op->path, delay);
        pl_timer_start(op->client->timers, &op->timer, delay, on_limit_over);
    }
}

/* ---- start ---- */

static struct pl_op *op_create(struct pl_client *client, const struct pl_op_asked *asked)
{
    struct pl_op *op = PL_NEW(struct pl_op);
    op->client = client;
    op->asked = *asked;
    op->deadline_ns = pl_client_now(client) + asked->timeout_ns;
    op->path = "";
    pl_list_push(&client->ops, &op->link);
    pl_err_clear(&op->err);
    return op;
}

/* The wire is complete. */
static void op_begin(struct pl_op *op)
{
    find_path(op);
    attempt_now(op);
}

static void expect(struct pl_expected *expected, const struct pl_client *client,
                   const struct pl_call *call)
{
    expected->form = call->verb == PL_VERB_LIST ? PL_FORM_LIST : PL_FORM_OBJECT;
    expected->metadata_only = call->metadata_only;
    expected->takes_text = call->takes_text && call->verb == PL_VERB_GET;
    expected->has_kind = call->resource != NULL && call->subresource.len == 0;
    if (expected->has_kind)
        expected->kind = call->resource->kind;
    expected->pool = call->resource != NULL ? client->pool : NULL;
    expected->keep_managed_fields = call->keep_managed_fields;
}

struct pl_op *pl_client_start(struct pl_client *client, const struct pl_call *call,
                              pl_answer_fn on_answer, void *arg)
{
    pl_timers_require(client->timers);
    PL_REQUIRE(call->resource != NULL || call->raw_path.len > 0);
    PL_REQUIRE(call->connection_lane >= 0 && call->connection_lane < PL_HTTP_LANES);
    struct pl_op_asked asked = {
        .verb = call->verb,
        .lane = call->fence != NULL ? PL_HTTP_LANE_FENCED : call->connection_lane,
        .cut_is_final = call->cut_is_final,
        .large = call->large,
        .may_send = call->may_send,
        .may_send_arg = call->may_send_arg,
        .fence = call->fence,
        .exec = call->exec,
        .most = call->most,
        .timeout_ns = call->timeout_ns > 0 ? call->timeout_ns : client->request_timeout_ns,
        .each_item = call->each_item,
        .each_item_arg = call->each_item_arg,
        .on_answer = on_answer,
        .arg = arg,
    };
    expect(&asked.expected, client, call);
    struct pl_op *op = op_create(client, &asked);
    if (pl_wire_of_call(&op->wire, client->config->server, call, &op->err) != 0)
        pl_op_finish_later(op);
    op->server_len = strlen(client->config->server);
    if (op->state != OP_FINISHING && call->exec)
        pl_op_exec_prepare(op, call);
    if (op->state != OP_FINISHING)
        op_begin(op);
    return op;
}
