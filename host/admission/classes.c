/* Admission by classes, as in kube-apiserver's plug-ins. Priority and RuntimeClass: the class (or
 * the global default class) gives a Pod its integer priority, and the overhead of its runtime is
 * added. A Pod that names a missing class is refused. DefaultStorageClass and DefaultIngressClass:
 * an object without a class gets the default class. PersistentVolumeClaimResize: a claim grows only
 * if its class allows it. */
#include "admission/classes.h"

#include "format/units.h"

#include <inttypes.h>

static int admission_refuse(struct pl_api_ctx *ctx, const struct pl_tree *pod, struct pl_slice why)
{
    return pl_api_forbid(ctx, pl_tree_text_at(pod, "metadata.name"), why);
}

static struct pl_api_table *table_of(struct pl_api *api, const char *group, const char *plural)
{
    return pl_api_builtin_table(api->registry, group, plural);
}

/* The class of Pods that name none: the global default; a missing node if there is none. */
static struct pl_node everybodys(const struct pl_api_table *table)
{
    struct pl_node found = {0};
    for (size_t i = 0; i < table->count; i++) {
        struct pl_node class = pl_doc_root(table->entries[i]->doc);
        if (pl_node_bool(pl_node_getz(class, "globalDefault")))
            found = class;
    }
    return found;
}

static int admit_preemption(struct pl_api_ctx *ctx, struct pl_tree *pod, struct pl_node class)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *spec = pl_tree_getz(pod, "spec");
    struct pl_scratch scratch;
    struct pl_slice policy = pl_node_str(pl_node_getz(class, "preemptionPolicy"), &scratch);
    if (policy.len == 0)
        policy = pl_slice_z("PreemptLowerPriority");
    struct pl_slice own = pl_tree_text_at(spec, "preemptionPolicy");
    if (own.len > 0 && !pl_slice_eq(own, policy))
        return admission_refuse(
            ctx, pod,
            pl_arena_f(arena,
                       "the string value of PreemptionPolicy (%.*s) must not be provided in pod "
                       "spec; priority admission controller computed %.*s from the given "
                       "PriorityClass name",
                       PL_FMT(own), PL_FMT(policy)));
    pl_tree_setz(arena, spec, "preemptionPolicy", pl_tree_str(arena, policy));
    return 0;
}

static int admit_priority(struct pl_api_ctx *ctx, struct pl_tree *pod)
{
    struct pl_arena *arena = &ctx->arena;
    const struct pl_api_table *table = table_of(ctx->api, "scheduling.k8s.io", "priorityclasses");
    struct pl_tree *spec = pl_tree_child(arena, pod, "spec");
    struct pl_slice name = pl_tree_text_at(spec, "priorityClassName");
    const struct pl_api_entry *entry = name.len > 0 ? pl_api_table_find(table, name) : NULL;
    struct pl_node class = entry != NULL ? pl_doc_root(entry->doc) : everybodys(table);
    int64_t priority = 0, given = 0;
    if (name.len > 0 && entry == NULL)
        return admission_refuse(
            ctx, pod, pl_arena_f(arena, "no PriorityClass with name %.*s was found", PL_FMT(name)));
    pl_node_int(pl_node_getz(class, "value"), &priority);
    if (pl_tree_integer(pl_tree_getz(spec, "priority"), &given) && given != priority)
        return admission_refuse(
            ctx, pod,
            pl_arena_f(arena,
                       "the integer value of priority (%" PRId64 ") must not be provided "
                       "in pod spec; priority admission controller computed %" PRId64
                       " from the given PriorityClass name",
                       given, priority));
    pl_tree_setz(arena, spec, "priority", pl_tree_int(arena, priority));
    if (admit_preemption(ctx, pod, class) != 0)
        return -1;
    if (name.len == 0 && !pl_node_is_missing(class))
        pl_tree_setz(arena, spec, "priorityClassName",
                     pl_tree_from_node(arena, pl_node_dig(class, "metadata", "name")));
    return 0;
}

