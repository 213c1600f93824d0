/* The highest possible cost of an expression, computed from the largest sizes that its types allow.
 * The numbers are those of kube-apiserver, which refuses to store rules that may cost too much.
 * Without a bound the result saturates. Nothing is evaluated here. */
#include "cel/function.h"

#include <string.h>

struct estimate {
    uint64_t cost;
    uint64_t size; /* of the value: in characters, bytes, elements or members */
};

static struct estimate estimate(const struct pl_cel_expr *e);

static uint64_t cost_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

static uint64_t part(uint64_t size, uint64_t of)
{
    return size == UINT64_MAX ? size / of : size / of + (size % of != 0);
}

static uint64_t type_size(const struct pl_cel_type *type)
{
    return type == NULL ? PL_CEL_UNBOUNDED : type->max_size;
}

/* ---- calls ---- */

static uint64_t elements_cost(const struct pl_cel_expr *of, uint64_t size)
{
    if (of->type->kind == PL_CEL_STRING)
        return part(size, 10);
    const struct pl_cel_type *elem = pl_cel_type_elem(of->type);
    bool is_text = elem->kind == PL_CEL_STRING || elem->kind == PL_CEL_BYTES;
    return times(size, is_text ? cost_add(1, part(type_size(elem), 10)) : 1);
}

static uint64_t row_cost(const struct pl_cel_function *f, const struct pl_cel_expr *e, uint64_t a,
                         uint64_t b)
{
    switch (f->cost) {
    case PL_CEL_COST_SELF:
        return part(a, 10);
    case PL_CEL_COST_SELF_TWICE:
        return part(times(a, 2), 10);
    case PL_CEL_COST_LAST:
        return part(b, 10);
    case PL_CEL_COST_SMALLER:
        return part(a < b ? a : b, 10);
    case PL_CEL_COST_SUM:
        return e->type->kind == PL_CEL_LIST ? 1 : part(cost_add(a, b), 10);
    case PL_CEL_COST_PRODUCT:
        return times(part(a, 10), part(b, 10));
    case PL_CEL_COST_REGEX:
        return times(part(cost_add(a, 1), 10), part(b, 4));
    case PL_CEL_COST_ELEMENTS:
        return elements_cost(e->call.args[0], a);
    case PL_CEL_COST_IN:
        return e->call.args[1]->type->kind == PL_CEL_MAP ? 1 : b;
    case PL_CEL_COST_RESULT:
        if (e->call.args[0]->kind == PL_CEL_NEW_LIST) /* the size of its elements is unknown */
            return part(PL_CEL_UNBOUNDED, 10);
        return part(times(a, type_size(pl_cel_type_elem(e->call.args[0]->type))), 10);
    case PL_CEL_COST_FORMAT:
        return times(part(b, 10), 32);
    case PL_CEL_COST_SETS:
        return cost_add(1, times(a, b));
    case PL_CEL_COST_SETS_TWICE:
        return cost_add(1, times(2, times(a, b)));
    case PL_CEL_COST_COPY:
        return cost_add(11,
                        e->call.count > 0 && e->call.args[0]->type->kind == PL_CEL_LIST ? a : 1);
    case PL_CEL_COST_SORT:
        return cost_add(11, times(2, times(a, a)));
    case PL_CEL_COST_NET:
        return e->call.args[1]->type->kind == PL_CEL_STRING ? 4 + part(b, 10) : 4;
    case PL_CEL_COST_NET_IN_NET:
        return e->call.args[1]->type->kind == PL_CEL_STRING ? 7 + part(b, 10) : 7;
    case PL_CEL_COST_CHECK:
        return PL_CEL_CHECK_COST;
    default:
        return 1;
    }
}

static uint64_t row_size(const struct pl_cel_function *f, const struct pl_cel_expr *e, uint64_t a,
                         uint64_t b)
{
    switch (f->size) {
    case PL_CEL_SIZE_SELF:
        return a;
    case PL_CEL_SIZE_SUM:
        return cost_add(a, b);
    case PL_CEL_SIZE_REPLACE:
        return e->call.count > 2
                   ? times(cost_add(a, 1), cost_add(estimate(e->call.args[2]).size, 1))
                   : a;
    case PL_CEL_SIZE_FOURFOLD:
        return times(a, 4);
    default:
        return type_size(e->type);
    }
}

