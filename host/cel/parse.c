/* From text to a tree, by recursive descent. Macros are expanded on the way (macro.c). PL_CEL_DEPTH
 * limits nesting, and node.c the depth of the tree. && and || take any number of arguments, so long
 * conditions are not deep. */
#include "cel/parse_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS 10000

static struct pl_cel_expr *expression(struct pl_cel_parser *p);

static struct pl_cel_expr *parse_unexpected(struct pl_cel_parser *p)
{
    if (p->lex.token == PL_CEL_T_END)
        return pl_cel_parse_fail(p, p->lex.start, "Syntax error: mismatched input '<EOF>'");
    return pl_cel_parse_fail(p, p->lex.start, "Syntax error: extraneous input '%.*s'",
                             PL_FMT(p->lex.text));
}

static bool parse_take(struct pl_cel_parser *p, const char *sign)
{
    if (!pl_cel_lex_is(&p->lex, sign))
        return false;
    pl_cel_lex_next(&p->lex);
    return true;
}

static bool expect(struct pl_cel_parser *p, const char *sign)
{
    if (parse_take(p, sign))
        return true;
    parse_unexpected(p);
    return false;
}

/* Reads expressions up to `end`, a closing bracket, which is consumed. */
static bool read_items(struct pl_cel_parser *p, const char *end, bool may_be_optional,
                       struct pl_cel_items *items)
{
    *items = (struct pl_cel_items){0};
    bool has_trailing = end[0] != ')';
    while (!parse_take(p, end)) {
        if (items->count > 0 && !expect(p, ","))
            return false;
        if (items->count > 0 && has_trailing && parse_take(p, end))
            return true;
        bool optional = may_be_optional && parse_take(p, "?");
        struct pl_cel_expr *e = expression(p);
        if (e == NULL || items->count >= MAX_ITEMS)
            return pl_cel_parse_fail(p, p->lex.start, "too many elements") != NULL;
        pl_cel_items_add(p, items, e, optional);
    }
    return true;
}

/* A call by name; of a member function if there is a target. */
static struct pl_cel_expr *named_call(struct pl_cel_parser *p, uint32_t at, struct pl_slice name,
                                      struct pl_cel_expr *target)
{
    struct pl_cel_items args;
    if (!read_items(p, ")", false, &args))
        return NULL;
    struct pl_cel_expr *e;
    if (pl_cel_macro(p, at, name, target, &args, &e))
        return e;
    e = pl_cel_node(p, PL_CEL_CALL, at);
    size_t shift = target != NULL;
    e->call.name = pl_arena_copy(p->arena, name);
    e->call.is_member = target != NULL;
    e->call.count = args.count + shift;
    e->call.args = pl_arena_alloc(p->arena, (e->call.count + 1) * sizeof *e->call.args);
    for (size_t i = 0; i < e->call.count && e != NULL; i++) {
        e->call.args[i] = i < shift ? target : args.ptr[i - shift];
        e = pl_cel_node_above(p, e, e->call.args[i]);
    }
    return e;
}

/* ---- primaries ---- */

static struct pl_cel_expr *integer(struct pl_cel_parser *p, struct pl_slice text, bool is_negative,
                                   uint32_t at)
{
    char digits[80];
    bool is_hex = text.len > 1 && (text.ptr[1] == 'x' || text.ptr[1] == 'X');
    snprintf(digits, sizeof digits, "%.*s", PL_FMT(text));
    errno = 0;
    unsigned long long value = strtoull(digits + (is_hex ? 2 : 0), NULL, is_hex ? 16 : 10);
    if (text.len >= sizeof digits || errno != 0 || value > (uint64_t)INT64_MAX + is_negative)
        return pl_cel_parse_fail(p, at, "invalid int literal");
    return pl_cel_node_constant(p, at,
                                pl_cel_int(is_negative ? (int64_t)(0 - value) : (int64_t)value));
}

