/* Quantities in the form in which kube-apiserver stores them ("0.5" is "500m"). The computation is
 * exact: it uses integers only. A quantity with more digits than an integer holds stays as it is.
 */
#include "gotype/quantity.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPONENT_MOST 1000 /* of ten */
#define NANO          (-9)
#define MILLI         (-3)

typedef unsigned __int128 big;

#define BIG_MOST    (~(big)0)
#define BINARY_MOST ((big)INT64_MAX) /* larger ones with a binary suffix are cut to this */

enum form {
    BY_SUFFIX, /* 1k */
    BY_LETTER, /* 1e3 */
    BY_BINARY, /* 1Ki */
};

/* digits x 10^exponent x 1024^power */
struct number {
    big digits;
    int exponent, power;
    bool negative;
    bool rest;     /* digits behind these were left out */
    bool too_long; /* digits before the point were */
    enum form form;
    bool has_point_digits; /* digits after the point, also zeros */
    size_t whole_digits;   /* before the point, without leading zeros */
};

/* ---- reading ---- */

static void add_digit(struct number *n, char c, bool fraction)
{
    if (n->digits >= BIG_MOST / 1000000000) {
        n->rest = n->rest || c != '0';
        n->too_long = n->too_long || !fraction;
        return;
    }
    n->digits = n->digits * 10 + (unsigned)(c - '0');
    n->exponent -= fraction;
    n->has_point_digits = n->has_point_digits || fraction;
    if (!fraction && n->digits != 0)
        n->whole_digits++;
}

/* Reads sign and digits, and returns what is behind them. */
static struct pl_slice read_digits(struct pl_slice text, struct number *n)
{
    size_t i = 0;
    bool fraction = false;
    if (i < text.len && (text.ptr[i] == '-' || text.ptr[i] == '+'))
        n->negative = text.ptr[i++] == '-';
    for (; i < text.len; i++) {
        if (text.ptr[i] == '.' && !fraction)
            fraction = true;
        else if (pl_is_digit(text.ptr[i]))
            add_digit(n, text.ptr[i], fraction);
        else
            break;
    }
    return pl_slice(text.ptr + i, text.len - i);
}

static const char binary[] = "KMGTPE";
static const char decimal[] = "numkMGTPE"; /* without the one in the middle, which is empty */

/* The text between the digits and the end has the form of a suffix, whether there is such a one or
 * not. */
static bool is_like_suffix(struct pl_slice suffix)
{
    size_t i = 0;
    while (i < suffix.len && strchr("eEinumkKMGTP", suffix.ptr[i]) != NULL)
        i++;
    if (i < suffix.len && (suffix.ptr[i] == '-' || suffix.ptr[i] == '+'))
        i++;
    while (i < suffix.len && pl_is_digit(suffix.ptr[i]))
        i++;
    return i == suffix.len;
}

static bool quantity_exponent(struct pl_slice suffix, struct number *n)
{
    char text[16], *end;
    if (suffix.len < 2 || suffix.len >= sizeof text ||
        (suffix.ptr[0] != 'e' && suffix.ptr[0] != 'E') || isspace((unsigned char)suffix.ptr[1]))
        return false;
    memcpy(text, suffix.ptr + 1, suffix.len - 1);
    text[suffix.len - 1] = '\0';
    long exponent = strtol(text, &end, 10);
    n->form = BY_LETTER;
    n->exponent += exponent > EXPONENT_MOST    ? EXPONENT_MOST + 1
                   : exponent < -EXPONENT_MOST ? -EXPONENT_MOST - 1
                                               : (int)exponent;
    return *end == '\0' && end != text;
}

static bool read_suffix(struct pl_slice suffix, struct number *n)
{
    const char *found;
    n->form = BY_SUFFIX;
    if (suffix.len == 0)
        return true;
    if (suffix.len == 1 && (found = strchr(decimal, suffix.ptr[0])) != NULL && *found != '\0') {
        int place = (int)(found - decimal);
        n->exponent += 3 * (place < 3 ? place - 3 : place - 2);
        return true;
    }
    if (suffix.len == 2 && suffix.ptr[1] == 'i' &&
        (found = strchr(binary, suffix.ptr[0])) != NULL && *found != '\0') {
        n->power = (int)(found - binary) + 1;
        n->form = BY_BINARY;
        return true;
    }
    return quantity_exponent(suffix, n);
}

/* ---- computing ---- */

