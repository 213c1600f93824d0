/* Values: made from documents and from each other, and read.
 *
 * A document's list is converted to an array once in each evaluation. So a loop over its elements
 * by index takes linear and not quadratic time. */
#include "cel/eval.h"

#include "base/base64.h"
#include "base/text.h"
#include "format/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

struct pl_cel pl_cel_bool(bool value)
{
    return (struct pl_cel){.kind = PL_CEL_BOOL, .b = value};
}

struct pl_cel pl_cel_int(int64_t value)
{
    return (struct pl_cel){.kind = PL_CEL_INT, .i = value};
}

struct pl_cel pl_cel_double(double value)
{
    return (struct pl_cel){.kind = PL_CEL_DOUBLE, .d = value};
}

struct pl_cel pl_cel_string(struct pl_slice text)
{
    return (struct pl_cel){.kind = PL_CEL_STRING, .s = text};
}

struct pl_cel pl_cel_null(void)
{
    return (struct pl_cel){.kind = PL_CEL_NULL};
}

struct pl_cel pl_cel_none(void)
{
    return (struct pl_cel){.kind = PL_CEL_OPTIONAL};
}

struct pl_cel pl_cel_some(struct pl_arena *arena, struct pl_cel value)
{
    struct pl_cel *copy = pl_arena_alloc(arena, sizeof *copy);
    *copy = value;
    return (struct pl_cel){.kind = PL_CEL_OPTIONAL, .value = copy};
}

struct pl_cel pl_cel_new_list(struct pl_arena *arena, size_t count, struct pl_cel **items)
{
    struct pl_cel_list *list = pl_arena_alloc(arena, sizeof *list);
    *items = pl_arena_alloc(arena, (count + 1) * sizeof **items);
    *list = (struct pl_cel_list){.count = count, .items = *items};
    return (struct pl_cel){.kind = PL_CEL_LIST, .list = list};
}

struct pl_cel pl_cel_new_map(struct pl_arena *arena, size_t count, struct pl_cel_entry **entries)
{
    struct pl_cel_map *map = pl_arena_alloc(arena, sizeof *map);
    *entries = pl_arena_alloc(arena, (count + 1) * sizeof **entries);
    *map = (struct pl_cel_map){.count = count, .entries = *entries};
    return (struct pl_cel){.kind = PL_CEL_MAP, .map = map};
}

struct pl_cel pl_cel_fail(struct pl_arena *arena, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return (struct pl_cel){.kind = PL_CEL_ERROR, .s = pl_arena_copy(arena, pl_slice_z(text))};
}

/* ---- from documents ---- */

static struct pl_cel value_number_of(struct pl_arena *arena, const struct pl_tree *tree,
                                     enum pl_cel_kind kind)
{
    int64_t whole;
    bool looks_whole = true;
    for (size_t i = 0; i < tree->text.len; i++)
        looks_whole &= strchr(".eE", tree->text.ptr[i]) == NULL;
    if ((kind == PL_CEL_INT || (kind == PL_CEL_DYN && looks_whole)) &&
        pl_tree_integer(tree, &whole))
        return pl_cel_int(whole);
    if (kind == PL_CEL_INT)
        return pl_cel_fail(arena, "expected int, not %.*s", PL_FMT(tree->text));
    struct pl_slice text = pl_arena_f(arena, "%.*s", PL_FMT(tree->text));
    return pl_cel_double(strtod(text.ptr, NULL));
}

#define ERA_SECONDS (INT64_C(146097) * 86400) /* seconds of 400 years */

/* Moves the year of the time by whole eras into the range of 64-bit nanoseconds. */
static struct pl_slice moved(struct pl_arena *arena, struct pl_slice text, int64_t *eras)
{
    int year = 0;
    *eras = 0;
    for (size_t i = 0; i < 4; i++) {
        if (i >= text.len || !pl_is_digit(text.ptr[i]))
            return text;
        year = year * 10 + text.ptr[i] - '0';
    }
    int near = 1800 + ((year - 1800) % 400 + 400) % 400;
    *eras = (year - near) / 400;
    return pl_arena_f(arena, "%04d%.*s%s", near, (int)text.len - 4, text.ptr + 4,
                      text.len == 10 ? "T00:00:00Z" : "");
}

static struct pl_cel value_time_of(struct pl_arena *arena, struct pl_slice text)
{
    int64_t ns, eras;
    if (!pl_time_parse(moved(arena, text, &eras), &ns))
        return pl_cel_fail(arena, "expected a time, not \"%.*s\"", PL_FMT(text));
    int64_t rest = ((ns % 1000000000) + 1000000000) % 1000000000;
    int64_t seconds = ns / 1000000000 - (ns % 1000000000 < 0) + eras * ERA_SECONDS;
    return (struct pl_cel){.kind = PL_CEL_TIMESTAMP,
                           .t = {.seconds = seconds, .ns = (int32_t)rest}};
}

