#include "base/base64.h"

#include <stdint.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void pl_base64_encode(struct pl_slice bytes, struct pl_buf *out)
{
    pl_buf_reserve(out, (bytes.len + 2) / 3 * 4);
    const unsigned char *at = (const unsigned char *)bytes.ptr;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t group = (uint32_t)at[i] << 16 | (left > 1 ? (uint32_t)at[i + 1] << 8 : 0) |
                         (left > 2 ? at[i + 2] : 0);
        pl_buf_add_char(out, letters[group >> 18]);
        pl_buf_add_char(out, letters[group >> 12 & 63]);
        pl_buf_add_char(out, left > 1 ? letters[group >> 6 & 63] : '=');
        pl_buf_add_char(out, left > 2 ? letters[group & 63] : '=');
    }
    pl_buf_reserve(out, 0);
}

static int base64_value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool pl_base64_decode(struct pl_slice text, struct pl_buf *out)
{
    size_t start = out->len;
    uint32_t group = 0;
    size_t count = 0, padding = 0;
    pl_buf_reserve(out, text.len / 4 * 3 + 3);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '\n' || c == '\r' || c == ' ' || c == '\t')
            continue;
        int value = c == '=' ? 0 : base64_value_of(c);
        padding += c == '=';
        if (value < 0 || padding > 2 || (padding > 0 && c != '='))
            goto bad;
        group = group << 6 | (uint32_t)value;
        if (++count % 4 != 0)
            continue;
        const char bytes[] = {(char)(group >> 16), (char)(group >> 8), (char)group};
        pl_buf_add(out, bytes, 3 - padding);
        group = 0;
        if (padding > 0)
            padding = 3; /* nothing may follow the padding */
    }
    if (count % 4 == 0)
        return true;
bad:
    out->len = start;
    if (out->ptr != NULL)
        out->ptr[start] = '\0';
    return false;
}
