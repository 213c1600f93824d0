/* A claim is in use while a Pod on a node mounts it and has not ended. A volume is in use while it
 * is bound. A timer checks both a moment after a deletion, so a client that reads at once still
 * sees the deletion mark, as in a cluster. While something is in use, an event of a Pod, a claim or
 * a volume starts the timer again. Otherwise nothing runs. */
#include "apiserver/storage_protection.h"

#include "apiserver/write.h"
#include "base/alloc.h"
#include "object/meta.h"

#define DELAY PL_SECOND

static const char claim_mark[] = "kubernetes.io/pvc-protection";
static const char class_mark[] = "kubernetes.io/vac-protection";
static const char volume_mark[] = "kubernetes.io/pv-protection";

struct pl_api_protection {
    struct pl_api *api; /* back-pointer */
    struct pl_timer timer;
    bool holds; /* an object in use is being deleted */
};

struct pl_api_protection *pl_api_protection_create(struct pl_api *api)
{
    struct pl_api_protection *protect = PL_NEW(struct pl_api_protection);
    protect->api = api;
    return protect;
}

void pl_api_protection_destroy(struct pl_api_protection *protect)
{
    pl_timer_stop(protect->api->timers, &protect->timer);
    pl_free(protect);
}

static struct pl_api_table *protection_table_of(struct pl_api_protection *protect,
                                                const char *plural)
{
    const char *group = strcmp(plural, "volumeattributesclasses") == 0 ? "storage.k8s.io" : "";
    return pl_api_builtin_table(protect->api->registry, group, plural);
}

/* ---- users of an object ---- */

static bool mounts(struct pl_node pod, struct pl_slice claim)
{
    struct pl_iter it = pl_iter(pl_node_dig(pod, "spec", "volumes"));
    while (pl_iter_next(&it))
        if (pl_node_str_eq(pl_node_dig(it.value, "persistentVolumeClaim", "claimName"), claim))
            return true;
    return false;
}

static bool has_ended(struct pl_node pod)
{
    struct pl_node phase = pl_node_dig(pod, "status", "phase");
    struct pl_scratch scratch;
    return pl_node_str(pl_node_dig(pod, "spec", "nodeName"), &scratch).len == 0 ||
           pl_node_str_eq(phase, pl_slice_z("Succeeded")) ||
           pl_node_str_eq(phase, pl_slice_z("Failed"));
}

static bool is_claim_used(struct pl_api_protection *protect, struct pl_node claim)
{
    const struct pl_api_table *pods = protection_table_of(protect, "pods");
    struct pl_scratch a, b;
    struct pl_slice name = pl_meta_name(claim, &b);
    struct pl_api_span span = pl_api_table_span(pods, pl_meta_namespace(claim, &a));
    for (size_t i = span.first; i < span.end; i++) {
        struct pl_node pod = pl_doc_root(pods->entries[i]->doc);
        if (!has_ended(pod) && mounts(pod, name))
            return true;
    }
    return false;
}

static bool is_volume_used(struct pl_api_protection *protect, struct pl_node volume)
{
    PL_UNUSED(protect);
    return pl_node_str_eq(pl_node_dig(volume, "status", "phase"), pl_slice_z("Bound"));
}

/* Claims and volumes name their class. */
static bool is_class_used(struct pl_api_protection *protect, struct pl_node class)
{
    static const char plurals[][24] = {"persistentvolumeclaims", "persistentvolumes"};
    struct pl_scratch scratch;
    struct pl_slice name = pl_meta_name(class, &scratch);
    for (size_t k = 0; k < PL_ARRAY_LEN(plurals); k++) {
        const struct pl_api_table *table = protection_table_of(protect, plurals[k]);
        for (size_t i = 0; i < table->count; i++)
            if (pl_node_str_eq(pl_node_dig(pl_doc_root(table->entries[i]->doc), "spec",
                                           "volumeAttributesClassName"),
                               name))
                return true;
    }
    return false;
}

/* ---- removing the finalizer ---- */

static void protection_release(struct pl_api_protection *protect, struct pl_api_entry *entry,
                               const char *mark)
{
    struct pl_arena arena = {0};
    struct pl_tree *object = pl_tree_from_node(&arena, pl_doc_root(entry->doc));
    struct pl_tree *meta = pl_tree_getz(object, "metadata");
    struct pl_tree *list = pl_tree_getz(meta, "finalizers");
    PL_TREE_FOR(item, list)
    if (pl_slice_eqz(pl_tree_text(item->value), mark))
        pl_tree_unlink(list, item);
    if (list != NULL && list->count == 0)
        pl_tree_removez(meta, "finalizers");
    pl_api_store_raw(protect->api, &arena, entry, object);
    pl_arena_deinit(&arena);
}

static void release_all(struct pl_api_protection *protect, const char *plural, const char *mark,
                        bool (*is_used)(struct pl_api_protection *protect, struct pl_node object))
{
    struct pl_api_table *table = protection_table_of(protect, plural);
    for (size_t i = table->count; i > 0; i--) { /* a removed entry moves those after it */
        struct pl_node object = pl_doc_root(table->entries[i - 1]->doc);
        if (!pl_meta_is_deleting(object) || !pl_meta_has_finalizer(object, pl_slice_z(mark)))
            continue;
        if (is_used(protect, object))
            protect->holds = true;
        else
            protection_release(protect, table->entries[i - 1], mark);
    }
}

static void protection_run(struct pl_timer *timer)
{
    struct pl_api_protection *protect = PL_CONTAINER_OF(timer, struct pl_api_protection, timer);
    protect->holds = false;
    release_all(protect, "persistentvolumeclaims", claim_mark, is_claim_used);
    release_all(protect, "persistentvolumes", volume_mark, is_volume_used);
    release_all(protect, "volumeattributesclasses", class_mark, is_class_used);
}

void pl_api_protection_note(struct pl_api_protection *protect, const struct pl_api_event *event)
{
    bool claim = pl_api_type_is_builtin(event->type, "PersistentVolumeClaim");
    bool volume = pl_api_type_is_builtin(event->type, "PersistentVolume");
    bool class = pl_api_type_is_builtin(event->type, "VolumeAttributesClass");
    bool user = pl_api_type_is_builtin(event->type, "Pod") || claim || volume;
    bool pod = protect->holds && user;
    bool goes = (claim || volume || class) && event->change != PL_API_DELETED &&
                pl_meta_is_deleting(pl_doc_root(event->doc));
    if ((goes || pod) && !pl_timer_is_active(&protect->timer))
        pl_timer_start(protect->api->timers, &protect->timer, DELAY, protection_run);
}
