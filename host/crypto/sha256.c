#include "crypto/sha256.h"

#include "base/check.h"

#include <openssl/evp.h>

void pl_sha256(struct pl_slice bytes, uint8_t out[PL_SHA256_BYTES])
{
    const void *from = bytes.ptr != NULL ? bytes.ptr : "";
    PL_REQUIRE(EVP_Digest(from, bytes.len, out, NULL, EVP_sha256(), NULL) == 1);
}

void pl_sha256_hex(struct pl_slice bytes, char out[2 * PL_SHA256_BYTES + 1])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t hash[PL_SHA256_BYTES];
    pl_sha256(bytes, hash);
    for (size_t i = 0; i < sizeof hash; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[2 * sizeof hash] = '\0';
}
