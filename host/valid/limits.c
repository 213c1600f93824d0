/* ResourceQuotas, LimitRanges, PriorityClasses and RuntimeClasses. */
#include "valid/kinds.h"

#include "base/text.h"
#include "format/units.h"
#include "object/tree.h"

#include <string.h>

#define SPEC PL_MEMBER(NULL, "spec")
#define SCOPES                                                                                     \
    "Terminating,NotTerminating,BestEffort,NotBestEffort,PriorityClass,CrossNamespacePodAffinity," \
    "VolumeAttributesClass"

/* ---- ResourceQuotas ---- */

void pl_valid_quota_amounts(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *amounts)
{
    PL_TREE_FOR(item, amounts)
    {
        const struct pl_spot *spot = PL_OF_KEY(at, item->key);
        struct pl_slice text = item->key;
        const struct pl_tree *name = pl_tree_str(f->arena, text);
        double value;
        pl_valid_resource_name(f, spot, item->key, true);
        if (pl_slice_chr(text, '/') == NULL &&
            !pl_is_among(text, PL_RESOURCES_COUNTED "," PL_RESOURCES_MEASURED) &&
            !pl_text_begins(text, "hugepages-") && !pl_text_begins(text, "requests.hugepages-"))
            pl_bad_value(f, spot, name, "must be a standard resource for quota");
        if (pl_is_among(text, PL_RESOURCES_COUNTED) &&
            pl_quantity_parse(pl_tree_text(item->value), &value) && value != (double)(int64_t)value)
            pl_bad_value(f, spot, item->value, "must be an integer");
    }
}

static bool is_pod_resource(struct pl_slice name)
{
    return pl_is_among(name, "pods,cpu,memory,limits.cpu,limits.memory,requests.cpu,"
                             "requests.memory,ephemeral-storage,limits.ephemeral-storage,"
                             "requests.ephemeral-storage");
}

static bool scope_takes(struct pl_slice scope, struct pl_slice resource)
{
    if (pl_slice_eqz(scope, "BestEffort"))
        return pl_slice_eqz(resource, "pods");
    if (pl_slice_eqz(scope, "VolumeAttributesClass"))
        return pl_slice_eqz(resource, "persistentvolumeclaims") ||
               pl_slice_eqz(resource, "requests.storage");
    return is_pod_resource(resource);
}

static void limits_check_scope(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *shown, struct pl_slice scope,
                               const struct pl_tree *hard)
{
    PL_TREE_FOR(item, hard)
    {
        struct pl_slice name = item->key;
        bool standard = pl_slice_chr(name, '/') == NULL;
        if (!standard || scope_takes(scope, name))
            continue;
        pl_bad_value(f, at, shown, "unsupported scope applied to resource");
    }
}

static void check_scopes(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *scopes = pl_tree_getz(spec, "scopes");
    const struct pl_tree *hard = pl_tree_getz(spec, "hard");
    struct pl_map seen = PL_MAP_INIT;
    PL_EACH(item, scopes)
    {
        struct pl_slice scope = pl_tree_text(item->value);
        if (pl_comes_again(&seen, item->value, NULL))
            continue;
        if (!pl_is_among(scope, SCOPES))
            pl_bad_value(f, PL_MEMBER(SPEC, "scopes"), scopes, "unsupported scope");
        else
            limits_check_scope(f, PL_MEMBER(SPEC, "scopes"), scopes, scope, hard);
    }
    pl_map_deinit(&seen);
    if ((pl_tree_has_text(scopes, pl_slice_z("BestEffort")) &&
         pl_tree_has_text(scopes, pl_slice_z("NotBestEffort"))) ||
        (pl_tree_has_text(scopes, pl_slice_z("Terminating")) &&
         pl_tree_has_text(scopes, pl_slice_z("NotTerminating"))))
        pl_bad_value(f, PL_MEMBER(SPEC, "scopes"), scopes, "conflicting scopes");
}

static struct pl_tree *go_selector(struct pl_api_faults *f, const struct pl_tree *selector)
{
    struct pl_tree *out = pl_tree_object(f->arena), *list = pl_tree_array(f->arena);
    PL_EACH(item, pl_tree_getz(selector, "matchExpressions"))
    {
        struct pl_tree *one = pl_tree_object(f->arena);
        const struct pl_tree *values = pl_tree_getz(item->value, "values");
        pl_tree_setz(f->arena, one, "ScopeName",
                     pl_tree_str(f->arena, pl_tree_text_at(item->value, "scopeName")));
        pl_tree_setz(f->arena, one, "Operator",
                     pl_tree_str(f->arena, pl_tree_text_at(item->value, "operator")));
        pl_tree_setz(f->arena, one, "Values",
                     values != NULL ? pl_tree_copy(f->arena, values)
                                    : pl_tree_literal(f->arena, "null"));
        pl_tree_push(f->arena, list, one);
    }
    pl_tree_setz(f->arena, out, "MatchExpressions", list);
    return out;
}

