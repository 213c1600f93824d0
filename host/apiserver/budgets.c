/* Collects the namespaces with changed Pods, workloads or budgets, and counts their budgets on a
 * timer. The disruption controller of Kubernetes counts in the same way: a Pod is healthy if it is
 * ready and not being deleted. An absolute minAvailable is compared with the selected Pods; for
 * a percentage and for maxUnavailable, as many Pods are expected as their controllers want. A Pod
 * without a known controller counts as one. A count that changes nothing writes nothing, so it does
 * not cause another one. */
#include "apiserver/budgets.h"

#include "apiserver/write.h"
#include "base/alloc.h"
#include "base/text.h"
#include "object/meta.h"
#include "object/selector.h"
#include "schema/condition.h"

#define DELAY PL_SECOND

struct pl_api_budgets {
    struct pl_api *api; /* back-pointer */
    struct pl_timer timer;
    struct pl_map namespaces; /* to be counted */
};

struct tally {
    int64_t pods, healthy, expected; /* expected: by the controllers of the Pods */
};

/* ---- Pods ---- */

static bool is_healthy(struct pl_node pod)
{
    return pl_api_has_condition(pod, "Ready", "True") && !pl_meta_is_deleting(pod);
}

/* The number of Pods that the controller of this one wants; -1: it is unknown. */
static int64_t wanted_by(struct pl_api *api, struct pl_slice ns, const struct pl_owner *owner)
{
    static const char *const plurals[] = {"replicasets", "statefulsets", "deployments"};
    int64_t count = -1;
    char *key = pl_format("%.*s/%.*s", PL_FMT(ns), PL_FMT(owner->name));
    for (size_t i = 0; i < PL_ARRAY_LEN(plurals) && count < 0; i++) {
        struct pl_api_entry *entry = pl_api_table_find(
            pl_api_builtin_table(api->registry, "apps", plurals[i]), pl_slice_z(key));
        if (entry != NULL && pl_slice_eqz(owner->uid, entry->uid))
            pl_node_int(pl_node_dig(pl_doc_root(entry->doc), "spec", "replicas"), &count);
    }
    pl_free(key);
    return count;
}

/* Adds what the Pod's controller wants, once for all its Pods. seen: the controllers' uids. */
static void expect_pods(struct pl_api *api, struct pl_slice ns, struct pl_node pod,
                        struct pl_map *seen, struct tally *tally)
{
    struct pl_owner owner;
    int64_t wanted =
        pl_meta_controller(pod, &owner) && owner.uid.len > 0 ? wanted_by(api, ns, &owner) : -1;
    if (wanted < 0) {
        tally->expected++;
    } else if (pl_map_get(seen, owner.uid) == NULL) {
        pl_map_put(seen, owner.uid, seen);
        tally->expected += wanted;
    }
}

static struct tally tally_of(struct pl_api *api, struct pl_node budget)
{
    struct pl_scratch scratch;
    struct pl_slice ns = pl_meta_namespace(budget, &scratch);
    struct pl_selector *selector =
        pl_selector_from_node(pl_node_dig(budget, "spec", "selector"), NULL);
    const struct pl_api_table *pods = pl_api_builtin_table(api->registry, "", "pods");
    struct pl_api_span span = pl_api_table_span(pods, ns);
    struct pl_map seen = PL_MAP_INIT;
    struct tally tally = {0};
    for (size_t i = span.first; selector != NULL && i < span.end; i++) {
        struct pl_node pod = pl_doc_root(pods->entries[i]->doc);
        if (!pl_selector_matches(selector, pl_meta_labels(pod)))
            continue;
        tally.pods++;
        tally.healthy += is_healthy(pod);
        expect_pods(api, ns, pod, &seen, &tally);
    }
    pl_map_deinit(&seen);
    pl_selector_destroy(selector);
    return tally;
}

/* ---- budgets ---- */

/* A number, or a percentage of `total`, rounded up. */
static int64_t amount_of(const struct pl_tree *value, int64_t total)
{
    int64_t number = 0;
    struct pl_slice text = pl_tree_text(value);
    if (text.len == 0) {
        pl_tree_integer(value, &number);
        return number;
    }
    for (size_t i = 0; i < text.len && pl_is_digit(text.ptr[i]) && i < 9; i++)
        number = number * 10 + (text.ptr[i] - '0');
    return (number * total + 99) / 100;
}

/* The number of healthy Pods that must remain. Corrects the expected number. */
static int64_t desired_of(const struct pl_tree *budget, struct tally *tally)
{
    const struct pl_tree *least = pl_tree_dig(budget, "spec.minAvailable");
    const struct pl_tree *most = pl_tree_dig(budget, "spec.maxUnavailable");
    if (most != NULL) {
        int64_t desired = tally->expected - amount_of(most, tally->expected);
        return desired > 0 ? desired : 0;
    }
    if (least == NULL || pl_tree_text(least).len == 0)
        tally->expected = tally->pods;
    return amount_of(least, tally->expected);
}

