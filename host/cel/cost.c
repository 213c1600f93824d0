/* The highest possible cost of an expression, computed from the largest sizes that its types allow.
 * The numbers are those of kube-apiserver, which refuses to store rules that may cost too much.
 * Without a bound the result saturates. Nothing is evaluated here.
 *
 * kube-apiserver finds a size by the path from the rule's value, and forgets the path at most
 * calls. It takes the first name of a path for the rule's value, whatever it names. So the elements
 * of a list that an expression has made are as large as the rule's value. */
#include "cel/function.h"

#include <math.h>
#include <string.h>

/* A size in characters, bytes, elements or members. */
struct span {
    bool is_known;
    uint64_t min, max;
};

struct path {
    bool is_set;
    const struct pl_cel_type *at; /* where it leads; NULL: nowhere */
};

struct estimate {
    uint64_t cost;
    struct span size;
    struct path path;
    bool has_entries; /* the sizes of its entries are known without a path */
    struct span key, value;
};

struct costing {
    const struct pl_cel_type *root; /* of the rule's value */
    struct estimate *locals;        /* by slot */
};

static const struct span one = {true, 1, 1}, unknown = {false, 0, PL_CEL_UNBOUNDED};

static struct estimate estimate(struct costing *c, const struct pl_cel_expr *e);

/* ---- numbers ---- */

static uint64_t cost_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* In Go's way: with the error of a double. */
static uint64_t scaled(uint64_t size, double factor)
{
    double product = ceil((double)size * factor);
    return product >= ldexp(1, 64) ? UINT64_MAX : (uint64_t)product;
}

static uint64_t tenth(uint64_t size)
{
    return scaled(size, 0.1);
}

static struct span exactly(uint64_t size)
{
    return (struct span){true, size, size};
}

static struct span span_up_to(uint64_t size)
{
    return (struct span){true, 0, size};
}

