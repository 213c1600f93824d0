/* Durations, quantities, sizes and instants as text. Durations follow Go, quantities Kubernetes,
 * instants RFC 3339. Each parser takes the whole text or fails, and no overflow is silent: an
 * instant outside of int64 nanoseconds becomes the first or the last one.
 *
 * Quantities are doubles here, for comparing and computing in scripts; gotype/quantity.c has the
 * exact canonical form for the API server. */
#include "format/units.h"

#include "base/base.h"
#include "base/calendar.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes one character off the front when it is `c`. */
static bool units_take(struct pl_slice *in, char c)
{
    if (in->len == 0 || in->ptr[0] != c)
        return false;
    in->ptr++;
    in->len--;
    return true;
}

static struct pl_slice take_digits(struct pl_slice *in)
{
    struct pl_slice digits = {in->ptr, 0};
    while (in->len != 0 && pl_is_digit(in->ptr[0])) {
        in->ptr++;
        in->len--;
        digits.len++;
    }
    return digits;
}

/* ---- durations ---- */

static const struct unit {
    char name[8];
    double factor;
} duration_units[] = {
    {"ns", 1},       {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3}, /* both of Unicode's micro
                                                                             signs, as Go reads them
                                                                           */
    {"ms", 1e6},     {"s", 1e9},  {"m", 60e9},        {"h", 3600e9},      {"d", 86400e9},
    {"w", 604800e9}, /* our additions; the last two */
};
#define OUR_UNITS 2

static int64_t duration_unit(struct pl_slice *in, size_t known)
{
    size_t len = 0;
    while (len < in->len && in->ptr[len] != '.' && !pl_is_digit(in->ptr[len]))
        len++;
    for (size_t i = 0; i < known; i++) {
        if (!pl_slice_eqz(pl_slice(in->ptr, len), duration_units[i].name))
            continue;
        in->ptr += len;
        in->len -= len;
        return (int64_t)duration_units[i].factor;
    }
    return 0;
}

/* whole * unit + fraction * unit. Digits of the fraction below the unit's resolution are cut. 0,
 * PL_EINVAL or PL_ELIMIT; with the latter the term was taken off the front, too. */
static int duration_term(struct pl_slice *in, size_t known, int64_t *ns)
{
    struct pl_slice whole = take_digits(in), fraction = {NULL, 0};
    if (units_take(in, '.'))
        fraction = take_digits(in);
    if (whole.len + fraction.len == 0)
        return PL_EINVAL;
    int64_t unit = duration_unit(in, known), value = 0;
    if (unit == 0)
        return PL_EINVAL;
    for (size_t i = 0; i < whole.len; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, whole.ptr[i] - '0', &value))
            return PL_ELIMIT;
    if (__builtin_mul_overflow(value, unit, &value))
        return PL_ELIMIT;
    double part = 0, scale = (double)unit;
    for (size_t i = 0; i < fraction.len && i < 18; i++) {
        scale /= 10;
        part += scale * (fraction.ptr[i] - '0');
    }
    /* 0.1 and similar numbers have no exact binary form; half of the smallest digit corrects that.
     */
    return __builtin_add_overflow(value, (int64_t)(part + 1e-6), ns) ? PL_ELIMIT : 0;
}

static int parse_duration(struct pl_slice text, size_t known, int64_t *ns)
{
    bool negative = units_take(&text, '-');
    if (!negative)
        units_take(&text, '+');
    if (pl_slice_eqz(text, "0")) {
        *ns = 0;
        return 0;
    }
    int64_t sum = 0;
    int over = 0; /* reported at the end: a later term may be invalid, which counts more */
    if (text.len == 0)
        return PL_EINVAL;
    while (text.len != 0) {
        int64_t term;
        int rc = duration_term(&text, known, &term);
        if (rc == PL_EINVAL)
            return rc;
        if (rc != 0 || over != 0 || __builtin_add_overflow(sum, term, &sum))
            over = PL_ELIMIT;
    }
    *ns = negative ? -sum : sum;
    return over;
}

