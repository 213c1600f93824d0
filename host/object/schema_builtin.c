/* The built-in kinds: lists with the keys that identify their elements, and objects that are one
 * value. */
#include "base/base.h"
#include "object/schema_table.h"

/* Each has an array of rows. */
/* clang-format off */
#define TYPES(X) \
    X(plain) X(meta) X(one_value) X(status_conditions) X(apply_conditions) X(resources) \
    X(env_var) X(protocol_port) X(mount) X(container) \
    X(claim_spec) X(with_secret) X(claim_template) X(pod_volume) \
    X(named_reference) X(spread) X(resource_status) X(volume_health) X(pod_spec) X(pod_template) \
    X(pod) X(revision) X(binding) X(component_status) X(core_event) X(claim) X(node) \
    X(pod_template_kind) X(quota) X(replication_controller) X(service) X(service_account) \
    X(csi_volume) X(volume_spec) X(volume) X(workload) X(job_spec) X(job) X(cron_job) X(hpa_v1) \
    X(disruption_budget) X(events_event) X(ingress) X(network_policy) X(role_binding) \
    X(runtime_class) X(webhook) X(webhooks) X(mutating_policy) X(validating_policy) \
    X(mutating_binding) X(validating_binding) X(claim_device) X(resource_claim) \
    X(resource_claim_template) X(resource_slice) X(csi_driver) X(csi_node) X(csi_capacity) \
    X(volume_attachment)
#define NUMBER(type) TYPE_##type,
#define ROWS(type)   [TYPE_##type] = type,
enum pl_schema_type { TYPE_NONE, TYPES(NUMBER) };

/* A member at that level, and what is special about it. */
#define M(level_, name_, ...)  {.level = (level_), .name = name_, __VA_ARGS__}
#define TYPE(var, ...)         static const struct pl_schema_row var[] = {{.level = 0}, __VA_ARGS__, {.level = 0}}
#define KIND(var, ...)         TYPE(var, META, __VA_ARGS__)
#define OF(type_)              .type = TYPE_##type_
#define ATOMIC                 .schema.atomic = true
#define SET                    .schema.list = PL_LIST_SET
#define SET_MERGED             .schema.list = PL_LIST_SET, .schema.merge_set = true
/* Keys identify the elements of the list, for apply and for patches, which merge by the first. */
#define LIST_BY(keys_)         .schema.list = PL_LIST_MAP, .merges = true, .keys = keys_
/* Keys identify elements for apply; patches replace the list. */
#define LIST_APPLY_BY(keys_)   .schema.list = PL_LIST_MAP, .keys = keys_
/* Merged by patches, one value for apply. */
#define LIST_PATCH_BY(key)     .merges = true, .keys = key

#define META                   M(1, "metadata", OF(meta))
#define CONDITIONS             M(2, "conditions", LIST_BY("type"))
#define APPLY_CONDITIONS       M(2, "conditions", LIST_APPLY_BY("type"))
#define SELECTOR(level)        M(level, "selector", ATOMIC)
#define TEMPLATE(level)        M(level, "template", OF(pod_template))
#define MATCH_CONDITIONS(level) M(level, "matchConditions", LIST_BY("name"))

TYPE(plain, META);
TYPE(meta,
    M(1, "ownerReferences", LIST_BY("uid"), OF(one_value)),
    M(1, "finalizers", SET_MERGED));
static const struct pl_schema_row one_value[] = {{.level = 0, ATOMIC}, {.level = 0}};
KIND(status_conditions, M(1, "status"), CONDITIONS);
KIND(apply_conditions, M(1, "status"), APPLY_CONDITIONS);

/* ---- containers ---- */

TYPE(resources, M(1, "claims", LIST_APPLY_BY("name")));
TYPE(env_var,
    M(1, "valueFrom"),
      M(2, "configMapKeyRef", ATOMIC),
      M(2, "fieldRef", ATOMIC),
      M(2, "fileKeyRef", ATOMIC),
      M(2, "resourceFieldRef", ATOMIC),
      M(2, "secretKeyRef", ATOMIC));