static struct pl_cel_expr *unsigned_integer(struct pl_cel_parser *p, struct pl_slice text,
                                            uint32_t at)
{
    char digits[80];
    bool is_hex = text.len > 1 && (text.ptr[1] == 'x' || text.ptr[1] == 'X');
    snprintf(digits, sizeof digits, "%.*s", PL_FMT(text));
    errno = 0;
    uint64_t value = strtoull(digits + (is_hex ? 2 : 0), NULL, is_hex ? 16 : 10);
    if (text.len >= sizeof digits || errno != 0)
        return pl_cel_parse_fail(p, at, "invalid uint literal");
    return pl_cel_node_constant(p, at, (struct pl_cel){.kind = PL_CEL_UINT, .u = value});
}

static struct pl_cel_expr *floating(struct pl_cel_parser *p, struct pl_slice text, bool is_negative,
                                    uint32_t at)
{
    struct pl_slice copy = pl_arena_f(p->arena, "%.*s", PL_FMT(text));
    double value = strtod(copy.ptr, NULL);
    return pl_cel_node_constant(p, at, pl_cel_double(is_negative ? -value : value));
}

/* A literal, if the current token is one. Otherwise NULL, without an error. */
static struct pl_cel_expr *parse_literal(struct pl_cel_parser *p, bool is_negative, uint32_t at)
{
    enum pl_cel_token token = p->lex.token;
    struct pl_slice text = p->lex.text;
    if (token == PL_CEL_T_NAME || token == PL_CEL_T_SIGN || token == PL_CEL_T_END ||
        token == PL_CEL_T_WRONG)
        return NULL;
    pl_cel_lex_next(&p->lex);
    if (token == PL_CEL_T_INT)
        return integer(p, text, is_negative, at);
    if (token == PL_CEL_T_DOUBLE)
        return floating(p, text, is_negative, at);
    if (token == PL_CEL_T_UINT)
        return unsigned_integer(p, text, at);
    struct pl_cel value = pl_cel_string(text);
    value.kind = token == PL_CEL_T_BYTES ? PL_CEL_BYTES : PL_CEL_STRING;
    return pl_cel_node_constant(p, at, value);
}

static bool is_reserved(struct pl_slice name)
{
    static const char words[][12] = {
        "as",  "break", "const",   "continue",  "else",   "for", "function", "if",    "import",
        "let", "loop",  "package", "namespace", "return", "var", "void",     "while", "in"};
    for (size_t i = 0; i < PL_ARRAY_LEN(words); i++)
        if (pl_slice_eqz(name, words[i]))
            return true;
    return false;
}

static struct pl_cel_expr *name_or_call(struct pl_cel_parser *p)
{
    struct pl_slice name = p->lex.text;
    uint32_t at = p->lex.start;
    pl_cel_lex_next(&p->lex);
    if (pl_slice_eqz(name, "true") || pl_slice_eqz(name, "false"))
        return pl_cel_node_constant(p, at, pl_cel_bool(name.ptr[0] == 't'));
    if (pl_slice_eqz(name, "null"))
        return pl_cel_node_constant(p, at, pl_cel_null());
    if (is_reserved(name))
        return pl_cel_parse_fail(p, at, "reserved identifier: %.*s", PL_FMT(name));
    if (pl_cel_lex_is(&p->lex, "(")) {
        at = p->lex.start;
        pl_cel_lex_next(&p->lex);
        return named_call(p, at, name, NULL);
    }
    struct pl_cel_expr *e = pl_cel_node(p, PL_CEL_IDENT, at);
    e->ident.name = pl_arena_copy(p->arena, name);
    return e;
}

static struct pl_cel_expr *new_list(struct pl_cel_parser *p, uint32_t at)
{
    struct pl_cel_items items;
    if (!read_items(p, "]", true, &items))
        return NULL;
    struct pl_cel_expr *e = pl_cel_node(p, PL_CEL_NEW_LIST, at);
    e->list.items = items.ptr;
    e->list.is_optional = items.is_optional;
    e->list.count = items.count;
    for (size_t i = 0; i < items.count && e != NULL; i++)
        e = pl_cel_node_above(p, e, items.ptr[i]);
    return e;
}

