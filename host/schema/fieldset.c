/* Sets of fields as trees: union, intersection, difference, the fields of an object, and the
 * differences of two objects. A missing set is empty, and operations never change their arguments.
 * The schema says which lists have elements as fields, and by which keys; without a schema a list
 * is one field. */
#include "schema/fieldset.h"

#include "base/map.h"
#include "base/text.h"
#include "value/scan.h"

#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

bool pl_api_fields_is_member(const struct pl_tree *node)
{
    return node != NULL && (node->count == 0 || pl_tree_getz(node, ".") != NULL);
}

static bool is_dot(struct pl_slice key)
{
    return pl_slice_eqz(key, ".");
}

/* A node from "belongs to the set" and the fields below; NULL if both are empty. */
static struct pl_tree *node_of(struct pl_arena *arena, bool member, struct pl_tree *below)
{
    if (below == NULL || below->count == 0)
        return member ? pl_tree_object(arena) : NULL;
    if (member)
        pl_tree_setz(arena, below, ".", pl_tree_object(arena));
    return below;
}

static void fieldset_put(struct pl_arena *arena, struct pl_tree **set, struct pl_slice key,
                         struct pl_tree *node)
{
    if (node == NULL)
        return;
    if (*set == NULL)
        *set = pl_tree_object(arena);
    pl_tree_set(arena, *set, key, node);
}

bool pl_api_fields_empty(const struct pl_tree *set)
{
    return set == NULL || set->count == 0;
}

bool pl_api_fields_equal(const struct pl_tree *a, const struct pl_tree *b)
{
    if (pl_api_fields_empty(a) || pl_api_fields_empty(b))
        return pl_api_fields_empty(a) && pl_api_fields_empty(b);
    return pl_tree_equal(a, b);
}

/* ---- operations ---- */

enum operation { UNION, INTERSECTION, DIFFERENCE };

static bool combine_members(enum operation op, bool a, bool b)
{
    switch (op) {
    case UNION:
        return a || b;
    case INTERSECTION:
        return a && b;
    default:
        return a && !b;
    }
}

/* Members below. The caller handles ".". */
static struct pl_tree *combine(struct pl_arena *arena, enum operation op, const struct pl_tree *a,
                               const struct pl_tree *b)
{
    struct pl_tree *out = NULL;
    PL_TREE_FOR(item, a)
    {
        const struct pl_tree *other = pl_tree_get(b, item->key);
        bool mine = pl_api_fields_is_member(item->value), theirs = pl_api_fields_is_member(other);
        if (is_dot(item->key))
            continue;
        fieldset_put(arena, &out, item->key,
                     node_of(arena, combine_members(op, mine, theirs),
                             combine(arena, op, item->value, other)));
    }
    if (op != UNION)
        return out;
    PL_TREE_FOR(item, b)
    if (!is_dot(item->key) && pl_tree_get(a, item->key) == NULL)
        fieldset_put(arena, &out, item->key, pl_tree_copy(arena, item->value));
    return out;
}

struct pl_tree *pl_api_fields_union(struct pl_arena *arena, const struct pl_tree *a,
                                    const struct pl_tree *b)
{
    return combine(arena, UNION, a, b);
}

struct pl_tree *pl_api_fields_intersection(struct pl_arena *arena, const struct pl_tree *a,
                                           const struct pl_tree *b)
{
    return combine(arena, INTERSECTION, a, b);
}

struct pl_tree *pl_api_fields_difference(struct pl_arena *arena, const struct pl_tree *a,
                                         const struct pl_tree *b)
{
    return combine(arena, DIFFERENCE, a, b);
}

/* ---- elements of lists ---- */

static struct pl_slice written(struct pl_arena *arena, const char *prefix,
                               const struct pl_tree *value)
{
    struct pl_buf buf = PL_BUF_INIT;
    pl_buf_add_z(&buf, prefix);
    pl_tree_write(&buf, value);
    struct pl_slice text = pl_arena_copy(arena, pl_buf_slice(&buf));
    pl_buf_deinit(&buf);
    return text;
}

#define MAX_KEYS 16

struct pl_slice pl_api_fields_element(struct pl_arena *arena, const struct pl_tree *element,
                                      const struct pl_schema *list)
{
    if (pl_schema_list_type(list) == PL_LIST_SET)
        return written(arena, "v:", element);
    const char *keys[MAX_KEYS] = {NULL};
    size_t count = 0;
    bool any = false;
    while (count < MAX_KEYS && (keys[count] = pl_schema_list_key(list, count)) != NULL)
        count++;
    qsort(keys, count, sizeof(*keys), pl_text_order);
    struct pl_tree *id = pl_tree_object(arena);
    for (size_t i = 0; i < count; i++) {
        struct pl_tree *value = pl_tree_getz(element, keys[i]);
        const struct pl_schema *field = pl_schema_field(pl_schema_items(list), pl_slice_z(keys[i]));
        if (value == NULL && pl_schema_default(field) != NULL)
            value = pl_tree_literal(arena, pl_schema_default(field));
        any = any || value != NULL;
        if (value != NULL)
            pl_tree_setz(arena, id, keys[i], value);
    }
    return any ? written(arena, "k:", id) : pl_slice(NULL, 0);
}

