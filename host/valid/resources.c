/* Amounts that pods and containers request: names, whole numbers, huge pages, limits, and the
 * claims of a pod that a container uses. */
#include "valid/kinds.h"

#include "base/text.h"
#include "format/units.h"
#include "object/tree.h"
#include "valid/amounts.h"

#include <math.h>
#include <string.h>

#define OF_CONTAINERS "cpu,memory,ephemeral-storage"

/* ---- names ---- */

/* Kubernetes' own: without a domain, or of kubernetes.io. */
static bool is_native(struct pl_slice name)
{
    return pl_slice_chr(name, '/') == NULL || pl_text_find(name, "kubernetes.io/") != NULL;
}

static bool resources_is_whole(struct pl_slice name)
{
    return pl_is_among(name, PL_RESOURCES_COUNTED) ||
           (!is_native(name) && !pl_text_begins(name, "requests."));
}

bool pl_valid_resource_name(struct pl_api_faults *f, const struct pl_spot *at, struct pl_slice name,
                            bool in_quota)
{
    const struct pl_tree *shown = pl_tree_str(f->arena, name);
    size_t before = pl_api_fault_count(f);
    pl_qualified(f, at, shown, "always");
    if (pl_api_fault_count(f) != before)
        return false;
    if (pl_slice_chr(name, '/') != NULL || pl_is_huge_pages(name) ||
        pl_is_among(name, PL_RESOURCES_COUNTED "," PL_RESOURCES_MEASURED ",storage") ||
        (in_quota && pl_text_begins(name, "requests.hugepages-")))
        return true;
    pl_bad_value(f, at, shown, "must be a standard resource type or fully qualified");
    return false;
}

static void check_container_name(struct pl_api_faults *f, const struct pl_spot *at,
                                 struct pl_slice name)
{
    const struct pl_tree *shown = pl_tree_str(f->arena, name);
    pl_valid_resource_name(f, at, name, false);
    if (pl_slice_chr(name, '/') == NULL && !pl_is_among(name, OF_CONTAINERS) &&
        !pl_is_huge_pages(name))
        pl_bad_value(f, at, shown, "must be a standard resource for containers");
    else if (!is_native(name) && pl_text_begins(name, "requests."))
        pl_bad_value(f, at, shown, "doesn't follow extended resource name standard");
}

static void check_pod_name(struct pl_api_faults *f, const struct pl_spot *at, struct pl_slice name)
{
    if (pl_valid_resource_name(f, at, name, false) && !pl_is_among(name, "cpu,memory") &&
        !pl_is_huge_pages(name))
        pl_bad_unsupported(f, at, pl_tree_str(f->arena, name), "cpu,hugepages-,memory");
}

/* ---- amounts ---- */

static double amount(struct pl_slice text)
{
    double is = 0;
    pl_quantity_parse(text, &is);
    return is;
}

/* A multiple of the size that is in the resource's name. */
static bool is_divisible(struct pl_slice name, const struct pl_tree *value)
{
    static const size_t prefix = sizeof("hugepages-") - 1;
    double page = amount(pl_slice(name.ptr + prefix, name.len - prefix));
    double is = amount(pl_tree_text(value));
    return page > 0 && is > 0 && fmod(is, page) == 0;
}

static void check_amount(struct pl_api_faults *f, const struct pl_spot *at, struct pl_slice name,
                         const struct pl_tree *value)
{
    double is = amount(pl_tree_text(value));
    if (is < 0)
        pl_bad_value(f, at, value, "must be greater than or equal to 0");
    if (resources_is_whole(name) && is != floor(is))
        pl_bad_value(f, at, value, "must be an integer");
    if (pl_is_huge_pages(name) && !is_divisible(name, value))
        pl_bad_value(f, at, value, "%.*s is not positive integer multiple of %.*s",
                     PL_FMT(pl_tree_text(value)), PL_FMT(name));
}

static void check_amounts(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *amounts, bool of_pod)
{
    PL_TREE_FOR(item, pl_tree_is(amounts, PL_OBJECT) ? amounts : NULL)
    {
        const struct pl_spot *here = PL_OF_KEY(at, item->key);
        if (of_pod)
            check_pod_name(f, here, item->key);
        else
            check_container_name(f, here, item->key);
        check_amount(f, here, item->key, item->value);
    }
}

/* A request must not exceed its limit. If the resource cannot be shared, both must be equal. */
static void check_request(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree_item *request, const struct pl_tree *limits)
{
    const struct pl_tree *limit = pl_tree_get(limits, request->key);
    bool is_shared = is_native(request->key) && !pl_is_huge_pages(request->key);
    if (limit == NULL) {
        if (!is_shared)
            pl_bad_required(f, PL_MEMBER(at, "limits"),
                            "Limit must be set for non overcommitable resources");
        return;
    }
    int order = pl_quantity_cmp(request->value, limit);
    if (is_shared ? order > 0 : order != 0)
        pl_bad_value(f, PL_MEMBER(at, "requests"), request->value, "must be %s %.*s limit of %.*s",
                     is_shared ? "less than or equal to" : "equal to", PL_FMT(request->key),
                     PL_FMT(limit->text));
}

