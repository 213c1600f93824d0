/* From text to a tree, by recursive descent. Macros are expanded during parsing. PL_CEL_DEPTH
 * limits nesting, and TREE_DEPTH limits the depth of the tree, which chains of operators can make
 * deep without nesting. So code that walks the tree may recurse. && and || take any number of
 * arguments, so long conditions are not deep. */
#include "cel/lex.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TREE_DEPTH 300
#define MAX_ITEMS  10000

struct parser {
    struct pl_cel_lex lex;
    struct pl_arena *arena;
    struct pl_cel_issues *issues;
    size_t depth;
    bool has_failed;
};

static struct pl_cel_expr *expression(struct parser *p);

/* Returns NULL. Only the first error is reported, since others would follow from it. */
static struct pl_cel_expr *parse_fail(struct parser *p, uint32_t at, const char *fmt, ...)
    PL_PRINTF(3, 4);

static struct pl_cel_expr *parse_fail(struct parser *p, uint32_t at, const char *fmt, ...)
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

static struct pl_cel_expr *parse_unexpected(struct parser *p)
{
    if (p->lex.token == PL_CEL_T_END)
        return parse_fail(p, p->lex.start, "Syntax error: mismatched input '<EOF>'");
    return parse_fail(p, p->lex.start, "Syntax error: extraneous input '%.*s'",
                      PL_FMT(p->lex.text));
}

static bool parse_take(struct parser *p, const char *sign)
{
    if (!pl_cel_lex_is(&p->lex, sign))
        return false;
    pl_cel_lex_next(&p->lex);
    return true;
}

static bool expect(struct parser *p, const char *sign)
{
    if (parse_take(p, sign))
        return true;
    parse_unexpected(p);
    return false;
}

/* ---- nodes ---- */

static struct pl_cel_expr *new_expr(struct parser *p, enum pl_cel_expr_kind kind, uint32_t at)
{
    struct pl_cel_expr *e = pl_arena_alloc(p->arena, sizeof *e);
    e->kind = kind;
    e->at = at;
    return e;
}

/* Sets the depth of e, which contains `part`. Returns e, or NULL after an error: it would be too
 * deep. */
static struct pl_cel_expr *above(struct parser *p, struct pl_cel_expr *e,
                                 const struct pl_cel_expr *part)
{
    if (e == NULL || part == NULL)
        return NULL;
    if (part->depth >= TREE_DEPTH)
        return parse_fail(p, e->at, "expression recursion limit exceeded: %d", TREE_DEPTH);
    if (e->depth <= part->depth)
        e->depth = (uint16_t)(part->depth + 1);
    return e;
}

static struct pl_cel_expr *constant(struct parser *p, uint32_t at, struct pl_cel value)
{
    struct pl_cel_expr *e = new_expr(p, PL_CEL_CONST, at);
    e->constant = value;
    return e;
}

static struct pl_cel_expr *new_call(struct parser *p, uint32_t at, const char *name,
                                    struct pl_cel_expr **args, size_t count)
{
    struct pl_cel_expr *e = new_expr(p, PL_CEL_CALL, at);
    e->call.name = pl_slice_z(name);
    e->call.args = pl_arena_alloc(p->arena, (count + 1) * sizeof *args);
    e->call.count = count;
    for (size_t i = 0; i < count && e != NULL; i++) {
        e->call.args[i] = args[i];
        e = above(p, e, args[i]);
    }
    return e;
}

static struct pl_cel_expr *binary(struct parser *p, uint32_t at, const char *name,
                                  struct pl_cel_expr *left, struct pl_cel_expr *right)
{
    struct pl_cel_expr *args[] = {left, right};
    return left != NULL && right != NULL ? new_call(p, at, name, args, 2) : NULL;
}

/* Expressions up to a closing bracket, which is consumed. */
struct items {
    struct pl_cel_expr **ptr;
    bool *is_optional;
    size_t count, cap;
};

