/* Splits an expression into tokens: names, numbers, strings with their escapes, and signs. It reads
 * each byte once. The first invalid token is reported and ends the text. Strings must be UTF-8;
 * bytes need not. */
#include "cel/lex.h"

#include "base/utf8.h"

#include <ctype.h>
#include <string.h>

void pl_cel_lex_begin(struct pl_cel_lex *lex, struct pl_arena *arena, struct pl_slice source,
                      struct pl_cel_issues *issues)
{
    *lex = (struct pl_cel_lex){.arena = arena, .source = source, .issues = issues};
    pl_cel_lex_next(lex);
}

bool pl_cel_lex_is(const struct pl_cel_lex *lex, const char *sign)
{
    return (lex->token == PL_CEL_T_SIGN || lex->token == PL_CEL_T_NAME) &&
           pl_slice_eqz(lex->text, sign);
}

static int lex_at(const struct pl_cel_lex *lex, size_t ahead)
{
    return lex->at + ahead < lex->source.len ? (unsigned char)lex->source.ptr[lex->at + ahead] : -1;
}

static void lex_wrong(struct pl_cel_lex *lex, uint32_t where, const char *what)
{
    pl_cel_issue(lex->issues, where, "Syntax error: %s", what);
    lex->token = PL_CEL_T_WRONG;
    lex->at = lex->source.len;
}

static void lex_skip_space(struct pl_cel_lex *lex)
{
    for (;;) {
        int c = lex_at(lex, 0);
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
            lex->at++;
        } else if (c == '/' && lex_at(lex, 1) == '/') {
            while (lex_at(lex, 0) != -1 && lex_at(lex, 0) != '\n')
                lex->at++;
        } else {
            return;
        }
    }
}

/* ---- numbers ---- */

static void lex_digits(struct pl_cel_lex *lex)
{
    while (lex_at(lex, 0) != -1 && isdigit(lex_at(lex, 0)))
        lex->at++;
}

static bool fraction_and_exponent(struct pl_cel_lex *lex)
{
    size_t before = lex->at;
    if (lex_at(lex, 0) == '.' && lex_at(lex, 1) != -1 && isdigit(lex_at(lex, 1))) {
        lex->at++;
        lex_digits(lex);
    }
    if (lex_at(lex, 0) == 'e' || lex_at(lex, 0) == 'E') {
        size_t sign = lex_at(lex, 1) == '+' || lex_at(lex, 1) == '-';
        if (lex_at(lex, 1 + sign) != -1 && isdigit(lex_at(lex, 1 + sign))) {
            lex->at += 1 + sign;
            lex_digits(lex);
        }
    }
    return lex->at > before;
}

static void lex_number(struct pl_cel_lex *lex)
{
    lex->token = PL_CEL_T_INT;
    if (lex_at(lex, 0) == '0' && (lex_at(lex, 1) == 'x' || lex_at(lex, 1) == 'X')) {
        lex->at += 2;
        while (lex_at(lex, 0) != -1 && isxdigit(lex_at(lex, 0)))
            lex->at++;
    } else {
        lex_digits(lex);
        if (fraction_and_exponent(lex))
            lex->token = PL_CEL_T_DOUBLE;
    }
    lex->text = pl_slice(lex->source.ptr + lex->start, lex->at - lex->start);
    if (lex->token == PL_CEL_T_INT && (lex_at(lex, 0) == 'u' || lex_at(lex, 0) == 'U')) {
        lex->token = PL_CEL_T_UINT;
        lex->at++;
    }
}

/* ---- strings ---- */

static void add_code_point(struct pl_buf *out, uint32_t c)
{
    char bytes[4];
    pl_buf_add(out, bytes, pl_utf8_put(bytes, c));
}

static int digit_value(int c, int base)
{
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 99;
    return value < base ? value : -1;
}

/* Reads `count` digits of a base as a code point; false when there are fewer. */
static bool code(struct pl_cel_lex *lex, int count, int base, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < count; i++) {
        int digit = lex_at(lex, 0) == -1 ? -1 : digit_value(lex_at(lex, 0), base);
        if (digit < 0)
            return false;
        *value = *value * (uint32_t)base + (uint32_t)digit;
        lex->at++;
    }
    return true;
}

/* Reads the rest of an escape, after the backslash. */
static bool escape(struct pl_cel_lex *lex, bool is_bytes, struct pl_buf *out)
{
    static const char from[] = "abfnrtv\\?\"'`", to[] = "\a\b\f\n\r\t\v\\?\"'`";
    int c = lex_at(lex, 0);
    const char *plain = c > 0 ? strchr(from, c) : NULL;
    uint32_t value = 0;
    if (plain != NULL) {
        lex->at++;
        pl_buf_add_char(out, to[plain - from]);
        return true;
    }
    bool is_octal = c >= '0' && c <= '3';
    int count = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 3;
    if (!is_octal)
        lex->at++;
    if ((!is_octal && count == 3) || (is_bytes && count > 3) ||
        !code(lex, count, is_octal ? 8 : 16, &value))
        return false;
    if (is_bytes)
        pl_buf_add_char(out, (char)value);
    else if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return false;
    else
        add_code_point(out, value);
    return true;
}

