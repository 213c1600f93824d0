/* Escaping and unescaping, members of a query, and URLs without secrets for messages. Pure; any
 * thread. Bytes come from peers: no byte beyond the slice is read. */
#include "net/http_server.h"

#include "base/text.h"

static int hex_digit(char c)
{
    if (pl_is_digit(c))
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
    return pl_is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
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

static bool is_digits(struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!pl_is_digit(text.ptr[i]))
            return false;
    return true;
}

/* A password with a slash in it looks like the end of a host with an invalid port. */
static bool ends_in_password(struct pl_slice authority)
{
    const char *colon = authority.len > 0 ? memrchr(authority.ptr, ':', authority.len) : NULL;
    return colon != NULL && authority.ptr[authority.len - 1] != ']' &&
           !is_digits(pl_slice(colon + 1, (size_t)(authority.ptr + authority.len - colon) - 1));
}

struct pl_slice pl_url_userinfo(struct pl_slice url)
{
    const char *scheme = pl_text_find(url, "://");
    const char *start = scheme != NULL ? scheme + 3 : url.ptr;
    struct pl_slice rest = pl_slice(start, (size_t)(url.ptr + url.len - start));
    struct pl_slice authority = rest;
    for (size_t i = 0; i < authority.len; i++)
        if (memchr("/?#", authority.ptr[i], 3) != NULL)
            authority.len = i;
    const char *at = authority.len > 0 ? memrchr(authority.ptr, '@', authority.len) : NULL;
    if (at == NULL && ends_in_password(authority))
        at = memrchr(rest.ptr, '@', rest.len);
    return at != NULL ? pl_slice(start, (size_t)(at - start)) : pl_slice(start, 0);
}

void pl_url_add_public(struct pl_buf *out, struct pl_slice url)
{
    struct pl_slice secret = pl_url_userinfo(url);
    size_t before = url.len > 0 ? (size_t)(secret.ptr - url.ptr) : 0;
    size_t skip = secret.len > 0 || (before < url.len && *secret.ptr == '@') ? secret.len + 1 : 0;
    struct pl_slice rest = pl_slice(url.ptr + before + skip, url.len - before - skip);
    size_t len = 0;
    while (len < rest.len && rest.ptr[len] != '?' && rest.ptr[len] != '#')
        len++;
    pl_buf_add(out, url.ptr, before);
    pl_buf_add(out, rest.ptr, len);
    if (len < rest.len)
        pl_buf_add_f(out, "%c...", rest.ptr[len]);
}

/* Names hold an escape hardly ever, so they are rarely decoded. */
static bool is_named(struct pl_slice text, const char *name, struct pl_buf *decoded)
{
    size_t len = strlen(name);
    if (text.len <= len) /* an escape is longer than what it stands for; names have no spaces */
        return text.len == len && memcmp(text.ptr, name, len) == 0;
    if (pl_slice_chr(text, '%') == NULL && pl_slice_chr(text, '+') == NULL)
        return false;
    pl_buf_clear(decoded);
    pl_url_unescape(text, true, decoded);
    return pl_slice_eqz(pl_buf_slice(decoded), name);
}

bool pl_query_get(struct pl_slice query, const char *name, struct pl_buf *value)
{
    struct pl_buf decoded = PL_BUF_INIT;
    bool found = false;
    while (query.len > 0 && !found) {
        const char *end = pl_slice_chr(query, '&');
        size_t len = end != NULL ? (size_t)(end - query.ptr) : query.len;
        const char *equals = memchr(query.ptr, '=', len);
        size_t name_len = equals != NULL ? (size_t)(equals - query.ptr) : len;
        if (is_named(pl_slice(query.ptr, name_len), name, &decoded)) {
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
