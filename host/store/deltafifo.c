/* The delta queue between a watch and its store (rules 1-10, 12, 14-16, 27). A key is in the order
 * once, with all its changes, so that a burst on one object is processed once.
 *
 * A list is queued as a whole or not at all: every object is keyed and transformed before the first
 * is queued.
 *
 * A taken key counts until it is given to pl_deltafifo_done. The queue has synced only when the
 * last key of the first list was processed, not when it was taken. One thread. The only callbacks
 * are the functions in the options. */
#include "store/deltafifo.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/list.h"
#include "base/map.h"
#include "base/keyset.h"
#include "store/store.h"
#include "object/meta.h"

/* One queued key with its deltas, or one that was taken and is not yet done. */
struct item {
    struct pl_keyed node;    /* in the queue's table while queued */
    struct pl_link link;     /* in the queue's order while queued */
    struct pl_delta only;    /* room for a single delta, the usual case */
    struct pl_delta *deltas; /* `only`, or owned */
    size_t count, cap;
    char key[];
};

struct pl_deltafifo {
    struct pl_deltafifo_options options;
    struct pl_keyset items;
    struct pl_list order;
    bool populated;    /* a list or an event has arrived; before that the queue is not synced */
    size_t first_left; /* keys of the first list that are not yet processed */
    struct pl_buf key; /* of the event that is being queued */
    bool closed;
};

static struct item *item_of(struct pl_keyed *node)
{
    return PL_CONTAINER_OF(node, struct item, node);
}

static struct item *find_item(const struct pl_deltafifo *fifo, struct pl_slice key)
{
    struct pl_keyed *node = pl_keyset_find(&fifo->items, key, pl_keyset_hash(key));
    return node ? item_of(node) : NULL;
}

static void free_item(struct item *item)
{
    for (size_t i = 0; i < item->count; i++)
        pl_doc_unref(item->deltas[i].doc);
    if (item->deltas != &item->only)
        pl_free(item->deltas);
    pl_free(item);
}

struct pl_deltafifo *pl_deltafifo_create(const struct pl_deltafifo_options *options)
{
    struct pl_deltafifo *fifo = PL_NEW(struct pl_deltafifo);
    fifo->options = *options;
    pl_keyset_init(&fifo->items, offsetof(struct item, key));
    pl_list_init(&fifo->order);
    return fifo;
}

void pl_deltafifo_destroy(struct pl_deltafifo *fifo)
{
    if (fifo == NULL)
        return;
    struct pl_link *link;
    while ((link = pl_list_pop(&fifo->order)) != NULL)
        free_item(PL_CONTAINER_OF(link, struct item, link));
    pl_keyset_deinit(&fifo->items);
    pl_buf_deinit(&fifo->key);
    pl_free(fifo);
}

/* ---- queueing ---- */

static int deltafifo_key_of(struct pl_deltafifo *fifo, struct pl_doc *doc, struct pl_buf *key,
                            struct pl_err *err)
{
    struct pl_node object = pl_doc_root(doc);
    if (fifo->options.key != NULL)
        return fifo->options.key(fifo->options.arg, object, key, err);
    return pl_meta_key(object, key, err);
}

/* A new reference to the document to queue for doc; NULL with err when it is refused. */
static struct pl_doc *transformed(struct pl_deltafifo *fifo, struct pl_doc *doc, struct pl_err *err)
{
    if (fifo->options.transform == NULL)
        return pl_doc_ref(doc);
    return fifo->options.transform(fifo->options.arg, doc, err);
}

static struct item *deltafifo_find_or_make(struct pl_deltafifo *fifo, struct pl_slice key)
{
    uint32_t hash = pl_keyset_hash(key);
    struct pl_keyed *node = pl_keyset_find(&fifo->items, key, hash);
    if (node != NULL)
        return item_of(node);
    struct item *item = pl_malloc(sizeof(*item) + key.len + 1);
    *item = (struct item){.cap = 1, .deltas = &item->only};
    memcpy(item->key, key.ptr ? key.ptr : "", key.len);
    item->key[key.len] = '\0';
    pl_keyset_insert(&fifo->items, &item->node, key.len, hash);
    pl_list_push(&fifo->order, &item->link);
    return item;
}

