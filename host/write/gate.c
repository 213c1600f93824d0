/* The gate: the steps of a write, in an order that matters. First come refusals that the host can
 * decide alone (leadership, scope, owners), then the comparison with the cache (would it change
 * anything?), then the request. The answer is in the store before the caller gets it. A write
 * completes once, even when it is cancelled. */
#include "write/gate_op.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "write/capture.h"
#include "kube/status.h"
#include "object/meta.h"

#include <string.h>

#define NEW_KIND_NS       (15 * PL_SECOND)
#define NEW_KIND_PAUSE_NS (500 * PL_MS)

/* ---- the gate ---- */

/* The gate of another cluster: the host's own gate decides what this replica may do. */
static void gate_join(struct pl_gate *gate, struct pl_gate *parent)
{
    gate->parent = parent;
    pl_list_push(&parent->children, &gate->sibling);
    gate->fence = parent->fence;
    if (parent->closed)
        pl_gate_close(gate, parent->rule, parent->message);
}

void pl_gate_fence(struct pl_gate *gate, const struct pl_fence *fence)
{
    PL_REQUIRE(gate->fence == NULL && pl_list_empty(&gate->ops));
    gate->fence = fence;
    PL_LIST_FOR (link, &gate->children)
        pl_gate_fence(PL_CONTAINER_OF(link, struct pl_gate, sibling), fence);
}

/* Ends the fenced writes of these shards; which NULL: all fenced writes. */
static void gate_cut(struct pl_gate *gate, const struct pl_shard_set *which)
{
    PL_LIST_FOR (link, &gate->ops) {
        struct pl_gate_op *op = PL_CONTAINER_OF(link, struct pl_gate_op, link);
        bool meant = which == NULL || (op->w.shard > 0 && pl_shard_set_has(which, op->w.shard - 1));
        if (!op->fenced || op->stage == PL_GATE_FINISHING || !meant)
            continue;
        op->cut = true;
        pl_gate_op_cancel(op);
    }
    PL_LIST_FOR (link, &gate->children)
        gate_cut(PL_CONTAINER_OF(link, struct pl_gate, sibling), which);
}

void pl_gate_cut(struct pl_gate *gate)
{
    gate_cut(gate, NULL);
}

/* The transport asks the fence, but nothing of shards: what is under way ends here. */
static void on_gate_shards(void *arg, const struct pl_shard_set *which, enum pl_shard_state state)
{
    if (state == PL_SHARD_ELSEWHERE)
        gate_cut(arg, which);
}

static const struct pl_shards_follower_ops follower_ops = {on_gate_shards, NULL};

struct pl_gate *pl_gate_create(const struct pl_gate_options *options)
{
    struct pl_gate *gate = PL_NEW(struct pl_gate);
    gate->site = options->site;
    gate->informers = options->informers;
    gate->dry_run = options->dry_run;
    pl_list_init(&gate->ops);
    pl_list_init(&gate->children);
    gate->cluster = options->cluster;
    if (options->parent != NULL)
        gate_join(gate, options->parent);
    else
        pl_shards_follow(pl_site_shards(gate->site), &gate->shards, &follower_ops, gate);
    gate->applied = pl_applied_create(PL_APPLIED_MAX);
    struct pl_metrics *metrics = pl_site_metrics(options->site);
    if (metrics != NULL) {
        struct pl_metric_spec spec = {
            .name = "perilune_writes_skipped_total",
            .help = "Writes that would have changed nothing and were not sent.",
            .type = PL_METRIC_COUNTER};
        gate->skipped = pl_metric_series(pl_metrics_add(metrics, &spec), NULL);
    }
    return gate;
}

void pl_gate_destroy(struct pl_gate *gate)
{
    if (gate == NULL)
        return;
    PL_REQUIRE(pl_list_empty(&gate->ops) && pl_list_empty(&gate->children));
    pl_link_unlink(&gate->sibling);
    if (gate->parent == NULL)
        pl_shards_unfollow(pl_site_shards(gate->site), &gate->shards);
    pl_applied_destroy(gate->applied);
    pl_map_deinit(&gate->said);
    pl_free(gate->rule);
    pl_free(gate->message);
    pl_free(gate);
}

bool pl_gate_is_open(const struct pl_gate *gate)
{
    return !gate->closed;
}

