/* Values that the server assigns to built-in objects and that no table can hold: selectors of Jobs,
 * tolerations of Pods, and so on (those of Services are in prepare_service.c). Runs after
 * defaulting and before validation, on creation and on change. Values that were assigned before are
 * kept. Checked against kube-apiserver 1.37. */
#include "admission/prepare.h"

#include "admission/classes.h"
#include "admission/limit_ranges.h"
#include "admission/prepare_service.h"
#include "schema/crd.h"
#include "valid/subresource.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Jobs: a selector of their own ---- */

static void set_job_labels(struct pl_arena *arena, struct pl_tree *meta, struct pl_slice uid,
                           struct pl_slice name)
{
    struct pl_tree *labels = pl_tree_child(arena, meta, "labels");
    pl_tree_setz(arena, labels, "batch.kubernetes.io/controller-uid", pl_tree_str(arena, uid));
    pl_tree_setz(arena, labels, "batch.kubernetes.io/job-name", pl_tree_str(arena, name));
    pl_tree_setz(arena, labels, "controller-uid", pl_tree_str(arena, uid));
    pl_tree_setz(arena, labels, "job-name", pl_tree_str(arena, name));
}

static void prepare_job(struct pl_arena *arena, struct pl_tree *object, const struct pl_tree *old)
{
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    const struct pl_tree *manual = pl_tree_getz(spec, "manualSelector");
    struct pl_slice uid = pl_tree_text_at(object, "metadata.uid");
    struct pl_slice name = pl_tree_text_at(object, "metadata.name");
    if (old != NULL || (manual != NULL && manual->boolean))
        return; /* a change must contain them; with manualSelector the client sets them */
    struct pl_tree *template = pl_tree_child(arena, spec, "template");
    struct pl_tree *meta = pl_tree_child(arena, template, "metadata");
    set_job_labels(arena, meta, uid, name);
    set_job_labels(arena, pl_tree_child(arena, object, "metadata"), uid, name);
    struct pl_tree *match =
        pl_tree_child(arena, pl_tree_child(arena, spec, "selector"), "matchLabels");
    pl_tree_setz(arena, match, "batch.kubernetes.io/controller-uid", pl_tree_str(arena, uid));
}

/* ---- Pods ---- */

/* Adds a toleration of that taint for five minutes, unless the Pod has one. */
static void tolerate(struct pl_arena *arena, struct pl_tree *spec, const char *key)
{
    struct pl_tree *list = pl_tree_default(arena, spec, "tolerations", pl_tree_array(arena));
    PL_TREE_FOR(item, list)
    {
        struct pl_slice is = pl_tree_text_at(item->value, "key");
        struct pl_slice effect = pl_tree_text_at(item->value, "effect");
        if ((is.len == 0 || pl_slice_eqz(is, key)) &&
            (effect.len == 0 || pl_slice_eqz(effect, "NoExecute")))
            return;
    }
    struct pl_tree *one = pl_tree_object(arena);
    pl_tree_set_strz(arena, one, "key", key);
    pl_tree_set_strz(arena, one, "operator", "Exists");
    pl_tree_set_strz(arena, one, "effect", "NoExecute");
    pl_tree_setz(arena, one, "tolerationSeconds", pl_tree_int(arena, 300));
    pl_tree_push(arena, list, one);
}

static int prepare_pod(struct pl_api_ctx *ctx, struct pl_tree *object, bool is_new)
{
    struct pl_arena *arena = &ctx->arena;
    if (is_new &&
        (pl_api_admit_pod(ctx, object) != 0 || pl_api_admit_limits(ctx, "pods", object) != 0))
        return -1;
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    int64_t grace = 0;
    if (pl_tree_integer(pl_tree_getz(spec, "terminationGracePeriodSeconds"), &grace) && grace < 0)
        pl_tree_setz(arena, spec, "terminationGracePeriodSeconds", pl_tree_int(arena, 1));
    pl_tree_default(arena, spec, "priority", pl_tree_int(arena, 0));
    pl_tree_default(arena, spec, "preemptionPolicy", pl_tree_strz(arena, "PreemptLowerPriority"));
    tolerate(arena, spec, "node.kubernetes.io/not-ready");
    tolerate(arena, spec, "node.kubernetes.io/unreachable");
    return 0;
}

/* Adds a finalizer that keeps the object until it is not used any more
 * (apiserver/storage_protection.c). */