/* Keeps one of two deletions in a row: the older one, unless it is only a tombstone (rules 2,
 * 3). */
static void fold_deletions(struct item *item)
{
    if (item->count < 2)
        return;
    struct pl_delta *older = &item->deltas[item->count - 2], *newer = older + 1;
    if (older->type != PL_DELTA_DELETED || newer->type != PL_DELTA_DELETED)
        return;
    if (older->stale) {
        struct pl_delta dropped = *older;
        *older = *newer;
        *newer = dropped;
    }
    pl_doc_unref(newer->doc);
    item->count--;
}

/* delta.doc: a reference that the queue keeps. */
static void deltafifo_append(struct pl_deltafifo *fifo, struct pl_slice key, struct pl_delta delta)
{
    struct item *item = deltafifo_find_or_make(fifo, key);
    if (item->count == item->cap) {
        bool first = item->deltas == &item->only;
        item->cap *= 2;
        item->deltas =
            pl_reallocarray(first ? NULL : item->deltas, item->cap, sizeof(struct pl_delta));
        if (first)
            item->deltas[0] = item->only;
    }
    item->deltas[item->count++] = delta;
    fold_deletions(item);
}

static int queue_event(struct pl_deltafifo *fifo, enum pl_delta_type type, struct pl_doc *doc,
                       struct pl_err *err)
{
    pl_buf_clear(&fifo->key);
    int rc = deltafifo_key_of(fifo, doc, &fifo->key, err);
    if (rc != 0)
        return rc;
    fifo->populated = true; /* (rule 10) */
    struct pl_doc *own = transformed(fifo, doc, err);
    if (own == NULL)
        return PL_EINVAL;
    deltafifo_append(fifo, pl_buf_slice(&fifo->key), (struct pl_delta){.type = type, .doc = own});
    return 0;
}

int pl_deltafifo_add(struct pl_deltafifo *fifo, struct pl_doc *doc, struct pl_err *err)
{
    return queue_event(fifo, PL_DELTA_ADDED, doc, err);
}

int pl_deltafifo_update(struct pl_deltafifo *fifo, struct pl_doc *doc, struct pl_err *err)
{
    return queue_event(fifo, PL_DELTA_UPDATED, doc, err);
}

static bool keeps_objects(const struct pl_deltafifo *fifo)
{
    return fifo->options.key == NULL && fifo->options.transform == NULL;
}

void pl_deltafifo_queue(struct pl_deltafifo *fifo, enum pl_delta_type type, struct pl_slice key,
                        struct pl_doc *doc)
{
    PL_REQUIRE(keeps_objects(fifo));
    fifo->populated = true; /* (rule 10) */
    deltafifo_append(fifo, key, (struct pl_delta){.type = type, .doc = pl_doc_ref(doc)});
}

/* ---- deletions ---- */

/* True when the key is neither queued nor known: no follower can have heard of it (rule 4). A
 * failed look-up proves nothing (rule 5). */
static bool is_unknown(struct pl_deltafifo *fifo, struct pl_slice key)
{
    const struct pl_known_ops *known = fifo->options.known;
    if (find_item(fifo, key) != NULL)
        return false;
    if (known == NULL)
        return true;
    struct pl_doc *doc = NULL;
    int rc = known->get(fifo->options.known_arg, key, &doc);
    bool unknown = rc == 0 && doc == NULL;
    pl_doc_unref(doc);
    return unknown;
}

