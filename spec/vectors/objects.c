#include "driver.h"

#include "base/alloc.h"
#include "base/check.h"
#include "object/meta.h"
#include "object/path.h"

#include <ctype.h>

/* ---- tombstones and keys ---- */

bool is_tombstone(struct pl_node node, struct pl_node *key, struct pl_node *obj)
{
    struct pl_node inner = pl_node_getz(node, "$tombstone");
    if (pl_node_is_missing(inner))
        return false;
    *key = pl_node_getz(inner, "key");
    *obj = pl_node_getz(inner, "obj");
    if (pl_node_type(*obj) == PL_NULL)
        *obj = PL_NODE_MISSING;
    return true;
}

void put_tombstone(struct pl_build *out, struct pl_slice key, struct pl_doc *obj)
{
    struct pl_node inner_key, inner_obj;
    pl_build_object(out);
    pl_build_keyz(out, "$tombstone");
    pl_build_object(out);
    put_member_str(out, "key", key);
    pl_build_keyz(out, "obj");
    if (is_tombstone(pl_doc_root(obj), &inner_key, &inner_obj))
        pl_build_node(out, inner_obj);
    else
        put_doc(out, obj);
    pl_build_end(out);
    pl_build_end(out);
}

int key_of(struct pl_node object, bool tombstones, struct pl_buf *out)
{
    struct pl_node key, obj;
    if (!is_tombstone(object, &key, &obj))
        return pl_meta_key(object, out, NULL);
    if (!tombstones)
        return PL_EINVAL;
    struct pl_scratch room;
    pl_buf_add_slice(out, pl_node_str(key, &room));
    return 0;
}

/* ---- transformations ---- */

/* What happens to the member at the end of a path. */
typedef void (*edit_fn)(struct pl_build *out, const char *name, struct pl_node value);

static void edit_remove(struct pl_build *out, const char *name, struct pl_node value)
{
    PL_UNUSED(out);
    PL_UNUSED(name);
    PL_UNUSED(value);
}

static void edit_increment(struct pl_build *out, const char *name, struct pl_node value)
{
    put_member_int(out, name, int_of(value, 0) + 1);
}

