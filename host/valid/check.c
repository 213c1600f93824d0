/* Faults and checks of single values, in kube-apiserver's words (checked against 1.37), and the
 * code that applies tables of checks. A check looks at one value only. Values of a wrong type were
 * refused before; a check ignores them. */
#include "valid/check.h"
#include "base/text.h"
#include "gotype/go_struct.h"

#include "base/map.h"
#include "format/units.h"
#include "object/tree.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- places ---- */

static void add_spot(struct pl_buf *out, const struct pl_spot *at)
{
    if (at == NULL)
        return;
    add_spot(out, at->up);
    if (at->name != NULL && *at->name != '\0') {
        pl_buf_add_z(out, out->len > 0 ? "." : "");
        pl_buf_add_z(out, at->name);
    } else if (at->name == NULL && at->key.ptr != NULL) {
        pl_buf_add_f(out, "[%.*s]", PL_FMT(at->key));
    } else if (at->name == NULL) {
        pl_buf_add_f(out, "[%zu]", at->index);
    }
}

struct pl_slice pl_spot_text(struct pl_api_faults *f, const struct pl_spot *at)
{
    struct pl_buf text = PL_BUF_INIT;
    add_spot(&text, at);
    struct pl_slice out = pl_arena_copy(f->arena, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return out;
}

static bool is_map(const struct pl_tree *value)
{
    PL_TREE_FOR(item, value)
    if (!pl_tree_is(item->value, PL_STRING))
        return false;
    return pl_tree_is(value, PL_OBJECT) && value->count > 1;
}

/* Messages show maps, such as labels, by key. */
static const struct pl_tree *in_order(struct pl_arena *arena, const struct pl_tree *value)
{
    if (!is_map(value))
        return value;
    struct pl_tree *out = pl_tree_copy(arena, value);
    pl_tree_sort_members(out);
    return out;
}

struct pl_slice pl_shown(struct pl_api_faults *f, const struct pl_tree *value)
{
    struct pl_buf text = PL_BUF_INIT;
    if (value == NULL)
        pl_buf_add_z(&text, "null");
    else
        pl_tree_write(&text, in_order(f->arena, value));
    struct pl_slice out = pl_arena_copy(f->arena, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return out;
}

/* ---- faults ---- */

void pl_bad_required(struct pl_api_faults *f, const struct pl_spot *at, const char *why)
{
    pl_api_fault(f, "FieldValueRequired", pl_spot_text(f, at), "Required value%s%s",
                 *why != '\0' ? ": " : "", why);
}

void pl_bad_value(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                  const char *fmt, ...)
{
    char why[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    pl_api_fault(f, "FieldValueInvalid", pl_spot_text(f, at), "Invalid value: %.*s: %s",
                 PL_FMT(pl_shown(f, value)), why);
}

void pl_bad_forbidden(struct pl_api_faults *f, const struct pl_spot *at, const char *why)
{
    pl_api_fault(f, "FieldValueForbidden", pl_spot_text(f, at), "Forbidden%s%s",
                 *why != '\0' ? ": " : "", why);
}

void pl_bad_duplicate(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value)
{
    pl_api_fault(f, "FieldValueDuplicate", pl_spot_text(f, at), "Duplicate value: %.*s",
                 PL_FMT(pl_shown(f, value)));
}

void pl_bad_not_found(struct pl_api_faults *f, const struct pl_spot *at, struct pl_slice name)
{
    pl_api_fault(f, "FieldValueNotFound", pl_spot_text(f, at), "Not found: \"%.*s\"", PL_FMT(name));
}

void pl_bad_long(struct pl_api_faults *f, const struct pl_spot *at, const char *most)
{
    pl_api_fault(f, "FieldValueTooLong", pl_spot_text(f, at), "Too long: may not be more than %s",
                 most);
}

void pl_bad_unsupported(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *value, const char *allowed)
{
    struct pl_buf list = PL_BUF_INIT;
    for (const char *word = allowed; word != NULL;) {
        size_t len = strcspn(word, ",");
        pl_buf_add_f(&list, "%s\"%.*s\"", list.len > 0 ? ", " : "", (int)len, word);
        word = word[len] == ',' ? word + len + 1 : NULL;
    }
    struct pl_slice shown = value != NULL ? pl_shown(f, value) : pl_slice_z("\"\"");
    pl_api_fault(f, "FieldValueNotSupported", pl_spot_text(f, at),
                 "Unsupported value: %.*s: supported values: %s", PL_FMT(shown), pl_buf_z(&list));
    pl_buf_deinit(&list);
}

/* ---- simple questions ---- */

bool pl_is_empty(const struct pl_tree *value)
{
    switch (pl_tree_type(value)) {
    case PL_MISSING:
    case PL_NULL:
        return true;
    case PL_STRING:
        return value->text.len == 0;
    case PL_ARRAY:
    case PL_OBJECT:
        return value->count == 0;
    default:
        return false;
    }
}

bool pl_is_true(const struct pl_tree *value)
{
    return pl_tree_is(value, PL_BOOL) && value->boolean;
}

bool pl_is_false(const struct pl_tree *value)
{
    return pl_tree_is(value, PL_BOOL) && !value->boolean;
}

bool pl_is_c_identifier(struct pl_slice text)
{
    bool good = text.len > 0 && !pl_is_digit(text.ptr[0]);
    for (size_t i = 0; i < text.len; i++)
        good = good && (pl_is_alnum(text.ptr[i]) || text.ptr[i] == '_');
    return good;
}

const struct pl_tree *pl_named(const struct pl_tree *list, struct pl_slice name)
{
    PL_EACH(item, list)
    if (pl_slice_eq(pl_tree_text_at(item->value, "name"), name))
        return item->value;
    return NULL;
}

bool pl_is_among(struct pl_slice text, const char *list)
{
    for (const char *word = list; word != NULL;) {
        size_t len = strcspn(word, ",");
        if (pl_slice_eq(text, pl_slice(word, len)))
            return true;
        word = word[len] == ',' ? word + len + 1 : NULL;
    }
    return false;
}

static double check_quantity(const struct pl_tree *value)
{
    double out = 0;
    if (pl_tree_is(value, PL_STRING) || pl_tree_is(value, PL_NUMBER))
        pl_quantity_parse(value->text, &out);
    return out;
}

int pl_quantity_cmp(const struct pl_tree *a, const struct pl_tree *b)
{
    double left = check_quantity(a), right = check_quantity(b);
    return left < right ? -1 : left > right;
}

int pl_quantity_sign(const struct pl_tree *value)
{
    double is = check_quantity(value);
    return is < 0 ? -1 : is > 0;
}

/* ---- checks ---- */

#define UNUSED_ARG PL_UNUSED(arg)

void pl_need(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
             const char *arg)
{
    if (pl_is_empty(value))
        pl_bad_required(f, at, arg != NULL ? arg : "");
}

void pl_one_of(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
               const char *arg)
{
    if (!pl_is_empty(value) && !pl_is_among(pl_tree_text(value), arg))
        pl_bad_unsupported(f, at, value, arg);
}

void pl_must_be(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                const char *arg)
{
    if (!pl_is_among(pl_tree_text(value), arg))
        pl_bad_unsupported(f, at, value, arg);
}

void pl_if_set(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
               const char *arg)
{
    if (pl_tree_is(value, PL_STRING))
        pl_must_be(f, at, value, arg);
}

void pl_needs_one(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                  const char *arg)
{
    if (pl_is_empty(value))
        pl_bad_required(f, at, "");
    else
        pl_one_of(f, at, value, arg);
}

void pl_range(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
              const char *arg)
{
    int64_t is, low = strtoll(arg, NULL, 10), high = strtoll(strchr(arg, '-') + 1, NULL, 10);
    if (pl_tree_integer(value, &is) && (is < low || is > high))
        pl_bad_value(f, at, value, "must be between %" PRId64 " and %" PRId64 ", inclusive", low,
                     high);
}

void pl_natural(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                const char *arg)
{
    int64_t is;
    if (pl_tree_integer(value, &is) && is < 0)
        pl_bad_value(f, at, value, "%s", arg != NULL ? arg : "must be greater than or equal to 0");
}

void pl_above_zero(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                   const char *arg)
{
    int64_t is = 0;
    pl_tree_integer(value, &is);
    if (is <= 0)
        pl_bad_value(f, at, value != NULL ? value : pl_tree_int(f->arena, 0), "%s",
                     arg != NULL ? arg : "must be greater than zero");
}

void pl_exactly_one(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                    const char *arg)
{
    int64_t is;
    UNUSED_ARG;
    if (pl_tree_integer(value, &is) && is != 1)
        pl_bad_value(f, at, value, "must be 1");
}

void pl_natural_all(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                    const char *arg)
{
    UNUSED_ARG;
    PL_TREE_FOR(item, pl_tree_is(value, PL_OBJECT) ? value : NULL)
    if (pl_quantity_sign(item->value) < 0)
        pl_bad_value(f, PL_OF_KEY(at, item->key), item->value,
                     "must be greater than or equal to 0");
}

void pl_percent(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    if (!pl_tree_is(value, PL_STRING)) {
        pl_natural(f, at, value, arg);
        return;
    }
    bool good = text.len > 1 && text.ptr[text.len - 1] == '%';
    for (size_t i = 0; good && i + 1 < text.len; i++)
        good = pl_is_digit(text.ptr[i]);
    if (!good)
        pl_bad_value(f, at, value,
                     "a valid percent string must be a numeric string followed by an ending '%%' "
                     "(e.g. '1%%',  or '93%%', regex used for validation is '[0-9]+%%')");
}

void pl_not_above_100(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    PL_UNUSED(arg);
    if (text.len > 4 && text.ptr[text.len - 1] == '%')
        pl_bad_value(f, at, value, "must not be greater than 100%%");
    else if (text.len == 4 && text.ptr[3] == '%' &&
             pl_slice_cmp(pl_slice(text.ptr, 3), pl_slice_z("100")) > 0)
        pl_bad_value(f, at, value, "must not be greater than 100%%");
}

void pl_unique(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
               const char *arg)
{
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    if (arg != NULL && *arg == '\0')
        arg = NULL;
    PL_EACH(item, value)
    {
        const struct pl_tree *is = arg == NULL ? item->value : pl_tree_getz(item->value, arg);
        const struct pl_spot *spot = PL_INDEX(at, i);
        if (!pl_is_empty(is) && pl_comes_again(&seen, is, NULL))
            pl_bad_duplicate(f, arg == NULL ? spot : PL_MEMBER(spot, arg), is);
        i++;
    }
    pl_map_deinit(&seen);
}

bool pl_comes_again(struct pl_map *seen, const struct pl_tree *value, const struct pl_tree *other)
{
    struct pl_buf key = PL_BUF_INIT;
    if (value != NULL)
        pl_tree_write(&key, value);
    pl_buf_add_char(&key, ' ');
    if (other != NULL)
        pl_tree_write(&key, other);
    bool again = pl_map_put(seen, pl_buf_slice(&key), seen) != NULL;
    pl_buf_deinit(&key);
    return again;
}

int64_t pl_number_at(const struct pl_tree *object, const char *member)
{
    int64_t is = 0;
    pl_tree_integer(pl_tree_getz(object, member), &is);
    return is;
}

const struct pl_tree *pl_or_empty(struct pl_api_faults *f, const struct pl_tree *value)
{
    return value != NULL ? value : pl_tree_strz(f->arena, "");
}

bool pl_at_most(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *list,
                size_t most)
{
    if (!pl_tree_is(list, PL_ARRAY) || list->count <= most)
        return true;
    pl_api_fault(f, "FieldValueTooMany", pl_spot_text(f, at),
                 "Too many: %zu: must have at most %zu items", list->count, most);
    return false;
}

static bool has_changed(const struct pl_tree *value, const struct pl_tree *old)
{
    return pl_is_empty(value) ? !pl_is_empty(old) : !pl_tree_equal(value, old);
}

void pl_frozen(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
               const struct pl_tree *old)
{
    if (has_changed(value, old))
        pl_bad_value(f, at, value, "field is immutable");
}

void pl_bad_struct(struct pl_api_faults *f, const struct pl_spot *at, const char *type,
                   const struct pl_tree *value, const char *why)
{
    pl_api_fault(f, "FieldValueInvalid", pl_spot_text(f, at), "Invalid value: %.*s: %s",
                 PL_FMT(pl_go_struct(f->arena, type, value)), why);
}

void pl_frozen_struct(struct pl_api_faults *f, const struct pl_spot *at, const char *type,
                      const struct pl_tree *value, const struct pl_tree *old)
{
    if (has_changed(value, old))
        pl_bad_struct(f, at, type, value, "field is immutable");
}

void pl_frozen_unseen(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, const struct pl_tree *old)
{
    if (has_changed(value, old))
        pl_bad_value(f, at, NULL, "field is immutable");
}

/* ---- tables ---- */

static void check_hold(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *value, const char *path, const struct pl_rule *rule)
{
    char name[64];
    size_t len = strcspn(path, ".["), i = 0;
    if (*path == '\0') {
        rule->check(f, at, value, rule->arg);
        return;
    }
    if (*path == '[') {
        const char *rest = path + 2 + (path[2] == '.');
        PL_EACH(item, value)
        check_hold(f, PL_INDEX(at, i++), item->value, rest, rule);
        return;
    }
    if (*path == '*') {
        const char *rest = path + 1 + (path[1] == '.');
        PL_TREE_FOR(item, pl_tree_is(value, PL_OBJECT) ? value : NULL)
        check_hold(f, PL_OF_KEY(at, item->key), item->value, rest, rule);
        return;
    }
    snprintf(name, sizeof(name), "%.*s", (int)len, path);
    const struct pl_tree *member = pl_tree_getz(value, name);
    const char *rest = path + len + (path[len] == '.');
    if (member == NULL && *rest != '\0')
        return;
    check_hold(f, PL_MEMBER(at, name), member, rest, rule);
}

void pl_hold(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *object,
             const struct pl_rule *rules)
{
    for (; rules->path != NULL; rules++)
        check_hold(f, at, object, rules->path, rules);
}
