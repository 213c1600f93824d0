/* Loops over lists and maps: all, exists, exists_one, map, filter, sortBy, transform... A pass
 * costs as much as the expansion of the macro in CEL's reference implementation, in addition to the
 * cost of its expressions. */
#include "cel/eval.h"

#include "cel/function.h"

#include <stdlib.h>
#include <string.h>

#define PASS_COST 3  /* the expansion reads its accumulator and updates it */
#define ADD_COST  12 /* it appends a list with one element to the result */

struct range {
    size_t count;
    const struct pl_cel_list *list; /* NULL: a map */
    const struct pl_cel_map *map;
};

struct results {
    struct pl_cel *items;
    struct pl_cel_entry *entries;
    size_t count, cap;
};

static bool open_range(struct pl_cel_eval *eval, struct pl_cel value, struct range *range)
{
    *range = (struct range){0};
    if (value.kind == PL_CEL_LIST) {
        range->list = pl_cel_list_of(eval, value);
        range->count = range->list->count;
        return true;
    }
    if (value.kind != PL_CEL_MAP && value.kind != PL_CEL_OBJECT)
        return false;
    range->map = pl_cel_map_of(eval, value);
    range->count = range->map->count;
    return true;
}

static void set_vars(struct pl_cel_eval *eval, const struct pl_cel_expr *e,
                     const struct range *range, size_t i)
{
    struct pl_cel *slots = &eval->slots[e->loop.slot];
    bool has_two = e->loop.var2.ptr != NULL;
    if (range->list != NULL) {
        slots[0] = has_two ? pl_cel_int((int64_t)i) : range->list->items[i];
        if (has_two)
            slots[1] = range->list->items[i];
        return;
    }
    slots[0] = range->map->entries[i].key;
    if (has_two)
        slots[1] = range->map->entries[i].value;
}

/* all (stop is false) and exists (stop is true): ends at the first value that decides. */
static struct pl_cel quantified(struct pl_cel_eval *eval, const struct pl_cel_expr *e,
                                const struct range *range, bool stop)
{
    struct pl_cel wrong = {.kind = PL_CEL_NULL};
    for (size_t i = 0; i < range->count; i++) {
        set_vars(eval, e, range, i);
        struct pl_cel value = pl_cel_eval_expr(eval, e->loop.body);
        if (!pl_cel_charge(eval, PASS_COST))
            return pl_cel_over_limit();
        if (value.kind == PL_CEL_BOOL && value.b == stop)
            return value;
        if (value.kind != PL_CEL_BOOL && wrong.kind == PL_CEL_NULL)
            wrong = pl_cel_is_error(value) ? value : pl_cel_no_overload();
    }
    return wrong.kind == PL_CEL_NULL ? pl_cel_bool(!stop) : wrong;
}

static struct pl_cel exactly_one(struct pl_cel_eval *eval, const struct pl_cel_expr *e,
                                 const struct range *range)
{
    size_t count = 0;
    for (size_t i = 0; i < range->count; i++) {
        set_vars(eval, e, range, i);
        struct pl_cel value = pl_cel_eval_expr(eval, e->loop.body);
        if (!pl_cel_charge(eval, PASS_COST))
            return pl_cel_over_limit();
        if (value.kind != PL_CEL_BOOL)
            return pl_cel_is_error(value) ? value : pl_cel_no_overload();
        count += value.b;
    }
    return pl_cel_bool(count == 1);
}

/* 1: the element passes the filter; 0: it does not; -1: an error in *wrong. */
static int is_wanted(struct pl_cel_eval *eval, const struct pl_cel_expr *filter,
                     struct pl_cel *wrong)
{
    if (filter == NULL)
        return 1;
    struct pl_cel value = pl_cel_eval_expr(eval, filter);
    if (value.kind == PL_CEL_BOOL)
        return value.b;
    *wrong = pl_cel_is_error(value) ? value : pl_cel_no_overload();
    return -1;
}

/* map (a list of the results), filter (a list of the elements that pass). */
static struct pl_cel loop_collect(struct pl_cel_eval *eval, const struct pl_cel_expr *e,
                                  const struct range *range)
{
    struct pl_cel *items, wrong = pl_cel_null();
    struct pl_cel made = pl_cel_new_list(eval->arena, range->count, &items);
    bool is_filter = e->loop.what == PL_CEL_FILTER;
    struct pl_cel_list *list = pl_arena_alloc(eval->arena, sizeof *list);
    list->items = items;
    made.list = list;
    for (size_t i = 0; i < range->count; i++) {
        set_vars(eval, e, range, i);
        int wanted = is_wanted(eval, is_filter ? e->loop.body : e->loop.filter, &wrong);
        if (wanted < 0 || !pl_cel_charge(eval, wanted ? ADD_COST : 1))
            return wanted < 0 ? wrong : pl_cel_over_limit();
        if (!wanted)
            continue;
        struct pl_cel value =
            is_filter ? eval->slots[e->loop.slot] : pl_cel_eval_expr(eval, e->loop.body);
        if (pl_cel_is_error(value))
            return value;
        items[list->count++] = value;
    }
    return made;
}

