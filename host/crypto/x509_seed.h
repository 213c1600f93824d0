/* Keys and certificates that follow from a seed, for worlds of tests: what is run again must be the
 * same. Never for a real host, whose keys nobody may guess. */
#pragma once

#include <stdint.h>

/* What this thread makes by crypto/x509.h from now on follows from the seed; 0: from the system's
 * random numbers again, as at first. */
void pl_x509_seed(uint64_t seed);
