/* Quantities ("500m", "1Gi"), exact to 10^-9 as in Kubernetes. Smaller fractions are rounded away
 * from zero. Numbers over 10^27 are refused. */
#include "cel/function.h"

#include "base/text.h"

#include <string.h>

#define FAIL(text) ((struct pl_cel){.kind = PL_CEL_ERROR, .s = pl_slice_z(text)})
#define NANO       1000000000
#define MOST       ((__int128)1000000000000000000 * 1000000000) /* whole units */

struct reader {
    struct pl_slice text;
    size_t at;
    __int128 digits;
    int scale; /* digits after the point */
    bool is_negative, has_rest, is_wrong;
};

static void read_digit(struct reader *r, char c, bool is_fraction)
{
    if (is_fraction && r->scale >= 18) {
        r->has_rest |= c != '0';
        return;
    }
    r->digits = r->digits * 10 + (c - '0');
    r->scale += is_fraction;
    r->is_wrong |= r->digits > MOST;
}

static void lib_quantity_read_number(struct reader *r)
{
    size_t digits = 0;
    bool is_fraction = false;
    if (r->at < r->text.len && (r->text.ptr[r->at] == '-' || r->text.ptr[r->at] == '+'))
        r->is_negative = r->text.ptr[r->at++] == '-';
    for (; r->at < r->text.len && !r->is_wrong; r->at++) {
        char c = r->text.ptr[r->at];
        if (c == '.' && !is_fraction)
            is_fraction = true;
        else if (pl_is_digit(c))
            read_digit(r, c, is_fraction), digits++;
        else
            break;
    }
    r->is_wrong |= digits == 0;
}

/* An exponent such as e3 or E-2, which must be the rest of the text. */
static bool read_exponent(struct reader *r, int *exponent)
{
    size_t i = r->at + 1;
    bool is_negative = i < r->text.len && r->text.ptr[i] == '-';
    if (i < r->text.len && (r->text.ptr[i] == '-' || r->text.ptr[i] == '+'))
        i++;
    if (i >= r->text.len || r->text.len - i > 2)
        return false;
    *exponent = 0;
    for (; i < r->text.len; i++) {
        if (!pl_is_digit(r->text.ptr[i]))
            return false;
        *exponent = *exponent * 10 + (r->text.ptr[i] - '0');
    }
    *exponent = is_negative ? -*exponent : *exponent;
    return true;
}

/* Reads a suffix or an exponent: a power of ten, or of 1024. */
static bool read_suffix(struct reader *r, int *ten, int *kilo)
{
    static const char up[] = "kMGTPE", down[] = "mun";
    struct pl_slice rest = pl_slice(r->text.ptr + r->at, r->text.len - r->at);
    *ten = *kilo = 0;
    if (rest.len == 0)
        return true;
    if (rest.len == 2 && rest.ptr[1] == 'i' && strchr("KMGTPE", rest.ptr[0]) != NULL) {
        *kilo = (int)(strchr("KMGTPE", rest.ptr[0]) - "KMGTPE") + 1;
        return true;
    }
    if (rest.len == 1 && strchr(up, rest.ptr[0]) != NULL) {
        *ten = 3 * ((int)(strchr(up, rest.ptr[0]) - up) + 1);
        return true;
    }
    if (rest.len == 1 && strchr(down, rest.ptr[0]) != NULL) {
        *ten = -3 * ((int)(strchr(down, rest.ptr[0]) - down) + 1);
        return true;
    }
    return (rest.ptr[0] == 'e' || rest.ptr[0] == 'E') && read_exponent(r, ten);
}

static bool lib_quantity_parse(struct pl_slice text, __int128 *nano)
{
    struct reader r = {.text = text};
    int ten, kilo;
    lib_quantity_read_number(&r);
    if (r.is_wrong || !read_suffix(&r, &ten, &kilo))
        return false;
    __int128 value = r.digits;
    for (; kilo > 0 && value <= MOST; kilo--)
        value *= 1024;
    for (ten += 9 - r.scale; ten > 0 && value <= MOST * NANO; ten--)
        value *= 10;
    for (; ten < 0; ten++) {
        r.has_rest |= value % 10 != 0;
        value /= 10;
    }
    value += r.has_rest;
    if (ten > 0 || kilo > 0 || value > MOST * NANO)
        return value == 0 && !r.is_wrong ? (*nano = 0, true) : false;
    *nano = r.is_negative ? -value : value;
    return true;
}

