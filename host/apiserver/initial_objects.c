/* The initial objects of every cluster: namespaces and, unless the server is bare, the default
 * roles, priority classes, flow control, API services, and the Service of the API server. A server
 * with a data folder makes them only once. */
#include "apiserver/verbs.h"
#include "apiserver/write.h"
#include "format/units.h"

static void make_object(struct pl_api *api, const char *group, const char *plural, const char *json)
{
    struct pl_arena arena = {0};
    pl_api_store_own(api, group, plural, pl_tree_literal(&arena, json));
    pl_arena_deinit(&arena);
}

/* The initial namespaces. */
static void make_namespaces(struct pl_api *api)
{
    static const char names[][16] = {"default", "kube-node-lease", "kube-public", "kube-system"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        struct pl_arena arena = {0};
        make_object(api, "", "namespaces",
                    pl_arena_f(&arena,
                               "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
                               "\"name\":\"%s\"}}",
                               names[i])
                        .ptr);
        pl_arena_deinit(&arena);
    }
}

/* The initial priority classes. */
static void make_priorities(struct pl_api *api)
{
    static const char *const classes[] = {
        "{\"apiVersion\":\"scheduling.k8s.io/"
        "v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":"
        "\"system-cluster-critical\"},\"value\":2000000000,\"description\":\"Used for system "
        "critical pods that must run in the cluster, but can be moved to another node if "
        "necessary.\"}",
        "{\"apiVersion\":\"scheduling.k8s.io/"
        "v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":"
        "\"system-node-critical\"},\"value\":2000001000,\"description\":\"Used for system critical "
        "pods that must not be moved from their current node.\"}",
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(classes); i++)
        make_object(api, "scheduling.k8s.io", "priorityclasses", classes[i]);
}

/* ---- flow control: nothing is limited here, but clients read these objects ---- */

#define FLOW "flowcontrol.apiserver.k8s.io"
#define ALL_RESOURCES                                                                              \
    "\"resourceRules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"],"           \
    "\"clusterScope\":true,\"namespaces\":[\"*\"]}],"
#define ALL_RULES                                                                                  \
    ALL_RESOURCES "\"nonResourceRules\":[{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]"
#define GROUP(name) "{\"kind\":\"Group\",\"group\":{\"name\":\"" name "\"}}"
#define USER(name)  "{\"kind\":\"User\",\"user\":{\"name\":\"" name "\"}}"
#define EVERY_USER  GROUP("system:unauthenticated") "," GROUP("system:authenticated")
#define ACCOUNTS(ns)                                                                               \
    "{\"kind\":\"ServiceAccount\",\"serviceAccount\":{\"namespace\":\"" ns "\",\"name\":\"*\"}}"
#define LEASES(verbs)                                                                              \
    "{\"verbs\":[" verbs "],\"apiGroups\":[\"coordination.k8s.io\"],\"resources\":[\"leases\"],"   \
    "\"namespaces\":[\"*\"]}"

struct level {
    const char *name;
    int shares, lendable;
    int hand, queues; /* 0: requests are rejected */
};

static const struct level levels[] = {
    {"catch-all", 5, 0, 0, 0},         {"global-default", 20, 50, 6, 128},
    {"leader-election", 10, 0, 4, 16}, {"node-high", 40, 25, 6, 64},
    {"system", 30, 33, 6, 64},         {"workload-high", 40, 50, 6, 128},
    {"workload-low", 100, 90, 6, 128},
};

struct flow {
    const char *name, *level;
    int order;
    const char *by; /* NULL: no distinction */
    const char *subjects, *rules;
};

static const struct flow flows[] = {
    {"exempt", "exempt", 1, NULL, GROUP("system:masters"), ALL_RULES},
    {"probes", "exempt", 2, NULL, EVERY_USER,
     "\"nonResourceRules\":[{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/healthz\",\"/readyz\",\"/"
     "livez\"]}]"},
    {"system-leader-election", "leader-election", 100, "ByUser",
     USER("system:kube-controller-manager") "," USER("system:kube-scheduler") "," ACCOUNTS(
         "kube-system"),
     "\"resourceRules\":[" LEASES("\"get\",\"create\",\"update\"") "]"},
    {"system-node-high", "node-high", 400, "ByUser", GROUP("system:nodes"),
     "\"resourceRules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"\"],\"resources\":[\"nodes\",\"nodes/"
     "status\"],\"clusterScope\":true,\"namespaces\":[\"*\"]}," LEASES("\"*\"") "]"},
    {"system-nodes", "system", 500, "ByUser", GROUP("system:nodes"), ALL_RULES},
    {"kube-controller-manager", "workload-high", 800, "ByNamespace",
     USER("system:kube-controller-manager"), ALL_RULES},
    {"kube-scheduler", "workload-high", 800, "ByNamespace", USER("system:kube-scheduler"),
     ALL_RULES},
    {"kube-system-service-accounts", "workload-high", 900, "ByNamespace", ACCOUNTS("kube-system"),
     ALL_RULES},
    {"service-accounts", "workload-low", 9000, "ByUser", GROUP("system:serviceaccounts"),
     ALL_RULES},
    {"global-default", "global-default", 9900, "ByUser", EVERY_USER, ALL_RULES},
    {"catch-all", "catch-all", 10000, "ByUser", EVERY_USER, ALL_RULES},
};

