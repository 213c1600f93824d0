/* Lists that are sets or maps by a CRD's schema. An element's identity is the JSON of the element
 * (set) or of its keys (map), so that a look-up needs no comparison with all other elements:
 * clients may send very many. The depth is that of the schema, which is limited. */
#include "schema/list_keys.h"

static bool is_list_type(struct pl_node schema, const char *type)
{
    return pl_node_str_eq(pl_node_getz(schema, "x-kubernetes-list-type"), pl_slice_z(type));
}

bool pl_api_is_map_list(struct pl_node schema)
{
    return is_list_type(schema, "map");
}

static const struct pl_tree *identity(struct pl_arena *arena, struct pl_node schema,
                                      const struct pl_tree *element)
{
    struct pl_scratch scratch;
    if (!pl_api_is_map_list(schema))
        return element;
    struct pl_tree *key = pl_tree_object(arena);
    struct pl_iter it = pl_iter(pl_node_getz(schema, "x-kubernetes-list-map-keys"));
    while (pl_iter_next(&it)) {
        struct pl_slice name = pl_node_str(it.value, &scratch);
        struct pl_tree *value = pl_tree_get(element, name);
        if (value != NULL)
            pl_tree_set(arena, key, pl_arena_copy(arena, name), value);
    }
    return key;
}

struct pl_slice pl_api_list_key(struct pl_arena *arena, struct pl_node schema,
                                const struct pl_tree *element)
{
    struct pl_buf buf = PL_BUF_INIT;
    pl_tree_write(&buf, identity(arena, schema, element));
    struct pl_slice text = pl_arena_copy(arena, pl_buf_slice(&buf));
    pl_buf_deinit(&buf);
    return text;
}

void pl_api_list_index(struct pl_arena *arena, struct pl_node schema, const struct pl_tree *list,
                       struct pl_map *index)
{
    PL_TREE_FOR(item, pl_tree_is(list, PL_ARRAY) ? list : NULL)
    {
        struct pl_slice key = pl_api_list_key(arena, schema, item->value);
        if (!pl_map_has(index, key))
            pl_map_put(index, key, item->value);
    }
}

/* ---- unchanged parts ---- */

static struct pl_node schema_of(struct pl_node schema, struct pl_slice key)
{
    struct pl_node inner = pl_node_get(pl_node_getz(schema, "properties"), key);
    return pl_node_is_missing(inner) ? pl_node_getz(schema, "additionalProperties") : inner;
}

static bool is_same_object(struct pl_arena *arena, struct pl_node schema,
                           const struct pl_tree *value, const struct pl_tree *old)
{
    if (value->count != old->count)
        return false;
    PL_TREE_FOR(item, value)
    {
        const struct pl_tree *was = pl_tree_get(old, item->key);
        struct pl_node inner = schema_of(schema, item->key);
        if (was == NULL || pl_node_type(inner) != PL_OBJECT ||
            !pl_api_is_same_part(arena, inner, item->value, was))
            return false;
    }
    return true;
}

static bool is_same_list(struct pl_arena *arena, struct pl_node schema, const struct pl_tree *value,
                         const struct pl_tree *old)
{
    struct pl_node items = pl_node_getz(schema, "items");
    if (!pl_api_is_map_list(schema))
        return pl_tree_equal(value, old);
    struct pl_map index = PL_MAP_INIT;
    bool same = value->count == old->count;
    pl_api_list_index(arena, schema, old, &index);
    PL_TREE_FOR(item, same ? value : NULL)
    {
        const struct pl_tree *was = pl_map_get(&index, pl_api_list_key(arena, schema, item->value));
        same = same && was != NULL && pl_api_is_same_part(arena, items, item->value, was);
    }
    pl_map_deinit(&index);
    return same;
}

bool pl_api_is_same_part(struct pl_arena *arena, struct pl_node schema, const struct pl_tree *value,
                         const struct pl_tree *old)
{
    if (value->type != old->type)
        return false;
    if (value->type == PL_OBJECT)
        return is_same_object(arena, schema, value, old);
    if (value->type == PL_ARRAY)
        return is_same_list(arena, schema, value, old);
    return pl_tree_equal(value, old);
}

/* ---- elements that come twice ---- */

static void add_twins(struct pl_api_faults *faults, struct pl_node schema,
                      const struct pl_tree *list, struct pl_slice path)
{
    struct pl_map seen = PL_MAP_INIT;
    static char once, often;
    size_t i = 0;
    PL_TREE_FOR(item, list)
    {
        struct pl_slice text = pl_api_list_key(faults->arena, schema, item->value);
        char *before = pl_map_get(&seen, text);
        if (before == &once) /* the third and later ones are not reported */
            pl_api_fault(faults, "FieldValueDuplicate",
                         pl_arena_f(faults->arena, "%.*s[%zu]", PL_FMT(path), i),
                         "Duplicate value: %.*s", PL_FMT(text));
        pl_map_put(&seen, text, before == NULL ? &once : &often);
        i++;
    }
    pl_map_deinit(&seen);
}

static void twins_of_members(struct pl_api_faults *faults, struct pl_node schema,
                             const struct pl_tree *object, struct pl_slice path)
{
    struct pl_node properties = pl_node_getz(schema, "properties");
    PL_TREE_FOR(item, object)
    {
        struct pl_node inner = schema_of(schema, item->key);
        bool is_member = !pl_node_is_missing(pl_node_get(properties, item->key));
        if (pl_node_type(inner) != PL_OBJECT ||
            (item->value->type != PL_OBJECT && item->value->type != PL_ARRAY))
            continue;
        struct pl_slice inner_path =
            is_member ? pl_arena_path(faults->arena, path, item->key)
                      : pl_arena_f(faults->arena, "%.*s[%.*s]", PL_FMT(path), PL_FMT(item->key));
        pl_api_list_twins(faults, inner, item->value, inner_path);
    }
}

void pl_api_list_twins(struct pl_api_faults *faults, struct pl_node schema,
                       const struct pl_tree *value, struct pl_slice path)
{
    struct pl_node items = pl_node_getz(schema, "items");
    size_t i = 0;
    if (pl_tree_is(value, PL_OBJECT)) {
        twins_of_members(faults, schema, value, path);
        return;
    }
    if (!pl_tree_is(value, PL_ARRAY))
        return;
    if (is_list_type(schema, "set") || pl_api_is_map_list(schema))
        add_twins(faults, schema, value, path);
    PL_TREE_FOR(item, pl_node_type(items) == PL_OBJECT ? value : NULL)
    pl_api_list_twins(faults, items, item->value,
                      pl_arena_f(faults->arena, "%.*s[%zu]", PL_FMT(path), i++));
}
