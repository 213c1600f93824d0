/* The table of the built-in kinds as it lies in the binary. pack.c writes it during the build,
 * message.c reads it. It is constant and has no pointers, so its pages are shared between processes
 * and are read only when needed. Texts are offsets into a pool of NUL-terminated texts; 0 is "". */
#pragma once

#include <stdint.h>

enum pl_packed_flag {
    PL_PACKED_OMITEMPTY = 1,
    PL_PACKED_OMITZERO = 2,
    PL_PACKED_POINTER = 4,
    PL_PACKED_REQUIRED = 8,
    PL_PACKED_ATOMIC = 16, /* a map or object that server-side apply takes as one value */
    PL_PACKED_INLINE = 32, /* in JSON, its fields are fields of the object around it */
    PL_PACKED_SET = 64,    /* a list with x-kubernetes-list-type: set */
    PL_PACKED_MAP = 128,   /* a list with x-kubernetes-list-type: map */
    PL_PACKED_MERGE = 256, /* a list that strategic patches merge */
    PL_PACKED_RETAIN = 512,
    PL_PACKED_WHOLE = 1024, /* a list with x-kubernetes-list-type: atomic */
};

struct pl_packed_field {
    uint32_t name;
    uint16_t type;  /* index of the message, for PL_FORM_MESSAGE */
    uint16_t extra; /* index; 0: none */
    uint16_t flags;
    uint8_t number; /* number in protobuf; 0: none */
    uint8_t form;   /* enum pl_form, and enum pl_many << 6 */
};

struct pl_packed_extra {
    uint32_t go, keys, merge_key, json_default, values; /* keys and values: "a,b" */
};

struct pl_packed_message {
    uint32_t name;
    uint16_t first, count; /* first field, number of fields */
    uint16_t flags;        /* 1: has apiVersion and kind; 2: atomic */
};

struct pl_packed_kind {
    uint32_t group, version, kind, plural, singular, short_names, categories, verbs;
    uint16_t message, first_sub, sub_count, first_column, column_count, namespaced;
};

struct pl_packed_sub {
    uint32_t name, group, version, kind, verbs;
};

struct pl_packed_column {
    uint32_t name, type, format, priority;
};

struct pl_packed {
    const char *texts;
    const struct pl_packed_field *fields;
    const struct pl_packed_extra *extras;
    const struct pl_packed_message *messages; /* sorted by name */
    const struct pl_packed_kind *kinds;       /* sorted by group, version, plural */
    const struct pl_packed_sub *subs;
    const struct pl_packed_column *columns;
    uint32_t version;
    uint16_t field_count, message_count, kind_count;
};

/* The table, a constant of the program. Defined in the file that pack writes. */
const struct pl_packed *pl_packed_kinds(void);
