/* JSON as Go prints its maps: map[a:1 b:[x y]]. The depth is that of the tree, which its parser
 * limited. */
#include "object/go_map.h"

static void add_items(struct pl_buf *out, const struct pl_tree *value)
{
    bool is_map = value->type == PL_OBJECT;
    pl_buf_add_z(out, is_map ? "map[" : "[");
    PL_TREE_FOR(item, value)
    {
        if (item != value->first)
            pl_buf_add_char(out, ' ');
        if (is_map)
            pl_buf_add_f(out, "%.*s:", PL_FMT(item->key));
        pl_go_map_write(out, item->value);
    }
    pl_buf_add_char(out, ']');
}

void pl_go_map_write(struct pl_buf *out, const struct pl_tree *value)
{
    switch (pl_tree_type(value)) {
    case PL_OBJECT:
    case PL_ARRAY:
        add_items(out, value);
        break;
    case PL_STRING:
        pl_buf_add(out, value->text.ptr, value->text.len);
        break;
    case PL_NUMBER:
    case PL_BOOL:
        pl_tree_write(out, value);
        break;
    default:
        pl_buf_add_z(out, "<nil>");
    }
}

void pl_go_map_node(struct pl_buf *out, struct pl_node node)
{
    struct pl_arena arena = {0};
    struct pl_tree *tree = pl_tree_from_node(&arena, node);
    pl_tree_sort(tree);
    pl_go_map_write(out, tree);
    pl_arena_deinit(&arena);
}