/* The items are key, value, key, value. */
static struct pl_cel_expr *with_entries(struct pl_cel_parser *p, struct pl_cel_expr *e,
                                        const struct pl_cel_items *items)
{
    e->list.items = items->ptr;
    e->list.is_optional = items->is_optional;
    e->list.count = items->count / 2;
    for (size_t i = 0; i < items->count && e != NULL; i++)
        e = pl_cel_node_above(p, e, items->ptr[i]);
    return e;
}

static struct pl_cel_expr *new_map(struct pl_cel_parser *p, uint32_t at)
{
    struct pl_cel_items items = {0};
    while (!parse_take(p, "}")) {
        if (items.count > 0 && !expect(p, ","))
            return NULL;
        if (items.count > 0 && parse_take(p, "}"))
            break;
        bool optional = parse_take(p, "?");
        struct pl_cel_expr *key = expression(p);
        if (key == NULL || !expect(p, ":"))
            return NULL;
        struct pl_cel_expr *value = expression(p);
        if (value == NULL || items.count >= 2 * MAX_ITEMS)
            return pl_cel_parse_fail(p, p->lex.start, "too many entries");
        pl_cel_items_add(p, &items, key, optional);
        pl_cel_items_add(p, &items, value, optional);
    }
    return with_entries(p, pl_cel_node(p, PL_CEL_NEW_MAP, at), &items);
}

static struct pl_cel_expr *primary(struct pl_cel_parser *p)
{
    uint32_t at = p->lex.start;
    struct pl_cel_expr *e = parse_literal(p, false, at);
    if (e != NULL || p->has_failed)
        return e;
    if (parse_take(p, "("))
        return (e = expression(p)) != NULL && expect(p, ")") ? e : NULL;
    if (parse_take(p, "["))
        return new_list(p, at);
    if (parse_take(p, "{"))
        return new_map(p, at);
    if (!parse_take(p, ".") && p->lex.token == PL_CEL_T_END)
        return pl_cel_parse_fail(
            p, p->lex.start,
            "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', "
            "'-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
            "STRING, BYTES, IDENTIFIER}");
    return p->lex.token == PL_CEL_T_NAME ? name_or_call(p) : parse_unexpected(p);
}

/* ---- what follows a primary ---- */

static struct pl_cel_expr *selection(struct pl_cel_parser *p, struct pl_cel_expr *of, uint32_t at)
{
    bool is_optional = parse_take(p, "?");
    struct pl_slice name = p->lex.text;
    if (p->lex.token != PL_CEL_T_NAME)
        return parse_unexpected(p);
    if (pl_slice_eqz(name, "in") || pl_slice_eqz(name, "true") || pl_slice_eqz(name, "false") ||
        pl_slice_eqz(name, "null"))
        return parse_unexpected(p);
    pl_cel_lex_next(&p->lex);
    if (!is_optional && pl_cel_lex_is(&p->lex, "(")) {
        at = p->lex.start;
        pl_cel_lex_next(&p->lex);
        return named_call(p, at, name, of);
    }
    struct pl_cel_expr *e = pl_cel_node(p, PL_CEL_SELECT, at);
    e->select.of = of;
    e->select.field = pl_arena_copy(p->arena, name);
    e->select.is_optional = is_optional;
    return pl_cel_node_above(p, e, of);
}

static struct pl_cel_expr *subscript(struct pl_cel_parser *p, struct pl_cel_expr *of, uint32_t at)
{
    bool is_optional = parse_take(p, "?");
    struct pl_cel_expr *index = expression(p);
    if (index == NULL || !expect(p, "]"))
        return NULL;
    return pl_cel_node_binary(p, at, is_optional ? "_[?_]" : "_[_]", of, index);
}

