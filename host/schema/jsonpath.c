/* Paths of CRDs. object/jsonpath reads values; a path for writing may only have plain names. A
 * malformed path finds nothing. That is not an error: in kube-apiserver it only leaves a cell
 * empty. */
#include "schema/jsonpath.h"

#include "object/jsonpath.h"

#include <string.h>

struct pl_node pl_api_jsonpath(struct pl_node root, struct pl_slice text)
{
    struct pl_jsonpath *path = pl_jsonpath_parse(text, NULL);
    if (path == NULL)
        return PL_NODE_MISSING;
    struct pl_node value = pl_jsonpath_first(path, root);
    pl_jsonpath_destroy(path);
    return value;
}

/* The next name of ".spec.replicas". False at the end. */
static bool next_name(const char **path, struct pl_slice *name)
{
    if (**path == '.')
        (*path)++;
    size_t len = strcspn(*path, ".");
    *name = pl_slice(*path, len);
    *path += len;
    return len > 0;
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
