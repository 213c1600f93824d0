/* Checks scalars as Go's JSON decoder does, with its messages: ranges of integers, base64,
 * quantities, numbers or strings; times are in typed_time.c. Times and quantities are rewritten to
 * the form in which Go writes them. Messages were checked against kube-apiserver 1.37. */
#include "gotype/typed_scalar.h"

#include "base/text.h"
#include "gotype/typed.h"

#include "format/units.h"
#include "gotype/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *pl_typed_json_name(const struct pl_tree *value)
{
    switch (pl_tree_type(value)) {
    case PL_BOOL:
        return "bool";
    case PL_NUMBER:
        return "number";
    case PL_STRING:
        return "string";
    case PL_ARRAY:
        return "array";
    default:
        return "object";
    }
}

static const char *plain_name(enum pl_form form)
{
    switch (form) {
    case PL_FORM_BOOL:
        return "bool";
    case PL_FORM_INT32:
    case PL_FORM_INT_OR_STRING:
        return "int32";
    case PL_FORM_INT64:
        return "int64";
    case PL_FORM_DOUBLE:
        return "float64";
    case PL_FORM_BYTES:
        return "[]uint8";
    case PL_FORM_STRINGS:
        return "[]string";
    case PL_FORM_QUANTITY:
        return "resource.Quantity";
    default:
        return "string";
    }
}

struct pl_slice pl_typed_go_name(struct pl_arena *arena, const struct pl_message_field *field)
{
    if (field->form == PL_FORM_MESSAGE)
        return pl_arena_f(arena, "%.*s.%s", PL_FMT(pl_message_package(field->message)),
                          pl_message_go(field->message));
    bool own = *field->go != '\0' && field->many != PL_MANY_MAP &&
               (field->form == PL_FORM_STRING || field->form == PL_FORM_BYTES);
    return pl_slice_z(own ? field->go : plain_name(field->form));
}

/* ---- integers ---- */

static bool is_integer(struct pl_slice text, int64_t least, int64_t most)
{
    char copy[24];
    size_t i = text.len > 0 && text.ptr[0] == '-';
    if (text.len == i || text.len >= sizeof(copy))
        return false;
    for (size_t at = i; at < text.len; at++)
        if (!pl_is_digit(text.ptr[at]))
            return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    errno = 0;
    long long value = strtoll(copy, NULL, 10);
    return errno == 0 && value >= least && value <= most;
}

static bool fits_integer(struct pl_tree *value, bool wide)
{
    if (value->type != PL_NUMBER ||
        !is_integer(value->text, wide ? INT64_MIN : INT32_MIN, wide ? INT64_MAX : INT32_MAX))
        return false;
    if (pl_slice_eqz(value->text, "-0"))
        value->text = pl_slice_z("0");
    return true;
}

/* ---- quantities and bytes ---- */

static bool fits_quantity(struct pl_arena *arena, const struct pl_message_field *field,
                          struct pl_tree *value, struct pl_slice *error)
{
    char text[64];
    double number;
    enum pl_quantity is = PL_QUANTITY_MALFORMED;
    struct pl_slice written = pl_slice_trim(value->text);
    if (value->type == PL_STRING || value->type == PL_NUMBER)
        is = pl_api_quantity_text(written, strcmp(field->go, "v1.ResourceList") == 0, text);
    if (is == PL_QUANTITY_CHANGED)
        written = pl_arena_copy(arena, pl_slice_z(text));
    if (is == PL_QUANTITY_NO_SUFFIX) {
        *error = pl_slice_z("unable to parse quantity's suffix");
        return false;
    }
    if (is == PL_QUANTITY_MALFORMED || !pl_quantity_parse(written, &number)) {
        *error = pl_slice_z("quantities must match the regular expression "
                            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
        return false;
    }
    value->type = PL_STRING;
    value->text = written;
    return true;
}

static bool is_base64(char c)
{
    return pl_is_alnum(c) || c == '+' || c == '/';
}

/* The offset of the first byte at which Go's base64 decoder stops; -1: there is none. */
int64_t pl_typed_base64_fault(struct pl_slice text)
{
    size_t digits = 0, i = 0;
    for (; i < text.len && text.ptr[i] != '='; i++) {
        if (text.ptr[i] == '\r' || text.ptr[i] == '\n')
            continue;
        if (!is_base64(text.ptr[i]))
            return (int64_t)i;
        digits++;
    }
    size_t wants = digits % 4 == 0 ? 0 : 4 - digits % 4;
    if (digits % 4 == 1)
        return (int64_t)(i < text.len ? i : text.len - 1);
    for (; i < text.len; i++) {
        if (text.ptr[i] == '\r' || text.ptr[i] == '\n')
            continue;
        if (text.ptr[i] != '=' || wants == 0)
            return (int64_t)i;
        wants--;
    }
    if (wants > 0 &&
        digits == text.len) /* the padding is missing: Go reports the place of the last digits */
        return (int64_t)(text.len - digits % 4);
    return wants > 0 ? (int64_t)text.len : -1;
}

static bool fits_bytes(struct pl_arena *arena, struct pl_tree *value, struct pl_slice *error)
{
    int64_t at = pl_typed_base64_fault(value->text);
    if (at >= 0)
        *error = pl_arena_f(arena, "illegal base64 data at input byte %" PRId64, at);
    return at < 0;
}

static bool fits_duration(struct pl_arena *arena, const struct pl_tree *value,
                          struct pl_slice *error)
{
    int64_t ns;
    if (pl_duration_parse(value->text, &ns))
        return true;
    *error = pl_arena_f(arena, "time: invalid duration \"%.*s\"", PL_FMT(value->text));
    return false;
}

static bool are_strings(const struct pl_tree *value)
{
    PL_TREE_FOR(item, value)
    if (item->value->type != PL_STRING)
        return false;
    return value->type == PL_ARRAY;
}

bool pl_typed_scalar(struct pl_arena *arena, const struct pl_message_field *field,
                     struct pl_tree *value, struct pl_slice *wants, struct pl_slice *error)
{
    bool is_string = value->type == PL_STRING;
    *wants = pl_typed_go_name(arena, field);
    switch (field->form) {
    case PL_FORM_STRING:
        return is_string;
    case PL_FORM_BOOL:
        return value->type == PL_BOOL;
    case PL_FORM_INT32:
    case PL_FORM_INT64:
        return fits_integer(value, field->form == PL_FORM_INT64);
    case PL_FORM_DOUBLE:
        return value->type == PL_NUMBER;
    case PL_FORM_BYTES:
        return is_string && fits_bytes(arena, value, error);
    case PL_FORM_TIME:
    case PL_FORM_MICROTIME:
        return is_string && pl_typed_time(arena, value, field->form == PL_FORM_MICROTIME, error);
    case PL_FORM_DURATION:
        return is_string && fits_duration(arena, value, error);
    case PL_FORM_QUANTITY:
        return fits_quantity(arena, field, value, error);
    case PL_FORM_INT_OR_STRING:
        return is_string || fits_integer(value, false);
    case PL_FORM_STRINGS:
        return are_strings(value);
    default:
        return true;
    }
}
