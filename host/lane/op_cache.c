/* Waiting for a cache: until it has synced, or an object of it has changed. */
#include "lane/op_impl.h"

#include "control/edition.h"
#include "lane/cache.h"

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
