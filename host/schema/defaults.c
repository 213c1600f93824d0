/* Defaults of built-in kinds: tables of path, member and value, and one function that applies them.
 * A default fills a member that is absent or null and never replaces a value. Defaults that depend
 * on other members are code, in defaults_kind.c and defaults_pod.c. */
#include "schema/defaults.h"

#include "schema/defaults_kind.h"
#include "schema/defaults_pod.h"

/* Checked against kube-apiserver 1.37. */

/* In each object at `path` ("[]" for every element, "*" for every member) the absent member gets
 * the JSON value. */
struct rule {
    char path[64], member[40];
    /* "+1": 1, and 0 counts as absent. An empty text or list counts as absent, too, but not after
     * "*": such a member is a pointer in Go. "": the row is no rule, but ends the rules before. */
    char json[32];
};

#define PROBE(p)                                                                                   \
    {p, "timeoutSeconds", "1"}, {p, "periodSeconds", "10"}, {p, "successThreshold", "1"},          \
        {p, "failureThreshold", "3"}, {p ".httpGet", "path", "\"/\""},                             \
        {p ".grpc", "service", "\"\""},                                                            \
    {                                                                                              \
        p ".httpGet", "scheme", "\"HTTP\""                                                         \
    }
#define CONTAINER(p)                                                                               \
    {p, "resources", "{}"}, {p, "terminationMessagePath", "\"/dev/termination-log\""},             \
        {p, "terminationMessagePolicy", "\"File\""}, {p ".ports[]", "protocol", "\"TCP\""},        \
        {p ".env[].valueFrom.fieldRef", "apiVersion", "\"v1\""}, PROBE(p ".livenessProbe"),        \
        PROBE(p ".readinessProbe"), PROBE(p ".startupProbe"),                                      \
        {p ".lifecycle.preStop.httpGet", "path", "\"/\""},                                         \
        {p ".lifecycle.preStop.httpGet", "scheme", "\"HTTP\""},                                    \
        {p ".lifecycle.postStart.httpGet", "path", "\"/\""},                                       \
    {                                                                                              \
        p ".lifecycle.postStart.httpGet", "scheme", "\"HTTP\""                                     \
    }

/* The sources of storage that volumes of pods and PersistentVolumes have in common. */
#define VOLUME(at)                                                                                 \
    {at ".rbd", "pool", "\"rbd\""}, {at ".rbd", "user", "\"admin\""},                              \
        {at ".rbd", "keyring", "\"/etc/ceph/keyring\""},                                           \
        {at ".iscsi", "iscsiInterface", "\"default\""},                                            \
        {at ".azureDisk", "cachingMode", "*\"ReadWrite\""},                                        \
        {at ".azureDisk", "kind", "*\"Shared\""}, {at ".azureDisk", "fsType", "*\"ext4\""},        \
        {at ".azureDisk", "readOnly", "false"},                                                    \
        {at ".scaleIO", "storageMode", "\"ThinProvisioned\""},                                     \
    {                                                                                              \
        at ".scaleIO", "fsType", "\"xfs\""                                                         \
    }

/* Defaults of a pod's spec. */
static const struct rule pod_rules[] = {
    {"", "restartPolicy", "\"Always\""},
    {"", "terminationGracePeriodSeconds", "30"},
    {"", "dnsPolicy", "\"ClusterFirst\""},
    {"", "securityContext", "{}"},
    {"", "schedulerName", "\"default-scheduler\""},
    CONTAINER("containers[]"),
    CONTAINER("initContainers[]"),
    CONTAINER("ephemeralContainers[]"),
    {"volumes[].secret", "defaultMode", "420"},
    {"volumes[].configMap", "defaultMode", "420"},
    {"volumes[].downwardAPI", "defaultMode", "420"},
    {"volumes[].downwardAPI.items[].fieldRef", "apiVersion", "\"v1\""},
    {"volumes[].projected", "defaultMode", "420"},
    {"volumes[].projected.sources[].serviceAccountToken", "expirationSeconds", "3600"},
    {"volumes[].projected.sources[].downwardAPI.items[].fieldRef", "apiVersion", "\"v1\""},
    {"volumes[].hostPath", "type", "\"\""},
    VOLUME("volumes[]"),
    {"volumes[].ephemeral.volumeClaimTemplate.spec", "volumeMode", "*\"Filesystem\""},
    {"", "", ""},
};

