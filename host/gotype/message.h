/* The Go types of the built-in kinds: the fields of each type, their types, and their forms in JSON
 * and protobuf. Constant and part of the program; any thread. All results are borrowed for ever. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_packed_message;
struct pl_packed_field;
struct pl_packed_kind;

/* The form of one value. */
enum pl_form {
    PL_FORM_MESSAGE, /* an object with its own fields */
    PL_FORM_STRING,
    PL_FORM_BOOL,
    PL_FORM_INT32,
    PL_FORM_INT64,
    PL_FORM_DOUBLE,
    PL_FORM_BYTES, /* base64 in JSON */
    PL_FORM_TIME,
    PL_FORM_MICROTIME,
    PL_FORM_DURATION,
    PL_FORM_QUANTITY,
    PL_FORM_INT_OR_STRING,
    PL_FORM_FIELDS,  /* fieldsV1: JSON, unchanged */
    PL_FORM_RAW,     /* any object: JSON, unchanged */
    PL_FORM_JSON,    /* any value */
    PL_FORM_STRINGS, /* a list of strings that is a message in protobuf */
    PL_FORM_SCHEMA_OR_ARRAY,
    PL_FORM_SCHEMA_OR_BOOL,
    PL_FORM_SCHEMA_OR_STRINGS,
};

enum pl_many { PL_MANY_ONE, PL_MANY_LIST, PL_MANY_MAP }; /* PL_MANY_MAP: by string */

/* A type. `at` is private; NULL: there is no such type. */
struct pl_message {
    const struct pl_packed_message *at;
};

/* A field and its facts. name is NULL if there is no such field. */
struct pl_message_field {
    const char *name;
    enum pl_form form;
    enum pl_many many;
    unsigned number; /* number in protobuf; 0: none */
    unsigned flags;  /* enum pl_packed_flag (packed.h) */
    struct pl_message message;
    struct pl_message within; /* the type that has it itself; set by pl_message_get */
    const char *go;           /* named Go type, "v1.Protocol"; "" for none */
    /* "" for none; list_keys and values (of an enum) as "a,b" */
    const char *list_keys, *merge_key, *json_default, *values;
};

/* "v1.37.0"; a literal. */
const char *pl_message_release(void);
/* By OpenAPI name: "io.k8s.api.core.v1.PodSpec". */
struct pl_message pl_message_find(struct pl_slice name);
/* The type of a kind's objects; group "" for the core group. */
struct pl_message pl_message_of_kind(struct pl_slice group, struct pl_slice version,
                                     struct pl_slice kind);
static inline bool pl_message_is_none(struct pl_message message)
{
    return message.at == NULL;
}
/* The name in OpenAPI. Both of these names are "" if there is no such type. */
const char *pl_message_name(struct pl_message message);
/* The name in Go: "v1" and "PodSpec". The first is a part of the OpenAPI name. */
struct pl_slice pl_message_package(struct pl_message message);
const char *pl_message_go(struct pl_message message);
/* True when it has apiVersion and kind. */
bool pl_message_has_kind(struct pl_message message);
bool pl_message_is_atomic(struct pl_message message);

/* Finds a field by its name in JSON, also in inline fields. False: there is none. */
bool pl_message_get(struct pl_message message, struct pl_slice name,
                    struct pl_message_field *field);
/* Fields in Go's order. Inline fields count as one field. */
size_t pl_message_count(struct pl_message message);
void pl_message_at(struct pl_message message, size_t index, struct pl_message_field *field);
/* Finds a field by its protobuf number. False: there is none. */
bool pl_message_by_number(struct pl_message message, uint64_t number,
                          struct pl_message_field *field);

/* ---- kinds ---- */

struct pl_message_kind {
    const char *group, *version, *kind, *plural, *singular;
    const char *short_names, *categories, *verbs; /* "a,b"; "" for none */
    bool namespaced;
    struct pl_message message;
    const struct pl_packed_kind *at; /* private */
};

struct pl_message_sub {
    const char *name, *group, *version, *kind, *verbs;
};

struct pl_message_column {
    const char *name, *type, *format;
    unsigned priority;
};

size_t pl_message_kind_count(void);
void pl_message_kind_at(size_t index, struct pl_message_kind *kind);
size_t pl_message_sub_count(const struct pl_message_kind *kind);
void pl_message_sub_at(const struct pl_message_kind *kind, size_t index,
                       struct pl_message_sub *sub);
size_t pl_message_column_count(const struct pl_message_kind *kind);
void pl_message_column_at(const struct pl_message_kind *kind, size_t index,
                          struct pl_message_column *column);
