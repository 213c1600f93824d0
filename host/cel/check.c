/* Resolves names and finds the type of each expression, from the leaves up. Messages name the place
 * and have the words of CEL's reference implementation, because API servers show them. After a
 * finding, an expression counts as dyn, so one mistake is reported once.
 *
 * Each variable gets a slot, also those of loops, so the evaluation never looks up a name. */
#include "cel/function.h"

#include "format/regex.h"

#include <string.h>

struct local {
    struct pl_slice name;
    const struct pl_cel_type *type;
    int slot;
    const struct local *outer;
};

struct checker {
    struct pl_cel_program *program;
    struct pl_arena *arena;
    const struct pl_cel_var *vars;
    size_t count;
    struct pl_cel_issues *issues;
    bool is_lax; /* inside an argument of format(): literals may mix types */
    size_t regex_bytes;
};

static const struct pl_cel_type *check_expr(struct checker *c, struct pl_cel_expr *e,
                                            const struct local *scope);

static const struct pl_cel_type *dyn(void)
{
    return pl_cel_type_of(PL_CEL_DYN);
}

static const char *type_text(struct checker *c, const struct pl_cel_type *type)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_cel_type_write(&out, type);
    const char *text = pl_arena_f(c->arena, "%s", pl_buf_z(&out)).ptr;
    pl_buf_deinit(&out);
    return text;
}

/* ---- names ---- */

static const struct pl_cel_type *named_type(struct pl_slice name)
{
    static const struct pl_cel_type lists = {.kind = PL_CEL_LIST}, maps = {.kind = PL_CEL_MAP},
                                    optionals = {.kind = PL_CEL_OPTIONAL};
    if (pl_slice_eqz(name, "list"))
        return &lists;
    if (pl_slice_eqz(name, "map"))
        return &maps;
    if (pl_slice_eqz(name, "optional_type"))
        return &optionals;
    for (int kind = PL_CEL_NULL; kind < PL_CEL_AUTHORIZER; kind++)
        if (kind != PL_CEL_OBJECT && pl_slice_eqz(name, pl_cel_kind_name((enum pl_cel_kind)kind)))
            return pl_cel_type_of((enum pl_cel_kind)kind);
    return NULL;
}

/* Gives the name its slot and type. False: no variable has this name. */
static bool check_resolve(struct checker *c, struct pl_cel_expr *e, const struct local *scope)
{
    for (const struct local *l = scope; l != NULL; l = l->outer)
        if (pl_slice_eq(l->name, e->ident.name)) {
            e->ident.slot = l->slot;
            e->type = l->type;
            return true;
        }
    for (size_t i = 0; i < c->count; i++)
        if (pl_slice_eqz(e->ident.name, c->vars[i].name)) {
            e->ident.slot = (int)i;
            e->type = c->vars[i].type != NULL ? c->vars[i].type : dyn();
            return true;
        }
    return false;
}

/* "one.two.three" when the expression has that form and `one` is not a variable; otherwise ptr is
 * NULL. */
static struct pl_slice dotted(struct checker *c, struct pl_cel_expr *e, const struct local *scope)
{
    if (e->kind == PL_CEL_IDENT)
        return check_resolve(c, e, scope) ? pl_slice(NULL, 0) : e->ident.name;
    if (e->kind != PL_CEL_SELECT || e->select.is_test || e->select.is_optional)
        return pl_slice(NULL, 0);
    struct pl_slice before = dotted(c, e->select.of, scope);
    if (before.ptr == NULL)
        return before;
    return pl_arena_f(c->arena, "%.*s.%.*s", PL_FMT(before), PL_FMT(e->select.field));
}

static const struct pl_cel_type *undeclared(struct checker *c, uint32_t at, struct pl_slice name)
{
    pl_cel_issue(c->issues, at, "undeclared reference to '%.*s' (in container '')", PL_FMT(name));
    return dyn();
}

static void become_type(struct checker *c, struct pl_cel_expr *e, const struct pl_cel_type *of)
{
    struct pl_cel_type *type = pl_arena_alloc(c->arena, sizeof *type);
    *type = (struct pl_cel_type){.kind = PL_CEL_TYPE, .elem = of, .max_size = 1, .min_bytes = 1};
    e->kind = PL_CEL_IDENT;
    e->ident.slot = -1;
    e->ident.constant_type = of;
    e->type = type;
}