static struct span span_union(struct span a, struct span b)
{
    return (struct span){true, a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
}

/* ---- sizes ---- */

static bool is_scalar(const struct pl_cel_type *type)
{
    switch (type == NULL ? PL_CEL_DYN : type->kind) {
    case PL_CEL_BOOL:
    case PL_CEL_INT:
    case PL_CEL_UINT:
    case PL_CEL_DOUBLE:
    case PL_CEL_TIMESTAMP:
    case PL_CEL_DURATION:
        return true;
    case PL_CEL_OPTIONAL:
        return is_scalar(pl_cel_type_elem(type));
    default:
        return false;
    }
}

static struct path step(const struct costing *c, struct path from, const struct pl_cel_type *to)
{
    return (struct path){true, from.is_set ? to : c->root};
}

static struct path step_to_elements(const struct costing *c, struct path from)
{
    bool has_parts =
        from.at != NULL && (from.at->kind == PL_CEL_LIST || from.at->kind == PL_CEL_MAP);
    return step(c, from, has_parts ? pl_cel_type_elem(from.at) : NULL);
}

/* The keys of a schema's maps have no length for kube-apiserver. */
static struct path step_to_keys(const struct costing *c, struct path from)
{
    static const struct pl_cel_type key = {.kind = PL_CEL_STRING};
    bool is_map = from.at != NULL && from.at->kind == PL_CEL_MAP;
    return step(c, from, is_map ? &key : NULL);
}

static struct span size_at(struct path path)
{
    return path.at != NULL ? span_up_to(path.at->max_size) : unknown;
}

/* The size of what has none of its own. */
static struct span size_of(struct path path, const struct pl_cel_type *type)
{
    return path.at != NULL ? size_at(path) : is_scalar(type) ? one : unknown;
}

/* ---- calls ---- */

static uint64_t elements_cost(const struct costing *c, const struct pl_cel_expr *of,
                              const struct estimate *list)
{
    if (of->type->kind == PL_CEL_STRING)
        return tenth(list->size.max);
    const struct pl_cel_type *elem = pl_cel_type_elem(of->type);
    bool is_text = elem->kind == PL_CEL_STRING || elem->kind == PL_CEL_BYTES;
    struct path path = list->path.is_set ? step_to_elements(c, list->path) : list->path;
    return times(list->size.max, is_text ? cost_add(1, tenth(size_at(path).max)) : 1);
}

/* A literal integer argument; else `otherwise`. */
static uint64_t literal(const struct pl_cel_expr *e, size_t arg, uint64_t otherwise)
{
    bool is_literal = arg < e->call.count && e->call.args[arg]->kind == PL_CEL_CONST &&
                      e->call.args[arg]->constant.kind == PL_CEL_INT;
    return is_literal ? (uint64_t)e->call.args[arg]->constant.i : otherwise;
}

static bool is_below_zero(const struct pl_cel_expr *e)
{
    return e->kind == PL_CEL_CONST && e->constant.kind == PL_CEL_INT && e->constant.i < 0;
}

static struct span joined(const struct costing *c, const struct estimate *args, size_t count)
{
    struct path path = args[0].path.is_set ? step_to_elements(c, args[0].path) : args[0].path;
    uint64_t most = times(args[0].size.max, size_at(path).max);
    if (count > 1 && args[0].size.max > 0)
        most = cost_add(most, times(args[1].size.max, args[0].size.max - 1));
    return span_up_to(most);
}

/* The longest replacement; see kube-apiserver's estimate of it. */
static struct span replaced(const struct estimate *args, size_t count)
{
    uint64_t most = args[0].size.max, with = count > 2 ? args[2].size.max : 0;
    if (count < 3)
        return args[0].size;
    if (args[1].size.min == 0)
        return span_up_to(cost_add(times(cost_add(most, 1), with), most));
    if (with <= args[1].size.min)
        return span_up_to(most);
    return span_up_to(times(scaled(most, 1.0 / (double)args[1].size.min), with));
}

/* The sizes that kube-apiserver's estimates of calls have; unknown: there is none. */
static struct span row_size(const struct costing *c, const struct pl_cel_function *f,
                            const struct pl_cel_expr *e, const struct estimate *args)
{
    struct span a = args[0].size;
    switch (f->size) {
    case PL_CEL_SIZE_SELF:
        return (struct span){true, a.min, a.max};
    case PL_CEL_SIZE_UP_TO_SELF:
        return span_up_to(a.max);
    case PL_CEL_SIZE_SUM:
        return (struct span){true, cost_add(a.min, args[1].size.min),
                             cost_add(a.max, args[1].size.max)};
    case PL_CEL_SIZE_REPLACE:
        return replaced(args, e->call.count);
    case PL_CEL_SIZE_FOURFOLD:
        return (struct span){true, a.min, times(a.max, 4)};
    case PL_CEL_SIZE_QUOTED:
        return (struct span){true, cost_add(a.min, 2), cost_add(times(a.max, 2), 2)};
    case PL_CEL_SIZE_SPLIT:
        return span_up_to(literal(e, 2, a.max));
    case PL_CEL_SIZE_JOINED:
        return joined(c, args, e->call.count);
    case PL_CEL_SIZE_RANGE:
        return exactly(is_below_zero(e->call.args[0]) ? 0 : literal(e, 0, PL_CEL_UNBOUNDED));
    case PL_CEL_SIZE_SLICE:
        return exactly(literal(e, 2, a.max) - literal(e, 1, 0));
    case PL_CEL_SIZE_SQUARE:
        return (struct span){true, times(a.min, a.min), times(a.max, a.max)};
    default:
        return unknown;
    }
}

/* Types of Kubernetes' libraries are compared at once. */
static bool is_of_library(const struct pl_cel_type *type)
{
    return type != NULL && type->kind >= PL_CEL_QUANTITY && type->kind < PL_CEL_PARAM;
}

static uint64_t row_cost(const struct costing *c, const struct pl_cel_function *f,
                         const struct pl_cel_expr *e, const struct estimate *args)
{
    uint64_t a = args[0].size.max, b = args[1].size.max;
    switch (f->cost) {
    case PL_CEL_COST_SELF:
        return tenth(a);
    case PL_CEL_COST_SELF_TWICE:
        return scaled(a, 0.2);
    case PL_CEL_COST_LAST:
        return tenth(b);
    case PL_CEL_COST_SMALLER:
        return is_of_library(e->call.args[0]->type) ? 1 : tenth(a < b ? a : b);
    case PL_CEL_COST_SUM:
        return e->type->kind == PL_CEL_LIST ? 1 : tenth(cost_add(a, b));
    case PL_CEL_COST_PRODUCT:
        return times(tenth(a), tenth(b));
    case PL_CEL_COST_REGEX:
        return times(tenth(cost_add(a, 1)), scaled(b, 0.25));
    case PL_CEL_COST_ELEMENTS:
        return elements_cost(c, e->call.args[0], &args[0]);
    case PL_CEL_COST_IN:
        return e->call.args[1]->type->kind == PL_CEL_MAP ? 1 : b;
    case PL_CEL_COST_RESULT:
        return tenth(row_size(c, f, e, args).max);
    case PL_CEL_COST_FORMAT:
        return times(tenth(b), 32);
    case PL_CEL_COST_SETS:
        return cost_add(1, times(a, b));
    case PL_CEL_COST_SETS_TWICE:
        return cost_add(1, times(2, times(a, b)));
    case PL_CEL_COST_COPY:
        return cost_add(11, row_size(c, f, e, args).max);
    case PL_CEL_COST_SORT:
        return cost_add(11, scaled(times(a, a), 2));
    case PL_CEL_COST_SORT_TEXTS:
        return cost_add(11, scaled(times(a, a), 2.1));
    case PL_CEL_COST_FLATTEN:
        return cost_add(11, times(a, literal(e, 1, e->call.count > 1 ? UINT64_MAX : 1)));
    case PL_CEL_COST_NET:
        return e->call.args[1]->type->kind == PL_CEL_STRING ? 4 + tenth(b) : 4;
    case PL_CEL_COST_NET_IN_NET:
        return e->call.args[1]->type->kind == PL_CEL_STRING ? 7 + tenth(b) : 7;
    case PL_CEL_COST_CHECK:
        return PL_CEL_CHECK_COST;
    default:
        return 1;
    }
}

#define MOST_ARGS 8

/* The most expensive of the overloads that fit. */
static struct estimate rows(const struct costing *c, const struct pl_cel_expr *e,
                            const struct estimate *args)
{
    struct estimate most = {.size = unknown};
    for (size_t row = 0; row < e->call.row_count; row++) {
        const struct pl_cel_function *f = e->call.rows[row];
        const struct pl_cel_type *types[MOST_ARGS], *result;
        struct pl_arena scratch = {0};
        if (e->call.count > MOST_ARGS)
            continue;
        for (size_t i = 0; i < e->call.count; i++)
            types[i] = e->call.args[i]->type;
        if (pl_cel_function_takes(&scratch, f, types, e->call.count, &result)) {
            uint64_t cost = row_cost(c, f, e, args);
            struct span size = row_size(c, f, e, args);
            most.cost = cost > most.cost ? cost : most.cost;
            if (size.is_known)
                most.size = most.size.is_known ? span_union(most.size, size) : size;
        }
        pl_arena_deinit(&scratch);
    }
    return most;
}

static void unite_entries(struct estimate *of, const struct estimate *a, const struct estimate *b)
{
    of->has_entries = a->has_entries && b->has_entries;
    if (of->has_entries) {
        of->key = span_union(a->key, b->key);
        of->value = span_union(a->value, b->value);
    }
}

static struct estimate choice(struct costing *c, const struct pl_cel_expr *e)
{
    struct estimate condition = estimate(c, e->call.args[0]), yes = estimate(c, e->call.args[1]),
                    no = estimate(c, e->call.args[2]);
    struct estimate of = {.size = span_union(yes.size, no.size)};
    of.cost = cost_add(condition.cost, yes.cost > no.cost ? yes.cost : no.cost);
    unite_entries(&of, &yes, &no);
    return of;
}

/* list[index] or map[key] */
static void find_element(const struct costing *c, const struct pl_cel_expr *e,
                         const struct estimate *container, struct estimate *own)
{
    if (!pl_slice_eqz(e->call.name, "_[_]") || e->call.args[0]->type->kind == PL_CEL_OPTIONAL)
        return;
    own->path = step_to_elements(c, container->path);
    if (container->has_entries)
        own->size = container->value;
}

static struct estimate cost_call(struct costing *c, const struct pl_cel_expr *e)
{
    if (pl_slice_eqz(e->call.name, "_?_:_"))
        return choice(c, e);
    struct estimate args[MOST_ARGS] = {{.size = unknown}, {.size = unknown}};
    uint64_t sum = 0;
    for (size_t i = 0; i < e->call.count; i++) {
        struct estimate arg = estimate(c, e->call.args[i]);
        sum = cost_add(sum, arg.cost);
        if (i < MOST_ARGS)
            args[i] = arg;
    }
    if (e->call.rows == NULL) /* && and || */
        return (struct estimate){.cost = sum, .size = one};
    if (pl_slice_eqz(e->call.name, "dyn")) {
        args[0].path = (struct path){false, NULL};
        args[0].cost = cost_add(sum, 1);
        return args[0];
    }
    struct estimate own = rows(c, e, args);
    find_element(c, e, &args[0], &own);
    if (pl_slice_eqz(e->call.name, "_+_"))
        unite_entries(&own, &args[0], &args[1]);
    if (!own.size.is_known)
        own.size = size_of(own.path, e->type);
    own.cost = cost_add(own.cost, sum);
    return own;
}

/* ---- the rest ---- */

static struct estimate cost_literal(struct costing *c, const struct pl_cel_expr *e, uint64_t base)
{
    bool is_list = e->kind == PL_CEL_NEW_LIST;
    struct span none = span_up_to(0);
    struct estimate of = {.cost = base, .size = exactly(e->list.count)};
    of.has_entries = is_list || e->kind == PL_CEL_NEW_MAP;
    of.key = is_list ? one : none;
    of.value = none;
    for (size_t i = 0; i < (is_list ? 1 : 2) * e->list.count; i++) {
        struct estimate item = estimate(c, e->list.items[i]);
        struct span *of_all = is_list || i % 2 == 1 ? &of.value : &of.key;
        of.cost = cost_add(of.cost, item.cost);
        *of_all = span_union(i < (is_list ? 1 : 2) ? item.size : *of_all, item.size);
    }
    return of;
}

static struct estimate variable(struct path path, struct span size, const struct pl_cel_type *type)
{
    struct estimate of = {.cost = 1, .path = path, .size = size_of(path, type)};
    if (!of.size.is_known && size.is_known)
        of.size = size;
    return of;
}

/* The variables of a loop; in lists, the first of two is the index, whose path leads nowhere. */
static void enter_loop(struct costing *c, const struct pl_cel_expr *e, const struct estimate *range)
{
    const struct pl_cel_type *type = e->loop.range->type;
    bool is_list = type->kind == PL_CEL_LIST, is_pair = e->loop.var2.ptr != NULL;
    struct span key = range->has_entries ? range->key : unknown,
                value = range->has_entries ? range->value : unknown;
    struct path keys = is_list ? step(c, range->path, NULL) : step_to_keys(c, range->path),
                values = step_to_elements(c, range->path);
    struct estimate of_value = variable(values, value, pl_cel_type_elem(type));
    if (is_pair)
        c->locals[e->loop.slot + 1] = of_value;
    c->locals[e->loop.slot] =
        is_list && !is_pair
            ? of_value
            : variable(keys, key, is_list ? pl_cel_type_of(PL_CEL_INT) : pl_cel_type_key(type));
}

/* sortBy names the list, makes the list of keys, and compares each of these with each. */
static void sort_by(const struct pl_cel_expr *e, struct estimate *of)
{
    enum pl_cel_kind kind = e->loop.body->type->kind;
    uint64_t pairs = times(of->size.max, of->size.max);
    bool is_text = kind == PL_CEL_STRING || kind == PL_CEL_BYTES;
    of->cost = cost_add(of->cost, cost_add(23, scaled(pairs, is_text ? 2.1 : 2)));
    of->size = (struct span){true, 0, pairs};
    of->has_entries = false;
}

static struct estimate loop(struct costing *c, const struct pl_cel_expr *e)
{
    struct estimate range = estimate(c, e->loop.range);
    enter_loop(c, e, &range);
    struct estimate body = estimate(c, e->loop.body);
    uint64_t filter = e->loop.filter != NULL ? estimate(c, e->loop.filter).cost : 0;
    uint64_t pass = body.cost, around = 1;
    struct estimate of = {.size = one, .key = one, .value = span_up_to(body.size.max)};
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
        of.size = range.size;
        break;
    default: /* loops that make a list */
        pass = cost_add(cost_add(pass, filter), e->loop.what == PL_CEL_FILTER ? 13 : 12);
        around = 11;
        of.size = range.size;
        of.has_entries = true;
        if (e->loop.what == PL_CEL_FILTER)
            of.value = span_up_to(c->locals[e->loop.slot].size.max);
    }
    of.cost = cost_add(cost_add(range.cost, around), times(range.size.max, pass));
    if (e->loop.what == PL_CEL_SORT_BY)
        sort_by(e, &of);
    return of;
}