/* The most expensive of the overloads that fit. */
static struct estimate rows(const struct pl_cel_expr *e, uint64_t a, uint64_t b)
{
    struct estimate most = {0};
    for (size_t row = 0; row < e->call.row_count; row++) {
        const struct pl_cel_function *f = e->call.rows[row];
        const struct pl_cel_type *types[8], *result;
        struct pl_arena scratch = {0};
        if (e->call.count > PL_ARRAY_LEN(types))
            continue;
        for (size_t i = 0; i < e->call.count; i++)
            types[i] = e->call.args[i]->type;
        if (pl_cel_function_takes(&scratch, f, types, e->call.count, &result)) {
            uint64_t cost = row_cost(f, e, a, b), size = row_size(f, e, a, b);
            most.cost = cost > most.cost ? cost : most.cost;
            most.size = size > most.size ? size : most.size;
        }
        pl_arena_deinit(&scratch);
    }
    return most;
}

static struct estimate choice(const struct pl_cel_expr *e)
{
    struct estimate condition = estimate(e->call.args[0]), yes = estimate(e->call.args[1]),
                    no = estimate(e->call.args[2]);
    return (struct estimate){cost_add(condition.cost, yes.cost > no.cost ? yes.cost : no.cost),
                             yes.size > no.size ? yes.size : no.size};
}

static struct estimate cost_call(const struct pl_cel_expr *e)
{
    if (pl_slice_eqz(e->call.name, "_?_:_"))
        return choice(e);
    uint64_t sum = 0, sizes[2] = {0, 0};
    for (size_t i = 0; i < e->call.count; i++) {
        struct estimate arg = estimate(e->call.args[i]);
        sum = cost_add(sum, arg.cost);
        if (i < 2)
            sizes[i] = arg.size;
    }
    if (e->call.rows == NULL) /* && and || */
        return (struct estimate){sum, 1};
    if (pl_slice_eqz(e->call.name, "dyn"))
        return (struct estimate){cost_add(sum, 1), sizes[0]};
    struct estimate own = rows(e, sizes[0], sizes[1]);
    own.cost = cost_add(own.cost, sum);
    return own;
}

/* ---- the rest ---- */

static struct estimate cost_literal(const struct pl_cel_expr *e, uint64_t base)
{
    size_t items = e->kind == PL_CEL_NEW_MAP ? 2 * e->list.count : e->list.count;
    for (size_t i = 0; i < items; i++)
        base = cost_add(base, estimate(e->list.items[i]).cost);
    return (struct estimate){base, e->list.count};
}

static struct estimate loop(const struct pl_cel_expr *e)
{
    struct estimate range = estimate(e->loop.range), body = estimate(e->loop.body);
    uint64_t filter = e->loop.filter != NULL ? estimate(e->loop.filter).cost : 0;
    uint64_t pass = body.cost, around = 1, size = 1;
    switch (e->loop.what) {
    case PL_CEL_ALL:
        pass = cost_add(pass, 3);
        break;
    case PL_CEL_EXISTS:
        pass = cost_add(pass, 4);
        break;
    case PL_CEL_EXISTS_ONE:
        pass = cost_add(pass, 2);
        around = 2;
        break;
    case PL_CEL_TO_MAP:
    case PL_CEL_TO_ENTRIES:
        pass = cost_add(cost_add(pass, filter), e->loop.what == PL_CEL_TO_MAP ? 3 : 2);
        around = 31;
        size = range.size;
        break;
    default: /* loops that make a list or a map */
        pass = cost_add(cost_add(pass, filter), e->loop.what == PL_CEL_FILTER ? 13 : 12);
        around = 11;
        size = range.size;
    }
    return (struct estimate){cost_add(cost_add(range.cost, around), times(range.size, pass)), size};
}

static struct estimate estimate(const struct pl_cel_expr *e)
{
    struct estimate of;
    switch (e->kind) {
    case PL_CEL_CONST:
        return (struct estimate){0, type_size(e->type)};
    case PL_CEL_IDENT:
        return (struct estimate){e->ident.slot >= 0, type_size(e->type)};
    case PL_CEL_SELECT:
        of = estimate(e->select.of);
        return (struct estimate){cost_add(of.cost, !e->select.is_test), type_size(e->type)};
    case PL_CEL_CALL:
        return cost_call(e);
    case PL_CEL_NEW_LIST:
        return cost_literal(e, 10);
    case PL_CEL_NEW_MAP:
        return cost_literal(e, 30);
    case PL_CEL_LOOP:
        return loop(e);
    default:
        of = estimate(e->bind.target);
        return (struct estimate){cost_add(of.cost, estimate(e->bind.body).cost),
                                 type_size(e->type)};
    }
}

uint64_t pl_cel_estimate(const struct pl_cel_program *program)
{
    return estimate(program->root).cost;
}
