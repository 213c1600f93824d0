/* Values that the server assigns to built-in objects and that no table can hold: selectors of Jobs,
 * tolerations of Pods, and so on (those of Services are in prepare_service.c). Runs after
 * defaulting and before validation, on creation and on change. Values that were assigned before are
 * kept. Checked against kube-apiserver 1.37. */
#include "admission/prepare.h"

#include "admission/classes.h"
#include "admission/limit_ranges.h"
#include "admission/pod_resources.h"
#include "admission/prepare_service.h"
#include "schema/condition.h"
#include "schema/crd.h"
#include "valid/subresource.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Jobs: a selector of their own, which a change must contain ---- */

static void set_job_labels(struct pl_arena *arena, struct pl_tree *meta, struct pl_slice uid,
                           struct pl_slice name)
{
    struct pl_tree *labels = pl_tree_child(arena, meta, "labels");
    pl_tree_setz(arena, labels, "batch.kubernetes.io/controller-uid", pl_tree_str(arena, uid));
    pl_tree_setz(arena, labels, "batch.kubernetes.io/job-name", pl_tree_str(arena, name));
    pl_tree_setz(arena, labels, "controller-uid", pl_tree_str(arena, uid));
    pl_tree_setz(arena, labels, "job-name", pl_tree_str(arena, name));
}

