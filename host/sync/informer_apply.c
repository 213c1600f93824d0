/* Reports changes of the store to the backlog and to key watches (rule 21). */
#include "sync/informer_impl.h"

#include "base/alloc.h"
#include "object/meta.h"

#define COMPACT_DELAY PL_SECOND   /* most bursts of removals are over by then */
#define COMPACT_LEAST 1000        /* removals that start a compaction */
#define COMPACT_SOME  256         /* objects between looks at the clock */
#define COMPACT_SLICE (2 * PL_MS) /* then other work has its turn */

static void drop_if_empty(struct pl_informer *informer, struct pl_slice key,
                          struct pl_list *watches)
{
    if (watches == NULL || !pl_list_empty(watches) || informer->telling > 0)
        return;
    pl_map_remove(&informer->key_watches, key);
    pl_free(watches);
}

static void tell_key_watches(struct pl_informer *informer, struct pl_slice key)
{
    struct pl_list *watches =
        informer->key_watches.count > 0 ? pl_map_get(&informer->key_watches, key) : NULL;
    if (watches == NULL)
        return;
    /* A callback may remove any of them, and call this function again. */
    struct pl_list due;
    struct pl_link *link;
    pl_list_init(&due);
    pl_list_splice(&due, watches);
    informer->telling++;
    while ((link = pl_list_pop(&due)) != NULL) {
        struct pl_key_watch *watch = PL_CONTAINER_OF(link, struct pl_key_watch, link);
        pl_list_push(watches, &watch->link);
        watch->changed(watch);
    }
    informer->telling--;
    drop_if_empty(informer, key, watches);
}

static bool is_same_version(struct pl_doc *a, struct pl_doc *b)
{
    struct pl_scratch scratch[2];
    if (!pl_meta_same_rv(pl_doc_root(a), pl_doc_root(b)) ||
        pl_meta_rv(pl_doc_root(a), &scratch[0]).len == 0)
        return false;
    return pl_slice_eq(pl_meta_uid(pl_doc_root(a), &scratch[0]),
                       pl_meta_uid(pl_doc_root(b), &scratch[1]));
}

static void informer_apply_tell(struct pl_informer *informer, struct pl_slice key,
                                const struct pl_event *event)
{
    pl_backlog_push(informer->backlog, key, event);
    tell_key_watches(informer, key);
}

void pl_informer_added(struct pl_informer *informer, struct pl_slice key, struct pl_doc *object,
                       bool initial)
{
    struct pl_event event = {.type = PL_EVENT_CREATE, .object = object, .initial = initial};
    informer_apply_tell(informer, key, &event);
}

void pl_informer_updated(struct pl_informer *informer, struct pl_slice key, struct pl_doc *old,
                         struct pl_doc *object)
{
    struct pl_event event = {.type = PL_EVENT_UPDATE, .object = object, .old = old};
    /* A relist that finds only known states delivers nothing. */
    if (!is_same_version(old, object))
        informer_apply_tell(informer, key, &event);
}

/* ---- after many removals ---- */

static void on_compact(struct pl_timer *timer);

/* Compacting walks over all remaining objects, so half as many removals must have paid for it. */
static void arm_compact(struct pl_informer *informer)
{
    struct pl_timer *timer = &informer->compact;
    if (informer->removed < COMPACT_LEAST || pl_timer_is_active(timer) || informer->stopping ||
        informer->removed < pl_store_count(informer->store) / 2)
        return;
    informer->compact_at = 0;
    pl_timer_start(pl_informer_timers(informer), timer, COMPACT_DELAY, on_compact);
}

static void on_compact(struct pl_timer *timer)
{
    struct pl_informer *informer = PL_CONTAINER_OF(timer, struct pl_informer, compact);
    int64_t until = pl_informer_now(informer) + COMPACT_SLICE;
    if (informer->compact_at == 0)
        informer->removed = 0;
    do {
        if (!pl_store_compact(informer->store, pl_site_pool(informer->site), &informer->compact_at,
                              COMPACT_SOME)) {
            arm_compact(informer);
            return;
        }
    } while (pl_informer_now(informer) < until);
    pl_timer_start(pl_informer_timers(informer), timer, 0, on_compact);
}

void pl_informer_removed(struct pl_informer *informer, size_t count)
{
    informer->removed += count;
    arm_compact(informer);
}

void pl_informer_stop_compact(struct pl_informer *informer)
{
    pl_timer_stop(pl_informer_timers(informer), &informer->compact);
}

void pl_informer_deleted(struct pl_informer *informer, struct pl_slice key, struct pl_doc *object,
                         bool stale)
{
    struct pl_event event = {.type = PL_EVENT_DELETE, .object = object, .stale = stale};
    informer->removed++;
    arm_compact(informer);
    if (object != NULL)
        informer_apply_tell(informer, key, &event);
}

/* With a feed for each namespace: the version that all of them have reached. */
void pl_informer_update_rv(struct pl_informer *informer)
{
    struct pl_slice least = {0};
    for (size_t i = 0; i < informer->feed_count; i++) {
        struct pl_slice rv = pl_feed_rv(informer->feeds[i]);
        if (i == 0 || rv.len == 0 || pl_rv_is_at_most(rv, least))
            least = rv;
        if (rv.len == 0)
            break;
    }
    pl_store_set_rv(informer->store, least);
}

/* ---- key watches ---- */

void pl_informer_watch_key(struct pl_informer *informer, struct pl_key_watch *watch)
{
    struct pl_slice key = pl_slice_z(watch->key);
    struct pl_list *watches = pl_map_get(&informer->key_watches, key);
    if (watches == NULL) {
        watches = PL_NEW(struct pl_list);
        pl_list_init(watches);
        pl_map_put(&informer->key_watches, key, watches);
    }
    watch->informer = informer;
    pl_list_push(watches, &watch->link);
}

void pl_informer_unwatch_key(struct pl_key_watch *watch)
{
    struct pl_informer *informer = watch->informer;
    if (informer == NULL)
        return;
    watch->informer = NULL;
    pl_link_unlink(&watch->link);
    struct pl_slice key = pl_slice_z(watch->key);
    drop_if_empty(informer, key, pl_map_get(&informer->key_watches, key));
}
