/* All objects, the counter of resourceVersions, and the history of the last events.
 *
 * Every write takes the next version, puts the object into its table, records an event with the old
 * object, and calls on_event. All this happens in one call on one thread, so versions, tables and
 * history never disagree.
 *
 * An older version is read by undoing the events since then. `floor` is the newest version whose
 * history is gone. Documents are immutable and belong to the pool, so a view of the past shares
 * unchanged documents. */
#include "apistore/storage.h"

#include "apistore/registry.h"
#include "base/alloc.h"
#include "base/check.h"
#include "object/meta.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Entries that name the same owner. */
struct dependents {
    struct pl_api_entry **items; /* owned array */
    size_t count, cap;
};

struct pl_api_storage {
    struct pl_pool *pool;                 /* borrowed */
    const struct pl_api_storage_ops *ops; /* borrowed */
    void *arg;
    uint64_t rv, floor;
    struct pl_api_event *ring; /* owned, oldest at `first` */
    size_t first, count, cap, max;
    size_t bytes, max_bytes; /* total size of the events' documents as text */
    struct pl_map by_uid;    /* uid -> entry */
    struct pl_map by_owner;  /* owner's uid -> struct dependents */
};

/* ---- the index of owners ---- */

static void dependents_add(struct pl_api_storage *storage, struct pl_slice uid,
                           struct pl_api_entry *entry)
{
    struct dependents *set = pl_map_get(&storage->by_owner, uid);
    if (set == NULL) {
        set = PL_NEW(struct dependents);
        pl_map_put(&storage->by_owner, uid, set);
    }
    if (set->count == set->cap) {
        set->cap = set->cap ? set->cap * 2 : 4;
        set->items = pl_reallocarray(set->items, set->cap, sizeof(struct pl_api_entry *));
    }
    set->items[set->count++] = entry;
}

static void dependents_remove(struct pl_api_storage *storage, struct pl_slice uid,
                              const struct pl_api_entry *entry)
{
    struct dependents *set = pl_map_get(&storage->by_owner, uid);
    for (size_t i = 0; set != NULL && i < set->count; i++) {
        if (set->items[i] != entry)
            continue;
        set->items[i] = set->items[--set->count];
        break;
    }
    if (set != NULL && set->count == 0) {
        pl_map_remove(&storage->by_owner, uid);
        pl_free(set->items);
        pl_free(set);
    }
}

static void index_owners(struct pl_api_storage *storage, struct pl_api_entry *entry, bool add)
{
    struct pl_owner owner;
    for (size_t i = 0; pl_meta_owner(pl_doc_root(entry->doc), i, &owner); i++) {
        if (owner.uid.len == 0)
            continue;
        if (add)
            dependents_add(storage, owner.uid, entry);
        else
            dependents_remove(storage, owner.uid, entry);
    }
}

struct pl_api_entry **pl_api_storage_dependents(const struct pl_api_storage *storage,
                                                struct pl_slice uid, size_t *count)
{
    const struct dependents *set = pl_map_get(&storage->by_owner, uid);
    *count = set != NULL ? set->count : 0;
    if (*count == 0)
        return NULL;
    struct pl_api_entry **copy = pl_reallocarray(NULL, *count, sizeof(struct pl_api_entry *));
    memcpy(copy, set->items, *count * sizeof(struct pl_api_entry *));
    return copy;
}

struct pl_api_entry *pl_api_storage_by_uid(const struct pl_api_storage *storage,
                                           struct pl_slice uid)
{
    return uid.len > 0 ? pl_map_get(&storage->by_uid, uid) : NULL;
}

/* ---- history ---- */

static struct pl_api_event *event_at(const struct pl_api_storage *storage, size_t i)
{
    return &storage->ring[(storage->first + i) % storage->cap];
}

static void storage_drop_oldest(struct pl_api_storage *storage)
{
    struct pl_api_event *event = event_at(storage, 0);
    storage->floor = event->rv;
    storage->bytes -= event->bytes;
    pl_doc_unref(event->doc);
    pl_doc_unref(event->old);
    storage->first = (storage->first + 1) % storage->cap;
    storage->count--;
}

static void grow_ring(struct pl_api_storage *storage)
{
    size_t cap = storage->cap ? storage->cap * 2 : 256;
    if (cap > storage->max)
        cap = storage->max;
    struct pl_api_event *ring = pl_calloc(cap, sizeof(*ring));
    for (size_t i = 0; i < storage->count; i++)
        ring[i] = *event_at(storage, i);
    pl_free(storage->ring);
    storage->ring = ring;
    storage->cap = cap;
    storage->first = 0;
}

/* Takes ownership of the event's documents. */
static void record(struct pl_api_storage *storage, struct pl_api_event event)
{
    storage->bytes += event.bytes;
    while (storage->count > 0 &&
           (storage->count == storage->max || storage->bytes > storage->max_bytes))
        storage_drop_oldest(storage);
    if (storage->count == storage->cap)
        grow_ring(storage);
    *event_at(storage, storage->count++) = event;
}

