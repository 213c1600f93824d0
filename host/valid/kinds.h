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
    pl_valid_signing_request, pl_valid_revision, pl_valid_definition, pl_valid_policy,
    pl_valid_policy_binding, pl_valid_mutating_policy, pl_valid_mutating_binding,
    pl_valid_flow_schema, pl_valid_priority_level, pl_valid_api_service, pl_valid_address,
    pl_valid_range, pl_valid_csi_node, pl_valid_capacity, pl_valid_attributes_class,
    pl_valid_migration, pl_valid_trust_bundle, pl_valid_device_class, pl_valid_taint_rule,
    pl_valid_device_claim, pl_valid_device_template, pl_valid_device_slice;

/* ---- parts ---- */

/* The name of a driver of storage or devices, which may have capital letters. */
pl_check pl_valid_driver_name;
struct pl_tree *pl_in_small_letters(struct pl_api_faults *f, const struct pl_tree *name);

/* metadata and spec of a template. */
void pl_valid_template(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *template);
void pl_valid_containers(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *spec, bool own);
void pl_valid_volumes(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *spec);
void pl_valid_affinity(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *affinity);
/* status.loadBalancer of a Service or an Ingress. */
void pl_valid_balancer_status(struct pl_api_faults *f, const struct pl_tree *object);
void pl_valid_node_selector(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *selector);
void pl_valid_tolerations(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *list);
void pl_valid_claim_spec(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *spec);
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
