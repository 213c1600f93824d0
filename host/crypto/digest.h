/* Digests and keyed digests by OpenSSL, and a comparison in constant time. Scripts sign, verify and
 * name things with them. Any thread; no function blocks. */
#pragma once

#include "base/slice.h"

#include <stdint.h>

#define PL_DIGEST_MAX 64

/* Writes the digest to out and returns its length; 0 when the algorithm is not sha256, sha384,
 * sha512, sha1 or md5. */
size_t pl_digest(const char *algorithm, struct pl_slice bytes, uint8_t out[PL_DIGEST_MAX]);
/* HMAC (RFC 2104) with a key of any length. */
size_t pl_hmac(const char *algorithm, struct pl_slice key, struct pl_slice bytes,
               uint8_t out[PL_DIGEST_MAX]);
/* Takes the same time for all texts of one length. */
bool pl_bytes_equal(struct pl_slice a, struct pl_slice b);
