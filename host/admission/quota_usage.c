/* The usage of one object, as kube-apiserver's evaluators count it: Pods by their requests and
 * limits, Services by their type, claims by their storage and class, all kinds by their number. A
 * Pod that has ended uses only count/pods. Amounts are in thousandths and do not overflow: they
 * stop at the largest value. */
#include "admission/quota_usage.h"

#include "base/text.h"
#include "format/units.h"
#include "valid/subresource.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 9.2e18

/* ---- amounts ---- */

bool pl_amount_read(const struct pl_tree *value, struct pl_amount *amount)
{
    double base;
    if (value == NULL || value->type == PL_NULL || !pl_quantity_parse(value->text, &base))
        return false;
    double milli = ceil(base * 1000 - 1e-6);
    amount->milli = milli > MOST ? INT64_MAX : milli < -MOST ? INT64_MIN : (int64_t)milli;
    amount->is_binary = value->text.len > 0 && value->text.ptr[value->text.len - 1] == 'i';
    return true;
}

static struct pl_amount amount_sum(struct pl_amount a, struct pl_amount b)
{
    struct pl_amount sum = {0, a.milli == 0 ? b.is_binary : a.is_binary};
    if (__builtin_add_overflow(a.milli, b.milli, &sum.milli))
        sum.milli = b.milli > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

struct pl_slice pl_amount_text(struct pl_arena *arena, struct pl_amount amount)
{
    static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    static const char *const decimal[] = {"", "k", "M", "G", "T", "P", "E"};
    const char *const *suffixes = amount.is_binary ? binary : decimal;
    int64_t step = amount.is_binary ? 1024 : 1000, whole = amount.milli / 1000;
    size_t i = 0;
    if (amount.milli % 1000 != 0)
        return pl_arena_f(arena, "%lldm", (long long)amount.milli);
    while (whole != 0 && whole % step == 0 && i + 1 < PL_ARRAY_LEN(binary)) {
        whole /= step;
        i++;
    }
    return pl_arena_f(arena, "%lld%s", (long long)whole, suffixes[i]);
}

static struct pl_amount *usage_find(struct pl_usage *usage, struct pl_slice name)
{
    for (size_t i = 0; i < usage->count; i++)
        if (pl_slice_eq(usage->list[i].name, name))
            return &usage->list[i].amount;
    return NULL;
}

const struct pl_amount *pl_usage_get(const struct pl_usage *usage, struct pl_slice name)
{
    return usage_find((struct pl_usage *)usage, name);
}

void pl_usage_add(struct pl_usage *usage, struct pl_slice name, struct pl_amount amount)
{
    struct pl_amount *has = usage_find(usage, name);
    if (has != NULL) {
        *has = amount_sum(*has, amount);
    } else if (usage->count < PL_USAGE_MAX) {
        usage->list[usage->count].name = name;
        usage->list[usage->count++].amount = amount;
    }
}

static void add_count(struct pl_usage *usage, struct pl_slice name, int64_t count)
{
    pl_usage_add(usage, name, (struct pl_amount){count * 1000, false});
}

/* ---- Pods ---- */

static bool is_pod_type(const struct pl_api_type *type)
{
    return pl_api_type_is_builtin(type, "Pod");
}

static void add_amounts(struct pl_usage *usage, const struct pl_tree *container, const char *list)
{
    struct pl_amount amount;
    PL_TREE_FOR(item, pl_tree_getz(pl_tree_getz(container, "resources"), list))
    if (pl_amount_read(item->value, &amount))
        pl_usage_add(usage, item->key, amount);
}

static void take_larger(struct pl_usage *most, const struct pl_usage *other)
{
    for (size_t i = 0; i < other->count; i++) {
        struct pl_amount *has = usage_find(most, other->list[i].name);
        if (has == NULL)
            pl_usage_add(most, other->list[i].name, other->list[i].amount);
        else if (other->list[i].amount.milli > has->milli)
            *has = other->list[i].amount;
    }
}

void pl_usage_of_containers(struct pl_usage *sums, const struct pl_tree *spec, const char *list)
{
    struct pl_usage beside = {.count = 0}, first = {.count = 0};
    PL_TREE_FOR(one, pl_tree_getz(spec, "containers"))
    add_amounts(sums, one->value, list);
    PL_TREE_FOR(one, pl_tree_getz(spec, "initContainers"))
    {
        if (pl_slice_eqz(pl_tree_text_at(one->value, "restartPolicy"), "Always")) {
            add_amounts(sums, one->value, list);
            add_amounts(&beside, one->value, list);
            continue;
        }
        struct pl_usage here = beside;
        add_amounts(&here, one->value, list);
        take_larger(&first, &here);
    }
    take_larger(sums, &first);
}

static void sum_pod(struct pl_usage *sums, const struct pl_tree *spec, const char *list)
{
    sums->count = 0;
    pl_usage_of_containers(sums, spec, list);
    PL_TREE_FOR(item, pl_tree_getz(pl_tree_getz(spec, "resources"), list))
    {
        struct pl_amount amount; /* the Pod's own amount replaces that of its containers */
        struct pl_amount *has = usage_find(sums, item->key);
        if (!pl_amount_read(item->value, &amount))
            continue;
        if (has != NULL)
            *has = amount;
        else
            pl_usage_add(sums, item->key, amount);
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
