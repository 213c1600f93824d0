/* The built-in kinds: lists with the keys that identify their elements, and objects that are one
 * value. */
#include "base/base.h"
#include "object/schema_table.h"

#define META                                                                                       \
    {                                                                                              \
        "metadata", &pl_schema_meta                                                                \
    }
#define KIND(...)                                                                                  \
    {                                                                                              \
        FIELDS(META, __VA_ARGS__)                                                                  \
    }
#define SPEC(...)                                                                                  \
    {                                                                                              \
        "spec", OBJECT(__VA_ARGS__)                                                                \
    }
#define STATUS(...)                                                                                \
    {                                                                                              \
        "status", OBJECT(__VA_ARGS__)                                                              \
    }
#define CONDITIONS                                                                                 \
    {                                                                                              \
        "conditions", LIST_BY("type", NULL)                                                        \
    }
#define APPLY_CONDITION                                                                            \
    {                                                                                              \
        "conditions", LIST_APPLY_BY(NULL, "type")                                                  \
    }
#define SELECTOR                                                                                   \
    {                                                                                              \
        "selector", ATOMIC                                                                         \
    }
#define TEMPLATE                                                                                   \
    {                                                                                              \
        "template", &pl_schema_pod_template                                                        \
    }

static const struct pl_schema plain = {FIELDS(META)};
static const struct pl_schema status_conditions = KIND(STATUS(CONDITIONS));

static const struct pl_schema revision = KIND({"data", ATOMIC});

/* ---- core ---- */

static const struct pl_schema binding = KIND({"target", ATOMIC});
static const struct pl_schema component_status = KIND(CONDITIONS);
static const struct pl_schema core_event = KIND({"involvedObject", ATOMIC}, {"related", ATOMIC});
static const struct pl_schema claim =
    KIND({"spec", &pl_schema_claim_spec},
         STATUS(CONDITIONS, {"healthStatus",
                             OBJECT({"healthConditions", LIST_BY_TWO("status", "reason", NULL)})}));
static const struct pl_schema node =
    KIND(SPEC({"podCIDRs", SET_MERGED},
              {"podPreemptionPolicy", OBJECT({"disableResizePreemption", SET})}),
         STATUS({"addresses", LIST_BY("type", NULL)}, CONDITIONS));
static const struct pl_schema pod_template = KIND(TEMPLATE);
static const struct pl_schema quota = KIND(SPEC({"scopeSelector", ATOMIC}));
static const struct pl_schema replication_controller =
    KIND(SPEC(SELECTOR, TEMPLATE), STATUS(CONDITIONS));
static const struct pl_schema service_port = {
    FIELDS({"protocol", PL_SCHEMA(.default_json = "\"TCP\"")})};
static const struct pl_schema service = KIND(
    SPEC({"ports", LIST_BY_TWO("port", "protocol", &service_port)}, SELECTOR), STATUS(CONDITIONS));
static const struct pl_schema service_account = KIND({"secrets", LIST_BY("name", ATOMIC)});

static const struct pl_schema secret_volume = {FIELDS({"secretRef", ATOMIC})};
static const struct pl_schema csi_volume = {
    FIELDS({"controllerExpandSecretRef", ATOMIC}, {"controllerPublishSecretRef", ATOMIC},
           {"nodeExpandSecretRef", ATOMIC}, {"nodePublishSecretRef", ATOMIC},
           {"nodeStageSecretRef", ATOMIC})};
static const struct pl_schema volume_spec = {
    FIELDS({"cephfs", &secret_volume}, {"cinder", &secret_volume}, {"csi", &csi_volume},
           {"flexVolume", &secret_volume}, {"iscsi", &secret_volume},
           {"nodeAffinity", OBJECT({"required", ATOMIC})}, {"rbd", &secret_volume},
           {"scaleIO", &secret_volume}, {"storageos", &secret_volume})};
static const struct pl_schema volume = KIND({"spec", &volume_spec});

/* ---- workloads ---- */

static const struct pl_schema workload = KIND(SPEC(SELECTOR, TEMPLATE), STATUS(CONDITIONS));
static const struct pl_schema job_spec = {
    FIELDS({"scheduling", OBJECT({"resourceClaims", LIST_BY("name", NULL)})}, SELECTOR, TEMPLATE)};