/* Reads the bytes between quotes; false: the end is missing, or an escape is invalid. */
static bool lex_quoted(struct pl_cel_lex *lex, bool is_raw, bool is_bytes, struct pl_buf *out)
{
    int quote = lex_at(lex, 0);
    size_t width = lex_at(lex, 1) == quote && lex_at(lex, 2) == quote ? 3 : 1;
    lex->at += width;
    for (;;) {
        int c = lex_at(lex, 0);
        if (c == -1 || (width == 1 && (c == '\n' || c == '\r')))
            return false;
        if (c == quote && (width == 1 || (lex_at(lex, 1) == quote && lex_at(lex, 2) == quote))) {
            lex->at += width;
            return true;
        }
        lex->at++;
        if (c == '\\' && !is_raw) {
            if (!escape(lex, is_bytes, out))
                return false;
        } else {
            pl_buf_add_char(out, (char)c);
        }
    }
}

static void string(struct pl_cel_lex *lex, bool is_raw, bool is_bytes)
{
    struct pl_buf out = PL_BUF_INIT;
    uint32_t start = lex->start;
    bool is_whole = lex_quoted(lex, is_raw, is_bytes, &out);
    lex->token = is_bytes ? PL_CEL_T_BYTES : PL_CEL_T_STRING;
    lex->text = pl_arena_copy(lex->arena, pl_buf_slice(&out));
    bool is_text = is_bytes || pl_is_utf8(lex->text);
    pl_buf_deinit(&out);
    if (!is_whole || !is_text)
        lex_wrong(lex, start,
                  "token recognition error at: a string without an end or with an unknown escape");
}

/* r"", b"", br"" in either case and order: the number of letters before the quote, or 0. */
static size_t prefix(const struct pl_cel_lex *lex, bool *is_raw, bool *is_bytes)
{
    *is_raw = *is_bytes = false;
    for (size_t i = 0; i < 3; i++) {
        int c = lex_at(lex, i);
        if (c == '"' || c == '\'')
            return i;
        if ((c == 'r' || c == 'R') && !*is_raw)
            *is_raw = true;
        else if ((c == 'b' || c == 'B') && !*is_bytes)
            *is_bytes = true;
        else
            return 0;
    }
    return 0;
}

/* ---- the rest ---- */

static void name(struct pl_cel_lex *lex)
{
    while (lex_at(lex, 0) != -1 && (isalnum(lex_at(lex, 0)) || lex_at(lex, 0) == '_'))
        lex->at++;
    lex->token = PL_CEL_T_NAME;
    lex->text = pl_slice(lex->source.ptr + lex->start, lex->at - lex->start);
}

static void lex_sign(struct pl_cel_lex *lex)
{
    static const char two[][4] = {"==", "!=", "<=", ">=", "&&", "||"};
    struct pl_slice rest = {lex->source.ptr + lex->at, lex->source.len - lex->at};
    size_t len = 1;
    for (size_t i = 0; i < PL_ARRAY_LEN(two); i++)
        if (rest.len >= 2 && memcmp(rest.ptr, two[i], 2) == 0)
            len = 2;
    if (len == 1 && strchr("+-*/%<>!?:.,()[]{}", rest.ptr[0]) == NULL) {
        lex_wrong(lex, lex->start, "token recognition error");
        return;
    }
    lex->token = PL_CEL_T_SIGN;
    lex->text = pl_slice(rest.ptr, len);
    lex->at += len;
}

void pl_cel_lex_next(struct pl_cel_lex *lex)
{
    bool is_raw, is_bytes;
    if (lex->token == PL_CEL_T_WRONG)
        return;
    lex_skip_space(lex);
    lex->start = (uint32_t)lex->at;
    int c = lex_at(lex, 0);
    size_t before = prefix(lex, &is_raw, &is_bytes);
    if (c <= 0) {
        lex->token = c == 0 ? PL_CEL_T_SIGN : PL_CEL_T_END;
        lex->text = pl_slice("", 0);
        if (c == 0)
            lex_wrong(lex, lex->start, "token recognition error");
    } else if (before > 0 || c == '"' || c == '\'') {
        lex->at += before;
        string(lex, is_raw, is_bytes);
    } else if (isalpha(c) || c == '_') {
        name(lex);
    } else if (isdigit(c) || (c == '.' && lex_at(lex, 1) != -1 && isdigit(lex_at(lex, 1)))) {
        lex_number(lex);
    } else {
        lex_sign(lex);
    }
}
