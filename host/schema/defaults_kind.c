/* Defaults of built-in kinds that depend on other members, so that no table can express them. Like
 * those of the tables (defaults.c) they never replace a value. Those of a pod's containers and
 * volumes are in defaults_pod.c. */
#include "schema/defaults_kind.h"

#include "base/base64.h"
#include "schema/crd.h"

#include <string.h>

void pl_api_default_member(struct pl_arena *arena, struct pl_tree *at, const char *member,
                           const char *json)
{
    const struct pl_tree *old = pl_tree_getz(at, member);
    int64_t number;
    bool none = old == NULL || old->type == PL_NULL ||
                (*json == '"' && old->type == PL_STRING && old->text.len == 0) ||
                (*json == '[' && old->type == PL_ARRAY && old->count == 0) ||
                (*json == '+' && pl_tree_integer(old, &number) && number == 0);
    if (pl_tree_is(at, PL_OBJECT) && none)
        pl_tree_setz(arena, at, member, pl_tree_literal(arena, json + strspn(json, "+*")));
}

static void default_rollout(struct pl_arena *arena, struct pl_tree *spec, const char *member,
                            const char *json)
{
    struct pl_tree *strategy = pl_tree_getz(spec, member);
    if (!pl_slice_eqz(pl_tree_text_at(strategy, "type"), "RollingUpdate"))
        return;
    struct pl_tree *defaults = pl_tree_literal(arena, json);
    struct pl_tree *rolling = pl_tree_child(arena, strategy, "rollingUpdate");
    PL_TREE_FOR(item, defaults)
    if (pl_tree_get(rolling, item->key) == NULL)
        pl_tree_set(arena, rolling, item->key, item->value);
}

/* A strategy with a type and without parameters stays as it is. */
static void default_stateful_set(struct pl_arena *arena, struct pl_tree *spec)
{
    struct pl_tree *strategy = pl_tree_getz(spec, "updateStrategy");
    bool typed = pl_tree_text_at(strategy, "type").len > 0;
    if (strategy == NULL || (typed && pl_tree_getz(strategy, "rollingUpdate") == NULL))
        return;
    if (!typed)
        pl_tree_set_strz(arena, strategy, "type", "RollingUpdate");
    default_rollout(arena, spec, "updateStrategy", "{\"partition\":0,\"maxUnavailable\":1}");
}

static void default_daemon_set(struct pl_arena *arena, struct pl_tree *object, struct pl_tree *spec)
{
    struct pl_tree *meta = pl_tree_child(arena, object, "metadata");
    default_rollout(arena, spec, "updateStrategy", "{\"maxUnavailable\":1,\"maxSurge\":0}");
    pl_tree_default(arena, pl_tree_child(arena, meta, "annotations"),
                    "deprecated.daemonset.template.generation", pl_tree_strz(arena, "1"));
}

static void default_job(struct pl_arena *arena, struct pl_tree *object, struct pl_tree *spec)
{
    struct pl_tree *meta = pl_tree_child(arena, object, "metadata");
    const struct pl_tree *labels = pl_tree_dig(spec, "template.metadata.labels");
    if (labels != NULL && pl_tree_getz(meta, "labels") == NULL)
        pl_tree_setz(arena, meta, "labels", pl_tree_copy(arena, labels));
    bool any =
        pl_tree_getz(spec, "completions") != NULL || pl_tree_getz(spec, "parallelism") != NULL;
    if (!pl_tree_is(spec, PL_OBJECT))
        return;
    if (!any)
        pl_tree_default(arena, spec, "completions", pl_tree_int(arena, 1));
    pl_tree_default(arena, spec, "parallelism", pl_tree_int(arena, 1));
    bool per_index = pl_tree_getz(spec, "backoffLimitPerIndex") != NULL;
    pl_tree_default(arena, spec, "backoffLimit", pl_tree_int(arena, per_index ? INT32_MAX : 6));
    bool policy = pl_tree_getz(spec, "podFailurePolicy") != NULL;
    pl_tree_default(arena, spec, "podReplacementPolicy",
                    pl_tree_strz(arena, policy ? "Failed" : "TerminatingOrFailed"));
}