static const struct pl_cel_type *check_ident(struct checker *c, struct pl_cel_expr *e,
                                             const struct local *scope)
{
    if (check_resolve(c, e, scope)) {
        if (e->ident.slot >= 0 && (size_t)e->ident.slot < c->count)
            c->program->used |= 1u << e->ident.slot;
        return e->type;
    }
    const struct pl_cel_type *of = named_type(e->ident.name);
    if (of == NULL)
        return undeclared(c, e->at, e->ident.name);
    become_type(c, e, of);
    return e->type;
}

/* ---- members ---- */

static const struct pl_cel_type *field_type(struct checker *c, struct pl_cel_expr *e,
                                            const struct pl_cel_type *of)
{
    if (pl_cel_type_is_dyn(of))
        return dyn();
    if (of->kind == PL_CEL_MAP)
        return pl_cel_type_elem(of);
    if (of->kind >= PL_CEL_AUTHORIZER && of->kind <= PL_CEL_DECISION) {
        pl_cel_issue(c->issues, e->at, "unexpected failed resolution of '%s'", type_text(c, of));
        return dyn();
    }
    if (of->kind != PL_CEL_OBJECT) {
        pl_cel_issue(c->issues, e->at, "type '%s' does not support field selection",
                     type_text(c, of));
        return dyn();
    }
    const struct pl_cel_field *field = pl_cel_type_field(of, e->select.field);
    if (field == NULL && !of->is_open)
        pl_cel_issue(c->issues, e->at, "undefined field '%.*s'", PL_FMT(e->select.field));
    return field != NULL ? field->type : dyn();
}

/* True when the expression is exactly that dotted name. */
static bool spells(const struct pl_cel_expr *e, struct pl_slice name)
{
    if (e->kind == PL_CEL_IDENT)
        return pl_slice_eq(e->ident.name, name);
    if (e->kind != PL_CEL_SELECT || e->select.is_test || e->select.is_optional)
        return false;
    size_t tail = e->select.field.len + 1;
    return name.len > tail && name.ptr[name.len - tail] == '.' &&
           memcmp(name.ptr + name.len - tail + 1, e->select.field.ptr, tail - 1) == 0 &&
           spells(e->select.of, pl_slice(name.ptr, name.len - tail));
}

static bool is_local(const struct pl_cel_expr *e, const struct local *scope)
{
    while (e->kind == PL_CEL_SELECT)
        e = e->select.of;
    for (; scope != NULL; scope = scope->outer)
        if (pl_slice_eq(scope->name, e->ident.name))
            return true;
    return false;
}

/* "one.two" may be the name of a variable, which then hides a member of `one`. */
static bool is_dotted_var(struct checker *c, struct pl_cel_expr *e, const struct local *scope)
{
    for (size_t i = 0; i < c->count; i++) {
        struct pl_slice name = pl_slice_z(c->vars[i].name);
        if (pl_slice_chr(name, '.') == NULL || !spells(e, name) || is_local(e, scope))
            continue;
        e->kind = PL_CEL_IDENT;
        e->ident.name = name;
        return true;
    }
    return false;
}

static const struct pl_cel_type *check_select(struct checker *c, struct pl_cel_expr *e,
                                              const struct local *scope)
{
    if (is_dotted_var(c, e, scope))
        return check_ident(c, e, scope);
    struct pl_slice name = dotted(c, e, scope);
    const struct pl_cel_type *named = name.ptr != NULL ? named_type(name) : NULL;
    if (named != NULL) {
        become_type(c, e, named);
        return e->type;
    }
    const struct pl_cel_type *of = check_expr(c, e->select.of, scope);
    bool in_optional = of->kind == PL_CEL_OPTIONAL;
    const struct pl_cel_type *type = field_type(c, e, in_optional ? pl_cel_type_elem(of) : of);
    if (e->select.is_test)
        return pl_cel_type_of(PL_CEL_BOOL);
    bool is_optional = (in_optional || e->select.is_optional) && type->kind != PL_CEL_OPTIONAL;
    return is_optional ? pl_cel_type_optional(c->arena, type) : type;
}