static void add_item(struct parser *p, struct items *items, struct pl_cel_expr *e, bool optional)
{
    if (items->count == items->cap) {
        size_t cap = items->cap ? 2 * items->cap : 8;
        struct pl_cel_expr **ptr = pl_arena_alloc(p->arena, cap * sizeof(struct pl_cel_expr *));
        bool *is_optional = pl_arena_alloc(p->arena, cap * sizeof(bool));
        if (items->count > 0) {
            memcpy(ptr, items->ptr, items->count * sizeof(struct pl_cel_expr *));
            memcpy(is_optional, items->is_optional, items->count * sizeof(bool));
        }
        *items = (struct items){ptr, is_optional, items->count, cap};
    }
    items->is_optional[items->count] = optional;
    items->ptr[items->count++] = e;
}

static bool read_items(struct parser *p, const char *end, bool may_be_optional, struct items *items)
{
    *items = (struct items){0};
    bool has_trailing = end[0] != ')';
    while (!parse_take(p, end)) {
        if (items->count > 0 && !expect(p, ","))
            return false;
        if (items->count > 0 && has_trailing && parse_take(p, end))
            return true;
        bool optional = may_be_optional && parse_take(p, "?");
        struct pl_cel_expr *e = expression(p);
        if (e == NULL || items->count >= MAX_ITEMS)
            return parse_fail(p, p->lex.start, "too many elements") != NULL;
        add_item(p, items, e, optional);
    }
    return true;
}

/* ---- macros ---- */

static bool is_simple_name(const struct pl_cel_expr *e)
{
    return e->kind == PL_CEL_IDENT;
}

struct macro {
    const char *name;
    enum pl_cel_loop what;
    size_t names;       /* number of variables */
    size_t least, most; /* numbers of arguments; one more than `least`: the first is a filter */
};

static const struct macro macros[] = {
    {"all", PL_CEL_ALL, 1, 2, 2},
    {"all", PL_CEL_ALL, 2, 3, 3},
    {"exists", PL_CEL_EXISTS, 1, 2, 2},
    {"exists", PL_CEL_EXISTS, 2, 3, 3},
    {"exists_one", PL_CEL_EXISTS_ONE, 1, 2, 2},
    {"existsOne", PL_CEL_EXISTS_ONE, 1, 2, 2},
    {"existsOne", PL_CEL_EXISTS_ONE, 2, 3, 3},
    {"map", PL_CEL_MAPPED, 1, 2, 3},
    {"filter", PL_CEL_FILTER, 1, 2, 2},
    {"sortBy", PL_CEL_SORT_BY, 1, 2, 2},
    {"transformList", PL_CEL_MAPPED, 2, 3, 4},
    {"transformMap", PL_CEL_TO_MAP, 2, 3, 4},
    {"transformMapEntry", PL_CEL_TO_ENTRIES, 2, 3, 4},
};

static const struct macro *find_macro(struct pl_slice name, size_t count)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(macros); i++)
        if (pl_slice_eqz(name, macros[i].name) && count >= macros[i].least &&
            count <= macros[i].most)
            return &macros[i];
    return NULL;
}

static struct pl_cel_expr *loop(struct parser *p, const struct macro *macro, uint32_t at,
                                struct pl_cel_expr *range, const struct items *args)
{
    for (size_t i = 0; i < macro->names; i++)
        if (!is_simple_name(args->ptr[i]))
            return parse_fail(p, args->ptr[i]->at, "argument must be a simple name");
    struct pl_cel_expr *e = new_expr(p, PL_CEL_LOOP, at);
    e->loop.what = macro->what;
    e->loop.range = range;
    e->loop.var = args->ptr[0]->ident.name;
    if (macro->names == 2)
        e->loop.var2 = args->ptr[1]->ident.name;
    bool has_filter = args->count > macro->least;
    e->loop.filter = has_filter ? args->ptr[macro->names] : NULL;
    e->loop.body = args->ptr[macro->names + has_filter];
    if (has_filter)
        e = above(p, e, e->loop.filter);
    return above(p, above(p, e, range), args->ptr[macro->names + has_filter]);
}

