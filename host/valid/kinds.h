/* The rules of each kind, one function each, and of parts that several kinds share. Private to this
 * folder. `at` is the position of the part; NULL: the object itself. */
#pragma once

#include "valid/check.h"

typedef void pl_kind_check(struct pl_api_faults *f, const struct pl_tree *object,
                           const struct pl_tree *old);

pl_kind_check pl_valid_pod, pl_valid_pod_template, pl_valid_deployment, pl_valid_replica_set,
    pl_valid_replication_controller, pl_valid_stateful_set, pl_valid_daemon_set, pl_valid_job,
    pl_valid_cron_job, pl_valid_service, pl_valid_ingress, pl_valid_ingress_class,
    pl_valid_network_policy, pl_valid_config_map, pl_valid_secret, pl_valid_claim, pl_valid_volume,
    pl_valid_storage_class, pl_valid_csi_driver, pl_valid_attachment, pl_valid_role,
    pl_valid_role_binding, pl_valid_autoscaler, pl_valid_budget, pl_valid_quota,
    pl_valid_limit_range, pl_valid_priority_class, pl_valid_runtime_class, pl_valid_namespace,
    pl_valid_node, pl_valid_endpoints, pl_valid_endpoint_slice, pl_valid_event, pl_valid_lease,
    pl_valid_signing_request, pl_valid_pod_certificate, pl_valid_pod_certificate_state,
    pl_valid_revision, pl_valid_definition, pl_valid_policy, pl_valid_policy_binding,
    pl_valid_mutating_policy, pl_valid_mutating_binding, pl_valid_flow_schema,
    pl_valid_priority_level, pl_valid_api_service, pl_valid_address, pl_valid_range,
    pl_valid_csi_node, pl_valid_capacity, pl_valid_attributes_class, pl_valid_migration,
    pl_valid_trust_bundle, pl_valid_device_class, pl_valid_taint_rule, pl_valid_device_claim,
    pl_valid_device_claim_state, pl_valid_device_template, pl_valid_device_slice;

/* ---- parts ---- */

/* The name of a driver of storage or devices, which may have capital letters. */
pl_check pl_valid_driver_name;
pl_check pl_valid_csi_driver_name;
pl_check pl_valid_device_name; /* required; also of a request for devices */
/* Indexes of a Job, "1,3-5,7": counts them; returns the reason why they cannot be read, or NULL. */
const char *pl_valid_indexes(struct pl_api_faults *f, struct pl_slice text, int64_t completions,
                             int64_t *count);
/* Conditions as metav1.Condition describes them. */
void pl_valid_conditions(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *list);
pl_check pl_valid_pool_name; /* names with "/" between them */
void pl_valid_device_taint(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *taint);
struct pl_tree *pl_in_small_letters(struct pl_api_faults *f, const struct pl_tree *name);

/* A name as part of a path: neither "." nor "..", without '/' and '%'. */
pl_check pl_valid_path_segment;
/* acme.io/foo */
pl_check pl_valid_domain_path;
/* successPolicy of a Job's spec. */
void pl_valid_success_policy(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *spec);
/* The spec of a Pod, whatever it was before. */
void pl_valid_own_spec(struct pl_api_faults *f, const struct pl_tree *pod);
/* Paths in a container or a volume: without "..", and relative, too. */
pl_check pl_valid_no_steps_back, pl_valid_descending_path, pl_valid_absolute_path;
/* An object with that member alone; member may be NULL. */
const struct pl_tree *pl_valid_only_member(struct pl_api_faults *f, const struct pl_tree *object,
                                           const char *member);
/* fieldRef; arg: the fields that may be read, "A,B". resourceFieldRef: its divisor. */
pl_check pl_valid_field_ref, pl_valid_divisor;
/* The security contexts of a pod and of a container of it. */
void pl_valid_pod_context(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *context);
void pl_valid_container_context(struct pl_api_faults *f, const struct pl_spot *at,
                                const struct pl_tree *context, const struct pl_tree *pod);
