/* From the delta queue to the store and to the listeners: the store changes first, then each
 * listener is told. A sync of a known object differs from a change. Pure: neither clock nor I/O. */
#include "sync/distributor.h"

#include "base/alloc.h"
#include "base/log.h"
#include "object/meta.h"

/* With a shorter period a large store would be busy with resyncs (rule 43). */
#define RESYNC_MIN PL_SECOND

struct pl_distributor {
    struct pl_distributor_options options;
    struct pl_list listeners;
    struct pl_link *next;   /* the next listener to tell; moves when that one is removed */
    uint64_t distributions; /* number of distributions */
    int64_t check_period_ns;
    struct pl_buf rv; /* version of the store once nothing is queued; empty: none */
    bool started, stopped;
};

static struct pl_listener *listener_of(struct pl_link *link)
{
    return PL_CONTAINER_OF(link, struct pl_listener, link);
}

static int store_get(void *arg, struct pl_slice key, struct pl_doc **doc)
{
    *doc = pl_store_get(arg, key);
    return 0;
}

static char **store_keys(void *arg)
{
    return pl_store_keys(arg);
}

const struct pl_known_ops pl_distributor_known_ops = {store_get, store_keys};

struct pl_distributor *pl_distributor_create(const struct pl_distributor_options *options)
{
    struct pl_distributor *d = PL_NEW(struct pl_distributor);
    d->options = *options;
    d->check_period_ns = options->resync_ns;
    pl_list_init(&d->listeners);
    return d;
}

static void forget_all(struct pl_distributor *d)
{
    struct pl_link *link;
    while ((link = pl_list_first(&d->listeners)) != NULL)
        pl_distributor_remove(listener_of(link));
}

void pl_distributor_destroy(struct pl_distributor *d)
{
    if (d == NULL)
        return;
    forget_all(d);
    pl_buf_deinit(&d->rv);
    pl_free(d);
}

void pl_distributor_start(struct pl_distributor *d)
{
    d->started = true;
}

void pl_distributor_stop(struct pl_distributor *d)
{
    d->stopped = true;
    forget_all(d);
}

bool pl_distributor_is_stopped(const struct pl_distributor *d)
{
    return d->stopped;
}

/* ---- telling ---- */

struct notice {
    enum { ADDED, UPDATED, DELETED } type;
    struct pl_slice key;
    struct pl_doc *object, *old;
    bool initial, stale;
};

static void distributor_tell(struct pl_listener *listener, const struct notice *notice)
{
    switch (notice->type) {
    case ADDED:
        listener->ops->on_add(listener, notice->key, notice->object, notice->initial);
        break;
    case UPDATED:
        listener->ops->on_update(listener, notice->key, notice->old, notice->object);
        break;
    case DELETED:
        listener->ops->on_delete(listener, notice->key, notice->object, notice->stale);
        break;
    }
}

/* Only for listeners that are due (rule 42). */
static bool distributor_is_unchanged(const struct notice *notice)
{
    return notice->type == UPDATED &&
           pl_meta_same_rv(pl_doc_root(notice->old), pl_doc_root(notice->object));
}

/* A listener that is added during a distribution has just seen the current store, so it must not
 * get this change again. */
static void tell_all(struct pl_distributor *d, const struct notice *notice)
{
    d->next = d->listeners.head.next;
    while (d->next != &d->listeners.head) {
        struct pl_listener *listener = listener_of(d->next);
        d->next = d->next->next;
        if (listener->joined == d->distributions ||
            (!listener->due && distributor_is_unchanged(notice)))
            continue;
        distributor_tell(listener, notice);
    }
    d->next = NULL;
}

static void distribute(struct pl_distributor *d, const struct notice *notice)
{
    d->distributions++;
    tell_all(d, notice);
}

/* ---- processing ---- */

/* The version of the object that was just applied (rule 37). If it is later than that of a waiting
 * list or bookmark, it came after it. */
static void note_rv(struct pl_distributor *d, struct pl_doc *doc)
{
    struct pl_scratch room;
    struct pl_slice rv = pl_meta_rv(pl_doc_root(doc), &room), waits = pl_buf_slice(&d->rv);
    if (rv.len == 0)
        return;
    pl_store_set_rv(d->options.store, rv);
    if (waits.len > 0 && pl_rv_is_valid(rv) && pl_rv_is_valid(waits) &&
        pl_rv_compare(rv, waits) > 0)
        pl_buf_clear(&d->rv);
}

/* The store decides what kind of change it is, not the delta's type (rule 29). */
static void store_object(struct pl_distributor *d, const struct pl_deltas *deltas,
                         struct pl_slice key, struct pl_doc *doc)
{
    struct notice notice = {.type = ADDED, .key = key, .object = doc, .initial = deltas->initial};
    notice.old = pl_store_put(d->options.store, key, doc);
    note_rv(d, doc);
    if (notice.old != NULL)
        notice.type = UPDATED;
    distribute(d, &notice);
    pl_doc_unref(notice.old);
}

