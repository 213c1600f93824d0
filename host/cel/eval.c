/* Walks a checked expression and computes its value. An error is a value, too: it becomes the
 * result, unless a construct does not need the failed part (&&, ||, all, exists, a conditional).
 *
 * Each step is charged. Exceeding the limit is an error that no construct absorbs. The parser
 * limits the depth of the tree, and so the depth of recursion. */
#include "cel/eval.h"

#include "cel/function.h"
#include "format/regex.h"

#include <math.h>
#include <string.h>

#define LIST_COST   10
#define MAP_COST    30
#define OBJECT_COST 40

static struct pl_cel no_such_key(struct pl_cel_eval *eval, struct pl_cel key)
{
    if (key.kind == PL_CEL_STRING)
        return pl_cel_fail(eval->arena, "no such key: %.*s", PL_FMT(key.s));
    if (key.kind == PL_CEL_INT)
        return pl_cel_fail(eval->arena, "no such key: %lld", (long long)key.i);
    return pl_cel_fail(eval->arena, "no such key");
}

/* ---- members ---- */

static struct pl_cel eval_member(struct pl_cel_eval *eval, const struct pl_cel_expr *e,
                                 struct pl_cel of)
{
    struct pl_cel value;
    bool is_map = of.kind == PL_CEL_MAP || of.kind == PL_CEL_OBJECT;
    bool has_members = is_map || of.kind == PL_CEL_NULL; /* any member of null is absent */
    if (of.kind == PL_CEL_OPTIONAL) {
        if (of.value == NULL)
            return e->select.is_test ? pl_cel_bool(false) : of;
        struct pl_cel inner = eval_member(eval, e, *of.value);
        if (pl_cel_is_error(inner) || e->select.is_test || inner.kind == PL_CEL_OPTIONAL)
            return inner;
        return pl_cel_some(eval->arena, inner);
    }
    bool found = is_map && pl_cel_field(eval, of, e->select.field, &value);
    if (!has_members)
        return pl_cel_no_overload();
    if (e->select.is_test)
        return pl_cel_bool(found);
    if (e->select.is_optional)
        return !found                   ? pl_cel_none()
               : pl_cel_is_error(value) ? value
                                        : pl_cel_some(eval->arena, value);
    return found ? value : no_such_key(eval, pl_cel_string(e->select.field));
}

/* `.?a.b`: an access to a member of an optional gives an optional. A missing member then gives
 * none. */
static struct pl_cel selection(struct pl_cel_eval *eval, const struct pl_cel_expr *e)
{
    struct pl_cel of = pl_cel_eval_expr(eval, e->select.of);
    if (pl_cel_is_error(of))
        return of;
    if (!e->select.is_test && !pl_cel_charge(eval, 1))
        return pl_cel_over_limit();
    bool was_optional = of.kind == PL_CEL_OPTIONAL && !e->select.is_test;
    struct pl_cel value = eval_member(eval, e, of);
    if (was_optional && pl_cel_is_error(value) && of.value != NULL &&
        (of.value->kind == PL_CEL_MAP || of.value->kind == PL_CEL_OBJECT))
        return pl_cel_none();
    return value;
}

static struct pl_cel list_at(struct pl_cel_eval *eval, struct pl_cel list, struct pl_cel index,
                             bool is_optional)
{
    const struct pl_cel_list *all = pl_cel_list_of(eval, list);
    if (index.kind == PL_CEL_UINT && index.u <= INT64_MAX)
        index = pl_cel_int((int64_t)index.u);
    if (index.kind == PL_CEL_DOUBLE && index.d == trunc(index.d) && fabs(index.d) < 1e15)
        index = pl_cel_int((int64_t)index.d);
    if (index.kind != PL_CEL_INT)
        return pl_cel_no_overload();
    bool found = index.i >= 0 && (uint64_t)index.i < all->count;
    if (!found && is_optional)
        return pl_cel_none();
    if (!found)
        return pl_cel_fail(eval->arena, "index out of bounds: %lld", (long long)index.i);
    struct pl_cel value = all->items[index.i];
    return is_optional && !pl_cel_is_error(value) ? pl_cel_some(eval->arena, value) : value;
}

static struct pl_cel eval_index_of(struct pl_cel_eval *eval, struct pl_cel of, struct pl_cel key,
                                   bool is_optional)
{
    struct pl_cel value;
    if (of.kind == PL_CEL_OPTIONAL) {
        if (of.value == NULL)
            return of;
        return eval_index_of(eval, *of.value, key, true);
    }
    if (of.kind == PL_CEL_LIST)
        return list_at(eval, of, key, is_optional);
    if (of.kind != PL_CEL_MAP && of.kind != PL_CEL_OBJECT && of.kind != PL_CEL_NULL)
        return pl_cel_no_overload();
    bool found = of.kind != PL_CEL_NULL && pl_cel_map_get(eval, of, key, &value);
    if (!found)
        return is_optional ? pl_cel_none() : no_such_key(eval, key);
    return is_optional && !pl_cel_is_error(value) ? pl_cel_some(eval->arena, value) : value;
}