bool pl_duration_parse(struct pl_slice text, int64_t *ns)
{
    return parse_duration(text, PL_ARRAY_LEN(duration_units) - OUR_UNITS, ns) == 0;
}

int pl_duration_parse_long(struct pl_slice text, int64_t *ns)
{
    return parse_duration(text, PL_ARRAY_LEN(duration_units), ns);
}

/* ---- quantities and sizes ---- */

/* "12", "1.5", ".5", "5."; at least one digit. */
static bool decimal(struct pl_slice *in, double *value)
{
    const char *start = in->ptr;
    size_t digits = take_digits(in).len;
    if (units_take(in, '.'))
        digits += take_digits(in).len;
    size_t len = (size_t)(in->ptr - start);
    char text[128];
    if (digits == 0 || len >= sizeof(text))
        return false;
    memcpy(text, start, len);
    text[len] = '\0';
    *value = strtod(text, NULL);
    return true;
}

static const struct unit quantity_suffixes[] = {
    {"", 1},
    {"n", 1e-9},
    {"u", 1e-6},
    {"m", 1e-3},
    {"k", 1e3},
    {"M", 1e6},
    {"G", 1e9},
    {"T", 1e12},
    {"P", 1e15},
    {"E", 1e18},
    {"Ki", 1024.0},
    {"Mi", 1024.0 * 1024},
    {"Gi", 1024.0 * 1024 * 1024},
    {"Ti", 1024.0 * 1024 * 1024 * 1024},
    {"Pi", 1024.0 * 1024 * 1024 * 1024 * 1024},
    {"Ei", 1024.0 * 1024 * 1024 * 1024 * 1024 * 1024},
};

/* "e3", "E-2": a power of ten; "E" without digits is exa, not an exponent. */
static bool exponent(struct pl_slice in, int *power)
{
    if (!units_take(&in, 'e') && !units_take(&in, 'E'))
        return false;
    bool negative = units_take(&in, '-');
    if (!negative)
        units_take(&in, '+');
    struct pl_slice digits = take_digits(&in);
    if (digits.len == 0 || digits.len > 4 || in.len != 0)
        return false;
    *power = 0;
    for (size_t i = 0; i < digits.len; i++)
        *power = *power * 10 + (digits.ptr[i] - '0');
    if (negative)
        *power = -*power;
    return true;
}

bool pl_quantity_parse(struct pl_slice text, double *value)
{
    double number;
    int power;
    bool negative = units_take(&text, '-');
    if (!negative)
        units_take(&text, '+');
    if (!decimal(&text, &number))
        return false;
    if (exponent(text, &power)) {
        /* Dividing by an exact power rounds once, multiplying by an inexact one twice. */
        number = power < 0 ? number / pow(10, -power) : number * pow(10, power);
    } else {
        size_t i = 0;
        while (i < PL_ARRAY_LEN(quantity_suffixes) &&
               !pl_slice_eqz(text, quantity_suffixes[i].name))
            i++;
        if (i == PL_ARRAY_LEN(quantity_suffixes))
            return false;
        double factor = quantity_suffixes[i].factor;
        number = factor < 1 ? number / round(1 / factor) : number * factor;
    }
    *value = negative ? -number : number;
    return isfinite(number);
}

bool pl_size_parse(struct pl_slice text, uint64_t *bytes)
{
    double number, factor = 1;
    if (!decimal(&text, &number))
        return false;
    if (text.len != 0 && text.ptr[0] != 'B') {
        const char *letters = "kKMGTPE", *letter = strchr(letters, text.ptr[0]);
        if (letter == NULL || text.ptr[0] == '\0')
            return false;
        int power = letter == letters ? 1 : (int)(letter - letters);
        text = pl_slice(text.ptr + 1, text.len - 1);
        factor = pow(units_take(&text, 'i') ? 1024 : 1000, power);
    }
    units_take(&text, 'B');
    number *= factor;
    if (text.len != 0 || !(number < 18446744073709551616.0))
        return false;
    *bytes = (uint64_t)number;
    return true;
}

