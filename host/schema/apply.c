/* Server-side apply: merges the configuration of a manager into the live object, removes fields
 * that the manager no longer states and nobody else owns, and finds conflicts with other managers.
 *
 * The order is kube-apiserver's: merge, remove, compare, update ownership. fieldset.c has sets of
 * fields, managed.c has managedFields; the kind's schema says how lists are merged. All trees are
 * new ones in the request's arena. Without force a conflict changes nothing; with force the manager
 * takes over the fields. */
#include "schema/managed.h"

#include "base/map.h"
#include "object/meta.h"
#include "schema/structural.h"
#include "value/scan.h"

/* ---- merging the configuration into the live object ---- */

static struct pl_tree *merge_maps(struct pl_arena *arena, const struct pl_tree *live,
                                  const struct pl_tree *config, const struct pl_schema *schema)
{
    struct pl_tree *out = pl_tree_copy(arena, live);
    PL_TREE_FOR(item, config)
    pl_tree_set(arena, out, item->key,
                pl_api_managed_merge(arena, pl_tree_get(live, item->key), item->value,
                                     pl_schema_field(schema, item->key)));
    return out;
}

/* Stated elements keep their order. Elements that only the live list has keep their places between
 * them. */
static struct pl_tree *merge_lists(struct pl_arena *arena, const struct pl_tree *live,
                                   const struct pl_tree *config, const struct pl_schema *schema)
{
    struct pl_map there = pl_api_fields_index(arena, live, schema),
                  stated = pl_api_fields_index(arena, config, schema);
    struct pl_tree *out = pl_tree_array(arena);
    const struct pl_tree_item *left = live->first, *right = config->first;
    while (left != NULL || right != NULL) {
        if (left != NULL) {
            struct pl_slice key = pl_api_fields_element(arena, left->value, schema);
            if (!pl_map_has(&stated, key)) {
                pl_tree_push(arena, out, pl_tree_copy(arena, left->value));
                left = left->next;
                continue;
            }
            if (right == NULL) { /* it keeps its place in the configuration */
                left = left->next;
                continue;
            }
        }
        struct pl_slice key = pl_api_fields_element(arena, right->value, schema);
        pl_tree_push(arena, out,
                     pl_api_managed_merge(arena, pl_map_get(&there, key), right->value,
                                          pl_schema_items(schema)));
        if (left != NULL && pl_slice_eq(key, pl_api_fields_element(arena, left->value, schema)))
            left = left->next;
        right = right->next;
    }
    pl_map_deinit(&there);
    pl_map_deinit(&stated);
    return out;
}

/* A stated null says nothing about the members of a map or the elements of a list. */
static bool stays_as_it_is(struct pl_arena *arena, const struct pl_tree *live,
                           const struct pl_tree *config, const struct pl_schema *schema)
{
    if (!pl_tree_is(config, PL_NULL) || live == NULL || live->count == 0)
        return false;
    return live->type == PL_ARRAY ? pl_api_fields_is_granular(arena, live, schema)
                                  : live->type == PL_OBJECT && !pl_schema_is_atomic(schema);
}

struct pl_tree *pl_api_managed_merge(struct pl_arena *arena, const struct pl_tree *live,
                                     const struct pl_tree *config, const struct pl_schema *schema)
{
    if (stays_as_it_is(arena, live, config, schema))
        return pl_tree_copy(arena, live);
    if (pl_tree_is(live, PL_OBJECT) && pl_tree_is(config, PL_OBJECT) &&
        !pl_schema_is_atomic(schema))
        return merge_maps(arena, live, config, schema);
    if (pl_tree_is(live, PL_ARRAY) && pl_tree_is(config, PL_ARRAY) &&
        pl_api_fields_is_granular(arena, live, schema) &&
        pl_api_fields_is_granular(arena, config, schema))
        return merge_lists(arena, live, config, schema);
    return pl_tree_copy(arena, config);
}

/* ---- removing fields that are no longer stated ---- */

