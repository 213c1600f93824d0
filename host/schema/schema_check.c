/* Validation of custom objects against their structural schema. All faults are collected, with
 * kube-apiserver's messages. A pattern that is not valid RE2 (format/regex.h) is not checked. The
 * depth is that of the schema, which comes from a CRD and is limited like any document. */
#include "schema/formats.h"
#include "schema/list_keys.h"
#include "schema/structural.h"

#include "base/map.h"
#include "cel/value.h"
#include "value/write.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Messages were checked against kube-apiserver 1.37. */

struct check {
    struct pl_api_faults *faults;
    struct pl_node schema;
    const struct pl_tree *old; /* the same part of the old object; NULL: none can be matched */
    struct pl_slice path;
    size_t *visits; /* parts that were looked at; may be NULL */
    struct pl_regex_cache *patterns;
};

static void check_value(const struct check *c, const struct pl_tree *value);

static struct pl_arena *arena_of(const struct check *c)
{
    return c->faults->arena;
}

/* The value as JSON, for "Invalid value: ...". */
static struct pl_slice schema_check_shown(const struct check *c, const struct pl_tree *value)
{
    struct pl_buf buf = PL_BUF_INIT;
    pl_tree_write(&buf, value);
    struct pl_slice text = pl_arena_copy(arena_of(c), pl_buf_slice(&buf));
    pl_buf_deinit(&buf);
    return text;
}

static struct pl_slice shown_node(const struct check *c, struct pl_node node)
{
    struct pl_buf buf = PL_BUF_INIT;
    pl_write(&buf, node, PL_WRITE_COMPACT);
    struct pl_slice text = pl_arena_copy(arena_of(c), pl_buf_slice(&buf));
    pl_buf_deinit(&buf);
    return text;
}

static void schema_check_invalid(const struct check *c, struct pl_slice value, const char *what)
{
    pl_api_fault(c->faults, "FieldValueInvalid", c->path, "Invalid value: %.*s: %.*s in body %s",
                 PL_FMT(value), PL_FMT(c->path), what);
}

static void keep_faults(const struct check *c, const struct pl_api_faults *found)
{
    if (c->faults->causes == NULL) {
        c->faults->causes = found->causes;
        return;
    }
    PL_TREE_FOR(item, found->causes)
    pl_tree_push(arena_of(c), c->faults->causes, item->value);
}

static double schema_check_number_of(const struct pl_tree *value)
{
    char text[80];
    snprintf(text, sizeof(text), "%.*s", PL_FMT(value->text));
    return strtod(text, NULL);
}

/* ---- types ---- */

#define SAFE_INTEGER 9007199254740991.0 /* a larger number with a fraction part is no integer */

/* A number without a point or an exponent that fits in 64 bits. */
static bool is_plain_integer(const struct pl_tree *value)
{
    int64_t integer;
    for (size_t i = 0; i < value->text.len; i++)
        if (strchr(".eE", value->text.ptr[i]) != NULL)
            return false;
    return pl_tree_integer(value, &integer);
}

static const char *schema_check_type_of(const struct pl_tree *value)
{
    double number;
    switch (pl_tree_type(value)) {
    case PL_NUMBER:
        number = schema_check_number_of(value);
        return is_plain_integer(value) || (fabs(number) <= SAFE_INTEGER && number == trunc(number))
                   ? "integer"
                   : "number";
    case PL_BOOL:
        return "boolean";
    case PL_STRING:
        return "string";
    case PL_ARRAY:
        return "array";
    case PL_OBJECT:
        return "object";
    default:
        return "null";
    }
}

static bool schema_check_type(const struct check *c, const struct pl_tree *value)
{
    struct pl_scratch scratch;
    const char *is = schema_check_type_of(value);
    struct pl_slice want = pl_node_str(pl_node_getz(c->schema, "type"), &scratch);
    if (value->type == PL_NULL && pl_node_bool(pl_node_getz(c->schema, "nullable")))
        return true;
    if (pl_node_bool(pl_node_getz(c->schema, "x-kubernetes-int-or-string"))) {
        want = pl_slice_z("integer,string");
        if (strcmp(is, "integer") == 0 || strcmp(is, "string") == 0)
            return true;
    }
    if (want.len == 0 || pl_slice_eqz(want, is) ||
        (pl_slice_eqz(want, "number") && strcmp(is, "integer") == 0))
        return true;
    pl_api_fault(c->faults, "FieldValueTypeInvalid", c->path,
                 "Invalid value: \"%s\": %.*s in body must be of type %.*s: \"%s\"", is,
                 PL_FMT(c->path), PL_FMT(want), is);
    if (value->type == PL_NUMBER && pl_slice_eqz(want, "integer"))
        pl_api_fault(c->faults, "FieldValueInvalid", pl_slice_z("<nil>"),
                     "Invalid value: \"\": Checked value must be of type integer (default format) "
                     "in %.*s",
                     PL_FMT(c->path));
    return false;
}

