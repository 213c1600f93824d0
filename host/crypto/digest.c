#include "crypto/digest.h"

#include "base/base.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

static const EVP_MD *digest_find(const char *algorithm)
{
    static const struct {
        const char *name;
        const EVP_MD *(*get)(void);
    } known[] = {{"sha256", EVP_sha256},
                 {"sha384", EVP_sha384},
                 {"sha512", EVP_sha512},
                 {"sha1", EVP_sha1},
                 {"md5", EVP_md5}};
    for (size_t i = 0; i < PL_ARRAY_LEN(known); i++)
        if (strcmp(known[i].name, algorithm) == 0)
            return known[i].get();
    return NULL;
}

static const void *start_of(struct pl_slice bytes)
{
    return bytes.ptr != NULL ? bytes.ptr : "";
}

/* A library in FIPS mode has no MD5: then it is treated as an unknown name. */
size_t pl_digest(const char *algorithm, struct pl_slice bytes, uint8_t out[PL_DIGEST_MAX])
{
    const EVP_MD *md = digest_find(algorithm);
    unsigned len = 0;
    if (md == NULL || EVP_Digest(start_of(bytes), bytes.len, out, &len, md, NULL) != 1)
        return 0;
    return len;
}

size_t pl_hmac(const char *algorithm, struct pl_slice key, struct pl_slice bytes,
               uint8_t out[PL_DIGEST_MAX])
{
    const EVP_MD *md = digest_find(algorithm);
    unsigned len = 0;
    if (md == NULL || key.len > INT_MAX ||
        HMAC(md, start_of(key), (int)key.len, start_of(bytes), bytes.len, out, &len) == NULL)
        return 0;
    return len;
}

bool pl_bytes_equal(struct pl_slice a, struct pl_slice b)
{
    return a.len == b.len && CRYPTO_memcmp(start_of(a), start_of(b), a.len) == 0;
}