static const struct pl_schema job =
    KIND({"spec", &job_spec},
         STATUS({"conditions", LIST_PATCH_BY("type")},
                {"uncountedTerminatedPods", OBJECT({"failed", SET}, {"succeeded", SET})}));
static const struct pl_schema cron_job =
    KIND(SPEC({"jobTemplate", OBJECT(META, {"spec", &job_spec})}));
static const struct pl_schema hpa_v1 = KIND(SPEC({"scaleTargetRef", ATOMIC}));
static const struct pl_schema disruption_budget =
    KIND(SPEC({"selector", PL_SCHEMA(.atomic = true, .replaced = true)}), STATUS(CONDITIONS));

/* ---- network and access ---- */

static const struct pl_schema events_event = KIND({"regarding", ATOMIC}, {"related", ATOMIC});
static const struct pl_schema ingress = KIND(
    SPEC({"defaultBackend", OBJECT({"resource", ATOMIC}, {"service", OBJECT({"port", ATOMIC})})}));
static const struct pl_schema network_policy = KIND(SPEC({"podSelector", ATOMIC}));
static const struct pl_schema role_binding = KIND({"roleRef", ATOMIC});
static const struct pl_schema runtime_class =
    KIND({"scheduling", OBJECT({"nodeSelector", ATOMIC})});
static const struct pl_schema apply_conditions = KIND(STATUS(APPLY_CONDITION));

/* ---- admission ---- */

static const struct pl_schema webhook = {FIELDS({"matchConditions", LIST_BY("name", NULL)},
                                                {"namespaceSelector", ATOMIC},
                                                {"objectSelector", ATOMIC})};
static const struct pl_schema webhooks = KIND({"webhooks", LIST_BY("name", &webhook)});
static const struct pl_schema mutating_policy =
    KIND(SPEC({"matchConditions", LIST_BY("name", NULL)}, {"matchConstraints", ATOMIC},
              {"paramKind", ATOMIC}));
static const struct pl_schema validating_policy =
    KIND(SPEC({"matchConditions", LIST_BY("name", NULL)}, {"matchConstraints", ATOMIC},
              {"paramKind", ATOMIC}, {"variables", LIST_BY("name", ATOMIC)}),
         STATUS(APPLY_CONDITION));
static const struct pl_schema mutating_binding =
    KIND(SPEC({"matchResources", ATOMIC}, {"paramRef", ATOMIC}));
static const struct pl_schema validating_binding =
    KIND(SPEC({"matchResources", ATOMIC}, {"paramRef", ATOMIC}, {"validationActions", SET}));

/* ---- devices and storage ---- */

static const struct pl_schema claim_device = {FIELDS(APPLY_CONDITION)};
static const struct pl_schema resource_claim =
    KIND(STATUS({"allocation", OBJECT({"nodeSelector", ATOMIC})},
                {"devices", LIST_APPLY_BY(&claim_device, "driver", "device", "pool", "shareID")},
                {"reservedFor", LIST_BY("uid", NULL)}));
static const struct pl_schema resource_claim_template = KIND(SPEC(META));
static const struct pl_schema resource_slice =
    KIND(SPEC({"nodeSelector", ATOMIC}, {"skipNodeOperations", SET}));
static const struct pl_schema csi_driver = KIND(SPEC({"volumeLifecycleModes", SET}));
static const struct pl_schema csi_node = KIND(SPEC({"drivers", LIST_BY("name", NULL)}),
                                              STATUS({"storageHealth", LIST_BY("name", NULL)}));
static const struct pl_schema csi_capacity = KIND({"nodeTopology", ATOMIC});
static const struct pl_schema volume_attachment =
    KIND(SPEC({"source", OBJECT({"inlineVolumeSpec", &volume_spec})}));

