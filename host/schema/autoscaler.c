/* HorizontalPodAutoscalers between autoscaling/v1 and autoscaling/v2. v1 has one metric, the CPU
 * utilization. Other metrics, the behavior, current metrics and conditions are JSON texts in
 * annotations of a v1 object; a v2 object never has these annotations. Metrics in annotations have
 * the flat form of v1, and the behavior has Go's names.
 *
 * Annotations are written by clients: one that does not become a value of v2's type is ignored. */
#include "schema/autoscaler.h"

#include "gotype/typed.h"
#include "value/scan.h"

#include <string.h>

#define PREFIX "autoscaling.alpha.kubernetes.io/"

/* How a member of a metric is named in an annotation, and where it is in v2. */
struct member {
    char flat[28], outer[20], inner[20]; /* inner: "" if outer is the member itself */
    char type;   /* 's' text, 'q' quantity, 'i' number, 'o' object, 'r' reference */
    bool always; /* Go writes it even if it has no value */
};

struct source {
    char type[20], name[20];
    struct member members[6]; /* ends with one without a name */
};

static const struct source wanted[] = {
    {"Object",
     "object",
     {{"target", "describedObject", "", 'r', true},
      {"metricName", "metric", "name", 's', true},
      {"targetValue", "target", "value", 'q', true},
      {"selector", "metric", "selector", 'o', false},
      {"averageValue", "target", "averageValue", 'q', false}}},
    {"Pods",
     "pods",
     {{"metricName", "metric", "name", 's', true},
      {"targetAverageValue", "target", "averageValue", 'q', true},
      {"selector", "metric", "selector", 'o', false}}},
    {"Resource",
     "resource",
     {{"name", "name", "", 's', true},
      {"targetAverageUtilization", "target", "averageUtilization", 'i', false},
      {"targetAverageValue", "target", "averageValue", 'q', false}}},
    {"ContainerResource",
     "containerResource",
     {{"name", "name", "", 's', true},
      {"targetAverageUtilization", "target", "averageUtilization", 'i', false},
      {"targetAverageValue", "target", "averageValue", 'q', false},
      {"container", "container", "", 's', true}}},
    {"External",
     "external",
     {{"metricName", "metric", "name", 's', true},
      {"metricSelector", "metric", "selector", 'o', false},
      {"targetValue", "target", "value", 'q', false},
      {"targetAverageValue", "target", "averageValue", 'q', false}}},
};

static const struct source current[] = {
    {"Object",
     "object",
     {{"target", "describedObject", "", 'r', true},
      {"metricName", "metric", "name", 's', true},
      {"currentValue", "current", "value", 'q', true},
      {"selector", "metric", "selector", 'o', false},
      {"averageValue", "current", "averageValue", 'q', false}}},
    {"Pods",
     "pods",
     {{"metricName", "metric", "name", 's', true},
      {"currentAverageValue", "current", "averageValue", 'q', true},
      {"selector", "metric", "selector", 'o', false}}},
    {"Resource",
     "resource",
     {{"name", "name", "", 's', true},
      {"currentAverageUtilization", "current", "averageUtilization", 'i', false},
      {"currentAverageValue", "current", "averageValue", 'q', true}}},
    {"ContainerResource",
     "containerResource",
     {{"name", "name", "", 's', true},
      {"currentAverageUtilization", "current", "averageUtilization", 'i', false},
      {"currentAverageValue", "current", "averageValue", 'q', true},
      {"container", "container", "", 's', true}}},
    {"External",
     "external",
     {{"metricName", "metric", "name", 's', true},
      {"metricSelector", "metric", "selector", 'o', false},
      {"currentValue", "current", "value", 'q', true},
      {"currentAverageValue", "current", "averageValue", 'q', false}}},
};

static bool has_type(const struct pl_tree *value, char type)
{
    int64_t number;
    switch (type) {
    case 's':
        return pl_tree_is(value, PL_STRING);
    case 'i':
        return pl_tree_integer(value, &number);
    case 'q':
        return pl_tree_is(value, PL_STRING) || pl_tree_integer(value, &number);
    default:
        return pl_tree_is(value, PL_OBJECT);
    }
}

