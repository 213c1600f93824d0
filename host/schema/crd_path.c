/* Paths of values lead through objects; object/jsonpath reads them. A malformed one finds nothing.
 * That is not an error: in kube-apiserver it only leaves a cell empty. A path for writing may only
 * have plain names.
 *
 * Paths of fields lead through schemas. They are read as tokens: dots, brackets, texts in single
 * quotes, and what is between them. */
#include "schema/crd_path.h"

#include "object/jsonpath.h"

#include <string.h>

/* ---- values ---- */

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

/* ---- fields ---- */

struct tokens {
    struct pl_slice rest;
    struct pl_buf *shown; /* the path in the form of messages; may be NULL */
};

static bool is_sign(char c)
{
    return c == '.' || c == '[' || c == ']';
}

/* False at the end. */
static bool next_token(struct tokens *t, struct pl_slice *token)
{
    struct pl_slice text = t->rest;
    size_t len = 1;
    if (text.len == 0)
        return false;
    if (text.ptr[0] == '\'') {
        while (len < text.len && (text.ptr[len] != '\'' || text.ptr[len - 1] == '\\'))
            len++;
        len += len < text.len;
    } else if (!is_sign(text.ptr[0])) {
        while (len < text.len && !is_sign(text.ptr[len]))
            len++;
    }
    *token = pl_slice(text.ptr, len);
    t->rest = pl_slice(text.ptr + len, text.len - len);
    return true;
}

/* The member of that name, or the values of a map. */
static bool crd_path_enter(struct tokens *t, struct pl_node *schema, struct pl_slice name)
{
    struct pl_node properties = pl_node_getz(*schema, "properties");
    struct pl_node more = pl_node_getz(*schema, "additionalProperties");
    bool is_map = pl_node_type(properties) != PL_OBJECT;
    struct pl_node inner = is_map ? more : pl_node_get(properties, name);
    if (pl_node_type(inner) != PL_OBJECT)
        return false;
    *schema = inner;
    if (t->shown != NULL)
        pl_buf_add_f(t->shown, is_map ? "[%.*s]" : ".%.*s", PL_FMT(name));
    return true;
}

/* What is in the brackets. */
static const char *enter_brackets(struct pl_arena *arena, struct tokens *t, struct pl_node *schema)
{
    struct pl_slice token;
    if (!next_token(t, &token))
        return "unexpected end of JSON path";
    if (token.len < 2 || token.ptr[0] != '\'' || token.ptr[token.len - 1] != '\'')
        return pl_arena_f(arena, "expected single quoted string but got %.*s", PL_FMT(token)).ptr;
    if (!crd_path_enter(t, schema, pl_slice(token.ptr + 1, token.len - 2)))
        return "does not refer to a valid field";
    if (!next_token(t, &token))
        return "unexpected end of JSON path";
    return pl_slice_eqz(token, "]")
               ? NULL
               : pl_arena_f(arena, "expected ] but got %.*s", PL_FMT(token)).ptr;
}

static const char *follow(struct pl_arena *arena, struct tokens t, bool brackets,
                          struct pl_node schema, struct pl_node *found)
{
    struct pl_slice token;
    const char *why = NULL;
    while (why == NULL && next_token(&t, &token)) {
        if (pl_slice_eqz(token, "["))
            why = brackets ? enter_brackets(arena, &t, &schema) : "array notation is not allowed";
        else if (!pl_slice_eqz(token, "."))
            why = pl_arena_f(arena, "expected [ or . but got: %.*s", PL_FMT(token)).ptr;
        else if (!next_token(&t, &token))
            why = "unexpected end of JSON path";
        else if (!crd_path_enter(&t, &schema, token))
            why = "does not refer to a valid field";
    }
    *found = schema;
    return why;
}

const char *pl_api_field_path_fault(struct pl_arena *arena, struct pl_node schema,
                                    struct pl_slice path, bool brackets, struct pl_node *found)
{
    return follow(arena, (struct tokens){.rest = path}, brackets, schema, found);
}

struct pl_slice pl_api_field_path_shown(struct pl_arena *arena, struct pl_node schema,
                                        struct pl_slice path)
{
    struct pl_buf shown = PL_BUF_INIT;
    follow(arena, (struct tokens){path, &shown}, true, schema, &schema);
    struct pl_slice text = pl_arena_copy(arena, pl_buf_slice(&shown));
    pl_buf_deinit(&shown);
    return text;
}
