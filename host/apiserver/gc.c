/* Garbage collection: dependents are deleted with their owners, and the content of namespaces and
 * CRDs with these.
 *
 * Each stored change queues the uids that it may affect. A timer processes them right after the
 * write, a limited number per turn. Processing is idempotent: it reads the current state and does
 * the next step; the changes of this step are queued again. So no order of events can leave work
 * undone. A uid is in the queue at most once. */
#include "apiserver/gc.h"

#include "apiserver/crd_life.h"
#include "apiserver/write.h"
#include "base/alloc.h"
#include "object/meta.h"

#include <stdio.h>

#define FOREGROUND "foregroundDeletion"
#define ORPHAN     "orphan"
#define BATCH      1000 /* objects per turn; the rest waits for the next turn */

/* An object to process: its uid, also if it is gone. */
struct work {
    struct pl_link link;
    char uid[48];
    bool is_gone;
};

struct pl_api_gc {
    struct pl_api *api; /* back-pointer */
    struct pl_timer timer;
    struct pl_list queue; /* of struct work */
    struct pl_map queued; /* uid -> work */
    struct pl_map gone;   /* uids of deleted owners, until the queue is empty */
    struct pl_map stuck;  /* uids of objects with an owner of an unknown kind */
    bool held;
};

static void gc_run(struct pl_timer *timer);

struct pl_api_gc *pl_api_gc_create(struct pl_api *api)
{
    struct pl_api_gc *gc = PL_NEW(struct pl_api_gc);
    gc->api = api;
    pl_list_init(&gc->queue);
    return gc;
}

void pl_api_gc_destroy(struct pl_api_gc *gc)
{
    struct pl_link *link;
    pl_timer_stop(gc->api->timers, &gc->timer);
    while ((link = pl_list_pop(&gc->queue)) != NULL)
        pl_free(PL_CONTAINER_OF(link, struct work, link));
    pl_map_deinit(&gc->queued);
    pl_map_deinit(&gc->gone);
    pl_map_deinit(&gc->stuck);
    pl_free(gc);
}

static void gc_wake(struct pl_api_gc *gc)
{
    if (!gc->held && !pl_list_empty(&gc->queue) && !pl_timer_is_active(&gc->timer))
        pl_timer_start(gc->api->timers, &gc->timer, 0, gc_run);
}

void pl_api_gc_hold(struct pl_api_gc *gc, bool held)
{
    gc->held = held;
    if (held)
        pl_timer_stop(gc->api->timers, &gc->timer);
    gc_wake(gc);
}

static void gc_enqueue(struct pl_api_gc *gc, struct pl_slice uid, bool is_gone)
{
    struct work *work = pl_map_get(&gc->queued, uid);
    if (work == NULL) {
        work = PL_NEW(struct work);
        snprintf(work->uid, sizeof(work->uid), "%.*s", PL_FMT(uid));
        pl_map_put(&gc->queued, uid, work);
        pl_list_push(&gc->queue, &work->link);
    }
    work->is_gone = work->is_gone || is_gone;
    gc_wake(gc);
}

/* Owners, the namespace and the CRD may have waited for this object. */
static void enqueue_waiting(struct pl_api_gc *gc, const struct pl_api_type *type,
                            struct pl_node object)
{
    struct pl_owner owner;
    struct pl_scratch scratch;
    struct pl_api_registry *registry = gc->api->registry;
    for (size_t i = 0; pl_meta_owner(object, i, &owner); i++)
        if (pl_api_storage_by_uid(gc->api->storage, owner.uid) != NULL)
            gc_enqueue(gc, owner.uid, false);
    struct pl_slice ns = pl_meta_namespace(object, &scratch);
    const struct pl_api_entry *entry =
        ns.len > 0 ? pl_api_table_find(pl_api_builtin_table(registry, "", "namespaces"), ns) : NULL;
    if (entry != NULL && pl_meta_is_deleting(pl_doc_root(entry->doc)))
        gc_enqueue(gc, pl_slice_z(entry->uid), false);
    if (!type->is_custom || !type->is_going)
        return;
    struct pl_buf name = PL_BUF_INIT;
    pl_buf_add_f(&name, "%s.%s", type->plural, pl_api_type_group(type));
    entry = pl_api_table_find(
        pl_api_builtin_table(registry, "apiextensions.k8s.io", "customresourcedefinitions"),
        pl_buf_slice(&name));
    if (entry != NULL)
        gc_enqueue(gc, pl_slice_z(entry->uid), false);
    pl_buf_deinit(&name);
}

