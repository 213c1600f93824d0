/* Operators, comparison, size and membership. Arithmetic never wraps: overflow is an error. */
#include "cel/finder.h"
#include "cel/function.h"

#include <string.h>

#define FAIL(text) ((struct pl_cel){.kind = PL_CEL_ERROR, .s = pl_slice_z(text)})

/* ---- numbers ---- */

static struct pl_cel whole(bool overflows, int64_t value)
{
    return overflows ? FAIL("integer overflow") : pl_cel_int(value);
}

static struct pl_cel natural(bool overflows, uint64_t value)
{
    return overflows ? FAIL("unsigned integer overflow")
                     : (struct pl_cel){.kind = PL_CEL_UINT, .u = value};
}

#define ARITHMETIC(fn_name, builtin, op)                                                           \
    static struct pl_cel fn_name(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)    \
    {                                                                                              \
        int64_t i = 0;                                                                             \
        uint64_t u = 0;                                                                            \
        PL_UNUSED(eval);                                                                           \
        PL_UNUSED(n);                                                                              \
        if (args[0].kind == PL_CEL_INT) {                                                          \
            bool overflows = builtin(args[0].i, args[1].i, &i);                                    \
            return whole(overflows, i);                                                            \
        }                                                                                          \
        if (args[0].kind == PL_CEL_UINT) {                                                         \
            bool overflows = builtin(args[0].u, args[1].u, &u);                                    \
            return natural(overflows, u);                                                          \
        }                                                                                          \
        return pl_cel_double(args[0].d op args[1].d);                                              \
    }

ARITHMETIC(add_numbers, __builtin_add_overflow, +)
ARITHMETIC(subtract, __builtin_sub_overflow, -)
ARITHMETIC(multiply, __builtin_mul_overflow, *)

static struct pl_cel lib_core_divide(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    if (args[0].kind == PL_CEL_DOUBLE)
        return pl_cel_double(args[0].d / args[1].d);
    if (args[1].u == 0) /* the same bits for an int */
        return FAIL("division by zero");
    if (args[0].kind == PL_CEL_UINT)
        return natural(false, args[0].u / args[1].u);
    bool overflows = args[0].i == INT64_MIN && args[1].i == -1;
    return whole(overflows, overflows ? 0 : args[0].i / args[1].i);
}

static struct pl_cel modulo(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    if (args[1].u == 0)
        return FAIL("modulus by zero");
    if (args[0].kind == PL_CEL_UINT)
        return natural(false, args[0].u % args[1].u);
    bool overflows = args[0].i == INT64_MIN && args[1].i == -1;
    return whole(overflows, overflows ? 0 : args[0].i % args[1].i);
}

static struct pl_cel negate(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    if (args[0].kind == PL_CEL_DOUBLE)
        return pl_cel_double(-args[0].d);
    return whole(args[0].i == INT64_MIN, args[0].i == INT64_MIN ? 0 : -args[0].i);
}

static struct pl_cel negate_bool(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_bool(!args[0].b);
}

/* ---- texts and lists ---- */

static struct pl_cel concatenate(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    size_t a = args[0].s.len, b = args[1].s.len;
    char *text = pl_arena_alloc(eval->arena, a + b + 1);
    if (a > 0)
        memcpy(text, args[0].s.ptr, a);
    if (b > 0)
        memcpy(text + a, args[1].s.ptr, b);
    struct pl_cel result = args[0];
    result.s = pl_slice(text, a + b);
    return result;
}

/* Adds to a set what it lacks; in a map list, an element replaces the one with its keys. The room
 * is for both lists, and has the first one's elements. */
static struct pl_cel lists_unite(struct pl_cel_eval *eval, const struct pl_cel_list *a,
                                 const struct pl_cel_list *b, struct pl_cel *room)
{
    struct pl_cel_list *made = pl_arena_alloc(eval->arena, sizeof *made);
    *made = (struct pl_cel_list){.count = a->count, .items = room, .type = a->type};
    struct pl_cel_finder finder = pl_cel_finder(eval, made, a->type, a->count + b->count);
    for (size_t i = 0; i < a->count; i++)
        pl_cel_finder_add(eval, &finder, i);
    for (size_t i = 0; i < b->count; i++) {
        size_t at = pl_cel_finder_find(eval, &finder, b->items[i]);
        if (eval->cost > eval->limit)
            return pl_cel_over_limit();
        room[at < SIZE_MAX ? at : made->count] = b->items[i];
        if (at == SIZE_MAX)
            pl_cel_finder_add(eval, &finder, made->count++);
    }
    return (struct pl_cel){.kind = PL_CEL_LIST, .list = made};
}

