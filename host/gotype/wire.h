/* Protobuf's wire format: reads fields from hostile bytes, and appends fields to a buffer. Pure. */
#pragma once

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum pl_wire { PL_WIRE_VARINT = 0, PL_WIRE_FIXED64 = 1, PL_WIRE_BYTES = 2, PL_WIRE_FIXED32 = 5 };

struct pl_wire_field {
    uint64_t number; /* at least 1 */
    enum pl_wire wire;
    uint64_t value;        /* of the numbers */
    struct pl_slice bytes; /* of PL_WIRE_BYTES; borrowed from the input */
};

/* Takes the next field from the front of *rest. Returns 1; 0 at the end; -1 for malformed bytes: a
 * length beyond the end, a number without an end, or a group, which is an obsolete wire type. */
int pl_wire_next(struct pl_slice *rest, struct pl_wire_field *field);
/* Takes a bare number from the front. False: there is none. */
bool pl_wire_take_varint(struct pl_slice *rest, uint64_t *value);

void pl_wire_put_tag(struct pl_buf *out, unsigned number, enum pl_wire wire);
void pl_wire_put_number(struct pl_buf *out, unsigned number, uint64_t value);
void pl_wire_put_bytes(struct pl_buf *out, unsigned number, struct pl_slice bytes);
/* A message in a message: begin, write its fields, and end with the result of begin. The end puts
 * the length in front of the fields. */
size_t pl_wire_begin(struct pl_buf *out, unsigned number);
void pl_wire_end(struct pl_buf *out, size_t begun);
