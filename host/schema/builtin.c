/* The built-in kinds as a table: names, scope, subresources, selectable fields, and special
 * behaviour. To add a kind, add a row here; its defaults are in defaults.c, its merge keys in
 * object/schema_builtin.c, its columns in the packed table of gotype, its cells in cells.c. */
#include "schema/builtin.h"

#include "base/base.h"
#include "schema/autoscaler.h"

#include <string.h>

/* Names, scopes, subresources, selectable fields and which kinds count generations were
 * checked against kube-apiserver 1.37. */

#define NS    PL_API_NAMESPACED
#define ST    PL_API_STATUS
#define SC    PL_API_SCALE
#define GEN   PL_API_GENERATION
#define VER   PL_API_NEEDS_VERSION
#define MAKE  PL_API_CREATE_ON_UPDATE
#define OBJ   PL_API_RETURNS_DELETED
#define LAX   PL_API_LAX_NAME
#define LABEL PL_API_LABEL_NAME
#define ASK   PL_API_REVIEW

static const char *const pod_fields[] = {"spec.nodeName",
                                         "spec.restartPolicy",
                                         "spec.schedulerName",
                                         "spec.serviceAccountName",
                                         "spec.hostNetwork",
                                         "status.phase",
                                         "status.podIP",
                                         "status.podIPs",
                                         "status.nominatedNodeName",
                                         NULL};
static const char *const secret_fields[] = {"type", NULL};
static const char *const namespace_fields[] = {"status.phase", NULL};
static const char *const node_fields[] = {"spec.unschedulable", NULL};
static const char *const service_fields[] = {"spec.clusterIP", "spec.type", NULL};
static const char *const job_fields[] = {"status.successful", NULL};
static const char *const csr_fields[] = {"spec.signerName", NULL};
static const char *const pod_certificate_fields[] = {"spec.signerName", "spec.podName",
                                                     "spec.nodeName", NULL};
static const char *const slice_fields[] = {"spec.nodeName", "spec.driver", "spec.pool.name", NULL};
static const char *const replica_fields[] = {"status.replicas", NULL};
static const char *const event_fields[] = {"involvedObject.kind",
                                           "involvedObject.namespace",
                                           "involvedObject.name",
                                           "involvedObject.uid",
                                           "involvedObject.apiVersion",
                                           "involvedObject.resourceVersion",
                                           "involvedObject.fieldPath",
                                           "reason",
                                           "reportingComponent",
                                           "source",
                                           "type",
                                           NULL};
static const char *const event_renames[] = {"involvedObject",
                                            "regarding",
                                            "message",
                                            "note",
                                            "reportingComponent",
                                            "reportingController",
                                            "source",
                                            "deprecatedSource",
                                            "firstTimestamp",
                                            "deprecatedFirstTimestamp",
                                            "lastTimestamp",
                                            "deprecatedLastTimestamp",
                                            "count",
                                            "deprecatedCount",
                                            NULL};

/* clang-format off */
#define ROW(g, v, p, s, k, ...) {.group = g, .version = v, .plural = p, .singular = s, .kind = k, __VA_ARGS__}
#define SHORT .short_names
#define CAT   .categories
#define F     .flags

