/* Hash map from byte strings to pointers. The map copies and owns its keys; values belong to the
 * caller. Used by one thread, or under a lock of the owner. */
#pragma once

#include "base/slice.h"

#include <stdint.h>

struct pl_map_slot;

struct pl_map {
    struct pl_map_slot *slots; /* owned; open addressing with linear probing */
    size_t count;
    size_t cap;      /* a power of two, or 0 */
    uint32_t spread; /* see pl_hash_spread */
};

#define PL_MAP_INIT ((struct pl_map){0})

/* Frees the keys. The caller frees the values first (pl_map_next). */
void pl_map_deinit(struct pl_map *map);
/* NULL when absent. The value is the caller's; the map neither copies nor frees it. */
void *pl_map_get(const struct pl_map *map, struct pl_slice key);
bool pl_map_has(const struct pl_map *map, struct pl_slice key);
/* Copies the key and keeps the value as it is. Returns the value that was replaced, or NULL; the
 * caller frees it if it must be freed. */
void *pl_map_put(struct pl_map *map, struct pl_slice key, void *value);
/* Returns the value that was removed, or NULL. The caller frees it if it must be freed. */
void *pl_map_remove(struct pl_map *map, struct pl_slice key);
/* The map's own copy of the key. It is NUL-terminated and does not move until the key is removed.
 * ptr is NULL when the key is absent. */
struct pl_slice pl_map_key(const struct pl_map *map, struct pl_slice key);

/* Visits every entry in an unspecified order:
 *     size_t at = 0; struct pl_slice key; void *value;
 *     while (pl_map_next(&map, &at, &key, &value)) ...
 * The map must not change meanwhile. */
bool pl_map_next(const struct pl_map *map, size_t *at, struct pl_slice *key, void **value);