/* ---- calls ---- */

static const struct pl_cel_type *no_overload(struct checker *c, const struct pl_cel_expr *e,
                                             struct pl_slice name,
                                             const struct pl_cel_type *const *args, size_t count,
                                             bool is_member)
{
    struct pl_buf out = PL_BUF_INIT;
    if (is_member) {
        pl_cel_type_write(&out, args[0]);
        pl_buf_add_char(&out, '.');
    }
    pl_buf_add_char(&out, '(');
    for (size_t i = is_member; i < count; i++) {
        pl_buf_add_z(&out, i > (size_t)is_member ? ", " : "");
        pl_cel_type_write(&out, args[i]);
    }
    pl_buf_add_char(&out, ')');
    pl_cel_issue(c->issues, e->at, "found no matching overload for '%.*s' applied to '%s'",
                 PL_FMT(name), pl_buf_z(&out));
    pl_buf_deinit(&out);
    return dyn();
}

/* The result type of the overloads that fit; dyn when they differ. */
static const struct pl_cel_type *overloads(struct checker *c, struct pl_cel_expr *e,
                                           const struct pl_cel_type *const *args)
{
    const struct pl_cel_type *result = NULL;
    for (size_t i = 0; i < e->call.row_count; i++) {
        const struct pl_cel_type *one;
        if (!pl_cel_function_takes(c->arena, e->call.rows[i], args, e->call.count, &one))
            continue;
        if (result == NULL)
            result = one;
        else if (!pl_cel_type_equal(result, one))
            result = dyn();
    }
    return result != NULL ? result
                          : no_overload(c, e, e->call.name, args, e->call.count, e->call.is_member);
}

/* Functions for patches exist only where patches are made. */
static bool is_function(const struct checker *c, struct pl_slice name)
{
    return pl_cel_function_exists(name) &&
           (c->program->makes_patches || !pl_slice_eqz(name, "jsonpatch.escapeKey"));
}

/* "sets.contains(a, b)" is parsed as a member function of `sets`. */
static void qualify(struct checker *c, struct pl_cel_expr *e, const struct local *scope)
{
    if (!e->call.is_member)
        return;
    struct pl_slice before = dotted(c, e->call.args[0], scope);
    if (before.ptr == NULL)
        return;
    struct pl_slice name = pl_arena_f(c->arena, "%.*s.%.*s", PL_FMT(before), PL_FMT(e->call.name));
    if (!is_function(c, name))
        return;
    e->call.name = name;
    e->call.is_member = false;
    e->call.args++;
    e->call.count--;
}

/* The pattern of matches(). The program keeps the compiled one. */
static void check_pattern(struct checker *c, struct pl_cel_expr *e, const struct pl_cel_expr *text)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_regex *regex = pl_regex_compile(text->constant.s, &err);
    size_t bytes = regex != NULL ? pl_regex_bytes(regex) : 0;
    if (regex == NULL) {
        pl_cel_issue(c->issues, text->at, "invalid matches argument");
    } else if (bytes <= PL_CEL_REGEX_BYTES - c->regex_bytes) {
        void *copy = pl_arena_alloc(c->arena, bytes);
        memcpy(copy, regex, bytes);
        e->call.regex = copy;
        c->regex_bytes += bytes;
    }
    pl_regex_destroy(regex);
}

/* Checks literals that a function parses, before anything is evaluated. */
static void check_literal(struct checker *c, struct pl_cel_expr *e)
{
    const struct pl_cel_expr *last = e->call.count > 0 ? e->call.args[e->call.count - 1] : NULL;
    bool is_text =
        last != NULL && last->kind == PL_CEL_CONST && last->constant.kind == PL_CEL_STRING;
    if (!is_text)
        return;
    if (pl_slice_eqz(e->call.name, "matches")) {
        check_pattern(c, e, last);
        return;
    }
    bool is_duration = pl_slice_eqz(e->call.name, "duration");
    if (!is_duration && !pl_slice_eqz(e->call.name, "timestamp"))
        return;
    static const struct pl_cel_type times = {.kind = PL_CEL_TIMESTAMP},
                                    durations = {.kind = PL_CEL_DURATION};
    struct pl_tree *text = pl_tree_str(c->arena, last->constant.s);
    if (pl_cel_is_error(pl_cel_from_tree(c->arena, text, is_duration ? &durations : &times)))
        pl_cel_issue(c->issues, last->at, "invalid %.*s argument", PL_FMT(e->call.name));
}

