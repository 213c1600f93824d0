/* Finds the differences between two documents, as paths. The cost depends on the differences, not
 * on the size of the objects: two nodes at one position are equal, objects of one pool that share a
 * list of names are compared in step without looking names up, and values with equal bytes are not
 * read.
 *
 * Arrays of different lengths count as one difference; elements are not matched up. The visitor may
 * end the walk; this keeps limits on the number of paths. For speed this file reads tapes itself
 * (value/tape.h). */
#include "object/diff.h"

#include "base/alloc.h"
#include "base/text.h"
#include "value/member.h"
#include "object/path.h"
#include "value/tape.h"

struct walk {
    pl_diff_fn visit;
    void *arg;
    bool stopped;
    struct pl_buf path; /* of the values being compared */
};

static void diff_report(struct walk *walk)
{
    walk->stopped = walk->stopped || !walk->visit(walk->arg, pl_buf_slice(&walk->path));
}

static void back_to(struct walk *walk, size_t len)
{
    walk->path.len = len;
    if (walk->path.ptr != NULL)
        walk->path.ptr[len] = '\0';
}

static void diff_compare(struct walk *walk, struct pl_node old_node, struct pl_node new_node);

static void compare_member(struct walk *walk, struct pl_slice key, struct pl_node old_node,
                           struct pl_node new_node)
{
    size_t len = walk->path.len;
    pl_path_add_key(&walk->path, key);
    diff_compare(walk, old_node, new_node);
    back_to(walk, len);
}

static void compare_objects(struct walk *walk, struct pl_node old_node, struct pl_node new_node)
{
    struct pl_members members;
    struct pl_iter it = pl_iter(old_node);
    size_t kept = 0;
    pl_members_init(&members, new_node);
    while (!walk->stopped && pl_iter_next(&it)) {
        struct pl_node now = pl_members_get(&members, it.key);
        kept += !pl_node_is_missing(now);
        if (pl_node_is_missing(now) || !tape_is_same(it.value, now))
            compare_member(walk, it.key, it.value, now);
    }
    pl_members_deinit(&members);
    if (kept == pl_node_len(new_node))
        return;
    pl_members_init(&members, old_node);
    it = pl_iter(new_node);
    while (!walk->stopped && pl_iter_next(&it))
        if (pl_node_is_missing(pl_members_get(&members, it.key)))
            compare_member(walk, it.key, PL_NODE_MISSING, it.value);
    pl_members_deinit(&members);
}

/* Objects of one pool with the same names share the list of names: no name has to be looked up, and
 * values with equal bytes are not read. Returns false if they do not share it. */
static bool compare_in_step(struct walk *walk, struct pl_node old_node, struct pl_node new_node)
{
    const uint8_t *base = old_node.doc->base;
    struct tape_box was, is;
    if (!pl_tape_open(base, old_node.at, &was) ||
        !pl_tape_open(new_node.doc->base, new_node.at, &is) || was.shape != is.shape)
        return false;
    const uint8_t *a = was.first, *b = is.first, *names = was.key;
    for (uint32_t i = 0; i < was.count && !walk->stopped; i++) {
        const uint8_t *a_end = tape_skip(a), *b_end = tape_skip(b);
        struct pl_slice name;
        names = tape_key(names, &name);
        if (a_end - a != b_end - b || !tape_text_eq(a, b, (size_t)(a_end - a)))
            compare_member(walk, name, (struct pl_node){old_node.doc, tape_resolve(base, a)},
                           (struct pl_node){new_node.doc, tape_resolve(base, b)});
        a = a_end;
        b = b_end;
    }
    return true;
}

static void compare_arrays(struct walk *walk, struct pl_node old_node, struct pl_node new_node)
{
    struct pl_iter a = pl_iter(old_node), b = pl_iter(new_node);
    while (!walk->stopped && pl_iter_next(&a) && pl_iter_next(&b)) {
        if (tape_is_same(a.value, b.value))
            continue;
        size_t len = walk->path.len;
        pl_path_add_index(&walk->path, a.index);
        diff_compare(walk, a.value, b.value);
        back_to(walk, len);
    }
}

static void diff_compare(struct walk *walk, struct pl_node old_node, struct pl_node new_node)
{
    enum pl_type type = pl_node_type(old_node);
    if (type != pl_node_type(new_node)) {
        diff_report(walk);
    } else if (type == PL_OBJECT) {
        if (!compare_in_step(walk, old_node, new_node))
            compare_objects(walk, old_node, new_node);
    } else if (type == PL_ARRAY && pl_node_len(old_node) == pl_node_len(new_node)) {
        compare_arrays(walk, old_node, new_node);
    } else if (type == PL_ARRAY || !pl_node_equal(old_node, new_node)) {
        diff_report(walk);
    }
}

void pl_diff_each(struct pl_node old_node, struct pl_node new_node, pl_diff_fn visit, void *arg)
{
    struct walk walk = {.visit = visit, .arg = arg};
    if (pl_node_is_missing(old_node) || pl_node_is_missing(new_node) ||
        !pl_node_is_same(old_node, new_node))
        diff_compare(&walk, old_node, new_node);
    pl_buf_deinit(&walk.path);
}

struct keep {
    struct pl_paths *out;
    size_t limit;
};

static bool diff_keep(void *arg, struct pl_slice path)
{
    struct keep *keep = arg;
    struct pl_paths *out = keep->out;
    if (out->count == keep->limit) {
        out->cut = true;
        return false;
    }
    out->items = pl_reallocarray(out->items, out->count + 1, sizeof(*out->items));
    out->items[out->count++] = pl_text_copy(path);
    return true;
}

void pl_diff(struct pl_node old_node, struct pl_node new_node, size_t limit, struct pl_paths *out)
{
    *out = (struct pl_paths){NULL, 0, false};
    pl_diff_each(old_node, new_node, diff_keep, &(struct keep){out, limit});
}

void pl_paths_deinit(struct pl_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        pl_free(paths->items[i]);
    pl_free(paths->items);
    *paths = (struct pl_paths){NULL, 0, false};
}

static bool holds_members(struct pl_node desired, struct pl_node stored)
{
    struct pl_members members;
    struct pl_iter it = pl_iter(desired);
    bool holds = true;
    pl_members_init(&members, stored);
    while (holds && pl_iter_next(&it)) {
        struct pl_node found = pl_members_get(&members, it.key);
        holds =
            pl_node_type(it.value) == PL_NULL ? pl_node_is_none(found) : pl_subset(it.value, found);
    }
    pl_members_deinit(&members);
    return holds;
}

static bool holds_elements(struct pl_node desired, struct pl_node stored)
{
    struct pl_iter a = pl_iter(desired), b = pl_iter(stored);
    if (pl_node_len(desired) != pl_node_len(stored))
        return false;
    while (pl_iter_next(&a) && pl_iter_next(&b))
        if (!pl_subset(a.value, b.value))
            return false;
    return true;
}

bool pl_subset(struct pl_node desired, struct pl_node stored)
{
    enum pl_type type = pl_node_type(desired);
    if (type != pl_node_type(stored))
        return false;
    if (pl_node_is_same(desired, stored))
        return true;
    if (type == PL_OBJECT)
        return holds_members(desired, stored);
    return type == PL_ARRAY ? holds_elements(desired, stored) : pl_node_equal(desired, stored);
}