static void remove_object(struct pl_distributor *d, struct pl_slice key,
                          const struct pl_delta *delta)
{
    struct pl_doc *last = pl_store_remove(d->options.store, key);
    if (!delta->stale)
        note_rv(d, delta->doc);
    struct notice notice = {.type = DELETED, .key = key, .stale = delta->stale};
    notice.object = delta->doc != NULL ? delta->doc : last;
    distribute(d, &notice);
    pl_doc_unref(last);
}

/* An object is stored under its own key, which a transformation may have changed since it was
 * queued; a tombstone under the missed key. False: it cannot be stored. */
static bool distributor_key_of(const struct pl_deltas *deltas, const struct pl_delta *delta,
                               struct pl_buf *own, struct pl_slice *key)
{
    struct pl_err err;
    *key = deltas->key;
    if (delta->stale || deltas->own_key)
        return true;
    pl_buf_clear(own);
    if (pl_meta_key(pl_doc_root(delta->doc), own, &err) != 0) {
        pl_log(PL_LOG_WARN, "skipped an object that cannot be stored",
               pl_strn("queued as", deltas->key), pl_str("error", err.message));
        return false;
    }
    if (!pl_slice_eq(pl_buf_slice(own), deltas->key))
        *key = pl_buf_slice(own);
    return true;
}

static void distributor_apply(struct pl_distributor *d, const struct pl_deltas *deltas,
                              const struct pl_delta *delta)
{
    struct pl_buf own_key = PL_BUF_INIT;
    struct pl_slice key;
    bool has_key = distributor_key_of(deltas, delta, &own_key, &key);
    if (has_key && delta->type == PL_DELTA_DELETED)
        remove_object(d, key, delta);
    else if (has_key)
        store_object(d, deltas, key, delta->doc);
    pl_buf_deinit(&own_key);
}

static void settle_rv(struct pl_distributor *d)
{
    if (d->rv.len == 0 || pl_deltafifo_len(d->options.fifo) > 0)
        return;
    pl_store_set_rv(d->options.store, pl_buf_slice(&d->rv));
    pl_buf_clear(&d->rv);
}

int pl_distributor_process(struct pl_distributor *d)
{
    struct pl_deltas deltas;
    int rc = pl_deltafifo_take(d->options.fifo, &deltas);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < deltas.count; i++)
        distributor_apply(d, &deltas, &deltas.items[i]);
    pl_deltafifo_done(d->options.fifo, &deltas);
    settle_rv(d);
    return 0;
}

/* ---- everything that is queued, as one change ---- */

struct batch {
    struct pl_deltas *taken; /* owned array */
    size_t count;
    struct pl_store_change *changes; /* owned array: one for each delta, in order */
    size_t change_count;
    char **keys; /* owned array of owned texts: keys that the queue does not own */
    size_t key_count;
};

static struct pl_slice lasting_key(struct batch *batch, struct pl_slice key, struct pl_slice queued)
{
    if (key.ptr == queued.ptr)
        return key;
    batch->keys = pl_reallocarray(batch->keys, batch->key_count + 1, sizeof(char *));
    batch->keys[batch->key_count] = pl_memdup0(key.ptr, key.len);
    return pl_slice(batch->keys[batch->key_count++], key.len);
}

static void take_all(struct pl_distributor *d, struct batch *batch)
{
    size_t most = pl_deltafifo_len(d->options.fifo), deltas = 0, at = 0;
    batch->taken = pl_calloc(most, sizeof(struct pl_deltas));
    while (batch->count < most &&
           pl_deltafifo_take(d->options.fifo, &batch->taken[batch->count]) == 0)
        deltas += batch->taken[batch->count++].count;
    batch->changes = pl_calloc(deltas, sizeof(struct pl_store_change));
    struct pl_buf own = PL_BUF_INIT;
    for (size_t i = 0; i < batch->count; i++) {
        const struct pl_deltas *of = &batch->taken[i];
        for (size_t k = 0; k < of->count; k++) {
            struct pl_store_change *change = &batch->changes[at++];
            struct pl_slice key;
            if (distributor_key_of(of, &of->items[k], &own, &key)) {
                change->key = lasting_key(batch, key, of->key);
                change->doc = of->items[k].type != PL_DELTA_DELETED ? of->items[k].doc : NULL;
            } /* else: the removal of an unknown key */
        }
    }
    batch->change_count = at;
    pl_buf_deinit(&own);
}

static void tell_change(struct pl_distributor *d, const struct pl_deltas *deltas,
                        const struct pl_delta *delta, const struct pl_store_change *change)
{
    struct notice notice = {.type = DELETED, .key = change->key, .stale = delta->stale};
    if (change->key.ptr == NULL)
        return;
    if (delta->type == PL_DELTA_DELETED) {
        notice.object = delta->doc != NULL ? delta->doc : change->old;
    } else {
        notice.type = change->old != NULL ? UPDATED : ADDED;
        notice.object = delta->doc;
        notice.old = change->old;
        notice.initial = deltas->initial;
    }
    tell_all(d, &notice);
}

