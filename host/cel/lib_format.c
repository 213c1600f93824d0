/* Named formats (format.dns1123Label().validate(text)) and the text function `format`. */
#include "cel/function.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define FAIL(text) ((struct pl_cel){.kind = PL_CEL_ERROR, .s = pl_slice_z(text)})

/* ---- named formats ---- */

struct named {
    const char *name;
    const char *pattern;
    size_t most; /* characters; 0: no limit */
    const char *why;
};

#define LABEL     "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN LABEL "(\\." LABEL ")*"
#define WORD      "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

static const struct named formats[] = {
    {"dns1123Label", "^" LABEL "$", 63,
     "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
     "must start and end with an alphanumeric character"},
    {"dns1123Subdomain", "^" SUBDOMAIN "$", 253,
     "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
     "'.', and must start and end with an alphanumeric character"},
    {"dns1035Label", "^[a-z]([-a-z0-9]*[a-z0-9])?$", 63,
     "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
     "alphabetic character, and end with an alphanumeric character"},
    {"qualifiedName", "^(" SUBDOMAIN "/)?" WORD "$", 317,
     "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
     "with an alphanumeric character"},
    {"dns1123LabelPrefix", "^[a-z0-9][-a-z0-9]*$", 63,
     "a prefix of a lowercase RFC 1123 label must consist of lower case alphanumeric characters "
     "or '-'"},
    {"dns1123SubdomainPrefix", "^" LABEL "(\\." LABEL ")*[-.]?$", 253,
     "a prefix of a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
     "characters, '-' or '.'"},
    {"dns1035LabelPrefix", "^[a-z][-a-z0-9]*$", 63,
     "a prefix of a DNS-1035 label must consist of lower case alphanumeric characters or '-'"},
    {"labelValue", "^(" WORD ")?$", 63,
     "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
     "'.', and must start and end with an alphanumeric character"},
    {"uri", "^(/[^\\s]*|[A-Za-z][A-Za-z0-9+.-]*:[^\\s]+)$", 0, "invalid URI"},
    {"uuid", "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$", 0,
     "does not match the UUID format"},
    {"byte", "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$", 0, "invalid base64"},
    {"date", "^\\d{4}-\\d{2}-\\d{2}$", 0, "invalid date"},
    {"datetime",
     "^\\d{4}-\\d{2}-\\d{2}[Tt ]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:?\\d{2})$", 0,
     "invalid datetime"},
};

static const struct named *find_format(struct pl_slice name)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(formats); i++)
        if (pl_slice_eqz(name, formats[i].name))
            return &formats[i];
    return NULL;
}

static struct pl_cel format_value(const struct named *named)
{
    return (struct pl_cel){.kind = PL_CEL_FORMAT, .s = pl_slice_z(named->name)};
}

static struct pl_cel format_named(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct named *named = find_format(args[0].s);
    return named != NULL ? pl_cel_some(eval->arena, format_value(named)) : pl_cel_none();
}

#define FORMAT(i)                                                                                  \
    static struct pl_cel format_##i(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n) \
    {                                                                                              \
        PL_UNUSED(eval);                                                                           \
        PL_UNUSED(args);                                                                           \
        PL_UNUSED(n);                                                                              \
        return format_value(&formats[i]);                                                          \
    }

FORMAT(0)
FORMAT(1)
FORMAT(2)
FORMAT(3)
FORMAT(4)
FORMAT(5)
FORMAT(6)
FORMAT(7)
FORMAT(8)
FORMAT(9)
FORMAT(10)
FORMAT(11)
FORMAT(12)

bool pl_cel_is_format(struct pl_cel_eval *eval, const char *name, struct pl_slice text)
{
    struct pl_err err;
    const struct named *named = find_format(pl_slice_z(name));
    return (named->most == 0 || pl_cel_characters(text) <= named->most) &&
           pl_cel_fits(eval, named->pattern, text, &err) == 1;
}

static struct pl_cel validate(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_err err;
    const struct named *named = find_format(args[0].s);
    struct pl_cel *items;
    struct pl_cel faults = pl_cel_new_list(eval->arena, 1, &items);
    if (named->most > 0 && pl_cel_characters(args[1].s) > named->most) {
        items[0] = pl_cel_string(
            pl_arena_f(eval->arena, "must be no more than %zu characters", named->most));
        return pl_cel_some(eval->arena, faults);
    }
    int found = pl_cel_fits(eval, named->pattern, args[1].s, &err);
    if (found == 1)
        return pl_cel_none();
    items[0] = found < 0 ? pl_cel_string(pl_arena_copy(eval->arena, pl_slice_z(err.message)))
                         : pl_cel_string(pl_slice_z(named->why));
    return pl_cel_some(eval->arena, faults);
}

/* ---- format ---- */

static bool lib_format_add_value(struct pl_cel_eval *eval, struct pl_cel value, struct pl_buf *out);

