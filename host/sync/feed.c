/* A feed's life: its reflector, its delta queue, the part that it keeps. feed_sink.c checks the
 * reflector's input; this file handles the queue's output on its way to the informer. Feeds of
 * several namespaces share the store and ignore each other's objects. */
#include "sync/feed_impl.h"

#include "base/alloc.h"
#include "object/meta.h"

/* ---- the queue's view of the store: only this feed's namespace ---- */

static int known_get(void *arg, struct pl_slice key, struct pl_doc **doc)
{
    struct pl_feed *feed = arg;
    *doc = pl_store_get(feed->informer->store, key);
    return 0;
}

static char **known_keys(void *arg)
{
    struct pl_feed *feed = arg;
    struct pl_store *store = feed->informer->store;
    return feed->ns != NULL ? pl_store_index_keys(store, PL_INDEX_NAMESPACE, pl_slice_z(feed->ns))
                            : pl_store_keys(store);
}

static const struct pl_known_ops known_ops = {known_get, known_keys};

static struct pl_feed *feed_of(struct pl_listener *listener)
{
    return PL_CONTAINER_OF(listener, struct pl_feed, listener);
}

static void on_add_stored(struct pl_listener *listener, struct pl_slice key, struct pl_doc *object,
                          bool initial)
{
    const struct pl_feed *feed = feed_of(listener);
    PL_UNUSED(initial); /* the queue counts a write's answer as part of the first list */
    pl_informer_added(feed->informer, key, object, !feed->listed);
}

static void on_update_stored(struct pl_listener *listener, struct pl_slice key, struct pl_doc *old,
                             struct pl_doc *object)
{
    pl_informer_updated(feed_of(listener)->informer, key, old, object);
}

static void on_delete_stored(struct pl_listener *listener, struct pl_slice key,
                             struct pl_doc *object, bool stale)
{
    pl_informer_deleted(feed_of(listener)->informer, key, object, stale);
}

static const struct pl_listener_ops listener_ops = {on_add_stored, on_update_stored,
                                                    on_delete_stored};

/* ---- a part alone ---- */

static void tell_whole(struct pl_timer *timer)
{
    const struct pl_feed *feed = PL_CONTAINER_OF(timer, struct pl_feed, whole);
    pl_shards_settled(pl_site_shards(feed->informer->site));
}

/* Later: the callback may change shards, and a list is being stored right now. */
static void on_whole(void *arg)
{
    struct pl_feed *feed = arg;
    pl_timer_start(pl_informer_timers(feed->informer), &feed->whole, 0, tell_whole);
}

static struct pl_slice reached(void *arg)
{
    const struct pl_feed *feed = arg;
    return pl_buf_slice(&feed->rv);
}

static bool asks(void *arg)
{
    const struct pl_feed *feed = arg;
    return pl_site_filters_uids(feed->informer->site);
}

static struct pl_listing listing_of(const struct pl_feed *feed)
{
    const struct pl_informer *informer = feed->informer;
    return (struct pl_listing){
        .client = pl_site_client(informer->site),
        .timers = pl_site_timers(informer->site),
        .rand = pl_site_rand(informer->site),
        .resource = informer->resource,
        .owner = feed->owner,
        .ns = feed->ns,
        .labels = informer->options.labels,
        .fields = informer->options.fields,
        .metadata_only = informer->options.metadata_only,
        .keep_managed_fields = informer->options.managed_fields,
        .lists = informer->lists,
    };
}

static const struct pl_feed_part_ops part_ops = {pl_feed_take_side_list, on_whole, reached,
                                                 pl_feed_no_shards};

static struct pl_feed_part *create_part(struct pl_feed *feed)
{
    const struct pl_informer *informer = feed->informer;
    struct pl_site *site = informer->site;
    struct pl_shards *shards = pl_site_shards(site);
    enum pl_share_by by = pl_share_by(shards, informer->options.part, informer->resource);
    if (by == PL_SHARE_WHOLE)
        return NULL;
    struct pl_feed_part_options options = {
        .shards = shards,
        .by = by,
        .asks = asks,
        .side_list = {.listing = listing_of(feed)},
        .ops = &part_ops,
        .arg = feed,
    };
    return pl_feed_part_create(&options);
}

/* Removes objects that are not ours any more, without events: another replica handles them now. */
static void purge(struct pl_timer *timer)
{
    struct pl_feed *feed = PL_CONTAINER_OF(timer, struct pl_feed, purging);
    struct pl_store *store = feed->informer->store;
    struct pl_docs docs = {0};
    struct pl_buf key = PL_BUF_INIT;
    size_t removed = 0;
    pl_store_list(store, 0, &docs);
    for (size_t i = 0; i < docs.count; i++) {
        struct pl_node object = pl_doc_root(docs.items[i]);
        pl_buf_clear(&key);
        if (pl_feed_part_keeps(feed->part, object, false) || pl_meta_key(object, &key, NULL) != 0)
            continue;
        pl_doc_unref(pl_store_remove(store, pl_buf_slice(&key)));
        removed++;
    }
    pl_docs_deinit(&docs);
    pl_buf_deinit(&key);
    pl_informer_removed(feed->informer, removed);
}

void pl_feed_shards_changed(struct pl_feed *feed)
{
    if (feed->part == NULL)
        return;
    if (pl_feed_part_changed(feed->part, feed->reflector))
        pl_timer_start(pl_informer_timers(feed->informer), &feed->purging, 0, purge);
    if (!feed->started && feed->may_start)
        pl_feed_start(feed);
}

