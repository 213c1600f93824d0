/* The plug-in PodSecurity, as in kube-apiserver without a configuration: the labels of the
 * namespace alone decide the levels, and there are no exemptions. The level `audit` has no effect,
 * since there is no audit log. An updated Pod is checked again only if its images have changed. */
#include "admission/pod_security.h"

#include "podsecurity/security.h"

#include <stdlib.h>

#define PODS_MAX 3000 /* limit of a namespace's Pods that are checked against a new level */

/* ---- the namespace ---- */

static const struct pl_tree *labels_of_namespace(struct pl_api_ctx *ctx)
{
    const struct pl_api_entry *entry = pl_api_table_find(
        pl_api_builtin_table(ctx->api->registry, "", "namespaces"), ctx->request.ns);
    if (entry == NULL)
        return NULL;
    struct pl_node labels = pl_node_dig(pl_doc_root(entry->doc), "metadata", "labels");
    return pl_node_is_missing(labels) ? NULL : pl_tree_from_node(&ctx->arena, labels);
}

/* ---- pods ---- */

static void security_warn(struct pl_api_ctx *ctx, struct pl_security security,
                          const struct pl_tree *pod)
{
    struct pl_slice why = pl_security_violations(&ctx->arena, security, pod, true);
    if (why.len > 0)
        pl_api_warn(ctx, pl_arena_f(&ctx->arena, "would violate PodSecurity \"%.*s\": %.*s",
                                    PL_FMT(pl_security_text(&ctx->arena, security)), PL_FMT(why)));
}

static bool same_images(const struct pl_tree *a, const struct pl_tree *b, const char *list)
{
    const struct pl_tree *is = pl_tree_getz(a, list), *was = pl_tree_getz(b, list);
    const struct pl_tree_item *before = was != NULL ? was->first : NULL;
    if ((is != NULL ? is->count : 0) != (was != NULL ? was->count : 0))
        return false;
    PL_TREE_FOR(item, is)
    {
        if (!pl_slice_eq(pl_tree_text_at(item->value, "image"),
                         pl_tree_text_at(before->value, "image")))
            return false;
        before = before->next;
    }
    return true;
}

static bool is_minor_change(const struct pl_tree *pod, const struct pl_tree *old)
{
    static const char lists[][20] = {"containers", "initContainers", "ephemeralContainers"};
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        if (!same_images(pl_tree_getz(pod, "spec"), pl_tree_getz(old, "spec"), lists[i]))
            return false;
    return true;
}

static int secure_pod(struct pl_api_ctx *ctx, const struct pl_tree *pod, const struct pl_tree *old)
{
    if (old != NULL && is_minor_change(pod, old))
        return 0;
    struct pl_security_policy policy = pl_security_policy_of(labels_of_namespace(ctx), NULL);
    struct pl_slice why = pl_security_violations(&ctx->arena, policy.enforce, pod, true);
    if (why.len > 0)
        return pl_api_forbid(ctx, pl_tree_text_at(pod, "metadata.name"),
                             pl_arena_f(&ctx->arena, "violates PodSecurity \"%.*s\": %.*s",
                                        PL_FMT(pl_security_text(&ctx->arena, policy.enforce)),
                                        PL_FMT(why)));
    security_warn(ctx, policy.warn, pod);
    return 0;
}

/* ---- templates ---- */

static const struct pl_tree *template_of(const struct pl_api_type *type,
                                         const struct pl_tree *object)
{
    static const struct {
        char kind[24], path[32];
    } places[] = {{"Deployment", "spec.template"},
                  {"ReplicaSet", "spec.template"},
                  {"ReplicationController", "spec.template"},
                  {"DaemonSet", "spec.template"},
                  {"StatefulSet", "spec.template"},
                  {"Job", "spec.template"},
                  {"CronJob", "spec.jobTemplate.spec.template"},
                  {"PodTemplate", "template"}};
    for (size_t i = 0; i < PL_ARRAY_LEN(places); i++)
        if (pl_api_type_is_builtin(type, places[i].kind))
            return pl_tree_dig(object, places[i].path);
    return NULL;
}

/* ---- a namespace whose labels change ---- */

/* Pods with the same violations: the first of their names, and their number. */
struct alike {
    struct pl_slice why, name;
    size_t count;
};