void pl_gate_stats(const struct pl_gate *gate, struct pl_gate_stats *stats)
{
    *stats = gate->stats;
}

void pl_gate_close(struct pl_gate *gate, const char *rule, const char *message)
{
    if (gate->closed)
        return;
    gate->closed = true;
    gate->rule = pl_strdup(rule);
    gate->message = pl_strdup(message);
    PL_LIST_FOR (link, &gate->ops)
        pl_gate_op_cancel(PL_CONTAINER_OF(link, struct pl_gate_op, link));
    PL_LIST_FOR (link, &gate->children)
        pl_gate_close(PL_CONTAINER_OF(link, struct pl_gate, sibling), rule, message);
}

static void gate_finish(struct pl_gate_op *op)
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
    gate_finish(PL_CONTAINER_OF(task, struct pl_gate_op, task));
}

static void gate_finish_later(struct pl_gate_op *op)
{
    op->stage = PL_GATE_FINISHING;
    pl_site_defer(op->gate->site, &op->task, finish_task);
}

static void gate_fail(struct pl_gate_op *op, const struct pl_err *err)
{
    if (err != &op->err)
        op->err = *err;
    op->failed = true;
    gate_finish(op);
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
    gate_finish_later(op);
}

/* ---- sending ---- */

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
    gate_finish(op);
}

static int timeout_of(const struct pl_gate_op *op, int64_t *timeout_ns, struct pl_err *err)
{
    int64_t left_ns;
    int rc = pl_site_time_left(op->gate->site, op->w.deadline_ns, &left_ns, err);
    *timeout_ns = op->w.timeout_ns;
    if (left_ns != 0 && (*timeout_ns == 0 || left_ns < *timeout_ns))
        *timeout_ns = left_ns;
    return rc;
}

static void get(struct pl_gate_op *op, enum pl_gate_stage stage, pl_answer_fn on_answer)
{
    int64_t timeout_ns;
    timeout_of(op, &timeout_ns, NULL);
    struct pl_call call = {
        .verb = PL_VERB_GET,
        .resource = op->resource,
        .ns = op->w.ns,
        .name = op->w.name,
        .headers = op->w.headers,
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
        gate_finish(op);
        return;
    }
    if (pl_gate_op_is_apply(op)) {
        struct pl_buf name = PL_BUF_INIT;
        pl_gate_applied_name(op, &name);
        pl_applied_remember(op->gate->applied, pl_buf_slice(&name), pl_doc_root(op->w.body));
        pl_buf_deinit(&name);
    }
    if (!pl_gate_op_is_object(op)) {
        /* The answer is a Scale or the like: the object itself is read again, if a cached read
         * could ask for it. */
        if (op->w.name.len > 0 && pl_gate_is_known(op) && !op->canceled)
            get(op, PL_GATE_REFRESHING, on_refreshed);
        else
            gate_finish(op);
        return;
    }
    if (doc != NULL)
        pl_gate_through(op, doc);
    gate_finish(op);
}

static void on_explained(void *arg, const struct pl_answer *answer)
{
    struct pl_gate_op *op = arg;
    op->op = NULL;
    if (answer->err == NULL && answer->doc != NULL)
        pl_gate_name_operation(op, answer->doc);
    gate_finish(op);
}

static void on_refused(struct pl_gate_op *op, const struct pl_answer *answer)
{
    op->result = pl_doc_ref(answer->doc);
    if (op->canceled || !pl_gate_is_unexplained(op, answer)) {
        gate_fail(op, answer->err);
        return;
    }
    op->err = *answer->err;
    op->failed = true;
    get(op, PL_GATE_EXPLAINING, on_explained);
}

static void gate_send(struct pl_gate_op *op);

static void on_gate_again(struct pl_timer *timer)
{
    gate_send(PL_CONTAINER_OF(timer, struct pl_gate_op, again));
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
        gate_finish(op);
        return;
    }
    on_refused(op, answer);
}

static bool creates_object(const struct pl_gate_op *op)
{
    return op->w.verb == PL_VERB_CREATE && op->w.subresource.len == 0;
}