static struct pl_cel add_lists(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_list *a = pl_cel_list_of(eval, args[0]), *b = pl_cel_list_of(eval, args[1]);
    struct pl_cel *items;
    if (!pl_cel_charge(eval, (a->count + b->count) / 10)) /* the elements are copied here */
        return pl_cel_over_limit();
    struct pl_cel made = pl_cel_new_list(eval->arena, a->count + b->count, &items);
    memcpy(items, a->items, a->count * sizeof *items);
    if (a->type != NULL && (a->type->is_set || a->type->is_map_list))
        return lists_unite(eval, a, b, items);
    memcpy(items + a->count, b->items, b->count * sizeof *items);
    return made;
}

static struct pl_cel size(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_int((int64_t)pl_cel_size(args[0]));
}

static struct pl_cel in_list(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[1]);
    for (size_t i = 0; i < list->count; i++)
        if (pl_cel_equal(eval, list->items[i], args[0]))
            return pl_cel_bool(true);
    return pl_cel_bool(false);
}

static struct pl_cel in_map(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_cel value;
    return pl_cel_bool(pl_cel_map_get(eval, args[1], args[0], &value));
}

/* ---- comparison ---- */

static struct pl_cel equals(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    if (args[0].kind >= PL_CEL_AUTHORIZER && args[0].kind <= PL_CEL_DECISION)
        return pl_cel_no_overload();
    return pl_cel_bool(pl_cel_equal(eval, args[0], args[1]));
}

static struct pl_cel lib_core_differs(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_cel same = equals(eval, args, n);
    return pl_cel_is_error(same) ? same : pl_cel_bool(!same.b);
}

#define COMPARISON(fn_name, condition)                                                             \
    static struct pl_cel fn_name(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)    \
    {                                                                                              \
        PL_UNUSED(eval);                                                                           \
        PL_UNUSED(n);                                                                              \
        int c = pl_cel_compare(args[0], args[1]);                                                  \
        return pl_cel_bool(c != 2 && (condition));                                                 \
    }

COMPARISON(less, c < 0)
COMPARISON(less_or_equal, c <= 0)
COMPARISON(greater, c > 0)
COMPARISON(greater_or_equal, c >= 0)

/* A time or a duration. */
static struct pl_cel moment(enum pl_cel_kind kind, __int128 ns)
{
    __int128 second = 1000000000;
    __int128 seconds = ns / second, rest = ns % second;
    if (kind == PL_CEL_TIMESTAMP && rest < 0)
        rest += second, seconds--;
    if (kind == PL_CEL_TIMESTAMP && (seconds < -62135596800 || seconds > 253402300799))
        return FAIL("timestamp overflow");
    if (kind == PL_CEL_DURATION && (ns > INT64_MAX || ns < INT64_MIN))
        return FAIL("duration overflow");
    return (struct pl_cel){.kind = kind, .t = {(int64_t)seconds, (int32_t)rest}};
}

static __int128 in_ns(struct pl_cel_time t)
{
    return (__int128)t.seconds * 1000000000 + t.ns;
}

static struct pl_cel add_times(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    bool is_time = args[0].kind == PL_CEL_TIMESTAMP || args[1].kind == PL_CEL_TIMESTAMP;
    return moment(is_time ? PL_CEL_TIMESTAMP : PL_CEL_DURATION,
                  in_ns(args[0].t) + in_ns(args[1].t));
}

static struct pl_cel subtract_times(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return moment(args[0].kind == args[1].kind ? PL_CEL_DURATION : PL_CEL_TIMESTAMP,
                  in_ns(args[0].t) - in_ns(args[1].t));
}