static const struct {
    const char *group, *version, *kind;
    const struct pl_schema *schema;
} kinds[] = {
    {"", "v1", "Binding", &binding},
    {"", "v1", "ComponentStatus", &component_status},
    {"", "v1", "ConfigMap", &plain},
    {"", "v1", "Endpoints", &plain},
    {"", "v1", "Event", &core_event},
    {"", "v1", "LimitRange", &plain},
    {"", "v1", "Namespace", &status_conditions},
    {"", "v1", "Node", &node},
    {"", "v1", "PersistentVolume", &volume},
    {"", "v1", "PersistentVolumeClaim", &claim},
    {"", "v1", "Pod", &pl_schema_pod},
    {"", "v1", "PodTemplate", &pod_template},
    {"", "v1", "ReplicationController", &replication_controller},
    {"", "v1", "ResourceQuota", &quota},
    {"", "v1", "Secret", &plain},
    {"", "v1", "Service", &service},
    {"", "v1", "ServiceAccount", &service_account},
    {"admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy", &mutating_policy},
    {"admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding", &mutating_binding},
    {"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", &webhooks},
    {"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", &validating_policy},
    {"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", &validating_binding},
    {"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", &webhooks},
    {"apiextensions.k8s.io", "v1", "CustomResourceDefinition", &apply_conditions},
    {"apiregistration.k8s.io", "v1", "APIService", &status_conditions},
    {"apps", "v1", "ControllerRevision", &revision},
    {"apps", "v1", "DaemonSet", &workload},
    {"apps", "v1", "Deployment", &workload},
    {"apps", "v1", "ReplicaSet", &workload},
    {"apps", "v1", "StatefulSet", &workload},
    {"autoscaling", "v1", "HorizontalPodAutoscaler", &hpa_v1},
    {"autoscaling", "v1", "Scale", &plain},
    {"autoscaling", "v2", "HorizontalPodAutoscaler", &status_conditions},
    {"batch", "v1", "CronJob", &cron_job},
    {"batch", "v1", "Job", &job},
    {"certificates.k8s.io", "v1", "CertificateSigningRequest", &apply_conditions},
    {"certificates.k8s.io", "v1", "ClusterTrustBundle", &plain},
    {"certificates.k8s.io", "v1", "PodCertificateRequest", &status_conditions},
    {"coordination.k8s.io", "v1", "Lease", &plain},
    {"discovery.k8s.io", "v1", "EndpointSlice", &plain},
    {"events.k8s.io", "v1", "Event", &events_event},
    {"flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", &status_conditions},
    {"flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration", &status_conditions},
    {"networking.k8s.io", "v1", "IPAddress", &plain},
    {"networking.k8s.io", "v1", "Ingress", &ingress},
    {"networking.k8s.io", "v1", "IngressClass", &plain},
    {"networking.k8s.io", "v1", "NetworkPolicy", &network_policy},
    {"networking.k8s.io", "v1", "ServiceCIDR", &status_conditions},
    {"node.k8s.io", "v1", "RuntimeClass", &runtime_class},
    {"policy", "v1", "Eviction", &plain},
    {"policy", "v1", "PodDisruptionBudget", &disruption_budget},
    {"rbac.authorization.k8s.io", "v1", "ClusterRole", &plain},
    {"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", &role_binding},
    {"rbac.authorization.k8s.io", "v1", "Role", &plain},
    {"rbac.authorization.k8s.io", "v1", "RoleBinding", &role_binding},
    {"resource.k8s.io", "v1", "DeviceClass", &plain},
    {"resource.k8s.io", "v1", "DeviceTaintRule", &status_conditions},
    {"resource.k8s.io", "v1", "ResourceClaim", &resource_claim},
    {"resource.k8s.io", "v1", "ResourceClaimTemplate", &resource_claim_template},
    {"resource.k8s.io", "v1", "ResourceSlice", &resource_slice},
    {"scheduling.k8s.io", "v1", "PriorityClass", &plain},
    {"storage.k8s.io", "v1", "CSIDriver", &csi_driver},
    {"storage.k8s.io", "v1", "CSINode", &csi_node},
    {"storage.k8s.io", "v1", "CSIStorageCapacity", &csi_capacity},
    {"storage.k8s.io", "v1", "StorageClass", &plain},
    {"storage.k8s.io", "v1", "VolumeAttachment", &volume_attachment},
    {"storage.k8s.io", "v1", "VolumeAttributesClass", &plain},
    {"storagemigration.k8s.io", "v1", "StorageVersionMigration", &status_conditions},
};

const struct pl_schema *pl_schema_builtin(const struct pl_kind *kind)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].kind, kind->kind) == 0 && strcmp(kinds[i].group, kind->group) == 0 &&
            strcmp(kinds[i].version, kind->version) == 0)
            return kinds[i].schema;
    return NULL;
}