/* ---- maps as results ---- */

/* Adds an entry, or the entry of the map with one entry that the body gives. */
static struct pl_cel loop_put(struct pl_cel_eval *eval, struct pl_cel made, struct pl_cel_map *map,
                              struct pl_cel_entry *entries, struct pl_cel key, struct pl_cel value)
{
    struct pl_cel other;
    if (!pl_cel_charge(eval, map->count / 8))
        return pl_cel_over_limit();
    if (pl_cel_map_get(eval, made, key, &other))
        return pl_cel_fail(eval->arena, "insert failed: key already exists");
    entries[map->count++] = (struct pl_cel_entry){key, value};
    return made;
}

static struct pl_cel collect_map(struct pl_cel_eval *eval, const struct pl_cel_expr *e,
                                 const struct range *range)
{
    struct pl_cel_entry *entries;
    struct pl_cel made = pl_cel_new_map(eval->arena, range->count, &entries), wrong;
    struct pl_cel_map *map = pl_arena_alloc(eval->arena, sizeof *map);
    map->entries = entries;
    made.map = map;
    for (size_t i = 0; i < range->count; i++) {
        set_vars(eval, e, range, i);
        int wanted = is_wanted(eval, e->loop.filter, &wrong);
        if (wanted < 0 || !pl_cel_charge(eval, ADD_COST))
            return wanted < 0 ? wrong : pl_cel_over_limit();
        if (!wanted)
            continue;
        struct pl_cel value = pl_cel_eval_expr(eval, e->loop.body), key;
        if (pl_cel_is_error(value))
            return value;
        key = eval->slots[e->loop.slot];
        if (e->loop.what == PL_CEL_TO_ENTRIES) {
            const struct pl_cel_map *one =
                value.kind == PL_CEL_MAP ? pl_cel_map_of(eval, value) : NULL;
            if (one == NULL || one->count != 1)
                return pl_cel_no_overload();
            key = one->entries[0].key;
            value = one->entries[0].value;
        }
        struct pl_cel done = loop_put(eval, made, map, entries, key, value);
        if (pl_cel_is_error(done))
            return done;
    }
    return made;
}

/* ---- sortBy ---- */

static int loop_by_key(const void *a, const void *b)
{
    const struct pl_cel_entry *x = a, *y = b;
    int c = pl_cel_compare(x->key, y->key);
    return c == 2 ? 0 : c;
}

static struct pl_cel sort_by(struct pl_cel_eval *eval, const struct pl_cel_expr *e,
                             const struct range *range)
{
    struct pl_cel_entry *pairs = pl_arena_alloc(eval->arena, (range->count + 1) * sizeof *pairs);
    struct pl_cel *items;
    struct pl_cel made = pl_cel_new_list(eval->arena, range->count, &items);
    for (size_t i = 0; i < range->count; i++) {
        set_vars(eval, e, range, i);
        pairs[i].value = eval->slots[e->loop.slot];
        pairs[i].key = pl_cel_eval_expr(eval, e->loop.body);
        if (pl_cel_is_error(pairs[i].key) || !pl_cel_charge(eval, ADD_COST))
            return pl_cel_is_error(pairs[i].key) ? pairs[i].key : pl_cel_over_limit();
        if (pl_cel_compare(pairs[0].key, pairs[i].key) == 2)
            return pl_cel_fail(eval->arena, "list elements must have the same comparable type");
    }
    qsort(pairs, range->count, sizeof *pairs, loop_by_key);
    for (size_t i = 0; i < range->count; i++)
        items[i] = pairs[i].value;
    return made;
}

struct pl_cel pl_cel_eval_loop(struct pl_cel_eval *eval, const struct pl_cel_expr *e)
{
    struct range range;
    struct pl_cel of = pl_cel_eval_expr(eval, e->loop.range);
    if (pl_cel_is_error(of))
        return of;
    if (!open_range(eval, of, &range))
        return pl_cel_no_overload();
    switch (e->loop.what) {
    case PL_CEL_ALL:
    case PL_CEL_EXISTS:
        return quantified(eval, e, &range, e->loop.what == PL_CEL_EXISTS);
    case PL_CEL_EXISTS_ONE:
        return exactly_one(eval, e, &range);
    case PL_CEL_MAPPED:
    case PL_CEL_FILTER:
        return loop_collect(eval, e, &range);
    case PL_CEL_SORT_BY:
        return sort_by(eval, e, &range);
    default:
        return collect_map(eval, e, &range);
    }
}