static void protect(struct pl_api_ctx *ctx, struct pl_tree *object, const char *mark)
{
    struct pl_arena *arena = &ctx->arena;
    if (ctx->api->unprotected)
        return;
    struct pl_tree *meta = pl_tree_child(arena, object, "metadata");
    struct pl_tree *list = pl_tree_default(arena, meta, "finalizers", pl_tree_array(arena));
    if (!pl_tree_has_text(list, pl_slice_z(mark)))
        pl_tree_push(arena, list, pl_tree_strz(arena, mark));
}

static void prepare_volume(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    struct pl_tree *status = pl_tree_literal(&ctx->arena, "{\"phase\":\"Pending\"}");
    pl_tree_setz(&ctx->arena, status, "lastPhaseTransitionTime", pl_api_now(ctx->api, &ctx->arena));
    pl_tree_setz(&ctx->arena, object, "status", status);
    protect(ctx, object, "kubernetes.io/pv-protection");
}

/* A node is not ready until its kubelet says so. */
static void prepare_node(struct pl_arena *arena, struct pl_tree *object)
{
    static const char key[] = "node.kubernetes.io/not-ready";
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    struct pl_tree *taints = pl_tree_default(arena, spec, "taints", pl_tree_array(arena));
    PL_TREE_FOR(item, taints)
    if (pl_slice_eqz(pl_tree_text_at(item->value, "key"), key) &&
        pl_slice_eqz(pl_tree_text_at(item->value, "effect"), "NoSchedule"))
        return;
    struct pl_tree *taint = pl_tree_object(arena);
    pl_tree_set_strz(arena, taint, "key", key);
    pl_tree_set_strz(arena, taint, "effect", "NoSchedule");
    pl_tree_push(arena, taints, taint);
}

static int prepare_claim(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    pl_api_admit_claim(ctx, object);
    protect(ctx, object, "kubernetes.io/pvc-protection");
    return pl_api_admit_limits(ctx, "persistentvolumeclaims", object);
}

/* ---- a first status ---- */

struct first {
    const char *kind, *status;
};

static const struct first firsts[] = {
    {"Namespace", "{\"phase\":\"Active\"}"},
    {"Service", "{\"loadBalancer\":{}}"},
    {"Ingress", "{\"loadBalancer\":{}}"},
    {"PersistentVolumeClaim", "{\"phase\":\"Pending\"}"},
    {"Deployment", "{}"},
    {"Job", "{}"},
    {"CronJob", "{}"},
    {"Node", "{}"},
    {"ResourceQuota", "{}"},
    {"ReplicaSet", "{\"replicas\":0}"},
    {"StatefulSet", "{\"replicas\":0,\"availableReplicas\":0}"},
    {"DaemonSet", "{\"currentNumberScheduled\":0,\"numberMisscheduled\":0,"
                  "\"desiredNumberScheduled\":0,\"numberReady\":0}"},
    {"PodDisruptionBudget", "{\"disruptionsAllowed\":0,\"currentHealthy\":0,"
                            "\"desiredHealthy\":0,\"expectedPods\":0}"},
    {"HorizontalPodAutoscaler", "{\"desiredReplicas\":0,\"currentMetrics\":null}"},
};

static void first_status(struct pl_arena *arena, const char *kind, struct pl_tree *object)
{
    const struct pl_tree *there = pl_tree_getz(object, "status");
    if (there != NULL && there->count == 0)
        pl_tree_removez(object, "status");
    for (size_t i = 0; i < PL_ARRAY_LEN(firsts); i++)
        if (strcmp(firsts[i].kind, kind) == 0)
            pl_tree_default(arena, object, "status", pl_tree_literal(arena, firsts[i].status));
    if (strcmp(kind, "Pod") == 0 && pl_tree_getz(object, "status") == NULL) {
        struct pl_tree *status = pl_tree_child(arena, object, "status");
        pl_tree_set_strz(arena, status, "phase", "Pending");
        pl_tree_set_strz(arena, status, "qosClass", pl_valid_pod_class(object));
    }
}

/* A group that this server itself serves is available at once. */
static void prepare_api_service(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    struct pl_arena *arena = &ctx->arena;
    if (pl_tree_dig(object, "spec.service") != NULL)
        return;
    struct pl_tree *status = pl_tree_literal(
        arena, "{\"conditions\":[{\"type\":\"Available\",\"status\":\"True\",\"reason\":\"Local\","
               "\"message\":\"Local APIServices are always available\"}]}");
    struct pl_tree *first = pl_tree_at(pl_tree_getz(status, "conditions"), 0);
    pl_tree_setz(arena, first, "lastTransitionTime", pl_api_now(ctx->api, arena));
    pl_tree_setz(arena, object, "status", status);
}