static void check_scope_selector(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *selector = pl_tree_getz(spec, "scopeSelector");
    const struct pl_spot *at = PL_MEMBER(PL_MEMBER(SPEC, "scopeSelector"), "matchExpressions");
    struct pl_map seen = PL_MAP_INIT;
    PL_EACH(item, pl_tree_getz(selector, "matchExpressions"))
    {
        const struct pl_tree *name = pl_tree_getz(item->value, "scopeName");
        const struct pl_tree *how = pl_tree_getz(item->value, "operator");
        const struct pl_tree *values = pl_tree_getz(item->value, "values");
        struct pl_slice scope = pl_tree_text(name);
        if (!pl_is_among(scope, SCOPES))
            pl_bad_value(f, PL_MEMBER(at, "scopeName"), pl_or_empty(f, name), "unsupported scope");
        else if (!pl_comes_again(&seen, name, NULL))
            limits_check_scope(f, at, go_selector(f, selector), scope, pl_tree_getz(spec, "hard"));
        if (pl_is_among(scope, "BestEffort,NotBestEffort,Terminating,NotTerminating,"
                               "CrossNamespacePodAffinity") &&
            !pl_slice_eqz(pl_tree_text(how), "Exists"))
            pl_bad_value(f, PL_MEMBER(at, "operator"), pl_or_empty(f, how),
                         "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                         "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                         "ResourceQuotaScopeNotBestEffort or "
                         "ResourceQuotaScopeCrossNamespacePodAffinity");
        if (pl_is_among(pl_tree_text(how), "In,NotIn")) {
            if (pl_is_empty(values))
                pl_bad_required(f, PL_MEMBER(at, "values"),
                                "must be at least one value when `operator` is 'In' or 'NotIn' for "
                                "scope selector");
        } else if (pl_is_among(pl_tree_text(how), "Exists,DoesNotExist")) {
            if (!pl_is_empty(values))
                pl_bad_value(f, PL_MEMBER(at, "values"), values,
                             "must be no value when `operator` is 'Exist' or 'DoesNotExist' for "
                             "scope selector");
        } else {
            pl_bad_value(f, PL_MEMBER(at, "operator"), pl_or_empty(f, how),
                         "not a valid selector operator");
        }
    }
    pl_map_deinit(&seen);
}

void pl_valid_quota(struct pl_api_faults *f, const struct pl_tree *object,
                    const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {{"hard", pl_natural_all, NULL}, {NULL, NULL, NULL}};
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    pl_hold(f, SPEC, spec, rules);
    pl_valid_quota_amounts(f, PL_MEMBER(SPEC, "hard"), pl_tree_getz(spec, "hard"));
    if (old == NULL) { /* they cannot change */
        check_scopes(f, spec);
        check_scope_selector(f, spec);
    }
    if (old != NULL)
        pl_frozen(f, PL_MEMBER(SPEC, "scopes"), pl_tree_getz(spec, "scopes"),
                  pl_tree_dig(old, "spec.scopes"));
}

/* ---- LimitRanges ---- */

static void check_limit_type(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *type)
{
    struct pl_slice text = pl_tree_text(type);
    const struct pl_tree *shown = pl_or_empty(f, type);
    size_t before = pl_api_fault_count(f);
    pl_qualified(f, at, shown, NULL);
    if (pl_api_fault_count(f) == before && text.len > 0 && pl_slice_chr(text, '/') == NULL &&
        !pl_is_among(text, "Pod,Container,PersistentVolumeClaim"))
        pl_bad_value(f, at, shown, "must be a standard limit type or fully qualified");
}

struct pair {
    const char *low, *high;           /* members */
    const char *low_name, *high_name; /* names of these members in the message */
    const char *at;                   /* the member whose path the message has */
};