static int prepare_job(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    PL_UNUSED(old);
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    const struct pl_tree *manual = pl_tree_getz(spec, "manualSelector");
    struct pl_slice uid = pl_tree_text_at(object, "metadata.uid");
    struct pl_slice name = pl_tree_text_at(object, "metadata.name");
    if (manual != NULL && manual->boolean)
        return 0; /* the client sets them */
    struct pl_tree *template = pl_tree_child(arena, spec, "template");
    struct pl_tree *meta = pl_tree_child(arena, template, "metadata");
    set_job_labels(arena, meta, uid, name);
    set_job_labels(arena, pl_tree_child(arena, object, "metadata"), uid, name);
    struct pl_tree *match =
        pl_tree_child(arena, pl_tree_child(arena, spec, "selector"), "matchLabels");
    pl_tree_setz(arena, match, "batch.kubernetes.io/controller-uid", pl_tree_str(arena, uid));
    return 0;
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

static int prepare_pod(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    struct pl_arena *arena = &ctx->arena;
    if (old == NULL &&
        (pl_api_admit_pod(ctx, object) != 0 || pl_api_admit_limits(ctx, "pods", object) != 0))
        return -1;
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    struct pl_tree *whole = pl_tree_dig(old, "spec.resources");
    int64_t grace = 0;
    if (whole != NULL) /* clients that do not know it leave it out */
        pl_tree_default(arena, spec, "resources", pl_tree_copy(arena, whole));
    if (pl_slice_eqz(ctx->request.subresource, "resize"))
        pl_api_pod_resources_default(arena, spec);
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

static int protect_class(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    PL_UNUSED(old);
    protect(ctx, object, "kubernetes.io/vac-protection");
    return 0;
}

static int prepare_volume(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    PL_UNUSED(old);
    struct pl_tree *status = pl_tree_literal(&ctx->arena, "{\"phase\":\"Pending\"}");
    pl_tree_setz(&ctx->arena, status, "lastPhaseTransitionTime", pl_api_ctx_now(ctx));
    pl_tree_setz(&ctx->arena, object, "status", status);
    protect(ctx, object, "kubernetes.io/pv-protection");
    return 0;
}

/* A node is not ready until its kubelet says so. */
static int prepare_node(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    PL_UNUSED(old);
    struct pl_arena *arena = &ctx->arena;
    static const char key[] = "node.kubernetes.io/not-ready";
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    struct pl_tree *taints = pl_tree_default(arena, spec, "taints", pl_tree_array(arena));
    PL_TREE_FOR(item, taints)
    if (pl_slice_eqz(pl_tree_text_at(item->value, "key"), key) &&
        pl_slice_eqz(pl_tree_text_at(item->value, "effect"), "NoSchedule"))
        return 0;
    struct pl_tree *taint = pl_tree_object(arena);
    pl_tree_set_strz(arena, taint, "key", key);
    pl_tree_set_strz(arena, taint, "effect", "NoSchedule");
    pl_tree_push(arena, taints, taint);
    return 0;
}

static bool is_known_source(const struct pl_tree *source)
{
    struct pl_slice kind = pl_tree_text_at(source, "kind");
    struct pl_slice group = pl_tree_text_at(source, "apiGroup");
    return (pl_slice_eqz(kind, "PersistentVolumeClaim") && group.len == 0) ||
           (pl_slice_eqz(kind, "VolumeSnapshot") && pl_slice_eqz(group, "snapshot.storage.k8s.io"));
}

/* dataSource and dataSourceRef of a claim mirror each other; alone, an unknown dataSource is
 * dropped. */
static int mirror_sources(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *spec = pl_tree_getz(object, "spec");
    struct pl_tree *source = pl_tree_getz(spec, "dataSource");
    if (pl_tree_text_at(spec, "dataSourceRef.namespace").len >
        0) /* belongs to a feature that is off */
        pl_tree_removez(spec, "dataSourceRef");
    struct pl_tree *ref = pl_tree_getz(spec, "dataSourceRef");
    if (source != NULL && ref == NULL && pl_tree_dig(old, "spec.dataSource") == NULL &&
        !is_known_source(source)) {
        pl_tree_removez(spec, "dataSource");
        return 0;
    }
    if (source == NULL && ref != NULL)
        pl_tree_setz(arena, spec, "dataSource", pl_tree_copy(arena, ref));
    else if (source != NULL && ref == NULL)
        pl_tree_setz(arena, spec, "dataSourceRef", pl_tree_copy(arena, source));
    return 0;
}

/* The time of a taint is that of its effect, unless the client says another one. */
static int prepare_taint(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    struct pl_tree *taint = pl_tree_dig(object, "spec.taint");
    const struct pl_tree *was = pl_tree_dig(old, "spec.taint");
    if (was != NULL && !pl_tree_equal(pl_tree_getz(taint, "effect"), pl_tree_getz(was, "effect")) &&
        pl_tree_equal(pl_tree_getz(taint, "timeAdded"), pl_tree_getz(was, "timeAdded")))
        pl_tree_setz(&ctx->arena, taint, "timeAdded", pl_api_ctx_now(ctx));
    return 0;
}

static int prepare_claim(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    mirror_sources(ctx, object, old);
    pl_api_admit_claim(ctx, object);
    protect(ctx, object, "kubernetes.io/pvc-protection");
    return pl_api_admit_limits(ctx, "persistentvolumeclaims", object);
}

/* ---- a first status ---- */

struct first {
    char kind[28], status[112];
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

/* A Pod with gates says that it is not scheduled. */
static void wait_at_gates(struct pl_api_ctx *ctx, const struct pl_tree *pod, struct pl_tree *status)
{
    struct pl_arena *arena = &ctx->arena;
    const struct pl_tree *gates = pl_tree_dig(pod, "spec.schedulingGates");
    if (gates == NULL || gates->count == 0)
        return;
    struct pl_tree *condition = pl_tree_literal(
        arena, "{\"type\":\"PodScheduled\",\"status\":\"False\",\"lastProbeTime\":null,"
               "\"reason\":\"SchedulingGated\",\"message\":\"Scheduling is blocked due to "
               "non-empty scheduling gates\"}");
    pl_api_condition_replace(arena, status, pl_api_ctx_now(ctx), condition);
}

static void first_status(struct pl_api_ctx *ctx, const char *kind, struct pl_tree *object)
{
    struct pl_arena *arena = &ctx->arena;
    const struct pl_tree *there = pl_tree_getz(object, "status");
    if (there != NULL && there->count == 0)
        pl_tree_removez(object, "status");
    for (size_t i = 0; i < PL_ARRAY_LEN(firsts); i++)
        if (strcmp(firsts[i].kind, kind) == 0)
            pl_tree_default(arena, object, "status", pl_tree_literal(arena, firsts[i].status));
    if (strcmp(kind, "Pod") == 0 && pl_tree_getz(object, "status") == NULL) {
        pl_api_pod_resources_default(arena, pl_tree_getz(object, "spec"));
        struct pl_tree *status = pl_tree_child(arena, object, "status");
        pl_tree_set_strz(arena, status, "phase", "Pending");
        pl_tree_set_strz(arena, status, "qosClass", pl_valid_pod_class(object));
        wait_at_gates(ctx, object, status);
    }
}

/* A group that this server itself serves is available at once. */
static int prepare_api_service(struct pl_api_ctx *ctx, struct pl_tree *object,
                               const struct pl_tree *old)
{
    PL_UNUSED(old);
    struct pl_arena *arena = &ctx->arena;
    if (pl_tree_dig(object, "spec.service") != NULL)
        return 0;
    struct pl_tree *status = pl_tree_literal(
        arena, "{\"conditions\":[{\"type\":\"Available\",\"status\":\"True\",\"reason\":\"Local\","
               "\"message\":\"Local APIServices are always available\"}]}");
    struct pl_tree *first = pl_tree_at(pl_tree_getz(status, "conditions"), 0);
    pl_tree_setz(arena, first, "lastTransitionTime", pl_api_ctx_now(ctx));
    pl_tree_setz(arena, object, "status", status);
    return 0;
}

static int prepare_namespace(struct pl_api_ctx *ctx, struct pl_tree *object,
                             const struct pl_tree *old)
{
    PL_UNUSED(old);
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    struct pl_tree *finalizers = pl_tree_default(arena, spec, "finalizers", pl_tree_array(arena));
    if (!pl_tree_has_text(finalizers, pl_slice_z("kubernetes")))
        pl_tree_push(arena, finalizers, pl_tree_strz(arena, "kubernetes"));
    return 0;
}

/* A client cannot change it. */
static int keep_spec(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    pl_tree_setz(&ctx->arena, object, "spec", pl_tree_copy(&ctx->arena, pl_tree_getz(old, "spec")));
    return 0;
}

/* Members that an Event always has, even if they are empty. */
static int prepare_event(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    PL_UNUSED(old);
    static const char core[] =
        "{\"source\":{},\"firstTimestamp\":null,\"lastTimestamp\":null,\"eventTime\":null,"
        "\"reportingComponent\":\"\",\"reportingInstance\":\"\"}";
    static const char second[] = "{\"deprecatedSource\":{},\"deprecatedFirstTimestamp\":null,"
                                 "\"deprecatedLastTimestamp\":null,\"eventTime\":null}";
    bool is_core = pl_api_ctx_version(ctx)->renames == NULL;
    PL_TREE_FOR(item, pl_tree_literal(&ctx->arena, is_core ? core : second))
    if (pl_tree_get(object, item->key) == NULL)
        pl_tree_set(&ctx->arena, object, item->key, item->value);
    return 0;
}

/* An annotation counts the templates. Clients cannot change it. */
static int count_templates(struct pl_api_ctx *ctx, struct pl_tree *object,
                           const struct pl_tree *old)
{
    struct pl_arena *arena = &ctx->arena;
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
    return 0;
}

/* Roles always have the member `rules`. */
static int prepare_role(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    PL_UNUSED(old);
    struct pl_tree *rules = pl_tree_getz(object, "rules");
    if (rules == NULL || rules->count == 0)
        pl_tree_setz(&ctx->arena, object, "rules", pl_tree_literal(&ctx->arena, "null"));
    return 0;
}

/* When its phase has changed, unless the client says when. */
static int note_phase(struct pl_api_ctx *ctx, struct pl_tree *volume, const struct pl_tree *old)
{
    static const char time[] = "lastPhaseTransitionTime";
    struct pl_tree *status = pl_tree_getz(volume, "status");
    const struct pl_tree *was = pl_tree_getz(old, "status");
    struct pl_tree *is_at = pl_tree_getz(status, time), *was_at = pl_tree_getz(was, time);
    bool same = pl_slice_eq(pl_tree_text_at(status, "phase"), pl_tree_text_at(was, "phase"));
    if (!pl_slice_eqz(ctx->request.subresource, "status") || status == NULL)
        return 0;
    if (same && is_at == NULL && was_at != NULL)
        pl_tree_setz(&ctx->arena, status, time, pl_tree_copy(&ctx->arena, was_at));
    else if (!same && (is_at == NULL || pl_tree_equal(is_at, was_at)))
        pl_tree_setz(&ctx->arena, status, time, pl_api_ctx_now(ctx));
    return 0;
}

/* Times of conditions that the client leaves to the server. */
static void stamp_conditions(struct pl_api_ctx *ctx, const struct pl_tree *object,
                             const struct pl_tree *old)
{
    struct pl_tree *now = pl_api_ctx_now(ctx);
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

/* The server says who requests a certificate; nobody changes the request afterwards. */
static int prepare_signing(struct pl_api_ctx *ctx, struct pl_tree *object,
                           const struct pl_tree *old)
{
    static const char names[][12] = {"username", "uid", "groups", "extra"};
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    const struct pl_tree *info = pl_api_user_info(arena, &ctx->user);
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        struct pl_tree *value = pl_tree_getz(info, names[i]);
        pl_tree_removez(spec, names[i]);
        if (value != NULL && ctx->user.name.len > 0)
            pl_tree_setz(arena, spec, names[i], value);
    }
    stamp_conditions(ctx, object, old);
    return 0;
}

static int keep_signing(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    keep_spec(ctx, object, old);
    stamp_conditions(ctx, object, old);
    return 0;
}

/* Members of a feature that is off. */
static int drop_coordination(struct pl_api_ctx *ctx, struct pl_tree *object,
                             const struct pl_tree *old)
{
    PL_UNUSED(ctx);
    static const char members[][16] = {"strategy", "preferredHolder"};
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        if (pl_tree_getz(pl_tree_getz(old, "spec"), members[i]) == NULL)
            pl_tree_removez(pl_tree_getz(object, "spec"), members[i]);
    return 0;
}

static int prepare_crd(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    PL_UNUSED(old);
    if (pl_tree_text_at(object, "metadata.deletionTimestamp").len > 0)
        return 0;
    if (ctx->request.subresource.len == 0)
        pl_api_crd_begin(&ctx->arena, object);
    pl_api_crd_keep_version(&ctx->arena, object);
    return 0;
}

static int prepare_ingress(struct pl_api_ctx *ctx, struct pl_tree *object,
                           const struct pl_tree *old)
{
    PL_UNUSED(old);
    pl_api_admit_ingress(ctx, object);
    return 0;
}

/* A claim that gives its devices back has no states of devices. */
static int prepare_device_claim(struct pl_api_ctx *ctx, struct pl_tree *object,
                                const struct pl_tree *old)
{
    PL_UNUSED(ctx);
    if (pl_tree_dig(old, "status.allocation") != NULL &&
        pl_tree_dig(object, "status.allocation") == NULL)
        pl_tree_removez(pl_tree_getz(object, "status"), "devices");
    return 0;
}

/* ---- by kind ---- */

typedef int (*prepare_fn)(struct pl_api_ctx *ctx, struct pl_tree *object,
                          const struct pl_tree *old);

static const struct {
    const char *kind;
    prepare_fn created, changed; /* NULL: nothing to do. old is NULL for `created` */
} preparations[] = {
    {"APIService", prepare_api_service, NULL},
    {"CertificateSigningRequest", prepare_signing, keep_signing},
    {"ClusterRole", prepare_role, prepare_role},
    {"CustomResourceDefinition", prepare_crd, prepare_crd},
    {"DaemonSet", NULL, count_templates},
    {"DeviceTaintRule", NULL, prepare_taint},
    {"Event", prepare_event, prepare_event},
    {"Ingress", prepare_ingress, NULL},
    {"Job", prepare_job, NULL},
    {"Lease", drop_coordination, drop_coordination},
    {"Namespace", prepare_namespace, keep_spec},
    {"Node", prepare_node, NULL},
    {"PersistentVolume", prepare_volume, note_phase},
    {"PersistentVolumeClaim", prepare_claim, mirror_sources},
    {"Pod", prepare_pod, prepare_pod},
    {"ResourceClaim", NULL, prepare_device_claim},
    {"Role", prepare_role, prepare_role},
    {"Service", pl_api_prepare_service, pl_api_prepare_service},
    {"VolumeAttributesClass", protect_class, NULL},
};

int pl_api_prepare_builtin(struct pl_api_ctx *ctx, struct pl_tree *object,
                           const struct pl_tree *old)
{
    const char *kind = ctx->type->kind;
    if (ctx->type->is_custom)
        return 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(preparations); i++) {
        prepare_fn prepare = old == NULL ? preparations[i].created : preparations[i].changed;
        if (strcmp(preparations[i].kind, kind) != 0)
            continue;
        if (prepare != NULL && prepare(ctx, object, old) != 0)
            return -1;
    }
    if (old == NULL)
        first_status(ctx, kind, object);
    return 0;
}