#define WEBHOOK                                                                                    \
    {"webhooks[]", "failurePolicy", "*\"Fail\""},                                                  \
        {"webhooks[]", "matchPolicy", "*\"Equivalent\""},                                          \
        {"webhooks[]", "namespaceSelector", "{}"}, {"webhooks[]", "objectSelector", "{}"},         \
        {"webhooks[]", "timeoutSeconds", "10"}, {"webhooks[].rules[]", "scope", "*\"*\""},         \
    {                                                                                              \
        "webhooks[].clientConfig.service", "port", "443"                                           \
    }

/* Which requests a policy or its binding matches. */
#define MATCH(at)                                                                                  \
    {at, "matchPolicy", "*\"Equivalent\""}, {at, "namespaceSelector", "{}"},                       \
        {at, "objectSelector", "{}"}, {at ".resourceRules[]", "scope", "*\"*\""},                  \
    {                                                                                              \
        at ".excludeResourceRules[]", "scope", "*\"*\""                                            \
    }

/* The requests of a claim. */
#define DEVICES(at)                                                                                \
    {at ".devices.requests[].exactly", "allocationMode", "\"ExactCount\""},                        \
    {                                                                                              \
        at ".devices.requests[].firstAvailable[]", "allocationMode", "\"ExactCount\""              \
    }

/* The rules of that kind follow. pod_spec: the path of a pod's spec; "": none. */
#define KIND(kind, pod_spec)                                                                       \
    {                                                                                              \
        kind, pod_spec, ""                                                                         \
    }