static void check_pair(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *limit, const struct pair *pair)
{
    const struct pl_tree *highs = pl_tree_getz(limit, pair->high);
    PL_TREE_FOR(item, pl_tree_getz(limit, pair->low))
    {
        const struct pl_tree *high = pl_tree_get(highs, item->key);
        if (high == NULL || pl_quantity_cmp(item->value, high) <= 0)
            continue;
        bool blames_low = strcmp(pair->at, pair->low) == 0 || strcmp(pair->at, "default") == 0;
        const struct pl_tree *blamed =
            blames_low && strcmp(pair->low, "default") != 0 ? item->value : high;
        pl_bad_value(f, PL_OF_KEY(PL_MEMBER(at, pair->at), item->key), blamed,
                     "%s value %.*s is greater than %s value %.*s", pair->low_name,
                     PL_FMT(item->value->text), pair->high_name, PL_FMT(high->text));
    }
}

static void check_ratio(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *limit)
{
    PL_TREE_FOR(item, pl_tree_getz(limit, "maxLimitRequestRatio"))
    {
        const struct pl_spot *spot = PL_OF_KEY(PL_MEMBER(at, "maxLimitRequestRatio"), item->key);
        const struct pl_tree *low = pl_tree_get(pl_tree_getz(limit, "min"), item->key);
        const struct pl_tree *high = pl_tree_get(pl_tree_getz(limit, "max"), item->key);
        double ratio = 0, least = 0, most = 0;
        pl_quantity_parse(item->value->text, &ratio);
        if (ratio < 1)
            pl_bad_value(f, spot, item->value, "ratio %.*s is less than 1",
                         PL_FMT(item->value->text));
        if (low == NULL || high == NULL || !pl_quantity_parse(low->text, &least) ||
            !pl_quantity_parse(high->text, &most) || least == 0)
            continue;
        if (ratio > most / least)
            pl_bad_value(f, spot, item->value, "ratio %.*s is greater than max/min = %f",
                         PL_FMT(item->value->text), most / least);
    }
}

static const char limit_members[][24] = {"max", "min", "maxLimitRequestRatio", "default",
                                         "defaultRequest"};

/* Containers have fewer resources than a namespace. */
static void check_names(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *limit, const char *member)
{
    bool runs = pl_is_among(pl_tree_text_at(limit, "type"), "Pod,Container");
    PL_TREE_FOR(item, pl_tree_getz(limit, member))
    {
        const struct pl_spot *spot = PL_OF_KEY(at, item->key);
        const struct pl_tree *name = pl_tree_str(f->arena, item->key);
        pl_valid_resource_name(f, spot, item->key, true);
        if (runs && pl_slice_chr(item->key, '/') == NULL &&
            !pl_is_among(item->key, "cpu,memory,ephemeral-storage") &&
            !pl_text_begins(item->key, "hugepages-"))
            pl_bad_value(f, spot, name, "must be a standard resource for containers");
    }
}

static void check_limit(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *limit)
{
    static const struct pair pairs[] = {
        {"min", "max", "min", "max", "min"},
        {"min", "defaultRequest", "min", "default request", "defaultRequest"},
        {"defaultRequest", "max", "default request", "max", "defaultRequest"},
        {"min", "default", "min", "default", "default"},
        {"default", "max", "default", "max", "default"},
        {"defaultRequest", "default", "default request", "default limit", "defaultRequest"},
    };
    bool pod = pl_slice_eqz(pl_tree_text_at(limit, "type"), "Pod");
    for (size_t i = 0; i < PL_ARRAY_LEN(limit_members); i++)
        if (!pod || i < 3) /* a Pod's defaults are refused as a whole */
            check_names(f, PL_MEMBER(at, limit_members[i]), limit, limit_members[i]);
    for (size_t i = 0; i < (pod ? 1 : PL_ARRAY_LEN(pairs)); i++)
        check_pair(f, at, limit, &pairs[i]);
    if (pod && !pl_is_empty(pl_tree_getz(limit, "default")))
        pl_bad_forbidden(f, PL_MEMBER(at, "default"), "may not be specified when `type` is 'Pod'");
    if (pod && !pl_is_empty(pl_tree_getz(limit, "defaultRequest")))
        pl_bad_forbidden(f, PL_MEMBER(at, "defaultRequest"),
                         "may not be specified when `type` is 'Pod'");
    if (pl_slice_eqz(pl_tree_text_at(limit, "type"), "PersistentVolumeClaim") &&
        pl_tree_dig(limit, "min.storage") == NULL && pl_tree_dig(limit, "max.storage") == NULL)
        pl_bad_required(f, PL_MEMBER(at, "limits"),
                        "either minimum or maximum storage value is required, but neither was "
                        "provided");
    check_ratio(f, at, limit);
}

