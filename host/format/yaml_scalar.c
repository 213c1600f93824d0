/* The meaning of an unquoted YAML scalar: a constant, a number, or a string. Numbers are written in
 * JSON's notation, with all their digits, so that a large or precise number survives. Text that is
 * nearly a number (0x, 1__, +.e) is a string, as in kubectl. */
#include "format/yaml_scalar.h"
#include "base/text.h"

#include <stdint.h>

#define WORD(text, type)                                                                           \
    {                                                                                              \
        text, sizeof(text) - 1, type                                                               \
    }

static const struct {
    char text[8];
    size_t len;
    enum pl_yaml_type type;
} words[] = {
    WORD("", PL_YAML_NULL),
    WORD("~", PL_YAML_NULL),
    WORD("null", PL_YAML_NULL),
    WORD("Null", PL_YAML_NULL),
    WORD("NULL", PL_YAML_NULL),
    WORD("true", PL_YAML_TRUE),
    WORD("True", PL_YAML_TRUE),
    WORD("TRUE", PL_YAML_TRUE),
    WORD("y", PL_YAML_TRUE),
    WORD("Y", PL_YAML_TRUE),
    WORD("yes", PL_YAML_TRUE),
    WORD("Yes", PL_YAML_TRUE),
    WORD("YES", PL_YAML_TRUE),
    WORD("on", PL_YAML_TRUE),
    WORD("On", PL_YAML_TRUE),
    WORD("ON", PL_YAML_TRUE),
    WORD("false", PL_YAML_FALSE),
    WORD("False", PL_YAML_FALSE),
    WORD("FALSE", PL_YAML_FALSE),
    WORD("n", PL_YAML_FALSE),
    WORD("N", PL_YAML_FALSE),
    WORD("no", PL_YAML_FALSE),
    WORD("No", PL_YAML_FALSE),
    WORD("NO", PL_YAML_FALSE),
    WORD("off", PL_YAML_FALSE),
    WORD("Off", PL_YAML_FALSE),
    WORD("OFF", PL_YAML_FALSE),
    WORD(".nan", PL_YAML_NOT_FINITE),
    WORD(".NaN", PL_YAML_NOT_FINITE),
    WORD(".NAN", PL_YAML_NOT_FINITE),
    WORD(".inf", PL_YAML_NOT_FINITE),
    WORD(".Inf", PL_YAML_NOT_FINITE),
    WORD(".INF", PL_YAML_NOT_FINITE),
    WORD("+.inf", PL_YAML_NOT_FINITE),
    WORD("+.Inf", PL_YAML_NOT_FINITE),
    WORD("+.INF", PL_YAML_NOT_FINITE),
    WORD("-.inf", PL_YAML_NOT_FINITE),
    WORD("-.Inf", PL_YAML_NOT_FINITE),
    WORD("-.INF", PL_YAML_NOT_FINITE),
    WORD("<<", PL_YAML_MERGE),
};

/* 0x1F, 0o17, 017, 0b11 with an optional sign, within 64 bits. */
static bool based_integer(struct pl_slice text, bool negative, struct pl_buf *out)
{
    uint64_t base = 8, value = 0;
    size_t i = 1;
    if (text.len < 2 || text.ptr[0] != '0')
        return false;
    char prefix = (char)(text.ptr[1] | 0x20);
    if (prefix == 'x' || prefix == 'o' || prefix == 'b') {
        base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : 2;
        i = 2;
    }
    if (i == text.len)
        return false;
    for (; i < text.len; i++) {
        char c = text.ptr[i], lower = (char)(c | 0x20);
        uint64_t digit = pl_is_digit(c)                 ? (uint64_t)(c - '0')
                         : lower >= 'a' && lower <= 'f' ? (uint64_t)(lower - 'a') + 10
                                                        : 99;
        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    if (negative && value > (uint64_t)INT64_MAX + 1)
        return false;
    pl_buf_add_f(out, "%s%llu", negative ? "-" : "", (unsigned long long)value);
    return true;
}

static struct pl_slice take_digits(struct pl_slice *in)
{
    struct pl_slice digits = {in->ptr, 0};
    while (digits.len < in->len && pl_is_digit(in->ptr[digits.len]))
        digits.len++;
    *in = pl_slice(in->ptr + digits.len, in->len - digits.len);
    return digits;
}

/* Digits with a fraction or exponent, spelled as JSON wants it: .5 is 0.5, 007. is 7. */
static bool decimal(struct pl_slice text, bool negative, struct pl_buf *out)
{
    struct pl_slice whole = take_digits(&text), fraction = {NULL, 0}, power = {NULL, 0};
    bool minus = false;
    if (text.len != 0 && text.ptr[0] == '.') {
        text = pl_slice(text.ptr + 1, text.len - 1);
        fraction = take_digits(&text);
    }
    if (whole.len + fraction.len == 0)
        return false;
    if (text.len != 0 && (text.ptr[0] | 0x20) == 'e') {
        size_t sign = text.len > 1 && (text.ptr[1] == '+' || text.ptr[1] == '-');
        minus = sign && text.ptr[1] == '-';
        text = pl_slice(text.ptr + 1 + sign, text.len - 1 - sign);
        power = take_digits(&text);
        if (power.len == 0)
            return false;
    }
    if (text.len != 0)
        return false;
    while (whole.len > 1 && whole.ptr[0] == '0')
        whole = pl_slice(whole.ptr + 1, whole.len - 1);
    if (whole.len == 0)
        whole = pl_slice("0", 1);
    pl_buf_add_f(out, "%s%.*s", negative ? "-" : "", PL_FMT(whole));
    if (fraction.len != 0)
        pl_buf_add_f(out, ".%.*s", PL_FMT(fraction));
    if (power.len != 0)
        pl_buf_add_f(out, "e%s%.*s", minus ? "-" : "", PL_FMT(power));
    return true;
}

static bool yaml_scalar_number(struct pl_slice text, struct pl_buf *out)
{
    bool negative = text.ptr[0] == '-';
    if (negative || text.ptr[0] == '+')
        text = pl_slice(text.ptr + 1, text.len - 1);
    return based_integer(text, negative, out) || decimal(text, negative, out);
}

enum pl_yaml_type pl_yaml_resolve(struct pl_slice text, struct pl_buf *out)
{
    struct pl_buf plain = PL_BUF_INIT;
    for (size_t i = 0; text.len <= 5 && i < sizeof(words) / sizeof(words[0]); i++)
        if (text.len == words[i].len && memcmp(text.ptr, words[i].text, text.len) == 0)
            return words[i].type;
    if (!pl_is_digit(text.ptr[0]) && strchr("+-.", text.ptr[0]) == NULL)
        return PL_YAML_STR;
    if (pl_slice_chr(text, '_') == NULL)
        return yaml_scalar_number(text, out) ? PL_YAML_NUMBER : PL_YAML_STR;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '_') {
            pl_buf_add_char(&plain, text.ptr[i]);
            continue;
        }
        /* After a leading point, '_' needs digits on both sides; elsewhere it does not. */
        bool between =
            pl_is_digit(text.ptr[i - 1]) && i + 1 < text.len && pl_is_digit(text.ptr[i + 1]);
        if (text.ptr[0] == '.' && !between) {
            pl_buf_deinit(&plain);
            return PL_YAML_STR;
        }
    }
    bool is_number = yaml_scalar_number(pl_buf_slice(&plain), out);
    pl_buf_deinit(&plain);
    return is_number ? PL_YAML_NUMBER : PL_YAML_STR;
}
