/* Functions of lists: Kubernetes' own (sum, min, max, isSorted, ...), sets, and CEL's extended list
 * functions (version 3). */
#include "cel/finder.h"
#include "cel/function.h"

#include <stdlib.h>
#include <string.h>

#define MOST_RANGE 1000000
#define FAIL(text) ((struct pl_cel){.kind = PL_CEL_ERROR, .s = pl_slice_z(text)})

/* ---- Kubernetes' functions ---- */

static struct pl_cel is_sorted(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[0]);
    for (size_t i = 1; i < list->count; i++) {
        int c = pl_cel_compare(list->items[i - 1], list->items[i]);
        if (c == 2)
            return pl_cel_no_overload();
        if (c > 0)
            return pl_cel_bool(false);
    }
    return pl_cel_bool(true);
}

/* The smallest element (sign -1) or the largest (sign +1). */
static struct pl_cel extreme(struct pl_cel_eval *eval, struct pl_cel of, int sign)
{
    const struct pl_cel_list *list = pl_cel_list_of(eval, of);
    if (list->count == 0)
        return sign < 0 ? FAIL("min called on empty list") : FAIL("max called on empty list");
    struct pl_cel best = list->items[0];
    for (size_t i = 1; i < list->count; i++) {
        int c = pl_cel_compare(list->items[i], best);
        if (c == 2)
            return pl_cel_no_overload();
        if (c == sign)
            best = list->items[i];
    }
    return best;
}

static struct pl_cel min(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    return extreme(eval, args[0], -1);
}

static struct pl_cel max(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    return extreme(eval, args[0], 1);
}

static struct pl_cel add_two(struct pl_cel_eval *eval, struct pl_cel a, struct pl_cel b)
{
    struct pl_cel args[] = {a, b};
    for (const struct pl_cel_function *f = pl_cel_core_functions; f->name != NULL; f++)
        if (strcmp(f->name, "_+_") == 0 && pl_cel_function_takes_values(f, args, 2))
            return f->fn(eval, args, 2);
    return pl_cel_no_overload();
}

/* The sum of no elements; its type is that of the call. */
static struct pl_cel sum_of_none(const struct pl_cel_expr *call)
{
    enum pl_cel_kind kind = call->type->kind;
    bool has_own = kind == PL_CEL_UINT || kind == PL_CEL_DOUBLE || kind == PL_CEL_DURATION;
    return (struct pl_cel){.kind = has_own ? kind : PL_CEL_INT};
}

static struct pl_cel sum(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[0]);
    if (list->count == 0)
        return sum_of_none(eval->call);
    struct pl_cel total = list->items[0];
    for (size_t i = 1; i < list->count && !pl_cel_is_error(total); i++)
        total = add_two(eval, total, list->items[i]);
    return total;
}

static struct pl_cel lib_list_index_of(struct pl_cel_eval *eval, const struct pl_cel *args,
                                       size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[0]);
    for (size_t i = 0; i < list->count; i++)
        if (pl_cel_equal(eval, list->items[i], args[1]))
            return pl_cel_int((int64_t)i);
    return pl_cel_int(-1);
}

static struct pl_cel last_index_of(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[0]);
    for (size_t i = list->count; i-- > 0;)
        if (pl_cel_equal(eval, list->items[i], args[1]))
            return pl_cel_int((int64_t)i);
    return pl_cel_int(-1);
}

/* ---- sets ---- */

static bool has_all(struct pl_cel_eval *eval, struct pl_cel of, struct pl_cel wanted)
{
    const struct pl_cel_list *list = pl_cel_list_of(eval, of), *all = pl_cel_list_of(eval, wanted);
    struct pl_cel_finder finder = pl_cel_finder_of(eval, list, NULL);
    for (size_t i = 0; i < all->count; i++)
        if (pl_cel_finder_find(eval, &finder, all->items[i]) == SIZE_MAX)
            return false;
    return true;
}

static struct pl_cel sets_contains(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    return pl_cel_bool(has_all(eval, args[0], args[1]));
}

static struct pl_cel sets_equivalent(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    return pl_cel_bool(has_all(eval, args[0], args[1]) && has_all(eval, args[1], args[0]));
}