/* A port of a container or a Service. */
TYPE(protocol_port, M(1, "protocol", .default_json = "\"TCP\""));
TYPE(mount, M(1, "bindMountOptions", SET));
/* Ephemeral containers have the same members. */
TYPE(container,
    M(1, "env", LIST_BY("name"), OF(env_var)),
    M(1, "ports", LIST_BY("containerPort\0protocol"), OF(protocol_port)),
    M(1, "resources", OF(resources)),
    M(1, "volumeDevices", LIST_BY("devicePath")),
    M(1, "volumeMounts", LIST_BY("mountPath"), OF(mount)));

/* ---- volumes ---- */

TYPE(claim_spec, M(1, "dataSource", ATOMIC), SELECTOR(1));
TYPE(with_secret, M(1, "secretRef", ATOMIC));
TYPE(claim_template, META, M(1, "spec", OF(claim_spec)));
TYPE(pod_volume,
    M(1, "cephfs", OF(with_secret)),
    M(1, "cinder", OF(with_secret)),
    M(1, "csi"),
      M(2, "nodePublishSecretRef", ATOMIC),
    M(1, "ephemeral"),
      M(2, "volumeClaimTemplate", OF(claim_template)),
    M(1, "flexVolume", OF(with_secret)),
    M(1, "iscsi", OF(with_secret)),
    M(1, "rbd", OF(with_secret)),
    M(1, "scaleIO", OF(with_secret)),
    M(1, "storageos", OF(with_secret)));

/* ---- the pod ---- */

static const struct pl_schema_row named_reference[] = {
    {.level = 0, ATOMIC}, M(1, "name", .default_json = "\"\""), {.level = 0}};
TYPE(spread, M(1, "labelSelector", ATOMIC));
TYPE(resource_status,
    M(1, "containers", SET),
    M(1, "mapping", LIST_BY("name")),
    M(1, "overhead", LIST_BY("name")));
TYPE(volume_health, M(1, "healthConditions", LIST_BY("status\0reason")));
TYPE(pod_spec,
    M(1, "affinity"),
      M(2, "nodeAffinity"),
        M(3, "requiredDuringSchedulingIgnoredDuringExecution", ATOMIC),
    M(1, "containers", LIST_BY("name"), OF(container)),
    M(1, "ephemeralContainers", LIST_BY("name"), OF(container)),
    M(1, "evictionResponders", LIST_BY("name"), OF(one_value)),
    M(1, "hostAliases", LIST_BY("ip")),
    M(1, "imagePullSecrets", LIST_BY("name"), OF(named_reference)),
    M(1, "initContainers", LIST_BY("name"), OF(container)),
    M(1, "nodeSelector", ATOMIC),
    M(1, "resourceClaims", LIST_BY("name")),
    M(1, "resources", OF(resources)),
    M(1, "schedulingGates", LIST_BY("name")),
    M(1, "topologySpreadConstraints", LIST_BY("topologyKey\0whenUnsatisfiable"), OF(spread)),
    M(1, "volumes", LIST_BY("name"), OF(pod_volume)));
TYPE(pod_template, META, M(1, "spec", OF(pod_spec)));
KIND(pod,
    M(1, "spec", OF(pod_spec)),
    M(1, "status"),
      CONDITIONS,
      M(2, "hostIPs", LIST_PATCH_BY("ip")),
      M(2, "nodeAllocatableResourceClaimStatuses", LIST_BY("resourceClaimName"), OF(resource_status)),
      M(2, "podIPs", LIST_BY("ip")),
      M(2, "resourceClaimStatuses", LIST_BY("name")),
      M(2, "resources", OF(resources)),
      M(2, "volumeHealth", LIST_APPLY_BY("name"), OF(volume_health)));

/* ---- core ---- */