/* A field above fields of the set counts as part of the set; an element does not. */
static bool apply_covers(struct pl_slice key, const struct pl_tree *node)
{
    return node != NULL && (key.ptr[0] == 'f' || pl_api_fields_is_member(node));
}

static void remove_items(struct pl_arena *arena, struct pl_tree *value,
                         const struct pl_schema *schema, const struct pl_tree *last,
                         const struct pl_tree *kept)
{
    bool map = value->type == PL_OBJECT && !pl_schema_is_atomic(schema);
    bool list = value->type == PL_ARRAY && pl_api_fields_is_granular(arena, value, schema);
    if (!map && !list)
        return;
    PL_TREE_FOR(item, value)
    {
        struct pl_slice key = map ? pl_arena_f(arena, "f:%.*s", PL_FMT(item->key))
                                  : pl_api_fields_element(arena, item->value, schema);
        const struct pl_tree *was = pl_tree_get(last, key), *is = pl_tree_get(kept, key);
        if (was == NULL)
            continue;
        if (apply_covers(key, was) && !apply_covers(key, is))
            pl_tree_unlink(value, item);
        else
            remove_items(arena, item->value,
                         map ? pl_schema_field(schema, item->key) : pl_schema_items(schema), was,
                         is);
    }
}

/* ---- conflicts ---- */

struct conflicts {
    struct pl_api_status *status;
    struct pl_buf text; /* "- .spec.a" lines of all managers */
    const char *seen_version;
    struct pl_slice who; /* the current manager */
    size_t count;
    struct pl_slice only; /* "manager: path" of the first conflict */
};

static void on_conflict(void *arg, struct pl_slice path)
{
    struct conflicts *c = arg;
    struct pl_arena *arena = c->status->arena;
    struct pl_slice message = pl_arena_f(arena, "conflict with %.*s", PL_FMT(c->who));
    pl_api_fail_cause(c->status, "FieldManagerConflict", path, message);
    pl_buf_add_f(&c->text, "\n- %.*s", PL_FMT(path));
    if (c->count++ == 0)
        c->only = pl_arena_f(arena, "%.*s: %.*s", PL_FMT(message), PL_FMT(path));
}

/* "m1", or "m1" with subresource "status" using v1 at TIME */
static struct pl_slice manager_text(struct pl_arena *arena, const struct pl_tree *entry,
                                    const char *version)
{
    struct pl_slice sub = pl_tree_text_at(entry, "subresource");
    struct pl_slice text = pl_arena_f(arena, "\"%.*s\"", PL_FMT(pl_tree_text_at(entry, "manager")));
    if (sub.len > 0)
        text = pl_arena_f(arena, "%.*s with subresource \"%.*s\"", PL_FMT(text), PL_FMT(sub));
    if (pl_slice_eqz(pl_tree_text_at(entry, "operation"), "Update"))
        text = pl_arena_f(
            arena, "%.*s using %.*s", PL_FMT(text),
            PL_FMT(version != NULL ? pl_slice_z(version) : pl_tree_text_at(entry, "apiVersion")));
    return text;
}

static void add_conflicts(struct conflicts *c, const struct pl_tree *entry, struct pl_tree *fields)
{
    struct pl_arena *arena = c->status->arena;
    c->who = manager_text(arena, entry, c->seen_version);
    pl_buf_add_f(&c->text, "%sconflicts with %.*s:", c->text.len > 0 ? "\n" : "", PL_FMT(c->who));
    pl_tree_sort(fields);
    pl_api_fields_visit(arena, fields, on_conflict, c);
}

static int fail_conflicts(struct conflicts *c)
{
    struct pl_tree *causes = c->status->causes;
    struct pl_slice text = c->count == 1 ? c->only : pl_buf_slice(&c->text);
    pl_api_fail(c->status, 409, "Conflict", "Apply failed with %zu conflict%s: %.*s", c->count,
                c->count == 1 ? "" : "s", PL_FMT(text));
    c->status->causes = causes;
    return -1;
}

/* ---- apply ---- */

/* The fields that kubectl applied before it used server-side apply, from its annotation. It may
 * take them from any manager. */