static struct pl_cel sets_intersects(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_list *a = pl_cel_list_of(eval, args[0]), *b = pl_cel_list_of(eval, args[1]);
    struct pl_cel_finder finder = pl_cel_finder_of(eval, b, NULL);
    for (size_t i = 0; i < a->count; i++)
        if (pl_cel_finder_find(eval, &finder, a->items[i]) < SIZE_MAX)
            return pl_cel_bool(true);
    return pl_cel_bool(false);
}

/* ---- extended ---- */

static struct pl_cel lib_list_part_of(struct pl_cel_eval *eval, const struct pl_cel_list *list,
                                      size_t from, size_t count)
{
    struct pl_cel *items;
    struct pl_cel made = pl_cel_new_list(eval->arena, count, &items);
    if (!pl_cel_charge(eval, count))
        return pl_cel_over_limit();
    if (count > 0)
        memcpy(items, list->items + from, count * sizeof *items);
    return made;
}

static struct pl_cel slice(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[0]);
    int64_t from = args[1].i, to = args[2].i;
    if (from < 0 || to < 0)
        return pl_cel_fail(eval->arena, "cannot slice(%lld, %lld), negative indexes not supported",
                           (long long)from, (long long)to);
    if (from > to)
        return pl_cel_fail(eval->arena,
                           "cannot slice(%lld, %lld), start index must be less than or equal to "
                           "end index",
                           (long long)from, (long long)to);
    if ((uint64_t)to > list->count)
        return pl_cel_fail(eval->arena, "cannot slice(%lld, %lld), list is length %zu",
                           (long long)from, (long long)to, list->count);
    return lib_list_part_of(eval, list, (size_t)from, (size_t)(to - from));
}

static struct pl_cel reverse(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[0]);
    struct pl_cel *items;
    struct pl_cel made = pl_cel_new_list(eval->arena, list->count, &items);
    for (size_t i = 0; i < list->count; i++)
        items[i] = list->items[list->count - 1 - i];
    return made;
}

static int by_value(const void *a, const void *b)
{
    int c = pl_cel_compare(*(const struct pl_cel *)a, *(const struct pl_cel *)b);
    return c == 2 ? 0 : c;
}

static struct pl_cel sort(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[0]);
    for (size_t i = 0; i < list->count; i++)
        if (pl_cel_compare(list->items[0], list->items[i]) == 2 ||
            list->items[0].kind != list->items[i].kind)
            return FAIL("list elements must have the same type");
    struct pl_cel *items;
    struct pl_cel made = pl_cel_new_list(eval->arena, list->count, &items);
    if (list->count > 0)
        memcpy(items, list->items, list->count * sizeof *items);
    qsort(items, list->count, sizeof *items, by_value);
    return made;
}

static struct pl_cel distinct(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[0]);
    struct pl_cel *items;
    struct pl_cel made = pl_cel_new_list(eval->arena, list->count, &items);
    struct pl_cel_list *out = pl_arena_alloc(eval->arena, sizeof *out);
    out->items = items;
    made.list = out;
    struct pl_cel_finder finder = pl_cel_finder(eval, list, NULL, list->count);
    for (size_t i = 0; i < list->count; i++)
        if (pl_cel_finder_add(eval, &finder, i))
            items[out->count++] = list->items[i];
    return made;
}

static size_t flat_count(struct pl_cel_eval *eval, const struct pl_cel_list *list, int64_t depth)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->items[i].kind == PL_CEL_LIST && depth > 0
                     ? flat_count(eval, pl_cel_list_of(eval, list->items[i]), depth - 1)
                     : 1;
    return count;
}

static struct pl_cel *flatten_into(struct pl_cel_eval *eval, const struct pl_cel_list *list,
                                   int64_t depth, struct pl_cel *to)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].kind == PL_CEL_LIST && depth > 0)
            to = flatten_into(eval, pl_cel_list_of(eval, list->items[i]), depth - 1, to);
        else
            *to++ = list->items[i];
    }
    return to;
}

static struct pl_cel flatten(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[0]);
    int64_t depth = n > 1 ? args[1].i : 1;
    if (depth < 0)
        return FAIL("level must be non-negative");
    struct pl_cel *items;
    size_t count = flat_count(eval, list, depth);
    if (!pl_cel_charge(eval, count))
        return pl_cel_over_limit();
    struct pl_cel made = pl_cel_new_list(eval->arena, count, &items);
    flatten_into(eval, list, depth, items);
    return made;
}

