/* Conversions between types, and dyn() and type(). A value that the target type cannot hold is an
 * error. */
#include "cel/function.h"

#include "format/units.h"
#include "value/build.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAIL(text) ((struct pl_cel){.kind = PL_CEL_ERROR, .s = pl_slice_z(text)})

static struct pl_cel lib_convert_same(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return args[0];
}

static struct pl_cel lib_convert_type_of(struct pl_cel_eval *eval, const struct pl_cel *args,
                                         size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_type_value(args[0]);
}

/* The text with a NUL after it; NULL when it is empty, contains a NUL or begins with white space.
 */
static const char *lib_convert_digits(struct pl_cel_eval *eval, struct pl_slice text)
{
    struct pl_slice copy = pl_arena_f(eval->arena, "%.*s", PL_FMT(text));
    bool is_fine = text.len > 0 && copy.len == text.len && strlen(copy.ptr) == text.len &&
                   strchr(" \t\n\r\f\v", copy.ptr[0]) == NULL;
    return is_fine ? copy.ptr : NULL;
}

static struct pl_cel to_int(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    char *end;
    switch (args[0].kind) {
    case PL_CEL_UINT:
        return args[0].u > INT64_MAX ? FAIL("integer overflow") : pl_cel_int((int64_t)args[0].u);
    case PL_CEL_DOUBLE:
        return isnan(args[0].d) || args[0].d >= 9223372036854775807.0 ||
                       args[0].d <= -9223372036854775808.0
                   ? FAIL("integer overflow")
                   : pl_cel_int((int64_t)args[0].d);
    case PL_CEL_TIMESTAMP:
        return pl_cel_int(args[0].t.seconds);
    default:
        break;
    }
    const char *text = lib_convert_digits(eval, args[0].s);
    errno = 0;
    long long value = text != NULL ? strtoll(text, &end, 10) : 0;
    if (text == NULL || *end != '\0' || errno != 0)
        return pl_cel_fail(eval->arena, "type conversion error from 'string' to 'int'");
    return pl_cel_int(value);
}

static struct pl_cel to_uint(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    char *end;
    struct pl_cel result = {.kind = PL_CEL_UINT};
    if (args[0].kind == PL_CEL_INT || args[0].kind == PL_CEL_DOUBLE) {
        double d = args[0].kind == PL_CEL_INT ? (double)args[0].i : args[0].d;
        if (isnan(d) || d < 0 || d >= 18446744073709551615.0)
            return FAIL("unsigned integer overflow");
        result.u = args[0].kind == PL_CEL_INT ? (uint64_t)args[0].i : (uint64_t)d;
        return result;
    }
    const char *text = lib_convert_digits(eval, args[0].s);
    errno = 0;
    result.u = text != NULL && text[0] != '-' ? strtoull(text, &end, 10) : 0;
    if (text == NULL || text[0] == '-' || *end != '\0' || errno != 0)
        return pl_cel_fail(eval->arena, "type conversion error from 'string' to 'uint'");
    return result;
}

static struct pl_cel to_double(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    char *end;
    if (args[0].kind == PL_CEL_INT)
        return pl_cel_double((double)args[0].i);
    if (args[0].kind == PL_CEL_UINT)
        return pl_cel_double((double)args[0].u);
    const char *text = lib_convert_digits(eval, args[0].s);
    double value = text != NULL ? strtod(text, &end) : 0;
    if (text == NULL || *end != '\0')
        return pl_cel_fail(eval->arena, "type conversion error from 'string' to 'double'");
    return pl_cel_double(value);
}

static struct pl_cel to_bool(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    static const char yes[][8] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char no[][8] = {"0", "f", "F", "false", "FALSE", "False"};
    PL_UNUSED(n);
    for (size_t i = 0; i < PL_ARRAY_LEN(yes); i++) {
        if (pl_slice_eqz(args[0].s, yes[i]))
            return pl_cel_bool(true);
        if (pl_slice_eqz(args[0].s, no[i]))
            return pl_cel_bool(false);
    }
    return pl_cel_fail(eval->arena, "type conversion error from 'string' to 'bool'");
}

static struct pl_cel to_bytes(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return (struct pl_cel){.kind = PL_CEL_BYTES, .s = args[0].s};
}

/* ---- to text ---- */

/* The fewest digits that read back the same, with an exponent where Go's %g has one. */
static void double_text(double d, struct pl_buf *out)
{
    char text[40];
    if (isnan(d) || isinf(d)) {
        pl_buf_add_z(out, isnan(d) ? "NaN" : d < 0 ? "-Inf" : "+Inf");
        return;
    }
    int digits = 0; /* after the first one */
    do {
        snprintf(text, sizeof text, "%.*e", digits, d);
    } while (strtod(text, NULL) != d && ++digits < 17);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent >= -4 && exponent < 6)
        snprintf(text, sizeof text, "%.*f", digits > exponent ? digits - exponent : 0, d);
    pl_buf_add_z(out, text);
}

static void time_text(struct pl_cel_time t, struct pl_buf *out)
{
    char text[40];
    int digits = t.ns != 0 ? 9 : 0;
    for (int32_t rest = t.ns; digits > 0 && rest % 10 == 0; rest /= 10)
        digits--;
    /* Moves the time by whole eras of 400 years into the range of 64-bit nanoseconds. */
    const int64_t era = INT64_C(146097) * 86400;
    int64_t shifted = t.seconds + era / 2;
    int64_t eras = shifted / era - (shifted % era < 0), near = t.seconds - eras * era;
    pl_time_text(near * 1000000000 + t.ns, digits, text);
    int year =
        (text[0] - '0') * 1000 + (text[1] - '0') * 100 + (text[2] - '0') * 10 + text[3] - '0';
    pl_buf_add_f(out, "%04d%s", year + (int)eras * 400, text + 4);
}