static void make_flow_object(struct pl_api *api, const char *kind, const char *plural,
                             const char *name, struct pl_slice rest)
{
    struct pl_arena arena = {0};
    struct pl_slice text =
        pl_arena_f(&arena,
                   "{\"apiVersion\":\"" FLOW "/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\","
                   "\"annotations\":{\"apf.kubernetes.io/autoupdate-spec\":\"true\"}},%.*s}",
                   kind, name, PL_FMT(rest));
    make_object(api, FLOW, plural, text.ptr);
    pl_arena_deinit(&arena);
}

static void make_level(struct pl_api *api, const struct level *level)
{
    struct pl_arena arena = {0};
    struct pl_slice how = level->hand == 0
                              ? pl_slice_z("\"type\":\"Reject\"")
                              : pl_arena_f(&arena,
                                           "\"type\":\"Queue\",\"queuing\":{\"queues\":%d,"
                                           "\"handSize\":%d,\"queueLengthLimit\":50}",
                                           level->queues, level->hand);
    make_flow_object(api, "PriorityLevelConfiguration", "prioritylevelconfigurations", level->name,
                     pl_arena_f(&arena,
                                "\"spec\":{\"type\":\"Limited\",\"limited\":{"
                                "\"nominalConcurrencyShares\":%d,\"limitResponse\":{%.*s},"
                                "\"lendablePercent\":%d}},\"status\":{}",
                                level->shares, PL_FMT(how), level->lendable));
    pl_arena_deinit(&arena);
}

static void make_flow(struct pl_api *api, const struct flow *flow)
{
    struct pl_arena arena = {0};
    struct pl_slice by =
        flow->by == NULL
            ? pl_slice("", 0)
            : pl_arena_f(&arena, "\"distinguisherMethod\":{\"type\":\"%s\"},", flow->by);
    make_flow_object(
        api, "FlowSchema", "flowschemas", flow->name,
        pl_arena_f(
            &arena,
            "\"spec\":{\"priorityLevelConfiguration\":{\"name\":\"%s\"},"
            "\"matchingPrecedence\":%d,%.*s\"rules\":[{\"subjects\":[%s],%s}]},\"status\":{"
            "\"conditions\":[{\"type\":\"Dangling\",\"status\":\"False\",\"reason\":\"Found\","
            "\"message\":\"This FlowSchema references the PriorityLevelConfiguration object "
            "named \\\"%s\\\" and it exists\"}]}",
            flow->level, flow->order, PL_FMT(by), flow->subjects, flow->rules, flow->level));
    pl_arena_deinit(&arena);
}

static void make_flow_control(struct pl_api *api)
{
    make_flow_object(api, "PriorityLevelConfiguration", "prioritylevelconfigurations", "exempt",
                     pl_slice_z("\"spec\":{\"type\":\"Exempt\",\"exempt\":{"
                                "\"nominalConcurrencyShares\":0,\"lendablePercent\":0}},"
                                "\"status\":{}"));
    for (size_t i = 0; i < PL_ARRAY_LEN(levels); i++)
        make_level(api, &levels[i]);
    for (size_t i = 0; i < PL_ARRAY_LEN(flows); i++)
        make_flow(api, &flows[i]);
}

/* ---- groups and Services ---- */