KIND(binding, M(1, "target", ATOMIC));
KIND(component_status, M(1, "conditions", LIST_BY("type")));
KIND(core_event, M(1, "involvedObject", ATOMIC), M(1, "related", ATOMIC));
KIND(claim,
    M(1, "spec", OF(claim_spec)),
    M(1, "status"),
      CONDITIONS,
      M(2, "healthStatus"),
        M(3, "healthConditions", LIST_BY("status\0reason")));
KIND(node,
    M(1, "spec"),
      M(2, "podCIDRs", SET_MERGED),
      M(2, "podPreemptionPolicy"),
        M(3, "disableResizePreemption", SET),
    M(1, "status"),
      M(2, "addresses", LIST_BY("type")),
      CONDITIONS);
KIND(pod_template_kind, TEMPLATE(1));
KIND(quota, M(1, "spec"), M(2, "scopeSelector", ATOMIC));
KIND(replication_controller,
    M(1, "spec"), SELECTOR(2), TEMPLATE(2),
    M(1, "status"), CONDITIONS);
KIND(service,
    M(1, "spec"),
      M(2, "ports", LIST_BY("port\0protocol"), OF(protocol_port)),
      SELECTOR(2),
    M(1, "status"),
      CONDITIONS);
KIND(service_account, M(1, "secrets", LIST_BY("name"), OF(one_value)));
TYPE(csi_volume,
    M(1, "controllerExpandSecretRef", ATOMIC),
    M(1, "controllerPublishSecretRef", ATOMIC),
    M(1, "nodeExpandSecretRef", ATOMIC),
    M(1, "nodePublishSecretRef", ATOMIC),
    M(1, "nodeStageSecretRef", ATOMIC));
TYPE(volume_spec,
    M(1, "cephfs", OF(with_secret)),
    M(1, "cinder", OF(with_secret)),
    M(1, "csi", OF(csi_volume)),
    M(1, "flexVolume", OF(with_secret)),
    M(1, "iscsi", OF(with_secret)),
    M(1, "nodeAffinity"),
      M(2, "required", ATOMIC),
    M(1, "rbd", OF(with_secret)),
    M(1, "scaleIO", OF(with_secret)),
    M(1, "storageos", OF(with_secret)));
KIND(volume, M(1, "spec", OF(volume_spec)));

/* ---- workloads ---- */

KIND(revision, M(1, "data", ATOMIC));
KIND(workload,
    M(1, "spec"), SELECTOR(2), TEMPLATE(2),
    M(1, "status"), CONDITIONS);
TYPE(job_spec,
    M(1, "scheduling"),
      M(2, "resourceClaims", LIST_BY("name")),
    SELECTOR(1),
    TEMPLATE(1));
KIND(job,
    M(1, "spec", OF(job_spec)),
    M(1, "status"),
      M(2, "conditions", LIST_PATCH_BY("type")),
      M(2, "uncountedTerminatedPods"),
        M(3, "failed", SET),
        M(3, "succeeded", SET));
KIND(cron_job,
    M(1, "spec"),
      M(2, "jobTemplate"),
        M(3, "metadata", OF(meta)),
        M(3, "spec", OF(job_spec)));
KIND(hpa_v1, M(1, "spec"), M(2, "scaleTargetRef", ATOMIC));
KIND(disruption_budget,
    M(1, "spec"), M(2, "selector", ATOMIC, .schema.replaced = true),
    M(1, "status"), CONDITIONS);

/* ---- network and access ---- */

KIND(events_event, M(1, "regarding", ATOMIC), M(1, "related", ATOMIC));
KIND(ingress,
    M(1, "spec"),
      M(2, "defaultBackend"),
        M(3, "resource", ATOMIC),
        M(3, "service"),
          M(4, "port", ATOMIC));
KIND(network_policy, M(1, "spec"), M(2, "podSelector", ATOMIC));
KIND(role_binding, M(1, "roleRef", ATOMIC));
KIND(runtime_class, M(1, "scheduling"), M(2, "nodeSelector", ATOMIC));

/* ---- admission ---- */

TYPE(webhook,
    MATCH_CONDITIONS(1),
    M(1, "namespaceSelector", ATOMIC),
    M(1, "objectSelector", ATOMIC));