int pl_distributor_process_all(struct pl_distributor *d)
{
    if (pl_deltafifo_len(d->options.fifo) <= 1)
        return pl_distributor_process(d);
    struct batch batch = {0};
    take_all(d, &batch);
    pl_store_apply(d->options.store, batch.changes, batch.change_count);
    d->distributions++; /* a listener that is added meanwhile has seen all changes */
    for (size_t i = 0, at = 0; i < batch.count; i++) {
        struct pl_deltas *deltas = &batch.taken[i];
        for (size_t k = 0; k < deltas->count; k++, at++) {
            if (!deltas->items[k].stale && batch.changes[at].key.ptr != NULL)
                note_rv(d, deltas->items[k].doc);
            tell_change(d, deltas, &deltas->items[k], &batch.changes[at]);
            pl_doc_unref(batch.changes[at].old);
        }
        pl_deltafifo_done(d->options.fifo, deltas);
    }
    settle_rv(d);
    for (size_t i = 0; i < batch.key_count; i++)
        pl_free(batch.keys[i]);
    pl_free(batch.keys);
    pl_free(batch.changes);
    pl_free(batch.taken);
    return 0;
}

void pl_distributor_set_rv(struct pl_distributor *d, struct pl_slice rv)
{
    pl_buf_clear(&d->rv);
    pl_buf_add_slice(&d->rv, rv);
    settle_rv(d);
}

/* ---- listeners ---- */

/* The resync period that a listener gets: none when there are no checks, and not less than the
 * check period. */
static int64_t granted_resync(int64_t asked_ns, int64_t check_ns)
{
    if (asked_ns == 0 || check_ns == 0)
        return 0;
    return asked_ns < check_ns ? check_ns : asked_ns;
}

static void lower_check_period(struct pl_distributor *d, int64_t period_ns)
{
    d->check_period_ns = period_ns;
    PL_LIST_FOR (link, &d->listeners) {
        struct pl_listener *listener = listener_of(link);
        listener->resync_ns = granted_resync(listener->asked_resync_ns, period_ns);
    }
}

/* All stored objects, as initial adds (rule 40). */
static void tell_stored(struct pl_distributor *d, struct pl_listener *listener)
{
    struct pl_docs docs = {0};
    struct pl_buf key = PL_BUF_INIT;
    pl_store_list(d->options.store, 0, &docs);
    /* It may remove itself meanwhile. */
    for (size_t i = 0; i < docs.count && listener->of == d; i++) {
        pl_buf_clear(&key);
        pl_meta_put_key(pl_doc_root(docs.items[i]), &key); /* stored objects have a key */
        listener->ops->on_add(listener, pl_buf_slice(&key), docs.items[i], true);
    }
    pl_buf_deinit(&key);
    pl_docs_deinit(&docs);
}

int pl_distributor_add(struct pl_distributor *d, struct pl_listener *listener,
                       const struct pl_listener_ops *ops, int64_t resync_ns, int64_t now_ns)
{
    if (d->stopped)
        return PL_ECLOSED;
    if (resync_ns > 0 && resync_ns < RESYNC_MIN)
        resync_ns = RESYNC_MIN;
    if (resync_ns > 0 && resync_ns < d->check_period_ns) {
        if (d->started)
            resync_ns = d->check_period_ns;
        else
            lower_check_period(d, resync_ns);
    }
    *listener = (struct pl_listener){.ops = ops, .of = d, .due = true};
    listener->asked_resync_ns = resync_ns;
    listener->resync_ns = granted_resync(resync_ns, d->check_period_ns);
    listener->next_resync_ns = now_ns + listener->resync_ns;
    listener->joined = d->next != NULL ? d->distributions : 0;
    pl_list_push(&d->listeners, &listener->link);
    if (d->started)
        tell_stored(d, listener);
    return 0;
}

void pl_distributor_remove(struct pl_listener *listener)
{
    struct pl_distributor *d = listener->of;
    if (d == NULL)
        return;
    if (d->next == &listener->link)
        d->next = listener->link.next;
    pl_link_unlink(&listener->link);
    listener->of = NULL;
}

bool pl_distributor_has(const struct pl_listener *listener)
{
    return listener->of != NULL;
}

bool pl_listener_has_synced(const struct pl_listener *listener)
{
    return listener->of != NULL && pl_deltafifo_has_synced(listener->of->options.fifo);
}

/* ---- resync ---- */

int64_t pl_distributor_check_period(const struct pl_distributor *d)
{
    return d->check_period_ns;
}

bool pl_distributor_resync(struct pl_distributor *d, int64_t now_ns)
{
    bool any = false;
    PL_LIST_FOR (link, &d->listeners) {
        struct pl_listener *listener = listener_of(link);
        listener->due = listener->resync_ns > 0 && now_ns >= listener->next_resync_ns;
        if (!listener->due)
            continue;
        listener->next_resync_ns = now_ns + listener->resync_ns;
        any = true;
    }
    if (any)
        pl_deltafifo_resync(d->options.fifo);
    return any;
}
