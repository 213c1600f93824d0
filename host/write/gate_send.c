/* The requests of a write: the one that carries it, the reads before and after it, and their
 * answers. A success is in the caches before the caller learns of it. The fence is asked again
 * before each attempt. */
#include "write/gate_op.h"

#include "base/check.h"
#include "base/log.h"
#include "kube/status.h"

#include <string.h>

#define NEW_KIND_NS       (15 * PL_SECOND)
#define NEW_KIND_PAUSE_NS (500 * PL_MS)

static bool gate_may_send(void *arg)
{
    const struct pl_gate_op *op = arg;
    return pl_gate_is_allowed(op);
}

static void on_refreshed(void *arg, const struct pl_answer *answer)
{
    struct pl_gate_op *op = arg;
    op->op = NULL;
    if (answer->err == NULL && answer->doc != NULL)
        pl_gate_through(op, answer->doc);
    else if (answer->err != NULL && pl_err_is_not_found(answer->err))
        pl_gate_through_gone(op, pl_slice_z(""));
    pl_gate_finish(op);
}

int pl_gate_timeout(const struct pl_gate_op *op, int64_t *timeout_ns, struct pl_err *err)
{
    int64_t left_ns;
    int rc = pl_site_time_left(op->gate->site, op->w.deadline_ns, &left_ns, err);
    *timeout_ns = op->w.timeout_ns;
    if (left_ns != 0 && (*timeout_ns == 0 || left_ns < *timeout_ns))
        *timeout_ns = left_ns;
    return rc;
}

void pl_gate_get(struct pl_gate_op *op, enum pl_gate_stage stage,
                 const struct pl_resource *resource, struct pl_slice name, pl_answer_fn on_answer)
{
    int64_t timeout_ns;
    PL_IGNORE(pl_gate_timeout(op, &timeout_ns, NULL)); /* without time the write fails later */
    struct pl_call call = {
        .verb = PL_VERB_GET,
        .resource = resource,
        .ns = resource->namespaced ? op->w.ns : pl_slice_z(""),
        .name = name,
        .headers = resource == op->resource ? op->w.headers : pl_slice_z(""),
        .keep_managed_fields = pl_gate_wants_managed_fields(op),
        .grace_period = -1,
        .timeout_ns = timeout_ns > 0 ? timeout_ns : 0,
    };
    op->stage = stage;
    op->op = pl_client_start(pl_site_client(op->gate->site), &call, on_answer, op);
}

static void on_success(struct pl_gate_op *op, struct pl_doc *doc)
{
    op->gate->stats.sent++;
    op->result = pl_doc_ref(doc);
    if (op->w.capture != NULL && !pl_gate_op_is_raw(op))
        pl_gate_watched(op, doc);
    if (op->gate->dry_run || op->w.dry_run || pl_gate_op_is_raw(op) || op->w.exec) {
        pl_gate_finish(op);
        return;
    }
    if (pl_gate_op_is_apply(op)) {
        struct pl_buf name = PL_BUF_INIT;
        pl_gate_applied_name(op, &name);
        pl_applied_remember(op->gate->applied, pl_buf_slice(&name), pl_doc_root(op->w.body),
                            pl_schema_builtin(&op->w.kind));
        pl_buf_deinit(&name);
    }
    if (!pl_gate_op_is_object(op)) {
        /* The answer is a Scale or the like: the object itself is read again, if a cached read
         * could ask for it. */
        if (op->w.name.len > 0 && pl_gate_is_known(op) && !op->canceled)
            pl_gate_get(op, PL_GATE_REFRESHING, op->resource, op->w.name, on_refreshed);
        else
            pl_gate_finish(op);
        return;
    }
    if (doc != NULL)
        pl_gate_through(op, doc);
    pl_gate_finish(op);
}

static void on_explained(void *arg, const struct pl_answer *answer)
{
    struct pl_gate_op *op = arg;
    op->op = NULL;
    if (answer->err == NULL && answer->doc != NULL)
        pl_gate_name_operation(op, answer->doc);
    pl_gate_finish(op);
}

static void on_refused(struct pl_gate_op *op, const struct pl_answer *answer)
{
    op->result = pl_doc_ref(answer->doc);
    if (op->canceled || !pl_gate_is_unexplained(op, answer)) {
        pl_gate_fail(op, answer->err);
        return;
    }
    op->err = *answer->err;
    op->failed = true;
    pl_gate_get(op, PL_GATE_EXPLAINING, op->resource, op->w.name, on_explained);
}

static void on_gate_again(struct pl_timer *timer)
{
    pl_gate_send(PL_CONTAINER_OF(timer, struct pl_gate_op, again));
}

