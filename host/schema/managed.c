/* metadata.managedFields: who wrote which fields. An update is compared with the old object; the
 * writer becomes the owner of added and changed fields, and all others lose them. The server's own
 * metadata has no owner. Entries without fields are removed. If there are more than ten updating
 * managers, the oldest entries are merged into one, as in kube-apiserver, so that the list has a
 * limit. */
#include "schema/managed.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* If there are more updating managers, the oldest are merged into one entry. */
#define MAX_UPDATERS 10
#define ANCIENT_NAME "ancient-changes"

/* A set of fields: "." or a letter and ":" begin each name. */
static bool is_field_set(const struct pl_tree *fields)
{
    bool good = pl_tree_is(fields, PL_OBJECT);
    PL_TREE_FOR(item, good ? fields : NULL)
    {
        bool self = pl_slice_eqz(item->key, ".");
        bool marked = item->key.len >= 2 && item->key.ptr[1] == ':' &&
                      memchr("fkvi", item->key.ptr[0], 4) != NULL;
        good = good && (self || marked) && is_field_set(item->value);
    }
    return good;
}

static bool is_entry(const struct pl_tree *entry)
{
    struct pl_slice operation = pl_tree_text_at(entry, "operation");
    const struct pl_tree *fields = pl_tree_getz(entry, "fieldsV1");
    return (pl_slice_eqz(operation, "Apply") || pl_slice_eqz(operation, "Update")) &&
           pl_slice_eqz(pl_tree_text_at(entry, "fieldsType"), "FieldsV1") &&
           (fields == NULL || is_field_set(fields));
}

static bool are_entries(const struct pl_tree *list)
{
    PL_TREE_FOR(item, list)
    if (!is_entry(item->value))
        return false;
    return true;
}

struct pl_tree *pl_api_managed_base(struct pl_arena *arena, const struct pl_tree *live,
                                    const struct pl_tree *sent)
{
    if (pl_tree_is(sent, PL_ARRAY)) {
        const struct pl_tree *only = pl_tree_at(sent, 0);
        bool reset = sent->count == 0 || (sent->count == 1 && only->count == 0);
        if (reset || are_entries(sent))
            return reset ? pl_tree_array(arena) : pl_tree_copy(arena, sent);
    }
    const struct pl_tree *stored = pl_tree_dig(live, "metadata.managedFields");
    return stored != NULL ? pl_tree_copy(arena, stored) : pl_tree_array(arena);
}

struct pl_tree *pl_api_managed_strip(const struct pl_api_writer *writer,
                                     const struct pl_tree *object)
{
    static const char unowned[][20] = {"name",       "namespace",     "creationTimestamp",
                                       "uid",        "managedFields", "resourceVersion",
                                       "generation", "selfLink"};
    struct pl_tree *copy = pl_tree_object(writer->arena);
    bool status = pl_slice_eqz(writer->subresource, "status");
    for (const struct pl_tree_item *item = object != NULL ? object->first : NULL; item != NULL;
         item = item->next) {
        bool is_status = pl_slice_eqz(item->key, "status");
        bool is_meta = pl_slice_eqz(item->key, "metadata");
        if (pl_slice_eqz(item->key, "apiVersion") || pl_slice_eqz(item->key, "kind") ||
            (status && !is_status && !(writer->status_has_meta && is_meta)) ||
            (!status && is_status && !writer->owns_status))
            continue;
        pl_tree_set(writer->arena, copy, item->key, pl_tree_copy(writer->arena, item->value));
    }
    struct pl_tree *meta = pl_tree_getz(copy, "metadata");
    for (size_t i = 0; meta != NULL && i < PL_ARRAY_LEN(unowned); i++)
        pl_tree_removez(meta, unowned[i]);
    if (meta != NULL && meta->count == 0)
        pl_tree_removez(copy, "metadata");
    return copy;
}

/* ---- entries ---- */