static const char *lib_format_type_name(enum pl_cel_kind kind)
{
    return pl_cel_kind_name(kind == PL_CEL_OBJECT ? PL_CEL_MAP : kind);
}

static void lib_format_add_quoted(struct pl_slice text, struct pl_buf *out)
{
    pl_buf_add_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"' || text.ptr[i] == '\\')
            pl_buf_add_char(out, '\\');
        pl_buf_add_char(out, text.ptr[i]);
    }
    pl_buf_add_char(out, '"');
}

/* An element of a list or map: as %s writes it, with quotes around texts. */
static bool add_inner(struct pl_cel_eval *eval, struct pl_cel value, struct pl_buf *out)
{
    if (value.kind != PL_CEL_STRING)
        return lib_format_add_value(eval, value, out);
    lib_format_add_quoted(value.s, out);
    return true;
}

static bool add_list(struct pl_cel_eval *eval, struct pl_cel value, struct pl_buf *out)
{
    const struct pl_cel_list *list = pl_cel_list_of(eval, value);
    pl_buf_add_char(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        pl_buf_add_z(out, i > 0 ? ", " : "");
        if (!add_inner(eval, list->items[i], out))
            return false;
    }
    pl_buf_add_char(out, ']');
    return true;
}

static bool lib_format_add_map(struct pl_cel_eval *eval, struct pl_cel value, struct pl_buf *out)
{
    const struct pl_cel_map *map = pl_cel_map_of(eval, value);
    pl_buf_add_char(out, '{');
    for (size_t i = 0; i < map->count; i++) {
        pl_buf_add_z(out, i > 0 ? ", " : "");
        if (!add_inner(eval, map->entries[i].key, out))
            return false;
        pl_buf_add_char(out, ':');
        if (!add_inner(eval, map->entries[i].value, out))
            return false;
    }
    pl_buf_add_char(out, '}');
    return true;
}

/* Writes the value as %s does; false: it has no text, or the text is too long. */
static bool lib_format_add_value(struct pl_cel_eval *eval, struct pl_cel value, struct pl_buf *out)
{
    if (out->len > PL_CEL_REQUEST_BYTES)
        return false;
    if (value.kind == PL_CEL_LIST)
        return add_list(eval, value, out);
    if (value.kind == PL_CEL_MAP || value.kind == PL_CEL_OBJECT)
        return lib_format_add_map(eval, value, out);
    if (value.kind == PL_CEL_NULL || value.kind == PL_CEL_TYPE) {
        pl_buf_add_z(out,
                     value.kind == PL_CEL_NULL ? "null" : lib_format_type_name(value.of->kind));
        return true;
    }
    for (const struct pl_cel_function *f = pl_cel_convert_functions; f->name != NULL; f++)
        if (strcmp(f->name, "string") == 0 && value.kind < PL_CEL_OPTIONAL &&
            pl_cel_function_takes_values(f, &value, 1)) {
            struct pl_cel text = f->fn(eval, &value, 1);
            if (!pl_cel_is_error(text))
                pl_buf_add_slice(out, text.s);
            return !pl_cel_is_error(text);
        }
    return false;
}

static bool add_binary(struct pl_cel value, struct pl_buf *out)
{
    bool is_negative = value.kind == PL_CEL_INT && value.i < 0;
    uint64_t bits = value.kind == PL_CEL_BOOL ? value.b
                    : is_negative             ? 0 - (uint64_t)value.i
                                              : value.u;
    bool has_begun = false;
    if (value.kind != PL_CEL_INT && value.kind != PL_CEL_UINT && value.kind != PL_CEL_BOOL)
        return false;
    if (is_negative)
        pl_buf_add_char(out, '-');
    for (int i = 63; i >= 0; i--) {
        has_begun |= (bits >> i & 1) != 0 || i == 0;
        if (has_begun)
            pl_buf_add_char(out, (char)('0' + (bits >> i & 1)));
    }
    return true;
}

static bool add_hex(struct pl_cel value, bool is_upper, struct pl_buf *out)
{
    if (value.kind == PL_CEL_STRING || value.kind == PL_CEL_BYTES) {
        for (size_t i = 0; i < value.s.len; i++)
            pl_buf_add_f(out, is_upper ? "%02X" : "%02x", (unsigned char)value.s.ptr[i]);
        return true;
    }
    if (value.kind != PL_CEL_INT && value.kind != PL_CEL_UINT)
        return false;
    bool is_negative = value.kind == PL_CEL_INT && value.i < 0;
    uint64_t bits = is_negative ? 0 - (uint64_t)value.i : value.u;
    pl_buf_add_z(out, is_negative ? "-" : "");
    pl_buf_add_f(out, is_upper ? "%" PRIX64 : "%" PRIx64, bits);
    return true;
}

