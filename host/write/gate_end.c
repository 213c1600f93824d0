/* The end of a write: its caller is told once, and then the write is freed. A write that is
 * cancelled, or ends before pl_gate_write has returned, ends a little later (the site's deferred
 * tasks). */
#include "write/gate_op.h"

#include "base/alloc.h"
#include "write/capture.h"

void pl_gate_finish(struct pl_gate_op *op)
{
    struct pl_gate *gate = op->gate;
    struct pl_site *site = gate->site;
    if (op->failed)
        pl_gate_explain(op);
    if (op->failed)
        gate->stats.refused += op->err.code == PL_EREFUSED;
    struct pl_written written = {.err = op->failed ? &op->err : NULL,
                                 .object = op->result,
                                 .exec = op->exec,
                                 .warnings = pl_buf_slice(&op->warnings),
                                 .skipped = op->skipped,
                                 .gone = op->gone};
    pl_link_unlink(&op->link);
    op->on_written(op->arg, &written);
    pl_doc_unref(op->w.body);
    pl_doc_unref(op->w.base);
    pl_doc_unref(op->w.owner);
    pl_capture_unref(op->w.capture);
    pl_doc_unref(op->watched[0]);
    pl_doc_unref(op->watched[1]);
    pl_doc_unref(op->existing);
    pl_doc_unref(op->result);
    pl_buf_deinit(&op->warnings);
    for (size_t i = 0; i < PL_ARRAY_LEN(op->texts); i++)
        pl_free(op->texts[i]);
    pl_free(op->key);
    pl_free(op);
    pl_site_release(site);
}

static void finish_task(struct pl_task *task)
{
    pl_gate_finish(PL_CONTAINER_OF(task, struct pl_gate_op, task));
}

void pl_gate_finish_later(struct pl_gate_op *op)
{
    op->stage = PL_GATE_FINISHING;
    pl_site_defer(op->gate->site, &op->task, finish_task);
}

void pl_gate_fail(struct pl_gate_op *op, const struct pl_err *err)
{
    if (err != &op->err)
        op->err = *err;
    op->failed = true;
    pl_gate_finish(op);
}

void pl_gate_op_cancel(struct pl_gate_op *op)
{
    if (op->canceled || op->stage == PL_GATE_FINISHING)
        return;
    op->canceled = true;
    if (op->op != NULL) {
        pl_op_cancel(op->op);
        return;
    }
    if (op->stage == PL_GATE_RESOLVING)
        pl_discovery_forget(pl_site_discovery(op->gate->site), op);
    pl_timer_stop(pl_site_timers(op->gate->site), &op->again);
    op->failed = true;
    pl_err_set(&op->err, PL_ECANCELED, "the write was cancelled");
    pl_gate_finish_later(op);
}
