/* An expression as a tree: the parser makes it, the checker adds types and slots, and the
 * evaluation walks it. Macros are expanded by the parser: has() becomes a test, the others become
 * loops. Everything lives in the program's arena. Private to cel, and to code that reads an
 * expression without evaluating it. */
#pragma once

#include "cel/cel.h"

enum pl_cel_expr_kind {
    PL_CEL_CONST,
    PL_CEL_IDENT,
    PL_CEL_SELECT,
    PL_CEL_CALL,
    PL_CEL_NEW_LIST,
    PL_CEL_NEW_MAP,
    PL_CEL_NEW_OBJECT, /* Name{field: value} */
    PL_CEL_LOOP,
    PL_CEL_BIND, /* optMap, optFlatMap: names the value of an optional */
};

enum pl_cel_loop {
    PL_CEL_ALL,
    PL_CEL_EXISTS,
    PL_CEL_EXISTS_ONE,
    PL_CEL_MAPPED,
    PL_CEL_FILTER,
    PL_CEL_SORT_BY,
    PL_CEL_TO_MAP,
    PL_CEL_TO_ENTRIES,
};

struct pl_cel_function;
struct pl_regex;

/* All compiled patterns of one program; further ones are compiled by each evaluation. */
#define PL_CEL_REGEX_BYTES ((size_t)1 << 20)

struct pl_cel_expr {
    enum pl_cel_expr_kind kind;
    uint16_t depth;                 /* levels below it */
    uint32_t at;                    /* byte in the text, for messages */
    const struct pl_cel_type *type; /* set by the checker */
    union {
        struct pl_cel constant;
        struct {
            struct pl_slice name;
            int slot; /* of a variable, or of a loop's variable; -1: the name of a type, in
                         `constant_type` */
            const struct pl_cel_type *constant_type;
        } ident;
        struct {
            struct pl_cel_expr *of;
            struct pl_slice field;
            bool is_test;     /* has(a.b) */
            bool is_optional; /* a.?b */
        } select;
        struct {
            struct pl_slice name;      /* "_+_" for operators */
            struct pl_cel_expr **args; /* of a member function, the target comes first */
            size_t count;
            bool is_member;
            const struct pl_cel_function *const
                *rows; /* overloads of that name; set by the checker */
            size_t row_count;
            /* Of matches() with a literal: the compiled pattern; NULL: compiled when it is needed.
             */
            const struct pl_regex *regex;
        } call;
        struct {
            struct pl_cel_expr **items;     /* of a map: key, value, key, value; of an object, too,
                                               where keys are literals at the place of the colon */
            bool *is_optional;              /* of each item or entry */
            size_t count;                   /* items or entries */
            struct pl_slice name;           /* of an object's type */
            const struct pl_cel_type *type; /* of an object; set by the checker */
        } list;
        struct {
            enum pl_cel_loop what;
            struct pl_cel_expr *range;
            struct pl_slice var, var2;  /* var2.ptr NULL: one variable */
            int slot;                   /* var's; var2's is the next */
            struct pl_cel_expr *filter; /* may be NULL */
            struct pl_cel_expr *body;
        } loop;
        struct {
            struct pl_cel_expr *target;
            struct pl_slice var;
            int slot;
            struct pl_cel_expr *body;
            bool is_flat;
        } bind;
    };
};

struct pl_cel_program {
    struct pl_arena arena;
    struct pl_cel_expr *root;
    bool makes_patches;
    size_t var_count;
    int slot_count; /* variables of the program and of its loops */
    uint32_t used;  /* bit i: the expression uses variable i */
    uint64_t cost;
};

/* Findings about an expression, in the form of the compiler's messages. */
struct pl_cel_issues {
    struct pl_slice text; /* the expression */
    struct pl_buf *out;   /* borrowed */
    size_t count;
};

void pl_cel_issue(struct pl_cel_issues *issues, uint32_t at, const char *fmt, ...) PL_PRINTF(3, 4);

/* Returns NULL and adds an issue when the text is no expression. The tree lives in the arena. */
struct pl_cel_expr *pl_cel_parse(struct pl_arena *arena, struct pl_slice text,
                                 struct pl_cel_issues *issues);
/* Resolves names and types; false after an issue. */
bool pl_cel_check(struct pl_cel_program *program, const struct pl_cel_var *vars, size_t count,
                  struct pl_cel_issues *issues);
/* root: the type of the first variable, where all paths begin; NULL without variables. */
uint64_t pl_cel_estimate(const struct pl_cel_program *program, const struct pl_cel_type *root);
