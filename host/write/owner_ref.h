/* Owner references: the rules that are checked before a request is made, and the controller
 * reference that the host sets (rule 143). Pure; any thread. */
#pragma once

#include "base/err.h"
#include "kube/resource.h"
#include "object/meta.h"
#include "value/doc.h"

/* Returns `object` with a controller reference to `owner` (blockOwnerDeletion set), and with the
 * owner's namespace if the object has none and its kind needs one. Returns the object itself, with
 * another reference, when nothing has to change. NULL with EREFUSED ("scope") across namespaces,
 * from a namespaced owner to a cluster-scoped child, or when there is another controller; EINVAL
 * for an owner that is not a stored object. */
struct pl_doc *pl_owner_ref_set(struct pl_doc *object, const struct pl_resource *resource,
                                struct pl_node owner, struct pl_err *err);

/* Whether `owner` may take over the existing object. EREFUSED: "scope" when it has another
 * controller, "adopt" when it has none and `adopt` is not set. */
PL_MUST_USE int pl_owner_ref_check_existing(struct pl_node existing, struct pl_node owner,
                                            bool adopt, struct pl_err *err);

/* Whether `object` has another controller than `existing`, of the same kind and name: one of the
 * two was created anew. Stores the controller of `object`, borrowed from it. */
bool pl_owner_ref_replaces(struct pl_node existing, struct pl_node object, struct pl_owner *owner);

/* Checks references that a script put into `object` itself: at most one controller; and, by
 * `owner_is_namespaced`, none from a namespaced owner to a cluster-scoped child. */
typedef bool (*pl_is_namespaced_fn)(void *arg, const struct pl_kind *kind);
PL_MUST_USE int pl_owner_ref_check(struct pl_node object, const struct pl_resource *resource,
                                   pl_is_namespaced_fn owner_is_namespaced, void *arg,
                                   struct pl_err *err);