static bool is_bool(const struct pl_cel_type *type)
{
    return pl_cel_type_is_dyn(type) || type->kind == PL_CEL_BOOL;
}

static void must_be_bool(struct checker *c, const struct pl_cel_expr *e,
                         const struct pl_cel_type *type)
{
    if (!is_bool(type))
        pl_cel_issue(c->issues, e->at, "expected type 'bool' but found '%s'", type_text(c, type));
}

static const struct pl_cel_type *check_logic(struct checker *c, struct pl_cel_expr *e,
                                             const struct local *scope)
{
    for (size_t i = 0; i < e->call.count; i++)
        must_be_bool(c, e->call.args[i], check_expr(c, e->call.args[i], scope));
    return pl_cel_type_of(PL_CEL_BOOL);
}

static const struct pl_cel_type *check_call(struct checker *c, struct pl_cel_expr *e,
                                            const struct local *scope)
{
    if (pl_slice_eqz(e->call.name, "_&&_") || pl_slice_eqz(e->call.name, "_||_"))
        return check_logic(c, e, scope);
    qualify(c, e, scope);
    e->call.rows =
        pl_cel_function_rows(c->arena, e->call.name, e->call.is_member, &e->call.row_count);
    const struct pl_cel_type **args = pl_arena_alloc(c->arena, (e->call.count + 1) * sizeof *args);
    size_t before = c->issues->count;
    bool was_lax = c->is_lax;
    c->is_lax |= e->call.is_member && pl_slice_eqz(e->call.name, "format");
    for (size_t i = 0; i < e->call.count; i++)
        args[i] = check_expr(c, e->call.args[i], scope);
    c->is_lax = was_lax;
    if (!is_function(c, e->call.name))
        return undeclared(c, e->at, e->call.name);
    if (c->issues->count > before)
        return dyn();
    check_literal(c, e);
    return overloads(c, e, args);
}

/* ---- lists and maps ---- */

/* Elements of one literal have one type; dyn fits to every type. */
static const struct pl_cel_type *check_join(struct checker *c, const struct pl_cel_expr *e,
                                            const struct pl_cel_type *so_far,
                                            const struct pl_cel_type *type)
{
    if (so_far == NULL || pl_cel_type_equal(so_far, type))
        return type;
    if (c->is_lax || (pl_cel_type_fits(type, so_far) && pl_cel_type_fits(so_far, type)))
        return pl_cel_type_equal(so_far, type) ? type : dyn();
    pl_cel_issue(c->issues, e->at, "expected type '%s' but found '%s'", type_text(c, so_far),
                 type_text(c, type));
    return so_far;
}

static const struct pl_cel_type *check_item(struct checker *c, struct pl_cel_expr *e,
                                            bool is_optional, const struct local *scope)
{
    const struct pl_cel_type *type = check_expr(c, e, scope);
    if (!is_optional || pl_cel_type_is_dyn(type))
        return type;
    if (type->kind == PL_CEL_OPTIONAL)
        return pl_cel_type_elem(type);
    pl_cel_issue(c->issues, e->at, "expected type 'optional_type(%s)' but found '%s'",
                 type_text(c, type), type_text(c, type));
    return dyn();
}

static const struct pl_cel_type *check_list(struct checker *c, struct pl_cel_expr *e,
                                            const struct local *scope)
{
    const struct pl_cel_type *elem = NULL;
    if (e->list.count == 0)
        return pl_cel_type_empty_list();
    for (size_t i = 0; i < e->list.count; i++)
        elem = check_join(c, e->list.items[i], elem,
                          check_item(c, e->list.items[i], e->list.is_optional[i], scope));
    return pl_cel_type_list(c->arena, elem);
}