/* What Go writes for a member without a value. */
static struct pl_tree *zero(struct pl_arena *arena, char type)
{
    if (type == 'r')
        return pl_tree_literal(arena, "{\"kind\":\"\",\"name\":\"\"}");
    return pl_tree_strz(arena, type == 'q' ? "0" : "");
}

/* In the order in which Go writes it. */
static struct pl_tree *reference(struct pl_arena *arena, const struct pl_tree *from)
{
    static const char names[][12] = {"kind", "name", "apiVersion"};
    struct pl_tree *out = pl_tree_object(arena);
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        struct pl_slice text = pl_tree_text_at(from, names[i]);
        if (text.len > 0 || i < 2)
            pl_tree_setz(arena, out, names[i], pl_tree_str(arena, text));
    }
    return out;
}

/* ---- metrics: v2 to the flat form ---- */

static struct pl_tree *flatten(struct pl_arena *arena, const struct source *source,
                               const struct pl_tree *from)
{
    struct pl_tree *out = pl_tree_object(arena);
    for (const struct member *m = source->members; *m->flat != '\0'; m++) {
        struct pl_tree *value = pl_tree_getz(from, m->outer);
        if (*m->inner != '\0')
            value = pl_tree_getz(value, m->inner);
        if (has_type(value, m->type))
            pl_tree_setz(arena, out, m->flat,
                         m->type == 'r' ? reference(arena, value) : pl_tree_copy(arena, value));
        else if (m->always)
            pl_tree_setz(arena, out, m->flat, zero(arena, m->type));
    }
    return out;
}

static bool is_cpu(const struct pl_tree *metric)
{
    return pl_slice_eqz(pl_tree_text_at(metric, "type"), "Resource") &&
           pl_slice_eqz(pl_tree_text_at(metric, "resource.name"), "cpu");
}

/* without_cpu: leaves out the utilization of the CPU, which is a field of v1. */
static struct pl_tree *flatten_all(struct pl_arena *arena, const struct source sources[5],
                                   const struct pl_tree *metrics, bool without_cpu)
{
    struct pl_tree *out = pl_tree_array(arena);
    PL_TREE_FOR(item, metrics)
    {
        if (without_cpu && is_cpu(item->value) &&
            pl_tree_dig(item->value, "resource.target.averageUtilization") != NULL)
            continue;
        struct pl_tree *flat = pl_tree_object(arena);
        pl_tree_setz(arena, flat, "type", pl_tree_str(arena, pl_tree_text_at(item->value, "type")));
        for (size_t i = 0; i < 5; i++) {
            const struct pl_tree *source = pl_tree_getz(item->value, sources[i].name);
            if (pl_tree_is(source, PL_OBJECT))
                pl_tree_setz(arena, flat, sources[i].name, flatten(arena, &sources[i], source));
        }
        pl_tree_push(arena, out, flat);
    }
    return out;
}

/* ---- metrics: the flat form to v2 ---- */

/* A target's type is the value that it has. */
static const char *target_type(const struct source *source, const struct pl_tree *target)
{
    bool average = pl_tree_getz(target, "averageValue") != NULL;
    if (strcmp(source->type, "Pods") == 0)
        return "AverageValue";
    if (strcmp(source->type, "Object") == 0)
        return average ? "AverageValue" : "Value";
    if (strcmp(source->type, "External") == 0)
        return pl_tree_getz(target, "value") != NULL ? "Value" : "AverageValue";
    return pl_tree_getz(target, "averageUtilization") != NULL ? "Utilization" : "AverageValue";
}

static struct pl_tree *unflatten(struct pl_arena *arena, const struct source *source,
                                 const struct pl_tree *from, bool is_wanted)
{
    struct pl_tree *out = pl_tree_object(arena);
    for (const struct member *m = source->members; *m->flat != '\0'; m++) {
        struct pl_tree *value = pl_tree_getz(from, m->flat);
        struct pl_tree *into = *m->inner != '\0' ? pl_tree_child(arena, out, m->outer) : out;
        const char *name = *m->inner != '\0' ? m->inner : m->outer;
        if (has_type(value, m->type))
            pl_tree_setz(arena, into, name, pl_tree_copy(arena, value));
        else if (m->always)
            pl_tree_setz(arena, into, name, zero(arena, m->type));
    }
    if (is_wanted) {
        struct pl_tree *target = pl_tree_child(arena, out, "target");
        pl_tree_set_strz(arena, target, "type", target_type(source, target));
    }
    return out;
}

