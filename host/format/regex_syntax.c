/* A recursive descent over RE2's grammar that writes PCRE2's. It refuses unknown constructs with
 * their position, so that no construct of PCRE2 gets through by chance. Depth and counts are
 * limited as in RE2. */
#include "format/regex_syntax.h"

#include "base/text.h"
#include "base/utf8.h"

#include <string.h>

#define DEPTH      250  /* groups in groups */
#define REPEAT_MAX 1000 /* as in Go and RE2 */
#define CALLOUT    "(?C)"

struct reader {
    struct pl_slice in;
    size_t at;
    struct pl_buf *out;
    struct pl_err *err;
    size_t groups[DEPTH]; /* where in the input the open groups begin */
    size_t depth;
    bool repeatable; /* a quantifier may follow */
    bool repeated;   /* a quantifier has just been read */
    bool is_group;   /* the last item is a group, so that repeating it nests */
};

static int regex_syntax_wrong(struct reader *r, size_t at, const char *what)
{
    int shown = (int)pl_utf8_cut(pl_slice(r->in.ptr + at, r->in.len - at), 12);
    return shown > 0 ? pl_err_set(r->err, PL_EINVAL, "at byte %zu, \"%.*s\": %s", at + 1, shown,
                                  r->in.ptr + at, what)
                     : pl_err_set(r->err, PL_EINVAL, "at its end: %s", what);
}

/* The byte at this offset, 0 at the end (and for NUL, which no syntax uses). */
static char peek(const struct reader *r, size_t ahead)
{
    return r->at + ahead < r->in.len ? r->in.ptr[r->at + ahead] : '\0';
}

static bool begins(const struct reader *r, const char *text)
{
    size_t len = strlen(text);
    return r->in.len - r->at >= len && memcmp(r->in.ptr + r->at, text, len) == 0;
}