static const struct pl_cel_type *check_map(struct checker *c, struct pl_cel_expr *e,
                                           const struct local *scope)
{
    const struct pl_cel_type *key = NULL, *value = NULL;
    for (size_t i = 0; i < e->list.count; i++) {
        struct pl_cel_expr *const *pair = &e->list.items[2 * i];
        key = check_join(c, pair[0], key, check_expr(c, pair[0], scope));
        value = check_join(c, pair[1], value,
                           check_item(c, pair[1], e->list.is_optional[2 * i], scope));
    }
    return pl_cel_type_map(c->arena, key, value);
}

/* A field of an object that the expression makes; entry: its name and its value. */
static void check_field(struct checker *c, const struct pl_cel_type *of,
                        struct pl_cel_expr *const *entry, bool is_optional,
                        const struct local *scope)
{
    const struct pl_cel_type *is = check_item(c, entry[1], is_optional, scope);
    struct pl_slice name = entry[0]->constant.s;
    const struct pl_cel_field *field = pl_cel_type_field(of, name);
    if (of->is_open || (field != NULL && pl_cel_type_fits(is, field->type)))
        return;
    pl_cel_issue(c->issues, entry[0]->at,
                 "expected type of field '%.*s' is '%s' but provided type is '%s'", PL_FMT(name),
                 field != NULL ? type_text(c, field->type) : "", type_text(c, is));
}

static const struct pl_cel_type *check_object(struct checker *c, struct pl_cel_expr *e,
                                              const struct local *scope)
{
    if (c->program->makes_patches)
        e->list.type = pl_cel_type_patch(c->arena, e->list.name);
    if (e->list.type == NULL)
        return undeclared(c, e->at, e->list.name);
    for (size_t i = 0; i < e->list.count; i++)
        check_field(c, e->list.type, &e->list.items[2 * i], e->list.is_optional[2 * i], scope);
    return e->list.type;
}

/* ---- loops ---- */

static int new_slots(struct checker *c, int count)
{
    int first = c->program->slot_count;
    c->program->slot_count += count;
    return first;
}

static void range_types(struct checker *c, const struct pl_cel_expr *e,
                        const struct pl_cel_type *range, const struct pl_cel_type *types[2])
{
    bool is_list = range->kind == PL_CEL_LIST, is_map = range->kind == PL_CEL_MAP;
    types[0] = types[1] = dyn();
    if (!is_list && !is_map && !pl_cel_type_is_dyn(range))
        pl_cel_issue(c->issues, e->loop.range->at,
                     "expression of type '%s' cannot be range of a comprehension (must be list, "
                     "map, or dynamic)",
                     type_text(c, range));
    if (!is_list && !is_map)
        return;
    bool has_two = e->loop.var2.ptr != NULL;
    types[1] = pl_cel_type_elem(range);
    types[0] = is_map    ? pl_cel_type_key(range)
               : has_two ? pl_cel_type_of(PL_CEL_INT)
                         : pl_cel_type_elem(range);
}

/* The condition of a loop must be a bool. The message is that of the conditional into which CEL's
 * macros expand. */
static void must_decide(struct checker *c, const struct pl_cel_expr *e,
                        const struct pl_cel_type *type, const struct pl_cel_type *result)
{
    const struct pl_cel_type *choice[] = {type, result, result};
    if (!is_bool(type))
        no_overload(c, e, pl_slice_z("_?_:_"), choice, 3, false);
}

static const struct pl_cel_type *loop_type(struct checker *c, const struct pl_cel_expr *e,
                                           const struct pl_cel_type *const types[2],
                                           const struct pl_cel_type *body)
{
    switch (e->loop.what) {
    case PL_CEL_ALL:
    case PL_CEL_EXISTS:
    case PL_CEL_EXISTS_ONE:
        return pl_cel_type_of(PL_CEL_BOOL);
    case PL_CEL_MAPPED:
        return pl_cel_type_list(c->arena, body);
    case PL_CEL_TO_MAP:
        return pl_cel_type_map(c->arena, types[0], body);
    case PL_CEL_TO_ENTRIES:
        if (body->kind != PL_CEL_MAP && !pl_cel_type_is_dyn(body))
            pl_cel_issue(c->issues, e->loop.body->at, "expected a map with one entry");
        return body->kind == PL_CEL_MAP ? body : dyn();
    default:
        return pl_cel_type_list(c->arena, types[0]);
    }
}

