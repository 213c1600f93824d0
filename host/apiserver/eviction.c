/* Evictions. An eviction checks the disruption budget of the Pod, deletes the Pod, and is then
 * counted in the budget's status. With --simulate the server counts what a budget allows
 * (budgets.c). Otherwise a test must write that status; without it a budget allows nothing.
 *
 * Webhooks are asked about the Eviction before anything is stored, because a request that waits
 * runs again from its beginning. The budget is charged last, so that a deletion which fails costs
 * nothing. */
#include "apiserver/eviction.h"

#include "apicall/body.h"
#include "apiserver/budgets.h"
#include "apiserver/pods.h"
#include "apiserver/steps.h"
#include "object/meta.h"
#include "object/selector.h"
#include "schema/condition.h"

#include <inttypes.h>

#define BUSY_S 10 /* delay until a budget without a status is checked again */

static int fail_busy(struct pl_api_ctx *ctx, struct pl_slice why, int retry_s)
{
    pl_api_fail(&ctx->status, 429, "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.");
    pl_api_fail_cause(&ctx->status, "DisruptionBudget", pl_slice("", 0), why);
    ctx->status.retry_after = retry_s;
    return -1;
}

/* The budget that selects the pod; NULL: none. several: there is more than one. */
static struct pl_api_entry *budget_of(struct pl_api_ctx *ctx, struct pl_node pod, bool *several)
{
    const struct pl_api_table *table =
        pl_api_builtin_table(ctx->api->registry, "policy", "poddisruptionbudgets");
    struct pl_api_span span = pl_api_table_span(table, ctx->request.ns);
    struct pl_api_entry *found = NULL;
    *several = false;
    for (size_t i = span.first; i < span.end; i++) {
        struct pl_api_entry *entry = table->entries[i];
        struct pl_selector *selector =
            pl_selector_from_node(pl_node_dig(pl_doc_root(entry->doc), "spec", "selector"), NULL);
        if (selector != NULL && pl_selector_matches(selector, pl_meta_labels(pod))) {
            *several = found != NULL;
            found = entry;
        }
        pl_selector_destroy(selector);
    }
    return found;
}

static int64_t integer_at(const struct pl_tree *object, const char *path)
{
    int64_t value = 0;
    pl_tree_integer(pl_tree_dig(object, path), &value);
    return value;
}

/* Subtracts one disruption and records its pod. */
static void spend(struct pl_api_ctx *ctx, struct pl_api_entry *entry)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *budget = pl_tree_from_node(arena, pl_doc_root(entry->doc));
    int64_t left = integer_at(budget, "status.disruptionsAllowed") - 1;
    struct pl_tree *status = pl_tree_child(arena, budget, "status");
    pl_tree_setz(arena, status, "disruptionsAllowed", pl_tree_int(arena, left));
    pl_tree_set(arena, pl_tree_child(arena, status, "disruptedPods"), ctx->request.name,
                pl_api_ctx_now(ctx));
    if (left == 0)
        pl_api_budget_set_condition(arena, budget, pl_api_ctx_now(ctx));
    pl_api_store_raw(ctx->api, arena, entry, budget);
}

/* A Pod that is not ready does not count as healthy, so its end costs the budget nothing. */
static bool is_free(const struct pl_tree *budget, struct pl_node pod)
{
    int64_t desired = integer_at(budget, "status.desiredHealthy");
    struct pl_slice policy = pl_tree_text_at(budget, "spec.unhealthyPodEvictionPolicy");
    if (pl_api_has_condition(pod, "Ready", "True"))
        return false;
    return pl_slice_eqz(policy, "AlwaysAllow") ||
           (desired > 0 && integer_at(budget, "status.currentHealthy") >= desired);
}

/* -1 if the pod's budget allows nothing. Else *spent is set if a disruption must be counted. */
static int ask_budget(struct pl_api_ctx *ctx, struct pl_node pod, struct pl_api_entry **spent)
{
    bool several;
    struct pl_arena *arena = &ctx->arena;
    struct pl_api_entry *entry = budget_of(ctx, pod, &several);
    if (several)
        return pl_api_fail(&ctx->status, 500, "",
                           "This pod has more than one PodDisruptionBudget, which the eviction "
                           "subresource does not support.");
    if (entry == NULL)
        return 0;
    struct pl_tree *budget = pl_tree_from_node(arena, pl_doc_root(entry->doc));
    struct pl_slice name = pl_tree_text_at(budget, "metadata.name");
    if (is_free(budget, pod))
        return 0;
    if (integer_at(budget, "status.observedGeneration") < integer_at(budget, "metadata.generation"))
        return fail_busy(ctx,
                         pl_arena_f(arena,
                                    "The disruption budget %.*s is still being processed by "
                                    "the server.",
                                    PL_FMT(name)),
                         BUSY_S);
    if (integer_at(budget, "status.disruptionsAllowed") <= 0)
        return fail_busy(ctx,
                         pl_arena_f(arena,
                                    "The disruption budget %.*s needs %" PRId64
                                    " healthy pods and has %" PRId64 " currently",
                                    PL_FMT(name), integer_at(budget, "status.desiredHealthy"),
                                    integer_at(budget, "status.currentHealthy")),
                         0);
    *spent = entry;
    return 0;
}