static struct pl_tree *unflatten_all(struct pl_arena *arena, const struct source sources[5],
                                     const struct pl_tree *list)
{
    struct pl_tree *out = pl_tree_array(arena);
    PL_TREE_FOR(item, list)
    {
        struct pl_tree *metric = pl_tree_object(arena);
        pl_tree_setz(arena, metric, "type",
                     pl_tree_str(arena, pl_tree_text_at(item->value, "type")));
        for (size_t i = 0; i < 5; i++) {
            const struct pl_tree *source = pl_tree_getz(item->value, sources[i].name);
            if (pl_tree_is(source, PL_OBJECT))
                pl_tree_setz(arena, metric, sources[i].name,
                             unflatten(arena, &sources[i], source, sources == wanted));
        }
        pl_tree_push(arena, out, metric);
    }
    return out;
}

/* ---- the behavior ---- */

/* Members in Go's order; the annotation has them with a capital. */
static const char *const rule_names[] = {"stabilizationWindowSeconds", "selectPolicy", "policies",
                                         "tolerance"};
static const char *const policy_names[] = {"type", "value", "periodSeconds"};
static const char *const rules_names[] = {"scaleUp", "scaleDown"};

static const char *capital(struct pl_arena *arena, const char *name)
{
    return pl_arena_f(arena, "%c%s", name[0] - 'a' + 'A', name + 1).ptr;
}

/* Go finds members whatever their case; both usual ones are taken. */
static struct pl_tree *member_of(struct pl_arena *arena, const struct pl_tree *from,
                                 const char *name)
{
    struct pl_tree *value = pl_tree_getz(from, capital(arena, name));
    value = value != NULL ? value : pl_tree_getz(from, name);
    return pl_tree_is(value, PL_NULL) ? NULL : value;
}

/* A copy with names for Go (and nulls), or with those of v2. */
static struct pl_tree *rename_all(struct pl_arena *arena, const struct pl_tree *from,
                                  const char *const *names, size_t count, bool for_go)
{
    struct pl_tree *out = pl_tree_object(arena);
    for (size_t i = 0; i < count; i++) {
        struct pl_tree *value = member_of(arena, from, names[i]);
        const char *name = for_go ? capital(arena, names[i]) : names[i];
        if (value != NULL)
            pl_tree_setz(arena, out, name, pl_tree_copy(arena, value));
        else if (for_go)
            pl_tree_setz(arena, out, name, pl_tree_literal(arena, "null"));
    }
    return out;
}

static struct pl_tree *behavior_of(struct pl_arena *arena, const struct pl_tree *from, bool for_go)
{
    struct pl_tree *out = rename_all(arena, from, rules_names, PL_ARRAY_LEN(rules_names), for_go);
    PL_TREE_FOR(rules, out)
    {
        if (!pl_tree_is(rules->value, PL_OBJECT))
            continue;
        rules->value =
            rename_all(arena, rules->value, rule_names, PL_ARRAY_LEN(rule_names), for_go);
        PL_TREE_FOR(item, member_of(arena, rules->value, "policies"))
        item->value =
            rename_all(arena, item->value, policy_names, PL_ARRAY_LEN(policy_names), for_go);
    }
    return out;
}

/* ---- annotations ---- */

static bool is_typed(struct pl_arena *arena, const char *type, struct pl_tree *value)
{
    struct pl_typed typed = {.arena = arena};
    struct pl_slice name = pl_arena_f(arena, "io.k8s.api.autoscaling.v2.%s", type);
    return pl_tree_is(value, PL_OBJECT) && pl_typed_read(&typed, value, pl_message_find(name)) == 0;
}