static const struct rule kind_rules[] = {
    KIND("Pod", "spec"),
    {"spec", "enableServiceLinks", "true"},
    KIND("Deployment", "spec.template.spec"),
    {"spec", "replicas", "1"},
    {"spec", "strategy", "{}"},
    {"spec.strategy", "type", "\"RollingUpdate\""},
    {"spec", "revisionHistoryLimit", "10"},
    {"spec", "progressDeadlineSeconds", "600"},
    KIND("ReplicaSet", "spec.template.spec"),
    {"spec", "replicas", "1"},
    KIND("ReplicationController", "spec.template.spec"),
    {"spec", "replicas", "1"},
    KIND("StatefulSet", "spec.template.spec"),
    {"spec", "replicas", "1"},
    {"spec", "podManagementPolicy", "\"OrderedReady\""},
    {"spec", "updateStrategy", "{}"},
    {"spec", "revisionHistoryLimit", "10"},
    {"spec", "persistentVolumeClaimRetentionPolicy", "{}"},
    {"spec.persistentVolumeClaimRetentionPolicy", "whenDeleted", "\"Retain\""},
    {"spec.persistentVolumeClaimRetentionPolicy", "whenScaled", "\"Retain\""},
    {"spec.volumeClaimTemplates[]", "kind", "\"PersistentVolumeClaim\""},
    {"spec.volumeClaimTemplates[]", "apiVersion", "\"v1\""},
    {"spec.volumeClaimTemplates[].spec", "volumeMode", "*\"Filesystem\""},
    {"spec.volumeClaimTemplates[]", "status", "{}"},
    {"spec.volumeClaimTemplates[].status", "phase", "\"Pending\""},
    KIND("DaemonSet", "spec.template.spec"),
    {"spec", "updateStrategy", "{}"},
    {"spec.updateStrategy", "type", "\"RollingUpdate\""},
    {"spec", "revisionHistoryLimit", "10"},
    KIND("Job", "spec.template.spec"),
    {"spec", "completionMode", "*\"NonIndexed\""},
    {"spec", "suspend", "false"},
    {"spec", "manualSelector", "false"},
    {"spec.podFailurePolicy.rules[].onPodConditions[]", "status", "\"True\""},
    KIND("CronJob", "spec.jobTemplate.spec.template.spec"),
    {"spec", "concurrencyPolicy", "\"Allow\""},
    {"spec", "suspend", "false"},
    {"spec", "successfulJobsHistoryLimit", "3"},
    {"spec", "failedJobsHistoryLimit", "1"},
    {"spec.jobTemplate", "metadata", "{}"},
    KIND("PodTemplate", "template.spec"),
    KIND("IngressClass", ""),
    {"spec.parameters", "scope", "*\"Cluster\""},
    KIND("PersistentVolume", ""),
    {"spec", "volumeMode", "*\"Filesystem\""},
    {"spec", "persistentVolumeReclaimPolicy", "\"Retain\""},
    {"spec.hostPath", "type", "\"\""},
    VOLUME("spec"),
    KIND("CSIDriver", ""),
    {"spec", "attachRequired", "true"},
    {"spec", "podInfoOnMount", "false"},
    {"spec", "storageCapacity", "false"},
    {"spec", "requiresRepublish", "false"},
    {"spec", "seLinuxMount", "false"},
    {"spec", "preventPodSchedulingIfMissing", "false"},
    {"spec", "fsGroupPolicy", "*\"ReadWriteOnceWithFSType\""},
    {"spec", "volumeLifecycleModes", "[\"Persistent\"]"},
    KIND("Service", ""),
    {"spec", "type", "\"ClusterIP\""},
    {"spec", "sessionAffinity", "\"None\""},
    {"spec.ports[]", "protocol", "\"TCP\""},
    KIND("Secret", ""),
    {"", "type", "\"Opaque\""},
    KIND("PersistentVolumeClaim", ""),
    {"spec", "volumeMode", "*\"Filesystem\""},
    KIND("Endpoints", ""),
    {"subsets[].ports[]", "protocol", "\"TCP\""},
    KIND("EndpointSlice", ""),
    {"ports[]", "protocol", "*\"TCP\""},
    {"ports[]", "name", "\"\""},
    KIND("NetworkPolicy", ""),
    {"spec.ingress[].ports[]", "protocol", "*\"TCP\""},
    {"spec.egress[].ports[]", "protocol", "*\"TCP\""},
    KIND("HorizontalPodAutoscaler", ""),
    {"spec", "minReplicas", "1"},
    KIND("RoleBinding", ""),
    {"roleRef", "apiGroup", "\"rbac.authorization.k8s.io\""},
    KIND("ClusterRoleBinding", ""),
    {"roleRef", "apiGroup", "\"rbac.authorization.k8s.io\""},
    KIND("StorageClass", ""),
    {"", "reclaimPolicy", "*\"Delete\""},
    {"", "volumeBindingMode", "*\"Immediate\""},
    KIND("ValidatingWebhookConfiguration", ""),
    WEBHOOK,
    KIND("MutatingWebhookConfiguration", ""),
    WEBHOOK,
    {"webhooks[]", "reinvocationPolicy", "*\"Never\""},
    KIND("ValidatingAdmissionPolicy", ""),
    {"spec", "failurePolicy", "*\"Fail\""},
    MATCH("spec.matchConstraints"),
    KIND("ValidatingAdmissionPolicyBinding", ""),
    MATCH("spec.matchResources"),
    KIND("MutatingAdmissionPolicy", ""),
    {"spec", "failurePolicy", "*\"Fail\""},
    MATCH("spec.matchConstraints"),
    KIND("MutatingAdmissionPolicyBinding", ""),
    MATCH("spec.matchResources"),
    KIND("PodCertificateRequest", ""),
    {"spec", "maxExpirationSeconds", "86400"},
    KIND("FlowSchema", ""),
    {"spec", "matchingPrecedence", "+1000"},
    KIND("PriorityLevelConfiguration", ""),
    {"spec.exempt", "nominalConcurrencyShares", "0"},
    {"spec.exempt", "lendablePercent", "0"},
    {"spec.limited", "nominalConcurrencyShares", "30"},
    {"spec.limited", "lendablePercent", "0"},
    {"spec.limited.limitResponse.queuing", "queues", "+64"},
    {"spec.limited.limitResponse.queuing", "handSize", "+8"},
    {"spec.limited.limitResponse.queuing", "queueLengthLimit", "+50"},
    KIND("APIService", ""),
    {"spec.service", "port", "443"},
    KIND("ResourceClaim", ""),
    DEVICES("spec"),
    KIND("ResourceClaimTemplate", ""),
    DEVICES("spec.spec"),
    KIND("PriorityClass", ""),
    {"", "preemptionPolicy", "*\"PreemptLowerPriority\""},
    {"", "", ""},
};

