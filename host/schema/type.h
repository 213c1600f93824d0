/* A kind: its names, its versions with their schemas, and its behaviour in the API server. Built-in
 * kinds come from a row of builtin.h, custom kinds from their CRD. */
#pragma once

#include "base/err.h"
#include "object/kind.h"
#include "object/schema.h"
#include "object/tree.h"
#include "value/doc.h"

#include <stdbool.h>

struct pl_api_builtin;
struct pl_api_table;

enum {
    PL_API_NAMESPACED = 1,
    PL_API_STATUS = 2,         /* has a status subresource */
    PL_API_SCALE = 4,          /* has a scale subresource */
    PL_API_GENERATION = 8,     /* metadata.generation is incremented */
    PL_API_NEEDS_VERSION = 16, /* an update must carry a resourceVersion */
    PL_API_CREATE_ON_UPDATE = 32,
    PL_API_RETURNS_DELETED = 64, /* DELETE answers with the object, not a Status */
    PL_API_LAX_NAME = 128,       /* any path segment is a name (RBAC) */
    PL_API_LABEL_NAME = 256,     /* names are DNS labels, without dots */
    PL_API_NO_COLLECTION = 512,  /* no deletecollection */
    PL_API_REVIEW = 1024,        /* posted, answered, never stored */
    PL_API_READ_ONLY = 2048,     /* read and listed, and no other verbs */
};

struct pl_api_rules;

/* Converts an object of a built-in kind in place between its stored version and its second one. */
typedef void pl_api_conversion(struct pl_arena *arena, struct pl_tree *object, bool to_storage);

/* One served version of a kind. */
struct pl_api_version {
    char *group; /* owned; differs between versions only for events */
    char *name;  /* owned: "v1" */
    bool served;
    bool has_status, has_scale;
    struct pl_doc
        *definition;       /* counted: the CRD whose spec.versions[index] this is; NULL: built-in */
    struct pl_node node;   /* of that version, in definition; missing: built-in */
    struct pl_node schema; /* its openAPIV3Schema */
    struct pl_schema *lists;    /* owned; from schema */
    struct pl_api_rules *rules; /* owned; made from schema; NULL: none */
    bool has_embedded;          /* the schema has objects inside of the object */
    char *scale_spec, *scale_status, *scale_selector; /* owned paths ".spec.replicas"; NULL: none */
    struct pl_node columns, selectable;               /* in definition */
    const char *const *renames; /* pairs stored, served; NULL-terminated; NULL: none */
};

#define PL_API_MAX_VERSIONS 32

/* One kind with all its versions and objects. It lives as long as it is registered; each request
 * looks it up. */
struct pl_api_type {
    char *plural, *singular, *kind, *list_kind; /* owned */
    char *short_names, *categories;             /* owned: "a,b"; "" for none */
    unsigned flags;
    bool is_custom;
    bool is_going;                   /* its CRD is being deleted: no creates */
    bool is_changed;                 /* some objects may be older than its definition */
    struct pl_api_version *versions; /* owned */
    size_t version_count;
    size_t storage_version;     /* index */
    pl_api_conversion *convert; /* NULL: a custom kind, or one without another form */
    const char *const
        *selectable;            /* field selector paths besides metadata; NULL-terminated or NULL */
    struct pl_api_table *table; /* its objects; the registry makes and destroys the table */
    struct pl_api_type *next, *next_alike; /* in the registry's lists */
};

struct pl_api_type *pl_api_type_of_builtin(const struct pl_api_builtin *row); /* owned */
/* Makes the custom kind that `crd` declares (valid; a reference is taken), or updates `type` if it
 * is not NULL. On NULL and the error, `type` is unchanged. */
struct pl_api_type *pl_api_type_of_crd(struct pl_api_type *type, struct pl_doc *crd,
                                       struct pl_err *err);
void pl_api_type_destroy(struct pl_api_type *type);

bool pl_api_type_has_group(const struct pl_api_type *type, struct pl_slice group);
/* The list schema of the kind, for server-side apply and strategic patches; may be NULL. Borrowed
 * from the type. */
const struct pl_schema *pl_api_type_lists(const struct pl_api_type *type, size_t version);
/* Writes of its status may also change labels, annotations, finalizers and owners. */
bool pl_api_type_status_has_meta(const struct pl_api_type *type);
const char *
pl_api_type_group(const struct pl_api_type *type); /* the group of the storage version */
/* "apps/v1" */
struct pl_slice pl_api_version_text(const struct pl_api_version *version, char out[PL_KIND_TEXT]);

/* The order is v2, v1, v2beta1, v1alpha2. Names of another form come last, sorted. */
bool pl_api_version_comes_before(const char *a, const char *b);

/* True if it is the built-in kind of that name. */
bool pl_api_type_is_builtin(const struct pl_api_type *type, const char *kind);
