/* The gate itself: how it begins and ends, and how it closes for all writes, or for those of
 * leaders and of shards that were lost. The gates of other clusters are children of the host's own,
 * and what closes the parent closes them too. Closing only cancels what is under way: each write
 * still ends once, and its caller is told (gate_end.c). */
#include "write/gate_op.h"

#include "base/alloc.h"
#include "base/check.h"

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

/* The transport asks the fence, but knows no shards: so writes under way that belong to lost shards
 * are ended here. */
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