/* The row before the rules of the kind; NULL: it has none. */
static const struct rule *head_of(const char *kind)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(kind_rules); i++)
        if (*kind_rules[i].json == '\0' && strcmp(kind_rules[i].path, kind) == 0)
            return &kind_rules[i];
    return NULL;
}

/* ---- applying the tables ---- */

static void defaults_fill(struct pl_arena *arena, struct pl_tree *at, const char *path,
                          const struct rule *rule)
{
    size_t len = strcspn(path, ".");
    if (*path == '\0') {
        pl_api_default_member(arena, at, rule->member, rule->json);
        return;
    }
    bool each = len > 2 && path[len - 1] == ']';
    const char *rest = path[len] == '.' ? path + len + 1 : path + len;
    struct pl_tree *next = pl_tree_get(at, pl_slice(path, each ? len - 2 : len));
    if (!each) {
        if (next != NULL)
            defaults_fill(arena, next, rest, rule);
        return;
    }
    if (pl_tree_is(next, PL_ARRAY))
        PL_TREE_FOR(item, next)
    defaults_fill(arena, item->value, rest, rule);
}

static void fill_all(struct pl_arena *arena, struct pl_tree *root, const struct rule *rules)
{
    for (; *rules->json != '\0'; rules++)
        defaults_fill(arena, root, rules->path, rules);
}

static void default_pod_spec(struct pl_arena *arena, struct pl_tree *spec, bool is_pod)
{
    if (!pl_tree_is(spec, PL_OBJECT))
        return;
    pl_api_default_volumes(arena, pl_tree_getz(spec, "volumes"));
    fill_all(arena, spec, pod_rules);
    pl_api_default_containers(arena, spec, is_pod);
    struct pl_tree *account = pl_tree_getz(spec, "serviceAccountName");
    if (pl_tree_text(account).len > 0)
        pl_tree_default(arena, spec, "serviceAccount", account);
}

void pl_api_default_builtin(struct pl_arena *arena, const struct pl_api_type *type,
                            struct pl_tree *object)
{
    const char *kind = type->kind;
    const struct rule *head = type->is_custom ? NULL : head_of(kind);
    if (type->is_custom)
        return;
    if (pl_slice_eqz(pl_tree_text_at(object, "apiVersion"), "autoscaling/v1")) {
        pl_tree_default(arena, pl_tree_child(arena, object, "spec"), "minReplicas",
                        pl_tree_int(arena, 1)); /* the others come with v2, which is stored */
        return;
    }
    if (head != NULL)
        fill_all(arena, object, head + 1);
    pl_api_default_kind(arena, kind, object);
    if (head != NULL && *head->member != '\0')
        default_pod_spec(arena, pl_tree_dig(object, head->member), strcmp(kind, "Pod") == 0);
}
