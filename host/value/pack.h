/* Strings of common forms, stored in fewer bytes. Only host/value includes this.
 *
 *   TAG_UUID       16 bytes         01234567-89ab-cdef-0123-456789abcdef
 *   TAG_TIME       4 bytes          2026-11-21T09:30:00Z, 1970 to 2106
 *   TAG_MICROTIME  4 + 3 bytes      2026-11-21T09:30:00.123456Z
 *   TAG_HEX        1 + 1 + n + m    n bytes of text, then m bytes as 2m lower-case hex digits
 *   TAG_IPV4       4 bytes          10.244.1.7
 *   TAG_DECIMAL    4 bytes          decimal digits without leading zeros, up to 2^32 - 1 */
#pragma once

#include "base/slice.h"
#include "value/doc.h"

#include <stdint.h>

#define PACK_MAX 80 /* maximal length of the text, so that pl_scratch can hold it */

/* Writes the packed form into `out`, tag included, and returns its end; NULL when the text has no
 * packed form. `out` has room for PACK_MAX bytes. */
uint8_t *pl_pack(struct pl_slice text, uint8_t *out);
/* The same, but only for the forms that take 8 bytes or less: they are as small as a pool handle.
 */
uint8_t *pl_pack_short(struct pl_slice text, uint8_t *out);
/* The text of a packed string, written to `out`; its length. */
size_t pl_unpack(const uint8_t *at, char out[PACK_MAX]);
