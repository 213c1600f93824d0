/* JSON trees that may be changed. Members keep their order; in small objects they are found by
 * walking. Trees are shared only by copying: a value with two parents would change in both. No part
 * is freed alone, and no tree may outlive its arena. */
#include "object/tree.h"

#include "object/tree_index.h"
#include "base/alloc.h"
#include "base/check.h"
#include "value/build.h"
#include "value/scan.h"
#include "value/write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- making ---- */

static struct pl_tree *tree_make(struct pl_arena *arena, enum pl_type type)
{
    struct pl_tree *tree = pl_arena_alloc(arena, sizeof(*tree));
    tree->type = type;
    return tree;
}

struct pl_tree *pl_tree_object(struct pl_arena *arena)
{
    return tree_make(arena, PL_OBJECT);
}

struct pl_tree *pl_tree_array(struct pl_arena *arena)
{
    return tree_make(arena, PL_ARRAY);
}

struct pl_tree *pl_tree_bool(struct pl_arena *arena, bool value)
{
    struct pl_tree *tree = tree_make(arena, PL_BOOL);
    tree->boolean = value;
    return tree;
}

struct pl_tree *pl_tree_int(struct pl_arena *arena, int64_t value)
{
    struct pl_tree *tree = tree_make(arena, PL_NUMBER);
    tree->text = pl_arena_f(arena, "%" PRId64, value);
    return tree;
}

struct pl_tree *pl_tree_str(struct pl_arena *arena, struct pl_slice text)
{
    struct pl_tree *tree = tree_make(arena, PL_STRING);
    tree->text = pl_arena_copy(arena, text);
    return tree;
}

struct pl_tree *pl_tree_strz(struct pl_arena *arena, const char *text)
{
    return pl_tree_str(arena, pl_slice_z(text));
}

static void tree_append(struct pl_arena *arena, struct pl_tree *tree, struct pl_slice key,
                        struct pl_tree *value)
{
    struct pl_tree_item *item = pl_arena_alloc(arena, sizeof(*item));
    item->key = key;
    item->value = value;
    item->prev = tree->last;
    if (tree->last != NULL)
        tree->last->next = item;
    else
        tree->first = item;
    tree->last = item;
    tree->count++;
    if (tree->count > PL_TREE_INDEX_FROM && tree->type == PL_OBJECT && tree->index == NULL)
        tree->index = pl_tree_index_create(arena);
}

struct pl_tree *pl_tree_from_node(struct pl_arena *arena, struct pl_node node)
{
    enum pl_type type = pl_node_type(node);
    struct pl_scratch scratch;
    if (type == PL_MISSING)
        return NULL;
    struct pl_tree *tree = tree_make(arena, type);
    if (type == PL_BOOL)
        tree->boolean = pl_node_bool(node);
    else if (type == PL_STRING)
        tree->text = pl_arena_copy(arena, pl_node_str(node, &scratch));
    else if (type == PL_NUMBER)
        tree->text = pl_arena_copy(arena, pl_node_number(node, &scratch));
    struct pl_iter it = pl_iter(node);
    while (pl_iter_next(&it))
        tree_append(arena, tree,
                    type == PL_OBJECT ? pl_arena_copy(arena, it.key) : pl_slice(NULL, 0),
                    pl_tree_from_node(arena, it.value));
    return tree;
}

struct pl_tree *pl_tree_copy(struct pl_arena *arena, const struct pl_tree *tree)
{
    if (tree == NULL)
        return NULL;
    struct pl_tree *copy = tree_make(arena, tree->type);
    copy->boolean = tree->boolean;
    copy->text = tree->text; /* texts are never changed in place */
    for (const struct pl_tree_item *item = tree->first; item != NULL; item = item->next)
        tree_append(arena, copy, item->key, pl_tree_copy(arena, item->value));
    return copy;
}

void pl_tree_push_texts(struct pl_arena *arena, struct pl_tree *array, const char *list)
{
    while (*list != '\0') {
        size_t len = strcspn(list, ",");
        pl_tree_push(arena, array, pl_tree_str(arena, pl_slice(list, len)));
        list += len + (list[len] == ',');
    }
}

struct pl_tree *pl_tree_texts(struct pl_arena *arena, const char *list)
{
    struct pl_tree *array = pl_tree_array(arena);
    pl_tree_push_texts(arena, array, list);
    return array;
}