static int admit_runtime(struct pl_api_ctx *ctx, struct pl_tree *pod)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *spec = pl_tree_child(arena, pod, "spec");
    struct pl_slice name = pl_tree_text_at(spec, "runtimeClassName");
    const struct pl_tree *given = pl_tree_getz(spec, "overhead");
    static const char no_class[] = "pod rejected: Pod Overhead set without corresponding "
                                   "RuntimeClass defined Overhead";
    if (name.len == 0)
        return given == NULL ? 0 : admission_refuse(ctx, pod, pl_slice_z(no_class));
    const struct pl_api_entry *entry =
        pl_api_table_find(table_of(ctx->api, "node.k8s.io", "runtimeclasses"), name);
    if (entry == NULL)
        return admission_refuse(
            ctx, pod,
            pl_arena_f(arena, "pod rejected: RuntimeClass \"%.*s\" not found", PL_FMT(name)));
    struct pl_node overhead = pl_node_getz(pl_doc_root(entry->doc), "overhead");
    struct pl_node fixed = pl_node_getz(overhead, "podFixed");
    if (pl_node_is_missing(fixed) && !pl_node_is_missing(overhead) &&
        (given == NULL || given->count == 0))
        return 0;
    if (pl_node_is_missing(fixed))
        return given == NULL ? 0 : admission_refuse(ctx, pod, pl_slice_z(no_class));
    if (given != NULL && given->count > 0 && !pl_tree_equal(given, pl_tree_from_node(arena, fixed)))
        return admission_refuse(ctx, pod,
                                pl_slice_z("pod rejected: Pod's Overhead doesn't match "
                                           "RuntimeClass's defined Overhead"));
    pl_tree_setz(arena, spec, "overhead", pl_tree_from_node(arena, fixed));
    return 0;
}

int pl_api_admit_pod(struct pl_api_ctx *ctx, struct pl_tree *pod)
{
    return admit_priority(ctx, pod) == 0 ? admit_runtime(ctx, pod) : -1;
}

/* ---- resizing ---- */

static double request_of(const struct pl_tree *pod, const char *name)
{
    double sum = 0, is;
    PL_TREE_FOR(item, pl_tree_dig(pod, "spec.containers"))
    {
        const struct pl_tree *value =
            pl_tree_getz(pl_tree_dig(item->value, "resources.requests"), name);
        if (pl_quantity_parse(pl_tree_text(value), &is))
            sum += is;
    }
    return sum;
}

/* Whether the node has room for what the Pod's containers request; if not, says so. */
static bool has_room(struct pl_node node, const struct pl_tree *pod, struct pl_buf *why)
{
    static const struct {
        const char *name;
        double unit;
    } amounts[] = {{"cpu", 1000}, {"memory", 1}};
    for (size_t i = 0; i < PL_ARRAY_LEN(amounts); i++) {
        struct pl_scratch scratch;
        double has = 0, wanted = request_of(pod, amounts[i].name);
        pl_quantity_parse(
            pl_node_str(pl_node_dig(node, "status", "allocatable", amounts[i].name), &scratch),
            &has);
        if (wanted > has)
            pl_buf_add_f(why, "%s%s, requested: %.0f, allocatable: %.0f", why->len > 0 ? "; " : "",
                         amounts[i].name, wanted * amounts[i].unit, has * amounts[i].unit);
    }
    return why->len == 0;
}

static void add_reason(struct pl_api_ctx *ctx, const char *reason)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *cause = pl_tree_object(arena), *causes = pl_tree_array(arena);
    pl_tree_set_strz(arena, cause, "reason", reason);
    pl_tree_push(arena, causes, cause);
    ctx->status.causes = causes;
}

int pl_api_admit_resize(struct pl_api_ctx *ctx, const struct pl_tree *pod,
                        const struct pl_tree *old)
{
    struct pl_slice name = pl_tree_text_at(pod, "spec.nodeName");
    const struct pl_tree *is = pl_tree_getz(pod, "spec"), *was = pl_tree_getz(old, "spec");
    struct pl_buf why = PL_BUF_INIT;
    if (name.len == 0 || pl_tree_equal(is, was))
        return 0;
    const struct pl_api_entry *node = pl_api_table_find(table_of(ctx->api, "", "nodes"), name);
    if (node == NULL)
        return admission_refuse(ctx, pod,
                                pl_arena_f(&ctx->arena, "node \"%.*s\" not found", PL_FMT(name)));
    if (has_room(pl_doc_root(node->doc), pod, &why))
        return 0;
    admission_refuse(ctx, pod,
                     pl_arena_f(&ctx->arena, "node didn't have enough allocatable resources: %s",
                                pl_buf_z(&why)));
    pl_buf_deinit(&why);
    add_reason(ctx, "NodeCapacity");
    return -1;
}

/* ---- default classes ---- */