bool pl_api_fields_is_granular(struct pl_arena *arena, const struct pl_tree *list,
                               const struct pl_schema *schema)
{
    if (pl_schema_list_type(schema) == PL_LIST_ATOMIC)
        return false;
    PL_TREE_FOR(item, list)
    if (pl_api_fields_element(arena, item->value, schema).len == 0)
        return false;
    return true;
}

/* ---- the fields of an object ---- */

static struct pl_slice field_key(struct pl_arena *arena, struct pl_slice name)
{
    return pl_arena_join(arena, pl_slice_z("f:"), "", name);
}

static bool is_empty_map(const struct pl_tree *value)
{
    return value->type == PL_NULL || (value->type == PL_OBJECT && value->count == 0);
}

/* The fields below the value. *whole is set if the value itself is a leaf of the set. */
static struct pl_tree *state(struct pl_arena *arena, const struct pl_tree *value,
                             const struct pl_schema *schema, bool *whole)
{
    struct pl_tree *out = NULL;
    bool leaf;
    *whole = false;
    if (value->type == PL_OBJECT && !pl_schema_is_atomic(schema)) {
        PL_TREE_FOR(item, value)
        {
            struct pl_tree *below =
                state(arena, item->value, pl_schema_field(schema, item->key), &leaf);
            fieldset_put(arena, &out, field_key(arena, item->key),
                         node_of(arena, leaf || is_empty_map(item->value), below));
        }
    } else if (value->type == PL_ARRAY && pl_api_fields_is_granular(arena, value, schema)) {
        PL_TREE_FOR(item, value)
        {
            struct pl_slice key = pl_api_fields_element(arena, item->value, schema);
            struct pl_tree *below = state(arena, item->value, pl_schema_items(schema), &leaf);
            if (pl_tree_get(out, key) != NULL) /* a duplicate element has no fields of its own */
                below = NULL;
            fieldset_put(arena, &out, key, node_of(arena, true, below));
        }
    } else {
        *whole = true;
    }
    return out;
}

struct pl_tree *pl_api_fields_of(struct pl_arena *arena, const struct pl_tree *object,
                                 const struct pl_schema *schema)
{
    bool whole;
    struct pl_tree *set = state(arena, object, schema, &whole);
    pl_tree_sort(set);
    return set;
}

/* ---- comparing ---- */

/* The differences below one field and of the field itself. */
struct diff {
    struct pl_tree *added, *modified, *removed;
    bool is_added, is_modified, is_removed;
};

static struct diff fieldset_compare(struct pl_arena *arena, const struct pl_tree *a,
                                    const struct pl_tree *b, const struct pl_schema *schema);

static void fieldset_take(struct pl_arena *arena, struct diff *out, struct pl_slice key,
                          struct diff inner)
{
    fieldset_put(arena, &out->added, key, node_of(arena, inner.is_added, inner.added));
    fieldset_put(arena, &out->modified, key, node_of(arena, inner.is_modified, inner.modified));
    fieldset_put(arena, &out->removed, key, node_of(arena, inner.is_removed, inner.removed));
}

static void compare_maps(struct pl_arena *arena, const struct pl_tree *a, const struct pl_tree *b,
                         const struct pl_schema *schema, struct diff *out)
{
    PL_TREE_FOR(item, a)
    fieldset_take(arena, out, field_key(arena, item->key),
                  fieldset_compare(arena, item->value, pl_tree_get(b, item->key),
                                   pl_schema_field(schema, item->key)));
    PL_TREE_FOR(item, b)
    if (pl_tree_get(a, item->key) == NULL)
        fieldset_take(
            arena, out, field_key(arena, item->key),
            fieldset_compare(arena, NULL, item->value, pl_schema_field(schema, item->key)));
}

/* Element -> its key, for lists that are too long for linear search. */
struct pl_map pl_api_fields_index(struct pl_arena *arena, const struct pl_tree *list,
                                  const struct pl_schema *schema)
{
    struct pl_map map = PL_MAP_INIT;
    PL_TREE_FOR(item, list)
    pl_map_put(&map, pl_api_fields_element(arena, item->value, schema), item->value);
    return map;
}

