/* Quantities in their canonical form, in which kube-apiserver stores them ("0.5" is "500m"). The
 * computation is exact: it uses integers only. A text that is no quantity, or does not fit, stays
 * as it is. */
#include "gotype/quantity.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* All digits without the point, and the number of digits after it. */
struct decimal {
    int64_t digits;
    int fraction;
    bool negative;
};

static bool parse_decimal(struct pl_slice text, size_t *at, struct decimal *out)
{
    bool point = false, any = false;
    size_t i = 0;
    *out = (struct decimal){0};
    if (i < text.len && (text.ptr[i] == '-' || text.ptr[i] == '+'))
        out->negative = text.ptr[i++] == '-';
    for (; i < text.len; i++) {
        if (text.ptr[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (!isdigit((unsigned char)text.ptr[i]))
            break;
        if (out->digits > INT64_MAX / 100)
            return false;
        out->digits = out->digits * 10 + (text.ptr[i] - '0');
        out->fraction += point;
        any = true;
    }
    *at = i;
    return any;
}

static const char binary[] = "KMGTPE";
static const char decimal_up[] = "kMGTPE";

/* Uses the largest suffix by whose power of 1024 the number can be divided. */
static bool binary_text(struct decimal d, int power, char out[64])
{
    while (d.fraction > 0) { /* 1.5Gi is 1536Mi */
        if (d.digits % 5 != 0 || power == 0 || d.digits > INT64_MAX / 1024)
            return false;
        int64_t scale = 1;
        for (int i = 0; i < d.fraction; i++)
            scale *= 10;
        d.digits *= 1024;
        power--;
        if (d.digits % scale != 0)
            continue;
        d.digits /= scale;
        d.fraction = 0;
    }
    while (power < 6 && d.digits != 0 && d.digits % 1024 == 0) {
        d.digits /= 1024;
        power++;
    }
    char suffix[3] = {power > 0 ? binary[power - 1] : '\0', 'i', '\0'};
    snprintf(out, 64, "%s%" PRId64 "%s", d.negative ? "-" : "", d.digits, power > 0 ? suffix : "");
    return true;
}

/* exponent: the suffix's, a multiple of three. */
static bool decimal_text(struct decimal d, int exponent, char out[64])
{
    exponent -= d.fraction;
    while (d.digits != 0 && d.digits % 10 == 0) {
        d.digits /= 10;
        exponent++;
    }
    if (d.digits == 0)
        exponent = 0;
    while (exponent % 3 != 0) {
        if (d.digits > INT64_MAX / 10)
            return false;
        d.digits *= 10;
        exponent--;
    }
    if (exponent > 18 || exponent < -9)
        return false;
    static const char suffixes[][4] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    snprintf(out, 64, "%s%" PRId64 "%s", d.negative ? "-" : "", d.digits,
             suffixes[exponent / 3 + 3]);
    return true;
}

bool pl_api_quantity_text(struct pl_slice text, char out[64])
{
    struct decimal d;
    size_t at;
    if (!parse_decimal(text, &at, &d))
        return false;
    struct pl_slice suffix = pl_slice(text.ptr + at, text.len - at);
    const char *found;
    bool good = false;
    if (suffix.len == 2 && suffix.ptr[1] == 'i' &&
        (found = strchr(binary, suffix.ptr[0])) != NULL && *found != '\0')
        good = binary_text(d, (int)(found - binary) + 1, out);
    else if (suffix.len == 0)
        good = decimal_text(d, 0, out);
    else if (suffix.len == 1 && (found = strchr(decimal_up, suffix.ptr[0])) != NULL)
        good = decimal_text(d, 3 * ((int)(found - decimal_up) + 1), out);
    else if (suffix.len == 1 && (found = strchr("mun", suffix.ptr[0])) != NULL)
        good = decimal_text(d, -3 * ((int)(found - "mun") + 1), out);
    return good && !pl_slice_eqz(text, out);
}