static void count_pod(struct alike *list, size_t *count, size_t room, struct pl_slice why,
                      struct pl_slice name)
{
    size_t i = 0;
    while (i < *count && !pl_slice_eq(list[i].why, why))
        i++;
    if (i == room)
        return;
    if (i == *count)
        list[(*count)++] = (struct alike){why, name, 0};
    if (pl_slice_cmp(name, list[i].name) < 0)
        list[i].name = name;
    list[i].count++;
}

static struct pl_slice alike_text(struct pl_api_ctx *ctx, const struct alike *alike)
{
    struct pl_slice others = {0};
    if (alike->count > 1)
        others = pl_arena_f(&ctx->arena, " (and %zu other pod%s)", alike->count - 1,
                            alike->count > 2 ? "s" : "");
    return pl_arena_f(&ctx->arena, "%.*s%.*s: %.*s", PL_FMT(alike->name), PL_FMT(others),
                      PL_FMT(alike->why));
}

static int alike_order(const void *a, const void *b)
{
    return pl_slice_cmp(*(const struct pl_slice *)a, *(const struct pl_slice *)b);
}

static void warn_of_pods(struct pl_api_ctx *ctx, struct pl_slice ns, struct pl_security security)
{
    struct alike list[64] = {{.count = 0}};
    struct pl_slice texts[64] = {{NULL, 0}};
    size_t count = 0;
    const struct pl_api_table *table = pl_api_builtin_table(ctx->api->registry, "", "pods");
    struct pl_api_span span = pl_api_table_span(table, ns);
    for (size_t i = span.first; i < span.end && i - span.first < PODS_MAX; i++) {
        struct pl_tree *pod = pl_tree_from_node(&ctx->arena, pl_doc_root(table->entries[i]->doc));
        struct pl_slice why = pl_security_violations(&ctx->arena, security, pod, false);
        if (why.len > 0)
            count_pod(list, &count, PL_ARRAY_LEN(list), why, pl_tree_text_at(pod, "metadata.name"));
    }
    if (count > 0)
        pl_api_warn(ctx,
                    pl_arena_f(&ctx->arena,
                               "existing pods in namespace \"%.*s\" violate the new PodSecurity "
                               "enforce level \"%.*s\"",
                               PL_FMT(ns), PL_FMT(pl_security_text(&ctx->arena, security))));
    for (size_t i = 0; i < count; i++)
        texts[i] = alike_text(ctx, &list[i]);
    qsort(texts, count, sizeof(*texts), alike_order);
    for (size_t i = 0; i < count; i++)
        pl_api_warn(ctx, texts[i]);
}

static int secure_namespace(struct pl_api_ctx *ctx, const struct pl_tree *ns,
                            const struct pl_tree *old)
{
    struct pl_api_faults faults = {.arena = &ctx->arena}, before = {.arena = &ctx->arena};
    struct pl_slice name = pl_tree_text_at(ns, "metadata.name");
    struct pl_security_policy is =
        pl_security_policy_of(pl_tree_dig(ns, "metadata.labels"), &faults);
    struct pl_security_policy was =
        pl_security_policy_of(pl_tree_dig(old, "metadata.labels"), &before);
    bool new_faults = faults.causes != NULL &&
                      (before.causes == NULL || !pl_tree_equal(faults.causes, before.causes));
    if (new_faults)
        return pl_api_fail_faults(&ctx->status, &faults, pl_slice_z(""), pl_slice_z("Namespace"),
                                  name);
    bool stricter =
        is.enforce.level > was.enforce.level ||
        (is.enforce.minor != was.enforce.minor && is.enforce.level != PL_SECURITY_PRIVILEGED);
    if (old != NULL && stricter)
        warn_of_pods(ctx, name, is.enforce);
    return 0;
}

int pl_api_pod_security(struct pl_api_ctx *ctx, const struct pl_tree *object,
                        const struct pl_tree *old)
{
    struct pl_slice sub = ctx->request.subresource;
    if (ctx->type->is_custom)
        return 0;
    if (pl_api_type_is_builtin(ctx->type, "Pod"))
        return pl_slice_eqz(sub, "status") ? 0 : secure_pod(ctx, object, old);
    if (sub.len > 0)
        return 0;
    if (pl_api_type_is_builtin(ctx->type, "Namespace"))
        return secure_namespace(ctx, object, old);
    const struct pl_tree *template = template_of(ctx->type, object);
    if (template != NULL)
        security_warn(ctx, pl_security_policy_of(labels_of_namespace(ctx), NULL).warn, template);
    return 0;
}
