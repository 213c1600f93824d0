/* The shard of a key among N shards. Pure arithmetic; any thread.
 *
 * A place is a number of 64 bits. Shard i of N has the places from ceil(i * 2^64 / N) to before
 * ceil((i + 1) * 2^64 / N), so every place has exactly one shard, and the shards differ in size by
 * at most one place. */
#pragma once

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

#define PL_SHARDS_MAX            256
#define PL_SHARD_SELECTOR_RANGES 32

/* The 64-bit FNV-1a hash, by which API servers filter. */
uint64_t pl_fnv1a64(struct pl_slice text);
/* The finalizer of MurmurHash3: each bit of the result depends on all bits of x. */
uint64_t pl_fmix64(uint64_t x);

/* Names often differ only in their last characters, which change an FNV-1a hash too little to reach
 * another range: so a namespace's hash is mixed. */
uint64_t pl_place_of_namespace(struct pl_slice ns);
/* The server's own hash; uids are random. */
uint64_t pl_place_of_uid(struct pl_slice uid);

/* 1 <= count <= PL_SHARDS_MAX everywhere. */
unsigned pl_shard_of_place(uint64_t place, unsigned count);
/* The first place of shard i; of i = count, the end of the last shard, which is 2^64: 0. */
uint64_t pl_shard_start(unsigned i, unsigned count);

/* ---- sets of shards ---- */

struct pl_shard_set {
    uint64_t bits[PL_SHARDS_MAX / 64];
};

static inline bool pl_shard_set_has(const struct pl_shard_set *set, unsigned i)
{
    return (set->bits[i / 64] >> i % 64 & 1) != 0;
}
static inline void pl_shard_set_add(struct pl_shard_set *set, unsigned i)
{
    set->bits[i / 64] |= (uint64_t)1 << i % 64;
}
static inline void pl_shard_set_remove(struct pl_shard_set *set, unsigned i)
{
    set->bits[i / 64] &= ~((uint64_t)1 << i % 64);
}
unsigned pl_shard_set_count(const struct pl_shard_set *set);
bool pl_shard_set_equal(const struct pl_shard_set *a, const struct pl_shard_set *b);

/* Appends the shardSelector for the uids of these shards: adjacent ones as one range, at most
 * PL_SHARD_SELECTOR_RANGES; if there are more, the smallest gaps are included. Appends nothing when
 * all shards or none are in the set: for no shard there is nothing to request. */
void pl_shard_selector(const struct pl_shard_set *set, unsigned count, struct pl_buf *out);