/* Drops digits below 10^least; what they had rounds up. */
static void round_up(struct number *n, int least)
{
    for (; n->exponent < least && n->digits != 0; n->exponent++) {
        n->rest = n->rest || n->digits % 10 != 0;
        n->digits /= 10;
    }
    if (n->exponent < least)
        n->exponent = least;
    n->digits += n->rest;
}

static void drop_zeros(struct number *n)
{
    while (n->digits != 0 && n->digits % 10 == 0) {
        n->digits /= 10;
        n->exponent++;
    }
    if (n->digits == 0) {
        n->exponent = 0;
        n->negative = false;
    }
}

/* Takes the binary suffix into the digits. False: they do not fit. */
static bool apply_power(struct number *n)
{
    for (; n->power > 0; n->power--)
        if (__builtin_mul_overflow(n->digits, 1024, &n->digits))
            return false;
    drop_zeros(n);
    for (; n->exponent > 0; n->exponent--)
        if (__builtin_mul_overflow(n->digits, 10, &n->digits))
            return false;
    if (n->exponent == 0 && n->digits > BINARY_MOST)
        n->digits = BINARY_MOST;
    return true;
}

/* The canonical form: the largest suffix that leaves a whole number. A binary suffix stays for
 * whole numbers of at least 1024. */
static bool canonize(struct number *n)
{
    if (n->form == BY_BINARY && n->exponent == 0 && n->digits >= 1024) {
        for (; n->digits % 1024 == 0 && n->power < 6; n->power++)
            n->digits /= 1024;
        return true;
    }
    if (n->form == BY_BINARY)
        n->form = BY_SUFFIX;
    drop_zeros(n);
    for (; n->exponent % 3 != 0; n->exponent--)
        if (__builtin_mul_overflow(n->digits, 10, &n->digits))
            return false;
    return n->form == BY_LETTER || (n->exponent >= NANO && n->exponent <= 18);
}

/* ---- writing ---- */

static void write_digits(big digits, char out[48])
{
    char back[48];
    size_t len = 0;
    do {
        back[len++] = (char)('0' + (int)(digits % 10));
        digits /= 10;
    } while (digits != 0);
    for (size_t i = 0; i < len; i++)
        out[i] = back[len - 1 - i];
    out[len] = '\0';
}

static void write_number(const struct number *n, char out[64])
{
    char digits[48], suffix[12] = "";
    write_digits(n->digits, digits);
    if (n->form == BY_BINARY && n->power > 0)
        snprintf(suffix, sizeof suffix, "%ci", binary[n->power - 1]);
    else if (n->form == BY_LETTER && n->exponent != 0)
        snprintf(suffix, sizeof suffix, "e%d", n->exponent);
    else if (n->form == BY_SUFFIX && n->exponent != 0)
        snprintf(suffix, sizeof suffix, "%c",
                 decimal[n->exponent < 0 ? n->exponent / 3 + 3 : n->exponent / 3 + 2]);
    snprintf(out, 64, "%s%s%s", n->negative ? "-" : "", digits, suffix);
}

/* kube-apiserver keeps the text of a number that is canonical already, with its plus sign, leading
 * zeros and spelling of the exponent; but not of a long one, which it computes in another way. */
static bool keeps_text(const struct number *is, const struct number *canonical)
{
    size_t most = is->form == BY_BINARY ? (size_t)(14 - is->power * 3) : 18;
    return !is->has_point_digits && is->digits != 0 && is->digits == canonical->digits &&
           is->form == canonical->form && is->exponent == canonical->exponent &&
           is->power == canonical->power && (is->form != BY_BINARY || is->power < 5) &&
           is->whole_digits <= most;
}

enum pl_quantity pl_api_quantity_text(struct pl_slice text, bool in_milli, char out[64])
{
    struct number n = {0};
    int least = in_milli ? MILLI : NANO;
    struct pl_slice suffix = read_digits(text, &n);
    if (text.len == 0 || !is_like_suffix(suffix))
        return PL_QUANTITY_MALFORMED;
    if (!read_suffix(suffix, &n))
        return PL_QUANTITY_NO_SUFFIX;
    struct number canonical = n;
    if (n.too_long || abs(n.exponent) > EXPONENT_MOST || (n.rest && n.exponent > least) ||
        (n.form == BY_BINARY && !apply_power(&canonical)))
        return PL_QUANTITY_AS_IS;
    round_up(&canonical, least);
    if (!canonize(&canonical) || keeps_text(&n, &canonical))
        return PL_QUANTITY_AS_IS;
    write_number(&canonical, out);
    return pl_slice_eqz(text, out) ? PL_QUANTITY_AS_IS : PL_QUANTITY_CHANGED;
}