static struct pl_cel quantity_of_nano(struct pl_cel_eval *eval, __int128 nano)
{
    if (nano > MOST * NANO || nano < -MOST * NANO)
        return FAIL("quantity overflow");
    struct pl_cel_quantity *q = pl_arena_alloc(eval->arena, sizeof *q);
    q->nano = nano;
    return (struct pl_cel){.kind = PL_CEL_QUANTITY, .q = q};
}

static struct pl_cel is_quantity(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    __int128 nano;
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_bool(lib_quantity_parse(args[0].s, &nano));
}

static struct pl_cel lib_quantity_make(struct pl_cel_eval *eval, const struct pl_cel *args,
                                       size_t n)
{
    __int128 nano;
    PL_UNUSED(n);
    if (!lib_quantity_parse(args[0].s, &nano))
        return FAIL("quantities must match the regular expression "
                    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    return quantity_of_nano(eval, nano);
}

static struct pl_cel lib_quantity_sign(struct pl_cel_eval *eval, const struct pl_cel *args,
                                       size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_int((args[0].q->nano > 0) - (args[0].q->nano < 0));
}

static bool is_whole(__int128 nano)
{
    return nano % NANO == 0 && nano / NANO <= INT64_MAX && nano / NANO >= INT64_MIN;
}

static struct pl_cel is_integer(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_bool(is_whole(args[0].q->nano));
}

static struct pl_cel as_integer(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return is_whole(args[0].q->nano) ? pl_cel_int((int64_t)(args[0].q->nano / NANO))
                                     : FAIL("cannot convert value to integer");
}

static struct pl_cel as_double(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_double((double)args[0].q->nano / NANO);
}

static __int128 operand(struct pl_cel value)
{
    return value.kind == PL_CEL_INT ? (__int128)value.i * NANO : value.q->nano;
}

static struct pl_cel lib_quantity_add(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    return quantity_of_nano(eval, args[0].q->nano + operand(args[1]));
}

static struct pl_cel subtract(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    return quantity_of_nano(eval, args[0].q->nano - operand(args[1]));
}

static int lib_quantity_compare(const struct pl_cel *args)
{
    return (args[0].q->nano > args[1].q->nano) - (args[0].q->nano < args[1].q->nano);
}

PL_CEL_GETTER(compare_to, pl_cel_int(lib_quantity_compare(args)))
PL_CEL_GETTER(is_less, pl_cel_bool(lib_quantity_compare(args) < 0))
PL_CEL_GETTER(is_greater, pl_cel_bool(lib_quantity_compare(args) > 0))
const struct pl_cel_function pl_cel_quantity_functions[] = {
    PL_CEL_READER("quantity", "s:Q", lib_quantity_make),
    PL_CEL_READER("isQuantity", "s:b", is_quantity),
    PL_CEL_ROW("sign", "Q:i", false, PL_CEL_COST_ONE, PL_CEL_SIZE_NONE, lib_quantity_sign),
    PL_CEL_MEMBER("isInteger", "Q:b", is_integer),
    PL_CEL_MEMBER("asInteger", "Q:i", as_integer),
    PL_CEL_MEMBER("asApproximateFloat", "Q:d", as_double),
    PL_CEL_MEMBER("add", "QQ:Q", lib_quantity_add),
    PL_CEL_MEMBER("add", "Qi:Q", lib_quantity_add),
    PL_CEL_MEMBER("sub", "QQ:Q", subtract),
    PL_CEL_MEMBER("sub", "Qi:Q", subtract),
    PL_CEL_MEMBER("compareTo", "QQ:i", compare_to),
    PL_CEL_MEMBER("isLessThan", "QQ:b", is_less),
    PL_CEL_MEMBER("isGreaterThan", "QQ:b", is_greater),
    {0},
};
