/* Randomness, injected, so that tests can control jitter. Each generator belongs to one thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pl_rand {
    uint64_t state; /* private */
};

/* Seeds from the system's source. */
void pl_rand_init(struct pl_rand *rand);
/* Makes a repeatable sequence. */
void pl_rand_seed(struct pl_rand *rand, uint64_t seed);
uint64_t pl_rand_u64(struct pl_rand *rand);
/* Uniform in [0, 1). */
double pl_rand_unit(struct pl_rand *rand);
/* A version 4 UUID in its text form. */
void pl_rand_uuid(struct pl_rand *rand, char out[37]);
/* Bytes from the system's source, fit for secrets. Returns 0 or PL_EIO. */
int pl_rand_bytes(void *out, size_t len);
/* The same as `digits` hexadecimal digits, an even number, and a NUL behind them: a token. */
int pl_rand_hex(char *out, size_t digits);
