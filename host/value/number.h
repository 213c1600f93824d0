/* JSON numbers as text. Only host/value includes this. */
#pragma once

#include "base/slice.h"

#include <stdint.h>

/* The end of the number that starts at p. The text must end with a byte that occurs in no number,
 * such as NUL. *plain: it has neither fraction nor exponent. NULL when it breaks the grammar, with
 * *bad at the wrong byte. The result points into the text. */
const uint8_t *pl_number_end(const uint8_t *p, bool *plain, const uint8_t **bad);
/* True when the text is exactly the printed form of an int64 ("-0" and "1.0" are not). */
bool pl_number_is_int(struct pl_slice text, int64_t *value);
/* True when the value is an integer, in any notation, and fits. */
bool pl_number_to_int(struct pl_slice text, int64_t *value);
double pl_number_to_double(struct pl_slice text);
/* Equal values: the same decimal digits at the same places. */
bool pl_number_eq(struct pl_slice a, struct pl_slice b);
/* Prints an int64; out has room for 20 bytes. Returns the length. */
size_t pl_number_print(int64_t value, char *out);
