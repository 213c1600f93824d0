/* The usage of one object, as kube-apiserver's evaluators count it: Pods by their requests and
 * limits, Services by their type, claims by their storage and class, all kinds by their number. A
 * Pod that has ended uses only count/pods. */
#include "admission/quota_usage.h"

#include "base/text.h"
#include "valid/subresource.h"

#include <stdlib.h>
#include <string.h>

static void add_count(struct pl_usage *usage, struct pl_slice name, int64_t count)
{
    pl_usage_add(usage, name, (struct pl_amount){count * 1000, false});
}

/* ---- Pods ---- */

static bool is_pod_type(const struct pl_api_type *type)
{
    return pl_api_type_is_builtin(type, "Pod");
}

static void sum_pod(struct pl_usage *sums, const struct pl_tree *spec, const char *list)
{
    sums->count = 0;
    pl_usage_of_containers(sums, spec, list);
    PL_TREE_FOR(item, pl_tree_getz(pl_tree_getz(spec, "resources"), list))
    {
        struct pl_amount amount; /* the Pod's own amount replaces that of its containers */
        if (pl_amount_read(item->value, &amount))
            pl_usage_set(sums, item->key, amount);
    }
    PL_TREE_FOR(item, pl_tree_getz(spec, "overhead"))
    {
        struct pl_amount amount;
        bool counts = strcmp(list, "requests") == 0 || pl_usage_get(sums, item->key) != NULL;
        if (counts && pl_amount_read(item->value, &amount))
            pl_usage_add(sums, item->key, amount);
    }
}

static bool is_compute(struct pl_slice name)
{
    return pl_slice_eqz(name, "cpu") || pl_slice_eqz(name, "memory") ||
           pl_slice_eqz(name, "ephemeral-storage");
}

/* The head with a name behind it. */
static bool has_head(struct pl_slice name, const char *head)
{
    return name.len > strlen(head) && pl_text_begins(name, head);
}

static void use_pod(struct pl_arena *arena, struct pl_usage *usage, const struct pl_tree *pod)
{
    const struct pl_tree *spec = pl_tree_getz(pod, "spec");
    struct pl_slice phase = pl_tree_text_at(pod, "status.phase");
    struct pl_usage *sums = pl_arena_alloc(arena, sizeof *sums);
    if (pl_slice_eqz(phase, "Failed") || pl_slice_eqz(phase, "Succeeded"))
        return;
    add_count(usage, pl_slice_z("pods"), 1);
    sum_pod(sums, spec, "requests");
    for (size_t i = 0; i < sums->count; i++) {
        struct pl_slice name = sums->list[i].name;
        bool pages = has_head(name, "hugepages-"), compute = is_compute(name);
        if (compute || pages)
            pl_usage_add(usage, name, sums->list[i].amount);
        if (compute || pages || pl_slice_chr(name, '/') != NULL)
            pl_usage_add(usage, pl_arena_f(arena, "requests.%.*s", PL_FMT(name)),
                         sums->list[i].amount);
    }
    sum_pod(sums, spec, "limits");
    for (size_t i = 0; i < sums->count; i++)
        if (is_compute(sums->list[i].name))
            pl_usage_add(usage, pl_arena_f(arena, "limits.%.*s", PL_FMT(sums->list[i].name)),
                         sums->list[i].amount);
}

/* ---- Services and claims ---- */

static void use_service(struct pl_usage *usage, const struct pl_tree *service)
{
    const struct pl_tree *spec = pl_tree_getz(service, "spec");
    const struct pl_tree *ports = pl_tree_getz(spec, "ports");
    const struct pl_tree *wants = pl_tree_getz(spec, "allocateLoadBalancerNodePorts");
    bool balanced = pl_slice_eqz(pl_tree_text_at(spec, "type"), "LoadBalancer");
    int64_t node_ports = 0;
    if (balanced && pl_tree_is(wants, PL_BOOL) && !wants->boolean)
        PL_TREE_FOR(item, ports)
        {
            int64_t port = 0;
            node_ports +=
                pl_tree_integer(pl_tree_getz(item->value, "nodePort"), &port) && port != 0;
        }
    else if (balanced || pl_slice_eqz(pl_tree_text_at(spec, "type"), "NodePort"))
        node_ports = ports != NULL ? (int64_t)ports->count : 0;
    add_count(usage, pl_slice_z("services"), 1);
    add_count(usage, pl_slice_z("services.nodeports"), node_ports);
    add_count(usage, pl_slice_z("services.loadbalancers"), balanced ? 1 : 0);
}

