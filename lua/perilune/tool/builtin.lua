-- The kinds that Kubernetes itself serves, by group: plural, whether objects have a namespace, whether
-- there is a status subresource. "N" namespaced, "C" cluster-scoped; "s" with status. Where a kind has
-- been in several groups each is listed.

local text = [[
-- v1
ConfigMap configmaps N
Endpoints endpoints N
Event events N
LimitRange limitranges N
Namespace namespaces Cs
Node nodes Cs
PersistentVolumeClaim persistentvolumeclaims Ns
PersistentVolume persistentvolumes Cs
Pod pods Ns
PodTemplate podtemplates N
ReplicationController replicationcontrollers Ns
ResourceQuota resourcequotas Ns
Secret secrets N
ServiceAccount serviceaccounts N
Service services Ns
Binding bindings N
ComponentStatus componentstatuses C
-- admissionregistration.k8s.io
MutatingWebhookConfiguration mutatingwebhookconfigurations C
ValidatingWebhookConfiguration validatingwebhookconfigurations C
ValidatingAdmissionPolicy validatingadmissionpolicies Cs
ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings C
MutatingAdmissionPolicy mutatingadmissionpolicies C
MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings C
-- apiextensions.k8s.io
CustomResourceDefinition customresourcedefinitions Cs
-- apiregistration.k8s.io
APIService apiservices Cs
-- apps
ControllerRevision controllerrevisions N
DaemonSet daemonsets Ns
Deployment deployments Ns
ReplicaSet replicasets Ns
StatefulSet statefulsets Ns
-- authentication.k8s.io
TokenReview tokenreviews C
SelfSubjectReview selfsubjectreviews C
-- authorization.k8s.io
LocalSubjectAccessReview localsubjectaccessreviews N
SelfSubjectAccessReview selfsubjectaccessreviews C
SelfSubjectRulesReview selfsubjectrulesreviews C
SubjectAccessReview subjectaccessreviews C
-- autoscaling
HorizontalPodAutoscaler horizontalpodautoscalers Ns
-- batch
CronJob cronjobs Ns
Job jobs Ns
-- certificates.k8s.io
CertificateSigningRequest certificatesigningrequests Cs
ClusterTrustBundle clustertrustbundles C
PodCertificateRequest podcertificaterequests Ns
-- coordination.k8s.io
Lease leases N
LeaseCandidate leasecandidates N
-- discovery.k8s.io
EndpointSlice endpointslices N
-- events.k8s.io
Event events N
-- flowcontrol.apiserver.k8s.io
FlowSchema flowschemas Cs
PriorityLevelConfiguration prioritylevelconfigurations Cs
-- internal.apiserver.k8s.io
StorageVersion storageversions Cs
-- networking.k8s.io
Ingress ingresses Ns
IngressClass ingressclasses C
IPAddress ipaddresses C
NetworkPolicy networkpolicies N
ServiceCIDR servicecidrs Cs
-- node.k8s.io
RuntimeClass runtimeclasses C
-- policy
PodDisruptionBudget poddisruptionbudgets Ns
-- rbac.authorization.k8s.io
ClusterRole clusterroles C
ClusterRoleBinding clusterrolebindings C
Role roles N
RoleBinding rolebindings N
-- resource.k8s.io
DeviceClass deviceclasses C
DeviceTaintRule devicetaintrules C
ResourceClaim resourceclaims Ns
ResourceClaimTemplate resourceclaimtemplates N
ResourceSlice resourceslices C
-- scheduling.k8s.io
PriorityClass priorityclasses C
-- storage.k8s.io
CSIDriver csidrivers C
CSINode csinodes C
CSIStorageCapacity csistoragecapacities N
StorageClass storageclasses C
VolumeAttachment volumeattachments Cs
VolumeAttributesClass volumeattributesclasses C
-- storagemigration.k8s.io
StorageVersionMigration storageversionmigrations Cs
-- metrics.k8s.io
NodeMetrics nodes C
PodMetrics pods N
]]

local M = { by_group = {} }

local group
for line in text:gmatch("[^\n]+") do
  local head = line:match("^%-%- (.*)")
  if head then
    group = {}
    M.by_group[head == "v1" and "" or head] = group
  else
    local kind, plural, flags = line:match("^(%S+) (%S+) (%S+)$")
    group[kind] = { plural = plural, namespaced = flags:sub(1, 1) == "N", status = flags:sub(2) == "s" }
  end
end

-- Kinds that are sent to a subresource or answered, and never listed.
local BODIES = { ["policy/Eviction"] = true, ["authentication.k8s.io/TokenRequest"] = true,
  ["autoscaling/Scale"] = true, ["apiextensions.k8s.io/ConversionReview"] = true, ["/DeleteOptions"] = true,
  ["/Status"] = true, ["/List"] = true }

-- Whether documents can have the kind although no objects of it are stored.
function M.is_body(group_name, kind)
  local of_list = kind:match("^(.+)List$")
  return BODIES[group_name .. "/" .. kind] or of_list ~= nil and M.find(group_name, of_list) ~= nil
end

-- {plural=, namespaced=, status=} | nil
function M.find(group_name, kind)
  local kinds = M.by_group[group_name]
  return kinds and kinds[kind]
end

return M
