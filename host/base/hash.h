/* A fast 64-bit hash for tables inside the process. Do not store or send it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Seed with pl_hash_seed() if keys come from outside, so that nobody can choose keys that collide.
 */
uint64_t pl_hash(const void *bytes, size_t len, uint64_t seed);

/* Random once per process. */
uint64_t pl_hash_seed(void);

/* Returns an odd number, a new one for each table, which spreads the table's entries differently
 * from those of other tables. Without it, a table that is filled in the order of another table's
 * entries would fill up at its front and probe past thousands of keys there. */
uint32_t pl_hash_spread(void);

/* The place of a key in a table of `cap` places, a power of two. It uses the high bits of the
 * product, which depend on all bits of both numbers. With the low bits, two tables in 256 would
 * share the last eight. */
static inline size_t pl_hash_place(uint32_t hash, uint32_t spread, size_t cap)
{
    uint32_t product = hash * spread;
    return (product ^ product >> 16) & (cap - 1);
}