/* The list, if all its elements have that type; else an empty one. */
static struct pl_tree *typed_list(struct pl_arena *arena, const char *type, struct pl_tree *list)
{
    PL_TREE_FOR(item, list)
    if (!is_typed(arena, type, item->value))
        return pl_tree_array(arena);
    return list != NULL ? list : pl_tree_array(arena);
}

static void annotate(struct pl_arena *arena, struct pl_tree *object, const char *name,
                     const struct pl_tree *value)
{
    struct pl_tree *meta = pl_tree_child(arena, object, "metadata");
    struct pl_buf text = PL_BUF_INIT;
    pl_tree_write(&text, value);
    pl_tree_setz(arena, pl_tree_child(arena, meta, "annotations"), name,
                 pl_tree_str(arena, pl_arena_copy(arena, pl_buf_slice(&text))));
    pl_buf_deinit(&text);
}

/* The value of the annotation; NULL if it is missing or not JSON of that type. */
static struct pl_tree *annotation(struct pl_arena *arena, const struct pl_tree *object,
                                  const char *name, enum pl_type type)
{
    const struct pl_tree *found = pl_tree_getz(pl_tree_dig(object, "metadata.annotations"), name);
    struct pl_scan_options options = {.max_bytes = SIZE_MAX};
    struct pl_doc *doc = found != NULL ? pl_scan_text(pl_tree_text(found), &options, NULL) : NULL;
    struct pl_tree *value = doc != NULL ? pl_tree_from_node(arena, pl_doc_root(doc)) : NULL;
    pl_doc_unref(doc);
    return pl_tree_is(value, type) ? value : NULL;
}

static void drop_annotations(struct pl_tree *object)
{
    static const char *const names[] = {PREFIX "metrics", PREFIX "behavior", PREFIX "conditions",
                                        PREFIX "current-metrics"};
    struct pl_tree *meta = pl_tree_getz(object, "metadata");
    struct pl_tree *annotations = pl_tree_getz(meta, "annotations");
    bool removed = false;
    for (size_t i = 0; i < PL_ARRAY_LEN(names) && pl_tree_is(annotations, PL_OBJECT); i++)
        removed = pl_tree_remove(annotations, pl_slice_z(names[i])) || removed;
    if (removed && annotations->count == 0)
        pl_tree_removez(meta, "annotations");
}

/* ---- v2 to v1 ---- */

static void spec_to_v1(struct pl_arena *arena, struct pl_tree *object)
{
    struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *metrics = pl_tree_getz(spec, "metrics");
    const struct pl_tree *behavior = pl_tree_getz(spec, "behavior");
    const struct pl_tree *others = flatten_all(arena, wanted, metrics, true);
    if (others->count > 0)
        annotate(arena, object, PREFIX "metrics", others);
    if (pl_tree_is(behavior, PL_OBJECT))
        annotate(arena, object, PREFIX "behavior", behavior_of(arena, behavior, true));
    PL_TREE_FOR(item, metrics)
    {
        struct pl_tree *use = pl_tree_dig(item->value, "resource.target.averageUtilization");
        if (!is_cpu(item->value))
            continue;
        if (use != NULL)
            pl_tree_setz(arena, spec, "targetCPUUtilizationPercentage", use);
        break;
    }
    if (spec != NULL) {
        pl_tree_removez(spec, "metrics");
        pl_tree_removez(spec, "behavior");
    }
}

static void status_to_v1(struct pl_arena *arena, struct pl_tree *object)
{
    struct pl_tree *status = pl_tree_getz(object, "status");
    const struct pl_tree *metrics = pl_tree_getz(status, "currentMetrics");
    const struct pl_tree *conditions = pl_tree_getz(status, "conditions");
    if (pl_tree_is(metrics, PL_ARRAY) && metrics->count > 0)
        annotate(arena, object, PREFIX "current-metrics",
                 flatten_all(arena, current, metrics, false));
    if (pl_tree_is(conditions, PL_ARRAY) && conditions->count > 0)
        annotate(arena, object, PREFIX "conditions", conditions);
    PL_TREE_FOR(item, metrics)
    {
        struct pl_tree *use = pl_tree_dig(item->value, "resource.current.averageUtilization");
        if (is_cpu(item->value) && use != NULL)
            pl_tree_setz(arena, status, "currentCPUUtilizationPercentage", use);
    }
    if (status == NULL)
        return;
    pl_tree_removez(status, "currentMetrics");
    pl_tree_removez(status, "conditions");
    pl_tree_default(arena, status, "currentReplicas", pl_tree_int(arena, 0));
    pl_tree_default(arena, status, "desiredReplicas", pl_tree_int(arena, 0));
}