size_t pl_api_storage_after(const struct pl_api_storage *storage, uint64_t rv)
{
    size_t low = 0, high = storage->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (event_at(storage, middle)->rv <= rv)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct pl_api_event *pl_api_storage_next(const struct pl_api_storage *storage,
                                               const struct pl_api_type *type, size_t *at)
{
    while (*at < storage->count) {
        const struct pl_api_event *event = event_at(storage, (*at)++);
        if (event->type == type)
            return event;
    }
    return NULL;
}

uint64_t pl_api_storage_rv(const struct pl_api_storage *storage)
{
    return storage->rv;
}

uint64_t pl_api_storage_floor(const struct pl_api_storage *storage)
{
    return storage->floor;
}

void pl_api_storage_compact(struct pl_api_storage *storage)
{
    while (storage->count > 0)
        storage_drop_oldest(storage);
    storage->floor = storage->rv;
}

void pl_api_storage_forget_type(struct pl_api_storage *storage, const struct pl_api_type *type)
{
    for (size_t i = 0; i < storage->count; i++)
        if (event_at(storage, i)->type == type)
            event_at(storage, i)->type = NULL;
}

/* ---- creation and destruction ---- */

struct pl_api_storage *pl_api_storage_create(struct pl_pool *pool,
                                             const struct pl_api_storage_options *options,
                                             const struct pl_api_storage_ops *ops, void *arg)
{
    struct pl_api_storage *storage = PL_NEW(struct pl_api_storage);
    storage->pool = pool;
    storage->ops = ops;
    storage->arg = arg;
    storage->max = options->history;
    storage->max_bytes = options->history_bytes;
    storage->rv = storage->floor = options->first;
    return storage;
}

void pl_api_storage_destroy(struct pl_api_storage *storage)
{
    pl_api_storage_compact(storage);
    pl_free(storage->ring);
    pl_map_deinit(&storage->by_uid);
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&storage->by_owner, &at, &key, &value)) {
        pl_free(((struct dependents *)value)->items);
        pl_free(value);
    }
    pl_map_deinit(&storage->by_owner);
    pl_free(storage);
}

/* ---- writing ---- */

/* The approximate size of the object as text. Documents share equal parts, so a change mostly needs
 * less. */
static size_t storage_bytes_of(const struct pl_tree *tree)
{
    size_t bytes = tree->text.len + 3;
    for (const struct pl_tree_item *item = tree->first; item != NULL; item = item->next)
        bytes += item->key.len + 3 + storage_bytes_of(item->value);
    return bytes;
}

/* Gives the object the next version and makes it a document in the pool. */
static struct pl_doc *stamp(struct pl_api_storage *storage, struct pl_arena *arena,
                            struct pl_tree *object)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, ++storage->rv);
    pl_tree_set_strz(arena, pl_tree_child(arena, object, "metadata"), "resourceVersion", text);
    return pl_tree_doc(object, storage->pool);
}

static void emit(struct pl_api_storage *storage, struct pl_api_table *table)
{
    table->last_rv = storage->rv;
    storage->ops->on_event(storage->arg, event_at(storage, storage->count - 1));
}

struct pl_api_entry *pl_api_storage_put(struct pl_api_storage *storage, struct pl_arena *arena,
                                        struct pl_api_type *type, struct pl_slice key,
                                        struct pl_tree *object)
{
    struct pl_api_table *table = type->table;
    struct pl_doc *doc = stamp(storage, arena, object);
    struct pl_api_entry *entry = pl_api_table_find(table, key);
    struct pl_doc *old = NULL;
    if (entry == NULL) {
        struct pl_slice uid = pl_tree_text_at(object, "metadata.uid");
        entry = pl_api_table_add(table, key);
        entry->type = type;
        snprintf(entry->uid, sizeof(entry->uid), "%.*s", PL_FMT(uid));
        pl_map_put(&storage->by_uid, pl_slice_z(entry->uid), entry);
    } else {
        index_owners(storage, entry, false);
        old = entry->doc;
    }
    entry->doc = doc;
    entry->rv = storage->rv;
    index_owners(storage, entry, true);
    record(storage, (struct pl_api_event){.rv = storage->rv,
                                          .change = old == NULL ? PL_API_ADDED : PL_API_MODIFIED,
                                          .type = type,
                                          .doc = pl_doc_ref(doc),
                                          .old = old,
                                          .bytes = storage_bytes_of(object)});
    emit(storage, table);
    return entry;
}

void pl_api_storage_remove(struct pl_api_storage *storage, struct pl_api_entry *entry)
{
    struct pl_api_type *type = entry->type;
    struct pl_arena arena = {0};
    struct pl_tree *object = pl_tree_from_node(&arena, pl_doc_root(entry->doc));
    struct pl_api_event event = {
        .change = PL_API_DELETED, .type = type, .old = pl_doc_ref(entry->doc)};
    event.doc = stamp(storage, &arena, object);
    event.rv = storage->rv;
    event.bytes = storage_bytes_of(object);
    pl_arena_deinit(&arena);
    index_owners(storage, entry, false);
    pl_map_remove(&storage->by_uid, pl_slice_z(entry->uid));
    record(storage, event);
    pl_api_table_remove(type->table, entry);
    emit(storage, type->table);
}

