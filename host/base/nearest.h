/* "Did you mean": finds the known word that is closest to an unknown one. */
#pragma once

#include "base/slice.h"

/* Returns one of words[0..count), or NULL when none is close enough. The word is the caller's own
 * pointer. */
const char *pl_nearest(struct pl_slice word, const char *const *words, size_t count);
