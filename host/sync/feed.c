/* One reflector with its delta queue, and how what it delivers gets into an informer's store. A
 * first list is stored as it comes; a later one is one change for readers. Feeds of several
 * namespaces share the store and leave each other's objects alone. */
#include "sync/feed.h"

#include "base/alloc.h"
#include "sync/distributor.h"
#include "sync/feed_part.h"
#include "sync/informer_impl.h"
#include "object/meta.h"

struct pl_feed {
    struct pl_informer *informer; /* back-pointer */
    char *ns;                     /* owned; NULL: all */
    char *owner;                  /* owned; its name in logs and waits */
    struct pl_reflector *reflector;
    struct pl_deltafifo *fifo;
    struct pl_distributor *distributor;
    struct pl_listener listener; /* its only one: the informer tells the rest */
    struct pl_buf rv;
    uint32_t mark; /* of the list that comes, or came last; */
    bool fresh;    /* there was nothing before it */
    bool listed;
    bool draining;
    struct pl_feed_part *part; /* owned; NULL: everything is kept */
    struct pl_timer purging;   /* what was lost goes, when all have heard of it */
    struct pl_timer whole;     /* what is held has been listed: it is told */
    bool may_start, started;   /* the reflector; it is at work */
};

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
    PL_UNUSED(initial); /* the queue takes a write's answer for the first list */
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

static void drain(struct pl_feed *feed)
{
    if (feed->draining)
        return;
    feed->draining = true;
    while (pl_distributor_process_all(feed->distributor) == 0)
        ;
    feed->draining = false;
    pl_backlog_flush(feed->informer->backlog);
}

static void set_rv(struct pl_feed *feed, struct pl_slice rv)
{
    pl_buf_clear(&feed->rv);
    pl_buf_add_slice(&feed->rv, rv);
    pl_informer_update_rv(feed->informer);
}

static void count(struct pl_feed *feed, int type)
{
    if (feed->informer->events[type] != NULL)
        pl_series_add(feed->informer->events[type], 1);
}

/* ---- what is news? ---- */

struct version {
    struct pl_node object;
    struct pl_buf key;
    struct pl_scratch scratch;
};

static int version_of(struct pl_doc *object, struct version *version, struct pl_err *err)
{
    version->object = pl_doc_root(object);
    version->key = PL_BUF_INIT;
    return pl_meta_key(version->object, &version->key, err);
}

static struct pl_slice rv_of(struct version *version)
{
    return pl_meta_rv(version->object, &version->scratch);
}

/* Is `stored` at least as new as the version? Then an event or list of it is late. */
static bool is_late(struct pl_doc *stored, struct version *version)
{
    struct pl_scratch scratch;
    return stored != NULL &&
           pl_rv_is_at_most(rv_of(version), pl_meta_rv(pl_doc_root(stored), &scratch));
}

static bool is_same_object(struct pl_doc *stored, const struct version *version)
{
    return stored != NULL && pl_meta_same_uid(version->object, pl_doc_root(stored));
}

/* Is it more than what we wrote ourselves, or no news of that? */
static bool is_news(struct pl_feed *feed, struct version *version, bool deletion)
{
    struct pl_own_writes *own = &feed->informer->own;
    struct pl_scratch scratch;
    return own->by_key.count == 0 ||
           pl_own_writes_is_news(own, pl_buf_slice(&version->key),
                                 pl_meta_uid(version->object, &scratch), rv_of(version), deletion);
}

/* Another object of that name was there: its end was missed (F4). */
static void bury_namesake(struct pl_feed *feed, struct pl_doc *stored,
                          const struct version *version)
{
    if (stored != NULL && !is_same_object(stored, version))
        pl_deltafifo_delete_stale(feed->fifo, pl_buf_slice(&version->key), stored);
}

static int take_event(struct pl_feed *feed, struct pl_doc *object, enum pl_delta_type type,
                      struct pl_err *err)
{
    struct pl_informer *informer = feed->informer;
    struct version version;
    int code = version_of(object, &version, err);
    if (code == 0 && is_news(feed, &version, type == PL_DELTA_DELETED)) {
        struct pl_doc *stored = pl_store_get(informer->store, pl_buf_slice(&version.key));
        if (type == PL_DELTA_DELETED) {
            if (is_same_object(stored, &version))
                code = pl_deltafifo_delete(feed->fifo, object, err);
        } else if (!is_late(stored, &version)) {
            bury_namesake(feed, stored, &version);
            pl_deltafifo_queue(feed->fifo, type, pl_buf_slice(&version.key), object);
        }
        pl_doc_unref(stored);
    }
    pl_buf_deinit(&version.key);
    drain(feed);
    struct pl_slice rv = rv_of(&version);
    if (rv.len > 0 && feed->listed)
        set_rv(feed, rv);
    else
        pl_informer_update_rv(informer);
    pl_informer_arm_confirm(informer);
    return code;
}