/* ---- restart from a data folder ---- */

void pl_api_storage_restore_begin(struct pl_api_storage *storage)
{
    PL_REQUIRE(storage->count == 0);
    storage->rv = storage->floor = 0;
}

void pl_api_storage_restore(struct pl_api_storage *storage, struct pl_api_type *type,
                            struct pl_slice key, struct pl_doc *doc, uint64_t rv)
{
    struct pl_scratch scratch;
    struct pl_api_entry *entry = pl_api_table_add(type->table, key);
    struct pl_slice uid = pl_meta_uid(pl_doc_root(doc), &scratch);
    entry->type = type;
    entry->doc = doc;
    entry->rv = rv;
    snprintf(entry->uid, sizeof(entry->uid), "%.*s", PL_FMT(uid));
    pl_map_put(&storage->by_uid, pl_slice_z(entry->uid), entry);
    index_owners(storage, entry, true);
    if (rv > type->table->last_rv)
        type->table->last_rv = rv;
}

void pl_api_storage_restore_event(struct pl_api_storage *storage, const struct pl_api_event *event)
{
    record(storage, *event);
    if (event->type != NULL && event->rv > event->type->table->last_rv)
        event->type->table->last_rv = event->rv;
}

void pl_api_storage_restore_version(struct pl_api_storage *storage, uint64_t rv, uint64_t floor)
{
    storage->rv = rv;
    /* The floor may be higher already: events may not have fitted into the history. */
    if (floor > storage->floor)
        storage->floor = floor;
}

/* ---- the past ---- */

/* The state of a changed object at that time. */
struct past {
    const char *key;    /* borrowed from the map */
    struct pl_doc *doc; /* borrowed; NULL: did not exist */
};

static int storage_by_key(const void *a, const void *b)
{
    return strcmp(((const struct past *)a)->key, ((const struct past *)b)->key);
}

/* Undoes the events above rv, newest first, so the last step sets the oldest state. */
static struct past *undo(struct pl_api_storage *storage, const struct pl_api_type *type,
                         uint64_t rv, struct pl_map *seen, size_t *count)
{
    size_t from = pl_api_storage_after(storage, rv);
    struct pl_buf key = PL_BUF_INIT;
    for (size_t i = storage->count; i > from; i--) {
        const struct pl_api_event *event = event_at(storage, i - 1);
        if (event->type != type)
            continue;
        pl_buf_clear(&key);
        pl_meta_put_key(pl_doc_root(event->doc), &key);
        struct past *past = pl_map_get(seen, pl_buf_slice(&key));
        if (past == NULL) {
            past = PL_NEW(struct past);
            pl_map_put(seen, pl_buf_slice(&key), past);
        }
        past->doc = event->old;
    }
    pl_buf_deinit(&key);
    struct past *list = pl_calloc(seen->count + 1, sizeof(*list));
    size_t at = 0;
    struct pl_slice name;
    void *value;
    *count = 0;
    while (pl_map_next(seen, &at, &name, &value)) {
        list[(*count)++] = (struct past){name.ptr, ((struct past *)value)->doc};
        pl_free(value);
    }
    qsort(list, *count, sizeof(*list), storage_by_key);
    return list;
}

static void view_add(struct pl_api_view *view, const char *key, struct pl_doc *doc)
{
    if (doc == NULL)
        return;
    view->keys[view->count] = key;
    view->docs[view->count++] = doc;
}

void pl_api_storage_view(struct pl_api_storage *storage, struct pl_api_type *type, uint64_t rv,
                         struct pl_api_view *view)
{
    const struct pl_api_table *table = type->table;
    struct pl_map seen = PL_MAP_INIT;
    size_t changed = 0;
    struct past *past = table->last_rv > rv ? undo(storage, type, rv, &seen, &changed) : NULL;
    *view = (struct pl_api_view){0};
    view->keys = pl_reallocarray(NULL, table->count + changed + 1, sizeof(const char *));
    view->docs = pl_reallocarray(NULL, table->count + changed + 1, sizeof(struct pl_doc *));
    size_t j = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct pl_api_entry *entry = table->entries[i];
        for (; j < changed && strcmp(past[j].key, entry->key) < 0; j++)
            view_add(view, pl_arena_copy(&view->texts, pl_slice_z(past[j].key)).ptr, past[j].doc);
        if (j < changed && strcmp(past[j].key, entry->key) == 0)
            view_add(view, entry->key, past[j++].doc);
        else
            view_add(view, entry->key, entry->doc);
    }
    for (; j < changed; j++)
        view_add(view, pl_arena_copy(&view->texts, pl_slice_z(past[j].key)).ptr, past[j].doc);
    pl_free(past);
    pl_map_deinit(&seen);
}

void pl_api_view_deinit(struct pl_api_view *view)
{
    pl_free(view->keys);
    pl_free(view->docs);
    pl_arena_deinit(&view->texts);
}