struct pl_tree *pl_api_managed_find(const struct pl_api_writer *writer,
                                    const struct pl_tree *entries, const char *operation)
{
    bool apply = strcmp(operation, "Apply") == 0;
    PL_TREE_FOR(item, entries)
    {
        const struct pl_tree *entry = item->value;
        if (pl_slice_eq(pl_tree_text_at(entry, "manager"), writer->manager) &&
            pl_slice_eqz(pl_tree_text_at(entry, "operation"), operation) &&
            pl_slice_eq(pl_tree_text_at(entry, "subresource"), writer->subresource) &&
            (apply || pl_slice_eq(pl_tree_text_at(entry, "apiVersion"), writer->api_version)))
            return item->value;
    }
    return NULL;
}

struct pl_tree *pl_api_managed_entry(const struct pl_api_writer *writer, const char *operation,
                                     struct pl_tree *fields, bool with_time)
{
    struct pl_arena *arena = writer->arena;
    struct pl_tree *entry = pl_tree_object(arena);
    pl_tree_setz(arena, entry, "manager", pl_tree_str(arena, writer->manager));
    pl_tree_set_strz(arena, entry, "operation", operation);
    pl_tree_setz(arena, entry, "apiVersion", pl_tree_str(arena, writer->api_version));
    if (with_time && !pl_slice_eqz(writer->subresource, "scale"))
        pl_tree_setz(arena, entry, "time", writer->now);
    pl_tree_set_strz(arena, entry, "fieldsType", "FieldsV1");
    pl_tree_sort(fields);
    pl_tree_setz(arena, entry, "fieldsV1", fields);
    if (writer->subresource.len > 0)
        pl_tree_setz(arena, entry, "subresource", pl_tree_str(arena, writer->subresource));
    return entry;
}

static int by_age(const void *a, const void *b)
{
    static const char keys[][12] = {"operation", "time", "manager", "apiVersion", "subresource"};
    const struct pl_tree *x = *(const struct pl_tree *const *)a;
    const struct pl_tree *y = *(const struct pl_tree *const *)b;
    for (size_t i = 0; i < PL_ARRAY_LEN(keys); i++) {
        int order = pl_slice_cmp(pl_tree_text_at(x, keys[i]), pl_tree_text_at(y, keys[i]));
        if (order != 0)
            return order;
    }
    return 0;
}

static bool is_update(const struct pl_tree *entry)
{
    return pl_slice_eqz(pl_tree_text_at(entry, "operation"), "Update");
}

/* Merges the oldest updates into one entry until no more than the limit are left. */
static size_t merge_ancient(struct pl_arena *arena, struct pl_tree **list, size_t count)
{
    size_t first = 0;
    while (first < count && !is_update(list[first]))
        first++;
    while (count - first > MAX_UPDATERS) {
        struct pl_tree *fields = pl_api_fields_union(arena, pl_tree_getz(list[first], "fieldsV1"),
                                                     pl_tree_getz(list[first + 1], "fieldsV1"));
        pl_tree_set_strz(arena, list[first + 1], "manager", ANCIENT_NAME);
        pl_tree_setz(arena, list[first + 1], "fieldsV1", fields);
        memmove(list + first, list + first + 1, (count - first - 1) * sizeof(*list));
        count--;
    }
    return count;
}

struct pl_tree *pl_api_managed_sorted(struct pl_arena *arena, struct pl_tree *entries)
{
    if (entries == NULL || entries->count == 0)
        return NULL;
    struct pl_tree **list = pl_reallocarray(NULL, entries->count, sizeof(*list));
    size_t count = 0;
    PL_TREE_FOR(item, entries)
    list[count++] = item->value;
    qsort(list, count, sizeof(*list), by_age);
    count = merge_ancient(arena, list, count);
    struct pl_tree *sorted = pl_tree_array(arena);
    for (size_t i = 0; i < count; i++) {
        pl_tree_sort(pl_tree_getz(list[i], "fieldsV1"));
        pl_tree_push(arena, sorted, list[i]);
    }
    pl_free(list);
    return sorted;
}

