/* The steps of a write, in an order that matters. First come refusals that the host can decide
 * alone (leadership, scope, owners), then the comparison with the cache (would it change
 * anything?), then the request (gate_send.c). The answer is in the store before the caller gets it.
 * A write completes once, even when it is cancelled (gate_end.c). */
#include "write/gate_op.h"

#include "base/alloc.h"
#include "base/text.h"
#include "kube/status.h"
#include "object/meta.h"
#include "write/capture.h"
#include "write/owner_ref.h"

#include <stdio.h>

/* Nothing but the comparison with the cache stands before the request. */
static void gate_go_on(struct pl_gate_op *op)
{
    struct pl_gate *gate = op->gate;
    if (op->w.exec && (gate->dry_run || op->w.dry_run) && !op->w.held) {
        pl_gate_log_dry_run(op);
        op->skipped = true; /* there is no dry run of a command */
        pl_gate_finish(op);
        return;
    }
    pl_gate_carry(op);
    if (op->w.held) {
        pl_gate_hold(op);
        pl_gate_finish(op);
        return;
    }
    op->result = pl_gate_unchanged(op);
    if (op->result != NULL) {
        op->skipped = true;
        gate->stats.skipped++;
        if (gate->skipped != NULL)
            pl_series_add(gate->skipped, 1);
        pl_gate_finish(op);
        return;
    }
    if (op->w.capture != NULL)
        pl_gate_watch(op);
    pl_gate_send(op);
}

/* A cache that lags behind may show an owner that has been deleted and created again since then.
 * With its uid in the reference, the garbage collector would delete the object. */
static void on_owner(void *arg, const struct pl_answer *answer)
{
    struct pl_gate_op *op = arg;
    op->op = NULL;
    struct pl_owner owner;
    struct pl_scratch scratch;
    pl_owner_ref_replaces(pl_doc_root(op->existing), pl_doc_root(op->w.body), &owner);
    bool unknown = answer->err != NULL && pl_err_is_forbidden(answer->err);
    if (answer->err != NULL && !unknown && !pl_err_is_not_found(answer->err)) {
        pl_gate_fail(op, answer->err);
        return;
    }
    if (unknown || (answer->err == NULL &&
                    pl_slice_eq(pl_meta_uid(pl_doc_root(answer->doc), &scratch), owner.uid))) {
        gate_go_on(op);
        return;
    }
    pl_err_set(&op->err, PL_EAPI,
               "%s: its owner \"%.*s\" with the uid %.*s does not exist any more", op->key,
               PL_FMT(owner.name), PL_FMT(owner.uid));
    op->err.status = 409;
    snprintf(op->err.reason, sizeof op->err.reason, "Conflict");
    pl_gate_fail(op, &op->err);
}

/* An owner with another uid than that of the existing object was created anew, or is an old one:
 * the server is asked. True: on_owner is called. */
static bool ask_for_owner(struct pl_gate_op *op)
{
    struct pl_owner owner;
    struct pl_kind kind;
    if (op->existing == NULL || op->w.body == NULL || op->w.verb == PL_VERB_CREATE ||
        op->w.subresource.len > 0 ||
        !pl_owner_ref_replaces(pl_doc_root(op->existing), pl_doc_root(op->w.body), &owner) ||
        pl_kind_from(owner.api_version, owner.kind, &kind, NULL) != 0)
        return false;
    const struct pl_resource *resource =
        pl_discovery_known(pl_site_discovery(op->gate->site), &kind);
    if (resource == NULL)
        return false;
    pl_gate_get(op, PL_GATE_LOOKING, resource, owner.name, on_owner);
    return true;
}

/* The existing object is known as far as necessary. */
static void gate_work(struct pl_gate_op *op)
{
    if (pl_gate_set_owner(op, &op->err) != 0 || pl_gate_check_finalizers(op, &op->err) != 0 ||
        (pl_gate_op_creates(op) &&
         pl_resource_check_scope(op->resource, op->w.ns,
                                 op->w.name.len > 0 ? op->w.name : pl_slice_z("the new object"),
                                 &op->err) != 0)) {
        pl_gate_fail(op, &op->err);
        return;
    }
    pl_gate_check_rights(op);
    if (!ask_for_owner(op))
        gate_go_on(op);
}

