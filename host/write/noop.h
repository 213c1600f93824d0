/* Would a write change anything? Answers "no" only where that is certain: the gate then does
 * not send it (step 5 of the write gate, write/gate.h). Pure; one thread a table. */
#pragma once

#include "kube/client.h"

/* status: the write goes to the status subresource, which changes nothing else; a write of
 * the object itself changes no status where the kind has that subresource. */
bool pl_noop_update(struct pl_node object, struct pl_node cached,
                    const struct pl_resource *resource, bool status);
bool pl_noop_merge_patch(struct pl_node patch, struct pl_node cached,
                         const struct pl_resource *resource, bool status);

/* ---- what this process has applied ---- */

#define PL_APPLIED_MAX 100000

struct pl_applied;

struct pl_applied *pl_applied_create(size_t limit); /* the oldest are forgotten beyond it */
void pl_applied_destroy(struct pl_applied *applied);
/* who: names object, subresource and field manager. */
void pl_applied_remember(struct pl_applied *applied, struct pl_slice who, struct pl_node body);
void pl_applied_forget(struct pl_applied *applied, struct pl_slice who);
/* The last thing applied under that name was this document, whatever the order of its members. */
bool pl_applied_is_last(struct pl_applied *applied, struct pl_slice who, struct pl_node body);
/* Something was applied under that name. */
bool pl_applied_knows(const struct pl_applied *applied, struct pl_slice who);
size_t pl_applied_count(const struct pl_applied *applied);