static struct pl_cel value_text_of(struct pl_arena *arena, struct pl_slice text,
                                   enum pl_cel_kind kind)
{
    int64_t ns;
    if (kind == PL_CEL_TIMESTAMP)
        return value_time_of(arena, text);
    if (kind == PL_CEL_DURATION) {
        if (!pl_duration_parse(text, &ns))
            return pl_cel_fail(arena, "expected a duration, not \"%.*s\"", PL_FMT(text));
        return (struct pl_cel){.kind = kind,
                               .t = {.seconds = ns / 1000000000, .ns = (int32_t)(ns % 1000000000)}};
    }
    if (kind == PL_CEL_BYTES) {
        struct pl_buf out = PL_BUF_INIT;
        bool is_fine = pl_base64_decode(text, &out);
        struct pl_slice bytes = pl_arena_copy(arena, pl_buf_slice(&out));
        pl_buf_deinit(&out);
        return is_fine ? (struct pl_cel){.kind = kind, .s = bytes}
                       : pl_cel_fail(arena, "expected base64");
    }
    return pl_cel_string(text);
}

static bool is_type_of(enum pl_type json, enum pl_cel_kind kind)
{
    switch (json) {
    case PL_BOOL:
        return kind == PL_CEL_BOOL;
    case PL_NUMBER:
        return kind == PL_CEL_INT || kind == PL_CEL_DOUBLE;
    case PL_STRING:
        return kind == PL_CEL_STRING || kind == PL_CEL_BYTES || kind == PL_CEL_TIMESTAMP ||
               kind == PL_CEL_DURATION;
    case PL_ARRAY:
        return kind == PL_CEL_LIST;
    default:
        return kind == PL_CEL_MAP || kind == PL_CEL_OBJECT;
    }
}

struct pl_cel pl_cel_from_tree(struct pl_arena *arena, const struct pl_tree *tree,
                               const struct pl_cel_type *type)
{
    enum pl_cel_kind kind = type != NULL ? type->kind : PL_CEL_DYN;
    enum pl_type json = pl_tree_type(tree);
    if (json == PL_NULL || json == PL_MISSING)
        return pl_cel_null();
    if (kind != PL_CEL_DYN && !is_type_of(json, kind))
        return pl_cel_fail(arena, "expected %s, not a JSON %s", pl_cel_kind_name(kind),
                           pl_type_name(json));
    if (json == PL_BOOL)
        return pl_cel_bool(tree->boolean);
    if (json == PL_NUMBER)
        return value_number_of(arena, tree, kind);
    if (json == PL_STRING)
        return value_text_of(arena, tree->text, kind);
    return (struct pl_cel){.kind = json == PL_ARRAY        ? PL_CEL_LIST
                                   : kind == PL_CEL_OBJECT ? PL_CEL_OBJECT
                                                           : PL_CEL_MAP,
                           .is_tree = true,
                           .tree = tree,
                           .type = kind == PL_CEL_DYN && type != pl_cel_type_of_go() ? NULL : type};
}

/* ---- lists of documents ---- */

static struct pl_cel_cached *cache_slot(struct pl_cel_eval *eval, const struct pl_tree *tree)
{
    size_t mask = eval->cache_cap - 1;
    size_t i = ((uintptr_t)tree >> 4) & mask;
    while (eval->cache[i].tree != NULL && eval->cache[i].tree != tree)
        i = (i + 1) & mask;
    return &eval->cache[i];
}

static void grow_cache(struct pl_cel_eval *eval)
{
    struct pl_cel_cached *old = eval->cache;
    size_t old_cap = eval->cache_cap;
    eval->cache_cap = old_cap ? 2 * old_cap : 16;
    eval->cache = pl_arena_alloc(eval->arena, eval->cache_cap * sizeof *old);
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].tree != NULL)
            *cache_slot(eval, old[i].tree) = old[i];
}

const struct pl_cel_list *pl_cel_list_of(struct pl_cel_eval *eval, struct pl_cel list)
{
    if (!list.is_tree)
        return list.list;
    if (2 * (eval->cache_count + 1) > eval->cache_cap)
        grow_cache(eval);
    struct pl_cel_cached *cached = cache_slot(eval, list.tree);
    if (cached->tree != NULL)
        return cached->list;
    struct pl_cel *items;
    struct pl_cel made = pl_cel_new_list(eval->arena, list.tree->count, &items);
    size_t i = 0;
    PL_TREE_FOR(item, list.tree)
    items[i++] = pl_cel_from_tree(eval->arena, item->value, list.type ? list.type->elem : NULL);
    struct pl_cel_list *whole = pl_arena_alloc(eval->arena, sizeof *whole);
    *whole = *made.list;
    whole->type = list.type;
    *cached = (struct pl_cel_cached){list.tree, whole};
    eval->cache_count++;
    return whole;
}

