/* The overlay lies in one arena, and no part of it is freed before the whole. The limits count
 * everything that was ever touched, also values that are no longer part of the document. */
#include "object/patch_overlay.h"

#include "value/build.h"
#include "value/scan.h"

#include <string.h>

#define MAX_TOUCHED (1u << 20) /* values, over all operations */
#define MAX_WORK    (1u << 27) /* children looked at or moved */

void pl_overlay_deinit(struct pl_overlay *overlay)
{
    pl_arena_deinit(&overlay->arena);
}

int pl_overlay_spend(struct pl_overlay *overlay, size_t touched, size_t work)
{
    overlay->touched += touched;
    overlay->work += work;
    if (overlay->touched > MAX_TOUCHED || overlay->work > MAX_WORK)
        return pl_err_set(overlay->err, PL_ELIMIT, "the patch touches too much");
    return 0;
}

struct pl_overlaid *pl_overlay_value(struct pl_overlay *overlay, struct pl_node node)
{
    struct pl_overlaid *value = pl_arena_alloc(&overlay->arena, sizeof(*value));
    value->node = node;
    return value;
}

enum pl_type pl_overlay_type(const struct pl_overlaid *value)
{
    return value->tree.type != PL_MISSING ? value->tree.type : pl_node_type(value->node);
}

/* ---- objects ---- */

static struct pl_overlaid *overlaid_of(struct pl_tree *tree)
{
    return (struct pl_overlaid *)tree;
}

struct pl_overlaid *pl_overlay_member(const struct pl_overlaid *object, struct pl_slice key)
{
    return overlaid_of(pl_tree_get(&object->tree, key));
}

int pl_overlay_add_member(struct pl_overlay *overlay, struct pl_overlaid *object,
                          struct pl_slice key, struct pl_overlaid *value)
{
    pl_tree_add(&overlay->arena, &object->tree, key, &value->tree);
    return pl_overlay_spend(overlay, 1, 1);
}

void pl_overlay_remove_member(struct pl_overlaid *object, struct pl_slice key)
{
    pl_tree_remove(&object->tree, key);
}

/* ---- arrays ---- */

static size_t behind_gap(const struct pl_overlaid *array)
{
    return array->count - array->gap;
}

struct pl_overlaid *pl_overlay_element(const struct pl_overlaid *array, size_t index)
{
    if (index >= array->count)
        return NULL;
    return array->elements[index < array->gap ? index : index + array->cap - array->count];
}

static int move_gap(struct pl_overlay *overlay, struct pl_overlaid *array, size_t to)
{
    size_t room = array->cap - array->count, from = array->gap;
    struct pl_overlaid **elements = array->elements;
    size_t moved = to < from ? from - to : to - from;
    if (to < from)
        memmove(elements + to + room, elements + to, moved * sizeof(struct pl_overlaid *));
    else if (to > from)
        memmove(elements + from, elements + from + room, moved * sizeof(struct pl_overlaid *));
    array->gap = to;
    return pl_overlay_spend(overlay, 0, moved);
}

/* The old list stays in the arena: altogether as much as the new one. */
static void overlay_make_room(struct pl_overlay *overlay, struct pl_overlaid *array, size_t cap)
{
    struct pl_overlaid **old = array->elements;
    size_t behind = behind_gap(array);
    array->elements = pl_arena_alloc(&overlay->arena, cap * sizeof(struct pl_overlaid *));
    if (array->count > 0) {
        memcpy(array->elements, old, array->gap * sizeof(struct pl_overlaid *));
        memcpy(array->elements + cap - behind, old + array->cap - behind,
               behind * sizeof(struct pl_overlaid *));
    }
    array->cap = cap;
}

int pl_overlay_insert(struct pl_overlay *overlay, struct pl_overlaid *array, size_t index,
                      struct pl_overlaid *value)
{
    if (array->count == array->cap)
        overlay_make_room(overlay, array, array->cap > 0 ? array->cap * 2 : 8);
    int rc = move_gap(overlay, array, index);
    array->elements[array->gap++] = value;
    array->count++;
    return rc != 0 ? rc : pl_overlay_spend(overlay, 1, 0);
}

int pl_overlay_remove(struct pl_overlay *overlay, struct pl_overlaid *array, size_t index)
{
    int rc = move_gap(overlay, array, index);
    array->count--; /* the gap takes the place of the element behind it */
    return rc;
}

/* ---- both ---- */