static void default_replication(struct pl_arena *arena, struct pl_tree *object,
                                struct pl_tree *spec)
{
    const struct pl_tree *labels = pl_tree_dig(spec, "template.metadata.labels");
    struct pl_tree *meta = pl_tree_child(arena, object, "metadata");
    if (labels == NULL || labels->count == 0)
        return;
    if (pl_tree_getz(spec, "selector") == NULL)
        pl_tree_setz(arena, spec, "selector", pl_tree_copy(arena, labels));
    if (pl_tree_getz(meta, "labels") == NULL)
        pl_tree_setz(arena, meta, "labels", pl_tree_copy(arena, labels));
}

static void default_limits(struct pl_arena *arena, struct pl_tree *spec)
{
    static const char from[][2][16] = {
        {"default", "max"}, {"defaultRequest", "default"}, {"defaultRequest", "min"}};
    PL_TREE_FOR(item, pl_tree_getz(spec, "limits"))
    {
        if (!pl_slice_eqz(pl_tree_text_at(item->value, "type"), "Container"))
            continue;
        for (size_t i = 0; i < PL_ARRAY_LEN(from); i++)
            PL_TREE_FOR(value, pl_tree_getz(item->value, from[i][1]))
        pl_tree_default(arena, pl_tree_child(arena, item->value, from[i][0]),
                        pl_arena_copy(arena, value->key).ptr, pl_tree_copy(arena, value->value));
    }
}

/* Each of podIP and podIPs is filled from the other; podIP decides if they differ. */
static void default_pod_ips(struct pl_arena *arena, struct pl_tree *status)
{
    const struct pl_tree *first = pl_tree_at(pl_tree_getz(status, "podIPs"), 0);
    struct pl_tree *ip = pl_tree_getz(status, "podIP");
    if (pl_tree_text(ip).len == 0) {
        if (pl_tree_text_at(first, "ip").len > 0)
            pl_tree_setz(arena, status, "podIP", pl_tree_copy(arena, pl_tree_getz(first, "ip")));
        return;
    }
    if (first != NULL && pl_tree_equal(ip, pl_tree_getz(first, "ip")))
        return;
    struct pl_tree *list = pl_tree_array(arena), *one = pl_tree_object(arena);
    pl_tree_setz(arena, one, "ip", pl_tree_copy(arena, ip));
    pl_tree_push(arena, list, one);
    pl_tree_setz(arena, status, "podIPs", list);
}

static void default_node(struct pl_arena *arena, struct pl_tree *object)
{
    struct pl_tree *spec = pl_tree_getz(object, "spec"), *status = pl_tree_getz(object, "status");
    struct pl_tree *cidr = pl_tree_getz(spec, "podCIDR");
    struct pl_tree *first = pl_tree_at(pl_tree_getz(spec, "podCIDRs"), 0);
    if (pl_tree_text(cidr).len == 0 && first != NULL)
        pl_tree_setz(arena, spec, "podCIDR", pl_tree_copy(arena, first));
    if (pl_tree_text(cidr).len > 0 && !pl_tree_equal(cidr, first)) {
        pl_tree_setz(arena, spec, "podCIDRs", pl_tree_array(arena));
        pl_tree_push(arena, pl_tree_getz(spec, "podCIDRs"), cidr);
    }
    if (pl_tree_getz(status, "capacity") != NULL)
        pl_tree_default(arena, status, "allocatable",
                        pl_tree_copy(arena, pl_tree_getz(status, "capacity")));
}

static void default_autoscaler(struct pl_arena *arena, struct pl_tree *spec)
{
    pl_api_default_member(
        arena, spec, "metrics",
        "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":"
        "\"Utilization\",\"averageUtilization\":80}}}]");
    static const char *const up =
        "{\"stabilizationWindowSeconds\":0,\"selectPolicy\":\"Max\",\"policies\":[{\"type\":"
        "\"Pods\",\"value\":4,\"periodSeconds\":15},{\"type\":\"Percent\",\"value\":100,"
        "\"periodSeconds\":15}]}";
    static const char *const down = "{\"selectPolicy\":\"Max\",\"policies\":[{\"type\":"
                                    "\"Percent\",\"value\":100,\"periodSeconds\":15}]}";
    struct pl_tree *behavior = pl_tree_getz(spec, "behavior");
    if (behavior == NULL)
        return;
    PL_TREE_FOR(item, pl_tree_literal(arena, up))
    pl_tree_default(arena, pl_tree_child(arena, behavior, "scaleUp"),
                    pl_arena_copy(arena, item->key).ptr, item->value);
    PL_TREE_FOR(item, pl_tree_literal(arena, down))
    pl_tree_default(arena, pl_tree_child(arena, behavior, "scaleDown"),
                    pl_arena_copy(arena, item->key).ptr, item->value);
}