static int on_add(void *arg, struct pl_doc *object, struct pl_err *err)
{
    count(arg, 0);
    return take_event(arg, object, PL_DELTA_ADDED, err);
}

static int on_update(void *arg, struct pl_doc *object, struct pl_err *err)
{
    count(arg, 1);
    return take_event(arg, object, PL_DELTA_UPDATED, err);
}

static int on_remove(void *arg, struct pl_doc *object, struct pl_err *err)
{
    const struct pl_feed *feed = arg;
    count(arg, 2);
    if (feed->part != NULL)
        pl_feed_part_gone(feed->part, pl_doc_root(object));
    return take_event(arg, object, PL_DELTA_DELETED, err);
}

static void on_bookmark(void *arg, struct pl_slice rv)
{
    struct pl_feed *feed = arg;
    count(feed, 3);
    set_rv(feed, rv);
    pl_own_writes_confirm(&feed->informer->own, feed->ns, rv);
    pl_informer_arm_confirm(feed->informer);
}

/* ---- lists ---- */

/* What the store shall hold for a listed object where it holds `stored`: a new reference, or NULL
 * for nothing, when what was listed is older than what we know. */
static struct pl_doc *listed_or_newer(struct pl_feed *feed, struct pl_doc *listed,
                                      struct pl_doc *stored, struct version *version, bool anew)
{
    const struct pl_own_write *write =
        pl_own_writes_find(&feed->informer->own, pl_buf_slice(&version->key));
    if (write != NULL) {
        struct pl_doc *ours = pl_doc_ref(write->doc);
        if (!is_news(feed, version, false))
            return ours;
        pl_doc_unref(ours);
    } else if (stored != NULL && !anew && is_late(stored, version)) {
        return pl_doc_ref(stored);
    }
    bury_namesake(feed, stored, version);
    return pl_doc_ref(listed);
}

static bool is_mine(const struct pl_feed *feed, struct pl_slice key)
{
    struct pl_slice ns, name;
    return feed->ns == NULL || (pl_key_split(key, &ns, &name) == 0 && pl_slice_eqz(ns, feed->ns));
}

/* Only what changed is queued: a relist of what is known costs the comparison and no memory
 * (F26). */
static int take_one(struct pl_feed *feed, struct pl_doc *listed, bool anew, struct pl_err *err)
{
    struct version version;
    if (feed->part != NULL && !pl_feed_keeps(feed, pl_doc_root(listed)))
        return 0; /* it was kept when it came */
    int code = version_of(listed, &version, err);
    if (code == 0) {
        struct pl_doc *stored =
            pl_store_mark(feed->informer->store, pl_buf_slice(&version.key), feed->mark);
        struct pl_doc *doc = listed_or_newer(feed, listed, stored, &version, anew);
        if (doc != NULL && doc != stored)
            pl_deltafifo_queue(feed->fifo, PL_DELTA_UPDATED, pl_buf_slice(&version.key), doc);
        pl_doc_unref(doc);
        pl_doc_unref(stored);
    }
    pl_buf_deinit(&version.key);
    return code;
}

/* What has come of a list, which it may begin. */
static int take_listed(struct pl_feed *feed, const struct pl_docs *items, bool first, bool anew,
                       struct pl_err *err)
{
    int code = 0;
    if (first) {
        feed->fresh = pl_store_count(feed->informer->store) == 0;
        feed->mark = pl_store_begin_marks(feed->informer->store);
    }
    for (size_t i = 0; i < items->count && code == 0; i++)
        code = take_one(feed, items->items[i], anew, err);
    return code;
}

/* The first list is stored as it comes, for nobody reads before it is whole. Of later ones readers
 * see all or nothing (F26). */
static int on_page(void *arg, const struct pl_docs *items, bool first, bool anew, bool *taken,
                   struct pl_err *err)
{
    struct pl_feed *feed = arg;
    *taken = !feed->listed;
    if (feed->listed)
        return 0;
    int code = take_listed(feed, items, first, anew, err);
    drain(feed);
    pl_informer_update_rv(feed->informer); /* not the last object's, before the list is whole */
    return code;
}

