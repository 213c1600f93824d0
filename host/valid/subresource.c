/* Changes of a Pod by its subresources. Ephemeral containers can be added, but not changed or
 * removed. Amounts of resources can be changed if the class of service stays the same. */
#include "valid/subresource.h"

#include "base/text.h"
#include "valid/kinds.h"

#include <string.h>

#define BURSTABLE "Burstable"

/* ---- ephemeral containers ---- */

static void check_ephemeral(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *spec, const struct pl_tree *container)
{
    static const char never[][16] = {"lifecycle",    "livenessProbe", "readinessProbe",
                                     "startupProbe", "ports",         "resizePolicy"};
    struct pl_slice name = pl_tree_text_at(container, "name");
    struct pl_slice target = pl_tree_text_at(container, "targetContainerName");
    const struct pl_tree *resources = pl_tree_getz(container, "resources");
    pl_need(f, PL_MEMBER(at, "name"), pl_tree_getz(container, "name"), NULL);
    pl_label(f, PL_MEMBER(at, "name"), pl_tree_getz(container, "name"), NULL);
    if (name.len > 0 && (pl_named(pl_tree_getz(spec, "containers"), name) != NULL ||
                         pl_named(pl_tree_getz(spec, "initContainers"), name) != NULL))
        pl_bad_duplicate(f, PL_MEMBER(at, "name"), pl_tree_getz(container, "name"));
    pl_need(f, PL_MEMBER(at, "image"), pl_tree_getz(container, "image"), NULL);
    for (size_t i = 0; i < PL_ARRAY_LEN(never); i++)
        if (!pl_is_empty(pl_tree_getz(container, never[i])))
            pl_bad_forbidden(f, PL_MEMBER(at, never[i]),
                             "cannot be set for an Ephemeral Container");
    if (!pl_is_empty(resources))
        pl_bad_forbidden(f, PL_MEMBER(at, "resources"), "cannot be set for an Ephemeral Container");
    if (target.len > 0 && pl_named(pl_tree_getz(spec, "containers"), target) == NULL &&
        pl_named(pl_tree_getz(spec, "initContainers"), target) == NULL)
        pl_bad_not_found(f, PL_MEMBER(at, "targetContainerName"), target);
}

void pl_valid_pod_ephemeral(struct pl_api_faults *faults, const struct pl_tree *object,
                            const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *list = pl_tree_getz(spec, "ephemeralContainers");
    const struct pl_spot *at = PL_MEMBER(PL_MEMBER(NULL, "spec"), "ephemeralContainers");
    size_t i = 0;
    pl_valid_own_spec(faults, object);
    pl_unique(faults, at, list, "name");
    PL_EACH(item, list)
    check_ephemeral(faults, PL_INDEX(at, i++), spec, item->value);
    PL_EACH(item, pl_tree_dig(old, "spec.ephemeralContainers"))
    {
        struct pl_slice name = pl_tree_text_at(item->value, "name");
        const struct pl_tree *is = pl_named(list, name);
        if (is != NULL && pl_tree_equal(is, item->value))
            continue;
        pl_bad_forbidden(faults, at,
                         pl_arena_f(faults->arena,
                                    "existing ephemeral containers \"%.*s\" may not be %s\n",
                                    PL_FMT(name), is == NULL ? "removed" : "changed")
                             .ptr);
    }
}

/* ---- resizing ---- */

/* No class counts as long as nothing was looked at. Parts of different classes make a Pod
 * Burstable. */
static void join_class(const char **all, const char *part)
{
    *all = *all == NULL || strcmp(*all, part) == 0 ? part : BURSTABLE;
}

/* Only processors and memory count. */
static const char *class_of(const struct pl_tree *resources)
{
    static const char names[][8] = {"cpu", "memory"};
    const struct pl_tree *requests = pl_tree_getz(resources, "requests");
    const struct pl_tree *limits = pl_tree_getz(resources, "limits");
    const char *all = NULL;
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        const struct pl_tree *request = pl_tree_getz(requests, names[i]);
        const struct pl_tree *limit = pl_tree_getz(limits, names[i]);
        join_class(&all, pl_quantity_cmp(request, limit) != 0 ? BURSTABLE
                         : pl_quantity_sign(request) == 0     ? "BestEffort"
                                                              : "Guaranteed");
    }
    return all;
}

static bool is_for_pods(const struct pl_tree *list)
{
    PL_TREE_FOR(item, pl_tree_is(list, PL_OBJECT) ? list : NULL)
    if (pl_is_among(item->key, "cpu,memory") || pl_text_begins(item->key, "hugepages-"))
        return true;
    return false;
}

const char *pl_valid_pod_class(const struct pl_tree *pod)
{
    static const char lists[][16] = {"containers", "initContainers"};
    const struct pl_tree *spec = pl_tree_getz(pod, "spec");
    const struct pl_tree *whole = pl_tree_getz(spec, "resources");
    const char *all = NULL;
    if (is_for_pods(pl_tree_getz(whole, "requests")) || is_for_pods(pl_tree_getz(whole, "limits")))
        return class_of(whole);
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        PL_EACH(item, pl_tree_getz(spec, lists[i]))
    join_class(&all, class_of(pl_tree_getz(item->value, "resources")));
    return all != NULL ? all : "BestEffort";
}

void pl_valid_pod_resize(struct pl_api_faults *faults, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    const struct pl_spot *spec = PL_MEMBER(NULL, "spec");
    const char *is = pl_valid_pod_class(object), *was = pl_valid_pod_class(old);
    pl_valid_own_spec(faults, object);
    if (strcmp(is, was) != 0)
        pl_bad_value(faults, spec, pl_tree_strz(faults->arena, was),
                     "Pod QOS Class may not change as a result of resizing");
}
