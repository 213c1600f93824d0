/* Fields that are not declared in a schema, as server-side apply reports them. */
#pragma once

#include "apicall/core.h"

/* The text about them: "errors:" and one line each, or one line. In the arena. */
struct pl_slice pl_api_undeclared(struct pl_api_ctx *ctx, const struct pl_tree *paths);
/* True if a manager has written a custom object in another version than the request's. Only then
 * can there be a fault of a manager. */
bool pl_api_has_other_versions(const struct pl_api_ctx *ctx, const struct pl_tree *entries);
/* Entries of managedFields are compared in the version that they were written in. The fault of the
 * object, which has the request's version, in one of these versions; NULL: there is none. */
const char *pl_api_manager_fault(struct pl_api_ctx *ctx, const struct pl_tree *object,
                                 const struct pl_tree *entries);