static void prepare_namespace(struct pl_arena *arena, struct pl_tree *object,
                              const struct pl_tree *old)
{
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    if (old != NULL) { /* a client cannot change it */
        pl_tree_setz(arena, object, "spec", pl_tree_copy(arena, pl_tree_getz(old, "spec")));
        return;
    }
    struct pl_tree *finalizers = pl_tree_default(arena, spec, "finalizers", pl_tree_array(arena));
    PL_TREE_FOR(item, finalizers)
    if (pl_slice_eqz(pl_tree_text(item->value), "kubernetes"))
        return;
    pl_tree_push(arena, finalizers, pl_tree_strz(arena, "kubernetes"));
}

/* Members that an Event always has, even if they are empty. */
static void prepare_event(struct pl_arena *arena, const struct pl_api_version *v,
                          struct pl_tree *object)
{
    static const char core[] =
        "{\"source\":{},\"firstTimestamp\":null,\"lastTimestamp\":null,\"eventTime\":null,"
        "\"reportingComponent\":\"\",\"reportingInstance\":\"\"}";
    static const char second[] = "{\"deprecatedSource\":{},\"deprecatedFirstTimestamp\":null,"
                                 "\"deprecatedLastTimestamp\":null,\"eventTime\":null}";
    PL_TREE_FOR(item, pl_tree_literal(arena, v->renames == NULL ? core : second))
    if (pl_tree_get(object, item->key) == NULL)
        pl_tree_set(arena, object, item->key, item->value);
}

/* An annotation counts the templates. Clients cannot change it. */
static void count_templates(struct pl_arena *arena, struct pl_tree *object,
                            const struct pl_tree *old)
{
    static const char name[] = "deprecated.daemonset.template.generation";
    struct pl_slice was =
        pl_tree_text(pl_tree_getz(pl_tree_dig(old, "metadata.annotations"), name));
    bool same =
        pl_tree_equal(pl_tree_dig(object, "spec.template"), pl_tree_dig(old, "spec.template"));
    char digits[24];
    snprintf(digits, sizeof digits, "%.*s", PL_FMT(was));
    unsigned long long count = strtoull(digits, NULL, 10);
    struct pl_tree *meta = pl_tree_child(arena, object, "metadata");
    pl_tree_setz(arena, pl_tree_child(arena, meta, "annotations"), name,
                 pl_tree_str(arena, pl_arena_f(arena, "%llu", count + !same)));
}

/* Roles always have the member `rules`. */
static void prepare_role(struct pl_arena *arena, struct pl_tree *object)
{
    struct pl_tree *rules = pl_tree_getz(object, "rules");
    if (rules == NULL || rules->count == 0)
        pl_tree_setz(arena, object, "rules", pl_tree_literal(arena, "null"));
}

/* When its phase has changed, unless the client says when. */
static void note_phase(struct pl_api_ctx *ctx, struct pl_tree *volume, const struct pl_tree *old)
{
    static const char time[] = "lastPhaseTransitionTime";
    struct pl_tree *status = pl_tree_getz(volume, "status");
    const struct pl_tree *was = pl_tree_getz(old, "status");
    struct pl_tree *is_at = pl_tree_getz(status, time), *was_at = pl_tree_getz(was, time);
    bool same = pl_slice_eq(pl_tree_text_at(status, "phase"), pl_tree_text_at(was, "phase"));
    if (!pl_slice_eqz(ctx->request.subresource, "status") || status == NULL)
        return;
    if (same && is_at == NULL && was_at != NULL)
        pl_tree_setz(&ctx->arena, status, time, pl_tree_copy(&ctx->arena, was_at));
    else if (!same && (is_at == NULL || pl_tree_equal(is_at, was_at)))
        pl_tree_setz(&ctx->arena, status, time, pl_api_now(ctx->api, &ctx->arena));
}

/* dataSource and dataSourceRef of a claim mirror each other; unsupported kinds are dropped. */
static void mirror_sources(struct pl_arena *arena, struct pl_tree *spec)
{
    struct pl_tree *source = pl_tree_getz(spec, "dataSource");
    struct pl_slice kind = pl_tree_text_at(source, "kind");
    struct pl_slice group = pl_tree_text_at(source, "apiGroup");
    bool claim = pl_slice_eqz(kind, "PersistentVolumeClaim") && group.len == 0;
    bool snapshot =
        pl_slice_eqz(kind, "VolumeSnapshot") && pl_slice_eqz(group, "snapshot.storage.k8s.io");
    if (source == NULL)
        return;
    if (!claim && !snapshot) {
        pl_tree_removez(spec, "dataSource");
        return;
    }
    pl_tree_default(arena, spec, "dataSourceRef", pl_tree_copy(arena, source));
}

