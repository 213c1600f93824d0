/* Places, shards, and the selector for a set of shards. This arithmetic decides which replica acts
 * on a key, on every replica alike: it must never depend on the machine, the process or the
 * version. Numbers of more than 64 bits are computed in halves. */
#include "shard/place.h"

#include <inttypes.h>
#include <string.h>

uint64_t pl_fnv1a64(struct pl_slice text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < text.len; i++) {
        hash ^= (unsigned char)text.ptr[i];
        hash *= 0x100000001b3u;
    }
    return hash;
}

uint64_t pl_fmix64(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

uint64_t pl_place_of_namespace(struct pl_slice ns)
{
    return pl_fmix64(pl_fnv1a64(ns));
}

uint64_t pl_place_of_uid(struct pl_slice uid)
{
    return pl_fnv1a64(uid);
}

/* floor(place * count / 2^64): the greatest i with i * 2^64 / count <= place. */
unsigned pl_shard_of_place(uint64_t place, unsigned count)
{
    uint64_t high = (place >> 32) * count, low = (place & UINT32_MAX) * count;
    return (unsigned)((high + (low >> 32)) >> 32);
}

uint64_t pl_shard_start(unsigned i, unsigned count)
{
    if (i >= count)
        return 0;
    uint64_t dividend = (uint64_t)i << 32, high = dividend / count;
    dividend = dividend % count << 32;
    uint64_t floor = high << 32 | dividend / count;
    return dividend % count != 0 ? floor + 1 : floor;
}

/* ---- sets ---- */

unsigned pl_shard_set_count(const struct pl_shard_set *set)
{
    unsigned count = 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(set->bits); i++)
        count += (unsigned)__builtin_popcountll(set->bits[i]);
    return count;
}

bool pl_shard_set_equal(const struct pl_shard_set *a, const struct pl_shard_set *b)
{
    return memcmp(a->bits, b->bits, sizeof a->bits) == 0;
}

/* ---- the selector ---- */

static unsigned runs_in(const struct pl_shard_set *set, unsigned count)
{
    unsigned runs = 0;
    for (unsigned i = 0; i < count; i++)
        runs += pl_shard_set_has(set, i) && (i == 0 || !pl_shard_set_has(set, i - 1));
    return runs;
}

/* The smallest gap between two runs, the first of equal ones: [*from, *to). */
static void smallest_gap(const struct pl_shard_set *set, unsigned count, unsigned *from,
                         unsigned *to)
{
    unsigned last = count, best = count;
    for (unsigned i = 0; i < count; i++) {
        if (!pl_shard_set_has(set, i))
            continue;
        if (last < count && i - last > 1 && i - last < best) {
            best = i - last;
            *from = last + 1;
            *to = i;
        }
        last = i;
    }
}

static void add_range(struct pl_buf *out, unsigned from, unsigned to, unsigned count)
{
    const char *end = to == count ? "1" : ""; /* 2^64 has one digit more */
    pl_buf_add_f(out, "shardRange(object.metadata.uid, '0x%016" PRIx64 "', '0x%s%016" PRIx64 "')",
                 pl_shard_start(from, count), end, pl_shard_start(to, count));
}

void pl_shard_selector(const struct pl_shard_set *set, unsigned count, struct pl_buf *out)
{
    struct pl_shard_set wide = *set;
    if (pl_shard_set_count(set) >= count)
        return;
    for (unsigned runs = runs_in(set, count); runs > PL_SHARD_SELECTOR_RANGES; runs--) {
        unsigned from = 0, to = 0;
        smallest_gap(&wide, count, &from, &to);
        for (unsigned i = from; i < to; i++)
            pl_shard_set_add(&wide, i);
    }
    bool first = true;
    for (unsigned i = 0, from = 0; i < count; i++) {
        if (!pl_shard_set_has(&wide, i))
            continue;
        if (i == 0 || !pl_shard_set_has(&wide, i - 1))
            from = i;
        if (i + 1 < count && pl_shard_set_has(&wide, i + 1))
            continue;
        if (!first)
            pl_buf_add_z(out, " || ");
        first = false;
        add_range(out, from, i + 1, count);
    }
}
