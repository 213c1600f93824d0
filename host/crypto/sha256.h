/* SHA-256 by OpenSSL, for names and hashes of scripts, and to compare files. It lies here since
 * this layer links OpenSSL. Any thread. */
#pragma once

#include "base/slice.h"

#include <stdint.h>

#define PL_SHA256_BYTES 32

void pl_sha256(struct pl_slice bytes, uint8_t out[PL_SHA256_BYTES]);
/* Lower-case hexadecimal with a NUL. */
void pl_sha256_hex(struct pl_slice bytes, char out[2 * PL_SHA256_BYTES + 1]);
