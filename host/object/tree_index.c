/* Open addressing in the tree's arena, at most half full. Members are added lazily, in order; a
 * tree that is only written and never searched pays nothing. The index never owns a member. */
#include "object/tree_index.h"

#include "base/hash.h"
#include "base/keyset.h"

#include <string.h>

struct slot {
    struct pl_tree_item *item; /* NULL: free */
    uint32_t hash;
};

struct pl_tree_index {
    struct pl_arena *arena; /* borrowed: the tree's */
    struct slot *slots;     /* in the arena; open addressing, linear probing, at most half full */
    size_t count, cap;      /* cap: a power of two, or 0 */
    uint32_t spread;
    struct pl_tree_item *last; /* the members up to this one are in the slots; NULL: none */
};

struct pl_tree_index *pl_tree_index_create(struct pl_arena *arena)
{
    struct pl_tree_index *index = pl_arena_alloc(arena, sizeof(*index));
    index->arena = arena;
    index->spread = pl_hash_spread();
    return index;
}

static size_t tree_index_place_of(const struct pl_tree_index *index, uint32_t hash)
{
    return pl_hash_place(hash, index->spread, index->cap);
}

static size_t after(const struct pl_tree_index *index, size_t at)
{
    return (at + 1) & (index->cap - 1);
}

static void tree_index_put(struct pl_tree_index *index, struct slot slot)
{
    size_t at = tree_index_place_of(index, slot.hash);
    while (index->slots[at].item != NULL)
        at = after(index, at);
    index->slots[at] = slot;
    index->count++;
}

/* The old slots stay in the arena: altogether at most as much as the new ones. */
static void tree_index_make_room(struct pl_tree_index *index, size_t members)
{
    struct slot *old = index->slots;
    size_t old_cap = index->cap;
    if (members * 2 <= old_cap)
        return;
    while (index->cap < members * 2)
        index->cap = index->cap > 0 ? index->cap * 2 : (size_t)4 * PL_TREE_INDEX_FROM;
    index->slots = pl_arena_alloc(index->arena, index->cap * sizeof(*index->slots));
    index->count = 0;
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].item != NULL)
            tree_index_put(index, old[i]);
}

/* Adds the members that came since the last search. */
static void catch_up(struct pl_tree_index *index, const struct pl_tree *object)
{
    struct pl_tree_item *item = index->last != NULL ? index->last->next : object->first;
    if (item == NULL)
        return;
    tree_index_make_room(index, object->count);
    for (; item != NULL; item = item->next) {
        tree_index_put(index, (struct slot){item, pl_keyset_hash(item->key)});
        index->last = item;
    }
}

struct pl_tree_item *pl_tree_index_find(struct pl_tree_index *index, const struct pl_tree *object,
                                        struct pl_slice key)
{
    catch_up(index, object);
    if (index->cap == 0)
        return NULL;
    uint32_t hash = pl_keyset_hash(key);
    for (size_t at = tree_index_place_of(index, hash); index->slots[at].item != NULL;
         at = after(index, at))
        if (index->slots[at].hash == hash && pl_slice_eq(index->slots[at].item->key, key))
            return index->slots[at].item;
    return NULL;
}

/* Frees the slot and moves up the later entries that would not be found any more. */
static void clear(struct pl_tree_index *index, size_t hole)
{
    size_t mask = index->cap - 1;
    for (size_t at = after(index, hole); index->slots[at].item != NULL; at = after(index, at)) {
        size_t home = tree_index_place_of(index, index->slots[at].hash);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        index->slots[hole] = index->slots[at];
        hole = at;
    }
    index->slots[hole].item = NULL;
    index->count--;
}

void pl_tree_index_forget(struct pl_tree_index *index, const struct pl_tree_item *item)
{
    if (index->last == item)
        index->last = item->prev;
    if (index->cap == 0)
        return;
    size_t at = tree_index_place_of(index, pl_keyset_hash(item->key));
    while (index->slots[at].item != NULL && index->slots[at].item != item)
        at = after(index, at);
    if (index->slots[at].item == item)
        clear(index, at);
}

void pl_tree_index_reorder(struct pl_tree_index *index)
{
    if (index->cap > 0)
        memset(index->slots, 0, index->cap * sizeof(*index->slots));
    index->count = 0;
    index->last = NULL;
}
