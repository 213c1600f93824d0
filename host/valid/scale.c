/* HorizontalPodAutoscalers and PodDisruptionBudgets. */
#include "valid/kinds.h"

#include "object/tree.h"

#include <string.h>

#define SPEC PL_MEMBER(NULL, "spec")

/* ---- metrics ---- */

static void check_target(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *target)
{
    const struct pl_tree *type = pl_tree_getz(target, "type");
    const struct pl_tree *use = pl_tree_getz(target, "averageUtilization");
    const struct pl_tree *value = pl_tree_getz(target, "value");
    const struct pl_tree *average = pl_tree_getz(target, "averageValue");
    int64_t percent;
    if (pl_is_empty(type))
        pl_bad_required(f, PL_MEMBER(at, "type"), "must specify a metric target type");
    if (!pl_is_among(pl_tree_text(type), "Utilization,Value,AverageValue"))
        pl_bad_value(f, PL_MEMBER(at, "type"), pl_or_empty(f, type),
                     "must be either Utilization, Value, or AverageValue");
    if (value != NULL && pl_quantity_sign(value) <= 0)
        pl_bad_value(f, PL_MEMBER(at, "value"), value, "must be positive");
    if (average != NULL && pl_quantity_sign(average) <= 0)
        pl_bad_value(f, PL_MEMBER(at, "averageValue"), average, "must be positive");
    if (pl_tree_integer(use, &percent) && percent < 1)
        pl_bad_value(f, PL_MEMBER(at, "averageUtilization"), use, "must be greater than 0");
}

static void check_resource(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *source, bool of_container)
{
    const struct pl_tree *name = pl_tree_getz(source, "name");
    const struct pl_tree *container = pl_tree_getz(source, "container");
    const struct pl_tree *target = pl_tree_getz(source, "target");
    const struct pl_spot *spot = PL_MEMBER(at, "target");
    struct pl_slice text = pl_tree_text(name);
    if (text.len == 0)
        pl_bad_required(f, PL_MEMBER(at, "name"), "must specify a resource name");
    if (of_container) {
        if (pl_is_empty(container))
            pl_bad_required(f, PL_MEMBER(at, "container"), "must specify a container");
        pl_label(f, PL_MEMBER(at, "container"), container, NULL);
        if (text.len > 0)
            pl_valid_resource_name(f, PL_MEMBER(at, "name"), text, true);
        if (text.len > 0 && pl_slice_chr(text, '/') == NULL &&
            !pl_is_among(text, "cpu,memory,ephemeral-storage"))
            pl_bad_value(f, PL_MEMBER(at, "name"), name,
                         "must be a standard resource for containers");
    }
    check_target(f, spot, target);
    bool use = pl_tree_getz(target, "averageUtilization") != NULL;
    bool raw = pl_tree_getz(target, "averageValue") != NULL;
    if (use && raw)
        pl_bad_forbidden(f, PL_MEMBER(spot, "averageValue"),
                         "may not set both a target raw value and a target utilization");
    else if (!use && !raw)
        pl_bad_required(f, PL_MEMBER(spot, "averageUtilization"),
                        "must set either a target raw value or a target utilization");
}

/* The metric's selector is not checked, as in kube-apiserver. */
static void check_metric(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *source)
{
    const struct pl_tree *name = pl_tree_dig(source, "metric.name");
    const struct pl_spot *spot = PL_MEMBER(PL_MEMBER(at, "metric"), "name");
    if (pl_is_empty(name))
        pl_bad_required(f, spot, "must specify a metric name");
    pl_valid_path_segment(f, spot, name, NULL);
    check_target(f, PL_MEMBER(at, "target"), pl_tree_getz(source, "target"));
}

static void check_pods(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *source)
{
    const struct pl_tree *average = pl_tree_dig(source, "target.averageValue");
    check_metric(f, at, source);
    if (average == NULL)
        pl_bad_required(f, PL_MEMBER(PL_MEMBER(at, "target"), "averageValue"),
                        "must specify a positive target averageValue");
}

