/* Compares a write with the cached object, and an apply with the digest of the last one. It errs in
 * one direction only: a write without a change may be sent, but a write with a change is never
 * skipped. Fields that only the server sets are left out. */
#include "write/noop.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/map.h"
#include "base/text.h"
#include "object/meta.h"
#include "value/write.h"
#include "write/field_set.h"

#include <string.h>

static bool metadata_eq(struct pl_node a, struct pl_node b)
{
    size_t in_a = 0, in_b = 0;
    for (struct pl_iter it = pl_iter(a); pl_iter_next(&it);) {
        if (pl_meta_is_server_owned(it.key))
            continue;
        in_a++;
        if (!pl_node_equal(it.value, pl_node_get(b, it.key)))
            return false;
    }
    for (struct pl_iter it = pl_iter(b); pl_iter_next(&it);)
        in_b += !pl_meta_is_server_owned(it.key);
    return in_a == in_b;
}

static bool object_eq(struct pl_node a, struct pl_node b, bool ignore_status)
{
    size_t in_a = 0, in_b = 0;
    for (struct pl_iter it = pl_iter(a); pl_iter_next(&it);) {
        if (ignore_status && pl_slice_eqz(it.key, "status"))
            continue;
        in_a++;
        struct pl_node other = pl_node_get(b, it.key);
        bool equal = pl_slice_eqz(it.key, "metadata") ? metadata_eq(it.value, other)
                                                      : pl_node_equal(it.value, other);
        if (!equal)
            return false;
    }
    for (struct pl_iter it = pl_iter(b); pl_iter_next(&it);)
        in_b += !(ignore_status && pl_slice_eqz(it.key, "status"));
    return in_a == in_b;
}

bool pl_noop_update(struct pl_node object, struct pl_node cached,
                    const struct pl_resource *resource, bool status)
{
    if (status)
        return pl_node_equal(pl_node_getz(object, "status"), pl_node_getz(cached, "status"));
    return object_eq(object, cached, resource->has_status);
}

/* True when merging the patch (RFC 7386) leaves the target unchanged. */
static bool changes_nothing(struct pl_node patch, struct pl_node target)
{
    if (pl_node_type(patch) == PL_NULL)
        return pl_node_is_missing(target);
    if (pl_node_type(patch) != PL_OBJECT)
        return pl_node_equal(patch, target);
    if (pl_node_type(target) != PL_OBJECT)
        return false;
    for (struct pl_iter it = pl_iter(patch); pl_iter_next(&it);)
        if (!changes_nothing(it.value, pl_node_get(target, it.key)))
            return false;
    return true;
}

static bool changes_no_metadata(struct pl_node patch, struct pl_node target)
{
    if (pl_node_type(patch) != PL_OBJECT || pl_node_type(target) != PL_OBJECT)
        return changes_nothing(patch, target);
    for (struct pl_iter it = pl_iter(patch); pl_iter_next(&it);)
        if (!pl_meta_is_server_owned(it.key) &&
            !changes_nothing(it.value, pl_node_get(target, it.key)))
            return false;
    return true;
}

static bool changes_no_member(struct pl_node patch, struct pl_node target, bool ignore_status)
{
    for (struct pl_iter it = pl_iter(patch); pl_iter_next(&it);) {
        struct pl_node was = pl_node_get(target, it.key);
        if (ignore_status && pl_slice_eqz(it.key, "status"))
            continue;
        if (pl_slice_eqz(it.key, "metadata") ? !changes_no_metadata(it.value, was)
                                             : !changes_nothing(it.value, was))
            return false;
    }
    return true;
}

bool pl_noop_merge_patch(struct pl_node patch, struct pl_node cached,
                         const struct pl_resource *resource, bool status)
{
    /* A script that gives a version or a uid wants the server to check them. */
    struct pl_node meta = pl_node_getz(patch, "metadata");
    if (!pl_node_is_missing(pl_node_getz(meta, "resourceVersion")))
        return false;
    struct pl_node uid = pl_node_getz(meta, "uid");
    if (!pl_node_is_missing(uid) && !pl_node_equal(uid, pl_node_dig(cached, "metadata", "uid")))
        return false;
    if (pl_node_type(patch) != PL_OBJECT || pl_node_type(cached) != PL_OBJECT)
        return false;
    if (!status)
        return changes_no_member(patch, cached, resource->has_status);
    struct pl_node change = pl_node_getz(patch, "status");
    return pl_node_is_missing(change) || changes_nothing(change, pl_node_getz(cached, "status"));
}