static void use_claim(struct pl_arena *arena, struct pl_usage *usage, const struct pl_tree *claim)
{
    struct pl_slice class = pl_tree_text_at(claim, "spec.storageClassName");
    const char *tail = ".storageclass.storage.k8s.io/";
    struct pl_amount storage;
    add_count(usage, pl_slice_z("persistentvolumeclaims"), 1);
    if (class.len > 0)
        add_count(usage, pl_arena_f(arena, "%.*s%spersistentvolumeclaims", PL_FMT(class), tail), 1);
    if (!pl_amount_read(pl_tree_dig(claim, "spec.resources.requests.storage"), &storage))
        return;
    storage.milli = (storage.milli + 999) / 1000 * 1000;
    pl_usage_add(usage, pl_slice_z("requests.storage"), storage);
    if (class.len > 0)
        pl_usage_add(usage, pl_arena_f(arena, "%.*s%srequests.storage", PL_FMT(class), tail),
                     storage);
}

void pl_usage_of(struct pl_arena *arena, struct pl_usage *usage, const struct pl_api_type *type,
                 const struct pl_tree *object)
{
    static const char also[][24] = {"configmaps", "resourcequotas", "replicationcontrollers",
                                    "secrets"};
    const char *group = pl_api_type_group(type);
    usage->count = 0;
    add_count(usage,
              pl_arena_f(arena, "count/%s%s%s", type->plural, *group != '\0' ? "." : "", group), 1);
    for (size_t i = 0; !type->is_custom && *group == '\0' && i < PL_ARRAY_LEN(also); i++)
        if (strcmp(type->plural, also[i]) == 0)
            add_count(usage, pl_slice_z(also[i]), 1);
    if (is_pod_type(type))
        use_pod(arena, usage, object);
    else if (pl_api_type_is_builtin(type, "Service"))
        use_service(usage, object);
    else if (pl_api_type_is_builtin(type, "PersistentVolumeClaim"))
        use_claim(arena, usage, object);
}

/* ---- which quotas cover an object ---- */

static bool is_of_pods(struct pl_slice name)
{
    static const char names[][28] = {"count/pods",
                                     "pods",
                                     "cpu",
                                     "memory",
                                     "ephemeral-storage",
                                     "requests.cpu",
                                     "requests.memory",
                                     "requests.ephemeral-storage",
                                     "limits.cpu",
                                     "limits.memory",
                                     "limits.ephemeral-storage"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        if (pl_slice_eqz(name, names[i]))
            return true;
    return has_head(name, "hugepages-") || has_head(name, "requests.hugepages-") ||
           (has_head(name, "requests.") && pl_slice_chr(name, '/') != NULL);
}

bool pl_usage_covers(const struct pl_usage *usage, const struct pl_api_type *type,
                     struct pl_slice resource)
{
    return is_pod_type(type) ? is_of_pods(resource) : pl_usage_get(usage, resource) != NULL;
}

static bool is_best_effort(const struct pl_tree *pod)
{
    return strcmp(pl_valid_pod_class(pod), "BestEffort") == 0;
}

static bool reaches_namespaces(const struct pl_tree *terms, bool weighted)
{
    PL_TREE_FOR(item, terms)
    {
        const struct pl_tree *term =
            weighted ? pl_tree_getz(item->value, "podAffinityTerm") : item->value;
        const struct pl_tree *list = pl_tree_getz(term, "namespaces");
        if ((list != NULL && list->count > 0) || pl_tree_getz(term, "namespaceSelector") != NULL)
            return true;
    }
    return false;
}

static bool has_cross_affinity(const struct pl_tree *spec)
{
    static const char kinds[][28] = {"affinity.podAffinity", "affinity.podAntiAffinity"};
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++) {
        const struct pl_tree *kind = pl_tree_dig(spec, kinds[i]);
        if (reaches_namespaces(pl_tree_getz(kind, "requiredDuringSchedulingIgnoredDuringExecution"),
                               false) ||
            reaches_namespaces(
                pl_tree_getz(kind, "preferredDuringSchedulingIgnoredDuringExecution"), true))
            return true;
    }
    return false;
}