static void default_service(struct pl_arena *arena, struct pl_tree *object, struct pl_tree *spec)
{
    struct pl_slice type = pl_tree_text_at(spec, "type");
    PL_TREE_FOR(item, pl_tree_dig(object, "status.loadBalancer.ingress"))
    if (pl_slice_eqz(type, "LoadBalancer") && pl_tree_text_at(item->value, "ip").len > 0)
        pl_tree_default(arena, item->value, "ipMode", pl_tree_strz(arena, "VIP"));
    bool external = pl_slice_eqz(type, "ExternalName");
    PL_TREE_FOR(item, pl_tree_getz(spec, "ports"))
    {
        const struct pl_tree *target = pl_tree_getz(item->value, "targetPort");
        int64_t number = 1;
        pl_tree_integer(target, &number);
        if (number == 0 || (pl_tree_is(target, PL_STRING) && target->text.len == 0))
            pl_tree_removez(item->value, "targetPort");
        if (pl_tree_getz(item->value, "port") == NULL)
            continue;
        pl_tree_default(arena, item->value, "targetPort", pl_tree_getz(item->value, "port"));
    }
    if (!external && pl_tree_is(spec, PL_OBJECT))
        pl_tree_default(arena, spec, "internalTrafficPolicy", pl_tree_strz(arena, "Cluster"));
    struct pl_tree *affinity = pl_tree_getz(spec, "sessionAffinityConfig");
    if (pl_slice_eqz(pl_tree_text_at(spec, "sessionAffinity"), "ClientIP")) {
        affinity = pl_tree_child(arena, spec, "sessionAffinityConfig");
        pl_tree_default(arena, pl_tree_child(arena, affinity, "clientIP"), "timeoutSeconds",
                        pl_tree_int(arena, 10800));
    } else if (affinity != NULL) {
        pl_tree_removez(spec, "sessionAffinityConfig");
    }
    const struct pl_tree *outside = pl_tree_getz(spec, "externalIPs");
    if (pl_slice_eqz(type, "NodePort") || pl_slice_eqz(type, "LoadBalancer") ||
        (pl_slice_eqz(type, "ClusterIP") && outside != NULL && outside->count > 0))
        pl_tree_default(arena, spec, "externalTrafficPolicy", pl_tree_strz(arena, "Cluster"));
    if (pl_slice_eqz(type, "LoadBalancer"))
        pl_tree_default(arena, spec, "allocateLoadBalancerNodePorts", pl_tree_bool(arena, true));
}

/* Requests of devices ask for one, unless they ask for all. */
static void default_devices(struct pl_arena *arena, struct pl_tree *spec)
{
    PL_TREE_FOR(item, pl_tree_dig(spec, "devices.requests"))
    {
        struct pl_tree *exact = pl_tree_getz(item->value, "exactly");
        if (pl_slice_eqz(pl_tree_text_at(exact, "allocationMode"), "ExactCount"))
            pl_api_default_member(arena, exact, "count", "+1");
        PL_TREE_FOR(choice, pl_tree_getz(item->value, "firstAvailable"))
        if (pl_slice_eqz(pl_tree_text_at(choice->value, "allocationMode"), "ExactCount"))
            pl_api_default_member(arena, choice->value, "count", "+1");
    }
}