/* ---- applies ---- */

struct digest {
    uint64_t a, b;
    size_t len;
};

struct entry {
    struct pl_link link; /* in by_age */
    struct digest digest;
    struct pl_field_set fields;
    char *who; /* owned */
};

struct pl_applied {
    struct pl_map by_name;
    struct pl_list by_age; /* oldest first */
    size_t limit;
    uint64_t seed;
};

static struct digest digest_of(const struct pl_applied *applied, struct pl_node body)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, body, PL_WRITE_SORTED);
    struct digest digest = {
        .a = pl_hash(text.ptr, text.len, applied->seed),
        .b = pl_hash(text.ptr, text.len, ~applied->seed * UINT64_C(0x9e3779b97f4a7c15)),
        .len = text.len,
    };
    pl_buf_deinit(&text);
    return digest;
}

static void noop_drop(struct pl_applied *applied, struct entry *entry)
{
    pl_map_remove(&applied->by_name, pl_slice_z(entry->who));
    pl_link_unlink(&entry->link);
    pl_free(entry->who);
    pl_free(entry);
}

struct pl_applied *pl_applied_create(size_t limit)
{
    struct pl_applied *applied = PL_NEW(struct pl_applied);
    pl_list_init(&applied->by_age);
    applied->limit = limit;
    applied->seed = pl_hash_seed();
    return applied;
}

void pl_applied_destroy(struct pl_applied *applied)
{
    if (applied == NULL)
        return;
    PL_LIST_FOR (link, &applied->by_age)
        noop_drop(applied, PL_CONTAINER_OF(link, struct entry, link));
    pl_map_deinit(&applied->by_name);
    pl_free(applied);
}

void pl_applied_forget(struct pl_applied *applied, struct pl_slice who)
{
    struct entry *entry = pl_map_get(&applied->by_name, who);
    if (entry != NULL)
        noop_drop(applied, entry);
}

void pl_applied_remember(struct pl_applied *applied, struct pl_slice who, struct pl_node body,
                         const struct pl_schema *schema)
{
    pl_applied_forget(applied, who);
    struct entry *entry = PL_NEW(struct entry);
    entry->who = pl_text_copy(who);
    entry->digest = digest_of(applied, body);
    pl_field_set_make(&entry->fields, body, schema);
    pl_map_put(&applied->by_name, who, entry);
    pl_list_push(&applied->by_age, &entry->link);
    if (applied->by_name.count > applied->limit)
        noop_drop(applied, PL_CONTAINER_OF(pl_list_first(&applied->by_age), struct entry, link));
}

bool pl_applied_is_last(struct pl_applied *applied, struct pl_slice who, struct pl_node body)
{
    struct entry *entry = pl_map_get(&applied->by_name, who);
    if (entry == NULL)
        return false;
    struct digest digest = digest_of(applied, body);
    bool same = digest.a == entry->digest.a && digest.b == entry->digest.b &&
                digest.len == entry->digest.len;
    if (same) {
        pl_link_unlink(&entry->link);
        pl_list_push(&applied->by_age, &entry->link);
    }
    return same;
}

enum pl_applied_fields pl_applied_compare(const struct pl_applied *applied, struct pl_slice who,
                                          struct pl_node body, const struct pl_schema *schema)
{
    struct pl_field_set fields;
    const struct entry *entry = pl_map_get(&applied->by_name, who);
    if (entry == NULL)
        return PL_FIELDS_SAME;
    pl_field_set_make(&fields, body, schema);
    if (pl_field_set_has_more(&entry->fields, &fields))
        return PL_FIELDS_FEWER;
    return pl_field_set_has_more(&fields, &entry->fields) ? PL_FIELDS_MORE : PL_FIELDS_SAME;
}
