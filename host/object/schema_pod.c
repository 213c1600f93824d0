/* Pods and their parts. */
#include "object/schema_table.h"

const struct pl_schema pl_schema_meta = {
    FIELDS({"ownerReferences", LIST_BY("uid", ATOMIC)}, {"finalizers", SET_MERGED})};

static const struct pl_schema resources = {FIELDS({"claims", LIST_APPLY_BY(NULL, "name")})};

/* ---- containers ---- */

static const struct pl_schema env_var = {FIELDS(
    {"valueFrom", OBJECT({"configMapKeyRef", ATOMIC}, {"fieldRef", ATOMIC}, {"fileKeyRef", ATOMIC},
                         {"resourceFieldRef", ATOMIC}, {"secretKeyRef", ATOMIC})})};

static const struct pl_schema container_port = {
    FIELDS({"protocol", PL_SCHEMA(.default_json = "\"TCP\"")})};

/* Ephemeral containers have the same members. */
static const struct pl_schema container = {
    FIELDS({"env", LIST_BY("name", &env_var)},
           {"ports", LIST_BY_TWO("containerPort", "protocol", &container_port)},
           {"resources", &resources}, {"volumeDevices", LIST_BY("devicePath", NULL)},
           {"volumeMounts", LIST_BY("mountPath", OBJECT({"bindMountOptions", SET}))})};

/* ---- volumes ---- */

const struct pl_schema pl_schema_claim_spec = {
    FIELDS({"dataSource", ATOMIC}, {"selector", ATOMIC})};

static const struct pl_schema with_secret = {FIELDS({"secretRef", ATOMIC})};

static const struct pl_schema claim_template = {
    FIELDS({"metadata", &pl_schema_meta}, {"spec", &pl_schema_claim_spec})};

static const struct pl_schema volume = {
    FIELDS({"cephfs", &with_secret}, {"cinder", &with_secret},
           {"csi", OBJECT({"nodePublishSecretRef", ATOMIC})},
           {"ephemeral", OBJECT({"volumeClaimTemplate", &claim_template})},
           {"flexVolume", &with_secret}, {"iscsi", &with_secret}, {"rbd", &with_secret},
           {"scaleIO", &with_secret}, {"storageos", &with_secret})};

/* ---- the pod ---- */

static const struct pl_schema named_reference = {
    .atomic = true, FIELDS({"name", PL_SCHEMA(.default_json = "\"\"")})};

static const struct pl_schema affinity = {
    FIELDS({"nodeAffinity", OBJECT({"requiredDuringSchedulingIgnoredDuringExecution", ATOMIC})})};

static const struct pl_schema pod_spec = {
    FIELDS({"affinity", &affinity}, {"containers", LIST_BY("name", &container)},
           {"ephemeralContainers", LIST_BY("name", &container)},
           {"evictionResponders", LIST_BY("name", ATOMIC)}, {"hostAliases", LIST_BY("ip", NULL)},
           {"imagePullSecrets", LIST_BY("name", &named_reference)},
           {"initContainers", LIST_BY("name", &container)}, {"nodeSelector", ATOMIC},
           {"resourceClaims", LIST_BY("name", NULL)}, {"resources", &resources},
           {"schedulingGates", LIST_BY("name", NULL)},
           {"topologySpreadConstraints",
            LIST_BY_TWO("topologyKey", "whenUnsatisfiable", OBJECT({"labelSelector", ATOMIC}))},
           {"volumes", LIST_BY("name", &volume)})};

static const struct pl_schema claim_status = {FIELDS(
    {"containers", SET}, {"mapping", LIST_BY("name", NULL)}, {"overhead", LIST_BY("name", NULL)})};

static const struct pl_schema volume_health = {
    FIELDS({"healthConditions", LIST_BY_TWO("status", "reason", NULL)})};

static const struct pl_schema pod_status = {
    FIELDS({"conditions", LIST_BY("type", NULL)}, {"hostIPs", LIST_PATCH_BY("ip")},
           {"nodeAllocatableResourceClaimStatuses", LIST_BY("resourceClaimName", &claim_status)},
           {"podIPs", LIST_BY("ip", NULL)}, {"resourceClaimStatuses", LIST_BY("name", NULL)},
           {"resources", &resources}, {"volumeHealth", LIST_APPLY_BY(&volume_health, "name")})};

const struct pl_schema pl_schema_pod = {
    FIELDS({"metadata", &pl_schema_meta}, {"spec", &pod_spec}, {"status", &pod_status})};

const struct pl_schema pl_schema_pod_template = {
    FIELDS({"metadata", &pl_schema_meta}, {"spec", &pod_spec})};
