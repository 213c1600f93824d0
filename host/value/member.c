#include "value/member.h"

#include "base/alloc.h"

/* Below this a plain look-up costs less than the index. */
#define MANY_MISSES 32

void pl_members_init(struct pl_members *members, struct pl_node object)
{
    *members = (struct pl_members){.object = object, .next = pl_iter(object)};
}

void pl_members_deinit(struct pl_members *members)
{
    pl_map_deinit(&members->index);
    pl_free(members->nodes);
}

static void make_index(struct pl_members *members)
{
    struct pl_iter it = pl_iter(members->object);
    members->nodes = pl_calloc(pl_node_len(members->object) + 1, sizeof(*members->nodes));
    while (pl_iter_next(&it)) {
        members->nodes[it.index] = it.value;
        pl_map_put(&members->index, it.key, &members->nodes[it.index]);
    }
}

struct pl_node pl_members_get(struct pl_members *members, struct pl_slice key)
{
    if (members->nodes != NULL) {
        struct pl_node *found = pl_map_get(&members->index, key);
        return found != NULL ? *found : PL_NODE_MISSING;
    }
    struct pl_iter it = members->next;
    if (pl_iter_next(&it) && pl_slice_eq(it.key, key)) {
        members->next = it;
        return it.value;
    }
    if (++members->misses > MANY_MISSES && pl_node_type(members->object) == PL_OBJECT) {
        make_index(members);
        return pl_members_get(members, key);
    }
    return pl_node_get(members->object, key);
}