static struct pl_cel_expr *parse_bind(struct parser *p, uint32_t at, struct pl_cel_expr *target,
                                      const struct items *args, bool is_flat)
{
    if (!is_simple_name(args->ptr[0]))
        return parse_fail(p, args->ptr[0]->at, "argument must be a simple name");
    struct pl_cel_expr *e = new_expr(p, PL_CEL_BIND, at);
    e->bind.target = target;
    e->bind.var = args->ptr[0]->ident.name;
    e->bind.body = args->ptr[1];
    e->bind.is_flat = is_flat;
    return above(p, above(p, e, target), args->ptr[1]);
}

static struct pl_cel_expr *parse_has(struct parser *p, uint32_t at, const struct items *args)
{
    struct pl_cel_expr *e = args->count == 1 ? args->ptr[0] : NULL;
    if (e == NULL || e->kind != PL_CEL_SELECT || e->select.is_test)
        return parse_fail(p, e != NULL ? e->at : at, "invalid argument to has() macro");
    struct pl_cel_expr *test = new_expr(p, PL_CEL_SELECT, at);
    *test = *e;
    test->at = at; /* messages name the place of the macro */
    test->select.is_test = true;
    return test;
}

/* A call by name; of a member function if there is a target. */
static struct pl_cel_expr *named_call(struct parser *p, uint32_t at, struct pl_slice name,
                                      struct pl_cel_expr *target)
{
    struct items args;
    if (!read_items(p, ")", false, &args))
        return NULL;
    if (target == NULL && pl_slice_eqz(name, "has"))
        return parse_has(p, at, &args);
    const struct macro *macro = target != NULL ? find_macro(name, args.count) : NULL;
    if (macro != NULL)
        return loop(p, macro, at, target, &args);
    bool is_flat = pl_slice_eqz(name, "optFlatMap");
    if (target != NULL && args.count == 2 && (is_flat || pl_slice_eqz(name, "optMap")))
        return parse_bind(p, at, target, &args, is_flat);
    struct pl_cel_expr *e = new_expr(p, PL_CEL_CALL, at);
    size_t shift = target != NULL;
    e->call.name = pl_arena_copy(p->arena, name);
    e->call.is_member = target != NULL;
    e->call.count = args.count + shift;
    e->call.args = pl_arena_alloc(p->arena, (e->call.count + 1) * sizeof *e->call.args);
    for (size_t i = 0; i < e->call.count && e != NULL; i++) {
        e->call.args[i] = i < shift ? target : args.ptr[i - shift];
        e = above(p, e, e->call.args[i]);
    }
    return e;
}

/* ---- primaries ---- */

static struct pl_cel_expr *integer(struct parser *p, struct pl_slice text, bool is_negative,
                                   uint32_t at)
{
    char digits[80];
    bool is_hex = text.len > 1 && (text.ptr[1] == 'x' || text.ptr[1] == 'X');
    snprintf(digits, sizeof digits, "%.*s", PL_FMT(text));
    errno = 0;
    unsigned long long value = strtoull(digits + (is_hex ? 2 : 0), NULL, is_hex ? 16 : 10);
    if (text.len >= sizeof digits || errno != 0 || value > (uint64_t)INT64_MAX + is_negative)
        return parse_fail(p, at, "invalid int literal");
    return constant(p, at, pl_cel_int(is_negative ? (int64_t)(0 - value) : (int64_t)value));
}

