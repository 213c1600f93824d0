/* Where pods may run: node selectors, affinity between pods, tolerations, spreading. */
#include "valid/kinds.h"

#include "object/tree.h"

/* ---- nodes ---- */

static void check_field(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *one)
{
    const struct pl_tree *key = pl_tree_getz(one, "key");
    const struct pl_tree *how = pl_tree_getz(one, "operator");
    const struct pl_tree *values = pl_tree_getz(one, "values");
    size_t i = 0;
    if (!pl_is_among(pl_tree_text(how), "In,NotIn"))
        pl_bad_value(f, PL_MEMBER(at, "operator"), pl_or_empty(f, how),
                     "not a valid selector operator");
    else if (values == NULL || values->count != 1)
        pl_bad_required(f, PL_MEMBER(at, "values"),
                        "must be only one value when `operator` is 'In' or 'NotIn' for node field "
                        "selector");
    if (!pl_slice_eqz(pl_tree_text(key), "metadata.name"))
        pl_bad_value(f, PL_MEMBER(at, "key"), pl_or_empty(f, key),
                     "not a valid field selector key");
    else
        PL_EACH(value, values)
    pl_subdomain(f, PL_INDEX(PL_MEMBER(at, "values"), i++), value->value, "always");
}

static void check_term(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *term)
{
    const struct pl_spot *list = PL_MEMBER(at, "matchExpressions");
    size_t i = 0;
    PL_EACH(item, pl_tree_getz(term, "matchExpressions"))
    pl_requirement(f, PL_INDEX(list, i++), item->value, "Gt,Lt");
    list = PL_MEMBER(at, "matchFields");
    i = 0;
    PL_EACH(item, pl_tree_getz(term, "matchFields"))
    check_field(f, PL_INDEX(list, i++), item->value);
}

void pl_valid_node_selector(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *selector)
{
    const struct pl_tree *terms = pl_tree_getz(selector, "nodeSelectorTerms");
    const struct pl_spot *list = PL_MEMBER(at, "nodeSelectorTerms");
    size_t i = 0;
    if (pl_is_empty(terms))
        pl_bad_required(f, list, "must have at least one node selector term");
    PL_EACH(item, terms)
    check_term(f, PL_INDEX(list, i++), item->value);
}

static void weight(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                   const char *arg)
{
    int64_t is = 0;
    PL_UNUSED(arg);
    pl_tree_integer(value, &is);
    if (is < 1 || is > 100)
        pl_bad_value(f, at, value != NULL ? value : pl_tree_int(f->arena, 0),
                     "must be in the range 1-100");
}

/* ---- pods ---- */

static void topology_key(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *value, const char *arg)
{
    PL_UNUSED(arg);
    if (pl_is_empty(value))
        pl_bad_required(f, at, "can not be empty");
    pl_qualified(f, at, value, "always");
}

static void check_keys(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *keys, bool has_selector)
{
    size_t i = 0;
    if (!pl_is_empty(keys) && !has_selector) {
        pl_bad_forbidden(f, at, "must not be specified when labelSelector is not set");
        return;
    }
    PL_EACH(item, keys)
    pl_qualified(f, PL_INDEX(at, i++), item->value, "always");
}

void pl_valid_label_keys(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *term)
{
    const struct pl_tree *with = pl_tree_getz(term, "matchLabelKeys");
    const struct pl_tree *without = pl_tree_getz(term, "mismatchLabelKeys");
    bool has_selector = pl_tree_getz(term, "labelSelector") != NULL;
    const struct pl_spot *list = PL_MEMBER(at, "matchLabelKeys");
    size_t i = 0;
    check_keys(f, list, with, has_selector);
    check_keys(f, PL_MEMBER(at, "mismatchLabelKeys"), without, has_selector);
    PL_EACH(item, with)
    {
        if (pl_tree_is(without, PL_ARRAY) && pl_tree_has_text(without, pl_tree_text(item->value)))
            pl_bad_value(f, PL_INDEX(list, i), item->value,
                         "exists in both matchLabelKeys and mismatchLabelKeys");
        i++;
    }
}