void pl_valid_limit_range(struct pl_api_faults *f, const struct pl_tree *object,
                          const struct pl_tree *old)
{
    const struct pl_tree *limits = pl_tree_dig(object, "spec.limits");
    const struct pl_spot *list = PL_MEMBER(SPEC, "limits");
    size_t i = 0;
    PL_UNUSED(old);
    PL_EACH(item, limits)
    {
        const struct pl_spot *at = PL_INDEX(list, i++);
        check_limit_type(f, PL_MEMBER(at, "type"), pl_tree_getz(item->value, "type"));
        check_limit(f, at, item->value);
    }
    pl_unique(f, list, limits, "type");
}

/* ---- classes ---- */

void pl_valid_priority_class(struct pl_api_faults *f, const struct pl_tree *object,
                             const struct pl_tree *old)
{
    struct pl_slice name = pl_tree_text_at(object, "metadata.name");
    bool system = name.len > 7 && pl_text_begins(name, "system-");
    int64_t value = 0;
    pl_tree_integer(pl_tree_getz(object, "value"), &value);
    if (!system && value > 1000000000 && old == NULL)
        pl_bad_forbidden(f, PL_MEMBER(NULL, "value"),
                         "maximum allowed value of a user defined priority is 1000000000");
    else if (system && old == NULL &&
             !pl_is_among(name, "system-node-critical,system-cluster-critical"))
        pl_bad_forbidden(
            f, PL_MEMBER(PL_MEMBER(NULL, "metadata"), "name"),
            pl_arena_f(f->arena,
                       "priority class names with 'system-' prefix are reserved for system use "
                       "only. error: %.*s is not a known system priority class",
                       PL_FMT(name))
                .ptr);
    if (old == NULL) {
        pl_needs_one(f, PL_MEMBER(NULL, "preemptionPolicy"),
                     pl_tree_getz(object, "preemptionPolicy"), "PreemptLowerPriority,Never");
        return;
    }
    int64_t was = 0;
    pl_tree_integer(pl_tree_getz(old, "value"), &was);
    if (value != was)
        pl_bad_forbidden(f, PL_MEMBER(NULL, "value"), "may not be changed in an update.");
    pl_frozen(f, PL_MEMBER(NULL, "preemptionPolicy"), pl_tree_getz(object, "preemptionPolicy"),
              pl_tree_getz(old, "preemptionPolicy"));
}

/* The tolerations as Go prints them. */
static struct pl_tree *go_tolerations(struct pl_api_faults *f, const struct pl_tree *list)
{
    static const char members[][2][12] = {
        {"Key", "key"}, {"Operator", "operator"}, {"Value", "value"}, {"Effect", "effect"}};
    struct pl_arena *arena = f->arena;
    struct pl_tree *out = pl_tree_array(arena);
    PL_EACH(item, list)
    {
        struct pl_tree *one = pl_tree_object(arena);
        const struct pl_tree *seconds = pl_tree_getz(item->value, "tolerationSeconds");
        for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
            pl_tree_setz(arena, one, members[i][0],
                         pl_tree_str(arena, pl_tree_text_at(item->value, members[i][1])));
        pl_tree_setz(arena, one, "TolerationSeconds",
                     seconds != NULL ? pl_tree_copy(arena, seconds)
                                     : pl_tree_literal(arena, "null"));
        pl_tree_push(arena, out, one);
    }
    return out;
}

void pl_valid_runtime_class(struct pl_api_faults *f, const struct pl_tree *object,
                            const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {{"handler", pl_need, NULL},
                                           {"scheduling.nodeSelector", pl_labels, NULL},
                                           {NULL, NULL, NULL}};
    const struct pl_tree *tolerations = pl_tree_dig(object, "scheduling.tolerations");
    const struct pl_spot *at = PL_MEMBER(NULL, "scheduling");
    const struct pl_tree *handler = pl_tree_getz(object, "handler");
    pl_hold(f, NULL, object, rules);
    pl_label(f, PL_MEMBER(NULL, "handler"), handler, NULL);
    pl_natural_all(f, PL_MEMBER(PL_MEMBER(NULL, "overhead"), "limits"),
                   pl_tree_dig(object, "overhead.podFixed"), NULL);
    pl_valid_tolerations(f, PL_MEMBER(at, "tolerations"), tolerations);
    pl_unique(f, PL_MEMBER(at, "tolerations"), go_tolerations(f, tolerations), NULL);
    if (old != NULL)
        pl_frozen_unseen(f, PL_MEMBER(NULL, "handler"), handler, pl_tree_getz(old, "handler"));
}