/* A new definition may be that of an unknown kind. */
static void enqueue_stuck(struct pl_api_gc *gc)
{
    size_t at = 0;
    struct pl_slice uid;
    void *value;
    while (pl_map_next(&gc->stuck, &at, &uid, &value))
        gc_enqueue(gc, uid, false);
    pl_map_deinit(&gc->stuck);
    gc->stuck = PL_MAP_INIT;
}

void pl_api_gc_note(struct pl_api_gc *gc, const struct pl_api_event *event)
{
    struct pl_scratch scratch;
    struct pl_node object = pl_doc_root(event->doc);
    struct pl_slice uid = pl_meta_uid(object, &scratch);
    if (pl_api_type_is_builtin(event->type, "CustomResourceDefinition"))
        enqueue_stuck(gc);
    if (event->change == PL_API_DELETED) {
        gc_enqueue(gc, uid, true);
        enqueue_waiting(gc, event->type, object);
        return;
    }
    if (pl_meta_is_deleting(object) || pl_meta_owner_count(object) > 0)
        gc_enqueue(gc, uid, false);
    if (pl_meta_owner_count(object) > 0)
        enqueue_waiting(gc, event->type, object);
}

/* ---- deleting ---- */

static void delete_entry(struct pl_api_gc *gc, struct pl_api_entry *entry, const char *policy)
{
    struct pl_api_ctx ctx;
    struct pl_doc *left;
    bool gone;
    struct pl_api_delete_options options = {.policy = pl_slice_z(policy)};
    pl_api_ctx_init(&ctx, gc->api, entry->type);
    if (pl_api_delete_entry(&ctx, entry, &options, &left, &gone) == 0)
        pl_doc_unref(left);
    pl_api_ctx_deinit(&ctx);
}

/* Removes a finalizer, and the owner references to a uid, from an object. */
static void edit(struct pl_api_gc *gc, struct pl_api_entry *entry, const char *finalizer,
                 const char *owner_uid)
{
    struct pl_arena arena = {0};
    bool changed = false;
    struct pl_tree *object = pl_tree_from_node(&arena, pl_doc_root(entry->doc));
    struct pl_tree *meta = pl_tree_getz(object, "metadata");
    struct pl_tree *finalizers = pl_tree_getz(meta, "finalizers");
    struct pl_tree *owners = pl_tree_getz(meta, "ownerReferences");
    if (finalizer != NULL)
        PL_TREE_FOR(item, finalizers)
    if (pl_slice_eqz(pl_tree_text(item->value), finalizer)) {
        pl_tree_unlink(finalizers, item);
        changed = true;
    }
    if (owner_uid != NULL)
        PL_TREE_FOR(item, owners)
    if (pl_slice_eqz(pl_tree_text_at(item->value, "uid"), owner_uid)) {
        pl_tree_unlink(owners, item);
        changed = true;
    }
    if (finalizers != NULL && finalizers->count == 0)
        pl_tree_removez(meta, "finalizers");
    if (owners != NULL && owners->count == 0)
        pl_tree_removez(meta, "ownerReferences");
    if (changed)
        pl_api_store_raw(gc->api, &arena, entry, object);
    pl_arena_deinit(&arena);
}

/* ---- dependents ---- */

/* The state of an object's owners. */
struct verdict {
    size_t solid;    /* existing owners that do not wait for dependents */
    size_t waiting;  /* owners in foreground deletion */
    char absent[48]; /* uid of a missing owner; "" for none */
    bool is_unknown; /* an owner's kind is not served, so nothing is known about that owner */
};

/* The owner that the reference names, in the object's namespace; NULL: there is none. */
static const struct pl_api_entry *find_owner(struct pl_api_gc *gc, const struct pl_api_type *type,
                                             const struct pl_owner *ref, struct pl_slice ns)
{
    struct pl_scratch name, place;
    const struct pl_api_entry *entry = pl_api_storage_by_uid(gc->api->storage, ref->uid);
    if (entry == NULL || type == NULL || entry->type->table != type->table)
        return NULL;
    struct pl_node owner = pl_doc_root(entry->doc);
    struct pl_slice of = pl_meta_namespace(owner, &place);
    return pl_slice_eq(pl_meta_name(owner, &name), ref->name) &&
                   (of.len == 0 || pl_slice_eq(of, ns))
               ? entry
               : NULL;
}

