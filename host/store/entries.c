/* The entries of a bucket: a hash set by address. Hashing by key would cost a cache miss for each
 * entry that a probe meets or a growth moves. */
#include "store/impl.h"

#include <string.h>

enum {
    PART_BITS = 4,
    PARTS = 1 << PART_BITS,
    DIVIDED_FROM = 1 << 15, /* entries */
    UNITED_BELOW = DIVIDED_FROM / 2,
};

static void free_places(struct slab *memory, struct pl_entries *part)
{
    if (part->cap > 1)
        pl_slab_give(memory, part->of.many, part->cap * sizeof(struct pl_entry *));
}

static void free_parts(struct slab *memory, struct pl_entries *parts)
{
    for (size_t i = 0; i < PARTS; i++)
        free_places(memory, &parts[i]);
    pl_slab_give(memory, parts, PARTS * sizeof(*parts));
}

static uint32_t hash_of(const struct pl_entry *entry)
{
    return (uint32_t)(((uintptr_t)entry >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static uint32_t entries_home(const struct pl_entries *part, const struct pl_entry *entry)
{
    return hash_of(entry) & (part->cap - 1);
}

static struct pl_entry **places(struct pl_entries *part)
{
    return part->cap == 1 ? &part->of.one : part->of.many;
}

/* The part must have a free place. */
static void entries_place(struct pl_entries *part, struct pl_entry *entry)
{
    struct pl_entry **at = places(part);
    uint32_t mask = part->cap - 1, i = entries_home(part, entry);
    while (at[i] != NULL)
        i = (i + 1) & mask;
    at[i] = entry;
    part->count++;
}

static void init_places(struct slab *memory, struct pl_entries *part, uint32_t cap)
{
    size_t size = cap * sizeof(struct pl_entry *);
    *part = (struct pl_entries){.cap = cap, .of.many = pl_slab_take(memory, size)};
    memset(part->of.many, 0, size);
}

static void entries_resize(struct slab *memory, struct pl_entries *part, uint32_t cap)
{
    struct pl_entries old = *part;
    init_places(memory, part, cap);
    for (uint32_t i = 0; i < old.cap; i++)
        if (places(&old)[i] != NULL)
            entries_place(part, places(&old)[i]);
    free_places(memory, &old);
}

static struct pl_entries *entries_part_of(struct pl_entries *set, const struct pl_entry *entry)
{
    return set->cap == 0 ? &set->of.parts[hash_of(entry) >> (32 - PART_BITS)] : set;
}

static void add_to_part(struct slab *memory, struct pl_entries *part, struct pl_entry *entry)
{
    if (part->count > 0 && (part->count + 1) * 8 > part->cap * 7)
        entries_resize(memory, part, part->cap < 4 ? 4 : part->cap * 2);
    entries_place(part, entry);
}

static void entries_divide(struct slab *memory, struct pl_entries *set)
{
    struct pl_entries all = *set;
    *set = (struct pl_entries){.count = all.count,
                               .of.parts = pl_slab_take(memory, PARTS * sizeof(struct pl_entries))};
    for (size_t i = 0; i < PARTS; i++)
        init_places(memory, &set->of.parts[i], 2 * DIVIDED_FROM / PARTS);
    for (uint32_t i = 0; i < all.cap; i++)
        if (places(&all)[i] != NULL)
            add_to_part(memory, entries_part_of(set, places(&all)[i]), places(&all)[i]);
    free_places(memory, &all);
}

void pl_entries_add(struct pl_entries *set, struct slab *memory, struct pl_entry *entry)
{
    if (set->count == DIVIDED_FROM && set->cap != 0)
        entries_divide(memory, set);
    add_to_part(memory, entries_part_of(set, entry), entry);
    set->count += set->cap == 0;
}

/* Moves up entries after the gap, unless their home lies after it. */
static void entries_close_gap(struct pl_entries *part, uint32_t gap)
{
    struct pl_entry **at = places(part);
    uint32_t mask = part->cap - 1;
    at[gap] = NULL;
    for (uint32_t i = (gap + 1) & mask; at[i] != NULL; i = (i + 1) & mask) {
        uint32_t at_home = entries_home(part, at[i]);
        if (((i - at_home) & mask) < ((i - gap) & mask))
            continue;
        at[gap] = at[i];
        at[i] = NULL;
        gap = i;
    }
}

static uint32_t entries_place_of(struct pl_entries *part, const struct pl_entry *entry)
{
    uint32_t mask = part->cap - 1, i = entries_home(part, entry);
    while (places(part)[i] != entry)
        i = (i + 1) & mask;
    return i;
}

static void unite(struct slab *memory, struct pl_entries *set)
{
    struct pl_entries *parts = set->of.parts;
    init_places(memory, set, 2 * UNITED_BELOW);
    for (size_t p = 0; p < PARTS; p++)
        for (uint32_t i = 0; i < parts[p].cap; i++)
            if (parts[p].of.many[i] != NULL)
                entries_place(set, parts[p].of.many[i]);
    free_parts(memory, parts);
}

void pl_entries_remove(struct pl_entries *set, struct slab *memory, const struct pl_entry *entry)
{
    struct pl_entries *part = entries_part_of(set, entry);
    entries_close_gap(part, entries_place_of(part, entry));
    part->count--;
    set->count -= set->cap == 0;
    if (set->cap == 0 && set->count < UNITED_BELOW)
        unite(memory, set);
    else if (part->cap > 16 && part->count * 8 < part->cap)
        entries_resize(memory, part, part->cap / 2);
}

void pl_entries_deinit(struct pl_entries *set, struct slab *memory)
{
    if (set->cap == 0)
        free_parts(memory, set->of.parts);
    else
        free_places(memory, set);
}

struct pl_entry *pl_entries_next(const struct pl_entries *set, size_t *at)
{
    size_t n = *at >> 32, i = (uint32_t)*at;
    for (size_t parts = set->cap == 0 ? PARTS : 1; n < parts; n++, i = 0) {
        struct pl_entries part = set->cap == 0 ? set->of.parts[n] : *set;
        while (i < part.cap) {
            struct pl_entry *entry = places(&part)[i++];
            *at = n << 32 | i;
            if (entry != NULL)
                return entry;
        }
    }
    *at = n << 32;
    return NULL;
}
