/* Requests come from the containers' requests, and from the Pod's limits. Limits come from the
 * containers' limits, if all containers have one; they are at least as high as the requests. */
#include "admission/pod_resources.h"

#include "valid/amounts.h"

#include <string.h>

static bool is_for_pods(struct pl_slice name)
{
    return pl_slice_eqz(name, "cpu") || pl_slice_eqz(name, "memory") || pl_is_huge_pages(name);
}

static void put(struct pl_arena *arena, struct pl_tree *resources, const char *list,
                struct pl_slice name, struct pl_amount amount)
{
    struct pl_tree *all = pl_tree_child(arena, resources, list);
    if (pl_tree_get(all, name) == NULL)
        pl_tree_set(arena, all, name, pl_tree_str(arena, pl_amount_text(arena, amount)));
}

static bool all_have_limit(const struct pl_tree *spec, struct pl_slice name)
{
    static const char lists[][20] = {"containers", "initContainers", "ephemeralContainers"};
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        PL_TREE_FOR(one, pl_tree_getz(spec, lists[i]))
    if (pl_tree_get(pl_tree_dig(one->value, "resources.limits"), name) == NULL)
        return false;
    return true;
}

/* Huge pages cannot be overcommitted, so their limit comes first, and requests follow it. */
static void default_huge_pages(struct pl_arena *arena, struct pl_tree *resources,
                               const struct pl_usage *limits)
{
    for (size_t i = 0; i < limits->count; i++) {
        struct pl_slice name = limits->list[i].name;
        if (pl_is_huge_pages(name) &&
            pl_tree_get(pl_tree_getz(resources, "requests"), name) == NULL)
            put(arena, resources, "limits", name, limits->list[i].amount);
    }
}

static void default_requests(struct pl_arena *arena, struct pl_tree *resources,
                             const struct pl_usage *requests)
{
    struct pl_amount amount;
    for (size_t i = 0; i < requests->count; i++)
        if (is_for_pods(requests->list[i].name) && !pl_is_huge_pages(requests->list[i].name))
            put(arena, resources, "requests", requests->list[i].name, requests->list[i].amount);
    PL_TREE_FOR(item, pl_tree_getz(resources, "limits"))
    if (is_for_pods(item->key) && pl_amount_read(item->value, &amount))
        put(arena, resources, "requests", item->key, amount);
}

static void default_limits(struct pl_arena *arena, struct pl_tree *spec, struct pl_tree *resources,
                           const struct pl_usage *limits)
{
    struct pl_amount request;
    PL_TREE_FOR(item, pl_tree_getz(resources, "requests"))
    {
        const struct pl_amount *sum = pl_usage_get(limits, item->key);
        if (sum == NULL || !is_for_pods(item->key) || !all_have_limit(spec, item->key) ||
            !pl_amount_read(item->value, &request))
            continue;
        put(arena, resources, "limits", item->key, request.milli > sum->milli ? request : *sum);
    }
}

void pl_api_pod_resources_default(struct pl_arena *arena, struct pl_tree *spec)
{
    struct pl_tree *resources = pl_tree_getz(spec, "resources");
    const struct pl_tree *requests = pl_tree_getz(resources, "requests");
    const struct pl_tree *limits = pl_tree_getz(resources, "limits");
    if ((requests == NULL || requests->count == 0) && (limits == NULL || limits->count == 0))
        return;
    struct pl_usage all_requests = {.count = 0}, all_limits = {.count = 0};
    pl_usage_of_containers(&all_requests, spec, "requests");
    pl_usage_of_containers(&all_limits, spec, "limits");
    default_huge_pages(arena, resources, &all_limits);
    default_requests(arena, resources, &all_requests);
    default_limits(arena, spec, resources, &all_limits);
}
