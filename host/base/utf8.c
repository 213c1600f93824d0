/* One decoder for checking, repairing and writing. Each wrong byte is replaced by U+FFFD, as in
 * Go's encoding/json, and never dropped. */
#include "base/utf8.h"

int pl_utf8_sequence(const uint8_t *p, size_t room, unsigned *bad)
{
    uint8_t lead = p[0], low = 0x80, high = 0xbf;
    int len = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    *bad = 0;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    /* Overlong forms, surrogates and too large code points show in the second byte. */
    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    for (int i = 1; i < len; i++) {
        if ((size_t)i == room)
            return -1;
        if (p[i] < low || p[i] > high) {
            *bad = (unsigned)i;
            return 0;
        }
        low = 0x80;
        high = 0xbf;
    }
    return len;
}

size_t pl_utf8_put(char *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

bool pl_is_utf8(struct pl_slice text)
{
    const uint8_t *p = (const uint8_t *)text.ptr, *end = p + text.len;
    while (p < end) {
        uint64_t word;
        if (end - p >= 8 && (memcpy(&word, p, 8), (word & 0x8080808080808080ULL) == 0)) {
            p += 8;
            continue;
        }
        if (*p < 0x80) {
            p++;
            continue;
        }
        unsigned bad;
        int len = pl_utf8_sequence(p, (size_t)(end - p), &bad);
        if (len <= 0)
            return false;
        p += len;
    }
    return true;
}

void pl_utf8_repair(struct pl_slice text, struct pl_buf *out)
{
    const uint8_t *p = (const uint8_t *)text.ptr, *end = p + text.len;
    while (p < end) {
        unsigned bad;
        int len = *p < 0x80 ? 1 : pl_utf8_sequence(p, (size_t)(end - p), &bad);
        if (len > 0)
            pl_buf_add(out, (const char *)p, (size_t)len);
        else
            pl_buf_add_z(out, "\xef\xbf\xbd");
        p += len > 0 ? len : 1;
    }
}

size_t pl_utf8_cut(struct pl_slice text, size_t most)
{
    if (text.len <= most)
        return text.len;
    while (most > 0 && ((unsigned char)text.ptr[most] & 0xc0) == 0x80)
        most--;
    return most;
}
