/* The differences between two documents, as a list of operations to apply in order.
 *
 * Within an object removals come first, then changes and additions: operations name members, so
 * none moves another. Within an array, elements are changed from the front. Then surplus elements
 * are removed from the back, or missing ones added in rising order. So each index is right when its
 * operation is applied. */
#include "object/patch_diff.h"

#include "object/pointer.h"
#include "base/buf.h"
#include "value/build.h"

struct diff {
    struct pl_build *build;
    struct pl_buf path; /* the JSON pointer to the current place, RFC 6901 */
    bool any;
};

static void operation(struct diff *d, const char *op, const struct pl_node *value)
{
    if (!d->any)
        pl_build_array(d->build);
    d->any = true;
    pl_build_object(d->build);
    pl_build_put_strz(d->build, "op", op);
    pl_build_put_str(d->build, "path", pl_buf_slice(&d->path));
    if (value != NULL) {
        pl_build_keyz(d->build, "value");
        pl_build_node(d->build, *value);
    }
    pl_build_end(d->build);
}

/* Returns the former length of the path. */
static size_t push_name(struct diff *d, struct pl_slice name)
{
    size_t at = d->path.len;
    pl_pointer_add(&d->path, name);
    return at;
}

static size_t push_index(struct diff *d, size_t index)
{
    size_t at = d->path.len;
    pl_buf_add_f(&d->path, "/%zu", index);
    return at;
}

static void pop(struct diff *d, size_t at)
{
    d->path.len = at;
    d->path.ptr[at] = '\0';
}

static void patch_diff_compare(struct diff *d, struct pl_node before, struct pl_node after);

static void compare_objects(struct diff *d, struct pl_node before, struct pl_node after)
{
    struct pl_iter it = pl_iter(before);
    while (pl_iter_next(&it)) {
        if (!pl_node_is_missing(pl_node_get(after, it.key)))
            continue;
        size_t at = push_name(d, it.key);
        operation(d, "remove", NULL);
        pop(d, at);
    }
    it = pl_iter(after);
    while (pl_iter_next(&it)) {
        struct pl_node old = pl_node_get(before, it.key);
        size_t at = push_name(d, it.key);
        if (pl_node_is_missing(old))
            operation(d, "add", &it.value);
        else
            patch_diff_compare(d, old, it.value);
        pop(d, at);
    }
}

static void compare_arrays(struct diff *d, struct pl_node before, struct pl_node after)
{
    size_t old_len = pl_node_len(before), new_len = pl_node_len(after);
    size_t shorter = old_len < new_len ? old_len : new_len, first = 0, last = 0;
    if (old_len != new_len) {
        while (first < shorter &&
               pl_node_equal(pl_node_at(before, first), pl_node_at(after, first)))
            first++;
        while (last < shorter - first && pl_node_equal(pl_node_at(before, old_len - 1 - last),
                                                       pl_node_at(after, new_len - 1 - last)))
            last++;
    }
    size_t both = shorter - last;
    for (size_t i = first; i < both; i++) {
        size_t at = push_index(d, i);
        patch_diff_compare(d, pl_node_at(before, i), pl_node_at(after, i));
        pop(d, at);
    }
    for (size_t i = old_len - last; i > both && old_len > new_len; i--) {
        size_t at = push_index(d, i - 1);
        operation(d, "remove", NULL);
        pop(d, at);
    }
    for (size_t i = both; i < new_len - last && new_len > old_len; i++) {
        struct pl_node value = pl_node_at(after, i);
        size_t at = push_index(d, i);
        operation(d, "add", &value);
        pop(d, at);
    }
}

static void patch_diff_compare(struct diff *d, struct pl_node before, struct pl_node after)
{
    enum pl_type old = pl_node_type(before), now = pl_node_type(after);
    if (pl_node_is_same(before, after))
        return;
    if (old == PL_OBJECT && now == PL_OBJECT)
        compare_objects(d, before, after);
    else if (old == PL_ARRAY && now == PL_ARRAY)
        compare_arrays(d, before, after);
    else if (!pl_node_equal(before, after))
        operation(d, "replace", &after);
}

struct pl_doc *pl_patch_diff(struct pl_node before, struct pl_node after)
{
    struct diff d = {.build = pl_build_create(NULL)};
    struct pl_doc *patch = NULL;
    patch_diff_compare(&d, before, after);
    if (d.any) {
        pl_build_end(d.build);
        patch = pl_build_finish(d.build);
    }
    pl_build_destroy(d.build);
    pl_buf_deinit(&d.path);
    return patch;
}
