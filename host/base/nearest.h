/* "Did you mean": the known word closest to one that is not known. */
#pragma once

#include "base/slice.h"

/* One of words[0..count), or NULL when none is close enough to be what was meant. */
const char *pl_nearest(struct pl_slice word, const char *const *words, size_t count);