/* The dotted name that the expression is; ptr NULL: it is something else. */
static struct pl_slice type_name(struct pl_cel_parser *p, const struct pl_cel_expr *e)
{
    if (e->kind == PL_CEL_IDENT)
        return e->ident.name;
    if (e->kind != PL_CEL_SELECT || e->select.is_test || e->select.is_optional)
        return pl_slice(NULL, 0);
    struct pl_slice before = type_name(p, e->select.of);
    if (before.ptr == NULL)
        return before;
    return pl_arena_f(p->arena, "%.*s.%.*s", PL_FMT(before), PL_FMT(e->select.field));
}

/* Reads `name: value` and adds both. */
static bool parse_field(struct pl_cel_parser *p, struct pl_cel_items *items)
{
    bool optional = parse_take(p, "?");
    struct pl_slice name = pl_arena_copy(p->arena, p->lex.text);
    if (p->lex.token != PL_CEL_T_NAME) {
        parse_unexpected(p);
        return false;
    }
    pl_cel_lex_next(&p->lex);
    struct pl_cel_expr *key = pl_cel_node_constant(p, p->lex.start, pl_cel_string(name));
    struct pl_cel_expr *value = expect(p, ":") ? expression(p) : NULL;
    if (value != NULL && items->count >= 2 * MAX_ITEMS)
        value = pl_cel_parse_fail(p, p->lex.start, "too many fields");
    if (value == NULL)
        return false;
    pl_cel_items_add(p, items, key, optional);
    pl_cel_items_add(p, items, value, optional);
    return true;
}

/* A type's name has been read as `of`, and a brace follows. */
static struct pl_cel_expr *new_object(struct pl_cel_parser *p, const struct pl_cel_expr *of,
                                      uint32_t at)
{
    struct pl_cel_items items = {0};
    struct pl_slice name = type_name(p, of);
    if (name.ptr == NULL)
        return parse_unexpected(p);
    pl_cel_lex_next(&p->lex);
    while (!parse_take(p, "}")) {
        if (items.count > 0 && !expect(p, ","))
            return NULL;
        if (items.count > 0 && parse_take(p, "}"))
            break;
        if (!parse_field(p, &items))
            return NULL;
    }
    struct pl_cel_expr *e = pl_cel_node(p, PL_CEL_NEW_OBJECT, at);
    e->list.name = name;
    return with_entries(p, e, &items);
}

static struct pl_cel_expr *parse_member(struct pl_cel_parser *p, struct pl_cel_expr *e)
{
    while (e != NULL) {
        uint32_t at = p->lex.start;
        if (parse_take(p, "."))
            e = selection(p, e, at);
        else if (parse_take(p, "["))
            e = subscript(p, e, at);
        else if (pl_cel_lex_is(&p->lex, "{"))
            e = new_object(p, e, at);
        else
            break;
    }
    return e;
}

static struct pl_cel_expr *unary(struct pl_cel_parser *p)
{
    uint32_t at = p->lex.start;
    size_t nots = 0, minuses = 0;
    while (parse_take(p, "!"))
        nots++;
    while (nots == 0 && parse_take(p, "-"))
        minuses++;
    struct pl_cel_expr *e = NULL;
    if (minuses % 2 == 1 && (p->lex.token == PL_CEL_T_INT || p->lex.token == PL_CEL_T_DOUBLE)) {
        e = parse_literal(p, true, at);
        minuses--;
    } else {
        e = primary(p);
    }
    e = parse_member(p, e);
    if (e == NULL || (nots % 2 == 0 && minuses % 2 == 0))
        return e;
    return pl_cel_node_call(p, at, nots % 2 == 1 ? "!_" : "-_", &e, 1);
}

/* ---- operators ---- */

struct binary_op {
    const char *sign, *name;
    int level; /* precedence; higher binds closer */
};