static void edit_upper(struct pl_build *out, const char *name, struct pl_node value)
{
    char *text = text_of(value);
    for (char *c = text; c != NULL && *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    put_member_str(out, name, pl_slice_z(text));
    pl_free(text);
}

/* Copies an object with the member at the dotted path edited; levels that are missing are made
 * unless the edit removes. */
static void copy_edited(struct pl_build *out, struct pl_node object, const char *path, edit_fn edit)
{
    const char *dot = strchr(path, '.');
    struct pl_slice name = dot ? pl_slice(path, (size_t)(dot - path)) : pl_slice_z(path);
    bool seen = false;
    pl_build_object(out);
    struct pl_iter it = pl_iter(object);
    while (pl_iter_next(&it)) {
        if (!pl_slice_eq(it.key, name)) {
            pl_build_key(out, it.key);
            pl_build_node(out, it.value);
            continue;
        }
        seen = true;
        if (dot == NULL) {
            edit(out, path, it.value);
        } else {
            pl_build_key(out, it.key);
            copy_edited(out, it.value, dot + 1, edit);
        }
    }
    if (!seen && edit == edit_increment && dot != NULL) {
        pl_build_key(out, name);
        copy_edited(out, PL_NODE_MISSING, dot + 1, edit);
    } else if (!seen && edit == edit_increment) {
        edit(out, path, PL_NODE_MISSING);
    }
    pl_build_end(out);
}

static struct pl_doc *edited(struct pl_doc *doc, const char *path, edit_fn edit)
{
    struct pl_build *b = pl_build_create(NULL);
    copy_edited(b, pl_doc_root(doc), path, edit);
    return pl_build_close(b);
}

struct pl_doc *transform_doc(const char *transform, struct pl_doc *doc)
{
    struct pl_node root = pl_doc_root(doc), key, obj;
    struct pl_scratch room;
    if (pl_node_type(root) != PL_OBJECT || is_tombstone(root, &key, &obj))
        return pl_doc_ref(doc);
    if (strncmp(transform, "remove:", 7) == 0)
        return edited(doc, transform + 7, edit_remove);
    if (strncmp(transform, "incr:", 5) == 0)
        return edited(doc, transform + 5, edit_increment);
    if (strcmp(transform, "upperName") == 0)
        return edited(doc, "metadata.name", edit_upper);
    if (strncmp(transform, "failFor:", 8) == 0 &&
        pl_slice_eqz(pl_meta_name(root, &room), transform + 8))
        return NULL;
    return pl_doc_ref(doc);
}

/* ---- index functions ---- */

static void add_text(struct pl_node node, struct pl_values *out)
{
    struct pl_scratch room;
    struct pl_slice text = pl_node_str(node, &room);
    if (text.ptr != NULL)
        pl_values_add(out, text);
}

static void add_field(const char *dotted, struct pl_node object, struct pl_values *out)
{
    struct pl_path *path = pl_path_parse(pl_slice_z(dotted), NULL);
    PL_REQUIRE(path != NULL);
    add_text(pl_path_find(path, object), out);
    pl_path_destroy(path);
}

static void add_list(const char *annotation, struct pl_node object, struct pl_values *out)
{
    char *text = text_of(pl_node_getz(pl_meta_annotations(object), annotation));
    for (char *rest = text, *part; (part = strsep(&rest, ",")) != NULL;)
        pl_values_add(out, pl_slice_z(part));
    pl_free(text);
}

static void add_labels(struct pl_node object, struct pl_values *out)
{
    struct pl_iter it = pl_iter(pl_meta_labels(object));
    while (pl_iter_next(&it)) {
        struct pl_scratch room;
        struct pl_buf pair = PL_BUF_INIT;
        pl_buf_add_slice(&pair, it.key);
        pl_buf_add_char(&pair, '=');
        pl_buf_add_slice(&pair, pl_node_str(it.value, &room));
        pl_values_add(out, pl_buf_slice(&pair));
        pl_buf_deinit(&pair);
    }
}

int index_values(const char *function, struct pl_node object, struct pl_values *out)
{
    struct pl_scratch room;
    struct pl_node key, obj;
    if (strcmp(function, "none") == 0)
        return 0;
    if (strncmp(function, "constant:", 9) == 0) {
        pl_values_add(out, pl_slice_z(function + 9));
        return 0;
    }
    if (pl_node_type(object) != PL_OBJECT || is_tombstone(object, &key, &obj))
        return PL_EINVAL;
    if (strcmp(function, "byNamespace") == 0)
        pl_values_add(out, pl_meta_namespace(object, &room));
    else if (strncmp(function, "byLabel:", 8) == 0)
        add_text(pl_node_getz(pl_meta_labels(object), function + 8), out);
    else if (strncmp(function, "byField:", 8) == 0)
        add_field(function + 8, object, out);
    else if (strncmp(function, "byAnnotationList:", 17) == 0)
        add_list(function + 17, object, out);
    else if (strcmp(function, "byLabels") == 0)
        add_labels(object, out);
    else
        PL_UNREACHABLE();
    return 0;
}

static int function_values(void *arg, struct pl_node object, struct pl_values *out,
                           struct pl_err *err)
{
    PL_UNUSED(err);
    return index_values(arg, object, out);
}

int add_indexers(struct pl_store *store, struct pl_node indexers)
{
    static const struct pl_index_ops ops = {function_values, pl_free};
    struct pl_iter it = pl_iter(indexers);
    while (pl_iter_next(&it)) {
        char *name = pl_memdup0(it.key.ptr, it.key.len);
        bool taken = pl_store_has_index(store, name);
        pl_free(name);
        if (taken)
            return PL_EEXIST;
    }
    it = pl_iter(indexers);
    while (pl_iter_next(&it)) {
        char *name = pl_memdup0(it.key.ptr, it.key.len);
        PL_REQUIRE(pl_store_add_index(store, name, &ops, text_of(it.value), NULL) == 0);
        pl_free(name);
    }
    return 0;
}
