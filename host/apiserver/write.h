/* Creating, changing and deleting objects: shared by the verbs and the garbage collector. */
#pragma once

#include "apicall/core.h"

/* Creates an object for the server itself, without an answer. The object must be valid. */
void pl_api_store_own(struct pl_api *api, const char *group, const char *plural,
                      const struct pl_tree *object);

/* Creates the decoded object and answers. by_apply: managedFields are set already. */
int pl_api_store_new(struct pl_api_ctx *ctx, struct pl_tree *object, bool by_apply);

/* Changes an existing object to `object` (in the request's version), also for a subresource, and
 * answers. is_patch: precondition failures have other words. */
struct pl_api_change_options {
    bool by_apply, is_patch;
};
int pl_api_store_change(struct pl_api_ctx *ctx, struct pl_api_entry *entry, struct pl_tree *object,
                        const struct pl_api_change_options *options);

/* Writes the new state of an entry (storage version) for the server itself, without validation.
 * Removes the object if it is being deleted and has no finalizer. */
void pl_api_store_raw(struct pl_api *api, struct pl_arena *arena, struct pl_api_entry *entry,
                      struct pl_tree *object);
/* True if the object is being deleted and nothing holds it: no finalizer, no grace period. */
bool pl_api_is_finished(const struct pl_tree *object);

struct pl_api_delete_options {
    struct pl_slice uid, rv; /* preconditions; empty: none */
    struct pl_slice policy;  /* Background, Foreground, Orphan; empty: the kind's */
    bool dry_run;
    bool says_no_orphans; /* orphanDependents: false */
    bool is_asked;        /* by a client: without a policy the kind's own policy holds */
    bool is_unsafe;       /* despite unreadable storage: refused, as storage here is readable */
    bool is_graceful;     /* a Pod on a node stays until its grace period has ended */
    bool has_grace;
    int64_t grace_s; /* instead of the Pod's own */
};
/* Reads them from the request; sets its dry_run and the context's delete_options. Texts are
 * borrowed from it or lie in its arena. 0, or a failure in ctx->status. */
PL_MUST_USE int pl_api_delete_options_read(struct pl_api_ctx *ctx,
                                           struct pl_api_delete_options *options);
/* Deletes an object or marks it as being deleted. left: the remaining object (counted), or its last
 * state (counted) with *gone. */
int pl_api_delete_entry(struct pl_api_ctx *ctx, struct pl_api_entry *entry,
                        const struct pl_api_delete_options *options, struct pl_doc **left,
                        bool *gone);