static void check_enum(const struct check *c, const struct pl_tree *value)
{
    struct pl_node list = pl_node_getz(c->schema, "enum");
    struct pl_buf known = PL_BUF_INIT;
    struct pl_iter it = pl_iter(list);
    bool found = pl_node_is_missing(list);
    while (!found && pl_iter_next(&it)) {
        found = value->type != PL_NULL && /* null is in no list, as in kube-apiserver */
                pl_tree_equal(pl_tree_from_node(arena_of(c), it.value), value);
        bool quoted = pl_node_type(it.value) == PL_STRING;
        pl_buf_add_f(&known, "%s%s", known.len > 0 ? ", " : "", quoted ? "" : "\"");
        pl_write(&known, it.value, PL_WRITE_COMPACT);
        pl_buf_add_z(&known, quoted ? "" : "\"");
    }
    if (!found)
        pl_api_fault(c->faults, "FieldValueNotSupported", c->path,
                     "Unsupported value: %.*s: supported values: %s",
                     PL_FMT(schema_check_shown(c, value)), pl_buf_z(&known));
    pl_buf_deinit(&known);
}

/* ---- numbers ---- */

static void check_bound(const struct check *c, const struct pl_tree *value, bool is_min)
{
    struct pl_node bound = pl_node_getz(c->schema, is_min ? "minimum" : "maximum");
    if (pl_node_type(bound) != PL_NUMBER)
        return;
    bool open =
        pl_node_bool(pl_node_getz(c->schema, is_min ? "exclusiveMinimum" : "exclusiveMaximum"));
    double x = schema_check_number_of(value), limit = pl_node_double(bound);
    bool cut = is_plain_integer(value) && limit != trunc(limit); /* as Go's conversion does */
    if (cut)
        limit = trunc(limit);
    bool good = is_min ? (open ? x > limit : x >= limit) : (open ? x < limit : x <= limit);
    if (good)
        return;
    struct pl_slice shown = cut ? pl_arena_f(arena_of(c), "%.0f", limit) : shown_node(c, bound);
    struct pl_slice text =
        pl_arena_f(arena_of(c), "should be %s than %s%.*s", is_min ? "greater" : "less",
                   open ? "" : "or equal to ", PL_FMT(shown));
    schema_check_invalid(c, schema_check_shown(c, value), text.ptr);
}

static void check_number(const struct check *c, const struct pl_tree *value)
{
    int64_t integer;
    check_bound(c, value, true);
    check_bound(c, value, false);
    struct pl_node multiple = pl_node_getz(c->schema, "multipleOf");
    if (pl_node_type(multiple) == PL_NUMBER && pl_node_double(multiple) > 0) {
        double ratio = schema_check_number_of(value) / pl_node_double(multiple);
        if (fabs(ratio - round(ratio)) > 1e-9)
            schema_check_invalid(c, schema_check_shown(c, value),
                                 pl_arena_f(arena_of(c), "should be a multiple of %.*s",
                                            PL_FMT(shown_node(c, multiple)))
                                     .ptr);
    }
    if (pl_node_str_eq(pl_node_getz(c->schema, "format"), pl_slice_z("int32")) &&
        (!pl_tree_integer(value, &integer) || integer > INT32_MAX || integer < INT32_MIN))
        pl_api_fault(c->faults, "FieldValueInvalid", pl_slice_z("<nil>"),
                     "Invalid value: \"\": Checked value must be of type integer with format int32 "
                     "in %.*s",
                     PL_FMT(c->path));
}

/* ---- strings ---- */

/* An invalid expression, which kube-apiserver refuses in the CRD, counts as matching. A search that
 * hit its limit has found nothing. */
static bool matches(const struct check *c, struct pl_slice pattern, struct pl_slice text)
{
    const struct pl_regex *regex = pl_regex_cache_get(c->patterns, pattern, NULL);
    return regex == NULL || pl_regex_cache_test(c->patterns, regex, text, NULL) == 1;
}