/* The admission plugin OwnerReferencesPermissionEnforcement learns of a new CRD within 10 s. Until
 * then it refuses owners of that kind, although nothing is wrong; so the write is sent again. */
static bool is_sent_again(struct pl_gate_op *op, const struct pl_err *err)
{
    struct pl_timers *timers = pl_site_timers(op->gate->site);
    int64_t now = pl_clock_mono(timers->clock);
    if (op->canceled || err->status != 403 ||
        strstr(err->message, "cannot set blockOwnerDeletion") == NULL ||
        strstr(err->message, "cannot find RESTMapping") == NULL)
        return false;
    if (op->again_until_ns == 0)
        op->again_until_ns = now + NEW_KIND_NS;
    if (now >= op->again_until_ns)
        return false;
    pl_timer_start(timers, &op->again, NEW_KIND_PAUSE_NS, on_gate_again);
    return true;
}

static void on_sent(void *arg, const struct pl_answer *answer)
{
    struct pl_gate_op *op = arg;
    op->op = NULL;
    pl_buf_add_slice(&op->warnings, answer->warnings);
    if (answer->err == NULL) {
        op->exec = answer->exec;
        on_success(op, answer->doc);
        return;
    }
    if (is_sent_again(op, answer->err))
        return;
    if (pl_gate_op_is_apply(op)) {
        struct pl_buf name = PL_BUF_INIT;
        pl_gate_applied_name(op, &name);
        pl_applied_forget(op->gate->applied, pl_buf_slice(&name));
        pl_buf_deinit(&name);
    }
    if (op->w.verb == PL_VERB_DELETE && op->w.subresource.len == 0 && !pl_gate_op_is_raw(op) &&
        pl_err_is_not_found(answer->err)) {
        op->gate->stats.sent++;
        op->gone = true;
        pl_gate_through_gone(op, op->w.uid);
        pl_gate_finish(op);
        return;
    }
    on_refused(op, answer);
}

void pl_gate_log_dry_run(const struct pl_gate_op *op)
{
    const struct pl_write *w = &op->w;
    const struct pl_controller_spec *writer = pl_gate_writer(op);
    char kind[PL_KIND_TEXT];
    pl_log(PL_LOG_INFO, "dry run", pl_str("controller", writer != NULL ? writer->name : ""),
           pl_str("verb", w->exec ? "exec" : pl_verb_name(w->verb)),
           pl_str("kind", op->resource != NULL ? pl_kind_text(&w->kind, kind) : "raw"),
           pl_str("key", op->key));
}

static struct pl_call gate_call(struct pl_gate_op *op, int64_t timeout_ns)
{
    struct pl_gate *gate = op->gate;
    const struct pl_write *w = &op->w;
    struct pl_call call = {
        .verb = w->verb,
        .resource = op->resource,
        .raw_path = w->raw_path,
        .headers = w->headers,
        .exec = w->exec,
        .input = w->input,
        .most = w->most,
        .ns = w->ns,
        /* The document names a new object. */
        .name = pl_gate_op_creates(op) ? pl_slice_z("") : w->name,
        .subresource = w->subresource,
        .body = w->body,
        .patch_type = w->patch_type,
        .labels = w->labels,
        .fields = w->fields,
        .field_manager = w->field_manager,
        .field_validation = w->field_validation,
        .propagation = w->propagation,
        .force = w->force,
        .dry_run = gate->dry_run || w->dry_run,
        .keep_managed_fields = pl_gate_wants_managed_fields(op),
        .grace_period = w->grace_period,
        .timeout_ns = timeout_ns,
        .may_send = gate_may_send,
        .may_send_arg = op,
        .fence = op->fenced ? gate->fence : NULL,
    };
    if (w->verb == PL_VERB_DELETE) {
        call.uid = w->uid;
        call.precondition_rv = w->rv;
    }
    return call;
}

void pl_gate_send_within(struct pl_gate_op *op, int64_t timeout_ns)
{
    PL_REQUIRE(!op->w.held);
    struct pl_call call = gate_call(op, timeout_ns);
    if (call.dry_run)
        pl_gate_log_dry_run(op);
    op->stage = PL_GATE_SENDING;
    op->op = pl_client_start(pl_site_client(op->gate->site), &call, on_sent, op);
}

void pl_gate_send(struct pl_gate_op *op)
{
    int64_t timeout_ns;
    if (pl_gate_timeout(op, &timeout_ns, &op->err) != 0)
        pl_gate_fail(op, &op->err);
    else
        pl_gate_send_within(op, timeout_ns);
}