static bool has_one(const struct pl_tree *resources, bool huge)
{
    static const char lists[][12] = {"limits", "requests"};
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        PL_TREE_FOR(item, pl_tree_getz(resources, lists[i]))
    if (huge ? pl_is_huge_pages(item->key) : pl_is_among(item->key, "cpu,memory"))
        return true;
    return false;
}

/* ---- claims ---- */

/* A claim, or one request of it, is named once: "claim" has all its requests. key: what is named,
 * "claim" or "claim/request". */
static bool is_claimed(struct pl_api_faults *f, struct pl_map *seen, struct pl_slice claim,
                       struct pl_slice key)
{
    struct pl_slice any = pl_arena_f(f->arena, "%.*s/", PL_FMT(claim));
    bool again = pl_map_has(seen, claim) || pl_map_has(seen, key) ||
                 (key.len == claim.len && pl_map_has(seen, any));
    pl_map_put(seen, key, (void *)key.ptr);
    if (key.len > claim.len)
        pl_map_put(seen, any, (void *)any.ptr);
    return again;
}

static void check_claim_request(struct pl_api_faults *f, const struct pl_spot *at,
                                const struct pl_tree *one, struct pl_map *seen)
{
    const struct pl_tree *request = pl_tree_getz(one, "request");
    struct pl_slice claim = pl_tree_text_at(one, "name"), key = claim;
    if (!pl_map_has(seen, claim))
        pl_label(f, PL_MEMBER(at, "request"), request, NULL);
    if (!pl_is_empty(request))
        key = pl_arena_f(f->arena, "%.*s/%.*s", PL_FMT(claim), PL_FMT(request->text));
    bool whole = pl_map_has(seen, claim);
    if (is_claimed(f, seen, claim, key))
        pl_bad_duplicate(f, at, pl_tree_str(f->arena, whole ? claim : key));
}

static void check_claims(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *claims, const struct pl_tree *of_pod)
{
    struct pl_buf names = PL_BUF_INIT;
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    PL_EACH(item, of_pod)
    pl_buf_add_f(&names, "%s%.*s", names.len > 0 ? ", " : ": ",
                 PL_FMT(pl_tree_text_at(item->value, "name")));
    PL_EACH(item, claims)
    {
        const struct pl_spot *here = PL_INDEX(at, i++);
        struct pl_slice name = pl_tree_text_at(item->value, "name");
        bool found = false;
        if (name.len == 0) {
            pl_bad_required(f, here, "");
            continue;
        }
        check_claim_request(f, here, item->value, &seen);
        PL_EACH(one, of_pod)
        found = found || pl_slice_eq(pl_tree_text_at(one->value, "name"), name);
        if (!found)
            pl_api_fault(f, "FieldValueNotFound", pl_spot_text(f, here),
                         "Not found: \"%.*s\": must be one of the names in pod.spec.resourceClaims"
                         "%s",
                         PL_FMT(name), names.len > 0 ? pl_buf_z(&names) : " which is empty");
    }
    pl_map_deinit(&seen);
    pl_buf_deinit(&names);
}

void pl_valid_resources(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *resources, const struct pl_tree *claims, bool of_pod)
{
    const struct pl_tree *limits = pl_tree_getz(resources, "limits");
    const struct pl_tree *requests = pl_tree_getz(resources, "requests");
    check_amounts(f, PL_MEMBER(at, "limits"), limits, of_pod);
    check_amounts(f, PL_MEMBER(at, "requests"), requests, of_pod);
    PL_TREE_FOR(item, requests)
    check_request(f, at, item, limits);
    if (has_one(resources, true) && !has_one(resources, false))
        pl_bad_forbidden(f, at, "HugePages require cpu or memory");
    if (of_pod && pl_tree_getz(resources, "claims") != NULL)
        pl_bad_forbidden(f, PL_MEMBER(at, "claims"),
                         "claims may not be set for Resources at pod-level");
    check_claims(f, PL_MEMBER(at, "claims"), pl_tree_getz(resources, "claims"), claims);
}

/* ---- a pod as a whole ---- */

static void not_below(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, struct pl_amount sum, const char *what)
{
    struct pl_amount is;
    if (pl_amount_read(value, &is) && sum.milli > is.milli)
        pl_bad_value(f, at, value,
                     "must be greater than or equal to aggregate container %s of %.*s", what,
                     PL_FMT(pl_amount_text(f->arena, sum)));
}