int pl_deltafifo_delete(struct pl_deltafifo *fifo, struct pl_doc *doc, struct pl_err *err)
{
    struct pl_buf key = PL_BUF_INIT;
    int rc = deltafifo_key_of(fifo, doc, &key, err);
    if (rc == 0 && is_unknown(fifo, pl_buf_slice(&key)))
        fifo->populated = true;
    else if (rc == 0)
        rc = queue_event(fifo, PL_DELTA_DELETED, doc, err);
    pl_buf_deinit(&key);
    return rc;
}

int pl_deltafifo_delete_stale(struct pl_deltafifo *fifo, struct pl_slice key, struct pl_doc *doc)
{
    fifo->populated = true;
    if (!is_unknown(fifo, key))
        deltafifo_append(
            fifo, key,
            (struct pl_delta){.type = PL_DELTA_DELETED, .stale = true, .doc = pl_doc_ref(doc)});
    return 0;
}

/* ---- replace ---- */

/* The objects of a list, ready to be queued. None is queued until all are known to be good (rule
 * 16). */
struct listed {
    struct pl_map keys;         /* each once; the slices below point into it */
    struct pl_slice *item_keys; /* owned */
    struct pl_doc **docs;       /* owned; references */
    size_t count;
};

static int prepare_one(struct pl_deltafifo *fifo, struct pl_doc *doc, struct listed *listed,
                       struct pl_err *err)
{
    struct pl_buf key = PL_BUF_INIT;
    int rc = deltafifo_key_of(fifo, doc, &key, err);
    struct pl_doc *own = rc == 0 ? transformed(fifo, doc, err) : NULL;
    if (own != NULL) {
        pl_map_put(&listed->keys, pl_buf_slice(&key), NULL);
        listed->item_keys[listed->count] = pl_map_key(&listed->keys, pl_buf_slice(&key));
        listed->docs[listed->count++] = own;
    } else if (rc == 0) {
        rc = PL_EINVAL;
    }
    pl_buf_deinit(&key);
    return rc;
}

static void deinit_listed(struct listed *listed)
{
    for (size_t i = 0; i < listed->count; i++)
        pl_doc_unref(listed->docs[i]);
    pl_free(listed->docs);
    pl_free(listed->item_keys);
    pl_map_deinit(&listed->keys);
}

static void append_tombstone(struct pl_deltafifo *fifo, struct pl_slice key, struct pl_doc *doc)
{
    deltafifo_append(fifo, key,
                     (struct pl_delta){.type = PL_DELTA_DELETED, .stale = true, .doc = doc});
}

/* Deletes queued keys that the list lacks, with their newest object (rule 8). Returns their number.
 */
static size_t delete_queued(struct pl_deltafifo *fifo, const struct pl_map *listed)
{
    size_t count = 0;
    PL_LIST_FOR (link, &fifo->order) {
        struct item *item = PL_CONTAINER_OF(link, struct item, link);
        struct pl_slice key = pl_slice(item->key, item->node.len);
        if (pl_map_has(listed, key))
            continue;
        append_tombstone(fifo, key, pl_doc_ref(item->deltas[item->count - 1].doc));
        count++;
    }
    return count;
}

/* Deletes known keys that are neither listed nor queued, with their stored object; without one when
 * the look-up fails (rule 8). Returns their number. */
static size_t delete_known(struct pl_deltafifo *fifo, const struct pl_map *listed)
{
    size_t count = 0;
    char **keys = fifo->options.known->keys(fifo->options.known_arg);
    for (char **at = keys; at != NULL && *at != NULL; at++) {
        struct pl_slice key = pl_slice_z(*at);
        if (pl_map_has(listed, key) || find_item(fifo, key) != NULL)
            continue;
        struct pl_doc *doc = NULL;
        if (fifo->options.known->get(fifo->options.known_arg, key, &doc) != 0)
            doc = NULL;
        append_tombstone(fifo, key, doc);
        count++;
    }
    pl_store_free_names(keys);
    return count;
}