bool pl_api_managed_same(const struct pl_tree *a, const struct pl_tree *b)
{
    size_t na = a != NULL ? a->count : 0, nb = b != NULL ? b->count : 0;
    if (na != nb)
        return false;
    PL_TREE_FOR(item, a)
    {
        bool found = false;
        PL_TREE_FOR(other, b)
        {
            const struct pl_tree *x = item->value, *y = other->value;
            found =
                found ||
                (pl_slice_eq(pl_tree_text_at(x, "manager"), pl_tree_text_at(y, "manager")) &&
                 pl_slice_eq(pl_tree_text_at(x, "operation"), pl_tree_text_at(y, "operation")) &&
                 pl_slice_eq(pl_tree_text_at(x, "apiVersion"), pl_tree_text_at(y, "apiVersion")) &&
                 pl_slice_eq(pl_tree_text_at(x, "subresource"),
                             pl_tree_text_at(y, "subresource")) &&
                 pl_api_fields_equal(pl_tree_getz(x, "fieldsV1"), pl_tree_getz(y, "fieldsV1")));
        }
        if (!found)
            return false;
    }
    return true;
}

/* ---- updates ---- */

static void compare_forms(const struct pl_api_writer *writer, const struct pl_schema *schema,
                          const struct pl_tree *live, const struct pl_tree *object,
                          struct pl_api_difference *diff)
{
    struct pl_tree *before = pl_api_managed_strip(writer, live);
    struct pl_tree *after = pl_api_managed_strip(writer, object);
    /* metadata always exists, so it never counts as added. */
    pl_tree_child(writer->arena, before, "metadata");
    pl_tree_child(writer->arena, after, "metadata");
    pl_api_fields_compare(writer->arena, before, after, schema, diff);
}

/* What is left of an entry's fields after the update. */
static struct pl_tree *left_of(const struct pl_api_writer *writer, const struct pl_tree *entry,
                               const struct pl_api_difference *same,
                               const struct pl_api_difference *other)
{
    struct pl_arena *arena = writer->arena;
    bool is_other = writer->other != NULL &&
                    pl_slice_eq(pl_tree_text_at(entry, "apiVersion"), writer->other->api_version);
    const struct pl_api_difference *diff = is_other ? other : same;
    struct pl_tree *fields = pl_tree_getz(entry, "fieldsV1");
    fields = pl_api_fields_difference(arena, fields,
                                      pl_api_fields_union(arena, diff->added, diff->modified));
    return pl_api_fields_difference(arena, fields, diff->removed);
}

struct pl_tree *pl_api_managed_update(const struct pl_api_writer *writer,
                                      const struct pl_tree *entries, const struct pl_tree *live,
                                      const struct pl_tree *object)
{
    struct pl_arena *arena = writer->arena;
    struct pl_api_difference diff, other = {0};
    struct pl_tree *out = pl_tree_array(arena);
    compare_forms(writer, writer->schema, live, object, &diff);
    if (writer->other != NULL)
        compare_forms(writer, writer->other->schema, writer->other->live, writer->other->object,
                      &other);
    struct pl_tree *mine = pl_api_fields_union(arena, diff.added, diff.modified);
    bool recorded = pl_api_fields_empty(mine) || writer->is_silent;
    struct pl_tree *own = pl_api_managed_find(writer, entries, "Update");
    PL_TREE_FOR(item, entries)
    {
        struct pl_tree *entry = item->value;
        struct pl_tree *fields = left_of(writer, entry, &diff, &other);
        if (entry == own && !recorded) {
            fields = pl_api_fields_union(arena, fields, mine);
            if (!pl_slice_eqz(writer->subresource, "scale"))
                pl_tree_setz(arena, entry, "time", writer->now);
            recorded = true;
        }
        if (pl_api_fields_empty(fields))
            continue;
        pl_tree_setz(arena, entry, "fieldsV1", fields);
        pl_tree_push(arena, out, entry);
    }
    if (!recorded)
        pl_tree_push(arena, out, pl_api_managed_entry(writer, "Update", mine, true));
    return pl_api_managed_sorted(arena, out);
}