/* Windows containers that run on the host. */
void pl_valid_host_processes(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *spec);
/* What a pod must not set because of its operating system. */
void pl_valid_system(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *spec);
/* Requests and limits of a container, or of a pod as a whole. claims: the pod's. */
void pl_valid_resources(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *resources, const struct pl_tree *claims, bool of_pod);
/* The resources of a pod as a whole, which are not below what its containers have together. */
void pl_valid_pod_resources(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *spec);
void pl_valid_pod_claims(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *claims);
void pl_valid_resize_policies(struct pl_api_faults *f, const struct pl_spot *at,
                              const struct pl_tree *list, struct pl_slice restart);
/* volumeMounts and volumeDevices of a container. */
void pl_valid_mounts(struct pl_api_faults *f, const struct pl_spot *at,
                     const struct pl_tree *container, const struct pl_tree *volumes);
/* metadata and spec of a template. */
void pl_valid_template(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *template);
/* volumes: those that can be mounted. */
void pl_valid_containers(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *spec, const struct pl_tree *volumes, bool own);
/* Returns the volumes without faults: no other can be mounted. pod: its name; "": unknown. */
const struct pl_tree *pl_valid_volumes(struct pl_api_faults *f, const struct pl_spot *at,
                                       const struct pl_tree *spec, struct pl_slice pod);
void pl_valid_projected(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *projected);
/* Tokens in volumes need an account. */
void pl_valid_token_volumes(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *spec);
/* The files of a source of a volume: items of a Secret or a ConfigMap, and fields of the pod. */
pl_check pl_valid_file_mode, pl_valid_inner_path, pl_valid_keys_to_paths;
void pl_valid_downward(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *source);
/* example.com/signer */
pl_check pl_valid_signer_name;
/* A name with a domain: example.com/name */
pl_check pl_valid_domain_key;
/* The one source of a volume: volume has no other member (pl_valid_only_member). name: the
 * volume's. */
void pl_valid_source_of_pod(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *volume, const struct pl_tree *name);
void pl_valid_source_of_volume(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *volume, struct pl_slice name);
/* matchLabelKeys and mismatchLabelKeys beside a labelSelector. */
void pl_valid_label_keys(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *term);
void pl_valid_affinity(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *affinity);
/* status.loadBalancer of a Service or an Ingress. */
void pl_valid_balancer_status(struct pl_api_faults *f, const struct pl_tree *object);
void pl_valid_node_selector(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *selector);
void pl_valid_tolerations(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *list);
/* old: the spec that the claim has now; NULL: none. */
void pl_valid_claim_spec(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *spec, const struct pl_tree *old);
/* The metadata of a template of claims: labels and annotations alone. */
void pl_valid_template_meta(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *meta);
/* The root of a CRD's schema. */
void pl_valid_schema(struct pl_api_faults *f, const struct pl_spot *at,
                     const struct pl_tree *schema);
/* The object's status has a condition of that type. */
bool pl_has_condition(const struct pl_tree *object, const char *type);
void pl_valid_schedule(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *schedule);
/* One rule of a webhook or a policy. */
void pl_webhook_rule(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *rule);
/* Match conditions with these variables (conditions.h). before: those of the old object, which are
 * not compiled again; NULL: none. */
struct pl_cel_var;
void pl_webhook_conditions(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *list, const struct pl_tree *before,
                           const struct pl_cel_var *vars);

/* Checks a kind's name: its lower-case form is a label, and the message shows the name. */
void pl_mixed_dns1035(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value);
/* The resources that Kubernetes counts and measures. */
#define PL_RESOURCES_COUNTED                                                                       \
    "pods,services,replicationcontrollers,resourcequotas,secrets,configmaps,"                      \
    "persistentvolumeclaims,services.nodeports,services.loadbalancers"
#define PL_RESOURCES_MEASURED                                                                      \
    "cpu,memory,ephemeral-storage,requests.cpu,requests.memory,requests.ephemeral-storage,"        \
    "requests.storage,limits.cpu,limits.memory,limits.ephemeral-storage"
/* The name of a resource has a domain, or Kubernetes knows it. True if it is good. in_quota: names
 * of a quota or a limit, which have requests of huge pages, too. */
bool pl_valid_resource_name(struct pl_api_faults *f, const struct pl_spot *at, struct pl_slice name,
                            bool in_quota);
/* The names and amounts of a quota: hard or used. */
void pl_valid_quota_amounts(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *amounts);