static struct pl_tree *last_applied(const struct pl_api_writer *writer, const struct pl_tree *live)
{
    struct pl_slice text =
        pl_tree_text(pl_tree_getz(pl_tree_dig(live, "metadata.annotations"), PL_META_APPLIED));
    struct pl_tree *fields = pl_tree_object(writer->arena);
    if (!pl_slice_eqz(writer->manager, "kubectl") || text.len == 0)
        return fields;
    struct pl_doc *doc = pl_scan_text(text, NULL, NULL);
    if (doc != NULL)
        fields = pl_api_fields_of(writer->arena, pl_tree_from_node(writer->arena, pl_doc_root(doc)),
                                  writer->schema);
    pl_doc_unref(doc);
    return fields;
}

/* Removes the changed fields from other managers, or fails with a conflict. free: fields that may
 * be taken. */
static int apply_settle(const struct pl_api_writer *writer, struct pl_tree *entries,
                        const struct pl_tree *own, const struct pl_api_difference *diff,
                        const struct pl_tree *free, bool force, struct pl_api_status *status)
{
    struct pl_arena *arena = writer->arena;
    struct conflicts conflicts = {
        .status = status, .text = PL_BUF_INIT, .seen_version = writer->seen_version};
    struct pl_tree *changed = pl_api_fields_union(arena, diff->added, diff->modified);
    PL_TREE_FOR(item, entries)
    {
        struct pl_tree *entry = item->value, *fields = pl_tree_getz(entry, "fieldsV1");
        struct pl_tree *both = pl_api_fields_intersection(arena, fields, changed);
        if (entry != own && !pl_api_fields_empty(both)) {
            struct pl_tree *taken = pl_api_fields_difference(arena, both, free);
            if (!pl_api_fields_empty(taken))
                add_conflicts(&conflicts, entry, taken);
            fields = pl_api_fields_difference(arena, fields, both);
        }
        fields = pl_api_fields_difference(arena, fields, diff->removed);
        if (pl_api_fields_empty(fields))
            pl_tree_unlink(entries, item);
        else
            pl_tree_setz(arena, entry, "fieldsV1", fields);
    }
    int code = conflicts.count > 0 && !force ? fail_conflicts(&conflicts) : 0;
    pl_buf_deinit(&conflicts.text);
    if (code == 0)
        status->causes = NULL, status->has_details = false;
    return code;
}

/* An entry for the fields that were written before the first apply, whose writers are unknown. */
static void add_before_apply(const struct pl_api_writer *writer, struct pl_tree *entries,
                             const struct pl_tree *live)
{
    struct pl_api_writer unknown = *writer;
    struct pl_tree *before = pl_api_managed_strip(writer, live);
    struct pl_tree *nothing = pl_tree_object(writer->arena);
    struct pl_api_difference diff;
    pl_tree_child(writer->arena, nothing, "metadata");
    pl_tree_child(writer->arena, before, "metadata");
    pl_api_fields_compare(writer->arena, nothing, before, writer->schema, &diff);
    struct pl_tree *fields = diff.added;
    if (live == NULL || entries->count > 0 || pl_api_fields_empty(fields))
        return;
    unknown.manager = pl_slice_z("before-first-apply");
    unknown.subresource = pl_slice("", 0);
    pl_tree_push(writer->arena, entries, pl_api_managed_entry(&unknown, "Update", fields, true));
}

/* All fields that have an owner now. */
static struct pl_tree *all_fields(struct pl_arena *arena, const struct pl_tree *entries,
                                  const struct pl_tree *own, const struct pl_tree *stated)
{
    struct pl_tree *all = pl_tree_copy(arena, stated);
    PL_TREE_FOR(item, entries)
    if (item->value != own)
        all = pl_api_fields_union(arena, all, pl_tree_getz(item->value, "fieldsV1"));
    return all;
}

