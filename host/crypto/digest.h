/* Digests and keyed digests as OpenSSL does them, and a comparison whose time says nothing about
 * where two texts differ. For what scripts sign, check and name. Any thread; nothing waits. */
#pragma once

#include "base/slice.h"

#include <stdint.h>

#define PL_DIGEST_MAX 64

/* The bytes of the digest, written to out; 0 when the algorithm is none of sha256, sha384, sha512,
 * sha1 and md5. */
size_t pl_digest(const char *algorithm, struct pl_slice bytes, uint8_t out[PL_DIGEST_MAX]);
/* HMAC (RFC 2104) with a key of any length. */
size_t pl_hmac(const char *algorithm, struct pl_slice key, struct pl_slice bytes,
               uint8_t out[PL_DIGEST_MAX]);
/* Takes the same time for all texts of one length. */
bool pl_bytes_equal(struct pl_slice a, struct pl_slice b);