KIND(webhooks, M(1, "webhooks", LIST_BY("name"), OF(webhook)));
KIND(mutating_policy,
    M(1, "spec"),
      MATCH_CONDITIONS(2),
      M(2, "matchConstraints", ATOMIC),
      M(2, "paramKind", ATOMIC));
KIND(validating_policy,
    M(1, "spec"),
      MATCH_CONDITIONS(2),
      M(2, "matchConstraints", ATOMIC),
      M(2, "paramKind", ATOMIC),
      M(2, "variables", LIST_BY("name"), OF(one_value)),
    M(1, "status"),
      APPLY_CONDITIONS);
KIND(mutating_binding,
    M(1, "spec"),
      M(2, "matchResources", ATOMIC),
      M(2, "paramRef", ATOMIC));
KIND(validating_binding,
    M(1, "spec"),
      M(2, "matchResources", ATOMIC),
      M(2, "paramRef", ATOMIC),
      M(2, "validationActions", SET));

/* ---- devices and storage ---- */

TYPE(claim_device, M(1, "conditions", LIST_APPLY_BY("type")));
KIND(resource_claim,
    M(1, "status"),
      M(2, "allocation"),
        M(3, "nodeSelector", ATOMIC),
      M(2, "devices", LIST_APPLY_BY("driver\0device\0pool\0shareID"), OF(claim_device)),
      M(2, "reservedFor", LIST_BY("uid")));
KIND(resource_claim_template, M(1, "spec"), M(2, "metadata", OF(meta)));
KIND(resource_slice,
    M(1, "spec"),
      M(2, "nodeSelector", ATOMIC),
      M(2, "skipNodeOperations", SET));
KIND(csi_driver, M(1, "spec"), M(2, "volumeLifecycleModes", SET));
KIND(csi_node,
    M(1, "spec"), M(2, "drivers", LIST_BY("name")),
    M(1, "status"), M(2, "storageHealth", LIST_BY("name")));
KIND(csi_capacity, M(1, "nodeTopology", ATOMIC));
KIND(volume_attachment,
    M(1, "spec"),
      M(2, "source"),
        M(3, "inlineVolumeSpec", OF(volume_spec)));
/* clang-format on */

static const struct pl_schema_row *const types[] = {TYPES(ROWS)};

