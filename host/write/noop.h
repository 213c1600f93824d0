/* Whether a write would change anything. It answers "no" only if that is certain; then the gate
 * does not send it (step 5 of the write gate, write/gate.h). Pure; each table belongs to one
 * thread. */
#pragma once

#include "kube/client.h"
#include "object/schema.h"

/* status: the write goes to the status subresource, which changes only the status. A write of the
 * object itself does not change the status if the kind has that subresource. */
bool pl_noop_update(struct pl_node object, struct pl_node cached,
                    const struct pl_resource *resource, bool status);
bool pl_noop_merge_patch(struct pl_node patch, struct pl_node cached,
                         const struct pl_resource *resource, bool status);

/* ---- applies of this process ---- */

#define PL_APPLIED_MAX 100000

struct pl_applied;

/* The caller owns the table. Beyond the limit the oldest entries are forgotten. */
struct pl_applied *pl_applied_create(size_t limit);
void pl_applied_destroy(struct pl_applied *applied);
/* who: names object, subresource and field manager. schema: of the kind, or NULL. */
void pl_applied_remember(struct pl_applied *applied, struct pl_slice who, struct pl_node body,
                         const struct pl_schema *schema);
void pl_applied_forget(struct pl_applied *applied, struct pl_slice who);
/* True when the last apply under that name was this document, in any order of members. */
bool pl_applied_is_last(struct pl_applied *applied, struct pl_slice who, struct pl_node body);
/* The fields of an apply beside those of the last apply under that name, whatever their values.
 * SAME also when there was no such apply. */
enum pl_applied_fields {
    PL_FIELDS_SAME,
    PL_FIELDS_FEWER, /* it lacks at least one */
    PL_FIELDS_MORE,  /* it has at least one more, and lacks none */
};
enum pl_applied_fields pl_applied_compare(const struct pl_applied *applied, struct pl_slice who,
                                          struct pl_node body, const struct pl_schema *schema);