void pl_api_budget_set_condition(struct pl_arena *arena, struct pl_tree *budget,
                                 struct pl_tree *now)
{
    static const char *const allows[] = {"DisruptionAllowed", "True", "SufficientPods", ""};
    static const char *const forbids[] = {"DisruptionAllowed", "False", "InsufficientPods", ""};
    struct pl_tree *status = pl_tree_child(arena, budget, "status");
    int64_t allowed = 0, generation = 0;
    pl_tree_integer(pl_tree_getz(status, "disruptionsAllowed"), &allowed);
    pl_tree_integer(pl_tree_getz(status, "observedGeneration"), &generation);
    struct pl_tree *condition =
        pl_api_condition_set(arena, status, now, allowed > 0 ? allows : forbids);
    pl_tree_setz(arena, condition, "observedGeneration", pl_tree_int(arena, generation));
}

/* Sets a number; true if it was another one. */
static bool set_number(struct pl_arena *arena, struct pl_tree *status, const char *name,
                       int64_t value)
{
    int64_t before = -1;
    pl_tree_integer(pl_tree_getz(status, name), &before);
    pl_tree_setz(arena, status, name, pl_tree_int(arena, value));
    return before != value;
}

struct pl_tree *pl_api_budget_count(struct pl_api *api, struct pl_arena *arena,
                                    const struct pl_api_entry *entry)
{
    struct tally tally = tally_of(api, pl_doc_root(entry->doc));
    struct pl_tree *budget = pl_tree_from_node(arena, pl_doc_root(entry->doc));
    struct pl_tree *status = pl_tree_child(arena, budget, "status");
    int64_t desired = desired_of(budget, &tally), generation = 0;
    int64_t allowed = tally.healthy > desired && tally.expected > 0 ? tally.healthy - desired : 0;
    pl_tree_integer(pl_tree_dig(budget, "metadata.generation"), &generation);
    bool changed = pl_tree_getz(status, "disruptedPods") != NULL;
    pl_tree_removez(status, "disruptedPods");
    changed |= set_number(arena, status, "observedGeneration", generation);
    changed |= set_number(arena, status, "disruptionsAllowed", allowed);
    changed |= set_number(arena, status, "currentHealthy", tally.healthy);
    changed |= set_number(arena, status, "desiredHealthy", desired);
    changed |= set_number(arena, status, "expectedPods", tally.expected);
    if (!changed)
        return NULL;
    pl_api_budget_set_condition(arena, budget, pl_api_now(api, arena));
    return budget;
}

static void count_budget(struct pl_api *api, struct pl_api_entry *entry)
{
    struct pl_arena arena = {0};
    struct pl_tree *budget = pl_api_budget_count(api, &arena, entry);
    if (budget != NULL)
        pl_api_store_raw(api, &arena, entry, budget);
    pl_arena_deinit(&arena);
}

static struct pl_api_table *budgets_table(const struct pl_api *api)
{
    return pl_api_builtin_table(api->registry, "policy", "poddisruptionbudgets");
}

static void budgets_run(struct pl_timer *timer)
{
    struct pl_api_budgets *budgets = PL_CONTAINER_OF(timer, struct pl_api_budgets, timer);
    const struct pl_api_table *table = budgets_table(budgets->api);
    struct pl_map due = budgets->namespaces;
    size_t at = 0;
    struct pl_slice ns;
    void *value;
    budgets->namespaces = PL_MAP_INIT;
    while (pl_map_next(&due, &at, &ns, &value)) {
        struct pl_api_span span = pl_api_table_span(table, ns);
        for (size_t i = span.first; i < span.end && i < table->count; i++)
            count_budget(budgets->api, table->entries[i]);
    }
    pl_map_deinit(&due);
}

/* ---- life ---- */

void pl_api_budgets_note(struct pl_api_budgets *budgets, const struct pl_api_event *event)
{
    static const char *const kinds[] = {"Pod", "PodDisruptionBudget", "ReplicaSet", "StatefulSet",
                                        "Deployment"};
    struct pl_scratch scratch;
    struct pl_slice ns = pl_meta_namespace(pl_doc_root(event->doc), &scratch);
    bool counts = false;
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++)
        counts = counts || pl_api_type_is_builtin(event->type, kinds[i]);
    if (!counts || ns.len == 0 || budgets_table(budgets->api)->count == 0)
        return;
    pl_map_put(&budgets->namespaces, ns, budgets);
    if (!pl_timer_is_active(&budgets->timer))
        pl_timer_start(budgets->api->timers, &budgets->timer, DELAY, budgets_run);
}

struct pl_api_budgets *pl_api_budgets_create(struct pl_api *api)
{
    struct pl_api_budgets *budgets = PL_NEW(struct pl_api_budgets);
    budgets->api = api;
    return budgets;
}

void pl_api_budgets_destroy(struct pl_api_budgets *budgets)
{
    pl_timer_stop(budgets->api->timers, &budgets->timer);
    pl_map_deinit(&budgets->namespaces);
    pl_free(budgets);
}