static void judge_owner(struct pl_api_gc *gc, const struct pl_owner *ref, struct pl_slice ns,
                        struct verdict *verdict)
{
    const struct pl_api_type *type =
        pl_api_registry_find_kind(gc->api->registry, ref->api_version, ref->kind);
    bool is_gone = pl_map_get(&gc->gone, ref->uid) != NULL;
    if (type == NULL && !is_gone) {
        verdict->is_unknown = true;
        return;
    }
    if (type != NULL && ns.len == 0 && (type->flags & PL_API_NAMESPACED)) {
        verdict->solid++; /* such a reference is invalid and has no effect */
        return;
    }
    const struct pl_api_entry *owner = find_owner(gc, type, ref, ns);
    if (owner == NULL)
        snprintf(verdict->absent, sizeof(verdict->absent), "%.*s", PL_FMT(ref->uid));
    else if (pl_meta_is_deleting(pl_doc_root(owner->doc)) &&
             pl_meta_has_finalizer(pl_doc_root(owner->doc), pl_slice_z(FOREGROUND)))
        verdict->waiting++;
    else
        verdict->solid++;
}

static struct verdict gc_judge(struct pl_api_gc *gc, struct pl_node object)
{
    struct verdict verdict = {0};
    struct pl_scratch scratch;
    struct pl_owner ref;
    struct pl_slice ns = pl_meta_namespace(object, &scratch);
    for (size_t i = 0; pl_meta_owner(object, i, &ref); i++)
        judge_owner(gc, &ref, ns, &verdict);
    return verdict;
}

static void follow_owners(struct pl_api_gc *gc, struct pl_api_entry *entry)
{
    struct pl_node object = pl_doc_root(entry->doc);
    if (pl_meta_owner_count(object) == 0 || pl_meta_is_deleting(object))
        return;
    struct verdict verdict = gc_judge(gc, object);
    size_t below;
    if (verdict.is_unknown) {
        pl_map_put(&gc->stuck, pl_slice_z(entry->uid), gc);
        return;
    }
    if (verdict.solid > 0) {
        if (verdict.absent[0] != '\0')
            edit(gc, entry, NULL, verdict.absent);
        return;
    }
    pl_free(pl_api_storage_dependents(gc->api->storage, pl_slice_z(entry->uid), &below));
    const char *policy = "Background";
    if (verdict.waiting > 0 && below > 0)
        policy = "Foreground";
    else if (pl_meta_has_finalizer(object, pl_slice_z(ORPHAN)))
        policy = "Orphan";
    else if (pl_meta_has_finalizer(object, pl_slice_z(FOREGROUND)))
        policy = "Foreground";
    delete_entry(gc, entry, policy);
}

/* ---- owners that are being deleted ---- */

static bool blocks(struct pl_node dependent, const char *uid)
{
    struct pl_iter it = pl_iter(pl_node_dig(dependent, "metadata", "ownerReferences"));
    while (pl_iter_next(&it))
        if (pl_node_str_eq(pl_node_getz(it.value, "uid"), pl_slice_z(uid)) &&
            pl_node_bool(pl_node_getz(it.value, "blockOwnerDeletion")))
            return true;
    return false;
}

static void wait_for_dependents(struct pl_api_gc *gc, struct pl_api_entry *entry)
{
    size_t count, blocking = 0;
    struct pl_api_entry **list =
        pl_api_storage_dependents(gc->api->storage, pl_slice_z(entry->uid), &count);
    for (size_t i = 0; i < count; i++) {
        blocking += blocks(pl_doc_root(list[i]->doc), entry->uid);
        if (!pl_meta_is_deleting(pl_doc_root(list[i]->doc)))
            gc_enqueue(gc, pl_slice_z(list[i]->uid), false);
    }
    pl_free(list);
    if (blocking == 0)
        edit(gc, entry, FOREGROUND, NULL);
}