/* ---- constructs that evaluate only some of their parts ---- */

/* && (stop is false) and || (stop is true): a value that decides wins over errors. */
static struct pl_cel logic(struct pl_cel_eval *eval, const struct pl_cel_expr *e, bool stop)
{
    struct pl_cel wrong = {.kind = PL_CEL_NULL};
    for (size_t i = 0; i < e->call.count; i++) {
        struct pl_cel value = pl_cel_eval_expr(eval, e->call.args[i]);
        if (eval->cost > eval->limit)
            return pl_cel_over_limit();
        if (value.kind == PL_CEL_BOOL && value.b == stop)
            return value;
        if (value.kind != PL_CEL_BOOL && wrong.kind == PL_CEL_NULL)
            wrong = pl_cel_is_error(value) ? value : pl_cel_no_overload();
    }
    return wrong.kind == PL_CEL_NULL ? pl_cel_bool(!stop) : wrong;
}

static struct pl_cel choice(struct pl_cel_eval *eval, const struct pl_cel_expr *e)
{
    struct pl_cel condition = pl_cel_eval_expr(eval, e->call.args[0]);
    if (pl_cel_is_error(condition))
        return condition;
    if (condition.kind != PL_CEL_BOOL)
        return pl_cel_no_overload();
    return pl_cel_eval_expr(eval, e->call.args[condition.b ? 1 : 2]);
}

/* optional.or and orValue: evaluates the second part only when it is needed. */
static struct pl_cel otherwise(struct pl_cel_eval *eval, const struct pl_cel_expr *e,
                               bool wants_value)
{
    struct pl_cel first = pl_cel_eval_expr(eval, e->call.args[0]);
    if (pl_cel_is_error(first))
        return first;
    if (first.kind != PL_CEL_OPTIONAL)
        return pl_cel_no_overload();
    if (!pl_cel_charge(eval, 1))
        return pl_cel_over_limit();
    if (first.value != NULL)
        return wants_value ? *first.value : first;
    return pl_cel_eval_expr(eval, e->call.args[1]);
}

/* ---- costs ---- */

static uint64_t tenth(uint64_t size)
{
    return size / 10 + (size % 10 != 0);
}

static uint64_t traversal(struct pl_cel_eval *eval, struct pl_cel value)
{
    uint64_t sum = 0;
    if (value.kind == PL_CEL_STRING || value.kind == PL_CEL_BYTES)
        return value.s.len / 10;
    if (value.kind == PL_CEL_LIST) {
        const struct pl_cel_list *list = pl_cel_list_of(eval, value);
        for (size_t i = 0; i < list->count; i++)
            sum += traversal(eval, list->items[i]);
        return sum;
    }
    return value.kind == PL_CEL_MAP || value.kind == PL_CEL_OBJECT ? pl_cel_size(value) * 2 : 1;
}

static uint64_t call_cost(struct pl_cel_eval *eval, const struct pl_cel_function *f,
                          const struct pl_cel *args, size_t count)
{
    uint64_t a = count > 0 ? pl_cel_size(args[0]) : 0, b = count > 1 ? pl_cel_size(args[1]) : 0;
    switch (f->cost) {
    case PL_CEL_COST_SELF:
        return tenth(a);
    case PL_CEL_COST_SELF_TWICE:
        return tenth(2 * a);
    case PL_CEL_COST_LAST:
        return tenth(b);
    case PL_CEL_COST_SMALLER:
        return tenth(a < b ? a : b);
    case PL_CEL_COST_SUM:
        return args[0].kind == PL_CEL_STRING || args[0].kind == PL_CEL_BYTES ? tenth(a + b) : 1;
    case PL_CEL_COST_PRODUCT:
        return tenth(a) * tenth(b);
    case PL_CEL_COST_REGEX:
        return tenth(a + 1) * (b / 4 + (b % 4 != 0));
    case PL_CEL_COST_ELEMENTS:
        return traversal(eval, args[0]);
    case PL_CEL_COST_IN:
        return args[1].kind == PL_CEL_LIST ? b : 1;
    case PL_CEL_COST_FORMAT:
        return tenth(b + 1) * 32;
    case PL_CEL_COST_SETS:
        return 1 + a * b;
    case PL_CEL_COST_SETS_TWICE:
        return 1 + 2 * a * b;
    case PL_CEL_COST_COPY:
        return args[0].kind == PL_CEL_LIST ? 11 + a : 11;
    case PL_CEL_COST_SORT:
        return 11 + 2 * a * a;
    case PL_CEL_COST_NET:
        return args[1].kind == PL_CEL_STRING ? 4 + tenth(b) : 4;
    case PL_CEL_COST_NET_IN_NET:
        return args[1].kind == PL_CEL_STRING ? 7 + tenth(b) : 7;
    case PL_CEL_COST_CHECK:
        return PL_CEL_CHECK_COST;
    default:
        return 1;
    }
}

