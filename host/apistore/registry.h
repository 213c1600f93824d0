/* Which kinds there are: the built-in ones from a table, the others from applied
 * CustomResourceDefinitions. */
#pragma once

#include "apistore/storage.h"
#include "schema/type.h"

struct pl_api_registry;

struct pl_api_registry *pl_api_registry_create(void);
/* Objects go with their types; pool documents are dropped here. */
void pl_api_registry_destroy(struct pl_api_registry *registry);

/* All types in the order they came. */
struct pl_api_type *pl_api_registry_first(const struct pl_api_registry *registry);
/* By group, version and plural, served versions only. NULL when there is none;
 * version (may be NULL) becomes the index. */
struct pl_api_type *pl_api_registry_find(const struct pl_api_registry *registry,
                                         struct pl_slice group, struct pl_slice version,
                                         struct pl_slice plural, size_t *index);
/* Any type of that group and plural. */
struct pl_api_type *pl_api_registry_find_group(const struct pl_api_registry *registry,
                                               struct pl_slice group, struct pl_slice plural);
bool pl_api_registry_is_builtin(const struct pl_api_registry *registry, struct pl_slice group);

/* Makes or remakes the custom kind that a (valid) CRD declares; objects survive. */
PL_MUST_USE int pl_api_registry_apply(struct pl_api_registry *registry, struct pl_doc *crd,
                                      struct pl_err *err);
/* Forgets a custom kind and its remaining objects. */
void pl_api_registry_remove(struct pl_api_registry *registry, struct pl_api_type *type);
