/* Values of CEL at run time. A value is small and passed by copy. It may point to memory in the
 * arena of the evaluation and to documents that the evaluation was given. One thread. */
#pragma once

#include "cel/type.h"

struct pl_cel_list;
struct pl_cel_map;
struct pl_cel_eval;

struct pl_cel_time {
    int64_t seconds; /* of a time: since 1970, UTC; of a duration: its whole seconds */
    int32_t ns;      /* of a time: 0 to 999999999; of a duration: of the same sign as seconds */
};

/* Exact to 10^-9. */
struct pl_cel_quantity {
    __int128 nano; /* in units of 10^-9 */
};

struct pl_cel_ip {
    uint8_t bytes[16];
    uint8_t len;    /* 4 or 16 */
    uint8_t prefix; /* of a CIDR: its length in bits */
};

struct pl_cel_url {
    struct pl_slice scheme, host, path, query;
};

/* A question about rights, and the decision: authz.h. */
struct pl_cel_check;
struct pl_cel_decision;

struct pl_cel_semver {
    uint64_t major, minor, patch;
    struct pl_slice pre; /* of a pre-release: the text after '-' */
};

struct pl_cel {
    enum pl_cel_kind kind;
    bool is_tree; /* of lists, maps and objects: it is part of a document, in `tree` */
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double d;
        struct pl_slice s; /* of strings, bytes, errors (the message), and the name of a format */
        struct pl_cel_time t;
        struct {
            const struct pl_tree *tree;
            const struct pl_cel_type *type; /* NULL: dyn */
        };
        const struct pl_cel_list *list;
        const struct pl_cel_map *map;
        const struct pl_cel *value;   /* of an optional; NULL: none */
        const struct pl_cel_type *of; /* of types */
        const struct pl_cel_quantity *q;
        const struct pl_cel_ip *ip;
        const struct pl_cel_url *url;
        const struct pl_cel_semver *semver;
        const struct pl_cel_check *check; /* of an authorizer and its checks */
        const struct pl_cel_decision *decision;
    };
};

struct pl_cel_list {
    size_t count;
    const struct pl_cel *items;
    const struct pl_cel_type *type; /* decides how it is compared; NULL: element by element */
};

struct pl_cel_entry {
    struct pl_cel key, value;
};

struct pl_cel_map {
    size_t count;
    const struct pl_cel_entry *entries; /* each key occurs once */
    const struct pl_cel_type *type;     /* of objects that an expression has made */
};

/* ---- constructors; texts are borrowed ---- */
struct pl_cel pl_cel_bool(bool value);
struct pl_cel pl_cel_int(int64_t value);
struct pl_cel pl_cel_double(double value);
struct pl_cel pl_cel_string(struct pl_slice text);
struct pl_cel pl_cel_null(void);
struct pl_cel pl_cel_some(struct pl_arena *arena, struct pl_cel value);
struct pl_cel pl_cel_none(void);
/* A list of `count` zeroed elements in the arena; fill them before the list is used. */
struct pl_cel pl_cel_new_list(struct pl_arena *arena, size_t count, struct pl_cel **items);
struct pl_cel pl_cel_new_map(struct pl_arena *arena, size_t count, struct pl_cel_entry **entries);
/* An error with printf's text. */
struct pl_cel pl_cel_fail(struct pl_arena *arena, const char *fmt, ...) PL_PRINTF(2, 3);
/* A value of a document as a value of this type (NULL: dyn, and numbers by their form); an error
 * when it has another type. */
struct pl_cel pl_cel_from_tree(struct pl_arena *arena, const struct pl_tree *tree,
                               const struct pl_cel_type *type);

/* ---- as documents (document.c) ---- */
enum pl_cel_document {
    PL_CEL_AS_OBJECT, /* a part of an object */
    PL_CEL_AS_JSON,   /* a value in a JSON patch */
};
/* The value as a part of a document, in the arena; NULL with *error if it has no such form. */
struct pl_tree *pl_cel_to_tree(struct pl_arena *arena, struct pl_cel value,
                               enum pl_cel_document form, struct pl_cel *error);
/* In an object that an expression has made, the type of each inner object must be named after its
 * place: Object.spec in `spec`. False: a type is not; the reasons are appended to why. */
bool pl_cel_names_fit(struct pl_arena *arena, struct pl_cel object, struct pl_buf *why);

/* ---- reading ---- */
static inline bool pl_cel_is_error(struct pl_cel value)
{
    return value.kind == PL_CEL_ERROR;
}
/* The size of a list, map, object, string (in characters) or bytes; 1 for all other values. */
size_t pl_cel_size(struct pl_cel value);
/* The elements of a list. A list that came from a document is converted at the first call of an
 * evaluation. The result lives as long as the evaluation. */
const struct pl_cel_list *pl_cel_list_of(struct pl_cel_eval *eval, struct pl_cel list);
/* The keys and values of a map or object. The result lives as long as the evaluation. */
const struct pl_cel_map *pl_cel_map_of(struct pl_cel_eval *eval, struct pl_cel map);
/* Finds a map's value; false: there is no such key. */
bool pl_cel_map_get(struct pl_cel_eval *eval, struct pl_cel map, struct pl_cel key,
                    struct pl_cel *value);
/* Finds a member of an object or map by its name in expressions; false: there is none. */
bool pl_cel_field(struct pl_cel_eval *eval, struct pl_cel object, struct pl_slice name,
                  struct pl_cel *value);
/* Compares by value, also numbers of different types. */
bool pl_cel_equal(struct pl_cel_eval *eval, struct pl_cel a, struct pl_cel b);
/* True for equal elements of a set, and for those of a map list that have equal keys. */
bool pl_cel_same_element(struct pl_cel_eval *eval, const struct pl_cel_type *type, struct pl_cel a,
                         struct pl_cel b);
/* -1, 0, 1; 2: they have no order. */
int pl_cel_compare(struct pl_cel a, struct pl_cel b);
/* The result of type(value); types of lists and maps have no parts. */
struct pl_cel pl_cel_type_value(struct pl_cel value);
size_t pl_cel_characters(struct pl_slice text);
