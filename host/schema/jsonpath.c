/* The part of JSONPath that CRDs and tables need: names, indices, and a filter by one member. A
 * path that is not understood finds nothing; it is no error, as on the server it only leaves a cell
 * empty. */
#include "schema/jsonpath.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* [?(@.type=="Ready")]: the first element whose member equals the text. */
static struct pl_node filter(struct pl_node array, struct pl_slice expr)
{
    char key[128], text[256];
    char form[300];
    if (expr.len >= sizeof(form))
        return PL_NODE_MISSING;
    snprintf(form, sizeof(form), "%.*s", PL_FMT(expr));
    if (sscanf(form, "?(@.%127[^= ] == \"%255[^\"]\")", key, text) != 2 &&
        sscanf(form, "?(@.%127[^= ] == '%255[^']')", key, text) != 2)
        return PL_NODE_MISSING;
    struct pl_iter it = pl_iter(array);
    while (pl_iter_next(&it))
        if (pl_node_str_eq(pl_node_getz(it.value, key), pl_slice_z(text)))
            return it.value;
    return PL_NODE_MISSING;
}

static struct pl_node step_bracket(struct pl_node node, struct pl_slice inner)
{
    if (inner.len >= 2 && (inner.ptr[0] == '\'' || inner.ptr[0] == '"'))
        return pl_node_get(node, pl_slice(inner.ptr + 1, inner.len - 2));
    if (inner.len > 0 && inner.ptr[0] == '?')
        return filter(node, inner);
    if (inner.len > 0 && isdigit((unsigned char)inner.ptr[0]))
        return pl_node_at(node, strtoul(inner.ptr, NULL, 10));
    return PL_NODE_MISSING;
}

struct pl_node pl_api_jsonpath(struct pl_node root, struct pl_slice path)
{
    size_t i = 0;
    struct pl_node at = root;
    while (i < path.len && !pl_node_is_missing(at)) {
        if (path.ptr[i] == '[') {
            const char *close = memchr(path.ptr + i, ']', path.len - i);
            if (close == NULL)
                return PL_NODE_MISSING;
            size_t end = (size_t)(close - path.ptr);
            at = step_bracket(at, pl_slice(path.ptr + i + 1, end - i - 1));
            i = end + 1;
            continue;
        }
        if (path.ptr[i] == '.')
            i++;
        struct pl_buf key = PL_BUF_INIT;
        while (i < path.len && path.ptr[i] != '.' && path.ptr[i] != '[') {
            if (path.ptr[i] == '\\' && i + 1 < path.len)
                i++;
            pl_buf_add_char(&key, path.ptr[i++]);
        }
        at = pl_node_get(at, pl_buf_slice(&key));
        pl_buf_deinit(&key);
    }
    return at;
}

/* The next plain name of ".spec.replicas"; false at the end. */
static bool next_name(const char **path, struct pl_slice *name)
{
    if (**path == '.')
        (*path)++;
    size_t len = strcspn(*path, ".");
    *name = pl_slice(*path, len);
    *path += len;
    return len > 0;
}

struct pl_tree *pl_api_jsonpath_tree(struct pl_tree *root, const char *path)
{
    struct pl_slice name;
    while (root != NULL && next_name(&path, &name))
        root = pl_tree_get(root, name);
    return root;
}

void pl_api_jsonpath_set(struct pl_arena *arena, struct pl_tree *root, const char *path,
                         struct pl_tree *value)
{
    struct pl_slice name;
    while (next_name(&path, &name)) {
        if (*path == '\0') {
            pl_tree_set(arena, root, name, value);
            return;
        }
        struct pl_tree *child = pl_tree_get(root, name);
        if (!pl_tree_is(child, PL_OBJECT)) {
            child = pl_tree_object(arena);
            pl_tree_set(arena, root, name, child);
        }
        root = child;
    }
}