static struct pl_cel_expr *unsigned_integer(struct parser *p, struct pl_slice text, uint32_t at)
{
    char digits[80];
    bool is_hex = text.len > 1 && (text.ptr[1] == 'x' || text.ptr[1] == 'X');
    snprintf(digits, sizeof digits, "%.*s", PL_FMT(text));
    errno = 0;
    uint64_t value = strtoull(digits + (is_hex ? 2 : 0), NULL, is_hex ? 16 : 10);
    if (text.len >= sizeof digits || errno != 0)
        return parse_fail(p, at, "invalid uint literal");
    return constant(p, at, (struct pl_cel){.kind = PL_CEL_UINT, .u = value});
}

static struct pl_cel_expr *floating(struct parser *p, struct pl_slice text, bool is_negative,
                                    uint32_t at)
{
    struct pl_slice copy = pl_arena_f(p->arena, "%.*s", PL_FMT(text));
    double value = strtod(copy.ptr, NULL);
    return constant(p, at, pl_cel_double(is_negative ? -value : value));
}

/* A literal, if the current token is one. Otherwise NULL, without an error. */
static struct pl_cel_expr *parse_literal(struct parser *p, bool is_negative, uint32_t at)
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
    return constant(p, at, value);
}

static bool is_reserved(struct pl_slice name)
{
    static const char *const words[] = {
        "as",  "break", "const",   "continue",  "else",   "for", "function", "if",    "import",
        "let", "loop",  "package", "namespace", "return", "var", "void",     "while", "in"};
    for (size_t i = 0; i < PL_ARRAY_LEN(words); i++)
        if (pl_slice_eqz(name, words[i]))
            return true;
    return false;
}

static struct pl_cel_expr *name_or_call(struct parser *p)
{
    struct pl_slice name = p->lex.text;
    uint32_t at = p->lex.start;
    pl_cel_lex_next(&p->lex);
    if (pl_slice_eqz(name, "true") || pl_slice_eqz(name, "false"))
        return constant(p, at, pl_cel_bool(name.ptr[0] == 't'));
    if (pl_slice_eqz(name, "null"))
        return constant(p, at, pl_cel_null());
    if (is_reserved(name))
        return parse_fail(p, at, "reserved identifier: %.*s", PL_FMT(name));
    if (pl_cel_lex_is(&p->lex, "(")) {
        at = p->lex.start;
        pl_cel_lex_next(&p->lex);
        return named_call(p, at, name, NULL);
    }
    struct pl_cel_expr *e = new_expr(p, PL_CEL_IDENT, at);
    e->ident.name = pl_arena_copy(p->arena, name);
    return e;
}

static struct pl_cel_expr *new_list(struct parser *p, uint32_t at)
{
    struct items items;
    if (!read_items(p, "]", true, &items))
        return NULL;
    struct pl_cel_expr *e = new_expr(p, PL_CEL_NEW_LIST, at);
    e->list.items = items.ptr;
    e->list.is_optional = items.is_optional;
    e->list.count = items.count;
    for (size_t i = 0; i < items.count && e != NULL; i++)
        e = above(p, e, items.ptr[i]);
    return e;
}

static struct pl_cel_expr *new_map(struct parser *p, uint32_t at)
{
    struct items items = {0};
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
            return parse_fail(p, p->lex.start, "too many entries");
        add_item(p, &items, key, optional);
        add_item(p, &items, value, optional);
    }
    struct pl_cel_expr *e = new_expr(p, PL_CEL_NEW_MAP, at);
    e->list.items = items.ptr;
    e->list.is_optional = items.is_optional;
    e->list.count = items.count / 2;
    for (size_t i = 0; i < items.count && e != NULL; i++)
        e = above(p, e, items.ptr[i]);
    return e;
}

static struct pl_cel_expr *primary(struct parser *p)
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
    parse_take(p, ".");
    return p->lex.token == PL_CEL_T_NAME ? name_or_call(p) : parse_unexpected(p);
}

/* ---- what follows a primary ---- */

static struct pl_cel_expr *selection(struct parser *p, struct pl_cel_expr *of, uint32_t at)
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
    struct pl_cel_expr *e = new_expr(p, PL_CEL_SELECT, at);
    e->select.of = of;
    e->select.field = pl_arena_copy(p->arena, name);
    e->select.is_optional = is_optional;
    return above(p, e, of);
}

