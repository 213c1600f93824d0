/* The parser of expressions, and the nodes that it makes. Private to parse.c, macro.c and node.c.
 * All nodes lie in the arena. */
#pragma once

#include "cel/lex.h"

struct pl_cel_parser {
    struct pl_cel_lex lex;
    struct pl_arena *arena;
    struct pl_cel_issues *issues;
    size_t depth;
    bool has_failed;
};

/* Expressions up to a closing bracket. */
struct pl_cel_items {
    struct pl_cel_expr **ptr;
    bool *is_optional;
    size_t count, cap;
};

/* ---- node.c ---- */

/* Returns NULL. Only the first error is reported, since others would follow from it. */
struct pl_cel_expr *pl_cel_parse_fail(struct pl_cel_parser *p, uint32_t at, const char *fmt, ...)
    PL_PRINTF(3, 4);

struct pl_cel_expr *pl_cel_node(struct pl_cel_parser *p, enum pl_cel_expr_kind kind, uint32_t at);
/* Sets the depth of e, which contains `part`. Returns e, or NULL after an error: it would be too
 * deep. */
struct pl_cel_expr *pl_cel_node_above(struct pl_cel_parser *p, struct pl_cel_expr *e,
                                      const struct pl_cel_expr *part);
struct pl_cel_expr *pl_cel_node_constant(struct pl_cel_parser *p, uint32_t at, struct pl_cel value);
/* A call of a function that is not a member. The name is borrowed for life. NULL after an error. */
struct pl_cel_expr *pl_cel_node_call(struct pl_cel_parser *p, uint32_t at, const char *name,
                                     struct pl_cel_expr **args, size_t count);
/* NULL if one of the two is. */
struct pl_cel_expr *pl_cel_node_binary(struct pl_cel_parser *p, uint32_t at, const char *name,
                                       struct pl_cel_expr *left, struct pl_cel_expr *right);
void pl_cel_items_add(struct pl_cel_parser *p, struct pl_cel_items *items, struct pl_cel_expr *e,
                      bool optional);

/* ---- macro.c ---- */

/* Expands a call of a macro; target NULL: the call is not one of a member. False: the name and the
 * number of arguments are those of no macro. *out is NULL after an error. */
bool pl_cel_macro(struct pl_cel_parser *p, uint32_t at, struct pl_slice name,
                  struct pl_cel_expr *target, const struct pl_cel_items *args,
                  struct pl_cel_expr **out);
