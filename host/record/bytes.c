#include "record/bytes.h"

void pl_bytes_put_int(struct pl_buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        pl_buf_add_char(out, (char)(0x80 | (value & 0x7f)));
    pl_buf_add_char(out, (char)value);
}

void pl_bytes_put_text(struct pl_buf *out, struct pl_slice text)
{
    pl_bytes_put_int(out, text.len);
    pl_buf_add_slice(out, text);
}

char pl_bytes_char(struct pl_bytes *from)
{
    if (pl_bytes_is_over(from)) {
        from->bad = true;
        return '\0';
    }
    return *from->at++;
}

uint64_t pl_bytes_int(struct pl_bytes *from)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)pl_bytes_char(from);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    from->bad = true;
    return 0;
}

struct pl_slice pl_bytes_take(struct pl_bytes *from, size_t len)
{
    if (from->bad || (size_t)(from->end - from->at) < len) {
        from->bad = true;
        return pl_slice("", 0);
    }
    struct pl_slice text = pl_slice(from->at, len);
    from->at += len;
    return text;
}

struct pl_slice pl_bytes_text(struct pl_bytes *from)
{
    return pl_bytes_take(from, (size_t)pl_bytes_int(from));
}