static void log_dry_run(const struct pl_gate_op *op)
{
    const struct pl_write *w = &op->w;
    char kind[PL_KIND_TEXT];
    pl_log(PL_LOG_INFO, "dry run",
           pl_str("controller", w->controller ? w->controller->spec->name : ""),
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
        .name = creates_object(op) ? pl_slice_z("") : w->name,
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

static void send_within(struct pl_gate_op *op, int64_t timeout_ns)
{
    PL_REQUIRE(!op->w.held);
    struct pl_call call = gate_call(op, timeout_ns);
    if (call.dry_run)
        log_dry_run(op);
    op->stage = PL_GATE_SENDING;
    op->op = pl_client_start(pl_site_client(op->gate->site), &call, on_sent, op);
}

static void gate_send(struct pl_gate_op *op)
{
    int64_t timeout_ns;
    if (timeout_of(op, &timeout_ns, &op->err) != 0)
        gate_fail(op, &op->err);
    else
        send_within(op, timeout_ns);
}

/* Begins the write, which always ends later. */
static void start_raw(struct pl_gate_op *op)
{
    int64_t timeout_ns = 0;
    op->failed = pl_gate_check_raw(op, &op->err) != 0 ||
                 (!op->w.held && timeout_of(op, &timeout_ns, &op->err) != 0);
    if (!op->failed)
        pl_gate_note_raw(op);
    if (!op->failed && !op->w.held) {
        send_within(op, timeout_ns);
        return;
    }
    if (!op->failed)
        op->result = pl_doc_ref(op->w.body);
    gate_finish_later(op);
}

/* ---- the steps before the request ---- */

/* The existing object is known as far as necessary. */
static void gate_work(struct pl_gate_op *op)
{
    struct pl_gate *gate = op->gate;
    if (pl_gate_set_owner(op, &op->err) != 0 || pl_gate_check_finalizers(op, &op->err) != 0 ||
        (creates_object(op) &&
         pl_resource_check_scope(op->resource, op->w.ns,
                                 op->w.name.len > 0 ? op->w.name : pl_slice_z("the new object"),
                                 &op->err) != 0)) {
        gate_fail(op, &op->err);
        return;
    }
    pl_gate_check_rights(op);
    if (op->w.exec && (gate->dry_run || op->w.dry_run) && !op->w.held) {
        log_dry_run(op);
        op->skipped = true; /* there is no dry run of a command */
        gate_finish(op);
        return;
    }
    pl_gate_carry(op);
    if (op->w.held) {
        pl_gate_hold(op);
        gate_finish(op);
        return;
    }
    op->result = pl_gate_unchanged(op);
    if (op->result != NULL) {
        op->skipped = true;
        gate->stats.skipped++;
        if (gate->skipped != NULL)
            pl_series_add(gate->skipped, 1);
        gate_finish(op);
        return;
    }
    if (op->w.capture != NULL)
        pl_gate_watch(op);
    gate_send(op);
}

static void on_gate_looked(void *arg, const struct pl_answer *answer)
{
    struct pl_gate_op *op = arg;
    op->op = NULL;
    if (answer->err != NULL && !pl_err_is_not_found(answer->err)) {
        gate_fail(op, answer->err);
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
        gate_fail(op, err);
        return;
    }
    op->resource = resource;
    pl_gate_follow_owner(op);
    if (pl_gate_check(op, &op->err) != 0) {
        gate_fail(op, &op->err);
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
        get(op, PL_GATE_LOOKING, on_gate_looked);
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
        op->w.input.ptr = op->texts[PL_ARRAY_LEN(texts)] =
            pl_memdup0(op->w.input.ptr, op->w.input.len);
}

struct pl_gate_op *pl_gate_write(struct pl_gate *gate, const struct pl_write *write,
                                 pl_written_fn on_written, void *arg)
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
    op->on_written = on_written;
    op->arg = arg;
    pl_list_push(&gate->ops, &op->link);
    pl_site_hold(gate->site);
    op->fenced = pl_gate_is_fenced(gate, write);
    if (!pl_gate_is_allowed(op)) {
        op->failed = true;
        pl_gate_refuse_closed(op);
        gate_finish_later(op);
        return op;
    }
    if (pl_gate_op_is_raw(op)) {
        start_raw(op);
        return op;
    }
    op->stage = PL_GATE_RESOLVING;
    pl_discovery_find(pl_site_discovery(gate->site), &op->w.kind, on_gate_resource, op);
    return op;
}
