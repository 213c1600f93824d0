/* A fast 64-bit hash for tables inside the process. Not for anything that is stored or sent. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Seed with pl_hash_seed() where keys come from outside, so that nobody can choose collisions. */
uint64_t pl_hash(const void *bytes, size_t len, uint64_t seed);

/* Random once per process. */
uint64_t pl_hash_seed(void);

/* An odd number for one table, another each time, by which its places differ from those of other
 * tables. One that is filled in the order of another's places would else run full at its front,
 * and probe past thousands of keys there. */
uint32_t pl_hash_spread(void);

/* Where a key belongs in a table of `cap` places, a power of two. Of the product's low bits alone,
 * two tables in 256 would share the last eight; its high bits depend on all of both numbers. */
static inline size_t pl_hash_place(uint32_t hash, uint32_t spread, size_t cap)
{
    uint32_t product = hash * spread;
    return (product ^ product >> 16) & (cap - 1);
}
