/* Equal values have equal hashes: numbers of all types by their value as a double, lists and maps
 * regardless of order, and other composed values by their kind. */
#include "cel/finder.h"

#include "base/hash.h"

#define EVEN_BITS 0x9e3779b97f4a7c15u

static uint64_t mix(uint64_t bits)
{
    return pl_hash(&bits, sizeof bits, pl_hash_seed());
}

static uint64_t hash_number(double number)
{
    union {
        double number;
        uint64_t bits;
    } as = {.number = number == 0 ? 0 : number}; /* -0 is 0 */
    return mix(as.bits);
}

static uint64_t hash_of(struct pl_cel_eval *eval, struct pl_cel value);

static uint64_t hash_list(struct pl_cel_eval *eval, struct pl_cel value)
{
    const struct pl_cel_list *list = pl_cel_list_of(eval, value);
    uint64_t sum = list->count;
    for (size_t i = 0; i < list->count; i++)
        sum += hash_of(eval, list->items[i]);
    return mix(sum);
}

static uint64_t hash_map(struct pl_cel_eval *eval, struct pl_cel value)
{
    const struct pl_cel_map *map = pl_cel_map_of(eval, value);
    uint64_t sum = map->count;
    for (size_t i = 0; i < map->count; i++)
        sum += mix(hash_of(eval, map->entries[i].key) * EVEN_BITS ^
                   hash_of(eval, map->entries[i].value));
    return mix(sum);
}

static uint64_t hash_of(struct pl_cel_eval *eval, struct pl_cel value)
{
    switch (value.kind) {
    case PL_CEL_BOOL:
        return mix(value.b);
    case PL_CEL_INT:
        return hash_number((double)value.i);
    case PL_CEL_UINT:
        return hash_number((double)value.u);
    case PL_CEL_DOUBLE:
        return hash_number(value.d);
    case PL_CEL_STRING:
    case PL_CEL_BYTES:
        return pl_hash(value.s.ptr, value.s.len, pl_hash_seed());
    case PL_CEL_TIMESTAMP:
    case PL_CEL_DURATION:
        return mix((uint64_t)value.t.seconds * EVEN_BITS ^ (uint64_t)value.t.ns);
    case PL_CEL_LIST:
        return hash_list(eval, value);
    case PL_CEL_MAP:
    case PL_CEL_OBJECT:
        return hash_map(eval, value);
    default:
        return mix(value.kind);
    }
}

static uint64_t hash_keys(struct pl_cel_eval *eval, const struct pl_cel_type *by,
                          struct pl_cel value)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < by->list_key_count; i++) {
        struct pl_cel key = pl_cel_null();
        pl_cel_map_get(eval, value, pl_cel_string(by->list_keys[i]), &key);
        hash = mix(hash ^ hash_of(eval, key));
    }
    return hash;
}

static uint64_t hash_element(struct pl_cel_eval *eval, const struct pl_cel_finder *finder,
                             struct pl_cel value)
{
    return finder->by != NULL ? hash_keys(eval, finder->by, value) : hash_of(eval, value);
}

static bool finder_is_same(struct pl_cel_eval *eval, const struct pl_cel_finder *finder,
                           struct pl_cel a, struct pl_cel b)
{
    return finder->by != NULL ? pl_cel_same_element(eval, finder->by, a, b)
                              : pl_cel_equal(eval, a, b);
}

struct pl_cel_finder pl_cel_finder(struct pl_cel_eval *eval, const struct pl_cel_list *list,
                                   const struct pl_cel_type *by, size_t most)
{
    struct pl_cel_finder finder = {.list = list, .mask = 7};
    if (by != NULL && by->is_map_list)
        finder.by = by;
    while (finder.mask < 2 * most)
        finder.mask = 2 * finder.mask + 1;
    finder.places = pl_arena_alloc(eval->arena, (finder.mask + 1) * sizeof *finder.places);
    finder.hashes = pl_arena_alloc(eval->arena, (most + 1) * sizeof *finder.hashes);
    return finder;
}

/* The place of the element that is the same, or a free one; SIZE_MAX at the limit. */
static size_t seek(struct pl_cel_eval *eval, const struct pl_cel_finder *finder,
                   struct pl_cel value, uint64_t hash)
{
    size_t place = hash & finder->mask;
    for (; finder->places[place] != 0; place = (place + 1) & finder->mask) {
        size_t at = finder->places[place] - 1;
        if (finder->hashes[at] != hash)
            continue;
        if (finder_is_same(eval, finder, finder->list->items[at], value))
            return place;
        if (!pl_cel_charge(eval, 1))
            return SIZE_MAX;
    }
    return place;
}

bool pl_cel_finder_add(struct pl_cel_eval *eval, struct pl_cel_finder *finder, size_t at)
{
    uint64_t hash = hash_element(eval, finder, finder->list->items[at]);
    size_t place = seek(eval, finder, finder->list->items[at], hash);
    if (place == SIZE_MAX || finder->places[place] != 0)
        return false;
    finder->places[place] = (uint32_t)at + 1;
    finder->hashes[at] = hash;
    return true;
}

struct pl_cel_finder pl_cel_finder_of(struct pl_cel_eval *eval, const struct pl_cel_list *list,
                                      const struct pl_cel_type *by)
{
    struct pl_cel_finder finder = pl_cel_finder(eval, list, by, list->count);
    for (size_t i = 0; i < list->count; i++)
        pl_cel_finder_add(eval, &finder, i);
    return finder;
}

size_t pl_cel_finder_find(struct pl_cel_eval *eval, const struct pl_cel_finder *finder,
                          struct pl_cel value)
{
    size_t place = seek(eval, finder, value, hash_element(eval, finder, value));
    return place == SIZE_MAX ? SIZE_MAX : (size_t)finder->places[place] - 1;
}