/* ---- calls ---- */

static const struct pl_cel_function *overload(const struct pl_cel_expr *e,
                                              const struct pl_cel *args)
{
    for (size_t i = 0; i < e->call.row_count; i++)
        if (e->call.rows[i]->fn != NULL &&
            pl_cel_function_takes_values(e->call.rows[i], args, e->call.count))
            return e->call.rows[i];
    return NULL;
}

static struct pl_cel call_with(struct pl_cel_eval *eval, const struct pl_cel_expr *e,
                               const struct pl_cel *args)
{
    const struct pl_cel_function *f = overload(e, args);
    if (f == NULL)
        return pl_cel_no_overload();
    if (f->cost != PL_CEL_COST_RESULT &&
        !pl_cel_charge(eval, call_cost(eval, f, args, e->call.count)))
        return pl_cel_over_limit();
    eval->call = e;
    struct pl_cel result = f->fn(eval, args, e->call.count);
    if (f->cost == PL_CEL_COST_RESULT && !pl_cel_charge(eval, tenth(2 * pl_cel_size(result))))
        return pl_cel_over_limit();
    return eval->cost > eval->limit ? pl_cel_over_limit() : result;
}

#define MAX_ARGS 8

static struct pl_cel eval_call(struct pl_cel_eval *eval, const struct pl_cel_expr *e)
{
    struct pl_slice name = e->call.name;
    struct pl_cel args[MAX_ARGS];
    if (pl_slice_eqz(name, "_&&_") || pl_slice_eqz(name, "_||_"))
        return logic(eval, e, name.ptr[1] == '|');
    if (pl_slice_eqz(name, "_?_:_"))
        return choice(eval, e);
    if (e->call.is_member && e->call.count == 2 &&
        (pl_slice_eqz(name, "or") || pl_slice_eqz(name, "orValue")))
        return otherwise(eval, e, name.len > 2);
    if (e->call.count > MAX_ARGS)
        return pl_cel_no_overload();
    for (size_t i = 0; i < e->call.count; i++) {
        args[i] = pl_cel_eval_expr(eval, e->call.args[i]);
        if (pl_cel_is_error(args[i]))
            return args[i];
    }
    if (pl_slice_eqz(name, "_[_]") || pl_slice_eqz(name, "_[?_]"))
        return pl_cel_charge(eval, 1) ? eval_index_of(eval, args[0], args[1], name.ptr[2] == '?')
                                      : pl_cel_over_limit();
    return call_with(eval, e, args);
}

/* ---- lists and maps ---- */

static struct pl_cel new_list(struct pl_cel_eval *eval, const struct pl_cel_expr *e)
{
    struct pl_cel *items;
    struct pl_cel made = pl_cel_new_list(eval->arena, e->list.count, &items);
    size_t count = 0;
    if (!pl_cel_charge(eval, LIST_COST))
        return pl_cel_over_limit();
    for (size_t i = 0; i < e->list.count; i++) {
        struct pl_cel item = pl_cel_eval_expr(eval, e->list.items[i]);
        if (pl_cel_is_error(item))
            return item;
        if (!e->list.is_optional[i])
            items[count++] = item;
        else if (item.kind != PL_CEL_OPTIONAL)
            return pl_cel_no_overload();
        else if (item.value != NULL)
            items[count++] = *item.value;
    }
    struct pl_cel_list *list = pl_arena_alloc(eval->arena, sizeof *list);
    *list = (struct pl_cel_list){.count = count, .items = made.list->items};
    made.list = list;
    return made;
}

static bool is_key(struct pl_cel key)
{
    return key.kind == PL_CEL_STRING || key.kind == PL_CEL_INT || key.kind == PL_CEL_UINT ||
           key.kind == PL_CEL_BOOL || key.kind == PL_CEL_DOUBLE;
}