/* ---- members ---- */

static const struct pl_cel_field *field_by_member(const struct pl_cel_type *type,
                                                  struct pl_slice member)
{
    for (size_t i = 0; type != NULL && i < type->field_count; i++)
        if (pl_slice_eq(type->fields[i].member, member))
            return &type->fields[i];
    return NULL;
}

const struct pl_cel_map *pl_cel_map_of(struct pl_cel_eval *eval, struct pl_cel map)
{
    if (!map.is_tree)
        return map.map;
    struct pl_cel_entry *entries;
    struct pl_cel made = pl_cel_new_map(eval->arena, map.tree->count, &entries);
    bool is_object = map.type != NULL && map.type->kind == PL_CEL_OBJECT;
    size_t count = 0;
    PL_TREE_FOR(item, map.tree)
    {
        const struct pl_cel_field *field = is_object ? field_by_member(map.type, item->key) : NULL;
        if (is_object && field == NULL)
            continue;
        const struct pl_cel_type *type = field != NULL ? field->type
                                         : map.type    ? map.type->elem
                                                       : NULL;
        entries[count++] =
            (struct pl_cel_entry){pl_cel_string(field != NULL ? field->name : item->key),
                                  pl_cel_from_tree(eval->arena, item->value, type)};
    }
    struct pl_cel_map *whole = pl_arena_alloc(eval->arena, sizeof *whole);
    *whole = (struct pl_cel_map){.count = count, .entries = made.map->entries};
    return whole;
}

bool pl_cel_map_get(struct pl_cel_eval *eval, struct pl_cel map, struct pl_cel key,
                    struct pl_cel *value)
{
    if (map.is_tree && key.kind == PL_CEL_STRING)
        return pl_cel_field(eval, map, key.s, value);
    if (map.is_tree)
        return false;
    for (size_t i = 0; i < map.map->count; i++)
        if (pl_cel_equal(eval, map.map->entries[i].key, key)) {
            *value = map.map->entries[i].value;
            return true;
        }
    return false;
}

bool pl_cel_field(struct pl_cel_eval *eval, struct pl_cel object, struct pl_slice name,
                  struct pl_cel *value)
{
    if (!object.is_tree)
        return pl_cel_map_get(eval, object, pl_cel_string(name), value);
    const struct pl_cel_type *type = object.type != NULL ? object.type->elem : NULL;
    if (object.type != NULL && object.type->kind == PL_CEL_OBJECT) {
        const struct pl_cel_field *field = pl_cel_type_field(object.type, name);
        if (field == NULL)
            return false;
        name = field->member;
        type = field->type;
    }
    const struct pl_tree *member = pl_tree_get(object.tree, name);
    if (member == NULL)
        return false;
    *value = pl_cel_from_tree(eval->arena, member, type);
    return true;
}

size_t pl_cel_characters(struct pl_slice text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return count;
}

size_t pl_cel_size(struct pl_cel value)
{
    switch (value.kind) {
    case PL_CEL_STRING:
        return pl_cel_characters(value.s);
    case PL_CEL_BYTES:
        return value.s.len;
    case PL_CEL_LIST:
        return value.is_tree ? value.tree->count : value.list->count;
    case PL_CEL_MAP:
    case PL_CEL_OBJECT:
        return value.is_tree ? value.tree->count : value.map->count;
    case PL_CEL_OPTIONAL:
        return value.value != NULL ? pl_cel_size(*value.value) : 1;
    default:
        return 1;
    }
}

struct pl_cel pl_cel_type_value(struct pl_cel value)
{
    static const struct pl_cel_type lists = {.kind = PL_CEL_LIST}, maps = {.kind = PL_CEL_MAP},
                                    objects = {.kind = PL_CEL_OBJECT},
                                    optionals = {.kind = PL_CEL_OPTIONAL};
    const struct pl_cel_type *of = value.kind == PL_CEL_LIST       ? &lists
                                   : value.kind == PL_CEL_MAP      ? &maps
                                   : value.kind == PL_CEL_OBJECT   ? &objects
                                   : value.kind == PL_CEL_OPTIONAL ? &optionals
                                                                   : pl_cel_type_of(value.kind);
    return (struct pl_cel){.kind = PL_CEL_TYPE, .of = of};
}