static void orphan_dependents(struct pl_api_gc *gc, struct pl_api_entry *entry)
{
    size_t count;
    struct pl_api_entry **list =
        pl_api_storage_dependents(gc->api->storage, pl_slice_z(entry->uid), &count);
    for (size_t i = 0; i < count; i++)
        edit(gc, list[i], NULL, entry->uid);
    pl_free(list);
    edit(gc, entry, ORPHAN, NULL);
}

/* The content is deleted first. Objects with finalizers keep the namespace, too. */
static void finish_namespace(struct pl_api_gc *gc, struct pl_api_entry *ns)
{
    size_t left = 0, prefix = strlen(ns->key);
    for (struct pl_api_type *type = pl_api_registry_first(gc->api->registry); type != NULL;
         type = type->next) {
        struct pl_api_table *table = type->table;
        if (!(type->flags & PL_API_NAMESPACED))
            continue;
        for (size_t i = table->count; i > 0; i--) {
            struct pl_api_entry *entry = table->entries[i - 1];
            if (strncmp(entry->key, ns->key, prefix) != 0 || entry->key[prefix] != '/')
                continue;
            size_t before = table->count;
            if (!pl_meta_is_deleting(pl_doc_root(entry->doc)))
                delete_entry(gc, entry, "Background");
            left += table->count == before;
        }
    }
    if (left > 0)
        return;
    struct pl_arena arena = {0};
    struct pl_tree *object = pl_tree_from_node(&arena, pl_doc_root(ns->doc));
    struct pl_tree *finalizers = pl_tree_dig(object, "spec.finalizers");
    bool changed = false;
    PL_TREE_FOR(item, finalizers)
    if (pl_slice_eqz(pl_tree_text(item->value),
                     "kubernetes")) { /* other finalizers belong to other controllers */
        pl_tree_unlink(finalizers, item);
        changed = true;
    }
    if (changed && finalizers->count == 0)
        pl_tree_removez(pl_tree_getz(object, "spec"), "finalizers");
    if (changed)
        pl_api_store_raw(gc->api, &arena, ns, object);
    pl_arena_deinit(&arena);
}

/* ---- the loop ---- */

static void gc_look_at(struct pl_api_gc *gc, const struct work *work)
{
    struct pl_api_storage *storage = gc->api->storage;
    struct pl_api_entry *entry = pl_api_storage_by_uid(storage, pl_slice_z(work->uid));
    if (entry == NULL) {
        size_t count;
        struct pl_api_entry **list =
            pl_api_storage_dependents(storage, pl_slice_z(work->uid), &count);
        for (size_t i = 0; i < count; i++)
            gc_enqueue(gc, pl_slice_z(list[i]->uid), false);
        if (count > 0 && work->is_gone)
            pl_map_put(&gc->gone, pl_slice_z(work->uid), gc);
        pl_map_remove(&gc->stuck, pl_slice_z(work->uid));
        pl_free(list);
        return;
    }
    struct pl_node object = pl_doc_root(entry->doc);
    if (!pl_meta_is_deleting(object))
        follow_owners(gc, entry);
    else if (pl_api_type_is_builtin(entry->type, "Namespace"))
        finish_namespace(gc, entry);
    else if (pl_api_type_is_builtin(entry->type, "CustomResourceDefinition"))
        pl_api_crd_finish(gc->api, entry);
    else if (pl_meta_has_finalizer(object, pl_slice_z(ORPHAN)))
        orphan_dependents(gc, entry);
    else if (pl_meta_has_finalizer(object, pl_slice_z(FOREGROUND)))
        wait_for_dependents(gc, entry);
}

static void gc_run(struct pl_timer *timer)
{
    struct pl_api_gc *gc = PL_CONTAINER_OF(timer, struct pl_api_gc, timer);
    struct pl_link *link;
    for (size_t i = 0; i < BATCH && (link = pl_list_pop(&gc->queue)) != NULL; i++) {
        struct work *work = PL_CONTAINER_OF(link, struct work, link);
        pl_map_remove(&gc->queued, pl_slice_z(work->uid));
        gc_look_at(gc, work);
        pl_free(work);
    }
    if (pl_list_empty(&gc->queue)) {
        pl_map_deinit(&gc->gone);
        gc->gone = PL_MAP_INIT;
    }
    gc_wake(gc);
}