static bool add_octal(struct pl_cel value, struct pl_buf *out)
{
    if (value.kind != PL_CEL_INT && value.kind != PL_CEL_UINT)
        return false;
    bool is_negative = value.kind == PL_CEL_INT && value.i < 0;
    pl_buf_add_f(out, "%s%" PRIo64, is_negative ? "-" : "",
                 is_negative ? 0 - (uint64_t)value.i : value.u);
    return true;
}

static bool add_decimal(struct pl_cel value, char verb, int precision, struct pl_buf *out)
{
    double d = value.kind == PL_CEL_INT    ? (double)value.i
               : value.kind == PL_CEL_UINT ? (double)value.u
                                           : value.d;
    if (value.kind != PL_CEL_INT && value.kind != PL_CEL_UINT && value.kind != PL_CEL_DOUBLE)
        return false;
    if (isnan(d) || isinf(d))
        pl_buf_add_z(out, isnan(d) ? "NaN" : d < 0 ? "-Infinity" : "Infinity");
    else if (verb == 'f')
        pl_buf_add_f(out, "%.*f", precision, d);
    else
        pl_buf_add_f(out, "%.*e", precision, d);
    return true;
}

static bool add_verb(struct pl_cel_eval *eval, char verb, int precision, struct pl_cel value,
                     struct pl_buf *out)
{
    switch (verb) {
    case 's':
        return lib_format_add_value(eval, value, out);
    case 'd':
        return (value.kind == PL_CEL_INT || value.kind == PL_CEL_UINT ||
                value.kind == PL_CEL_DOUBLE) &&
               lib_format_add_value(eval, value, out);
    case 'f':
    case 'e':
        return add_decimal(value, verb, precision, out);
    case 'b':
        return add_binary(value, out);
    case 'o':
        return add_octal(value, out);
    default:
        return add_hex(value, verb == 'X', out);
    }
}

/* The 3 of "%.3f"; 6 if there is none. At most 99. */
static int precision_at(struct pl_slice text, size_t *i)
{
    int precision = 0;
    if (*i >= text.len || text.ptr[*i] != '.')
        return 6;
    for ((*i)++; *i < text.len && pl_is_digit(text.ptr[*i]); (*i)++)
        precision =
            precision * 10 + text.ptr[*i] - '0' < 100 ? precision * 10 + text.ptr[*i] - '0' : 99;
    return precision;
}

static struct pl_cel formatted(struct pl_cel_eval *eval, struct pl_slice text,
                               const struct pl_cel_list *values, struct pl_buf *out)
{
    size_t used = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '%') {
            pl_buf_add_char(out, text.ptr[i]);
            continue;
        }
        i++;
        if (i < text.len && text.ptr[i] == '%') {
            pl_buf_add_char(out, '%');
            continue;
        }
        int precision = precision_at(text, &i);
        if (i >= text.len || strchr("sdfeboxX", text.ptr[i]) == NULL)
            return FAIL("could not parse formatting clause: unrecognized formatting clause");
        if (used >= values->count)
            return pl_cel_fail(eval->arena, "index %zu out of range", used);
        if (!pl_cel_charge(eval, 1 + out->len / 1000))
            return pl_cel_over_limit();
        if (!add_verb(eval, text.ptr[i], precision, values->items[used++], out))
            return pl_cel_fail(eval->arena, "error during formatting: no text for %%%c",
                               text.ptr[i]);
    }
    return pl_cel_null();
}

struct pl_cel pl_cel_format_text(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_buf out = PL_BUF_INIT;
    struct pl_cel wrong = formatted(eval, args[0].s, pl_cel_list_of(eval, args[1]), &out);
    if (!pl_cel_is_error(wrong))
        return pl_cel_text_result(eval, &out);
    pl_buf_deinit(&out);
    return wrong;
}

#define PLAIN(name, i)                                                                             \
    PL_CEL_ROW("format." name, ":F", false, PL_CEL_COST_ONE, PL_CEL_SIZE_NONE, format_##i)

const struct pl_cel_function pl_cel_format_functions[] = {
    PL_CEL_ROW("format.named", "s:OF", false, PL_CEL_COST_ONE, PL_CEL_SIZE_NONE, format_named),
    PLAIN("dns1123Label", 0),
    PLAIN("dns1123Subdomain", 1),
    PLAIN("dns1035Label", 2),
    PLAIN("qualifiedName", 3),
    PLAIN("dns1123LabelPrefix", 4),
    PLAIN("dns1123SubdomainPrefix", 5),
    PLAIN("dns1035LabelPrefix", 6),
    PLAIN("labelValue", 7),
    PLAIN("uri", 8),
    PLAIN("uuid", 9),
    PLAIN("byte", 10),
    PLAIN("date", 11),
    PLAIN("datetime", 12),
    PL_CEL_ROW("validate", "Fs:OLs", true, PL_CEL_COST_FORMAT, PL_CEL_SIZE_NONE, validate),
    {0},
};
