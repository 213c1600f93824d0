/* Strings with escapes, with characters outside of ASCII, or cut by the end of the input. Malformed
 * UTF-8, control characters and unknown escapes are faults; half a surrogate pair is one unless the
 * caller has it replaced. */
#include "value/parse.h"
#include "value/string_scan.h"

#include "base/utf8.h"

enum { REPLACEMENT = 0xfffd }; /* stands for half a surrogate pair */

static int hex4(const uint8_t *p)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t c = p[i], lower = c | 0x20;
        if (c >= '0' && c <= '9')
            v = v * 16 + (c - '0');
        else if (lower >= 'a' && lower <= 'f')
            v = v * 16 + (lower - 'a' + 10);
        else
            return -1;
    }
    return v;
}

/* A surrogate without its other half: replaced later, if the options say so. */
static const uint8_t *half_pair(struct parse *ps, const uint8_t *p)
{
    return ps->replaces_halves ? p + 4
                               : pl_parse_fail(ps, p - 2, PL_ESYNTAX, "half a surrogate pair");
}

/* Checks a \u escape whose hex digits begin at p, and returns the place after it. NULL with a
 * fault, or without one when the bytes end inside it. */
static const uint8_t *check_unicode(struct parse *ps, const uint8_t *p, const uint8_t *end)
{
    for (int i = 0; i < 4; i++) {
        uint8_t c = p[i], lower = c | 0x20;
        if (!((c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'f')))
            return pl_parse_unexpected(ps, p + i, end, "\\u needs four hex digits");
    }
    int unit = hex4(p);
    if (unit < 0xd800 || unit > 0xdfff)
        return p + 4;
    if (unit >= 0xdc00)
        return half_pair(ps, p);
    if (p[4] != '\\' || p[5] != 'u') {
        const uint8_t *odd = p[4] != '\\' ? p + 4 : p + 5;
        return odd < end ? half_pair(ps, p) : NULL;
    }
    for (int i = 6; i < 10; i++) {
        uint8_t c = p[i], lower = c | 0x20;
        if (!((c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'f')))
            return pl_parse_unexpected(ps, p + i, end, "\\u needs four hex digits");
    }
    int low = hex4(p + 6);
    if (low < 0xdc00 || low > 0xdfff)
        return half_pair(ps, p);
    return p + 10;
}

/* The place after the escape, or NULL as above. */
static const uint8_t *check_escape(struct parse *ps, const uint8_t *p, const uint8_t *end)
{
    switch (p[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return p + 2;
    case 'u':
        return check_unicode(ps, p + 2, end);
    default:
        return pl_parse_unexpected(ps, p + 1, end, "an escape that JSON does not have");
    }
}

/* The closing quote of the string whose first byte is at `start`. NULL with a fault, or without one
 * when the bytes end first: then string_seen keeps the progress, so that a long string in many
 * chunks is not read again for each chunk. */
static const uint8_t *find_quote(struct parse *ps, const uint8_t *start, const uint8_t *end)
{
    const uint8_t *p = start + ps->string_seen;
    for (;;) {
        p = string_run(p);
        if (*p == '"')
            return p;
        const uint8_t *next = NULL;
        if (p >= end) {
            p = end;
        } else if (*p == '\\') {
            ps->string_escaped = true;
            next = check_escape(ps, p, end);
            if (next != NULL && next > end)
                next = NULL;
        } else if (*p >= 0x80) {
            unsigned bad;
            int len = pl_utf8_sequence(p, (size_t)(end - p), &bad);
            if (len == 0)
                return pl_parse_fail(ps, p + bad, PL_ESYNTAX, "malformed UTF-8");
            next = len > 0 ? p + len : NULL;
        } else {
            return pl_parse_fail(ps, p, PL_ESYNTAX, "a control character in a string");
        }
        if (next == NULL) {
            ps->string_seen = (size_t)(p - start);
            return NULL;
        }
        p = next;
    }
}

static struct pl_slice parse_unescape(struct parse *ps, const uint8_t *p, const uint8_t *quote)
{
    static const char plain[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    ps->text.len = 0;
    pl_buf_reserve(&ps->text, (size_t)(quote - p));
    char *out = ps->text.ptr;
    while (p < quote) {
        if (*p != '\\') {
            *out++ = (char)*p++;
        } else if (p[1] == 'u') {
            uint32_t code = (uint32_t)hex4(p + 2);
            p += 6;
            int low =
                code >= 0xd800 && code <= 0xdbff && p[0] == '\\' && p[1] == 'u' ? hex4(p + 2) : -1;
            if (low >= 0xdc00 && low <= 0xdfff) {
                code = 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
                p += 6;
            } else if (code >= 0xd800 && code <= 0xdfff) {
                code = REPLACEMENT;
            }
            out += pl_utf8_put(out, code);
        } else {
            const char *form = plain;
            while (form[0] != (char)p[1])
                form += 2;
            *out++ = form[1];
            p += 2;
        }
    }
    ps->text.len = (size_t)(out - ps->text.ptr);
    return pl_buf_slice(&ps->text);
}

const uint8_t *pl_parse_odd_string(struct parse *ps, const uint8_t *p, const uint8_t *end,
                                   struct pl_slice *text)
{
    const uint8_t *quote = find_quote(ps, p + 1, end);
    if (quote == NULL)
        return NULL;
    ps->string_seen = 0;
    *text = ps->string_escaped ? parse_unescape(ps, p + 1, quote)
                               : pl_slice((const char *)p + 1, (size_t)(quote - p - 1));
    return quote + 1;
}
