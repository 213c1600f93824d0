/* The set of the fields that an apply names. Each path is one bit of a small filter, so the set has
 * a fixed size, however many fields there are. Two paths may share a bit: then a field that the
 * other set lacks goes unnoticed, but none is ever reported that is there. */
#include "write/field_set.h"

#include "base/hash.h"
#include "value/write.h"

#include <string.h>

static void add_node(struct pl_field_set *set, uint64_t path, struct pl_node node,
                     const struct pl_schema *schema);

static void add_field(struct pl_field_set *set, uint64_t path)
{
    size_t bit = path % (64 * PL_FIELD_SET_WORDS);
    set->bits[bit / 64] |= UINT64_C(1) << (bit % 64);
    set->count++;
}

static uint64_t path_of_value(uint64_t path, struct pl_node value)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, value, PL_WRITE_SORTED);
    path = pl_hash(text.ptr, text.len, path);
    pl_buf_deinit(&text);
    return path;
}

/* The path of an element that its keys name, with their defaults. */
static uint64_t path_of_element(uint64_t path, struct pl_node element, const struct pl_schema *list)
{
    const char *key;
    for (size_t i = 0; (key = pl_schema_list_key(list, i)) != NULL; i++) {
        struct pl_node value = pl_node_getz(element, key);
        const struct pl_schema *field = pl_schema_field(pl_schema_items(list), pl_slice_z(key));
        const char *preset = pl_schema_default(field);
        if (pl_node_is_missing(value) && preset != NULL)
            path = pl_hash(preset, strlen(preset), path);
        else
            path = path_of_value(path, value);
    }
    return path;
}

static bool is_key(const struct pl_schema *list, struct pl_slice name)
{
    const char *key;
    for (size_t i = 0; (key = pl_schema_list_key(list, i)) != NULL; i++)
        if (pl_slice_eqz(name, key))
            return true;
    return false;
}

/* list: the schema of the list whose element this is, or NULL. */
static void add_members(struct pl_field_set *set, uint64_t path, struct pl_node object,
                        const struct pl_schema *schema, const struct pl_schema *list)
{
    for (struct pl_iter it = pl_iter(object); pl_iter_next(&it);)
        if (list == NULL || !is_key(list, it.key))
            add_node(set, pl_hash(it.key.ptr, it.key.len, path), it.value,
                     pl_schema_field(schema, it.key));
}

static void add_elements(struct pl_field_set *set, uint64_t path, struct pl_node array,
                         const struct pl_schema *list)
{
    bool keyed = pl_schema_list_type(list) == PL_LIST_MAP;
    for (struct pl_iter it = pl_iter(array); pl_iter_next(&it);) {
        uint64_t place =
            keyed ? path_of_element(path, it.value, list) : path_of_value(path, it.value);
        add_field(set, place);
        if (keyed)
            add_members(set, place, it.value, pl_schema_items(list), list);
    }
}

static void add_node(struct pl_field_set *set, uint64_t path, struct pl_node node,
                     const struct pl_schema *schema)
{
    struct pl_iter any = pl_iter(node);
    if (pl_node_type(node) == PL_OBJECT && !pl_schema_is_atomic(schema) && pl_iter_next(&any))
        add_members(set, path, node, schema, NULL);
    else if (pl_node_type(node) == PL_ARRAY && pl_schema_list_type(schema) != PL_LIST_ATOMIC &&
             pl_iter_next(&any))
        add_elements(set, path, node, schema);
    else
        add_field(set, path);
}

void pl_field_set_make(struct pl_field_set *set, struct pl_node body,
                       const struct pl_schema *schema)
{
    *set = (struct pl_field_set){.count = 0};
    add_node(set, 0, body, schema);
}

bool pl_field_set_has_more(const struct pl_field_set *set, const struct pl_field_set *other)
{
    for (size_t i = 0; i < PL_FIELD_SET_WORDS; i++)
        if ((set->bits[i] & ~other->bits[i]) != 0)
            return true;
    return set->count > other->count;
}