/* optMap and optFlatMap are a choice: hasValue() of the target, and its value() for the body. */
static struct estimate cost_bind(struct costing *c, const struct pl_cel_expr *e)
{
    struct estimate target = estimate(c, e->bind.target);
    const struct pl_cel_type *type = pl_cel_type_elem(e->bind.target->type);
    c->locals[e->bind.slot] = variable((struct path){false, NULL}, unknown, type);
    uint64_t twice = cost_add(times(target.cost, 2), e->bind.is_flat ? 12 : 13);
    return (struct estimate){.cost = cost_add(twice, estimate(c, e->bind.body).cost),
                             .size = size_of((struct path){false, NULL}, e->type)};
}

static struct estimate cost_select(struct costing *c, const struct pl_cel_expr *e)
{
    struct estimate of = estimate(c, e->select.of);
    const struct pl_cel_field *field =
        of.path.at != NULL ? pl_cel_type_field(of.path.at, e->select.field) : NULL;
    struct estimate own = {.cost = cost_add(of.cost, !e->select.is_test)};
    if (!e->select.is_test && !e->select.is_optional)
        own.path = step(c, of.path, field != NULL ? field->type : NULL);
    own.size = size_of(own.path, e->type);
    return own;
}

static struct estimate cost_ident(struct costing *c, const struct pl_cel_expr *e)
{
    int slot = e->ident.slot;
    return slot >= 0 ? c->locals[slot]
                     : variable((struct path){true, c->root}, unknown, e->type); /* a type's name */
}

