/* The shapes of the built-in kinds as Kubernetes publishes them: which fields a type has, of which
 * types they are, and how they are written in JSON and protobuf. Constant and part of the program;
 * any thread. Everything that is handed out is borrowed for ever. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_packed_message;
struct pl_packed_field;
struct pl_packed_kind;

/* What one value is. */
enum pl_form {
    PL_FORM_MESSAGE, /* an object with fields of its own */
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
    PL_FORM_FIELDS,  /* fieldsV1: JSON as it is */
    PL_FORM_RAW,     /* any object: JSON as it is */
    PL_FORM_JSON,    /* any value */
    PL_FORM_STRINGS, /* a list of strings that is a message of its own in protobuf */
    PL_FORM_SCHEMA_OR_ARRAY,
    PL_FORM_SCHEMA_OR_BOOL,
    PL_FORM_SCHEMA_OR_STRINGS,
};

enum pl_many { PL_MANY_ONE, PL_MANY_LIST, PL_MANY_MAP }; /* maps: by string */

/* A type. at is private; NULL: there is no such type. */
struct pl_message {
    const struct pl_packed_message *at;
};

/* A field with its facts. name is NULL where there is none. */
struct pl_message_field {
    const char *name;
    enum pl_form form;
    enum pl_many many;
    unsigned number; /* protobuf; 0: none */
    unsigned flags;  /* enum pl_packed_flag (packed.h) */
    struct pl_message message;
    const char *go; /* named Go type, "v1.Protocol"; "" for none */
    /* "" for none; keys and values (an enum's): "a,b" */
    const char *list_keys, *merge_key, *json_default, *values;
};

/* "v1.37.0"; a literal. */
const char *pl_message_release(void);
/* By OpenAPI name: "io.k8s.api.core.v1.PodSpec". */
struct pl_message pl_message_find(struct pl_slice name);
/* The type of a kind's objects, group "" for core. */
struct pl_message pl_message_of_kind(struct pl_slice group, struct pl_slice version,
                                     struct pl_slice kind);
static inline bool pl_message_is_none(struct pl_message message)
{
    return message.at == NULL;
}
/* The OpenAPI name. */
const char *pl_message_name(struct pl_message message);
/* What Go calls it: "v1" and "PodSpec". The first is a part of the name. */
struct pl_slice pl_message_package(struct pl_message message);
const char *pl_message_go(struct pl_message message);
/* Does it have apiVersion and kind? */
bool pl_message_has_kind(struct pl_message message);
bool pl_message_is_atomic(struct pl_message message);

/* By the name that JSON has; looks into fields that are inline. False: there is none. */
bool pl_message_get(struct pl_message message, struct pl_slice name,
                    struct pl_message_field *field);
/* The fields in Go's order, inline ones as they are. */
size_t pl_message_count(struct pl_message message);
void pl_message_at(struct pl_message message, size_t index, struct pl_message_field *field);
/* By protobuf number. False: there is none. */
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
