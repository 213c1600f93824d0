/* Functions that the cells_*.c files share. */
#pragma once

#include "base/buf.h"
#include "value/doc.h"

#include <stdbool.h>
#include <stdint.h>

/* PL_MISSING: the value is absent. */
struct pl_node pl_cell_at(struct pl_node object, const char *path);
int64_t pl_cell_int(struct pl_node object, const char *path); /* 0: none */
/* Appends a text or a number. False: it is absent or "". */
bool pl_cell_add(struct pl_buf *out, struct pl_node object, const char *path);
/* The same, or appends the other text. */
void pl_cell_add_or(struct pl_buf *out, struct pl_node object, const char *path, const char *other);
/* True if there is a text other than "". */
bool pl_cell_has(struct pl_node object, const char *path);
/* Appends the separator unless the buffer is still empty. */
void pl_cell_separate(struct pl_buf *out, const char *separator);
/* Puts what was appended since then into small letters. */
void pl_cell_lower(struct pl_buf *out, size_t from);
void pl_cell_age(struct pl_buf *out, struct pl_node time, int64_t now_ns);
/* True if the value is that text. */
bool pl_cell_is(struct pl_node object, const char *path, const char *text);
/* The condition of that type in status.conditions; PL_MISSING: there is none. */
struct pl_node pl_cell_condition_of(struct pl_node object, const char *type);
/* True if status.conditions has that type with that status. */
bool pl_cell_condition(struct pl_node object, const char *type, const char *status);

/* ---- cells_pod.c ---- */

void pl_cell_pod_ready(struct pl_buf *out, struct pl_node pod, int64_t now_ns);
void pl_cell_pod_status(struct pl_buf *out, struct pl_node pod, int64_t now_ns);
void pl_cell_pod_restarts(struct pl_buf *out, struct pl_node pod, int64_t now_ns);
void pl_cell_pod_gates(struct pl_buf *out, struct pl_node pod, int64_t now_ns);

/* ---- cells_node.c ---- */

void pl_cell_node_status(struct pl_buf *out, struct pl_node node, int64_t now_ns);
void pl_cell_node_roles(struct pl_buf *out, struct pl_node node, int64_t now_ns);
void pl_cell_node_internal(struct pl_buf *out, struct pl_node node, int64_t now_ns);
void pl_cell_node_external(struct pl_buf *out, struct pl_node node, int64_t now_ns);
void pl_cell_node_kernel(struct pl_buf *out, struct pl_node node, int64_t now_ns);
void pl_cell_hpa_targets(struct pl_buf *out, struct pl_node hpa, int64_t now_ns);

/* ---- cells_service.c ---- */

void pl_cell_ports(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_external(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_address(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_hosts(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_ingress_ports(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_slice_ports(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_slice_endpoints(struct pl_buf *out, struct pl_node object, int64_t now_ns);

/* ---- cells_event.c ---- */

void pl_cell_last_seen(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_first_seen(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_event_object(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_event_source(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_message(struct pl_buf *out, struct pl_node object, int64_t now_ns);

/* ---- cells_cluster.c ---- */

void pl_cell_quota_requests(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_quota_limits(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_revision_of(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_endpoints(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_class_parameters(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_audiences(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_modes(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_migrated(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_migration(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_signing_duration(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_signing(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_pod_certificate(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_address_owner(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_ranges(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_dangling(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_api_service(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_available(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_versions(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_short_names(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_param_kind(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_param_name(struct pl_buf *out, struct pl_node object, int64_t now_ns);
void pl_cell_claim_state(struct pl_buf *out, struct pl_node object, int64_t now_ns);