/* ---- v1 to v2 ---- */

/* {"type":"Resource","resource":{"name":"cpu",<part>:{...,"averageUtilization":<use>}}} */
static struct pl_tree *cpu_metric(struct pl_arena *arena, const char *json, const char *part,
                                  struct pl_tree *use)
{
    struct pl_tree *metric = pl_tree_literal(arena, json);
    struct pl_tree *inner = pl_tree_getz(pl_tree_getz(metric, "resource"), part);
    pl_tree_setz(arena, inner, "averageUtilization", use);
    return metric;
}

static void spec_to_v2(struct pl_arena *arena, struct pl_tree *object)
{
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    struct pl_tree *use = pl_tree_getz(spec, "targetCPUUtilizationPercentage");
    const struct pl_tree *list = annotation(arena, object, PREFIX "metrics", PL_ARRAY);
    struct pl_tree *behavior = annotation(arena, object, PREFIX "behavior", PL_OBJECT);
    struct pl_tree *metrics = typed_list(arena, "MetricSpec", unflatten_all(arena, wanted, list));
    if (use != NULL)
        pl_tree_push(arena, metrics,
                     cpu_metric(arena,
                                "{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{"
                                "\"type\":\"Utilization\"}}}",
                                "target", use));
    pl_tree_removez(spec, "targetCPUUtilizationPercentage");
    if (metrics->count > 0)
        pl_tree_setz(arena, spec, "metrics", metrics);
    behavior = behavior_of(arena, behavior, false);
    if (behavior->count > 0 && is_typed(arena, "HorizontalPodAutoscalerBehavior", behavior))
        pl_tree_setz(arena, spec, "behavior", behavior);
}

static void status_to_v2(struct pl_arena *arena, struct pl_tree *object)
{
    struct pl_tree *status = pl_tree_getz(object, "status");
    const struct pl_tree *list = annotation(arena, object, PREFIX "current-metrics", PL_ARRAY);
    struct pl_tree *conditions =
        typed_list(arena, "HorizontalPodAutoscalerCondition",
                   annotation(arena, object, PREFIX "conditions", PL_ARRAY));
    struct pl_tree *use = pl_tree_getz(status, "currentCPUUtilizationPercentage");
    struct pl_tree *metrics =
        typed_list(arena, "MetricStatus", unflatten_all(arena, current, list));
    if (list == NULL && use != NULL) /* the annotation knows more */
        pl_tree_push(
            arena, metrics,
            cpu_metric(arena,
                       "{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"current\":{}}}",
                       "current", use));
    if (status == NULL && metrics->count == 0 && conditions->count == 0)
        return;
    status = pl_tree_child(arena, object, "status");
    pl_tree_removez(status, "currentCPUUtilizationPercentage");
    pl_tree_setz(arena, status, "currentMetrics",
                 metrics->count > 0 ? metrics : pl_tree_literal(arena, "null"));
    if (conditions->count > 0)
        pl_tree_setz(arena, status, "conditions", conditions);
}

void pl_api_autoscaler_convert(struct pl_arena *arena, struct pl_tree *object, bool to_v2)
{
    if (to_v2) {
        spec_to_v2(arena, object);
        status_to_v2(arena, object);
        drop_annotations(object);
    } else {
        drop_annotations(object);
        spec_to_v1(arena, object);
        status_to_v1(arena, object);
    }
    pl_tree_set_strz(arena, object, "apiVersion", to_v2 ? "autoscaling/v2" : "autoscaling/v1");
}