static int add_child(struct pl_overlay *overlay, struct pl_overlaid *parent, struct pl_slice key,
                     struct pl_overlaid *child)
{
    return parent->tree.type == PL_OBJECT
               ? pl_overlay_add_member(overlay, parent, key, child)
               : pl_overlay_insert(overlay, parent, parent->count, child);
}

int pl_overlay_touch(struct pl_overlay *overlay, struct pl_overlaid *value)
{
    enum pl_type type = pl_node_type(value->node);
    if (value->tree.type != PL_MISSING || (type != PL_OBJECT && type != PL_ARRAY))
        return 0;
    struct pl_iter it = pl_iter(value->node);
    value->tree.type = type;
    int rc = pl_overlay_spend(overlay, 1, 0);
    while (rc == 0 && pl_iter_next(&it))
        rc = add_child(overlay, value, it.key, pl_overlay_value(overlay, it.value));
    return rc;
}

int pl_overlay_copy(struct pl_overlay *overlay, const struct pl_overlaid *from,
                    struct pl_overlaid **copy)
{
    struct pl_overlaid *to = *copy = pl_overlay_value(overlay, from->node), *child;
    to->tree.type = from->tree.type;
    if (from->tree.type == PL_MISSING)
        return 0;
    int rc = pl_overlay_spend(overlay, 1, 0);
    for (const struct pl_tree_item *item = from->tree.first; rc == 0 && item != NULL;
         item = item->next) {
        rc = pl_overlay_copy(overlay, overlaid_of(item->value), &child);
        if (rc == 0)
            rc = add_child(overlay, to, item->key, child);
    }
    for (size_t i = 0; rc == 0 && i < from->count; i++) {
        rc = pl_overlay_copy(overlay, pl_overlay_element(from, i), &child);
        if (rc == 0)
            rc = add_child(overlay, to, pl_slice(NULL, 0), child);
    }
    return rc;
}

/* ---- what it comes to ---- */

static bool spend_bytes(size_t bytes, size_t *left)
{
    bool fits = bytes <= *left;
    *left -= fits ? bytes : 0;
    return fits;
}

static bool node_fits(struct pl_node node, unsigned depth, size_t *left)
{
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(node);
    size_t size = pl_node_str(node, &scratch).len + pl_node_number(node, &scratch).len + 2;
    bool fits = depth > 0 && spend_bytes(size, left);
    while (fits && pl_iter_next(&it))
        fits = spend_bytes(it.key.len, left) && node_fits(it.value, depth - 1, left);
    return fits;
}

static bool overlaid_fits(const struct pl_overlaid *value, unsigned depth, size_t *left)
{
    if (value->tree.type == PL_MISSING)
        return node_fits(value->node, depth, left);
    bool fits = depth > 0;
    for (const struct pl_tree_item *item = value->tree.first; fits && item != NULL;
         item = item->next)
        fits = spend_bytes(item->key.len, left) &&
               overlaid_fits(overlaid_of(item->value), depth - 1, left);
    for (size_t i = 0; fits && i < value->count; i++)
        fits = overlaid_fits(pl_overlay_element(value, i), depth - 1, left);
    return fits;
}

static void build_overlaid(struct pl_build *b, const struct pl_overlaid *value)
{
    if (value->tree.type == PL_OBJECT) {
        pl_build_object(b);
        for (const struct pl_tree_item *item = value->tree.first; item != NULL; item = item->next) {
            pl_build_key(b, item->key);
            build_overlaid(b, overlaid_of(item->value));
        }
        pl_build_end(b);
    } else if (value->tree.type == PL_ARRAY) {
        pl_build_array(b);
        for (size_t i = 0; i < value->count; i++)
            build_overlaid(b, pl_overlay_element(value, i));
        pl_build_end(b);
    } else if (pl_node_is_missing(value->node)) {
        pl_build_null(b);
    } else {
        pl_build_node(b, value->node);
    }
}

struct pl_doc *pl_overlay_finish(const struct pl_overlaid *value, struct pl_err *err)
{
    size_t left = PL_SCAN_BYTES;
    if (!overlaid_fits(value, PL_SCAN_DEPTH, &left)) {
        pl_err_set(err, PL_ELIMIT, "the patched document would be too large or too deep");
        return NULL;
    }
    struct pl_build *b = pl_build_create(NULL);
    build_overlaid(b, value);
    return pl_build_close(b);
}
