/* What the files that make OpenAPI documents share: one document while it is made. */
#pragma once

#include "apicall/core.h"
#include "gotype/describe.h"

struct pl_openapi {
    struct pl_api_ctx *ctx;
    struct pl_describe to; /* in the request's arena */
    struct pl_tree *paths;
};

/* The schema of a kind with its list, added to the document; the names that they have there are in
 * the arena. A kind that is only posted has no list. */
struct pl_slice pl_openapi_add_kind(struct pl_openapi *doc, const struct pl_api_type *type,
                                    const struct pl_api_version *version);
/* The paths where the kind is served, which refer to its schema. */
void pl_openapi_add_paths(struct pl_openapi *doc, const struct pl_api_type *type,
                          const struct pl_api_version *version, struct pl_slice schema);
/* {"group", "version", "kind"} */
struct pl_tree *pl_openapi_gvk(struct pl_openapi *doc, const char *group, const char *version,
                               const char *kind);
