/* The served kinds: built-in kinds from a table, and kinds of applied CustomResourceDefinitions. */
#pragma once

#include "apistore/storage.h"
#include "schema/type.h"

struct pl_api_registry;

/* Holds the built-in kinds. The caller owns the registry. */
struct pl_api_registry *pl_api_registry_create(void);
/* Frees the types and their objects, and drops references to their documents. */
void pl_api_registry_destroy(struct pl_api_registry *registry);

/* The first type in the order in which they were added; the others follow it. The registry owns
 * them. */
struct pl_api_type *pl_api_registry_first(const struct pl_api_registry *registry);
/* Finds a type by group, version and plural; only served versions count. NULL if there is none.
 * version (may be NULL) is set to the index. Borrowed: lives until the kind is removed. */
struct pl_api_type *pl_api_registry_find(const struct pl_api_registry *registry,
                                         struct pl_slice group, struct pl_slice version,
                                         struct pl_slice plural, size_t *index);
/* The type with that group and plural, in any version. NULL if there is none. Borrowed. */
struct pl_api_type *pl_api_registry_find_group(const struct pl_api_registry *registry,
                                               struct pl_slice group, struct pl_slice plural);
/* The type that serves that kind in that version, as apiVersion names it; NULL if there is none.
 * Borrowed. */
struct pl_api_type *pl_api_registry_find_kind(const struct pl_api_registry *registry,
                                              struct pl_slice api_version, struct pl_slice kind);
/* The objects of a built-in kind, which must exist. Borrowed. */
struct pl_api_table *pl_api_builtin_table(const struct pl_api_registry *registry, const char *group,
                                          const char *plural);
bool pl_api_registry_is_builtin(const struct pl_api_registry *registry, struct pl_slice group);

/* Differs after each change of the kinds. */
uint64_t pl_api_registry_changes(const struct pl_api_registry *registry);

/* Adds or updates the custom kind of a valid CRD. Its objects stay. */
PL_MUST_USE int pl_api_registry_apply(struct pl_api_registry *registry, struct pl_doc *crd,
                                      struct pl_err *err);
/* Removes a custom kind and its remaining objects. */
void pl_api_registry_remove(struct pl_api_registry *registry, struct pl_api_type *type);
