/* The flows that change objects, as the verbs and the background work share them. */
#pragma once

#include "apicall/core.h"

/* Creates an object for the server itself; nothing is answered. It must be a good one. */
void pl_api_store_own(struct pl_api *api, const char *group, const char *plural,
                      const struct pl_tree *object);

/* Creates the (decoded) object and answers. by_apply: managedFields are already right. */
int pl_api_store_new(struct pl_api_ctx *ctx, struct pl_tree *object, bool by_apply);

/* An existing object becomes `object` (request's version), whatever subresource the
 * request names; answers. is_patch: precondition failures are worded differently. */
struct pl_api_change_options {
    bool by_apply, is_patch;
};
int pl_api_store_change(struct pl_api_ctx *ctx, struct pl_api_entry *entry, struct pl_tree *object,
                        const struct pl_api_change_options *options);

/* Writes the new state of an entry (storage version) for the server itself: no
 * validation; removes the object when it is deleted and its last finalizer went. */
void pl_api_store_raw(struct pl_api *api, struct pl_arena *arena, struct pl_api_entry *entry,
                      struct pl_tree *object);
/* Nothing keeps a deleted object that says so. */
bool pl_api_is_finished(const struct pl_tree *object);

struct pl_api_delete_options {
    struct pl_slice uid, rv; /* preconditions; empty: none */
    struct pl_slice policy;  /* Background, Foreground, Orphan; empty: the kind's */
    bool dry_run;
    bool is_asked;    /* by a client: the kind's own policy holds where there is none */
    bool is_graceful; /* a Pod on a node stays until its grace period is over or shortened to 0 */
    bool has_grace;
    int64_t grace_s; /* instead of the Pod's own */
};
/* Deletes, or marks as being deleted. left: the object if it is still there (counted),
 * or its last state (counted) with *gone. */
int pl_api_delete_entry(struct pl_api_ctx *ctx, struct pl_api_entry *entry,
                        const struct pl_api_delete_options *options, struct pl_doc **left,
                        bool *gone);