static struct pl_cel_expr *subscript(struct parser *p, struct pl_cel_expr *of, uint32_t at)
{
    bool is_optional = parse_take(p, "?");
    struct pl_cel_expr *index = expression(p);
    if (index == NULL || !expect(p, "]"))
        return NULL;
    return binary(p, at, is_optional ? "_[?_]" : "_[_]", of, index);
}

static struct pl_cel_expr *parse_member(struct parser *p, struct pl_cel_expr *e)
{
    while (e != NULL) {
        uint32_t at = p->lex.start;
        if (parse_take(p, "."))
            e = selection(p, e, at);
        else if (parse_take(p, "["))
            e = subscript(p, e, at);
        else if (pl_cel_lex_is(&p->lex, "{"))
            return parse_fail(p, at, "undeclared reference: there are no message types to make");
        else
            break;
    }
    return e;
}

static struct pl_cel_expr *unary(struct parser *p)
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
    return new_call(p, at, nots % 2 == 1 ? "!_" : "-_", &e, 1);
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

static const struct binary_op *operator_at(const struct parser *p)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(operators); i++)
        if (pl_cel_lex_is(&p->lex, operators[i].sign))
            return &operators[i];
    return NULL;
}

/* Makes one call of a && b && c, so that long conditions are not deep. */
static struct pl_cel_expr *parse_join(struct parser *p, const struct binary_op *op, uint32_t at,
                                      struct pl_cel_expr *left, struct pl_cel_expr *right)
{
    if (left == NULL || right == NULL)
        return NULL;
    bool is_chain = op->level <= 2 && left->kind == PL_CEL_CALL && !left->call.is_member &&
                    pl_slice_eqz(left->call.name, op->name);
    if (!is_chain)
        return binary(p, at, op->name, left, right);
    size_t count = left->call.count;
    if ((count & (count - 1)) == 0) { /* doubles the room */
        struct pl_cel_expr **args = pl_arena_alloc(p->arena, 2 * count * sizeof *args);
        memcpy(args, left->call.args, count * sizeof *args);
        left->call.args = args;
    }
    left->call.args[left->call.count++] = right;
    return above(p, left, right);
}

static struct pl_cel_expr *operation(struct parser *p, int level)
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

static struct pl_cel_expr *conditional(struct parser *p)
{
    struct pl_cel_expr *parts[3] = {operation(p, 1)};
    uint32_t at = p->lex.start;
    if (parts[0] == NULL || !parse_take(p, "?"))
        return parts[0];
    parts[1] = operation(p, 1);
    if (parts[1] == NULL || !expect(p, ":"))
        return NULL;
    parts[2] = expression(p);
    return parts[2] != NULL ? new_call(p, at, "_?_:_", parts, 3) : NULL;
}

static struct pl_cel_expr *expression(struct parser *p)
{
    if (p->depth >= PL_CEL_DEPTH)
        return parse_fail(p, p->lex.start, "expression recursion limit exceeded: %d", PL_CEL_DEPTH);
    p->depth++;
    struct pl_cel_expr *e = conditional(p);
    p->depth--;
    return e;
}

struct pl_cel_expr *pl_cel_parse(struct pl_arena *arena, struct pl_slice text,
                                 struct pl_cel_issues *issues)
{
    struct parser p = {.arena = arena, .issues = issues};
    if (text.len > PL_CEL_TEXT)
        return parse_fail(&p, 0, "expression code point size exceeds limit: size: %zu, limit %u",
                          text.len, PL_CEL_TEXT);
    pl_cel_lex_begin(&p.lex, arena, text, issues);
    struct pl_cel_expr *e = expression(&p);
    if (e != NULL && p.lex.token != PL_CEL_T_END)
        return parse_unexpected(&p);
    return issues->count == 0 ? e : NULL;
}