/* Most literals are a short text, a number or empty, and need no parser. NULL: this one does. */
static struct pl_tree *tree_scalar(struct pl_arena *arena, const char *json)
{
    size_t len = strlen(json);
    if (strcmp(json, "null") == 0)
        return tree_make(arena, PL_NULL);
    if (len >= 2 && json[0] == '"' && json[len - 1] == '"' &&
        json[strcspn(json + 1, "\\\"") + 2] == '\0')
        return pl_tree_str(arena, pl_slice(json + 1, len - 2));
    if (len == 0 || json[strspn(json, "0123456789")] != '\0')
        return NULL;
    struct pl_tree *tree = tree_make(arena, PL_NUMBER);
    tree->text = pl_arena_copy(arena, pl_slice(json, len));
    return tree;
}

struct pl_tree *pl_tree_literal(struct pl_arena *arena, const char *json)
{
    struct pl_tree *scalar = tree_scalar(arena, json);
    if (scalar != NULL)
        return scalar;
    struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_doc *doc = pl_scan_text(pl_slice_z(json), &options, NULL);
    PL_REQUIRE(doc != NULL);
    struct pl_tree *tree = pl_tree_from_node(arena, pl_doc_root(doc));
    pl_doc_unref(doc);
    return tree;
}

/* ---- reading ---- */

static struct pl_tree_item *tree_find(const struct pl_tree *object, struct pl_slice key)
{
    if (object == NULL || object->type != PL_OBJECT)
        return NULL;
    if (object->index != NULL)
        return pl_tree_index_find(object->index, object, key);
    for (struct pl_tree_item *item = object->first; item != NULL; item = item->next)
        if (pl_slice_eq(item->key, key))
            return item;
    return NULL;
}

struct pl_tree *pl_tree_get(const struct pl_tree *object, struct pl_slice key)
{
    struct pl_tree_item *item = tree_find(object, key);
    return item != NULL ? item->value : NULL;
}

struct pl_tree *pl_tree_getz(const struct pl_tree *object, const char *key)
{
    return pl_tree_get(object, pl_slice_z(key));
}

struct pl_tree *pl_tree_dig(const struct pl_tree *object, const char *path)
{
    for (;;) {
        const char *dot = strchr(path, '.');
        if (dot == NULL)
            return pl_tree_getz(object, path);
        object = pl_tree_get(object, pl_slice(path, (size_t)(dot - path)));
        path = dot + 1;
    }
}

struct pl_tree *pl_tree_at(const struct pl_tree *array, size_t index)
{
    if (array == NULL || array->type != PL_ARRAY)
        return NULL;
    const struct pl_tree_item *item = array->first;
    while (item != NULL && index-- > 0)
        item = item->next;
    return item != NULL ? item->value : NULL;
}

enum pl_type pl_tree_type(const struct pl_tree *tree)
{
    return tree != NULL ? tree->type : PL_MISSING;
}

bool pl_tree_is(const struct pl_tree *tree, enum pl_type type)
{
    return pl_tree_type(tree) == type;
}

struct pl_slice pl_tree_text(const struct pl_tree *tree)
{
    return pl_tree_is(tree, PL_STRING) ? tree->text : pl_slice(NULL, 0);
}

struct pl_slice pl_tree_text_at(const struct pl_tree *object, const char *path)
{
    return pl_tree_text(pl_tree_dig(object, path));
}

bool pl_tree_integer(const struct pl_tree *tree, int64_t *value)
{
    if (!pl_tree_is(tree, PL_NUMBER))
        return false;
    char text[32];
    if (tree->text.len >= sizeof(text))
        return false;
    memcpy(text, tree->text.ptr, tree->text.len);
    text[tree->text.len] = '\0';
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (*end == '\0' && errno == 0) {
        *value = number;
        return true;
    }
    double d = strtod(text, &end);
    if (*end != '\0' || d < -9.2e18 || d > 9.2e18 || d != (double)(int64_t)d)
        return false;
    *value = (int64_t)d;
    return true;
}

static bool equal_numbers(const struct pl_tree *a, const struct pl_tree *b)
{
    int64_t x, y;
    if (pl_slice_eq(a->text, b->text))
        return true;
    if (pl_tree_integer(a, &x) && pl_tree_integer(b, &y))
        return x == y;
    char ta[64], tb[64];
    if (a->text.len >= sizeof(ta) || b->text.len >= sizeof(tb))
        return false;
    snprintf(ta, sizeof(ta), "%.*s", PL_FMT(a->text));
    snprintf(tb, sizeof(tb), "%.*s", PL_FMT(b->text));
    double da = strtod(ta, NULL), db = strtod(tb, NULL);
    return !(da < db) && !(da > db);
}

