/* A hash map with linear probes. A removal moves later entries back instead of leaving tombstones,
 * so that look-ups stay fast under churn. The table shrinks when it is nearly empty. The hash has a
 * seed of this process, so that no outsider can choose keys that collide. Do not add or remove
 * entries during pl_map_next. */
#include "base/map.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/keyset.h"

/* A slot is free when key is NULL. */
struct pl_map_slot {
    char *key; /* owned */
    void *value;
    uint32_t len;
    uint32_t hash;
};

static size_t map_home(const struct pl_map *map, uint32_t hash)
{
    return pl_hash_place(hash, map->spread, map->cap);
}

static struct pl_map_slot *map_find(const struct pl_map *map, struct pl_slice key, uint32_t hash)
{
    if (map->cap == 0)
        return NULL;
    for (size_t i = map_home(map, hash);; i = (i + 1) & (map->cap - 1)) {
        struct pl_map_slot *slot = &map->slots[i];
        if (slot->key == NULL)
            return NULL;
        if (slot->hash == hash && pl_slice_eq(pl_slice(slot->key, slot->len), key))
            return slot;
    }
}

static void map_place(struct pl_map *map, struct pl_map_slot entry)
{
    size_t i = map_home(map, entry.hash);
    while (map->slots[i].key != NULL)
        i = (i + 1) & (map->cap - 1);
    map->slots[i] = entry;
}

static void map_resize(struct pl_map *map, size_t cap)
{
    struct pl_map_slot *old = map->slots;
    size_t old_cap = map->cap;
    if (map->spread == 0)
        map->spread = pl_hash_spread();
    map->slots = pl_calloc(cap, sizeof(*map->slots));
    map->cap = cap;
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].key != NULL)
            map_place(map, old[i]);
    pl_free(old);
}

void pl_map_deinit(struct pl_map *map)
{
    for (size_t i = 0; i < map->cap; i++)
        pl_free(map->slots[i].key);
    pl_free(map->slots);
    *map = PL_MAP_INIT;
}

void *pl_map_get(const struct pl_map *map, struct pl_slice key)
{
    struct pl_map_slot *slot = map_find(map, key, pl_keyset_hash(key));
    return slot ? slot->value : NULL;
}

bool pl_map_has(const struct pl_map *map, struct pl_slice key)
{
    return map_find(map, key, pl_keyset_hash(key)) != NULL;
}

struct pl_slice pl_map_key(const struct pl_map *map, struct pl_slice key)
{
    struct pl_map_slot *slot = map_find(map, key, pl_keyset_hash(key));
    return slot ? pl_slice(slot->key, slot->len) : pl_slice(NULL, 0);
}

void *pl_map_put(struct pl_map *map, struct pl_slice key, void *value)
{
    uint32_t hash = pl_keyset_hash(key);
    struct pl_map_slot *slot = map_find(map, key, hash);
    if (slot != NULL) {
        void *old = slot->value;
        slot->value = value;
        return old;
    }
    if ((map->count + 1) * 4 > map->cap * 3)
        map_resize(map, map->cap ? map->cap * 2 : 8);
    map_place(map,
              (struct pl_map_slot){pl_memdup0(key.ptr, key.len), value, (uint32_t)key.len, hash});
    map->count++;
    return NULL;
}

static void map_close_gap(struct pl_map *map, size_t gap)
{
    size_t mask = map->cap - 1;
    for (size_t i = (gap + 1) & mask; map->slots[i].key != NULL; i = (i + 1) & mask) {
        size_t at_home = map_home(map, map->slots[i].hash);
        /* An entry may move into the gap unless its home lies behind the gap. */
        if (((i - at_home) & mask) >= ((i - gap) & mask)) {
            map->slots[gap] = map->slots[i];
            gap = i;
        }
    }
    map->slots[gap] = (struct pl_map_slot){0};
}

void *pl_map_remove(struct pl_map *map, struct pl_slice key)
{
    struct pl_map_slot *slot = map_find(map, key, pl_keyset_hash(key));
    if (slot == NULL)
        return NULL;
    void *old = slot->value;
    pl_free(slot->key);
    map_close_gap(map, (size_t)(slot - map->slots));
    map->count--;
    if (map->cap > 64 && map->count * 8 < map->cap)
        map_resize(map, map->cap / 2);
    return old;
}

bool pl_map_next(const struct pl_map *map, size_t *at, struct pl_slice *key, void **value)
{
    for (; *at < map->cap; (*at)++) {
        const struct pl_map_slot *slot = &map->slots[*at];
        if (slot->key == NULL)
            continue;
        *key = pl_slice(slot->key, slot->len);
        *value = slot->value;
        (*at)++;
        return true;
    }
    return false;
}