/* ---- instants ---- */

/* Exactly n digits. */
static bool fixed_digits(struct pl_slice *in, size_t n, int *value)
{
    if (in->len < n)
        return false;
    *value = 0;
    for (size_t i = 0; i < n; i++) {
        if (!pl_is_digit(in->ptr[i]))
            return false;
        *value = *value * 10 + (in->ptr[i] - '0');
    }
    in->ptr += n;
    in->len -= n;
    return true;
}

/* "Z", "+01:00": seconds east of UTC. */
static bool time_offset(struct pl_slice *in, int *seconds)
{
    *seconds = 0;
    if (units_take(in, 'Z') || units_take(in, 'z'))
        return true;
    bool negative = units_take(in, '-');
    int hours, minutes;
    if ((!negative && !units_take(in, '+')) || !fixed_digits(in, 2, &hours) ||
        !units_take(in, ':') || !fixed_digits(in, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *seconds = (hours * 60 + minutes) * 60;
    if (negative)
        *seconds = -*seconds;
    return true;
}

static bool time_fraction(struct pl_slice *in, int *ns)
{
    *ns = 0;
    if (!units_take(in, '.'))
        return true;
    struct pl_slice digits = take_digits(in);
    for (size_t i = 0; i < 9; i++)
        *ns = *ns * 10 + (i < digits.len ? digits.ptr[i] - '0' : 0);
    return digits.len != 0;
}

bool pl_time_parse_wide(struct pl_slice text, int64_t *seconds, int *ns)
{
    int year, month, day, hour, minute, second, offset;
    if (!fixed_digits(&text, 4, &year) || !units_take(&text, '-') ||
        !fixed_digits(&text, 2, &month) || !units_take(&text, '-') ||
        !fixed_digits(&text, 2, &day) || (!units_take(&text, 'T') && !units_take(&text, 't')))
        return false;
    if (!fixed_digits(&text, 2, &hour) || !units_take(&text, ':') ||
        !fixed_digits(&text, 2, &minute) || !units_take(&text, ':') ||
        !fixed_digits(&text, 2, &second) || !time_fraction(&text, ns) ||
        !time_offset(&text, &offset) || text.len != 0)
        return false;
    if (month < 1 || month > 12 || day < 1 || day > pl_days_in_month(year, month) || hour > 23 ||
        minute > 59 || second > 59)
        return false;
    *seconds =
        pl_days_from_date(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
    return true;
}

bool pl_time_parse(struct pl_slice text, int64_t *wall_ns)
{
    int64_t seconds;
    int ns;
    if (!pl_time_parse_wide(text, &seconds, &ns))
        return false;
    __int128 total = (__int128)seconds * PL_SECOND + ns;
    *wall_ns = total > INT64_MAX ? INT64_MAX : total < INT64_MIN ? INT64_MIN : (int64_t)total;
    return true;
}

void pl_time_text(int64_t wall_ns, int digits, char out[40])
{
    int64_t seconds = wall_ns / PL_SECOND, ns = wall_ns % PL_SECOND;
    if (ns < 0) {
        ns += PL_SECOND;
        seconds--;
    }
    pl_time_text_wide(seconds, (int)ns, digits, out);
}

void pl_time_text_wide(int64_t seconds, int ns, int digits, char out[40])
{
    int64_t days = seconds / 86400, rest = seconds % 86400;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    struct pl_date date = pl_date_from_days(days);
    int len = snprintf(out, 40, "%04d-%02d-%02dT%02d:%02d:%02d", date.year, date.month, date.day,
                       (int)(rest / 3600), (int)(rest / 60 % 60), (int)(rest % 60));
    if (digits > 0) {
        char fraction[16];
        snprintf(fraction, sizeof(fraction), "%09d", ns);
        len += snprintf(out + len, 40 - (size_t)len, ".%.*s", digits > 9 ? 9 : digits, fraction);
    }
    snprintf(out + len, 40 - (size_t)len, "Z");
}