static bool equal_objects(const struct pl_tree *a, const struct pl_tree *b)
{
    const struct pl_tree_item *y = b->first;
    for (const struct pl_tree_item *x = a->first; x != NULL; x = x->next) {
        /* Members usually come in the same order. */
        const struct pl_tree *other =
            y != NULL && pl_slice_eq(x->key, y->key) ? y->value : pl_tree_get(b, x->key);
        if (!pl_tree_equal(x->value, other))
            return false;
        y = y != NULL ? y->next : NULL;
    }
    return true;
}

bool pl_tree_equal(const struct pl_tree *a, const struct pl_tree *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->type != b->type || a->count != b->count)
        return false;
    switch (a->type) {
    case PL_BOOL:
        return a->boolean == b->boolean;
    case PL_STRING:
        return pl_slice_eq(a->text, b->text);
    case PL_NUMBER:
        return equal_numbers(a, b);
    case PL_OBJECT:
        return equal_objects(a, b);
    case PL_ARRAY:
        for (const struct pl_tree_item *x = a->first, *y = b->first; x != NULL;
             x = x->next, y = y->next)
            if (!pl_tree_equal(x->value, y->value))
                return false;
        return true;
    default:
        return true;
    }
}

/* ---- changing ---- */

void pl_tree_set(struct pl_arena *arena, struct pl_tree *object, struct pl_slice key,
                 struct pl_tree *value)
{
    PL_REQUIRE(object->type == PL_OBJECT);
    struct pl_tree_item *item = tree_find(object, key);
    if (item != NULL)
        item->value = value;
    else
        tree_append(arena, object, pl_arena_copy(arena, key), value);
}

void pl_tree_setz(struct pl_arena *arena, struct pl_tree *object, const char *key,
                  struct pl_tree *value)
{
    pl_tree_set(arena, object, pl_slice_z(key), value);
}

void pl_tree_set_strz(struct pl_arena *arena, struct pl_tree *object, const char *key,
                      const char *text)
{
    pl_tree_setz(arena, object, key, pl_tree_strz(arena, text));
}

struct pl_tree *pl_tree_default(struct pl_arena *arena, struct pl_tree *object, const char *key,
                                struct pl_tree *value)
{
    struct pl_tree *old = pl_tree_getz(object, key);
    if (old != NULL && old->type != PL_NULL)
        return old;
    pl_tree_setz(arena, object, key, value);
    return value;
}

struct pl_tree *pl_tree_child(struct pl_arena *arena, struct pl_tree *object, const char *key)
{
    struct pl_tree *child = pl_tree_getz(object, key);
    if (!pl_tree_is(child, PL_OBJECT)) {
        child = pl_tree_object(arena);
        pl_tree_setz(arena, object, key, child);
    }
    return child;
}

void pl_tree_add(struct pl_arena *arena, struct pl_tree *object, struct pl_slice key,
                 struct pl_tree *value)
{
    PL_REQUIRE(object->type == PL_OBJECT);
    tree_append(arena, object, key, value);
}

void pl_tree_push(struct pl_arena *arena, struct pl_tree *array, struct pl_tree *value)
{
    PL_REQUIRE(array->type == PL_ARRAY);
    tree_append(arena, array, pl_slice(NULL, 0), value);
}

void pl_tree_unlink(struct pl_tree *tree, struct pl_tree_item *item)
{
    if (tree->index != NULL)
        pl_tree_index_forget(tree->index, item);
    if (item->prev != NULL)
        item->prev->next = item->next;
    else
        tree->first = item->next;
    if (item->next != NULL)
        item->next->prev = item->prev;
    else
        tree->last = item->prev;
    tree->count--;
}

void pl_tree_rename(struct pl_tree *object, struct pl_tree_item *item, struct pl_slice key)
{
    item->key = key;
    if (object->index != NULL)
        pl_tree_index_reorder(object->index);
}

bool pl_tree_remove(struct pl_tree *object, struct pl_slice key)
{
    struct pl_tree_item *item = tree_find(object, key);
    if (item == NULL)
        return false;
    pl_tree_unlink(object, item);
    return true;
}

void pl_tree_removez(struct pl_tree *object, const char *key)
{
    pl_tree_remove(object, pl_slice_z(key));
}

