/* Protobuf's wire format. Every length is compared with the bytes that are left before the position
 * moves, so no input leads a reader beyond the end. The length of a message is known only after its
 * fields are written. They are then moved to make room for the length, so each byte moves once for
 * each level of nesting. */
#include "gotype/wire.h"

#include <string.h>

bool pl_wire_take_varint(struct pl_slice *rest, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < rest->len && i < 10; i++) {
        unsigned char byte = (unsigned char)rest->ptr[i];
        if (i == 9 && byte > 1)
            return false;
        *value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            *rest = pl_slice(rest->ptr + i + 1, rest->len - i - 1);
            return true;
        }
    }
    return false;
}

static bool take_fixed(struct pl_slice *rest, size_t len, uint64_t *value)
{
    if (rest->len < len)
        return false;
    *value = 0;
    for (size_t i = 0; i < len; i++)
        *value |= (uint64_t)(unsigned char)rest->ptr[i] << (8 * i);
    *rest = pl_slice(rest->ptr + len, rest->len - len);
    return true;
}

static bool take_bytes(struct pl_slice *rest, struct pl_slice *bytes)
{
    uint64_t len;
    if (!pl_wire_take_varint(rest, &len) || len > rest->len)
        return false;
    *bytes = pl_slice(rest->ptr, (size_t)len);
    *rest = pl_slice(rest->ptr + len, rest->len - (size_t)len);
    return true;
}

int pl_wire_next(struct pl_slice *rest, struct pl_wire_field *field)
{
    uint64_t tag;
    bool ok;
    if (rest->len == 0)
        return 0;
    if (!pl_wire_take_varint(rest, &tag) || tag >> 3 == 0 || tag >> 3 > 536870911)
        return -1;
    *field = (struct pl_wire_field){.number = tag >> 3, .wire = (enum pl_wire)(tag & 7)};
    switch (tag & 7) {
    case PL_WIRE_VARINT:
        ok = pl_wire_take_varint(rest, &field->value);
        break;
    case PL_WIRE_FIXED64:
        ok = take_fixed(rest, 8, &field->value);
        break;
    case PL_WIRE_FIXED32:
        ok = take_fixed(rest, 4, &field->value);
        break;
    case PL_WIRE_BYTES:
        ok = take_bytes(rest, &field->bytes);
        break;
    default:
        ok = false;
    }
    return ok ? 1 : -1;
}

static void put_varint(struct pl_buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        pl_buf_add_char(out, (char)(value | 0x80));
    pl_buf_add_char(out, (char)value);
}

void pl_wire_put_tag(struct pl_buf *out, unsigned number, enum pl_wire wire)
{
    put_varint(out, (uint64_t)number << 3 | wire);
}

void pl_wire_put_number(struct pl_buf *out, unsigned number, uint64_t value)
{
    pl_wire_put_tag(out, number, PL_WIRE_VARINT);
    put_varint(out, value);
}

void pl_wire_put_bytes(struct pl_buf *out, unsigned number, struct pl_slice bytes)
{
    pl_wire_put_tag(out, number, PL_WIRE_BYTES);
    put_varint(out, bytes.len);
    pl_buf_add_slice(out, bytes);
}

size_t pl_wire_begin(struct pl_buf *out, unsigned number)
{
    pl_wire_put_tag(out, number, PL_WIRE_BYTES);
    return out->len;
}

void pl_wire_end(struct pl_buf *out, size_t begun)
{
    size_t len = out->len - begun;
    struct pl_buf prefix = PL_BUF_INIT;
    put_varint(&prefix, len);
    pl_buf_add_slice(out, pl_buf_slice(&prefix)); /* makes room */
    memmove(out->ptr + begun + prefix.len, out->ptr + begun, len);
    memcpy(out->ptr + begun, prefix.ptr, prefix.len);
    pl_buf_deinit(&prefix);
}
