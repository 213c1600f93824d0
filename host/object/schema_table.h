/* How the tables of the built-in kinds are written, and what schemas from OpenAPI have in common
 * with them: private to schema*.c.
 *
 * Only exceptions are listed. By default objects merge member by member, lists are atomic, and a
 * member without an entry has no schema. */
#pragma once

#include "object/schema.h"

struct pl_schema {
    bool is_made; /* from OpenAPI: part of a struct made_schema (schema.c); else of a row */
    enum pl_list_type list;
    bool merge_set; /* a list of scalars that patches merge */
    bool atomic;
    bool replaced; /* an object that strategic patches replace */
};

/* A value of a type. The rows of a type are in the order of a walk through its members; the first
 * one, of level 0, is the type itself, and another one of level 0 ends them. Rows hold no pointers,
 * see "Rules that hold everywhere" in host/README.md. */
struct pl_schema_row {
    struct pl_schema schema;
    unsigned char level;
    unsigned char type; /* enum pl_schema_type, of a list: its elements; 0: none, or rows below */
    bool merges;        /* patches merge the list by its first key */
    char name[48];
    char keys[36]; /* that identify the elements of a list: "a\0b" */
    char default_json[8];
};

/* The rows of a type, by its number. */
const struct pl_schema_row *pl_schema_rows(unsigned type);
/* The metadata of all kinds. */
const struct pl_schema *pl_schema_of_meta(void);