static void check_reference(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *ref, bool group)
{
    struct pl_slice version = pl_tree_text_at(ref, "apiVersion");
    const struct pl_tree *shown = pl_tree_getz(ref, "apiVersion");
    pl_need(f, PL_MEMBER(at, "kind"), pl_tree_getz(ref, "kind"), NULL);
    pl_need(f, PL_MEMBER(at, "name"), pl_tree_getz(ref, "name"), NULL);
    pl_valid_path_segment(f, PL_MEMBER(at, "kind"), pl_tree_getz(ref, "kind"), NULL);
    pl_valid_path_segment(f, PL_MEMBER(at, "name"), pl_tree_getz(ref, "name"), NULL);
    bool core = pl_slice_chr(version, '/') == NULL;
    if (group && core && !pl_slice_eqz(pl_tree_text_at(ref, "kind"), "ReplicationController"))
        pl_bad_value(f, PL_MEMBER(at, "apiVersion"), pl_or_empty(f, shown),
                     "apiVersion must specify API group");
}

static void scale_check_object(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *source)
{
    check_reference(f, PL_MEMBER(at, "describedObject"), pl_tree_getz(source, "describedObject"),
                    false);
    check_metric(f, at, source);
    if (pl_tree_dig(source, "target.value") == NULL &&
        pl_tree_dig(source, "target.averageValue") == NULL)
        pl_bad_required(f, PL_MEMBER(PL_MEMBER(at, "target"), "averageValue"),
                        "must set either a target value or averageValue");
}

static void check_external(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *source)
{
    check_metric(f, at, source);
    bool value = pl_tree_dig(source, "target.value") != NULL;
    bool average = pl_tree_dig(source, "target.averageValue") != NULL;
    if (value && average)
        pl_bad_forbidden(f, PL_MEMBER(PL_MEMBER(at, "target"), "value"),
                         "may not set both a target value for metric and a per-pod target");
    else if (!value && !average)
        pl_bad_required(f, PL_MEMBER(PL_MEMBER(at, "target"), "averageValue"),
                        "must set either a target value for metric or a per-pod target");
}

static void scale_check_source(struct pl_api_faults *f, const struct pl_spot *at,
                               const char *member, const struct pl_tree *source)
{
    const struct pl_spot *spot = PL_MEMBER(at, member);
    if (strcmp(member, "object") == 0)
        scale_check_object(f, spot, source);
    else if (strcmp(member, "pods") == 0)
        check_pods(f, spot, source);
    else if (strcmp(member, "external") == 0)
        check_external(f, spot, source);
    else
        check_resource(f, spot, source, strcmp(member, "containerResource") == 0);
}

#define TYPES "ContainerResource,External,Object,Pods,Resource"

/* Only the first source of these is checked. */
static const struct {
    char member[20], type[20];
} sources[] = {{"object", "Object"},
               {"external", "External"},
               {"pods", "Pods"},
               {"resource", "Resource"},
               {"containerResource", "ContainerResource"}};

static void check_sources(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *metric, struct pl_slice type)
{
    size_t count = 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(sources); i++) {
        const struct pl_tree *source = pl_tree_getz(metric, sources[i].member);
        if (source != NULL && count++ == 0)
            scale_check_source(f, at, sources[i].member, source);
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(sources); i++)
        if (pl_slice_eqz(type, sources[i].type) && pl_tree_getz(metric, sources[i].member) == NULL)
            pl_bad_required(f, PL_MEMBER(at, sources[i].member),
                            "must populate information for the given metric source");
    for (size_t i = 0; i < PL_ARRAY_LEN(sources); i++)
        if (count > 1 && !pl_slice_eqz(type, sources[i].type) &&
            pl_tree_getz(metric, sources[i].member) != NULL)
            pl_bad_forbidden(f, PL_MEMBER(at, sources[i].member),
                             "must populate the given metric source only");
}

static void check_one_metric(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *metric)
{
    const struct pl_tree *type = pl_tree_getz(metric, "type");
    if (pl_is_empty(type))
        pl_bad_required(f, PL_MEMBER(at, "type"), "must specify a metric source type");
    pl_must_be(f, PL_MEMBER(at, "type"), type, TYPES);
    check_sources(f, at, metric, pl_tree_text(type));
}

/* ---- behaviour ---- */

static void up_to(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                  int64_t most)
{
    int64_t is = 0;
    pl_tree_integer(value, &is);
    if (is > most)
        pl_bad_value(f, at, value, "must be less than or equal to %lld", (long long)most);
}