static int tree_by_key(const void *a, const void *b)
{
    const struct pl_tree_item *const *x = a, *const *y = b;
    return pl_slice_cmp((*x)->key, (*y)->key);
}

static bool is_sorted(const struct pl_tree *tree)
{
    for (const struct pl_tree_item *item = tree->first; item->next != NULL; item = item->next)
        if (pl_slice_cmp(item->key, item->next->key) > 0)
            return false;
    return true;
}

static void sort_members(struct pl_tree *tree)
{
    struct pl_tree_item **items = pl_reallocarray(NULL, tree->count, sizeof(*items));
    size_t n = 0;
    for (struct pl_tree_item *item = tree->first; item != NULL; item = item->next)
        items[n++] = item;
    qsort(items, n, sizeof(*items), tree_by_key);
    for (size_t i = 0; i < n; i++) {
        items[i]->prev = i > 0 ? items[i - 1] : NULL;
        items[i]->next = i + 1 < n ? items[i + 1] : NULL;
    }
    tree->first = items[0];
    tree->last = items[n - 1];
    pl_free(items);
    if (tree->index != NULL)
        pl_tree_index_reorder(tree->index);
}

void pl_tree_sort_members(struct pl_tree *object)
{
    if (object->count > 0 && !is_sorted(object))
        sort_members(object);
}

void pl_tree_sort(struct pl_tree *tree)
{
    if (tree == NULL || tree->count == 0)
        return;
    if (tree->type == PL_OBJECT)
        pl_tree_sort_members(tree);
    for (struct pl_tree_item *item = tree->first; item != NULL; item = item->next)
        pl_tree_sort(item->value);
}

/* ---- out ---- */

static void build_tree(struct pl_build *build, const struct pl_tree *tree)
{
    switch (pl_tree_type(tree)) {
    case PL_BOOL:
        pl_build_bool(build, tree->boolean);
        break;
    case PL_NUMBER:
        pl_build_number(build, tree->text);
        break;
    case PL_STRING:
        pl_build_str(build, tree->text);
        break;
    case PL_ARRAY:
    case PL_OBJECT:
        if (tree->type == PL_ARRAY)
            pl_build_array(build);
        else
            pl_build_object(build);
        for (const struct pl_tree_item *item = tree->first; item != NULL; item = item->next) {
            if (tree->type == PL_OBJECT)
                pl_build_key(build, item->key);
            build_tree(build, item->value);
        }
        pl_build_end(build);
        break;
    default:
        pl_build_null(build);
    }
}

struct pl_doc *pl_tree_doc(const struct pl_tree *tree, struct pl_pool *pool)
{
    struct pl_build *build = pl_build_create(pool);
    build_tree(build, tree);
    return pl_build_close(build);
}

void pl_tree_write(struct pl_buf *out, const struct pl_tree *tree)
{
    switch (pl_tree_type(tree)) {
    case PL_BOOL:
        pl_buf_add_z(out, tree->boolean ? "true" : "false");
        break;
    case PL_NUMBER:
        pl_buf_add_slice(out, tree->text);
        break;
    case PL_STRING:
        pl_write_str(out, tree->text);
        break;
    case PL_ARRAY:
    case PL_OBJECT:
        pl_buf_add_char(out, tree->type == PL_ARRAY ? '[' : '{');
        for (const struct pl_tree_item *item = tree->first; item != NULL; item = item->next) {
            if (item != tree->first)
                pl_buf_add_char(out, ',');
            if (tree->type == PL_OBJECT) {
                pl_write_str(out, item->key);
                pl_buf_add_char(out, ':');
            }
            pl_tree_write(out, item->value);
        }
        pl_buf_add_char(out, tree->type == PL_ARRAY ? ']' : '}');
        break;
    default:
        pl_buf_add_z(out, "null");
    }
}

size_t pl_tree_bytes_at_most(const struct pl_tree *tree)
{
    const size_t each = 6, around = 8; /* \u001f; quotes, a comma, a colon, brackets, null */
    size_t bytes = around + (tree != NULL ? each * tree->text.len : 0);
    for (const struct pl_tree_item *item = tree != NULL ? tree->first : NULL; item != NULL;
         item = item->next)
        bytes += each * item->key.len + around + pl_tree_bytes_at_most(item->value);
    return bytes;
}

bool pl_tree_has_text(const struct pl_tree *list, struct pl_slice text)
{
    PL_TREE_FOR(item, list)
    if (pl_slice_eq(pl_tree_text(item->value), text))
        return true;
    return false;
}
