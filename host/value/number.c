/* JSON numbers as text. A document keeps a number as it was written unless it is a plain int64, so
 * that reading and writing an object changes no digit of it.
 *
 * Numbers are compared by decimal value, not as doubles: 1, 1.0 and 10e-1 are equal, and two
 * integers that round to the same double are not. Only pl_number_to_double, which calls strtod,
 * depends on the locale; the host never sets one. */
#include "value/number.h"
#include "value/build.h"

#include <stdlib.h>

#include "base/alloc.h"

static inline bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

const uint8_t *pl_number_end(const uint8_t *p, bool *plain, const uint8_t **bad)
{
    *plain = true;
    if (*p == '-')
        p++;
    if (*p == '0') {
        p++;
    } else if (is_digit(*p)) {
        while (is_digit(*p))
            p++;
    } else {
        *bad = p;
        return NULL;
    }
    if (*p == '.') {
        *plain = false;
        if (!is_digit(*++p)) {
            *bad = p;
            return NULL;
        }
        while (is_digit(*p))
            p++;
    }
    if (*p == 'e' || *p == 'E') {
        *plain = false;
        p++;
        if (*p == '+' || *p == '-')
            p++;
        if (!is_digit(*p)) {
            *bad = p;
            return NULL;
        }
        while (is_digit(*p))
            p++;
    }
    return p;
}

bool pl_is_json_number(struct pl_slice text)
{
    char local[64], *copy = text.len < sizeof(local) ? local : pl_malloc(text.len + 1);
    if (text.len != 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    bool plain;
    const uint8_t *bad;
    bool ok =
        pl_number_end((const uint8_t *)copy, &plain, &bad) == (const uint8_t *)copy + text.len;
    if (copy != local)
        pl_free(copy);
    return ok;
}

bool pl_number_is_int(struct pl_slice text, int64_t *value)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    size_t at = negative, digits = text.len - at;
    if (digits == 0 || digits > 19 || (text.ptr[at] == '0' && (negative || digits > 1)))
        return false;
    uint64_t v = 0;
    for (; at < text.len; at++) {
        if (!is_digit((uint8_t)text.ptr[at]))
            return false;
        v = v * 10 + (uint64_t)(text.ptr[at] - '0');
    }
    if (v > (uint64_t)INT64_MAX + negative)
        return false;
    *value = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* A number as 0.d1 d2 d3 ... x 10^power, without zeros at either end of the digits. */
struct decimal {
    const char *first, *last; /* the outermost non-zero digits; NULL for zero */
    bool negative;
    int64_t power;
};

static int64_t read_exponent(const char *p, const char *end)
{
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    int64_t v = 0;
    for (; p < end && v < INT64_C(1000000000000); p++)
        v = v * 10 + (*p - '0');
    return negative ? -v : v;
}

static struct decimal decimal_of(struct pl_slice text)
{
    struct decimal d = {NULL, NULL, false, 0};
    const char *p = text.ptr, *end = text.ptr + text.len;
    if (p < end && *p == '-') {
        d.negative = true;
        p++;
    }
    int64_t before_point = 0, leading = 0;
    bool in_fraction = false;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            in_fraction = true;
            continue;
        }
        if (*p != '0') {
            d.first = d.first == NULL ? p : d.first;
            d.last = p;
        }
        if (!in_fraction)
            before_point++;
        if (d.first == NULL)
            leading++;
    }
    if (d.first == NULL) {
        d.negative = false; /* -0 is 0 */
        return d;
    }
    d.power = before_point - leading + (p < end ? read_exponent(p + 1, end) : 0);
    return d;
}

/* The next digit at or after p; `last` must not be before it. */
static const char *next_digit(const char *p)
{
    return *p == '.' ? p + 1 : p;
}

bool pl_number_to_int(struct pl_slice text, int64_t *value)
{
    struct decimal d = decimal_of(text);
    *value = 0;
    if (d.first == NULL)
        return true;
    if (d.power < 1 || d.power > 19)
        return false;
    uint64_t v = 0;
    int64_t left = d.power;
    for (const char *p = d.first; p <= d.last; p++) {
        p = next_digit(p);
        if (left-- == 0 || __builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return false;
    }
    for (; left > 0; left--) {
        if (__builtin_mul_overflow(v, (uint64_t)10, &v))
            return false;
    }
    if (v > (uint64_t)INT64_MAX + d.negative)
        return false;
    *value = d.negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

bool pl_number_eq(struct pl_slice a, struct pl_slice b)
{
    struct decimal x = decimal_of(a), y = decimal_of(b);
    if (x.first == NULL || y.first == NULL)
        return x.first == y.first;
    if (x.negative != y.negative || x.power != y.power)
        return false;
    const char *p = x.first, *q = y.first;
    for (; p <= x.last && q <= y.last; p++, q++) {
        p = next_digit(p);
        q = next_digit(q);
        if (*p != *q)
            return false;
    }
    return p > x.last && q > y.last;
}

double pl_number_to_double(struct pl_slice text)
{
    char local[64], *copy = text.len < sizeof(local) ? local : pl_malloc(text.len + 1);
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    double v = strtod(copy, NULL);
    if (copy != local)
        pl_free(copy);
    return v;
}

size_t pl_number_print(int64_t value, char *out)
{
    char digits[20];
    size_t n = 0, len = 0;
    uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        digits[n++] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    if (value < 0)
        out[len++] = '-';
    while (n > 0)
        out[len++] = digits[--n];
    return len;
}
