/* Merge patches, and the one-member change that the host itself makes most often. */
#include "object/patch.h"

#include "value/build.h"
#include "value/member.h"

/* ---- RFC 7386 ---- */

static void patch_merge(struct pl_build *b, struct pl_node target, struct pl_node patch);

static void merge_members(struct pl_build *b, struct pl_node target, struct pl_node patch)
{
    struct pl_members members;
    struct pl_iter it = pl_iter(target);
    pl_members_init(&members, patch);
    while (pl_iter_next(&it)) {
        struct pl_node change = pl_members_get(&members, it.key);
        if (pl_node_type(change) == PL_NULL)
            continue;
        pl_build_key(b, it.key);
        if (pl_node_is_missing(change))
            pl_build_node(b, it.value);
        else
            patch_merge(b, it.value, change);
    }
    pl_members_deinit(&members);
}

static void patch_merge(struct pl_build *b, struct pl_node target, struct pl_node patch)
{
    if (pl_node_type(patch) != PL_OBJECT) {
        pl_build_node(b, patch);
        return;
    }
    if (pl_node_type(target) != PL_OBJECT)
        target = PL_NODE_MISSING;
    pl_build_object(b);
    merge_members(b, target, patch);
    struct pl_members members;
    struct pl_iter it = pl_iter(patch);
    pl_members_init(&members, target);
    while (pl_iter_next(&it)) {
        if (pl_node_type(it.value) == PL_NULL ||
            !pl_node_is_missing(pl_members_get(&members, it.key)))
            continue;
        pl_build_key(b, it.key);
        patch_merge(b, PL_NODE_MISSING, it.value);
    }
    pl_members_deinit(&members);
    pl_build_end(b);
}

struct pl_doc *pl_patch_merge(struct pl_node target, struct pl_node patch, struct pl_err *err)
{
    if (pl_node_is_missing(patch)) {
        pl_err_set(err, PL_EINVAL, "there is no patch");
        return NULL;
    }
    struct pl_build *b = pl_build_create(NULL);
    patch_merge(b, target, patch);
    return pl_build_close(b);
}

/* ---- one member ---- */

static void build_with(struct pl_build *b, struct pl_node base, const char *const *keys,
                       size_t count, struct pl_node value)
{
    if (count == 0) {
        pl_build_node(b, value);
        return;
    }
    struct pl_slice key = pl_slice_z(keys[0]);
    bool removes = pl_node_is_missing(value), found = false;
    struct pl_iter it = pl_iter(base);
    pl_build_object(b);
    while (pl_node_type(base) == PL_OBJECT && pl_iter_next(&it)) {
        bool here = pl_slice_eq(it.key, key);
        found = found || here;
        if (here && removes && count == 1)
            continue;
        pl_build_key(b, it.key);
        /* removing a member of a value that is not an object changes nothing */
        if (here && !(removes && pl_node_type(it.value) != PL_OBJECT))
            build_with(b, it.value, keys + 1, count - 1, value);
        else
            pl_build_node(b, it.value);
    }
    if (!found && !removes) {
        pl_build_key(b, key);
        build_with(b, PL_NODE_MISSING, keys + 1, count - 1, value);
    }
    pl_build_end(b);
}

struct pl_doc *pl_doc_with(struct pl_node base, const char *const *keys, size_t count,
                           struct pl_node value)
{
    struct pl_build *b = pl_build_create(NULL);
    build_with(b, base, keys, count, value);
    return pl_build_close(b);
}
