/* Compares a reflector's objects with the store and with writes of this process, and queues those
 * that are news. A first list is stored as it arrives; a later one is one atomic change for
 * readers. Older states never replace newer ones, however they arrive. */
#include "sync/feed_impl.h"

#include "base/log.h"
#include "object/meta.h"

void pl_feed_drain(struct pl_feed *feed)
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

static void feed_sink_count(struct pl_feed *feed, int type)
{
    if (feed->informer->events[type] != NULL)
        pl_series_add(feed->informer->events[type], 1);
}

/* ---- is it news? ---- */

struct version {
    struct pl_node object;
    struct pl_buf key;
    struct pl_scratch scratch;
};

static int feed_sink_version_of(struct pl_doc *object, struct version *version, struct pl_err *err)
{
    version->object = pl_doc_root(object);
    version->key = PL_BUF_INIT;
    return pl_meta_key(version->object, &version->key, err);
}

static struct pl_slice rv_of(struct version *version)
{
    return pl_meta_rv(version->object, &version->scratch);
}

/* True when `stored` is at least as new as the version: then the event or list entry is late. */
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

/* True when it is newer than our own writes. */
static bool feed_sink_is_news(struct pl_feed *feed, struct version *version, bool deletion)
{
    struct pl_own_writes *own = &feed->informer->own;
    struct pl_scratch scratch;
    return own->by_key.count == 0 ||
           pl_own_writes_is_news(own, pl_buf_slice(&version->key),
                                 pl_meta_uid(version->object, &scratch), rv_of(version), deletion);
}

/* There was another object of that name: its deletion was missed (F4). */
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
    int code = feed_sink_version_of(object, &version, err);
    if (code == 0 && feed_sink_is_news(feed, &version, type == PL_DELTA_DELETED)) {
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
    pl_feed_drain(feed);
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
    feed_sink_count(arg, 0);
    return take_event(arg, object, PL_DELTA_ADDED, err);
}

static int on_update(void *arg, struct pl_doc *object, struct pl_err *err)
{
    feed_sink_count(arg, 1);
    return take_event(arg, object, PL_DELTA_UPDATED, err);
}

static int on_remove(void *arg, struct pl_doc *object, struct pl_err *err)
{
    const struct pl_feed *feed = arg;
    feed_sink_count(arg, 2);
    if (feed->part != NULL)
        pl_feed_part_gone(feed->part, pl_doc_root(object));
    return take_event(arg, object, PL_DELTA_DELETED, err);
}

static void on_bookmark(void *arg, struct pl_slice rv)
{
    struct pl_feed *feed = arg;
    feed_sink_count(feed, 3);
    set_rv(feed, rv);
    pl_own_writes_confirm(&feed->informer->own, feed->ns, rv);
    pl_informer_arm_confirm(feed->informer);
}

/* ---- lists ---- */

/* The object to store for a listed object when the store has `stored`: a new reference, or NULL for
 * none, when the listed one is older than our knowledge. */
static struct pl_doc *listed_or_newer(struct pl_feed *feed, struct pl_doc *listed,
                                      struct pl_doc *stored, struct version *version, bool anew)
{
    const struct pl_own_write *write =
        pl_own_writes_find(&feed->informer->own, pl_buf_slice(&version->key));
    if (write != NULL) {
        struct pl_doc *ours = pl_doc_ref(write->doc);
        if (!feed_sink_is_news(feed, version, false))
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

/* Only changes are queued: a relist of known objects costs the comparison and no memory (F26). */
static int take_one(struct pl_feed *feed, struct pl_doc *listed, bool anew, struct pl_err *err)
{
    struct version version;
    if (feed->part != NULL && !pl_feed_keeps(feed, pl_doc_root(listed)))
        return 0; /* it was stored when it arrived */
    int code = feed_sink_version_of(listed, &version, err);
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

/* Takes objects of a list, possibly the first ones. */
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

/* The first list is stored as it arrives, since nobody reads before it is complete. Of later lists
 * readers see all or nothing (F26). */
static int on_page(void *arg, const struct pl_docs *items, bool first, bool anew, bool *taken,
                   struct pl_err *err)
{
    struct pl_feed *feed = arg;
    *taken = !feed->listed;
    if (feed->listed)
        return 0;
    int code = take_listed(feed, items, first, anew, err);
    pl_feed_drain(feed);
    pl_informer_update_rv(
        /* before the list is complete, an object's version is not the version of the cache */
        feed->informer);
    return code;
}

/* True when the list lacks the object because we wrote it after the list was made. */
static bool is_own_since(const struct pl_own_write *write, struct pl_slice list_rv)
{
    return write != NULL && write->doc != NULL && !pl_rv_is_at_most(pl_slice_z(write->rv), list_rv);
}

struct sweep {
    struct pl_feed *feed;
    struct pl_slice rv; /* version of the list */
};

static void on_unlisted(void *arg, struct pl_slice key, struct pl_doc *doc)
{
    const struct sweep *sweep = arg;
    struct pl_feed *feed = sweep->feed;
    if (is_mine(feed, key) &&
        !is_own_since(pl_own_writes_find(&feed->informer->own, key), sweep->rv))
        pl_deltafifo_delete_stale(feed->fifo, key, doc);
}

/* Adds objects that we wrote before there was a feed to store them. */
static void add_own(struct pl_feed *feed, struct pl_slice list_rv)
{
    pl_feed_drain(feed); /* the list's objects are stored before ours are compared with them */
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
    pl_feed_drain(feed);
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

/* The content must be equal too: a restored server uses versions again, and a changed definition
 * gives the same version another form. */
static struct pl_doc *on_share(void *arg, struct pl_doc *object)
{
    struct pl_feed *feed = arg;
    struct version version;
    struct pl_scratch scratch;
    struct pl_doc *stored = NULL;
    if (!feed->listed)
        return object;
    if (feed_sink_version_of(object, &version, NULL) == 0)
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

/* An object that is not kept may have been kept before, if its owners have changed. */
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

void pl_feed_no_shards(void *arg, const struct pl_err *err)
{
    const struct pl_feed *feed = arg;
    pl_log(PL_LOG_WARN, "the server no longer filters by shards: this host filters",
           pl_str("source", feed->owner), pl_str("error", err->message));
    pl_site_set_filters_uids(feed->informer->site, false);
}

void pl_feed_take_side_list(void *arg, const struct pl_docs *items)
{
    struct pl_feed *feed = arg;
    struct pl_err err = {0};
    for (size_t i = 0; i < items->count; i++)
        if (!pl_feed_part_is_gone(feed->part, pl_doc_root(items->items[i])))
            take_one(feed, items->items[i], false, &err);
    pl_feed_drain(feed);
    pl_informer_update_rv(feed->informer);
}

const struct pl_reflector_sink pl_feed_sink = {.page = on_page,
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
                                               .no_shards = pl_feed_no_shards};

void pl_feed_put(struct pl_feed *feed, struct pl_doc *object)
{
    struct version version;
    if (feed_sink_version_of(object, &version, NULL) == 0) {
        struct pl_doc *stored = pl_store_get(feed->informer->store, pl_buf_slice(&version.key));
        bury_namesake(feed, stored, &version);
        pl_doc_unref(stored);
        pl_deltafifo_queue(feed->fifo, PL_DELTA_UPDATED, pl_buf_slice(&version.key), object);
    }
    pl_buf_deinit(&version.key);
    pl_feed_drain(feed);
}