static void check_pod_term(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *term)
{
    static const struct pl_rule rules[] = {
        {"labelSelector", pl_selector, NULL},
        {"namespaceSelector", pl_selector, NULL},
        {"topologyKey", topology_key, NULL},
        {NULL, NULL, NULL},
    };
    pl_hold(f, at, term, rules);
    PL_EACH(item, pl_tree_getz(term, "namespaces")) /* its message has no index */
    pl_label(f, PL_MEMBER(at, "namespace"), item->value, NULL);
    pl_valid_label_keys(f, at, term);
}

static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

static void check_pods(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *pods)
{
    const struct pl_spot *hard = PL_MEMBER(at, required), *soft = PL_MEMBER(at, preferred);
    size_t i = 0;
    PL_EACH(item, pl_tree_getz(pods, required))
    check_pod_term(f, PL_INDEX(hard, i++), item->value);
    i = 0;
    PL_EACH(item, pl_tree_getz(pods, preferred))
    {
        const struct pl_spot *one = PL_INDEX(soft, i++);
        weight(f, PL_MEMBER(one, "weight"), pl_tree_getz(item->value, "weight"), NULL);
        check_pod_term(f, PL_MEMBER(one, "podAffinityTerm"),
                       pl_tree_getz(item->value, "podAffinityTerm"));
    }
}

void pl_valid_affinity(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *affinity)
{
    const struct pl_tree *node = pl_tree_getz(affinity, "nodeAffinity");
    const struct pl_spot *spot = PL_MEMBER(at, "nodeAffinity");
    const struct pl_spot *list = PL_MEMBER(spot, preferred);
    size_t i = 0;
    if (pl_tree_getz(node, required) != NULL)
        pl_valid_node_selector(f, PL_MEMBER(spot, required), pl_tree_getz(node, required));
    PL_EACH(item, pl_tree_getz(node, preferred))
    {
        const struct pl_spot *one = PL_INDEX(list, i++);
        weight(f, PL_MEMBER(one, "weight"), pl_tree_getz(item->value, "weight"), NULL);
        check_term(f, PL_MEMBER(one, "preference"), pl_tree_getz(item->value, "preference"));
    }
    check_pods(f, PL_MEMBER(at, "podAffinity"), pl_tree_getz(affinity, "podAffinity"));
    check_pods(f, PL_MEMBER(at, "podAntiAffinity"), pl_tree_getz(affinity, "podAntiAffinity"));
}

/* ---- tolerations ---- */

static void check_toleration(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *one)
{
    const struct pl_tree *key = pl_tree_getz(one, "key"), *how = pl_tree_getz(one, "operator");
    const struct pl_tree *value = pl_tree_getz(one, "value"), *effect = pl_tree_getz(one, "effect");
    struct pl_slice is = pl_tree_text(how);
    if (!pl_is_empty(key))
        pl_qualified(f, PL_MEMBER(at, "key"), key, NULL);
    else if (!pl_slice_eqz(is, "Exists"))
        pl_bad_value(f, PL_MEMBER(at, "operator"), pl_or_empty(f, how),
                     "operator must be Exists when `key` is empty, which means \"match all values "
                     "and all keys\"");
    if (pl_tree_getz(one, "tolerationSeconds") != NULL &&
        !pl_slice_eqz(pl_tree_text(effect), "NoExecute"))
        pl_bad_value(f, PL_MEMBER(at, "effect"), pl_or_empty(f, effect),
                     "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (is.len == 0 || pl_slice_eqz(is, "Equal"))
        pl_label_value(f, PL_MEMBER(at, "operator"), value, NULL);
    else if (!pl_slice_eqz(is, "Exists"))
        pl_bad_unsupported(f, PL_MEMBER(at, "operator"), how,
                           pl_is_among(is, "Lt,Gt") ? "Equal,Exists,Lt,Gt" : "Equal,Exists");
    else if (!pl_is_empty(value))
        pl_bad_value(f, PL_MEMBER(at, "operator"), value,
                     "value must be empty when `operator` is 'Exists'");
    pl_one_of(f, PL_MEMBER(at, "effect"), effect, "NoSchedule,PreferNoSchedule,NoExecute");
}

void pl_valid_tolerations(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *list)
{
    size_t i = 0;
    PL_EACH(item, list)
    check_toleration(f, PL_INDEX(at, i++), item->value);
}
