/* Which kinds there are: the built-in ones from a table, the others from applied
 * CustomResourceDefinitions. */
#pragma once

#include "apiserver/storage.h"
#include "object/tree.h"
#include "base/err.h"
#include "object/kind.h"
#include "object/schema.h"

#include <stdbool.h>

struct pl_api_registry;

enum {
    PL_API_NAMESPACED = 1,
    PL_API_STATUS = 2,         /* has a status subresource */
    PL_API_SCALE = 4,          /* has a scale subresource */
    PL_API_GENERATION = 8,     /* metadata.generation counts */
    PL_API_NEEDS_VERSION = 16, /* an update must carry a resourceVersion */
    PL_API_CREATE_ON_UPDATE = 32,
    PL_API_RETURNS_DELETED = 64, /* DELETE answers with the object, not a Status */
    PL_API_LAX_NAME = 128,       /* any path segment is a name (RBAC) */
    PL_API_LABEL_NAME = 256,     /* names are DNS labels, without dots */
    PL_API_NO_COLLECTION = 512,  /* no deletecollection */
    PL_API_REVIEW = 1024,        /* posted, answered, never stored */
};

/* One version of a kind as it is served. */
struct pl_api_version {
    char *group; /* owned; differs between versions only for events */
    char *name;  /* owned: "v1" */
    bool served;
    bool has_status, has_scale;
    struct pl_doc
        *definition;       /* counted: the CRD whose spec.versions[index] this is; NULL: built-in */
    struct pl_node schema; /* openAPIV3Schema, in definition */
    struct pl_schema *lists;                          /* owned; from schema */
    char *scale_spec, *scale_status, *scale_selector; /* owned paths ".spec.replicas"; NULL: none */
    struct pl_node columns, selectable;               /* in definition */
    const char *const *renames; /* pairs stored, served; NULL-terminated; NULL: none */
};

#define PL_API_MAX_VERSIONS 32

/* One kind with all its versions and objects. Lives as long as it is registered;
 * requests look it up anew. */
struct pl_api_type {
    char *plural, *singular, *kind, *list_kind; /* owned */
    char *short_names, *categories;             /* owned: "a,b"; "" for none */
    unsigned flags;
    bool is_custom;
    bool is_going;                   /* its CRD is being deleted: no creates */
    struct pl_api_version *versions; /* owned */
    size_t version_count;
    size_t storage_version; /* index */
    const char *const
        *selectable; /* field selector paths besides metadata; NULL-terminated or NULL */
    struct pl_api_table table;
    struct pl_api_type *next; /* in the registry's list */
};

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
int pl_api_registry_apply(struct pl_api_registry *registry, struct pl_doc *crd, struct pl_err *err);
/* Forgets a custom kind and its remaining objects. */
void pl_api_registry_remove(struct pl_api_registry *registry, struct pl_api_type *type);

/* What server-side apply and strategic patches know of the kind's lists; may be NULL. */
const struct pl_schema *pl_api_type_lists(const struct pl_api_type *type, size_t version);
const char *pl_api_type_group(const struct pl_api_type *type); /* of the storage version */
/* "apps/v1" */
struct pl_slice pl_api_version_text(const struct pl_api_version *version, char out[PL_KIND_TEXT]);