static void check_string(const struct check *c, const struct pl_tree *value)
{
    struct pl_scratch scratch;
    int64_t limit;
    size_t length = pl_cel_characters(value->text);
    struct pl_slice pattern = pl_node_str(pl_node_getz(c->schema, "pattern"), &scratch);
    if (pl_node_int(pl_node_getz(c->schema, "maxLength"), &limit) && (int64_t)length > limit)
        pl_api_fault(c->faults, "FieldValueTooLong", c->path,
                     "Too long: may not be more than %" PRId64 " bytes", limit);
    else if (pl_node_int(pl_node_getz(c->schema, "minLength"), &limit) && (int64_t)length < limit)
        schema_check_invalid(
            c, schema_check_shown(c, value),
            pl_arena_f(arena_of(c), "should be at least %" PRId64 " chars long", limit).ptr);
    else if (pattern.len > 0 && !matches(c, pattern, value->text))
        schema_check_invalid(c, schema_check_shown(c, value),
                             pl_arena_f(arena_of(c), "should match '%.*s'", PL_FMT(pattern)).ptr);
    struct pl_slice format = pl_node_str(pl_node_getz(c->schema, "format"), &scratch);
    if (!pl_api_format_fits(format, value->text, c->patterns))
        pl_api_fault(c->faults, "FieldValueTypeInvalid", c->path,
                     "Invalid value: %.*s: %.*s in body must be of type %.*s: %.*s",
                     PL_FMT(schema_check_shown(c, value)), PL_FMT(c->path), PL_FMT(format),
                     PL_FMT(schema_check_shown(c, value)));
}

/* ---- arrays and objects ---- */

static void check_too_many(const struct check *c, const char *keyword, size_t count)
{
    int64_t limit;
    if (pl_node_int(pl_node_getz(c->schema, keyword), &limit) && (int64_t)count > limit)
        pl_api_fault(c->faults, "FieldValueTooMany", c->path,
                     "Too many: %zu: must have at most %" PRId64 " item%s", count, limit,
                     limit == 1 ? "" : "s");
}

/* Elements of a map list are matched by their keys, and only once one of them has a fault. */
static void check_element(const struct check *c, const struct pl_tree *element,
                          struct pl_node items, struct pl_slice path, struct pl_map *old)
{
    struct pl_api_faults found = {.arena = arena_of(c)};
    check_value(&(struct check){&found, items, NULL, path, c->visits, c->patterns}, element);
    if (found.causes == NULL)
        return;
    if (c->old != NULL && pl_api_is_map_list(c->schema)) {
        if (old->count == 0)
            pl_api_list_index(arena_of(c), c->schema, c->old, old);
        struct pl_slice key = pl_api_list_key(arena_of(c), c->schema, element);
        const struct pl_tree *was = pl_map_get(old, key);
        found.causes = NULL;
        check_value(&(struct check){&found, items, was, path, c->visits, c->patterns}, element);
    }
    keep_faults(c, &found);
}

static void check_array(const struct check *c, const struct pl_tree *value)
{
    struct pl_node items = pl_node_getz(c->schema, "items");
    struct pl_map old = PL_MAP_INIT;
    int64_t limit;
    size_t i = 0;
    if (!pl_node_is_missing(items))
        PL_TREE_FOR(item, value)
        {
            struct pl_slice path = pl_arena_f(arena_of(c), "%.*s[%zu]", PL_FMT(c->path), i++);
            check_element(c, item->value, items, path, &old);
        }
    pl_map_deinit(&old);
    if (pl_node_int(pl_node_getz(c->schema, "minItems"), &limit) && (int64_t)value->count < limit)
        schema_check_invalid(
            c, pl_arena_f(arena_of(c), "%zu", value->count),
            pl_arena_f(arena_of(c), "should have at least %" PRId64 " items", limit).ptr);
    check_too_many(c, "maxItems", value->count);
}

static struct pl_slice member_path(const struct check *c, struct pl_slice key)
{
    return pl_arena_path(arena_of(c), c->path, key);
}

static void schema_check_object(const struct check *c, const struct pl_tree *value)
{
    struct pl_node properties = pl_node_getz(c->schema, "properties");
    struct pl_node additional = pl_node_getz(c->schema, "additionalProperties");
    struct pl_scratch scratch;
    int64_t limit;
    struct pl_iter it = pl_iter(pl_node_getz(c->schema, "required"));
    while (pl_iter_next(&it)) {
        struct pl_slice name = pl_node_str(it.value, &scratch);
        if (pl_tree_get(value, name) == NULL)
            pl_api_fault(c->faults, "FieldValueRequired", member_path(c, name), "Required value");
    }
    PL_TREE_FOR(item, value)
    {
        struct pl_node inner = pl_node_get(properties, item->key);
        if (pl_node_is_missing(inner) && pl_node_type(additional) == PL_OBJECT)
            inner = additional;
        if (!pl_node_is_missing(inner))
            check_value(&(struct check){c->faults, inner, pl_tree_get(c->old, item->key),
                                        member_path(c, item->key), c->visits, c->patterns},
                        item->value);
    }
    if (pl_node_int(pl_node_getz(c->schema, "minProperties"), &limit) &&
        (int64_t)value->count < limit)
        schema_check_invalid(
            c, pl_arena_f(arena_of(c), "%zu", value->count),
            pl_arena_f(arena_of(c), "should have at least %" PRId64 " properties", limit).ptr);
    check_too_many(c, "maxProperties", value->count);
}