static void duration_text(struct pl_cel_time t, struct pl_buf *out)
{
    int32_t ns = t.ns < 0 ? -t.ns : t.ns;
    int64_t seconds = t.seconds < 0 ? -t.seconds : t.seconds;
    pl_buf_add_f(out, "%s%" PRId64, t.seconds < 0 || t.ns < 0 ? "-" : "", seconds);
    if (ns != 0) {
        char text[16];
        int len = snprintf(text, sizeof text, ".%09d", ns);
        while (text[len - 1] == '0')
            text[--len] = '\0';
        pl_buf_add_z(out, text);
    }
    pl_buf_add_char(out, 's');
}

static struct pl_cel to_string(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_buf out = PL_BUF_INIT;
    switch (args[0].kind) {
    case PL_CEL_BOOL:
        return pl_cel_string(pl_slice_z(args[0].b ? "true" : "false"));
    case PL_CEL_INT:
        pl_buf_add_f(&out, "%" PRId64, args[0].i);
        break;
    case PL_CEL_UINT:
        pl_buf_add_f(&out, "%" PRIu64, args[0].u);
        break;
    case PL_CEL_DOUBLE:
        double_text(args[0].d, &out);
        break;
    case PL_CEL_TIMESTAMP:
        time_text(args[0].t, &out);
        break;
    case PL_CEL_DURATION:
        duration_text(args[0].t, &out);
        break;
    default:
        return pl_is_utf8(args[0].s) ? pl_cel_string(args[0].s)
                                     : FAIL("invalid UTF-8 in bytes, cannot convert to string");
    }
    return pl_cel_text_result(eval, &out);
}

/* ---- times ---- */

static struct pl_cel parsed(struct pl_cel_eval *eval, struct pl_slice text, enum pl_cel_kind kind)
{
    struct pl_tree *tree = pl_tree_str(eval->arena, text);
    struct pl_cel value = pl_cel_from_tree(eval->arena, tree, pl_cel_type_of(kind));
    if (!pl_cel_is_error(value))
        return value;
    return pl_cel_fail(eval->arena, "type conversion error from 'string' to '%s'",
                       pl_cel_kind_name(kind));
}

static struct pl_cel to_timestamp(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    if (args[0].kind != PL_CEL_INT)
        return parsed(eval, args[0].s, PL_CEL_TIMESTAMP);
    if (args[0].i < -62135596800 || args[0].i > 253402300799)
        return FAIL("timestamp overflow");
    return (struct pl_cel){.kind = PL_CEL_TIMESTAMP, .t = {.seconds = args[0].i}};
}

static struct pl_cel to_duration(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    if (args[0].kind == PL_CEL_INT)
        return (struct pl_cel){.kind = PL_CEL_DURATION,
                               .t = {args[0].i / 1000000000, (int32_t)(args[0].i % 1000000000)}};
    return parsed(eval, args[0].s, PL_CEL_DURATION);
}

#define OP(name, signature, fn)                                                                    \
    PL_CEL_ROW(name, signature, false, PL_CEL_COST_ONE, PL_CEL_SIZE_NONE, fn)

const struct pl_cel_function pl_cel_convert_functions[] = {
    OP("dyn", "A:D", lib_convert_same),
    OP("type", "A:T", lib_convert_type_of),
    OP("int", "i:i", lib_convert_same),
    OP("int", "u:i", to_int),
    OP("int", "d:i", to_int),
    OP("int", "s:i", to_int),
    OP("int", "t:i", to_int),
    OP("uint", "u:u", lib_convert_same),
    OP("uint", "i:u", to_uint),
    OP("uint", "d:u", to_uint),
    OP("uint", "s:u", to_uint),
    OP("double", "d:d", lib_convert_same),
    OP("double", "i:d", to_double),
    OP("double", "u:d", to_double),
    OP("double", "s:d", to_double),
    OP("bool", "b:b", lib_convert_same),
    OP("bool", "s:b", to_bool),
    PL_CEL_ROW("bytes", "s:y", false, PL_CEL_COST_SELF, PL_CEL_SIZE_FOURFOLD, to_bytes),
    OP("bytes", "y:y", lib_convert_same),
    OP("timestamp", "t:t", lib_convert_same),
    OP("timestamp", "s:t", to_timestamp),
    OP("timestamp", "i:t", to_timestamp),
    OP("duration", "r:r", lib_convert_same),
    OP("duration", "s:r", to_duration),
    OP("duration", "i:r", to_duration),
    PL_CEL_ROW("string", "s:s", false, PL_CEL_COST_ONE, PL_CEL_SIZE_NONE, lib_convert_same),
    OP("string", "b:s", to_string),
    OP("string", "i:s", to_string),
    OP("string", "u:s", to_string),
    OP("string", "d:s", to_string),
    OP("string", "t:s", to_string),
    OP("string", "r:s", to_string),
    PL_CEL_ROW("string", "y:s", false, PL_CEL_COST_SELF, PL_CEL_SIZE_SELF, to_string),
    OP("string", "I:s", pl_cel_ip_text),
    OP("string", "C:s", pl_cel_ip_text),
    {0},
};
