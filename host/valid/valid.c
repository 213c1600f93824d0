/* The table of kinds with their rules. A kind that is not listed here has only the rules for
 * metadata. webhook_config.c has the rules of webhook configurations. */
#include "valid/valid.h"

#include "object/tree.h"
#include "valid/kinds.h"

#include <string.h>

static const struct {
    const char *kind;
    pl_kind_check *check;
} kinds[] = {
    {"Pod", pl_valid_pod},
    {"PodTemplate", pl_valid_pod_template},
    {"Deployment", pl_valid_deployment},
    {"ReplicaSet", pl_valid_replica_set},
    {"ReplicationController", pl_valid_replication_controller},
    {"StatefulSet", pl_valid_stateful_set},
    {"DaemonSet", pl_valid_daemon_set},
    {"Job", pl_valid_job},
    {"CronJob", pl_valid_cron_job},
    {"Service", pl_valid_service},
    {"Ingress", pl_valid_ingress},
    {"IngressClass", pl_valid_ingress_class},
    {"NetworkPolicy", pl_valid_network_policy},
    {"ConfigMap", pl_valid_config_map},
    {"Secret", pl_valid_secret},
    {"PersistentVolumeClaim", pl_valid_claim},
    {"PersistentVolume", pl_valid_volume},
    {"StorageClass", pl_valid_storage_class},
    {"CSIDriver", pl_valid_csi_driver},
    {"VolumeAttachment", pl_valid_attachment},
    {"Role", pl_valid_role},
    {"ClusterRole", pl_valid_role},
    {"RoleBinding", pl_valid_role_binding},
    {"ClusterRoleBinding", pl_valid_role_binding},
    {"HorizontalPodAutoscaler", pl_valid_autoscaler},
    {"PodDisruptionBudget", pl_valid_budget},
    {"ResourceQuota", pl_valid_quota},
    {"LimitRange", pl_valid_limit_range},
    {"PriorityClass", pl_valid_priority_class},
    {"RuntimeClass", pl_valid_runtime_class},
    {"Namespace", pl_valid_namespace},
    {"Node", pl_valid_node},
    {"Endpoints", pl_valid_endpoints},
    {"EndpointSlice", pl_valid_endpoint_slice},
    {"Event", pl_valid_event},
    {"Lease", pl_valid_lease},
    {"CertificateSigningRequest", pl_valid_signing_request},
    {"PodCertificateRequest", pl_valid_pod_certificate},
    {"ControllerRevision", pl_valid_revision},
    {"CustomResourceDefinition", pl_valid_definition},
    {"ValidatingAdmissionPolicy", pl_valid_policy},
    {"ValidatingAdmissionPolicyBinding", pl_valid_policy_binding},
    {"MutatingAdmissionPolicy", pl_valid_mutating_policy},
    {"MutatingAdmissionPolicyBinding", pl_valid_mutating_binding},
    {"FlowSchema", pl_valid_flow_schema},
    {"PriorityLevelConfiguration", pl_valid_priority_level},
    {"APIService", pl_valid_api_service},
    {"IPAddress", pl_valid_address},
    {"ServiceCIDR", pl_valid_range},
    {"CSINode", pl_valid_csi_node},
    {"CSIStorageCapacity", pl_valid_capacity},
    {"VolumeAttributesClass", pl_valid_attributes_class},
    {"StorageVersionMigration", pl_valid_migration},
    {"ClusterTrustBundle", pl_valid_trust_bundle},
    {"DeviceClass", pl_valid_device_class},
    {"DeviceTaintRule", pl_valid_taint_rule},
    {"ResourceClaim", pl_valid_device_claim},
    {"ResourceClaimTemplate", pl_valid_device_template},
    {"ResourceSlice", pl_valid_device_slice},
};

/* Some absent members are stored as null, so null counts as absent when states are compared. */
static void drop_nulls(struct pl_tree *tree)
{
    PL_TREE_FOR(item, tree)
    if (item->value->type == PL_NULL && tree->type == PL_OBJECT)
        pl_tree_unlink(tree, item);
    else
        drop_nulls(item->value);
}

static const struct pl_tree *without_nulls(struct pl_arena *arena, const struct pl_tree *object)
{
    struct pl_tree *copy = pl_tree_copy(arena, object);
    drop_nulls(copy);
    return copy;
}

void pl_valid_builtin(struct pl_api_faults *faults, const struct pl_api_type *type,
                      const struct pl_tree *object, const struct pl_tree *old)
{
    if (old != NULL) {
        old = without_nulls(faults->arena, old);
        object = without_nulls(faults->arena, object);
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].kind, type->kind) == 0)
            kinds[i].check(faults, object, old);
}