/* ---- combinations ---- */

static void check_part(const struct check *c, const struct pl_tree *value);

static void fail_combination(const struct check *c, const char *what)
{
    pl_api_fault(c->faults, "FieldValueInvalid", pl_slice_z("<nil>"),
                 "Invalid value: \"\": \"%.*s\" must %s", PL_FMT(c->path), what);
}

/* The number of schemas that fit. worst: the faults of the schema that looked at the most parts,
 * which kube-apiserver reports with the combination's own. */
static size_t count_valid(const struct check *c, const struct pl_tree *value, struct pl_node list,
                          struct pl_api_faults *worst)
{
    size_t count = 0, most = 0;
    struct pl_iter it = pl_iter(list);
    while (pl_iter_next(&it)) {
        struct pl_api_faults inner = {.arena = arena_of(c)};
        size_t visits = 0;
        check_part(&(struct check){&inner, it.value, c->old, c->path, &visits, c->patterns}, value);
        count += inner.causes == NULL;
        if (inner.causes != NULL && visits > most) {
            most = visits;
            *worst = inner;
        }
    }
    return count;
}

static void check_all(const struct check *c, const struct pl_tree *value, struct pl_node list)
{
    size_t good = 0, count = 0;
    struct pl_iter it = pl_iter(list);
    while (pl_iter_next(&it)) {
        struct pl_api_faults inner = {.arena = arena_of(c)};
        check_part(&(struct check){&inner, it.value, c->old, c->path, c->visits, c->patterns},
                   value);
        good += inner.causes == NULL;
        keep_faults(c, &inner);
        count++;
    }
    if (good < count)
        fail_combination(c, good > 0 ? "validate all the schemas (allOf)"
                                     : "validate all the schemas (allOf). None validated");
}

static void check_combinations(const struct check *c, const struct pl_tree *value)
{
    struct pl_node any = pl_node_getz(c->schema, "anyOf"), one = pl_node_getz(c->schema, "oneOf"),
                   no = pl_node_getz(c->schema, "not");
    struct pl_api_faults worst = {.arena = arena_of(c)};
    if (pl_node_len(any) > 0 && count_valid(c, value, any, &worst) == 0) {
        fail_combination(c, "validate at least one schema (anyOf)");
        keep_faults(c, &worst);
    }
    worst.causes = NULL;
    size_t fit = pl_node_len(one) > 0 ? count_valid(c, value, one, &worst) : 1;
    if (fit == 0) {
        fail_combination(c, "validate one and only one schema (oneOf). Found none valid");
        keep_faults(c, &worst);
    } else if (fit > 1) {
        fail_combination(c, pl_arena_f(arena_of(c),
                                       "validate one and only one schema (oneOf). Found %zu valid "
                                       "alternatives",
                                       fit)
                                .ptr);
    }
    check_all(c, value, pl_node_getz(c->schema, "allOf"));
    worst.causes = NULL;
    if (pl_node_type(no) == PL_OBJECT) {
        check_part(&(struct check){&worst, no, c->old, c->path, NULL, c->patterns}, value);
        if (worst.causes == NULL)
            fail_combination(c, "not validate the schema (not)");
    }
}

static void check_part(const struct check *c, const struct pl_tree *value)
{
    if (c->visits != NULL)
        ++*c->visits;
    if (pl_node_type(c->schema) != PL_OBJECT || !schema_check_type(c, value))
        return;
    if (value->type != PL_NULL)
        check_combinations(c, value);
    if (value->type == PL_NUMBER)
        check_number(c, value);
    else if (value->type == PL_STRING)
        check_string(c, value);
    else if (value->type == PL_ARRAY)
        check_array(c, value);
    check_enum(c, value);
    if (value->type == PL_OBJECT)
        schema_check_object(c, value);
}

/* A part that has not changed may stay as it is, even if it is no longer valid. */
static void check_value(const struct check *c, const struct pl_tree *value)
{
    struct pl_api_faults found = {.arena = arena_of(c)};
    check_part(&(struct check){&found, c->schema, c->old, c->path, c->visits, c->patterns}, value);
    if (found.causes == NULL ||
        (c->old != NULL && pl_api_is_same_part(arena_of(c), c->schema, value, c->old)))
        return;
    keep_faults(c, &found);
}

void pl_api_structural_validate(struct pl_api_faults *faults, const struct pl_tree *value,
                                const struct pl_tree *old, struct pl_node schema,
                                struct pl_slice path, struct pl_regex_cache *patterns)
{
    check_value(&(struct check){faults, schema, old, path, NULL, patterns}, value);
}