/* Metadata and status that this writer must not set are taken from the live object. */
static struct pl_tree *put_back(const struct pl_api_writer *writer, const struct pl_tree *live,
                                struct pl_tree *object)
{
    struct pl_arena *arena = writer->arena;
    struct pl_tree *out = live != NULL ? pl_tree_copy(arena, live) : pl_tree_object(arena);
    struct pl_tree *meta = pl_tree_child(arena, out, "metadata");
    struct pl_tree *stated = pl_tree_getz(object, "metadata");
    static const char shared[][16] = {"labels", "annotations", "finalizers", "ownerReferences"};
    bool status = pl_slice_eqz(writer->subresource, "status");
    PL_TREE_FOR(item, out)
    {
        bool other = pl_slice_eqz(item->key, "status") ? !status && !writer->owns_status : status;
        if (!pl_api_is_envelope(item->key) && !other && pl_tree_get(object, item->key) == NULL)
            pl_tree_unlink(out, item);
    }
    PL_TREE_FOR(item, object)
    if (!pl_slice_eqz(item->key, "metadata"))
        pl_tree_set(arena, out, item->key, item->value);
    for (size_t i = 0; !status && i < PL_ARRAY_LEN(shared); i++) {
        struct pl_tree *value = pl_tree_getz(stated, shared[i]);
        if (value != NULL)
            pl_tree_setz(arena, meta, shared[i], value);
        else
            pl_tree_removez(meta, shared[i]);
    }
    return out;
}

/* The managedFields after this apply, of which `own` is the entry before it, or NULL. */
static struct pl_tree *entries_after(const struct pl_api_writer *writer,
                                     const struct pl_tree *entries, const struct pl_tree *own,
                                     struct pl_tree *stated, bool changed)
{
    struct pl_tree *out = pl_tree_array(writer->arena);
    struct pl_tree *time = pl_tree_getz(own, "time");
    PL_TREE_FOR(item, entries)
    if (item->value != own)
        pl_tree_push(writer->arena, out, item->value);
    if (!pl_api_fields_empty(stated)) {
        struct pl_tree *entry = pl_api_managed_entry(writer, "Apply", stated, changed);
        if (!changed && time != NULL)
            pl_tree_setz(writer->arena, entry, "time", time);
        pl_tree_push(writer->arena, out, entry);
    }
    return pl_api_managed_sorted(writer->arena, out);
}

struct pl_tree *pl_api_managed_apply(const struct pl_api_writer *writer, const struct pl_tree *live,
                                     struct pl_tree *config, bool force,
                                     struct pl_api_status *status)
{
    struct pl_arena *arena = writer->arena;
    struct pl_api_difference diff;
    struct pl_tree *entries = pl_api_managed_base(arena, live, NULL);
    add_before_apply(writer, entries, live);
    struct pl_tree *own = pl_api_managed_find(writer, entries, "Apply");
    struct pl_tree *last = own != NULL ? pl_tree_getz(own, "fieldsV1") : NULL;
    struct pl_tree *asked = pl_api_managed_strip(writer, config);
    struct pl_tree *before = pl_api_managed_strip(writer, live);
    struct pl_tree *stated = pl_api_fields_of(arena, asked, writer->schema);
    struct pl_tree *after = pl_api_managed_merge(arena, before, asked, writer->schema);
    if (last != NULL)
        remove_items(arena, after, writer->schema, last, all_fields(arena, entries, own, stated));
    bool changed = pl_api_fields_compare(arena, before, after, writer->schema, &diff);
    if (apply_settle(writer, entries, own, &diff, last_applied(writer, live), force, status) != 0)
        return NULL;
    struct pl_tree *object = put_back(writer, live, after);
    struct pl_tree *meta = pl_tree_child(arena, object, "metadata");
    if (live == NULL && writer->makes_status && pl_tree_getz(config, "status") != NULL)
        pl_tree_setz(arena, object, "status", pl_tree_getz(config, "status"));
    struct pl_tree *managed = entries_after(writer, entries, own, stated, changed);
    if (managed != NULL)
        pl_tree_setz(arena, meta, "managedFields", managed);
    else
        pl_tree_removez(meta, "managedFields");
    return object;
}