static struct pl_cel new_map(struct pl_cel_eval *eval, const struct pl_cel_expr *e)
{
    struct pl_cel_entry *entries;
    struct pl_cel made = pl_cel_new_map(eval->arena, e->list.count, &entries), other;
    struct pl_cel_map *map = pl_arena_alloc(eval->arena, sizeof *map);
    map->entries = entries;
    made.map = map;
    if (!pl_cel_charge(eval, MAP_COST))
        return pl_cel_over_limit();
    for (size_t i = 0; i < e->list.count; i++) {
        struct pl_cel key = pl_cel_eval_expr(eval, e->list.items[2 * i]);
        struct pl_cel value =
            pl_cel_is_error(key) ? key : pl_cel_eval_expr(eval, e->list.items[2 * i + 1]);
        if (pl_cel_is_error(value))
            return value;
        if (!is_key(key) || (e->list.is_optional[2 * i] && value.kind != PL_CEL_OPTIONAL))
            return pl_cel_fail(eval->arena, "unsupported key type");
        if (e->list.is_optional[2 * i] && value.value == NULL)
            continue;
        if (!pl_cel_charge(eval, map->count / 8) || pl_cel_map_get(eval, made, key, &other))
            return pl_cel_fail(eval->arena, "repeated key");
        entries[map->count++] =
            (struct pl_cel_entry){key, e->list.is_optional[2 * i] ? *value.value : value};
    }
    return made;
}

static struct pl_cel new_object(struct pl_cel_eval *eval, const struct pl_cel_expr *e)
{
    struct pl_cel_entry *entries;
    struct pl_cel made = pl_cel_new_map(eval->arena, e->list.count, &entries);
    struct pl_cel_map *map = pl_arena_alloc(eval->arena, sizeof *map);
    *map = (struct pl_cel_map){.entries = entries, .type = e->list.type};
    if (!pl_cel_charge(eval, OBJECT_COST))
        return pl_cel_over_limit();
    for (size_t i = 0; i < e->list.count; i++) {
        struct pl_cel value = pl_cel_eval_expr(eval, e->list.items[2 * i + 1]);
        bool is_optional = e->list.is_optional[2 * i];
        if (pl_cel_is_error(value))
            return value;
        if (is_optional && value.kind != PL_CEL_OPTIONAL)
            return pl_cel_no_overload();
        if (is_optional && value.value == NULL)
            continue;
        entries[map->count++] = (struct pl_cel_entry){e->list.items[2 * i]->constant,
                                                      is_optional ? *value.value : value};
    }
    made.kind = PL_CEL_OBJECT;
    made.map = map;
    return made;
}

static struct pl_cel eval_bind(struct pl_cel_eval *eval, const struct pl_cel_expr *e)
{
    struct pl_cel target = pl_cel_eval_expr(eval, e->bind.target);
    if (pl_cel_is_error(target))
        return target;
    if (target.kind != PL_CEL_OPTIONAL)
        return pl_cel_no_overload();
    if (target.value == NULL)
        return target;
    eval->slots[e->bind.slot] = *target.value;
    struct pl_cel value = pl_cel_eval_expr(eval, e->bind.body);
    return pl_cel_is_error(value) || e->bind.is_flat ? value : pl_cel_some(eval->arena, value);
}

struct pl_cel pl_cel_eval_expr(struct pl_cel_eval *eval, const struct pl_cel_expr *e)
{
    switch (e->kind) {
    case PL_CEL_CONST:
        return e->constant;
    case PL_CEL_IDENT:
        if (e->ident.slot < 0)
            return (struct pl_cel){.kind = PL_CEL_TYPE, .of = e->ident.constant_type};
        if (!pl_cel_charge(eval, 1))
            return pl_cel_over_limit();
        return eval->slots[e->ident.slot];
    case PL_CEL_SELECT:
        return selection(eval, e);
    case PL_CEL_CALL:
        return eval_call(eval, e);
    case PL_CEL_NEW_LIST:
        return new_list(eval, e);
    case PL_CEL_NEW_MAP:
        return new_map(eval, e);
    case PL_CEL_NEW_OBJECT:
        return new_object(eval, e);
    case PL_CEL_LOOP:
        return pl_cel_eval_loop(eval, e);
    default:
        return eval_bind(eval, e);
    }
}

struct pl_cel pl_cel_evaluate(const struct pl_cel_program *program, struct pl_arena *arena,
                              const struct pl_cel *values, uint64_t limit, uint64_t *cost)
{
    struct pl_cel_eval eval = {.arena = arena, .limit = limit};
    eval.slots = pl_arena_alloc(arena, ((size_t)program->slot_count + 1) * sizeof *eval.slots);
    if (program->var_count > 0)
        memcpy(eval.slots, values, program->var_count * sizeof *values);
    struct pl_cel result = pl_cel_eval_expr(&eval, program->root);
    pl_regex_search_destroy(eval.search);
    pl_regex_destroy(eval.regex);
    *cost += eval.cost;
    return result;
}