static void check_limits_of_containers(struct pl_api_faults *f, const struct pl_spot *at,
                                       const struct pl_tree *containers,
                                       const struct pl_tree *limits)
{
    const struct pl_spot *list = PL_MEMBER(at, "containers");
    size_t i = 0;
    PL_EACH(one, containers)
    {
        const struct pl_spot *here = PL_INDEX(list, i++);
        PL_TREE_FOR(item, pl_tree_dig(one->value, "resources.limits"))
        {
            const struct pl_tree *most = pl_tree_get(limits, item->key);
            if (most != NULL && pl_quantity_cmp(item->value, most) > 0)
                pl_bad_value(f, PL_MEMBER(PL_OF_KEY(here, item->key), "limits"), item->value,
                             "must be less than or equal to pod limits of %.*s",
                             PL_FMT(pl_tree_text(most)));
        }
    }
}

/* They are at least what the containers have together. */
static void check_sums(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *spec, const struct pl_tree *resources)
{
    const struct pl_tree *requests = pl_tree_getz(resources, "requests");
    const struct pl_tree *limits = pl_tree_getz(resources, "limits");
    struct pl_usage sums = {.count = 0}, most = {.count = 0};
    pl_usage_of_containers(&sums, spec, "requests");
    pl_usage_of_containers(&most, spec, "limits");
    for (size_t i = 0; i < sums.count; i++)
        not_below(f, PL_OF_KEY(PL_MEMBER(at, "requests"), sums.list[i].name),
                  pl_tree_get(requests, sums.list[i].name), sums.list[i].amount, "requests");
    for (size_t i = 0; i < most.count; i++)
        if (pl_is_huge_pages(most.list[i].name))
            not_below(f, PL_OF_KEY(PL_MEMBER(at, "limits"), most.list[i].name),
                      pl_tree_get(limits, most.list[i].name), most.list[i].amount, "limits");
    check_limits_of_containers(f, at, pl_tree_getz(spec, "containers"), limits);
}

void pl_valid_pod_resources(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *spec)
{
    const struct pl_tree *resources = pl_tree_getz(spec, "resources");
    const struct pl_spot *here = PL_MEMBER(at, "resources");
    if (resources == NULL)
        return;
    if (pl_slice_eqz(pl_tree_text_at(pl_tree_getz(spec, "os"), "name"), "windows")) {
        pl_bad_forbidden(f, here, "may not be set for a windows pod");
        return;
    }
    pl_valid_resources(f, here, resources, NULL, true);
    check_sums(f, here, spec, resources);
}

/* ---- the claims of a pod ---- */

void pl_valid_pod_claims(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *claims)
{
    static const struct pl_rule rules[] = {
        {"[].name", pl_need, NULL},
        {"[].name", pl_label, NULL},
        {"[].resourceClaimName", pl_given_subdomain, NULL},
        {"[].resourceClaimTemplateName", pl_given_subdomain, NULL},
        {NULL, NULL, NULL},
    };
    size_t i = 0;
    pl_hold(f, at, claims, rules);
    pl_unique(f, at, claims, "name");
    PL_EACH(item, claims)
    {
        const struct pl_spot *here = PL_INDEX(at, i++);
        bool one = pl_tree_getz(item->value, "resourceClaimName") != NULL;
        bool other = pl_tree_getz(item->value, "resourceClaimTemplateName") != NULL;
        if (one && other)
            pl_bad_struct(f, here, "@PodResourceClaim", item->value,
                          "at most one of `resourceClaimName` or `resourceClaimTemplateName` may "
                          "be specified");
        else if (!one && !other)
            pl_bad_struct(f, here, "@PodResourceClaim", item->value,
                          "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    }
}

void pl_valid_resize_policies(struct pl_api_faults *f, const struct pl_spot *at,
                              const struct pl_tree *list, struct pl_slice restart)
{
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    PL_EACH(item, list)
    {
        const struct pl_tree *name = pl_tree_getz(item->value, "resourceName");
        const struct pl_tree *policy = pl_tree_getz(item->value, "restartPolicy");
        const struct pl_spot *here = PL_INDEX(at, i++);
        if (pl_comes_again(&seen, name, NULL))
            pl_bad_duplicate(f, here, pl_or_empty(f, name));
        pl_needs_one(f, at, name, "cpu,memory");
        pl_needs_one(f, at, policy, "NotRequired,RestartContainer");
        if (pl_slice_eqz(restart, "Never") && !pl_slice_eqz(pl_tree_text(policy), "NotRequired"))
            pl_bad_value(f, at, pl_or_empty(f, policy),
                         "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
    }
    pl_map_deinit(&seen);
}