/* What a list lacks, for which we wrote it after the list was made. */
static bool is_own_since(const struct pl_own_write *write, struct pl_slice list_rv)
{
    return write != NULL && write->doc != NULL && !pl_rv_is_at_most(pl_slice_z(write->rv), list_rv);
}

struct sweep {
    struct pl_feed *feed;
    struct pl_slice rv; /* of the list */
};

static void on_unlisted(void *arg, struct pl_slice key, struct pl_doc *doc)
{
    const struct sweep *sweep = arg;
    struct pl_feed *feed = sweep->feed;
    if (is_mine(feed, key) &&
        !is_own_since(pl_own_writes_find(&feed->informer->own, key), sweep->rv))
        pl_deltafifo_delete_stale(feed->fifo, key, doc);
}

/* What we wrote before there was anything to store it in. */
static void add_own(struct pl_feed *feed, struct pl_slice list_rv)
{
    drain(feed); /* what was listed of it counts */
    PL_LIST_FOR (link, &feed->informer->own.by_age) {
        const struct pl_own_write *write = PL_CONTAINER_OF(link, struct pl_own_write, link);
        struct pl_slice key = pl_slice_z(write->key);
        if (!is_mine(feed, key) || !is_own_since(write, list_rv))
            continue;
        struct pl_doc *stored = pl_store_get(feed->informer->store, key);
        if (stored == NULL)
            pl_deltafifo_queue(feed->fifo, PL_DELTA_UPDATED, key, write->doc);
        pl_doc_unref(stored);
    }
}

static int on_replace(void *arg, struct pl_docs *items, bool begun, struct pl_slice rv, bool anew,
                      struct pl_err *err)
{
    struct pl_feed *feed = arg;
    struct sweep sweep = {feed, rv};
    int code = take_listed(feed, items, !begun, anew, err);
    if (code == 0 && !feed->listed)
        add_own(feed, rv);
    if (code == 0 && !feed->fresh)
        pl_store_unmarked(feed->informer->store, feed->mark, on_unlisted, &sweep);
    drain(feed);
    if (code != 0)
        return code;
    feed->listed = true;
    set_rv(feed, rv);
    if (feed->part != NULL)
        pl_feed_part_listed(feed->part);
    pl_own_writes_confirm(&feed->informer->own, feed->ns, rv);
    pl_informer_arm_confirm(feed->informer);
    pl_informer_check(feed->informer);
    return 0;
}

/* With the same content, too: versions of a restored server come again, and a definition that
 * changed gives the same version another form. */
static struct pl_doc *on_share(void *arg, struct pl_doc *object)
{
    struct pl_feed *feed = arg;
    struct version version;
    struct pl_scratch scratch;
    struct pl_doc *stored = NULL;
    if (!feed->listed)
        return object;
    if (version_of(object, &version, NULL) == 0)
        stored = pl_store_get(feed->informer->store, pl_buf_slice(&version.key));
    struct pl_slice rv = rv_of(&version);
    bool same = stored != NULL && rv.len > 0 &&
                pl_slice_eq(rv, pl_meta_rv(pl_doc_root(stored), &scratch)) &&
                pl_node_equal(pl_doc_root(stored), pl_doc_root(object));
    pl_buf_deinit(&version.key);
    pl_doc_unref(same ? object : stored);
    return same ? stored : object;
}

/* ---- a part alone ---- */

static void on_begin(void *arg, struct pl_buf *shards)
{
    const struct pl_feed *feed = arg;
    if (feed->part != NULL)
        pl_feed_part_begin(feed->part, shards);
}

static void on_watch(void *arg, struct pl_buf *shards)
{
    const struct pl_feed *feed = arg;
    if (feed->part != NULL)
        pl_feed_part_watch(feed->part, shards);
}

static bool on_keeps(void *arg, struct pl_doc *object, bool listed)
{
    const struct pl_feed *feed = arg;
    return feed->part == NULL || pl_feed_part_keeps(feed->part, pl_doc_root(object), listed);
}

/* What is not kept may have been, where owners change. */
static void on_pass(void *arg, struct pl_doc *object)
{
    struct pl_feed *feed = arg;
    struct pl_err err = {0};
    if (pl_share_moves(pl_feed_part_by(feed->part))) {
        pl_feed_part_gone(feed->part, pl_doc_root(object));
        take_event(feed, object, PL_DELTA_DELETED, &err);
        return;
    }
    struct pl_scratch scratch;
    struct pl_slice rv = pl_meta_rv(pl_doc_root(object), &scratch);
    if (rv.len > 0 && feed->listed)
        set_rv(feed, rv);
}

