/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#pragma once

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

/* The length of the sequence at p, whose first byte is 0x80 or more, with `room` bytes readable: 2
 * to 4; 0 when it is malformed, with *bad the offset of the wrong byte; -1 when it is correct so
 * far but incomplete. */
int pl_utf8_sequence(const uint8_t *p, size_t room, unsigned *bad);
/* Writes a code point (no surrogate, at most U+10FFFF); returns its length. */
size_t pl_utf8_put(char *out, uint32_t code);
bool pl_is_utf8(struct pl_slice text);
/* The length of the text without the end that makes it longer than `most` bytes, cut between two
 * characters. */
size_t pl_utf8_cut(struct pl_slice text, size_t most);
/* Appends text with U+FFFD for each byte that is not part of valid UTF-8. */
void pl_utf8_repair(struct pl_slice text, struct pl_buf *out);
