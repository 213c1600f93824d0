/* Admission of Pods as kube-apiserver's plug-ins Priority and RuntimeClass do it: the integer
 * priority follows from the class (or from the class that is everybody's), and what a runtime needs
 * besides is added. A class that is not there refuses the Pod. */
#include "apicall/admission.h"

#include <inttypes.h>

static int admission_refuse(struct pl_api_ctx *ctx, const struct pl_tree *pod, struct pl_slice why)
{
    struct pl_slice name = pl_tree_text_at(pod, "metadata.name");
    pl_api_fail(&ctx->status, 403, "Forbidden", "pods \"%.*s\" is forbidden: %.*s", PL_FMT(name),
                PL_FMT(why));
    pl_api_fail_about(&ctx->status, pl_slice_z(""), pl_slice_z("pods"), name);
    return -1;
}

static struct pl_api_table *table_of(struct pl_api *api, const char *group, const char *plural)
{
    return pl_api_registry_find_group(api->registry, pl_slice_z(group), pl_slice_z(plural))->table;
}

/* The class that Pods without one have; a missing node when there is none. */
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

static int admit_priority(struct pl_api_ctx *ctx, struct pl_tree *pod)
{
    struct pl_arena *arena = &ctx->arena;
    const struct pl_api_table *table = table_of(ctx->api, "scheduling.k8s.io", "priorityclasses");
    struct pl_tree *spec = pl_tree_child(arena, pod, "spec");
    struct pl_slice name = pl_tree_text_at(spec, "priorityClassName");
    const struct pl_api_entry *entry = name.len > 0 ? pl_api_table_find(table, name) : NULL;
    struct pl_node class = entry != NULL ? pl_doc_root(entry->doc) : everybodys(table);
    struct pl_scratch scratch;
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
    struct pl_slice policy = pl_node_str(pl_node_getz(class, "preemptionPolicy"), &scratch);
    if (policy.len > 0)
        pl_tree_setz(arena, spec, "preemptionPolicy", pl_tree_str(arena, policy));
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
    if (name.len == 0)
        return 0;
    const struct pl_api_entry *entry =
        pl_api_table_find(table_of(ctx->api, "node.k8s.io", "runtimeclasses"), name);
    if (entry == NULL)
        return admission_refuse(
            ctx, pod,
            pl_arena_f(arena, "pod rejected: RuntimeClass \"%.*s\" not found", PL_FMT(name)));
    struct pl_node fixed = pl_node_dig(pl_doc_root(entry->doc), "overhead", "podFixed");
    if (!pl_node_is_missing(fixed))
        pl_tree_default(arena, spec, "overhead", pl_tree_from_node(arena, fixed));
    return 0;
}

int pl_api_admit_pod(struct pl_api_ctx *ctx, struct pl_tree *pod)
{
    return admit_priority(ctx, pod) == 0 ? admit_runtime(ctx, pod) : -1;
}
