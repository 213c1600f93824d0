#include "base/rand.h"

#include "base/err.h"
#include "base/hash.h"

#include <stdio.h>
#include <sys/random.h>

void pl_rand_init(struct pl_rand *rand)
{
    if (pl_rand_bytes(&rand->state, sizeof(rand->state)) != 0)
        rand->state = pl_hash_seed();
}

void pl_rand_seed(struct pl_rand *rand, uint64_t seed)
{
    rand->state = seed;
}

/* splitmix64: one word of state, passes the usual statistical batteries. */
uint64_t pl_rand_u64(struct pl_rand *rand)
{
    uint64_t z = (rand->state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

double pl_rand_unit(struct pl_rand *rand)
{
    return (double)(pl_rand_u64(rand) >> 11) * 0x1.0p-53;
}

void pl_rand_uuid(struct pl_rand *rand, char out[37])
{
    uint64_t a = (pl_rand_u64(rand) & ~0xf000ULL) | 0x4000ULL;
    uint64_t b = (pl_rand_u64(rand) & ~(3ULL << 62)) | (2ULL << 62);
    snprintf(out, 37, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(a >> 32),
             (unsigned)(a >> 16) & 0xffffU, (unsigned)a & 0xffffU, (unsigned)(b >> 48),
             (unsigned long long)(b & 0xffffffffffffULL));
}

int pl_rand_bytes(void *out, size_t len)
{
    char *at = out;
    while (len > 0) {
        ssize_t got = getrandom(at, len > 256 ? 256 : len, 0);
        if (got <= 0)
            return PL_EIO;
        at += got;
        len -= (size_t)got;
    }
    return 0;
}

int pl_rand_hex(char *out, size_t digits)
{
    static const char hex[] = "0123456789abcdef";
    /* each byte is read before a digit overwrites it */
    unsigned char *bytes = (unsigned char *)out + digits / 2;
    if (pl_rand_bytes(bytes, digits / 2) != 0)
        return PL_EIO;
    for (size_t i = 0; i < digits / 2; i++) {
        unsigned char byte = bytes[i];
        out[2 * i] = hex[byte >> 4];
        out[2 * i + 1] = hex[byte & 15];
    }
    out[digits] = '\0';
    return 0;
}
