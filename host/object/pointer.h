/* JSON pointers (RFC 6901): "/metadata/annotations/example.com~1key". Pure; any thread. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "value/doc.h"

/* Takes the next word off the front of a pointer, and puts it decoded into word (cleared first). 1:
 * there was one; 0: the pointer is at its end; ESYNTAX: it does not begin with "/", or a "~" is
 * followed by neither 0 nor 1. */
PL_MUST_USE int pl_pointer_next(struct pl_slice *pointer, struct pl_buf *word, struct pl_err *err);
/* Appends "/" and the word, encoded. */
void pl_pointer_add(struct pl_buf *out, struct pl_slice word);
/* Reads a word as an index of an array: digits without a leading zero. */
bool pl_pointer_index(struct pl_slice word, size_t *index);