/* Pods that have not started, have ended, or are being deleted need no budget. */
static bool needs_budget(struct pl_node pod)
{
    static const char phases[][12] = {"Succeeded", "Failed", "Pending"};
    struct pl_node phase = pl_node_dig(pod, "status", "phase");
    for (size_t i = 0; i < PL_ARRAY_LEN(phases); i++)
        if (pl_node_str_eq(phase, pl_slice_z(phases[i])))
            return false;
    return !pl_meta_is_deleting(pod);
}

/* A Pod says why it ends. managedFields have no entry for it. */
static struct pl_api_entry *note_eviction(struct pl_api_ctx *ctx, struct pl_api_entry *entry)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *pod = pl_tree_from_node(arena, pl_doc_root(entry->doc));
    struct pl_tree *status = pl_tree_child(arena, pod, "status");
    struct pl_tree *condition = pl_tree_literal(
        arena, "{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"lastProbeTime\":null,"
               "\"reason\":\"EvictionByEvictionAPI\","
               "\"message\":\"Eviction API: evicting\"}");
    pl_api_condition_replace(arena, status, pl_api_ctx_now(ctx), condition);
    return pl_api_storage_put(ctx->api->storage, arena, ctx->type, pl_slice_z(entry->key), pod);
}

static struct pl_slice version_of(struct pl_api_ctx *ctx, const struct pl_api_entry *entry)
{
    return pl_arena_f(&ctx->arena, "%" PRIu64, entry->rv);
}

/* The preconditions of an eviction. The deletion checks them, too, and reports them. */
static bool are_met(struct pl_api_ctx *ctx, const struct pl_api_entry *entry,
                    const struct pl_api_delete_options *options)
{
    return (options->uid.len == 0 || pl_slice_eqz(options->uid, entry->uid)) &&
           (options->rv.len == 0 || pl_slice_eq(options->rv, version_of(ctx, entry)));
}

int pl_api_pod_evict(struct pl_api_ctx *ctx)
{
    struct pl_doc *left;
    bool gone;
    struct pl_tree *eviction = pl_api_decode_as(ctx, "policy/v1", "Eviction");
    if (eviction == NULL)
        return -1;
    if (!pl_slice_eq(pl_tree_text_at(eviction, "metadata.name"), ctx->request.name))
        return pl_api_bad_request(&ctx->status,
                                  "name in URL does not match name in Eviction object");
    if (pl_api_pods_admit_body(ctx, &eviction, "policy", "Eviction") != 0)
        return -1;
    const struct pl_tree *given = pl_tree_getz(eviction, "deleteOptions");
    const struct pl_tree *dry = pl_tree_getz(given, "dryRun");
    struct pl_api_entry *entry = pl_api_table_find(
        ctx->type->table, pl_api_key(&ctx->arena, ctx->request.ns, ctx->request.name));
    if (entry == NULL)
        return pl_api_fail_not_found(ctx, ctx->request.name);
    struct pl_api_delete_options options = {
        .uid = pl_tree_text_at(given, "preconditions.uid"),
        .rv = pl_tree_text_at(given, "preconditions.resourceVersion"),
        .dry_run = ctx->request.dry_run || (dry != NULL && dry->count > 0),
        .is_graceful = true,
        .has_grace = pl_tree_integer(pl_tree_getz(given, "gracePeriodSeconds"), &options.grace_s),
    };
    struct pl_node pod = pl_doc_root(entry->doc);
    struct pl_api_entry *spent = NULL;
    if (needs_budget(pod) && ask_budget(ctx, pod, &spent) != 0)
        return -1;
    if (!options.dry_run && are_met(ctx, entry, &options)) {
        entry = note_eviction(ctx, entry);
        if (options.rv.len > 0)
            options.rv = version_of(ctx, entry); /* the note has made a new version */
    }
    if (pl_api_delete_entry(ctx, entry, &options, &left, &gone) != 0)
        return -1;
    pl_doc_unref(left);
    if (spent != NULL && !options.dry_run)
        spend(ctx, spent);
    return pl_api_pods_answer_success(ctx);
}