/* The versions of built-in groups as API services. */
static const struct {
    char group[32], version[4];
    int group_priority, priority;
} services[] = {
    {"", "v1", 18000, 1},
    {"admissionregistration.k8s.io", "v1", 16700, 15},
    {"apiextensions.k8s.io", "v1", 16700, 15},
    {"apps", "v1", 17800, 15},
    {"authentication.k8s.io", "v1", 17700, 15},
    {"authorization.k8s.io", "v1", 17600, 15},
    {"autoscaling", "v1", 17500, 15},
    {"autoscaling", "v2", 17500, 30},
    {"batch", "v1", 17400, 15},
    {"certificates.k8s.io", "v1", 17300, 15},
    {"coordination.k8s.io", "v1", 16500, 15},
    {"discovery.k8s.io", "v1", 16200, 15},
    {"events.k8s.io", "v1", 17750, 15},
    {FLOW, "v1", 16100, 21},
    {"networking.k8s.io", "v1", 17200, 15},
    {"node.k8s.io", "v1", 16300, 15},
    {"policy", "v1", 17100, 15},
    {"rbac.authorization.k8s.io", "v1", 17000, 15},
    {"resource.k8s.io", "v1", 16200, 21},
    {"scheduling.k8s.io", "v1", 16600, 15},
    {"storage.k8s.io", "v1", 16800, 15},
    {"storagemigration.k8s.io", "v1", 15800, 15},
};

static void make_api_services(struct pl_api *api)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(services); i++) {
        struct pl_arena arena = {0};
        struct pl_slice group = *services[i].group == '\0'
                                    ? pl_slice("", 0)
                                    : pl_arena_f(&arena, "\"group\":\"%s\",", services[i].group);
        struct pl_slice text = pl_arena_f(
            &arena,
            "{\"apiVersion\":\"apiregistration.k8s.io/v1\",\"kind\":\"APIService\",\"metadata\":{"
            "\"name\":\"%s.%s\",\"labels\":{\"kube-aggregator.kubernetes.io/automanaged\":"
            "\"onstart\"}},\"spec\":{%.*s\"version\":\"%s\",\"groupPriorityMinimum\":%d,"
            "\"versionPriority\":%d}}",
            services[i].version, services[i].group, PL_FMT(group), services[i].version,
            services[i].group_priority, services[i].priority);
        make_object(api, "apiregistration.k8s.io", "apiservices", text.ptr);
        pl_arena_deinit(&arena);
    }
}

/* ---- the API server's own Service ---- */

#define NETWORKING "networking.k8s.io"

/* The network is that of admission/prepare_service.c. */
static void make_network(struct pl_api *api)
{
    struct pl_arena arena = {0};
    char now[40];
    pl_time_text(pl_clock_wall(api->timers->clock), 0, now);
    struct pl_slice cidr = pl_arena_f(
        &arena,
        "{\"apiVersion\":\"" NETWORKING "/v1\",\"kind\":\"ServiceCIDR\",\"metadata\":{\"name\":"
        "\"kubernetes\"},\"spec\":{\"cidrs\":[\"10.0.0.0/16\"]},\"status\":{\"conditions\":[{"
        "\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"\",\"message\":\"Kubernetes default "
        "Service CIDR is ready\",\"lastTransitionTime\":\"%s\"}]}}",
        now);
    make_object(api, NETWORKING, "servicecidrs", cidr.ptr);
    make_object(api, NETWORKING, "ipaddresses",
                "{\"apiVersion\":\"" NETWORKING "/v1\",\"kind\":\"IPAddress\",\"metadata\":{"
                "\"name\":\"10.0.0.1\",\"labels\":{\"ipaddress.kubernetes.io/ip-family\":\"IPv4\","
                "\"ipaddress.kubernetes.io/managed-by\":\"ipallocator.k8s.io\"}},\"spec\":{"
                "\"parentRef\":{\"resource\":\"services\",\"namespace\":\"default\",\"name\":"
                "\"kubernetes\"}}}");
    make_object(
        api, "", "services",
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"kubernetes\","
        "\"namespace\":\"default\",\"labels\":{\"component\":\"apiserver\",\"provider\":"
        "\"kubernetes\"}},\"spec\":{\"clusterIP\":\"10.0.0.1\",\"clusterIPs\":[\"10.0.0.1\"],"
        "\"internalTrafficPolicy\":\"Cluster\",\"ipFamilies\":[\"IPv4\"],\"ipFamilyPolicy\":"
        "\"SingleStack\",\"ports\":[{\"name\":\"https\",\"port\":443,\"protocol\":\"TCP\","
        "\"targetPort\":6443}],\"sessionAffinity\":\"None\",\"type\":\"ClusterIP\"},"
        "\"status\":{\"loadBalancer\":{}}}");
    pl_arena_deinit(&arena);
}

void pl_api_make_first(struct pl_api *api)
{
    make_namespaces(api);
    if (api->bare)
        return;
    pl_api_rbac_make_defaults(api);
    make_priorities(api);
    make_flow_control(api);
    make_api_services(api);
    make_network(api);
}