static void on_gate_looked(void *arg, const struct pl_answer *answer)
{
    struct pl_gate_op *op = arg;
    op->op = NULL;
    if (answer->err != NULL && !pl_err_is_not_found(answer->err)) {
        pl_gate_fail(op, answer->err);
        return;
    }
    if (answer->err == NULL)
        op->existing = pl_doc_ref(answer->doc);
    gate_work(op);
}

static void on_gate_resource(void *arg, const struct pl_resource *resource,
                             const struct pl_err *err)
{
    struct pl_gate_op *op = arg;
    if (resource == NULL) {
        pl_gate_fail(op, err);
        return;
    }
    op->resource = resource;
    pl_gate_fill_namespace(op);
    if (pl_gate_check(op, &op->err) != 0) {
        pl_gate_fail(op, &op->err);
        return;
    }
    bool must_look = false;
    if (op->w.held) {
        must_look = !pl_gate_shadow_sees(op, &op->existing) && pl_gate_shadow_must_look(op);
    } else {
        op->existing = op->w.base != NULL ? pl_doc_ref(op->w.base) : pl_gate_cached(op);
        must_look = op->w.owner != NULL && pl_gate_op_is_apply(op) && op->existing == NULL &&
                    !pl_gate_is_covered(op);
    }
    if (must_look)
        pl_gate_get(op, PL_GATE_LOOKING, op->resource, op->w.name, on_gate_looked);
    else
        gate_work(op);
}

static void copy_texts(struct pl_gate_op *op)
{
    struct pl_slice *texts[] = {&op->w.ns,
                                &op->w.name,
                                &op->w.subresource,
                                &op->w.field_manager,
                                &op->w.field_validation,
                                &op->w.propagation,
                                &op->w.labels,
                                &op->w.fields,
                                &op->w.uid,
                                &op->w.rv,
                                &op->w.raw_path,
                                &op->w.headers};
    _Static_assert(PL_ARRAY_LEN(texts) + 1 == PL_ARRAY_LEN(op->texts), "one place each");
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++) {
        op->texts[i] = pl_memdup0(texts[i]->len > 0 ? texts[i]->ptr : "", texts[i]->len);
        texts[i]->ptr = op->texts[i];
    }
    if (op->w.input.ptr != NULL)
        op->w.input.ptr = op->texts[PL_ARRAY_LEN(texts)] = pl_text_copy(op->w.input);
}

static struct pl_gate_op *gate_op_create(struct pl_gate *gate, const struct pl_write *write)
{
    struct pl_gate_op *op = PL_NEW(struct pl_gate_op);
    op->gate = gate;
    op->w = *write;
    pl_doc_ref(op->w.body);
    pl_doc_ref(op->w.base);
    pl_doc_ref(op->w.owner);
    /* A dry run changes nothing. */
    op->w.capture = write->dry_run ? NULL : pl_capture_ref(write->capture);
    const struct pl_controller_spec *writer = pl_gate_writer(op);
    if (op->w.field_manager.len == 0)
        op->w.field_manager = pl_slice_z(writer != NULL ? writer->name : "perilune");
    copy_texts(op);
    struct pl_buf key = PL_BUF_INIT;
    if (pl_gate_op_is_raw(op))
        pl_buf_add_slice(&key, op->w.raw_path);
    else
        pl_key_add(&key, op->w.ns, op->w.name);
    op->key = pl_buf_take(&key);
    op->fenced = pl_gate_is_fenced(gate, write);
    return op;
}

struct pl_gate_op *pl_gate_write(struct pl_gate *gate, const struct pl_write *write,
                                 pl_written_fn on_written, void *arg)
{
    pl_timers_require(pl_site_timers(gate->site));
    struct pl_gate_op *op = gate_op_create(gate, write);
    op->on_written = on_written;
    op->arg = arg;
    pl_list_push(&gate->ops, &op->link);
    pl_site_hold(gate->site);
    if (!pl_gate_is_allowed(op)) {
        op->failed = true;
        pl_gate_refuse_closed(op);
        pl_gate_finish_later(op);
        return op;
    }
    if (pl_gate_op_is_raw(op)) {
        pl_gate_start_raw(op);
        return op;
    }
    op->stage = PL_GATE_RESOLVING;
    pl_discovery_find(pl_site_discovery(gate->site), &op->w.kind, on_gate_resource, op);
    return op;
}
