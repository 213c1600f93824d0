/* A command in a container, as an operation: the request switches to WebSocket, and the bytes that
 * follow are those of kube/exec. Its result counts even if the connection is then not closed in
 * order. A command that has begun is never tried again. */
#include "kube/op_impl.h"

#include "base/alloc.h"

#define CLOSE_NS (1 * PL_SECOND)

void pl_op_exec_prepare(struct pl_op *op, const struct pl_call *call)
{
    uint64_t bits[2] = {pl_rand_u64(op->client->rand), pl_rand_u64(op->client->rand)};
    static const char name[] = "sec-websocket-key";
    pl_ws_key((const uint8_t *)bits, op->exec.key);
    pl_buf_add(&op->wire.headers, name, sizeof name);
    pl_buf_add(&op->wire.headers, op->exec.key, PL_WS_KEY);
    op->exec.has_input = call->input.ptr != NULL;
    pl_buf_add_slice(&op->exec.input, call->input);
}

void pl_op_exec_deinit(struct pl_op *op)
{
    pl_exec_destroy(op->exec.run);
    pl_buf_deinit(&op->exec.input);
    pl_free(op->exec.path);
}

/* With what is in op->err, or with its result. */
static void end_exec(struct pl_op *op)
{
    pl_attempt_cancel(op->attempt);
    op->attempt = NULL;
    if (op->err.code == 0 && pl_exec_end(op->exec.run, &op->err) == NULL)
        op->err.code = PL_ENETWORK;
    pl_op_finish_later(op);
}

static void send_exec(void *arg, struct pl_slice bytes)
{
    struct pl_op *op = arg;
    pl_attempt_send(op->attempt, bytes);
}

void pl_op_exec_begin(struct pl_op *op, const struct pl_http_response *response)
{
    const struct pl_exec_params params = {
        .key = op->exec.key,
        .input = op->exec.has_input ? pl_slice(pl_buf_z(&op->exec.input), op->exec.input.len)
                                    : pl_slice(NULL, 0),
        .most = op->asked.most,
        .rand = op->client->rand,
        .send = send_exec,
        .arg = op,
    };
    op->exec.run = pl_exec_create(&params, response, &op->err);
    if (op->exec.run == NULL)
        end_exec(op);
}

static void on_exec_over(struct pl_timer *timer)
{
    end_exec(PL_CONTAINER_OF(timer, struct pl_op, timer));
}

/* Once the result is there, the server has a moment to close the connection in order. */
int pl_op_exec_feed(struct pl_op *op, struct pl_slice piece)
{
    struct pl_exec *run = op->exec.run;
    bool had_result = pl_exec_has_result(run);
    op->err.code = pl_exec_feed(run, piece, &op->err);
    if (op->err.code != 0 || pl_exec_is_closed(run))
        end_exec(op);
    else if (!had_result && pl_exec_has_result(run))
        pl_timer_start(op->client->timers, &op->timer, CLOSE_NS, on_exec_over);
    return 0;
}

void pl_op_exec_done(struct pl_op *op)
{
    if (pl_exec_has_result(op->exec.run))
        pl_err_clear(&op->err);
    end_exec(op);
}