static void compare_lists(struct pl_arena *arena, const struct pl_tree *a, const struct pl_tree *b,
                          const struct pl_schema *schema, struct diff *out)
{
    struct pl_map in_a = pl_api_fields_index(arena, a, schema),
                  in_b = pl_api_fields_index(arena, b, schema);
    PL_TREE_FOR(item, a)
    {
        struct pl_slice key = pl_api_fields_element(arena, item->value, schema);
        if (pl_map_get(&in_a, key) != item->value)
            continue; /* a duplicate of an earlier element */
        fieldset_take(
            arena, out, key,
            fieldset_compare(arena, item->value, pl_map_get(&in_b, key), pl_schema_items(schema)));
    }
    PL_TREE_FOR(item, b)
    {
        struct pl_slice key = pl_api_fields_element(arena, item->value, schema);
        struct diff whole = {.is_added = true}; /* a duplicate element has no fields of its own */
        if (!pl_map_has(&in_a, key))
            fieldset_take(
                arena, out, key,
                pl_tree_get(out->added, key) != NULL
                    ? whole
                    : fieldset_compare(arena, NULL, item->value, pl_schema_items(schema)));
    }
    pl_map_deinit(&in_a);
    pl_map_deinit(&in_b);
}

static bool is_nothing(const struct pl_tree *value)
{
    return value == NULL || value->type == PL_NULL ||
           (value->count == 0 && (value->type == PL_OBJECT || value->type == PL_ARRAY));
}

/* True if each of them has that type or is absent, and at least one is present. */
static bool are(const struct pl_tree *a, const struct pl_tree *b, enum pl_type type)
{
    return (is_nothing(a) || pl_tree_is(a, type)) && (is_nothing(b) || pl_tree_is(b, type)) &&
           !(is_nothing(a) && is_nothing(b));
}

static struct diff fieldset_compare(struct pl_arena *arena, const struct pl_tree *a,
                                    const struct pl_tree *b, const struct pl_schema *schema)
{
    struct diff out = {.is_added = a == NULL, .is_removed = b == NULL};
    if (are(a, b, PL_OBJECT) && !pl_schema_is_atomic(schema))
        compare_maps(arena, a, b, schema, &out);
    else if (are(a, b, PL_ARRAY) && pl_api_fields_is_granular(arena, a, schema) &&
             pl_api_fields_is_granular(arena, b, schema))
        compare_lists(arena, a, b, schema, &out);
    else
        out.is_modified = a != NULL && b != NULL && !pl_tree_equal(a, b);
    return out;
}

bool pl_api_fields_compare(struct pl_arena *arena, const struct pl_tree *before,
                           const struct pl_tree *after, const struct pl_schema *schema,
                           struct pl_api_difference *out)
{
    struct diff diff = {0};
    compare_maps(arena, before, after, schema, &diff);
    *out = (struct pl_api_difference){diff.added, diff.modified, diff.removed};
    pl_tree_sort(diff.added);
    pl_tree_sort(diff.modified);
    pl_tree_sort(diff.removed);
    return diff.added != NULL || diff.modified != NULL || diff.removed != NULL;
}

/* ---- paths ---- */

/* "f:name" -> ".name", "k:{"name":"a"}" -> "[name="a"]", "v:1" -> "[=1]" */
static struct pl_slice path_step(struct pl_arena *arena, struct pl_slice path, struct pl_slice key)
{
    struct pl_slice rest = pl_slice(key.ptr + 2, key.len - 2);
    if (key.ptr[0] == 'f')
        return pl_arena_join(arena, path, ".", rest);
    if (key.ptr[0] == 'v')
        return pl_arena_f(arena, "%.*s[=%.*s]", PL_FMT(path), PL_FMT(rest));
    struct pl_buf buf = PL_BUF_INIT;
    struct pl_doc *doc = pl_scan_text(rest, NULL, NULL);
    const struct pl_tree *id = pl_tree_from_node(arena, pl_doc_root(doc));
    PL_TREE_FOR(item, id)
    {
        pl_buf_add_f(&buf, "%s%.*s=", buf.len > 0 ? "," : "", PL_FMT(item->key));
        pl_tree_write(&buf, item->value);
    }
    struct pl_slice out = pl_arena_f(arena, "%.*s[%s]", PL_FMT(path), pl_buf_z(&buf));
    pl_doc_unref(doc);
    pl_buf_deinit(&buf);
    return out;
}

static void visit_below(struct pl_arena *arena, const struct pl_tree *set, struct pl_slice path,
                        void (*visit)(void *arg, struct pl_slice path), void *arg)
{
    PL_TREE_FOR(item, set)
    if (!is_dot(item->key) && item->key.len > 2 && pl_api_fields_is_member(item->value))
        visit(arg, path_step(arena, path, item->key));
    PL_TREE_FOR(item, set)
    if (!is_dot(item->key) && item->key.len > 2)
        visit_below(arena, item->value, path_step(arena, path, item->key), visit, arg);
}

void pl_api_fields_visit(struct pl_arena *arena, const struct pl_tree *set,
                         void (*visit)(void *arg, struct pl_slice path), void *arg)
{
    visit_below(arena, set, pl_slice("", 0), visit, arg);
}
