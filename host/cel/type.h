/* Types of CEL (Common Expression Language, https://github.com/google/cel-spec): of variables, of
 * expressions, and of values of documents. Types are immutable and live in an arena or in static
 * memory; none is freed alone. */
#pragma once

#include "base/buf.h"
#include "base/slice.h"
#include "object/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pl_cel_kind {
    PL_CEL_DYN, /* only a type: the kind is known at run time */
    PL_CEL_NULL,
    PL_CEL_BOOL,
    PL_CEL_INT,
    PL_CEL_UINT,
    PL_CEL_DOUBLE,
    PL_CEL_STRING,
    PL_CEL_BYTES,
    PL_CEL_LIST,
    PL_CEL_MAP,
    PL_CEL_OBJECT, /* a map with declared fields */
    PL_CEL_TIMESTAMP,
    PL_CEL_DURATION,
    PL_CEL_TYPE,
    PL_CEL_OPTIONAL,
    PL_CEL_QUANTITY, /* the types of Kubernetes' libraries from here on */
    PL_CEL_URL,
    PL_CEL_IP,
    PL_CEL_CIDR,
    PL_CEL_FORMAT,
    PL_CEL_SEMVER,
    PL_CEL_AUTHORIZER, /* checks of rights (authz.h) from here on */
    PL_CEL_PATH_CHECK,
    PL_CEL_GROUP_CHECK,
    PL_CEL_RESOURCE_CHECK,
    PL_CEL_DECISION,
    PL_CEL_PARAM, /* only in signatures: any type, but the same one for each use of its name */
    PL_CEL_ERROR, /* only a value */
};

#define PL_CEL_UNBOUNDED UINT64_MAX

struct pl_cel_type;

struct pl_cel_field {
    struct pl_slice name;   /* in expressions: see pl_cel_escape */
    struct pl_slice member; /* in documents */
    const struct pl_cel_type *type;
    bool is_required;
};

struct pl_cel_type {
    enum pl_cel_kind kind;
    const struct pl_cel_type *key;     /* of maps; NULL: dyn */
    const struct pl_cel_type *elem;    /* of lists, maps, optionals, types; NULL: dyn */
    const char *name;                  /* of objects; NULL: "object" */
    const struct pl_cel_field *fields; /* of objects */
    size_t field_count;
    /* How large a value can be, for estimates: characters, bytes, elements or members. */
    uint64_t max_size;
    /* The smallest number of bytes of a value in a request. */
    uint64_t min_bytes;
    /* Of lists: how elements are compared and added (x-kubernetes-list-type). */
    bool is_set, is_map_list;
    bool is_open;                     /* of objects: any name is a field, of type dyn */
    const struct pl_slice *list_keys; /* of map lists */
    size_t list_key_count;
};

/* A type without parts: static, one for each kind. DYN for kinds with parts. */
const struct pl_cel_type *pl_cel_type_of(enum pl_cel_kind kind);
const struct pl_cel_type *pl_cel_type_list(struct pl_arena *arena, const struct pl_cel_type *elem);
const struct pl_cel_type *pl_cel_type_map(struct pl_arena *arena, const struct pl_cel_type *key,
                                          const struct pl_cel_type *value);
/* The type of the literal []: any list's type replaces it. */
const struct pl_cel_type *pl_cel_type_empty_list(void);
/* The type of a document that kube-apiserver evaluates as Go structures and not as JSON. It is dyn
 * for expressions, but lists and objects of it cannot be values of a JSON patch. */
const struct pl_cel_type *pl_cel_type_of_go(void);
/* The type of objects with this name: Object, Object.some.path or JSONPatch. NULL: there is none.
 */
const struct pl_cel_type *pl_cel_type_patch(struct pl_arena *arena, struct pl_slice name);
const struct pl_cel_type *pl_cel_type_optional(struct pl_arena *arena,
                                               const struct pl_cel_type *elem);
/* These functions take NULL as dyn. */
bool pl_cel_type_is_dyn(const struct pl_cel_type *type);
/* The type of a list's elements, of a map's values, or of an optional's value. */
const struct pl_cel_type *pl_cel_type_elem(const struct pl_cel_type *type);
/* The type of a map's keys. */
const struct pl_cel_type *pl_cel_type_key(const struct pl_cel_type *type);
bool pl_cel_type_equal(const struct pl_cel_type *a, const struct pl_cel_type *b);
/* True when a value of type `from` may be used for `to`. Dyn fits everywhere; null fits where a
 * value may be absent. */
bool pl_cel_type_fits(const struct pl_cel_type *from, const struct pl_cel_type *to);
/* The field with this name, which belongs to the type; NULL when the object has none. */
const struct pl_cel_field *pl_cel_type_field(const struct pl_cel_type *type, struct pl_slice name);
/* As messages of compilers write it: "map(string, list(int))". */
void pl_cel_type_write(struct pl_buf *out, const struct pl_cel_type *type);
/* The name that `type(value)` prints; "" for kinds that have no name. A literal. */
const char *pl_cel_kind_name(enum pl_cel_kind kind);

/* A field's name in expressions ("my-name": "my__dash__name"); false when it cannot be written. The
 * text lives in the arena, or is the name itself. */
bool pl_cel_escape(struct pl_arena *arena, struct pl_slice name, struct pl_slice *escaped);

/* The type of values that this structural schema (apiextensions.k8s.io/v1, as a document)
 * describes; NULL when expressions cannot reach such values. is_root: apiVersion, kind and the
 * names in metadata are added. The schema must outlive the type. The result lives in the arena or
 * in static memory. */
const struct pl_cel_type *pl_cel_type_from_schema(struct pl_arena *arena, struct pl_node schema,
                                                  bool is_root);
