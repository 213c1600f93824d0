/* One operation: attempts, and the waits between them, until there is an answer or the
 * deadline has come. */
#include "kube/client_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "kube/decode.h"
#include "kube/status.h"

#define MAX_RETRIES 10 /* rule 152 */
#define RECONNECT   (1 * PL_SECOND)
/* Lists are decoded while they come and their objects limited one by one; this only ends
 * an answer that never does. */
#define MAX_LIST ((size_t)8 << 30)

enum op_state {
    OP_LIMITED,   /* until the client-side limit lets it go */
    OP_SENT,      /* an attempt is under way */
    OP_PAUSED,    /* until the next attempt */
    OP_FINISHING, /* err is to be told */
};

struct pl_op {
    struct pl_link link;      /* in client->ops; first, for pl_client_destroy */
    struct pl_client *client; /* back-pointer */
    enum op_state state;
    enum pl_verb verb;
    int lane;
    bool (*may_send)(void *arg);
    void *may_send_arg;
    const struct pl_fence *fence;
    struct pl_wire wire;
    const char *path; /* in wire.url: who waits, for people */
    int64_t deadline_ns;
    struct pl_attempt *attempt; /* OP_SENT */
    struct pl_timer timer;      /* OP_LIMITED, OP_PAUSED, OP_FINISHING */
    struct pl_wait wait;
    struct pl_decoder decoder;
    int64_t retry_after_ms; /* of the latest answer's header; -1: none */
    int retries;
    bool renewed_once; /* 401 is answered with fresh credentials once */
    bool cut_is_final; /* a cut answer is the caller's */
    bool fresh;        /* the next attempt must not reuse a connection */
    struct pl_err err;
    pl_answer_fn on_answer;
    void *arg;
};

static void attempt_now(struct pl_op *op);

/* ---- the end ---- */

static void complete(struct pl_op *op)
{
    bool failed = op->err.code != 0;
    pl_link_unlink(&op->link);
    pl_wait_end(&op->wait);
    pl_timer_stop(op->client->timers, &op->timer);
    struct pl_answer answer = {
        .err = failed ? &op->err : NULL,
        .status = op->decoder.status,
        .doc = op->decoder.doc,
        .items = op->decoder.list && !failed ? &op->decoder.items : NULL,
    };
    op->on_answer(op->arg, &answer); /* may destroy the client */
    pl_decoder_reset(&op->decoder);
    pl_wire_deinit(&op->wire);
    pl_free(op);
}

static void on_finish(struct pl_timer *timer)
{
    complete(PL_CONTAINER_OF(timer, struct pl_op, timer));
}

/* op->err is set; the owner hears it at the next run of the timers. */
static void finish_later(struct pl_op *op)
{
    op->state = OP_FINISHING;
    pl_timer_start(op->client->timers, &op->timer, 0, on_finish);
}

static void drop_attempt(struct pl_op *op)
{
    pl_attempt_cancel(op->attempt);
    op->attempt = NULL;
    pl_decoder_reset(&op->decoder);
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
    finish_later(op);
}

/* ---- one attempt ---- */

static void on_response(void *owner, const struct pl_http_response *response)
{
    struct pl_op *op = owner;
    op->retry_after_ms = pl_retry_after_ms(response);
    pl_decoder_begin(&op->decoder, response);
}

static int on_body(void *owner, struct pl_slice piece)
{
    struct pl_op *op = owner;
    return pl_decoder_feed(&op->decoder, piece);
}

static int64_t left_ns(const struct pl_op *op)
{
    return op->deadline_ns - pl_client_now(op->client);
}

static void on_pause_over(struct pl_timer *timer)
{
    struct pl_op *op = PL_CONTAINER_OF(timer, struct pl_op, timer);
    attempt_now(op);
}

static void pause_for(struct pl_op *op, int64_t delay_ns, const char *why)
{
    pl_decoder_reset(&op->decoder);
    op->retries++;
    op->state = OP_PAUSED;
    pl_client_wait(op->client, &op->wait, why, op->path, left_ns(op));
    pl_timer_start(op->client->timers, &op->timer, delay_ns, on_pause_over);
}

/* Rule 152: 429 and 5xx that name a time. Not a version that the server has not reached: each
 * such answer took it 3 s already, and who asked knows a better question (57, F12). */
static int64_t asked_delay(const struct pl_op *op)
{
    const struct pl_err *err = &op->err;
    if (err->code != PL_EAPI || err->retry_after_ms < 0 || pl_err_is_too_large_rv(err))
        return -1;
    return err->status == 429 || err->status >= 500 ? err->retry_after_ms * PL_MS : -1;
}

static bool connection_was_lost(const struct pl_op *op)
{
    if (op->cut_is_final && op->decoder.status != 0)
        return false;
    return op->err.code == PL_ENETWORK && strcmp(op->err.reason, "ConnectionReset") == 0 &&
           (op->verb == PL_VERB_GET || op->verb == PL_VERB_LIST);
}

