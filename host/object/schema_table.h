/* How the tables of the built-in kinds are written: private to schema*.c.
 *
 * Only exceptions are listed. By default objects merge member by member, lists are atomic, and a
 * member without an entry has no schema. */
#pragma once

#include "object/schema.h"

struct pl_schema_field {
    const char *name; /* NULL ends a list */
    const struct pl_schema *schema;
};

struct pl_schema {
    const struct pl_schema_field *fields; /* an object's known members; NULL: none */
    const struct pl_schema
        *values; /* of an object: schema of every member that fields does not name */
    const struct pl_schema *items; /* of a list: its elements */
    const char *const *keys;       /* of a PL_LIST_MAP, NULL-terminated */
    const char *merge_key;         /* of a list of objects that patches merge */
    const char *default_json;
    enum pl_list_type list;
    bool merge_set; /* a list of scalars that patches merge */
    bool atomic;
    bool replaced; /* an object that strategic patches replace */
};

#define PL_SCHEMA(...) (&(const struct pl_schema){__VA_ARGS__})
#define FIELDS(...)                                                                                \
    .fields = (const struct pl_schema_field[])                                                     \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            NULL, NULL                                                                             \
        }                                                                                          \
    }
#define OBJECT(...) PL_SCHEMA(FIELDS(__VA_ARGS__))
#define KEYS(...)                                                                                  \
    .keys = (const char *const[])                                                                  \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* A list of objects that one key identifies, for apply and for patches. */
#define LIST_BY(key, of)                                                                           \
    PL_SCHEMA(.list = PL_LIST_MAP, KEYS(key), .merge_key = (key), .items = (of))
/* Two keys identify an element; patches merge by the first. */
#define LIST_BY_TWO(key, second, of)                                                               \
    PL_SCHEMA(.list = PL_LIST_MAP, KEYS(key, second), .merge_key = (key), .items = (of))
/* Keys identify elements for apply; patches replace the list. */
#define LIST_APPLY_BY(of, ...) PL_SCHEMA(.list = PL_LIST_MAP, KEYS(__VA_ARGS__), .items = (of))
/* Merged by patches, one value for apply. */
#define LIST_PATCH_BY(key) PL_SCHEMA(.merge_key = (key))
#define SET                PL_SCHEMA(.list = PL_LIST_SET)
#define SET_MERGED         PL_SCHEMA(.list = PL_LIST_SET, .merge_set = true)
/* An object that is one value. */
#define ATOMIC PL_SCHEMA(.atomic = true)

/* Tables that other tables use. */
extern const struct pl_schema pl_schema_meta;
extern const struct pl_schema pl_schema_pod;
extern const struct pl_schema pl_schema_pod_template;
extern const struct pl_schema pl_schema_claim_spec; /* a PersistentVolumeClaim's spec */