static bool is_newer(struct pl_node a, struct pl_node b)
{
    struct pl_scratch one, two;
    int order = pl_slice_cmp(pl_node_str(pl_node_dig(a, "metadata", "creationTimestamp"), &one),
                             pl_node_str(pl_node_dig(b, "metadata", "creationTimestamp"), &two));
    if (order != 0)
        return order > 0;
    return pl_slice_cmp(pl_node_str(pl_node_dig(a, "metadata", "name"), &one),
                        pl_node_str(pl_node_dig(b, "metadata", "name"), &two)) < 0;
}

static struct pl_node marked_class(const struct pl_api_table *table, const char *mark)
{
    struct pl_node found = {0};
    for (size_t i = 0; i < table->count; i++) {
        struct pl_node class = pl_doc_root(table->entries[i]->doc);
        struct pl_scratch scratch;
        struct pl_slice is =
            pl_node_str(pl_node_dig(class, "metadata", "annotations", mark), &scratch);
        if (pl_slice_eqz(is, "true") && (pl_node_is_missing(found) || is_newer(class, found)))
            found = class;
    }
    return found;
}

/* old: the annotation that named the class before the member existed. */
static void admit_default_class(struct pl_api_ctx *ctx, struct pl_tree *object,
                                const struct pl_api_table *classes, const char *mark,
                                const char *member, const char *old)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    if (pl_tree_getz(spec, member) != NULL ||
        pl_tree_getz(pl_tree_dig(object, "metadata.annotations"), old) != NULL)
        return;
    struct pl_node class = marked_class(classes, mark);
    if (!pl_node_is_missing(class))
        pl_tree_setz(arena, spec, member,
                     pl_tree_from_node(arena, pl_node_dig(class, "metadata", "name")));
}

void pl_api_admit_claim(struct pl_api_ctx *ctx, struct pl_tree *claim)
{
    admit_default_class(ctx, claim, table_of(ctx->api, "storage.k8s.io", "storageclasses"),
                        "storageclass.kubernetes.io/is-default-class", "storageClassName",
                        "volume.beta.kubernetes.io/storage-class");
}

void pl_api_admit_ingress(struct pl_api_ctx *ctx, struct pl_tree *ingress)
{
    admit_default_class(ctx, ingress, table_of(ctx->api, "networking.k8s.io", "ingressclasses"),
                        "ingressclass.kubernetes.io/is-default-class", "ingressClassName",
                        "kubernetes.io/ingress.class");
}

static double amount(const struct pl_tree *value)
{
    double out = 0;
    if (pl_tree_is(value, PL_STRING) || pl_tree_is(value, PL_NUMBER))
        PL_IGNORE(pl_quantity_parse(value->text, &out));
    return out;
}

static bool class_grows(struct pl_api_ctx *ctx, struct pl_slice name, struct pl_slice old)
{
    const struct pl_api_entry *entry =
        pl_api_table_find(table_of(ctx->api, "storage.k8s.io", "storageclasses"), name);
    return entry != NULL && pl_slice_eq(name, old) &&
           pl_node_flagz(pl_doc_root(entry->doc), "allowVolumeExpansion");
}

bool pl_api_claim_grows_freely(const struct pl_api_ctx *ctx, const struct pl_tree *old)
{
    return ctx->api->unprotected && old != NULL &&
           pl_api_type_is_builtin(ctx->type, "PersistentVolumeClaim");
}

int pl_api_admit_growth(struct pl_api_ctx *ctx, const struct pl_tree *claim,
                        const struct pl_tree *old)
{
    const struct pl_tree *size = pl_tree_dig(claim, "spec.resources.requests.storage");
    const struct pl_tree *had = pl_tree_dig(old, "spec.resources.requests.storage");
    struct pl_slice name = pl_tree_text_at(claim, "metadata.name");
    if (!pl_api_type_is_builtin(ctx->type, "PersistentVolumeClaim") || old == NULL ||
        pl_api_claim_grows_freely(ctx, old) || ctx->request.subresource.len > 0 ||
        amount(size) <= amount(had))
        return 0;
    if (!pl_slice_eqz(pl_tree_text_at(old, "status.phase"), "Bound"))
        return pl_api_forbid(ctx, name,
                             pl_slice_z("Only bound persistent volume claims can be expanded"));
    if (class_grows(ctx, pl_tree_text_at(claim, "spec.storageClassName"),
                    pl_tree_text_at(old, "spec.storageClassName")))
        return 0;
    return pl_api_forbid(ctx, name,
                         pl_slice_z("only dynamically provisioned pvc can be resized and the "
                                    "storageclass that provisions the pvc must support resize"));
}