/* Nothing of it was done, so that a write may be sent again, too (GOAWAY, F18). */
static bool was_not_processed(const struct pl_op *op)
{
    return op->err.code == PL_ENETWORK && strcmp(op->err.reason, "NotProcessed") == 0;
}

/* True when there will be another attempt. */
static bool try_again(struct pl_op *op, bool renewed)
{
    if (op->err.status == 401 && renewed && !op->renewed_once) {
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

static void on_done(void *owner, const struct pl_err *err, bool renewed)
{
    struct pl_op *op = owner;
    op->attempt = NULL;
    pl_err_clear(&op->err);
    if (err != NULL && op->decoder.err.code == 0)
        op->err = *err;
    else
        pl_decoder_end(&op->decoder, &op->err);
    if (op->err.code == PL_EAPI && op->retry_after_ms >= 0)
        op->err.retry_after_ms = op->retry_after_ms;
    if (op->err.code == PL_ESYNTAX || op->err.code == PL_ELIMIT)
        pl_err_prefix(&op->err, "the answer to %s %s", op->wire.method, op->path);
    if (op->err.code == 0 || !try_again(op, renewed))
        complete(op);
}

static const struct pl_attempt_ops attempt_ops = {on_response, on_body, on_done};

static void send_attempt(struct pl_op *op)
{
    struct pl_attempt_spec spec = {
        .wire = &op->wire,
        .deadline_ns = op->deadline_ns,
        .max_response = op->decoder.list ? MAX_LIST : 2 * (size_t)PL_SCAN_BYTES,
        .long_response = op->decoder.list,
        .fresh_connection = op->fresh,
        .lane = op->lane,
        .may_send = op->may_send,
        .may_send_arg = op->may_send_arg,
        .fence = op->fence,
    };
    op->state = OP_SENT;
    op->retry_after_ms = -1;
    pl_client_wait(op->client, &op->wait, pl_verb_name(op->verb), op->path, left_ns(op));
    op->attempt = pl_attempt_start(op->client, &spec, &attempt_ops, op);
}

static void on_limit_over(struct pl_timer *timer)
{
    send_attempt(PL_CONTAINER_OF(timer, struct pl_op, timer));
}

/* Each attempt passes the client-side limit (152). */
static void attempt_now(struct pl_op *op)
{
    int64_t delay = 0;
    if (op->lane == 0 || op->fence != NULL)
        delay = pl_client_limit(op->client);
    if (delay <= 0) {
        send_attempt(op);
    } else if (delay >= left_ns(op)) {
        pl_err_set(&op->err, PL_ETIMEOUT,
                   "the client-side rate limit would delay this request by %.1f s, past its time",
                   (double)delay / (double)PL_SECOND);
        finish_later(op);
    } else {
        op->state = OP_LIMITED;
        pl_client_wait(op->client, &op->wait, "client-side rate limit", op->path, delay);
        pl_timer_start(op->client->timers, &op->timer, delay, on_limit_over);
    }
}

/* ---- start ---- */

static void expect(struct pl_op *op, const struct pl_call *call)
{
    struct pl_decoder *d = &op->decoder;
    d->list = call->verb == PL_VERB_LIST;
    d->metadata_only = call->metadata_only;
    d->each_item = call->each_item;
    d->each_item_arg = call->each_item_arg;
    d->resource = call->subresource.len == 0 ? call->resource : NULL;
    d->scan_options = (struct pl_scan_options){
        .pool = call->resource != NULL ? op->client->pool : NULL,
        .keep_managed_fields = call->keep_managed_fields,
    };
    pl_err_clear(&d->err);
}

struct pl_op *pl_client_start(struct pl_client *client, const struct pl_call *call,
                              pl_answer_fn on_answer, void *arg)
{
    PL_REQUIRE(call->resource != NULL || call->raw_path.len > 0);
    PL_REQUIRE(call->connection_lane >= 0 && call->connection_lane < PL_HTTP_LANES);
    struct pl_op *op = PL_NEW(struct pl_op);
    op->client = client;
    op->verb = call->verb;
    op->lane = call->fence != NULL ? PL_HTTP_LANE_FENCED : call->connection_lane;
    op->cut_is_final = call->cut_is_final;
    op->may_send = call->may_send;
    op->may_send_arg = call->may_send_arg;
    op->fence = call->fence;
    op->on_answer = on_answer;
    op->arg = arg;
    int64_t timeout = call->timeout_ns > 0 ? call->timeout_ns : client->request_timeout_ns;
    op->deadline_ns = pl_client_now(client) + timeout;
    pl_list_push(&client->ops, &op->link);
    pl_err_clear(&op->err);
    expect(op, call);
    if (pl_wire_of_call(&op->wire, client->config->server, call, &op->err) != 0) {
        op->path = "";
        finish_later(op);
        return op;
    }
    op->path = pl_buf_z(&op->wire.url) + strlen(client->config->server);
    attempt_now(op);
    return op;
}
