/* Waiting for a cache: until it has synced, an object of it has changed, or its indexes include an
 * object that was written. */
#include "lane/op_impl.h"

#include "control/edition.h"
#include "lane/cache.h"
#include "lane/lane.h"
#include "object/meta.h"
#include "sync/informers.h"

#define POLL_NS (200 * PL_MS) /* interval while an informer does not exist yet */

/* ---- until it has synced ---- */

static void fail_sync(struct pl_lop *op)
{
    struct pl_informer *informer = pl_edition_informer(op->cache->edition, op->cache->source);
    const struct pl_err *trouble = informer ? pl_informer_trouble(informer) : NULL;
    struct pl_err err;
    pl_err_clear(&err);
    pl_err_set(&err, PL_ETIMEOUT, "the cache of %s did not sync in time%s%s",
               op->kind ? op->kind : "its kind", trouble ? ": " : "",
               trouble ? trouble->message : "");
    pl_lop_fail(op, &err);
}

static void on_sync_timer(struct pl_timer *timer)
{
    struct pl_lop *op = pl_lop_of_timer(timer);
    op->delay_ns -= POLL_NS;
    if (op->delay_ns <= 0)
        fail_sync(op);
    else
        pl_lop_start_sync(op);
}

static void on_sync_deadline(struct pl_timer *timer)
{
    fail_sync(pl_lop_of_timer(timer));
}

static void on_synced(struct pl_sync_wait *wait)
{
    struct pl_lop *op = PL_CONTAINER_OF(wait, struct pl_lop, io.sync);
    pl_cache_publish(op->cache);
    pl_lop_complete(op);
}

void pl_lop_start_sync(struct pl_lop *op)
{
    struct pl_informer *informer = pl_edition_informer(op->cache->edition, op->cache->source);
    if (informer == NULL) {
        pl_lop_set_timer(op, POLL_NS, on_sync_timer);
        return;
    }
    pl_lop_set_timer(op, op->delay_ns, on_sync_deadline);
    op->io.sync.synced = on_synced;
    pl_informer_on_sync(informer, &op->io.sync);
}

/* ---- until an object changes ---- */

static void on_key_timer(struct pl_timer *timer)
{
    struct pl_lop *op = pl_lop_of_timer(timer);
    op->out.flag = op->cache == NULL; /* not cached: look again */
    pl_lop_complete(op);
}

static void on_key_changed(struct pl_key_watch *watch)
{
    struct pl_lop *op = PL_CONTAINER_OF(watch, struct pl_lop, io.watch);
    op->out.flag = true;
    pl_lop_complete(op);
}

/* The lane read the cache before it asked: changes since then must not be missed. */
static bool op_cache_has_changed(struct pl_lop *op)
{
    struct pl_doc *now = pl_store_get(op->cache->store, op->in.watch_key);
    bool same = now == op->out.doc;
    pl_doc_unref(now);
    return !same;
}

void pl_lop_start_key(struct pl_lop *op)
{
    if (op->cache == NULL) {
        pl_lop_set_timer(op, op->delay_ns < PL_SECOND ? op->delay_ns : PL_SECOND, on_key_timer);
        return;
    }
    if (op_cache_has_changed(op)) {
        op->out.flag = true;
        pl_lop_complete(op);
        return;
    }
    pl_lop_set_timer(op, op->delay_ns, on_key_timer);
    op->io.watch.key = (char *)op->in.watch_key.ptr;
    op->io.watch.changed = on_key_changed;
    pl_informer_watch_key(op->cache->informer, &op->io.watch);
}

/* ---- until the indexes include what was written ---- */

/* The longest time that a write waits. A script that computes, or an index function that reads a
 * kind which has not synced, may keep an index back for longer. */
#define INDEX_WAIT_NS PL_SECOND

static void on_index_timer(struct pl_timer *timer)
{
    pl_lop_complete(pl_lop_of_timer(timer));
}

static void on_indexed(struct pl_index_wait *wait)
{
    pl_lop_complete_write(PL_CONTAINER_OF(wait, struct pl_lop, io.indexed));
}

/* Reads of a cache that has not synced wait anyway. */
static void wait_unless_indexed(void *arg, struct pl_informer *informer)
{
    struct pl_lop *op = arg;
    if (!pl_link_is_linked(&op->io.indexed.link) && pl_informer_has_synced(informer) &&
        !pl_informer_is_indexed(informer, op->io.indexed.key))
        pl_informer_on_indexed(informer, &op->io.indexed);
}

/* The server chooses some names. */
static struct pl_slice written_key(struct pl_lop *op)
{
    struct pl_buf key = PL_BUF_INIT;
    struct pl_slice text = op->key;
    if (op->in.write.name.len == 0 && op->out.doc != NULL &&
        pl_meta_key(pl_doc_root(op->out.doc), &key, NULL) == 0)
        text = pl_lop_text(op, pl_buf_slice(&key));
    pl_buf_deinit(&key);
    return text;
}

void pl_lop_complete_write(struct pl_lop *op)
{
    struct pl_index_wait *wait = &op->io.indexed;
    if (wait->indexed == NULL)
        *wait = (struct pl_index_wait){.key = written_key(op), .indexed = on_indexed};
    if (op->cluster.ptr == NULL && !op->io.canceled) /* indexes are of the own cluster */
        pl_informers_each(pl_cluster_informers(op->lane->lanes->cluster), &op->in.write.kind,
                          wait_unless_indexed, op);
    if (!pl_link_is_linked(&wait->link))
        pl_lop_complete(op);
    else if (!op->io.timed)
        pl_lop_set_timer(op, INDEX_WAIT_NS, on_index_timer);
}
