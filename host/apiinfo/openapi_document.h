/* One OpenAPI document while it is made. Shared by the files that make it. */
#pragma once

#include "apicall/core.h"
#include "gotype/describe.h"

struct pl_openapi {
    struct pl_api_ctx *ctx;
    struct pl_describe to; /* in the request's arena */
    struct pl_tree *paths;
};

/* Adds the schemas of a kind and of its list to the document; their names there are in the arena. A
 * kind that can only be posted has no list. */
struct pl_slice pl_openapi_add_kind(struct pl_openapi *doc, const struct pl_api_type *type,
                                    const struct pl_api_version *version);
/* Adds the paths of a kind, which refer to its schema. */
void pl_openapi_add_paths(struct pl_openapi *doc, const struct pl_api_type *type,
                          const struct pl_api_version *version, struct pl_slice schema);
/* {"group", "version", "kind"}. In the document's arena. */
struct pl_tree *pl_openapi_gvk(struct pl_openapi *doc, const char *group, const char *version,
                               const char *kind);