static void on_no_shards(void *arg)
{
    const struct pl_feed *feed = arg;
    pl_site_set_filters_uids(feed->informer->site, false);
}

static void take_topped(void *arg, const struct pl_docs *items)
{
    struct pl_feed *feed = arg;
    struct pl_err err = {0};
    for (size_t i = 0; i < items->count; i++)
        if (!pl_feed_part_is_gone(feed->part, pl_doc_root(items->items[i])))
            take_one(feed, items->items[i], false, &err);
    drain(feed);
    pl_informer_update_rv(feed->informer);
}

static void tell_whole(struct pl_timer *timer)
{
    const struct pl_feed *feed = PL_CONTAINER_OF(timer, struct pl_feed, whole);
    pl_shards_settled(pl_site_shards(feed->informer->site));
}

/* Later: what follows may be other shards, and a list is being stored right now. */
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

static const struct pl_feed_part_ops part_ops = {take_topped, on_whole, reached};

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
        .topup = {.client = pl_site_client(site),
                  .timers = pl_site_timers(site),
                  .rand = pl_site_rand(site),
                  .resource = informer->resource,
                  .owner = feed->owner,
                  .ns = feed->ns,
                  .labels = informer->options.labels,
                  .fields = informer->options.fields,
                  .metadata_only = informer->options.metadata_only,
                  .keep_managed_fields = informer->options.managed_fields,
                  .lists = informer->lists},
        .ops = &part_ops,
        .arg = feed,
    };
    return pl_feed_part_create(&options);
}

/* What is not ours any more goes, and nobody is told: what would be told of is another's now. */
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

static const struct pl_reflector_sink sink = {.page = on_page,
                                              .replace = on_replace,
                                              .add = on_add,
                                              .update = on_update,
                                              .remove = on_remove,
                                              .bookmark = on_bookmark,
                                              .share = on_share,
                                              .begin = on_begin,
                                              .watch = on_watch,
                                              .keeps = on_keeps,
                                              .pass = on_pass,
                                              .no_shards = on_no_shards};

/* The kind went away under us: so did its objects (F43). */
static void on_gone(void *arg)
{
    struct pl_feed *feed = arg;
    struct pl_docs none = {0};
    if (pl_deltafifo_replace(feed->fifo, none.items, 0, NULL) == 0)
        drain(feed);
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
        .client = pl_site_client(site),
        .timers = pl_site_timers(site),
        .rand = pl_site_rand(site),
        .waits = pl_site_waits(site),
        .reconnects = pl_site_reconnects(site),
        .stream = pl_site_streams_lists(site),
        .resource = informer->resource,
        .owner = feed->owner,
        .ns = feed->ns,
        .labels = informer->options.labels,
        .fields = informer->options.fields,
        .metadata_only = informer->options.metadata_only,
        .keep_managed_fields = informer->options.managed_fields,
        .sink = &sink,
        .changed = on_changed,
        .gone = on_gone,
        .arg = feed,
        .lists = informer->lists,
        .watches = informer->watches,
    };
    return pl_reflector_create(&options);
}

/* "v1/ConfigMap in a,b: a" of an informer of two namespaces, "v1/ConfigMap in a" where those of the
 * host make several of one; a single declared one is in the informer's name already. */
static char *name_of(const struct pl_informer *informer, const char *ns)
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
    feed->owner = name_of(informer, ns);
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
    if (feed->part != NULL && pl_feed_part_is_empty(feed->part)) { /* until there is something */
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

void pl_feed_put(struct pl_feed *feed, struct pl_doc *object)
{
    struct version version;
    if (version_of(object, &version, NULL) == 0) {
        struct pl_doc *stored = pl_store_get(feed->informer->store, pl_buf_slice(&version.key));
        bury_namesake(feed, stored, &version);
        pl_doc_unref(stored);
        pl_deltafifo_queue(feed->fifo, PL_DELTA_UPDATED, pl_buf_slice(&version.key), object);
    }
    pl_buf_deinit(&version.key);
    drain(feed);
}

void pl_feed_remove(struct pl_feed *feed, struct pl_slice key, struct pl_doc *object, bool stale)
{
    if (stale)
        pl_deltafifo_delete_stale(feed->fifo, key, object);
    else if (pl_deltafifo_delete(feed->fifo, object, NULL) != 0)
        return; /* without a name it is in no cache */
    drain(feed);
}
