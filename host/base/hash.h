/* A fast 64-bit hash for tables inside the process. Not for anything that is stored or sent. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Seed with pl_hash_seed() where keys come from outside, so that nobody can choose collisions. */
uint64_t pl_hash(const void *bytes, size_t len, uint64_t seed);

/* Random once per process. */
uint64_t pl_hash_seed(void);

/* An odd number for one table, another each time, by which it multiplies hashes before their low
 * bits become places. One that is filled in the order of another's places would else run full at
 * its front, and probe past thousands of keys there. */
uint32_t pl_hash_spread(void);