#define ONE                                      PL_CEL_COST_ONE, PL_CEL_SIZE_NONE
#define OP(name, signature, fn)                  PL_CEL_ROW(name, signature, false, ONE, fn)
#define OP_COST(name, signature, cost, size, fn) PL_CEL_ROW(name, signature, false, cost, size, fn)
#define COMPARE(name, fn)                                                                          \
    OP(name, "bb:b", fn), OP(name, "ii:b", fn), OP(name, "uu:b", fn), OP(name, "dd:b", fn),        \
        OP(name, "iu:b", fn), OP(name, "ui:b", fn), OP(name, "id:b", fn), OP(name, "di:b", fn),    \
        OP(name, "ud:b", fn), OP(name, "du:b", fn),                                                \
        OP_COST(name, "ss:b", PL_CEL_COST_SMALLER, PL_CEL_SIZE_NONE, fn),                          \
        OP_COST(name, "yy:b", PL_CEL_COST_SMALLER, PL_CEL_SIZE_NONE, fn), OP(name, "tt:b", fn),    \
        OP(name, "rr:b", fn)

const struct pl_cel_function pl_cel_core_functions[] = {
    OP("_+_", "ii:i", add_numbers),
    OP("_+_", "uu:u", add_numbers),
    OP("_+_", "dd:d", add_numbers),
    OP_COST("_+_", "ss:s", PL_CEL_COST_SUM, PL_CEL_SIZE_SUM, concatenate),
    OP_COST("_+_", "yy:y", PL_CEL_COST_SUM, PL_CEL_SIZE_SUM, concatenate),
    OP_COST("_+_", "LALA:LA", PL_CEL_COST_ONE, PL_CEL_SIZE_SUM, add_lists),
    OP("_+_", "tr:t", add_times),
    OP("_+_", "rt:t", add_times),
    OP("_+_", "rr:r", add_times),
    OP("_-_", "ii:i", subtract),
    OP("_-_", "uu:u", subtract),
    OP("_-_", "dd:d", subtract),
    OP("_-_", "tt:r", subtract_times),
    OP("_-_", "tr:t", subtract_times),
    OP("_-_", "rr:r", subtract_times),
    OP("_*_", "ii:i", multiply),
    OP("_*_", "uu:u", multiply),
    OP("_*_", "dd:d", multiply),
    OP("_/_", "ii:i", lib_core_divide),
    OP("_/_", "uu:u", lib_core_divide),
    OP("_/_", "dd:d", lib_core_divide),
    OP("_%_", "ii:i", modulo),
    OP("_%_", "uu:u", modulo),
    OP("-_", "i:i", negate),
    OP("-_", "d:d", negate),
    OP("!_", "b:b", negate_bool),
    OP_COST("_==_", "AA:b", PL_CEL_COST_SMALLER, PL_CEL_SIZE_NONE, equals),
    OP_COST("_!=_", "AA:b", PL_CEL_COST_SMALLER, PL_CEL_SIZE_NONE, lib_core_differs),
    COMPARE("_<_", less),
    COMPARE("_<=_", less_or_equal),
    COMPARE("_>_", greater),
    COMPARE("_>=_", greater_or_equal),
    OP_COST("@in", "ALA:b", PL_CEL_COST_IN, PL_CEL_SIZE_NONE, in_list),
    OP("@in", "AMAB:b", in_map),
    OP("_?_:_", "bAA:A", NULL),
    OP("_[_]", "LAi:A", NULL),
    OP("_[_]", "MABA:B", NULL),
    OP("_[_]", "OLAi:OA", NULL),
    OP("_[_]", "OMABA:OB", NULL),
    OP("_[?_]", "LAi:OA", NULL),
    OP("_[?_]", "MABA:OB", NULL),
    OP("_[?_]", "OLAi:OA", NULL),
    OP("_[?_]", "OMABA:OB", NULL),
    OP("size", "s:i", size),
    OP("size", "y:i", size),
    OP("size", "LA:i", size),
    OP("size", "MAB:i", size),
    PL_CEL_ROW("size", "s:i", true, ONE, size),
    PL_CEL_ROW("size", "y:i", true, ONE, size),
    PL_CEL_ROW("size", "LA:i", true, ONE, size),
    PL_CEL_ROW("size", "MAB:i", true, ONE, size),
    {0},
};
