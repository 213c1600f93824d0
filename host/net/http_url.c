#include "net/http_server.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

void pl_url_unescape(struct pl_slice text, bool plus_is_space, struct pl_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        int high = -1, low = -1;
        if (c == '%' && text.len - i > 2) {
            high = hex_digit(text.ptr[i + 1]);
            low = hex_digit(text.ptr[i + 2]);
        }
        if (high >= 0 && low >= 0) {
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        pl_buf_add_char(out, c);
    }
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void pl_url_escape(struct pl_slice text, struct pl_buf *out)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        size_t plain = i;
        while (i < text.len && is_unreserved(text.ptr[i]))
            i++;
        pl_buf_add(out, text.ptr + plain, i - plain);
        if (i == text.len)
            break;
        unsigned char c = (unsigned char)text.ptr[i];
        pl_buf_add_char(out, '%');
        pl_buf_add_char(out, digits[c >> 4]);
        pl_buf_add_char(out, digits[c & 15]);
    }
}

bool pl_query_get(struct pl_slice query, const char *name, struct pl_buf *value)
{
    struct pl_buf decoded = PL_BUF_INIT;
    bool found = false;
    while (query.len > 0 && !found) {
        const char *end = memchr(query.ptr, '&', query.len);
        size_t len = end != NULL ? (size_t)(end - query.ptr) : query.len;
        const char *equals = memchr(query.ptr, '=', len);
        size_t name_len = equals != NULL ? (size_t)(equals - query.ptr) : len;
        pl_buf_clear(&decoded);
        pl_url_unescape(pl_slice(query.ptr, name_len), true, &decoded);
        if (pl_slice_eqz(pl_buf_slice(&decoded), name)) {
            size_t skip = equals != NULL ? name_len + 1 : len;
            pl_buf_clear(value);
            pl_url_unescape(pl_slice(query.ptr + skip, len - skip), true, value);
            found = true;
        }
        size_t used = end != NULL ? len + 1 : len;
        query = pl_slice(query.ptr + used, query.len - used);
    }
    pl_buf_deinit(&decoded);
    return found;
}