static void queue_list(struct pl_deltafifo *fifo, struct listed *listed)
{
    enum pl_delta_type type = fifo->options.emit_replaced ? PL_DELTA_REPLACED : PL_DELTA_SYNC;
    for (size_t i = 0; i < listed->count; i++)
        deltafifo_append(fifo, listed->item_keys[i],
                         (struct pl_delta){.type = type, .doc = pl_doc_ref(listed->docs[i])});
    size_t deleted = delete_queued(fifo, &listed->keys);
    if (fifo->options.known != NULL)
        deleted += delete_known(fifo, &listed->keys);
    if (!fifo->populated)
        fifo->first_left = listed->keys.count + deleted; /* rule 9 */
    fifo->populated = true;
}

int pl_deltafifo_replace(struct pl_deltafifo *fifo, struct pl_doc *const *docs, size_t count,
                         struct pl_err *err)
{
    struct listed listed = {.item_keys = pl_calloc(count, sizeof(struct pl_slice)),
                            .docs = pl_calloc(count, sizeof(struct pl_doc *))};
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = prepare_one(fifo, docs[i], &listed, err);
    if (rc == 0)
        queue_list(fifo, &listed);
    deinit_listed(&listed);
    return rc;
}

/* ---- resync ---- */

/* Queues a known object only when no newer delta is queued (rule 12). Its key is computed anew: a
 * transformation may have renamed the stored object. */
static void resync_one(struct pl_deltafifo *fifo, struct pl_slice known_key)
{
    struct pl_doc *doc = NULL;
    struct pl_buf key = PL_BUF_INIT;
    if (fifo->options.known->get(fifo->options.known_arg, known_key, &doc) == 0 && doc != NULL &&
        deltafifo_key_of(fifo, doc, &key, NULL) == 0 && find_item(fifo, pl_buf_slice(&key)) == NULL)
        deltafifo_append(fifo, pl_buf_slice(&key),
                         (struct pl_delta){.type = PL_DELTA_SYNC, .doc = pl_doc_ref(doc)});
    pl_doc_unref(doc);
    pl_buf_deinit(&key);
}

int pl_deltafifo_resync(struct pl_deltafifo *fifo)
{
    if (fifo->options.known == NULL)
        return 0;
    char **keys = fifo->options.known->keys(fifo->options.known_arg);
    for (char **at = keys; at != NULL && *at != NULL; at++)
        resync_one(fifo, pl_slice_z(*at));
    pl_store_free_names(keys);
    return 0;
}

/* ---- taking ---- */

int pl_deltafifo_take(struct pl_deltafifo *fifo, struct pl_deltas *deltas)
{
    struct pl_link *link = pl_list_pop(&fifo->order);
    if (link == NULL)
        return fifo->closed ? PL_ECLOSED : PL_EAGAIN;
    struct item *item = PL_CONTAINER_OF(link, struct item, link);
    pl_keyset_remove(&fifo->items, &item->node);
    *deltas = (struct pl_deltas){
        .key = pl_slice(item->key, item->node.len),
        .items = item->deltas,
        .count = item->count,
        .initial = !pl_deltafifo_has_synced(fifo),
        .own_key = keeps_objects(fifo),
        .item = item,
    };
    return 0;
}

void pl_deltafifo_done(struct pl_deltafifo *fifo, struct pl_deltas *deltas)
{
    PL_REQUIRE(deltas->item != NULL);
    if (fifo->first_left > 0)
        fifo->first_left--; /* only now: synced means processed (rule 27) */
    free_item(deltas->item);
    *deltas = (struct pl_deltas){0};
}

bool pl_deltafifo_has_synced(const struct pl_deltafifo *fifo)
{
    return fifo->populated && fifo->first_left == 0;
}

size_t pl_deltafifo_len(const struct pl_deltafifo *fifo)
{
    return fifo->items.count;
}

void pl_deltafifo_close(struct pl_deltafifo *fifo)
{
    fifo->closed = true;
}

bool pl_deltafifo_is_closed(const struct pl_deltafifo *fifo)
{
    return fifo->closed;
}
