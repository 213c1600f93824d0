/* Lists of an object's names as they are stored in a tape (tape.h). Only host/value includes this.
 */
#pragma once

#include "base/slice.h"

#include <stdint.h>

/* The room that pl_shape_put needs. */
size_t pl_shape_room(uint32_t count, size_t keys_len);
/* Writes the shape of these encoded keys to `out`; returns its end. */
uint8_t *pl_shape_put(uint8_t *out, uint32_t count, struct pl_slice keys);

/* True when a name is repeated. Then repeated[i] (if given; all false before) is set for each name
 * that comes again later, and *second is the ordinal of the first name that had come before. */
bool pl_shape_repeats(uint32_t count, struct pl_slice keys, bool *repeated, uint32_t *second);
