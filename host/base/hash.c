/* Multiply and fold, of the wyhash family. The seed differs by process and by table, so that the
 * order of one table says nothing about another's. */
#include "base/hash.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

/* Multiply-and-fold of two 64-bit words, the mixing step of the wyhash family. */
static inline uint64_t fold(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t load64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint64_t load32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* Loads at most the last 16 bytes as two words that may overlap. No byte is left out, and together
 * with the length different texts give different input. */
static inline void load_tail(const unsigned char *p, size_t len, uint64_t *a, uint64_t *b)
{
    if (len >= 8) {
        *a = load64(p);
        *b = load64(p + len - 8);
    } else if (len >= 4) {
        *a = load32(p);
        *b = load32(p + len - 4);
    } else {
        *a = len ? (uint64_t)p[0] << 16 | (uint64_t)p[len / 2] << 8 | p[len - 1] : 0;
        *b = 0;
    }
}

uint64_t pl_hash(const void *bytes, size_t len, uint64_t seed)
{
    const uint64_t k0 = 0xa0761d6478bd642fULL, k1 = 0xe7037ed1a0b428dbULL;
    const unsigned char *p = bytes;
    uint64_t h = seed ^ k0, a, b;
    size_t left = len;
    for (; left > 16; left -= 16, p += 16)
        h = fold(load64(p) ^ k1, load64(p + 8) ^ h);
    load_tail(p, left, &a, &b);
    return fold(k1 ^ len, fold(a ^ k1, b ^ h));
}

uint64_t pl_hash_seed(void)
{
    static _Atomic uint64_t seed;
    uint64_t have = atomic_load_explicit(&seed, memory_order_relaxed);
    if (have != 0)
        return have;
    uint64_t fresh = 0;
    if (getrandom(&fresh, sizeof(fresh), 0) != (ssize_t)sizeof(fresh) || fresh == 0)
        fresh = 0x9e3779b97f4a7c15ULL;
    if (atomic_compare_exchange_strong(&seed, &have, fresh))
        return fresh;
    return have;
}

uint32_t pl_hash_spread(void)
{
    static _Atomic uint32_t
        tables; /* not the table's address: the next table may get the same one */
    uint32_t number = atomic_fetch_add_explicit(&tables, 1, memory_order_relaxed);
    return (uint32_t)pl_hash(&number, sizeof(number), pl_hash_seed()) | 1;
}