/* The server says who requests a certificate; nobody changes the request afterwards. */
static void prepare_signing(struct pl_api_ctx *ctx, struct pl_tree *object,
                            const struct pl_tree *old)
{
    static const char *const names[] = {"username", "uid", "groups", "extra"};
    struct pl_arena *arena = &ctx->arena;
    if (old != NULL) {
        pl_tree_setz(arena, object, "spec", pl_tree_copy(arena, pl_tree_getz(old, "spec")));
        return;
    }
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    const struct pl_tree *info = pl_api_user_info(arena, &ctx->user);
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        struct pl_tree *value = pl_tree_getz(info, names[i]);
        pl_tree_removez(spec, names[i]);
        if (value != NULL && ctx->user.name.len > 0)
            pl_tree_setz(arena, spec, names[i], value);
    }
}

/* Times of conditions that the client leaves to the server. */
static void stamp_conditions(struct pl_api_ctx *ctx, const struct pl_tree *object,
                             const struct pl_tree *old)
{
    struct pl_tree *now = pl_api_now(ctx->api, &ctx->arena);
    PL_TREE_FOR(item, pl_tree_dig(object, "status.conditions"))
    {
        struct pl_tree *since = now;
        PL_TREE_FOR(was, pl_tree_dig(old, "status.conditions"))
        if (pl_tree_equal(pl_tree_getz(was->value, "type"), pl_tree_getz(item->value, "type")) &&
            pl_tree_equal(pl_tree_getz(was->value, "status"),
                          pl_tree_getz(item->value, "status")) &&
            pl_tree_getz(was->value, "lastTransitionTime") != NULL)
            since = pl_tree_getz(was->value, "lastTransitionTime");
        pl_tree_default(&ctx->arena, item->value, "lastUpdateTime", now);
        pl_tree_default(&ctx->arena, item->value, "lastTransitionTime", since);
    }
}

int pl_api_prepare_builtin(struct pl_api_ctx *ctx, struct pl_tree *object,
                           const struct pl_tree *old)
{
    struct pl_arena *arena = &ctx->arena;
    const char *kind = ctx->type->kind;
    if (ctx->type->is_custom)
        return 0;
    if (strcmp(kind, "PersistentVolumeClaim") == 0)
        mirror_sources(arena, pl_tree_getz(object, "spec"));
    if (strcmp(kind, "Service") == 0 && pl_api_prepare_service(ctx, object, old) != 0)
        return -1;
    else if (strcmp(kind, "Job") == 0)
        prepare_job(arena, object, old);
    else if (strcmp(kind, "DaemonSet") == 0 && old != NULL)
        count_templates(arena, object, old);
    else if (strcmp(kind, "Pod") == 0 && prepare_pod(ctx, object, old == NULL) != 0)
        return -1;
    else if (strcmp(kind, "PersistentVolumeClaim") == 0 && old == NULL &&
             prepare_claim(ctx, object) != 0)
        return -1;
    else if (strcmp(kind, "PersistentVolume") == 0 && old == NULL)
        prepare_volume(ctx, object);
    else if (strcmp(kind, "PersistentVolume") == 0)
        note_phase(ctx, object, old);
    else if (strcmp(kind, "Node") == 0 && old == NULL)
        prepare_node(arena, object);
    else if (strcmp(kind, "VolumeAttributesClass") == 0 && old == NULL)
        protect(ctx, object, "kubernetes.io/vac-protection");
    else if (strcmp(kind, "APIService") == 0 && old == NULL)
        prepare_api_service(ctx, object);
    else if (strcmp(kind, "Ingress") == 0 && old == NULL)
        pl_api_admit_ingress(ctx, object);
    else if (strcmp(kind, "CertificateSigningRequest") == 0) {
        prepare_signing(ctx, object, old);
        stamp_conditions(ctx, object, old);
    } else if (strcmp(kind, "Namespace") == 0)
        prepare_namespace(arena, object, old);
    else if (strcmp(kind, "Role") == 0 || strcmp(kind, "ClusterRole") == 0)
        prepare_role(arena, object);
    else if (strcmp(kind, "Event") == 0)
        prepare_event(arena, pl_api_ctx_version(ctx), object);
    else if (strcmp(kind, "CustomResourceDefinition") == 0 &&
             pl_tree_text_at(object, "metadata.deletionTimestamp").len == 0)
        pl_api_crd_begin(arena, object);
    if (old == NULL)
        first_status(arena, kind, object);
    return 0;
}