static struct pl_cel numbers(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_cel *items;
    if (args[0].i < 0)
        return pl_cel_fail(eval->arena, "lists.range: size must be non-negative, got %lld",
                           (long long)args[0].i);
    if (args[0].i > MOST_RANGE)
        return pl_cel_fail(eval->arena, "lists.range: size %lld exceeds maximum allowed (%d)",
                           (long long)args[0].i, MOST_RANGE);
    size_t count = (size_t)args[0].i;
    if (!pl_cel_charge(eval, count))
        return pl_cel_over_limit();
    struct pl_cel made = pl_cel_new_list(eval->arena, count, &items);
    for (size_t i = 0; i < count; i++)
        items[i] = pl_cel_int((int64_t)i);
    return made;
}

#define MEMBER(name, signature, cost, fn)                                                          \
    PL_CEL_ROW(name, signature, true, PL_CEL_COST_##cost, PL_CEL_SIZE_NONE, fn)
#define MADE(name, signature, cost, size, fn)                                                      \
    PL_CEL_ROW(name, signature, true, PL_CEL_COST_##cost, PL_CEL_SIZE_##size, fn)
#define PLAIN(name, signature, cost, fn)                                                           \
    PL_CEL_ROW(name, signature, false, PL_CEL_COST_##cost, PL_CEL_SIZE_NONE, fn)
#define OF_EACH(name, cost, fn, result)                                                            \
    MEMBER(name, "Li:" result("i"), cost, fn), MEMBER(name, "Lu:" result("u"), cost, fn),          \
        MEMBER(name, "Ld:" result("d"), cost, fn), MEMBER(name, "Lb:" result("b"), cost, fn),      \
        MEMBER(name, "Ls:" result("s"), cost, fn), MEMBER(name, "Ly:" result("y"), cost, fn),      \
        MEMBER(name, "Lt:" result("t"), cost, fn), MEMBER(name, "Lr:" result("r"), cost, fn)
#define A_BOOL(t)     "b"
#define ITSELF(t)     t
#define SORT(t, cost) MADE("sort", "L" t ":L" t, cost, SQUARE, sort)

const struct pl_cel_function pl_cel_list_functions[] = {
    OF_EACH("isSorted", ELEMENTS, is_sorted, A_BOOL),
    OF_EACH("min", ELEMENTS, min, ITSELF),
    OF_EACH("max", ELEMENTS, max, ITSELF),
    MEMBER("sum", "Li:i", ELEMENTS, sum),
    MEMBER("sum", "Lu:u", ELEMENTS, sum),
    MEMBER("sum", "Ld:d", ELEMENTS, sum),
    MEMBER("sum", "Lr:r", ELEMENTS, sum),
    MEMBER("indexOf", "LAA:i", ELEMENTS, lib_list_index_of),
    MEMBER("lastIndexOf", "LAA:i", ELEMENTS, last_index_of),
    MADE("slice", "LAii:LA", COPY, SLICE, slice),
    MADE("reverse", "LA:LA", COPY, SELF, reverse),
    SORT("i", SORT),
    SORT("u", SORT),
    SORT("d", SORT),
    SORT("b", SORT),
    SORT("s", SORT_TEXTS),
    SORT("y", SORT_TEXTS),
    SORT("t", SORT),
    SORT("r", SORT),
    MADE("distinct", "LA:LA", SORT, SQUARE, distinct),
    MADE("flatten", "LLA:LA", FLATTEN, SELF, flatten),
    MADE("flatten", "LDi:LD", FLATTEN, SELF, flatten),
    PL_CEL_ROW("lists.range", "i:Li", false, PL_CEL_COST_COPY, PL_CEL_SIZE_RANGE, numbers),
    PLAIN("sets.contains", "LALA:b", SETS, sets_contains),
    PLAIN("sets.equivalent", "LALA:b", SETS_TWICE, sets_equivalent),
    PLAIN("sets.intersects", "LALA:b", SETS, sets_intersects),
    {0},
};