static bool has_class(struct pl_slice class, struct pl_slice operator,
                      const struct pl_tree * values)
{
    if (pl_slice_eqz(operator, "In"))
        return class.len > 0 && pl_tree_has_text(values, class);
    if (pl_slice_eqz(operator, "NotIn"))
        return class.len == 0 || !pl_tree_has_text(values, class);
    return pl_slice_eqz(operator, "DoesNotExist") ? class.len == 0 : class.len > 0;
}

bool pl_usage_in_scope(const struct pl_api_type *type, const struct pl_tree *object,
                       struct pl_slice scope, struct pl_slice operator,
                       const struct pl_tree * values)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    int64_t deadline = -1;
    pl_tree_integer(pl_tree_getz(spec, "activeDeadlineSeconds"), &deadline);
    if (!is_pod_type(type))
        return false;
    if (pl_slice_eqz(scope, "Terminating"))
        return deadline >= 0;
    if (pl_slice_eqz(scope, "NotTerminating"))
        return deadline < 0;
    if (pl_slice_eqz(scope, "BestEffort"))
        return is_best_effort(object);
    if (pl_slice_eqz(scope, "NotBestEffort"))
        return !is_best_effort(object);
    if (pl_slice_eqz(scope, "PriorityClass"))
        return has_class(pl_tree_text_at(spec, "priorityClassName"), operator, values);
    return pl_slice_eqz(scope, "CrossNamespacePodAffinity") && has_cross_affinity(spec);
}

/* ---- resources that containers must state ---- */

static int name_order(const void *a, const void *b)
{
    return pl_slice_cmp(*(const struct pl_slice *)a, *(const struct pl_slice *)b);
}

/* Names of containers that do not state the resource, sorted: "c,d". */
static struct pl_slice without(struct pl_arena *arena, const struct pl_tree *spec, const char *path)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct pl_slice names[PL_USAGE_MAX];
    struct pl_buf text = PL_BUF_INIT;
    size_t count = 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        PL_TREE_FOR(one, pl_tree_getz(spec, lists[i]))
    if (pl_tree_dig(pl_tree_getz(one->value, "resources"), path) == NULL && count < PL_USAGE_MAX)
        names[count++] = pl_tree_text_at(one->value, "name");
    qsort(names, count, sizeof(*names), name_order);
    for (size_t i = 0; i < count; i++)
        pl_buf_add_f(&text, "%s%.*s", i > 0 ? "," : "", PL_FMT(names[i]));
    struct pl_slice out = pl_arena_copy(arena, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return out;
}

struct pl_slice pl_usage_missing(struct pl_arena *arena, const struct pl_tree *pod,
                                 const struct pl_tree *hard)
{
    static const char musts[][2][16] = {{"cpu", "requests.cpu"},
                                        {"limits.cpu", "limits.cpu"},
                                        {"limits.memory", "limits.memory"},
                                        {"memory", "requests.memory"},
                                        {"requests.cpu", "requests.cpu"},
                                        {"requests.memory", "requests.memory"}};
    const struct pl_tree *spec = pl_tree_getz(pod, "spec");
    const struct pl_tree *whole = pl_tree_getz(spec, "resources");
    struct pl_buf text = PL_BUF_INIT;
    for (size_t i = 0; (whole == NULL || whole->count == 0) && i < PL_ARRAY_LEN(musts); i++) {
        struct pl_slice names = without(arena, spec, musts[i][1]);
        if (pl_tree_getz(hard, musts[i][0]) != NULL && names.len > 0)
            pl_buf_add_f(&text, "%s%s for: %.*s", text.len > 0 ? "; " : "", musts[i][0],
                         PL_FMT(names));
    }
    struct pl_slice out = pl_arena_copy(arena, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return out;
}
