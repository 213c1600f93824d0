/* Nodes of an expression's tree. TREE_DEPTH limits its depth, which chains of operators can make
 * large without nesting. So code that walks the tree may recurse. */
#include "cel/parse_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TREE_DEPTH 300

struct pl_cel_expr *pl_cel_parse_fail(struct pl_cel_parser *p, uint32_t at, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!p->has_failed && p->lex.token != PL_CEL_T_WRONG)
        pl_cel_issue(p->issues, at, "%s", text);
    p->has_failed = true;
    return NULL;
}

struct pl_cel_expr *pl_cel_node(struct pl_cel_parser *p, enum pl_cel_expr_kind kind, uint32_t at)
{
    struct pl_cel_expr *e = pl_arena_alloc(p->arena, sizeof *e);
    e->kind = kind;
    e->at = at;
    return e;
}

struct pl_cel_expr *pl_cel_node_above(struct pl_cel_parser *p, struct pl_cel_expr *e,
                                      const struct pl_cel_expr *part)
{
    if (e == NULL || part == NULL)
        return NULL;
    if (part->depth >= TREE_DEPTH)
        return pl_cel_parse_fail(p, e->at, "expression recursion limit exceeded: %d", TREE_DEPTH);
    if (e->depth <= part->depth)
        e->depth = (uint16_t)(part->depth + 1);
    return e;
}

struct pl_cel_expr *pl_cel_node_constant(struct pl_cel_parser *p, uint32_t at, struct pl_cel value)
{
    struct pl_cel_expr *e = pl_cel_node(p, PL_CEL_CONST, at);
    e->constant = value;
    return e;
}

struct pl_cel_expr *pl_cel_node_call(struct pl_cel_parser *p, uint32_t at, const char *name,
                                     struct pl_cel_expr **args, size_t count)
{
    struct pl_cel_expr *e = pl_cel_node(p, PL_CEL_CALL, at);
    e->call.name = pl_slice_z(name);
    e->call.args = pl_arena_alloc(p->arena, (count + 1) * sizeof *args);
    e->call.count = count;
    for (size_t i = 0; i < count && e != NULL; i++) {
        e->call.args[i] = args[i];
        e = pl_cel_node_above(p, e, args[i]);
    }
    return e;
}

struct pl_cel_expr *pl_cel_node_binary(struct pl_cel_parser *p, uint32_t at, const char *name,
                                       struct pl_cel_expr *left, struct pl_cel_expr *right)
{
    struct pl_cel_expr *args[] = {left, right};
    return left != NULL && right != NULL ? pl_cel_node_call(p, at, name, args, 2) : NULL;
}

void pl_cel_items_add(struct pl_cel_parser *p, struct pl_cel_items *items, struct pl_cel_expr *e,
                      bool optional)
{
    if (items->count == items->cap) {
        size_t cap = items->cap ? 2 * items->cap : 8;
        struct pl_cel_expr **ptr = pl_arena_alloc(p->arena, cap * sizeof(struct pl_cel_expr *));
        bool *is_optional = pl_arena_alloc(p->arena, cap * sizeof(bool));
        if (items->count > 0) {
            memcpy(ptr, items->ptr, items->count * sizeof(struct pl_cel_expr *));
            memcpy(is_optional, items->is_optional, items->count * sizeof(bool));
        }
        *items = (struct pl_cel_items){ptr, is_optional, items->count, cap};
    }
    items->is_optional[items->count] = optional;
    items->ptr[items->count++] = e;
}