static void default_policy_types(struct pl_arena *arena, struct pl_tree *spec)
{
    struct pl_tree *types = pl_tree_array(arena);
    const struct pl_tree *egress = pl_tree_getz(spec, "egress");
    if (!pl_tree_is(spec, PL_OBJECT) || pl_tree_getz(spec, "policyTypes") != NULL)
        return;
    pl_tree_push(arena, types, pl_tree_strz(arena, "Ingress"));
    if (egress != NULL && egress->count > 0)
        pl_tree_push(arena, types, pl_tree_strz(arena, "Egress"));
    pl_tree_setz(arena, spec, "policyTypes", types);
}

static void default_subjects(struct pl_arena *arena, struct pl_tree *object)
{
    struct pl_tree *subjects = pl_tree_getz(object, "subjects");
    if (subjects != NULL && subjects->count == 0)
        pl_tree_removez(object, "subjects");
    PL_TREE_FOR(item, subjects)
    if (pl_slice_eqz(pl_tree_text_at(item->value, "kind"), "User") ||
        pl_slice_eqz(pl_tree_text_at(item->value, "kind"), "Group")) {
        if (pl_tree_text_at(item->value, "apiGroup").len == 0)
            pl_tree_set_strz(arena, item->value, "apiGroup", "rbac.authorization.k8s.io");
    }
}

/* stringData is merged into data and is never read back. */
static void fold_string_data(struct pl_arena *arena, struct pl_tree *object)
{
    struct pl_tree *strings = pl_tree_getz(object, "stringData");
    PL_TREE_FOR(item, strings)
    {
        struct pl_buf text = PL_BUF_INIT;
        pl_base64_encode(pl_tree_text(item->value), &text);
        pl_tree_set(arena, pl_tree_child(arena, object, "data"), item->key,
                    pl_tree_str(arena, pl_buf_slice(&text)));
        pl_buf_deinit(&text);
    }
    pl_tree_removez(object, "stringData");
}

static void name_label(struct pl_arena *arena, struct pl_tree *object)
{
    struct pl_tree *meta = pl_tree_child(arena, object, "metadata");
    pl_tree_setz(arena, pl_tree_child(arena, meta, "labels"), "kubernetes.io/metadata.name",
                 pl_tree_str(arena, pl_tree_text_at(meta, "name")));
}

void pl_api_default_kind(struct pl_arena *arena, const char *kind, struct pl_tree *object)
{
    struct pl_tree *spec = pl_tree_getz(object, "spec");
    if (strcmp(kind, "Deployment") == 0)
        default_rollout(arena, spec, "strategy",
                        "{\"maxUnavailable\":\"25%\",\"maxSurge\":\"25%\"}");
    else if (strcmp(kind, "StatefulSet") == 0)
        default_stateful_set(arena, spec);
    else if (strcmp(kind, "DaemonSet") == 0)
        default_daemon_set(arena, object, spec);
    else if (strcmp(kind, "Job") == 0)
        default_job(arena, object, spec);
    else if (strcmp(kind, "ReplicationController") == 0)
        default_replication(arena, object, spec);
    else if (strcmp(kind, "LimitRange") == 0)
        default_limits(arena, spec);
    else if (strcmp(kind, "Node") == 0)
        default_node(arena, object);
    else if (strcmp(kind, "Pod") == 0)
        default_pod_ips(arena, pl_tree_getz(object, "status"));
    else if (strcmp(kind, "HorizontalPodAutoscaler") == 0)
        default_autoscaler(arena, spec);
    else if (strcmp(kind, "Service") == 0)
        default_service(arena, object, spec);
    else if (strcmp(kind, "NetworkPolicy") == 0)
        default_policy_types(arena, spec);
    else if (strcmp(kind, "RoleBinding") == 0 || strcmp(kind, "ClusterRoleBinding") == 0)
        default_subjects(arena, object);
    else if (strcmp(kind, "Secret") == 0)
        fold_string_data(arena, object);
    else if (strcmp(kind, "ResourceClaim") == 0)
        default_devices(arena, spec);
    else if (strcmp(kind, "ResourceClaimTemplate") == 0)
        default_devices(arena, pl_tree_getz(spec, "spec"));
    else if (strcmp(kind, "Namespace") == 0)
        name_label(arena, object);
    else if (strcmp(kind, "CustomResourceDefinition") == 0)
        pl_api_crd_default_spec(arena, object);
}