static struct estimate estimate(struct costing *c, const struct pl_cel_expr *e)
{
    switch (e->kind) {
    case PL_CEL_CONST:
        return (struct estimate){.size = e->constant.kind == PL_CEL_STRING ||
                                                 e->constant.kind == PL_CEL_BYTES
                                             ? exactly(pl_cel_size(e->constant))
                                             : one};
    case PL_CEL_IDENT:
        return cost_ident(c, e);
    case PL_CEL_SELECT:
        return cost_select(c, e);
    case PL_CEL_CALL:
        return cost_call(c, e);
    case PL_CEL_NEW_LIST:
        return cost_literal(c, e, 10);
    case PL_CEL_NEW_MAP:
        return cost_literal(c, e, 30);
    case PL_CEL_NEW_OBJECT:
        return cost_literal(c, e, 40);
    case PL_CEL_LOOP:
        return loop(c, e);
    default:
        return cost_bind(c, e);
    }
}

uint64_t pl_cel_estimate(const struct pl_cel_program *program, const struct pl_cel_type *root)
{
    struct pl_arena arena = {0};
    size_t count = (size_t)program->slot_count;
    struct costing c = {root, pl_arena_alloc(&arena, (count + 1) * sizeof *c.locals)};
    for (size_t i = 0; i < program->var_count; i++)
        c.locals[i] = variable((struct path){true, root}, unknown, root);
    uint64_t cost = estimate(&c, program->root).cost;
    pl_arena_deinit(&arena);
    return cost;
}