const struct pl_api_builtin pl_api_builtins[] = {
    ROW("", "v1", "bindings", "binding", "Binding", F = NS | ASK),
    ROW("", "v1", "componentstatuses", "componentstatus", "ComponentStatus", SHORT = "cs", F = PL_API_READ_ONLY),
    ROW("", "v1", "configmaps", "configmap", "ConfigMap", SHORT = "cm", F = NS),
    ROW("", "v1", "endpoints", "endpoints", "Endpoints", SHORT = "ep", F = NS | MAKE),
    ROW("", "v1", "events", "event", "Event", SHORT = "ev", F = NS | MAKE),
    ROW("", "v1", "limitranges", "limitrange", "LimitRange", SHORT = "limits", F = NS | MAKE),
    ROW("", "v1", "namespaces", "namespace", "Namespace", SHORT = "ns", F = ST | LABEL | PL_API_NO_COLLECTION),
    ROW("", "v1", "nodes", "node", "Node", SHORT = "no", F = ST),
    ROW("", "v1", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", SHORT = "pvc", F = NS | ST | OBJ),
    ROW("", "v1", "persistentvolumes", "persistentvolume", "PersistentVolume", SHORT = "pv", F = ST | OBJ),
    ROW("", "v1", "pods", "pod", "Pod", SHORT = "po", CAT = "all", F = NS | ST | GEN | OBJ),
    ROW("", "v1", "podtemplates", "podtemplate", "PodTemplate", F = NS | GEN | OBJ),
    ROW("", "v1", "replicationcontrollers", "replicationcontroller", "ReplicationController", SHORT = "rc", CAT = "all", F = NS | ST | SC | GEN),
    ROW("", "v1", "resourcequotas", "resourcequota", "ResourceQuota", SHORT = "quota", F = NS | ST | OBJ),
    ROW("", "v1", "secrets", "secret", "Secret", F = NS),
    ROW("", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", SHORT = "sa", F = NS | OBJ),
    ROW("", "v1", "services", "service", "Service", SHORT = "svc", CAT = "all", F = NS | ST | OBJ | LABEL | MAKE),
    ROW("apps", "v1", "controllerrevisions", "controllerrevision", "ControllerRevision", F = NS),
    ROW("apps", "v1", "daemonsets", "daemonset", "DaemonSet", SHORT = "ds", CAT = "all", F = NS | ST | GEN),
    ROW("apps", "v1", "deployments", "deployment", "Deployment", SHORT = "deploy", CAT = "all", F = NS | ST | SC | GEN),
    ROW("apps", "v1", "replicasets", "replicaset", "ReplicaSet", SHORT = "rs", CAT = "all", F = NS | ST | SC | GEN),
    ROW("apps", "v1", "statefulsets", "statefulset", "StatefulSet", SHORT = "sts", CAT = "all", F = NS | ST | SC | GEN | LABEL),
    ROW("autoscaling", "v2", "horizontalpodautoscalers", "horizontalpodautoscaler", "HorizontalPodAutoscaler", SHORT = "hpa", CAT = "all", F = NS | ST | GEN),
    ROW("batch", "v1", "cronjobs", "cronjob", "CronJob", SHORT = "cj", CAT = "all", F = NS | ST | GEN),
    ROW("batch", "v1", "jobs", "job", "Job", CAT = "all", F = NS | ST | GEN),
    ROW("certificates.k8s.io", "v1", "certificatesigningrequests", "certificatesigningrequest", "CertificateSigningRequest", SHORT = "csr", F = ST),
    ROW("certificates.k8s.io", "v1", "clustertrustbundles", "clustertrustbundle", "ClusterTrustBundle", F = VER | LAX),
    ROW("certificates.k8s.io", "v1", "podcertificaterequests", "podcertificaterequest", "PodCertificateRequest", F = NS | ST | VER),
    ROW("flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "flowschema", "FlowSchema", F = ST | GEN),
    ROW("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations", "prioritylevelconfiguration", "PriorityLevelConfiguration", F = ST | GEN),
    ROW("networking.k8s.io", "v1", "ingressclasses", "ingressclass", "IngressClass", F = GEN),
    ROW("networking.k8s.io", "v1", "ingresses", "ingress", "Ingress", SHORT = "ing", F = NS | ST | GEN),
    ROW("networking.k8s.io", "v1", "ipaddresses", "ipaddress", "IPAddress", SHORT = "ip", F = LAX),
    ROW("networking.k8s.io", "v1", "networkpolicies", "networkpolicy", "NetworkPolicy", SHORT = "netpol", F = NS | GEN),
    ROW("networking.k8s.io", "v1", "servicecidrs", "servicecidr", "ServiceCIDR", F = ST),
    ROW("policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", SHORT = "pdb", F = NS | ST | GEN | VER),
    ROW("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", F = LAX | MAKE),
    ROW("rbac.authorization.k8s.io", "v1", "clusterroles", "clusterrole", "ClusterRole", F = LAX | MAKE),
    ROW("rbac.authorization.k8s.io", "v1", "rolebindings", "rolebinding", "RoleBinding", F = NS | LAX | MAKE),
    ROW("rbac.authorization.k8s.io", "v1", "roles", "role", "Role", F = NS | LAX | MAKE),
    ROW("resource.k8s.io", "v1", "deviceclasses", "deviceclass", "DeviceClass", F = OBJ | GEN),
    ROW("resource.k8s.io", "v1", "devicetaintrules", "devicetaintrule", "DeviceTaintRule", F = ST | GEN | VER),
    ROW("resource.k8s.io", "v1", "resourceclaims", "resourceclaim", "ResourceClaim", F = NS | OBJ | ST),
    ROW("resource.k8s.io", "v1", "resourceclaimtemplates", "resourceclaimtemplate", "ResourceClaimTemplate", F = NS | OBJ),
    ROW("resource.k8s.io", "v1", "resourceslices", "resourceslice", "ResourceSlice", F = OBJ | GEN),
    ROW("storage.k8s.io", "v1", "csidrivers", "csidriver", "CSIDriver", F = OBJ | VER),
    ROW("storage.k8s.io", "v1", "csinodes", "csinode", "CSINode", F = ST | OBJ | VER),
    ROW("storage.k8s.io", "v1", "csistoragecapacities", "csistoragecapacity", "CSIStorageCapacity", F = NS | VER),
    ROW("storage.k8s.io", "v1", "storageclasses", "storageclass", "StorageClass", SHORT = "sc", F = OBJ),
    ROW("storage.k8s.io", "v1", "volumeattachments", "volumeattachment", "VolumeAttachment", F = ST | OBJ | VER),
    ROW("storage.k8s.io", "v1", "volumeattributesclasses", "volumeattributesclass", "VolumeAttributesClass", SHORT = "vac", F = OBJ),
    ROW("storagemigration.k8s.io", "v1", "storageversionmigrations", "storageversionmigration", "StorageVersionMigration", F = ST | VER),
    ROW("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies", "mutatingadmissionpolicy", "MutatingAdmissionPolicy", CAT = "api-extensions", F = GEN | VER),
    ROW("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicybindings", "mutatingadmissionpolicybinding", "MutatingAdmissionPolicyBinding", CAT = "api-extensions", F = GEN | VER),
    ROW("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "mutatingwebhookconfiguration", "MutatingWebhookConfiguration", CAT = "api-extensions", F = GEN | VER),
    ROW("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "validatingadmissionpolicy", "ValidatingAdmissionPolicy", CAT = "api-extensions", F = ST | GEN | VER),
    ROW("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings", "validatingadmissionpolicybinding", "ValidatingAdmissionPolicyBinding", CAT = "api-extensions", F = GEN | VER),
    ROW("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "validatingwebhookconfiguration", "ValidatingWebhookConfiguration", CAT = "api-extensions", F = GEN | VER),
    ROW("apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition", "CustomResourceDefinition", SHORT = "crd,crds", CAT = "api-extensions", F = ST | GEN | VER),
    ROW("apiregistration.k8s.io", "v1", "apiservices", "apiservice", "APIService", CAT = "api-extensions", F = ST | VER | LAX),
    ROW("scheduling.k8s.io", "v1", "priorityclasses", "priorityclass", "PriorityClass", SHORT = "pc", F = GEN),
    ROW("coordination.k8s.io", "v1", "leases", "lease", "Lease", F = NS | MAKE | VER),
    ROW("node.k8s.io", "v1", "runtimeclasses", "runtimeclass", "RuntimeClass", F = MAKE | VER),
    ROW("discovery.k8s.io", "v1", "endpointslices", "endpointslice", "EndpointSlice", F = NS | GEN),
    ROW("authorization.k8s.io", "v1", "localsubjectaccessreviews", "localsubjectaccessreview", "LocalSubjectAccessReview", F = NS | ASK),
    ROW("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "selfsubjectaccessreview", "SelfSubjectAccessReview", F = ASK),
    ROW("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "selfsubjectrulesreview", "SelfSubjectRulesReview", F = ASK),
    ROW("authorization.k8s.io", "v1", "subjectaccessreviews", "subjectaccessreview", "SubjectAccessReview", F = ASK),
    ROW("authentication.k8s.io", "v1", "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview", F = ASK),
    ROW("authentication.k8s.io", "v1", "tokenreviews", "tokenreview", "TokenReview", F = ASK),
    {.plural = ""},
};
/* clang-format on */

/* ---- what few kinds have ---- */

static const struct {
    const char *kind;
    const char *const *fields;
} selectable[] = {
    {"Event", event_fields},
    {"Namespace", namespace_fields},
    {"Node", node_fields},
    {"Pod", pod_fields},
    {"ReplicationController", replica_fields},
    {"Secret", secret_fields},
    {"Service", service_fields},
    {"Job", job_fields},
    {"CertificateSigningRequest", csr_fields},
    {"ClusterTrustBundle", csr_fields},
    {"PodCertificateRequest", pod_certificate_fields},
    {"ResourceSlice", slice_fields},
};

static const struct {
    const char *kind;
    struct pl_api_second second;
} seconds[] = {
    {"Event", {.group = "events.k8s.io", .version = "v1", .renames = event_renames}},
    {"HorizontalPodAutoscaler",
     {.group = "autoscaling", .version = "v1", .convert = pl_api_autoscaler_convert}},
};

const char *const *pl_api_builtin_selectable(const struct pl_api_builtin *row)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(selectable); i++)
        if (strcmp(selectable[i].kind, row->kind) == 0)
            return selectable[i].fields;
    return NULL;
}

const struct pl_api_second *pl_api_builtin_second(const struct pl_api_builtin *row)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(seconds); i++)
        if (strcmp(seconds[i].kind, row->kind) == 0)
            return &seconds[i].second;
    return NULL;
}
