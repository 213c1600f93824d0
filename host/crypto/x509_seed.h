/* Keys and certificates that follow from a seed, for worlds of tests: a test that is run again must
 * have the same ones. Never for a real host, whose keys nobody may guess. */
#pragma once

#include <stdint.h>

/* Keys and certificates that this thread makes by crypto/x509.h follow from the seed from now on.
 * 0: they come from the system's random numbers again. */
void pl_x509_seed(uint64_t seed);