static const struct {
    char group[32], version[4], kind[36];
    unsigned char type; /* enum pl_schema_type */
} kinds[] = {
    {"", "v1", "Binding", TYPE_binding},
    {"", "v1", "ComponentStatus", TYPE_component_status},
    {"", "v1", "ConfigMap", TYPE_plain},
    {"", "v1", "Endpoints", TYPE_plain},
    {"", "v1", "Event", TYPE_core_event},
    {"", "v1", "LimitRange", TYPE_plain},
    {"", "v1", "Namespace", TYPE_status_conditions},
    {"", "v1", "Node", TYPE_node},
    {"", "v1", "PersistentVolume", TYPE_volume},
    {"", "v1", "PersistentVolumeClaim", TYPE_claim},
    {"", "v1", "Pod", TYPE_pod},
    {"", "v1", "PodTemplate", TYPE_pod_template_kind},
    {"", "v1", "ReplicationController", TYPE_replication_controller},
    {"", "v1", "ResourceQuota", TYPE_quota},
    {"", "v1", "Secret", TYPE_plain},
    {"", "v1", "Service", TYPE_service},
    {"", "v1", "ServiceAccount", TYPE_service_account},
    {"admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy", TYPE_mutating_policy},
    {"admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding", TYPE_mutating_binding},
    {"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", TYPE_webhooks},
    {"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", TYPE_validating_policy},
    {"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding",
     TYPE_validating_binding},
    {"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", TYPE_webhooks},
    {"apiextensions.k8s.io", "v1", "CustomResourceDefinition", TYPE_apply_conditions},
    {"apiregistration.k8s.io", "v1", "APIService", TYPE_status_conditions},
    {"apps", "v1", "ControllerRevision", TYPE_revision},
    {"apps", "v1", "DaemonSet", TYPE_workload},
    {"apps", "v1", "Deployment", TYPE_workload},
    {"apps", "v1", "ReplicaSet", TYPE_workload},
    {"apps", "v1", "StatefulSet", TYPE_workload},
    {"autoscaling", "v1", "HorizontalPodAutoscaler", TYPE_hpa_v1},
    {"autoscaling", "v1", "Scale", TYPE_plain},
    {"autoscaling", "v2", "HorizontalPodAutoscaler", TYPE_status_conditions},
    {"batch", "v1", "CronJob", TYPE_cron_job},
    {"batch", "v1", "Job", TYPE_job},
    {"certificates.k8s.io", "v1", "CertificateSigningRequest", TYPE_apply_conditions},
    {"certificates.k8s.io", "v1", "ClusterTrustBundle", TYPE_plain},
    {"certificates.k8s.io", "v1", "PodCertificateRequest", TYPE_status_conditions},
    {"coordination.k8s.io", "v1", "Lease", TYPE_plain},
    {"discovery.k8s.io", "v1", "EndpointSlice", TYPE_plain},
    {"events.k8s.io", "v1", "Event", TYPE_events_event},
    {"flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", TYPE_status_conditions},
    {"flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration", TYPE_status_conditions},
    {"networking.k8s.io", "v1", "IPAddress", TYPE_plain},
    {"networking.k8s.io", "v1", "Ingress", TYPE_ingress},
    {"networking.k8s.io", "v1", "IngressClass", TYPE_plain},
    {"networking.k8s.io", "v1", "NetworkPolicy", TYPE_network_policy},
    {"networking.k8s.io", "v1", "ServiceCIDR", TYPE_status_conditions},
    {"node.k8s.io", "v1", "RuntimeClass", TYPE_runtime_class},
    {"policy", "v1", "Eviction", TYPE_plain},
    {"policy", "v1", "PodDisruptionBudget", TYPE_disruption_budget},
    {"rbac.authorization.k8s.io", "v1", "ClusterRole", TYPE_plain},
    {"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", TYPE_role_binding},
    {"rbac.authorization.k8s.io", "v1", "Role", TYPE_plain},
    {"rbac.authorization.k8s.io", "v1", "RoleBinding", TYPE_role_binding},
    {"resource.k8s.io", "v1", "DeviceClass", TYPE_plain},
    {"resource.k8s.io", "v1", "DeviceTaintRule", TYPE_status_conditions},
    {"resource.k8s.io", "v1", "ResourceClaim", TYPE_resource_claim},
    {"resource.k8s.io", "v1", "ResourceClaimTemplate", TYPE_resource_claim_template},
    {"resource.k8s.io", "v1", "ResourceSlice", TYPE_resource_slice},
    {"scheduling.k8s.io", "v1", "PriorityClass", TYPE_plain},
    {"storage.k8s.io", "v1", "CSIDriver", TYPE_csi_driver},
    {"storage.k8s.io", "v1", "CSINode", TYPE_csi_node},
    {"storage.k8s.io", "v1", "CSIStorageCapacity", TYPE_csi_capacity},
    {"storage.k8s.io", "v1", "StorageClass", TYPE_plain},
    {"storage.k8s.io", "v1", "VolumeAttachment", TYPE_volume_attachment},
    {"storage.k8s.io", "v1", "VolumeAttributesClass", TYPE_plain},
    {"storagemigration.k8s.io", "v1", "StorageVersionMigration", TYPE_status_conditions},
};

const struct pl_schema_row *pl_schema_rows(unsigned type)
{
    return types[type];
}

const struct pl_schema *pl_schema_of_meta(void)
{
    return &meta->schema;
}

const struct pl_schema *pl_schema_builtin(const struct pl_kind *kind)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].kind, kind->kind) == 0 && strcmp(kinds[i].group, kind->group) == 0 &&
            strcmp(kinds[i].version, kind->version) == 0)
            return &types[kinds[i].type]->schema;
    return NULL;
}