bool pl_feed_has_shard(const struct pl_feed *feed, unsigned shard)
{
    return feed->part == NULL || pl_feed_part_has(feed->part, shard);
}

bool pl_feed_keeps(const struct pl_feed *feed, struct pl_node object)
{
    return feed->part == NULL || pl_feed_part_keeps(feed->part, object, false);
}

/* The kind was removed from the server, and so were its objects (F43). */
static void on_feed_gone(void *arg)
{
    struct pl_feed *feed = arg;
    struct pl_docs none = {0};
    if (pl_deltafifo_replace(feed->fifo, none.items, 0, NULL) == 0)
        pl_feed_drain(feed);
    pl_informer_gone(feed->informer);
}

static void on_changed(void *arg)
{
    struct pl_feed *feed = arg;
    pl_informer_check(feed->informer);
}

/* ---- lifetime ---- */

static struct pl_reflector *create_reflector(struct pl_feed *feed)
{
    struct pl_informer *informer = feed->informer;
    struct pl_site *site = informer->site;
    struct pl_reflector_options options = {
        .listing = listing_of(feed),
        .waits = pl_site_waits(site),
        .reconnects = pl_site_reconnects(site),
        .stream = pl_site_streams_lists(site),
        .sink = &pl_feed_sink,
        .changed = on_changed,
        .gone = on_feed_gone,
        .arg = feed,
        .watches = informer->watches,
    };
    return pl_reflector_create(&options);
}

/* "v1/ConfigMap in a,b: a" for an informer of two namespaces, "v1/ConfigMap in a" if the host's
 * namespaces split one; a single declared namespace is in the informer's name already. */
static char *feed_name_of(const struct pl_informer *informer, const char *ns)
{
    char *const *declared = informer->options.namespaces;
    if (ns == NULL || (declared != NULL && declared[0] != NULL && declared[1] == NULL))
        return pl_strdup(informer->owner);
    if (declared == NULL)
        return pl_format("%s in %s", informer->owner, ns);
    return pl_format("%s: %s", informer->owner, ns);
}

struct pl_feed *pl_feed_create(struct pl_informer *informer, const char *ns)
{
    struct pl_feed *feed = PL_NEW(struct pl_feed);
    feed->informer = informer;
    feed->ns = pl_strdup_or_null(ns);
    feed->owner = feed_name_of(informer, ns);
    struct pl_deltafifo_options options = {
        .known = &known_ops, .known_arg = feed, .emit_replaced = true};
    feed->fifo = pl_deltafifo_create(&options);
    struct pl_distributor_options distributor = {.store = informer->store, .fifo = feed->fifo};
    feed->distributor = pl_distributor_create(&distributor);
    pl_distributor_add(feed->distributor, &feed->listener, &listener_ops, 0,
                       pl_informer_now(informer));
    pl_distributor_start(feed->distributor);
    feed->reflector = create_reflector(feed);
    feed->part = create_part(feed);
    return feed;
}

void pl_feed_start(struct pl_feed *feed)
{
    feed->may_start = true;
    if (feed->part != NULL && pl_feed_part_is_empty(feed->part)) { /* until a shard is ours */
        pl_informer_check(feed->informer);
        return;
    }
    feed->started = true;
    pl_reflector_start(feed->reflector);
}

static void on_reflector_ended(void *arg)
{
    struct pl_feed *feed = arg;
    struct pl_informer *informer = feed->informer;
    pl_timer_stop(pl_informer_timers(informer), &feed->whole);
    pl_distributor_destroy(feed->distributor);
    pl_deltafifo_destroy(feed->fifo);
    pl_buf_deinit(&feed->rv);
    pl_free(feed->ns);
    pl_free(feed->owner);
    pl_informer_feed_ended(informer, feed);
    pl_free(feed);
}

void pl_feed_stop(struct pl_feed *feed)
{
    pl_deltafifo_close(feed->fifo);
    feed->may_start = false;
    pl_timer_stop(pl_informer_timers(feed->informer), &feed->purging);
    pl_feed_part_destroy(feed->part);
    feed->part = NULL;
    pl_reflector_stop(feed->reflector, on_reflector_ended, feed);
}

/* ---- the rest ---- */

const char *pl_feed_owner(const struct pl_feed *feed)
{
    return feed->owner;
}

const char *pl_feed_ns(const struct pl_feed *feed)
{
    return feed->ns;
}

bool pl_feed_has_listed(const struct pl_feed *feed)
{
    return feed->listed;
}

bool pl_feed_is_idle(const struct pl_feed *feed)
{
    return feed->may_start && !feed->started;
}

const struct pl_trouble *pl_feed_trouble(const struct pl_feed *feed)
{
    return pl_reflector_trouble(feed->reflector);
}

struct pl_slice pl_feed_rv(const struct pl_feed *feed)
{
    return pl_buf_slice(&feed->rv);
}

void pl_feed_remove(struct pl_feed *feed, struct pl_slice key, struct pl_doc *object, bool stale)
{
    if (stale)
        pl_deltafifo_delete_stale(feed->fifo, key, object);
    else if (pl_deltafifo_delete(feed->fifo, object, NULL) != 0)
        return; /* without a name it is in no cache */
    pl_feed_drain(feed);
}
