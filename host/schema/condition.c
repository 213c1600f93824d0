#include "schema/condition.h"

#include "base/base.h"

bool pl_api_has_condition(struct pl_node object, const char *type, const char *status)
{
    struct pl_iter it = pl_iter(pl_node_dig(object, "status", "conditions"));
    while (pl_iter_next(&it))
        if (pl_node_str_eq(pl_node_getz(it.value, "type"), pl_slice_z(type)) &&
            pl_node_str_eq(pl_node_getz(it.value, "status"), pl_slice_z(status)))
            return true;
    return false;
}

static struct pl_tree *list_of(struct pl_arena *arena, struct pl_tree *status)
{
    return pl_tree_default(arena, status, "conditions", pl_tree_array(arena));
}

static struct pl_tree_item *find_condition(const struct pl_tree *list, struct pl_slice type)
{
    PL_TREE_FOR(item, list)
    if (pl_slice_eq(pl_tree_text_at(item->value, "type"), type))
        return item;
    return NULL;
}

struct pl_tree *pl_api_condition_set(struct pl_arena *arena, struct pl_tree *status,
                                     struct pl_tree *now, const char *const texts[4])
{
    static const char keys[][8] = {"type", "status", "reason", "message"};
    struct pl_tree *list = list_of(arena, status);
    struct pl_tree_item *item = find_condition(list, pl_slice_z(texts[0]));
    struct pl_tree *condition = item != NULL ? item->value : pl_tree_object(arena);
    if (item == NULL)
        pl_tree_push(arena, list, condition);
    if (!pl_slice_eqz(pl_tree_text_at(condition, "status"), texts[1]))
        pl_tree_setz(arena, condition, "lastTransitionTime", now);
    for (size_t i = 0; i < PL_ARRAY_LEN(keys); i++)
        pl_tree_set_strz(arena, condition, keys[i], texts[i]);
    return condition;
}

void pl_api_condition_replace(struct pl_arena *arena, struct pl_tree *status, struct pl_tree *now,
                              struct pl_tree *condition)
{
    struct pl_tree *list = list_of(arena, status);
    struct pl_tree_item *before = find_condition(list, pl_tree_text_at(condition, "type"));
    if (before != NULL)
        pl_tree_unlink(list, before);
    pl_tree_setz(arena, condition, "lastTransitionTime", now);
    pl_tree_push(arena, list, condition);
}