static int hex_digit(char c)
{
    if (pl_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ---- characters ---- */

/* Returns the character at the reader and moves past it. The text is UTF-8. */
static uint32_t next_char(struct reader *r)
{
    const unsigned char *p = (const unsigned char *)r->in.ptr + r->at;
    unsigned bad;
    int len = p[0] < 0x80 ? 1 : pl_utf8_sequence(p, r->in.len - r->at, &bad);
    uint32_t code = len == 1 ? p[0] : p[0] & (0xffu >> (len + 1));
    for (int i = 1; i < len; i++)
        code = code << 6 | (p[i] & 0x3f);
    r->at += (size_t)len;
    return code;
}

static void put_char(struct reader *r, uint32_t code)
{
    if (code < 0x80 && pl_is_alnum((char)code))
        pl_buf_add_char(r->out, (char)code);
    else
        pl_buf_add_f(r->out, "\\x{%x}", (unsigned)code);
}

static int octal(struct reader *r, size_t began, uint32_t *code)
{
    char c = peek(r, 0);
    bool more = peek(r, 1) >= '0' && peek(r, 1) <= '7';
    if (c > '7' || (c != '0' && !more))
        return regex_syntax_wrong(r, began, "backreferences are not supported");
    *code = 0;
    for (int i = 0; i < 3 && peek(r, 0) >= '0' && peek(r, 0) <= '7'; i++, r->at++)
        *code = *code * 8 + (uint32_t)(peek(r, 0) - '0');
    return 0;
}

static int hexadecimal(struct reader *r, size_t began, uint32_t *code)
{
    bool braces = peek(r, 1) == '{';
    size_t digits = 0, most = braces ? 8 : 2;
    r->at += braces ? 2 : 1;
    *code = 0;
    for (; digits < most && hex_digit(peek(r, 0)) >= 0; digits++, r->at++)
        *code = *code * 16 + (uint32_t)hex_digit(peek(r, 0));
    if (digits == 0 || (!braces && digits < 2) || (braces && peek(r, 0) != '}'))
        return regex_syntax_wrong(r, began, "\\x takes two hexadecimal digits, or some in braces");
    r->at += braces;
    if (*code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
        return regex_syntax_wrong(r, began, "there is no such character");
    return 0;
}

/* The character that an escape stands for; the reader is after the backslash. */
static int escaped_char(struct reader *r, uint32_t *code)
{
    static const char names[] = "afnrtv", meant[] = "\a\f\n\r\t\v";
    size_t began = r->at - 1;
    char c = peek(r, 0);
    if (r->at >= r->in.len)
        return regex_syntax_wrong(r, began, "a backslash at the end");
    if (pl_is_digit(c))
        return octal(r, began, code);
    if (c == 'x')
        return hexadecimal(r, began, code);
    const char *name = c != '\0' ? strchr(names, c) : NULL;
    if (name != NULL || ((unsigned char)c < 0x80 && !pl_is_alnum(c))) {
        *code = name != NULL ? (uint32_t)meant[name - names] : (uint32_t)c;
        r->at++;
        return 0;
    }
    return regex_syntax_wrong(r, began,
                              c == 'k' || c == 'g' ? "backreferences are not supported"
                                                   : "this escape is not in RE2's syntax");
}

/* ---- classes of characters ---- */

/* \pL, \p{Lu}, \p{^Greek}; the reader is at p or P. */
static int property(struct reader *r)
{
    size_t began = r->at - 1;
    bool negated = peek(r, 0) == 'P', braces = peek(r, 1) == '{';
    r->at += braces ? 2 : 1;
    if (braces && peek(r, 0) == '^') {
        negated = !negated;
        r->at++;
    }
    const char *name = r->in.ptr + r->at;
    size_t len = 0;
    while ((pl_is_alnum(peek(r, len)) || peek(r, len) == '_') && (braces || len == 0))
        len++;
    if (len == 0 || len > 40 || (braces && peek(r, len) != '}'))
        return regex_syntax_wrong(r, began, "\\p takes one letter, or a name in braces");
    r->at += len + braces;
    bool category = len <= 2 || (len == 3 && memcmp(name, "Any", 3) == 0);
    pl_buf_add_f(r->out, "\\%c{%s%.*s}", negated ? 'P' : 'p', category ? "" : "sc:", (int)len,
                 name);
    return 0;
}

/* True when the escape at the reader, which is after the backslash, is a character class. */
static bool is_class_escape(const struct reader *r)
{
    char c = peek(r, 0);
    return c != '\0' && strchr("dDsSwWpP", c) != NULL;
}

/* RE2's \s does not include the vertical tab. */
static int class_escape(struct reader *r, bool in_class)
{
    char c = peek(r, 0);
    if (c == 'p' || c == 'P')
        return property(r);
    r->at++;
    if (c == 's')
        pl_buf_add_z(r->out, in_class ? "\\t\\n\\f\\r\\x{20}" : "[\\t\\n\\f\\r\\x{20}]");
    else if (c == 'S')
        pl_buf_add_z(r->out,
                     in_class
                         ? "\\x{0}-\\x{8}\\x{b}\\x{e}-\\x{1f}\\x{21}-\\x{d7ff}\\x{e000}-\\x{10ffff}"
                         : "[^\\t\\n\\f\\r\\x{20}]");
    else
        pl_buf_add_f(r->out, "\\%c", c);
    return 0;
}

/* [:alpha:] and similar classes at the reader; *is_one says whether there is one. */
static int posix_class(struct reader *r, bool *is_one)
{
    static const char names[][8] = {"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph",
                                    "lower", "print", "punct", "space", "upper", "word",  "xdigit"};
    *is_one = false;
    if (!begins(r, "[:"))
        return 0;
    size_t len = 2;
    while (pl_is_alnum(peek(r, len)) || peek(r, len) == '^')
        len++;
    if (peek(r, len) != ':' || peek(r, len + 1) != ']')
        return 0;
    struct pl_slice name = pl_slice(r->in.ptr + r->at + 2, len - 2);
    size_t not = name.len > 0 && name.ptr[0] == '^';
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        if (pl_slice_eqz(pl_slice(name.ptr + not, name.len - not ), names[i])) {
            pl_buf_add(r->out, r->in.ptr + r->at, len + 2);
            r->at += len + 2;
            *is_one = true;
            return 0;
        }
    return regex_syntax_wrong(r, r->at, "there is no such class of characters");
}

static int class_char(struct reader *r, uint32_t *code)
{
    if (r->at >= r->in.len)
        return regex_syntax_wrong(r, r->at, "a ] is missing");
    if (peek(r, 0) != '\\') {
        *code = next_char(r);
        return 0;
    }
    r->at++;
    return escaped_char(r, code);
}

static int range(struct reader *r)
{
    size_t began = r->at;
    uint32_t low, high;
    int rc = class_char(r, &low);
    if (rc != 0)
        return rc;
    put_char(r, low);
    if (peek(r, 0) != '-' || peek(r, 1) == ']' || r->at + 1 >= r->in.len)
        return 0;
    r->at++;
    rc = class_char(r, &high);
    if (rc != 0)
        return rc;
    if (high < low)
        return regex_syntax_wrong(r, began, "a range ends before it begins");
    pl_buf_add_char(r->out, '-');
    put_char(r, high);
    return 0;
}

static int class_item(struct reader *r)
{
    bool posix;
    int rc = posix_class(r, &posix);
    if (rc != 0 || posix)
        return rc;
    if (peek(r, 0) == '\\') {
        r->at++;
        if (is_class_escape(r))
            return class_escape(r, true);
        r->at--;
    }
    return range(r);
}

static int class(struct reader *r)
{
    size_t began = r->at++;
    pl_buf_add_char(r->out, '[');
    if (peek(r, 0) == '^') {
        pl_buf_add_char(r->out, '^');
        r->at++;
    }
    for (bool first = true; first || peek(r, 0) != ']'; first = false) {
        if (r->at >= r->in.len)
            return regex_syntax_wrong(r, began, "a ] is missing");
        int rc = class_item(r);
        if (rc != 0)
            return rc;
    }
    r->at++;
    pl_buf_add_char(r->out, ']');
    return 0;
}

/* ---- quantifiers ---- */

/* At most 7 digits, without leading zeros. */
static bool regex_syntax_count(struct reader *r, size_t *at, long *out)
{
    size_t len = 0;
    *out = 0;
    while (len < 8 && *at + len < r->in.len && pl_is_digit(r->in.ptr[*at + len]))
        *out = *out * 10 + (r->in.ptr[*at + len++] - '0');
    bool good = len > 0 && len < 8 && (len == 1 || r->in.ptr[*at] != '0');
    *at += len;
    return good;
}

/* {2}, {2,} and {2,3}: returns the end, 0 when it is not a repetition. most: -1 for no upper limit.
 */
static size_t braces(struct reader *r, long *least, long *most)
{
    size_t at = r->at + 1;
    if (peek(r, 0) != '{' || !regex_syntax_count(r, &at, least))
        return 0;
    *most = *least;
    if (at < r->in.len && r->in.ptr[at] == ',') {
        at++;
        *most = -1;
        if (at < r->in.len && r->in.ptr[at] != '}' && !regex_syntax_count(r, &at, most))
            return 0;
    }
    return at < r->in.len && r->in.ptr[at] == '}' ? at + 1 : 0;
}

static bool is_quantifier(struct reader *r)
{
    long least, most;
    char c = peek(r, 0);
    return (c != '\0' && strchr("*+?", c) != NULL) || braces(r, &least, &most) > 0;
}

static int quantifier(struct reader *r)
{
    size_t began = r->at, end;
    long least = 0, most = 0;
    if (!r->repeatable)
        return regex_syntax_wrong(r, began, "a quantifier without anything to repeat");
    if (r->repeated)
        return regex_syntax_wrong(r, began, "a quantifier after a quantifier");
    end = braces(r, &least, &most);
    if (least > REPEAT_MAX || most > REPEAT_MAX || (most >= 0 && most < least))
        return regex_syntax_wrong(r, began, "the counts must rise, up to 1000");
    r->at = end > 0 ? end : r->at + 1;
    r->at += peek(r, 0) == '?';
    pl_buf_add(r->out, r->in.ptr + began, r->at - began);
    pl_buf_add_f(r->out, "(?C%ld)", !r->is_group ? 0 : most > 255 ? 255 : most > 0 ? most : 0);
    r->repeated = true;
    return 0;
}

/* ---- groups ---- */

static int begin_group(struct reader *r, size_t began)
{
    if (r->depth == DEPTH)
        return regex_syntax_wrong(r, began, "groups are nested more than 250 deep");
    r->groups[r->depth++] = began;
    pl_buf_add_z(r->out, CALLOUT);
    r->repeatable = false;
    return 0;
}

static int named_group(struct reader *r, size_t began)
{
    r->at += peek(r, 2) == 'P' ? 4 : 3;
    size_t len = 0;
    while (pl_is_alnum(peek(r, len)) || peek(r, len) == '_')
        len++;
    if (len == 0 || len > 32 || pl_is_digit(peek(r, 0)) || peek(r, len) != '>')
        return regex_syntax_wrong(
            r, began, "a group's name has 1 to 32 letters, digits and _, no digit first");
    pl_buf_add_f(r->out, "(?<%.*s>", (int)len, r->in.ptr + r->at);
    r->at += len + 1;
    return begin_group(r, began);
}

/* (?i), (?i-s:...); the reader is at the parenthesis. */
static int flags(struct reader *r, size_t began)
{
    size_t at = r->at + 2, names = 0;
    bool off = false;
    for (; at < r->in.len && strchr("imsU-", r->in.ptr[at]) != NULL; at++) {
        if (r->in.ptr[at] == '\0' || (r->in.ptr[at] == '-' && off))
            break;
        names = r->in.ptr[at] == '-' ? 0 : names + 1;
        off |= r->in.ptr[at] == '-';
    }
    char end = at < r->in.len ? r->in.ptr[at] : '\0';
    if ((end != ')' && end != ':') || (names == 0 && (off || end == ')')))
        return regex_syntax_wrong(r, began, "this group is not in RE2's syntax");
    pl_buf_add(r->out, r->in.ptr + r->at, at + 1 - r->at);
    r->at = at + 1;
    r->repeatable = false;
    return end == ':' ? begin_group(r, began) : 0;
}

static int open_group(struct reader *r)
{
    size_t began = r->at;
    if (peek(r, 1) != '?') {
        r->at++;
        pl_buf_add_char(r->out, '(');
        return begin_group(r, began);
    }
    if (begins(r, "(?=") || begins(r, "(?!") || begins(r, "(?<=") || begins(r, "(?<!"))
        return regex_syntax_wrong(r, began, "lookaround is not supported");
    if (begins(r, "(?P=") || begins(r, "(?P>"))
        return regex_syntax_wrong(r, began, "backreferences are not supported");
    if (begins(r, "(?P<") || begins(r, "(?<"))
        return named_group(r, began);
    return flags(r, began);
}

static int close_group(struct reader *r)
{
    if (r->depth == 0)
        return regex_syntax_wrong(r, r->at, "a ) without a (");
    r->depth--;
    r->at++;
    pl_buf_add_char(r->out, ')');
    r->repeatable = r->is_group = true;
    return 0;
}

/* ---- everything ---- */

/* An empty item: PCRE2 repeats it only inside a group. */
static void put_empty(struct reader *r, const char *text)
{
    bool repeats = is_quantifier(r);
    pl_buf_add_f(r->out, repeats ? "(?:%s)" : "%s", text);
    r->repeatable = r->is_group = true;
}

static int regex_syntax_quoted(struct reader *r)
{
    for (r->at++; r->at < r->in.len && !begins(r, "\\E");) {
        put_char(r, next_char(r));
        r->repeatable = true;
    }
    r->at += r->at < r->in.len ? 2 : 0;
    return 0;
}

static int escape(struct reader *r)
{
    uint32_t code;
    r->at++;
    char c = peek(r, 0);
    if (c == 'Q')
        return regex_syntax_quoted(r);
    r->repeatable = true;
    if (c != '\0' && strchr("AzbB", c) != NULL) {
        r->at++;
        put_empty(r, c == 'A' ? "\\A" : c == 'z' ? "\\z" : c == 'b' ? "\\b" : "\\B");
        return 0;
    }
    if (is_class_escape(r))
        return class_escape(r, false);
    int rc = escaped_char(r, &code);
    if (rc == 0)
        put_char(r, code);
    return rc;
}

static int regex_syntax_literal(struct reader *r)
{
    put_char(r, next_char(r));
    r->repeatable = true;
    return 0;
}

static int piece(struct reader *r)
{
    char c = peek(r, 0);
    if (is_quantifier(r))
        return quantifier(r);
    r->repeated = r->is_group = false;
    switch (c) {
    case '(':
        return open_group(r);
    case ')':
        return close_group(r);
    case '[':
        r->repeatable = true;
        return class(r);
    case '\\':
        return escape(r);
    case '|':
        r->at++;
        r->repeatable = false;
        pl_buf_add_z(r->out, "|" CALLOUT);
        return 0;
    case '^':
    case '$':
        r->at++;
        put_empty(r, c == '^' ? "^" : "$");
        return 0;
    case '.':
        r->at++;
        r->repeatable = true;
        pl_buf_add_char(r->out, '.');
        return 0;
    default:
        return regex_syntax_literal(r);
    }
}

int pl_regex_translate(struct pl_slice text, struct pl_buf *out, struct pl_err *err)
{
    struct reader r = {.in = text, .out = out, .err = err};
    pl_buf_add_z(out, CALLOUT);
    while (r.at < r.in.len) {
        int rc = piece(&r);
        if (rc != 0)
            return rc;
    }
    return r.depth > 0 ? regex_syntax_wrong(&r, r.groups[r.depth - 1], "a ) is missing") : 0;
}