static const struct binary_op operators[] = {
    {"||", "_||_", 1}, {"&&", "_&&_", 2}, {"<", "_<_", 3},   {"<=", "_<=_", 3}, {">=", "_>=_", 3},
    {">", "_>_", 3},   {"==", "_==_", 3}, {"!=", "_!=_", 3}, {"in", "@in", 3},  {"+", "_+_", 4},
    {"-", "_-_", 4},   {"*", "_*_", 5},   {"/", "_/_", 5},   {"%", "_%_", 5},
};

static const struct binary_op *operator_at(const struct pl_cel_parser *p)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(operators); i++)
        if (pl_cel_lex_is(&p->lex, operators[i].sign))
            return &operators[i];
    return NULL;
}

/* Makes one call of a && b && c, so that long conditions are not deep. */
static struct pl_cel_expr *parse_join(struct pl_cel_parser *p, const struct binary_op *op,
                                      uint32_t at, struct pl_cel_expr *left,
                                      struct pl_cel_expr *right)
{
    if (left == NULL || right == NULL)
        return NULL;
    bool is_chain = op->level <= 2 && left->kind == PL_CEL_CALL && !left->call.is_member &&
                    pl_slice_eqz(left->call.name, op->name);
    if (!is_chain)
        return pl_cel_node_binary(p, at, op->name, left, right);
    size_t count = left->call.count;
    if ((count & (count - 1)) == 0) { /* doubles the room */
        struct pl_cel_expr **args = pl_arena_alloc(p->arena, 2 * count * sizeof *args);
        memcpy(args, left->call.args, count * sizeof *args);
        left->call.args = args;
    }
    left->call.args[left->call.count++] = right;
    return pl_cel_node_above(p, left, right);
}

static struct pl_cel_expr *operation(struct pl_cel_parser *p, int level)
{
    struct pl_cel_expr *left = unary(p);
    const struct binary_op *op;
    while (left != NULL && (op = operator_at(p)) != NULL && op->level >= level) {
        uint32_t at = p->lex.start;
        pl_cel_lex_next(&p->lex);
        left = parse_join(p, op, at, left, operation(p, op->level + 1));
    }
    return left;
}

static struct pl_cel_expr *conditional(struct pl_cel_parser *p)
{
    struct pl_cel_expr *parts[3] = {operation(p, 1)};
    uint32_t at = p->lex.start;
    if (parts[0] == NULL || !parse_take(p, "?"))
        return parts[0];
    parts[1] = operation(p, 1);
    if (parts[1] == NULL || !expect(p, ":"))
        return NULL;
    parts[2] = expression(p);
    return parts[2] != NULL ? pl_cel_node_call(p, at, "_?_:_", parts, 3) : NULL;
}

static struct pl_cel_expr *expression(struct pl_cel_parser *p)
{
    if (p->depth >= PL_CEL_DEPTH)
        return pl_cel_parse_fail(p, p->lex.start, "expression recursion limit exceeded: %d",
                                 PL_CEL_DEPTH);
    p->depth++;
    struct pl_cel_expr *e = conditional(p);
    p->depth--;
    return e;
}

struct pl_cel_expr *pl_cel_parse(struct pl_arena *arena, struct pl_slice text,
                                 struct pl_cel_issues *issues)
{
    struct pl_cel_parser p = {.arena = arena, .issues = issues};
    if (text.len > PL_CEL_TEXT)
        return pl_cel_parse_fail(&p, 0,
                                 "expression code point size exceeds limit: size: %zu, limit %u",
                                 text.len, PL_CEL_TEXT);
    pl_cel_lex_begin(&p.lex, arena, text, issues);
    struct pl_cel_expr *e = expression(&p);
    if (e != NULL && p.lex.token != PL_CEL_T_END)
        return pl_cel_parse_fail(&p, p.lex.start,
                                 "Syntax error: extraneous input '%.*s' expecting <EOF>",
                                 PL_FMT(p.lex.text));
    return issues->count == 0 ? e : NULL;
}