static void check_behavior(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *rules)
{
    static const struct pl_rule policy[] = {{"[].type", pl_must_be, "Percent,Pods"},
                                            {"[].value", pl_above_zero, NULL},
                                            {"[].periodSeconds", pl_above_zero, NULL},
                                            {NULL, NULL, NULL}};
    const struct pl_tree *window = pl_tree_getz(rules, "stabilizationWindowSeconds");
    const struct pl_tree *policies = pl_tree_getz(rules, "policies");
    const struct pl_spot *list = PL_MEMBER(at, "policies");
    int64_t seconds = 0;
    size_t i = 0;
    if (rules == NULL)
        return;
    pl_tree_integer(window, &seconds);
    if (seconds < 0)
        pl_bad_value(f, PL_MEMBER(at, "stabilizationWindowSeconds"), window,
                     "must be greater than or equal to zero");
    up_to(f, PL_MEMBER(at, "stabilizationWindowSeconds"), window, 3600);
    pl_if_set(f, PL_MEMBER(at, "selectPolicy"), pl_tree_getz(rules, "selectPolicy"),
              "Disabled,Max,Min");
    if (pl_is_empty(policies))
        pl_bad_required(f, list, "must specify at least one Policy");
    pl_hold(f, list, policies, policy);
    PL_EACH(item, policies)
    up_to(f, PL_MEMBER(PL_INDEX(list, i++), "periodSeconds"),
          pl_tree_getz(item->value, "periodSeconds"), 1800);
    if (pl_quantity_sign(pl_tree_getz(rules, "tolerance")) < 0)
        pl_bad_value(f, PL_MEMBER(at, "tolerance"), pl_tree_getz(rules, "tolerance"),
                     "must be greater than or equal to 0");
}

/* True for a metric that exists even while there are no pods. Zero replicas need such a metric. */
static bool has_outer_metric(const struct pl_tree *metrics)
{
    PL_EACH(item, metrics)
    if (pl_is_among(pl_tree_text_at(item->value, "type"), "Object,External"))
        return true;
    return false;
}

void pl_valid_autoscaler(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *least = pl_tree_getz(spec, "minReplicas");
    const struct pl_tree *most = pl_tree_getz(spec, "maxReplicas");
    const struct pl_spot *list = PL_MEMBER(SPEC, "metrics"), *at = PL_MEMBER(SPEC, "behavior");
    int64_t low = 1, high = 0;
    size_t i = 0;
    PL_UNUSED(old);
    pl_tree_integer(least, &low);
    pl_tree_integer(most, &high);
    pl_natural(f, PL_MEMBER(SPEC, "minReplicas"), least, NULL);
    if (high == 0)
        pl_bad_required(f, PL_MEMBER(SPEC, "maxReplicas"), "");
    else if (high < 0)
        pl_bad_value(f, PL_MEMBER(SPEC, "maxReplicas"), most, "must be greater than or equal to 1");
    if (high < low)
        pl_bad_value(f, PL_MEMBER(SPEC, "maxReplicas"),
                     most != NULL ? most : pl_tree_int(f->arena, 0),
                     "must be greater than or equal to `minReplicas`");
    check_reference(f, PL_MEMBER(SPEC, "scaleTargetRef"), pl_tree_getz(spec, "scaleTargetRef"),
                    true);
    PL_EACH(item, pl_tree_getz(spec, "metrics"))
    check_one_metric(f, PL_INDEX(list, i++), item->value);
    if (low == 0 && !has_outer_metric(pl_tree_getz(spec, "metrics")))
        pl_bad_forbidden(f, list,
                         "must specify at least one Object or External metric to support scaling "
                         "to zero replicas");
    check_behavior(f, PL_MEMBER(at, "scaleUp"), pl_tree_dig(spec, "behavior.scaleUp"));
    check_behavior(f, PL_MEMBER(at, "scaleDown"), pl_tree_dig(spec, "behavior.scaleDown"));
}

void pl_valid_budget(struct pl_api_faults *f, const struct pl_tree *object,
                     const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"minAvailable", pl_percent, NULL},
        {"minAvailable", pl_not_above_100, NULL},
        {"maxUnavailable", pl_percent, NULL},
        {"maxUnavailable", pl_not_above_100, NULL},
        {"selector", pl_selector, NULL},
        {"unhealthyPodEvictionPolicy", pl_if_set, "AlwaysAllow,IfHealthyBudget"},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    PL_UNUSED(old);
    if (pl_tree_getz(spec, "minAvailable") != NULL && pl_tree_getz(spec, "maxUnavailable") != NULL)
        pl_bad_struct(f, SPEC, "@PodDisruptionBudgetSpec", spec,
                      "minAvailable and maxUnavailable cannot be both set");
    pl_hold(f, SPEC, spec, rules);
}