static const struct pl_cel_type *check_loop(struct checker *c, struct pl_cel_expr *e,
                                            const struct local *scope)
{
    const struct pl_cel_type *types[2];
    range_types(c, e, check_expr(c, e->loop.range, scope), types);
    bool has_two = e->loop.var2.ptr != NULL;
    e->loop.slot = new_slots(c, has_two ? 2 : 1);
    struct local first = {e->loop.var, types[0], e->loop.slot, scope};
    struct local second = {e->loop.var2, types[1], e->loop.slot + 1, &first};
    const struct local *inner = has_two ? &second : &first;
    const struct pl_cel_type *filter =
        e->loop.filter != NULL ? check_expr(c, e->loop.filter, inner) : pl_cel_type_of(PL_CEL_BOOL);
    const struct pl_cel_type *body = check_expr(c, e->loop.body, inner);
    const struct pl_cel_type *result = loop_type(c, e, types, body);
    must_decide(c, e, filter, result);
    if (e->loop.what == PL_CEL_ALL || e->loop.what == PL_CEL_EXISTS)
        must_be_bool(c, e->loop.body, body);
    if (e->loop.what == PL_CEL_EXISTS_ONE)
        must_decide(c, e, body, pl_cel_type_of(PL_CEL_INT));
    if (e->loop.what == PL_CEL_FILTER)
        must_decide(c, e, body, result);
    return result;
}

static const struct pl_cel_type *check_bind(struct checker *c, struct pl_cel_expr *e,
                                            const struct local *scope)
{
    const struct pl_cel_type *target = check_expr(c, e->bind.target, scope);
    if (!pl_cel_type_is_dyn(target) && target->kind != PL_CEL_OPTIONAL)
        return no_overload(c, e, pl_slice_z(e->bind.is_flat ? "optFlatMap" : "optMap"), &target, 1,
                           true);
    e->bind.slot = new_slots(c, 1);
    struct local inner = {e->bind.var, pl_cel_type_elem(target), e->bind.slot, scope};
    const struct pl_cel_type *body = check_expr(c, e->bind.body, &inner);
    return e->bind.is_flat ? body : pl_cel_type_optional(c->arena, body);
}

static const struct pl_cel_type *constant_type(struct checker *c, const struct pl_cel_expr *e)
{
    enum pl_cel_kind kind = e->constant.kind;
    if (kind != PL_CEL_STRING && kind != PL_CEL_BYTES)
        return pl_cel_type_of(kind);
    struct pl_cel_type *type = pl_arena_alloc(c->arena, sizeof *type);
    *type = *pl_cel_type_of(kind);
    type->max_size = pl_cel_size(e->constant);
    return type;
}

static const struct pl_cel_type *check_expr(struct checker *c, struct pl_cel_expr *e,
                                            const struct local *scope)
{
    switch (e->kind) {
    case PL_CEL_CONST:
        return e->type = constant_type(c, e);
    case PL_CEL_IDENT:
        return e->type = check_ident(c, e, scope);
    case PL_CEL_SELECT:
        return e->type = check_select(c, e, scope);
    case PL_CEL_CALL:
        return e->type = check_call(c, e, scope);
    case PL_CEL_NEW_LIST:
        return e->type = check_list(c, e, scope);
    case PL_CEL_NEW_MAP:
        return e->type = check_map(c, e, scope);
    case PL_CEL_NEW_OBJECT:
        return e->type = check_object(c, e, scope);
    case PL_CEL_LOOP:
        return e->type = check_loop(c, e, scope);
    default:
        return e->type = check_bind(c, e, scope);
    }
}

bool pl_cel_check(struct pl_cel_program *program, const struct pl_cel_var *vars, size_t count,
                  struct pl_cel_issues *issues)
{
    struct checker c = {
        .program = program,
        .arena = &program->arena,
        .vars = vars,
        .count = count,
        .issues = issues,
    };
    program->var_count = count;
    program->slot_count = (int)count;
    check_expr(&c, program->root, NULL);
    return issues->count == 0;
}
