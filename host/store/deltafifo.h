/* The queue between a reflector and its store: a list of deltas per key, keys in
 * first-in order (rules 1-10, 12, 14-16, 27). I/O thread. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "value/doc.h"

struct pl_deltafifo;

enum pl_delta_type {
    PL_DELTA_ADDED,
    PL_DELTA_UPDATED,
    PL_DELTA_DELETED,
    PL_DELTA_REPLACED,
    PL_DELTA_SYNC,
};

struct pl_delta {
    enum pl_delta_type type;
    bool stale;         /* a missed deletion: doc is the last known state, may be NULL */
    struct pl_doc *doc; /* counted */
};

struct pl_deltas {
    struct pl_slice key;    /* borrowed until pl_deltafifo_done */
    struct pl_delta *items; /* oldest first */
    size_t count;
    bool initial; /* the first list was not yet processed when this was taken (rule 15) */
    bool own_key; /* the key is the object's own: no option could change the object or its key */
    void *item;   /* private */
};

/* The known objects (usually the store): Replace finds deletions with it, Resync finds objects. */
struct pl_known_ops {
    /* Gives a reference; NULL with 0: unknown; non-zero: the look-up failed (rule 5). */
    int (*get)(void *arg, struct pl_slice key, struct pl_doc **doc);
    /* NULL-terminated, as pl_store_keys gives them; freed with pl_store_free_names. */
    char **(*keys)(void *arg);
};

struct pl_deltafifo_options {
    const struct pl_known_ops *known; /* borrowed for life; NULL: only queued keys are known */
    void *known_arg;
    bool emit_replaced; /* Replace emits REPLACED rather than SYNC */
    /* Appends the key; NULL: metadata namespace/name. */
    int (*key)(void *arg, struct pl_node object, struct pl_buf *out, struct pl_err *err);
    /* Returns a new reference to the document to queue instead of doc; NULL: no transformation. Not
     * called for tombstones and SYNC (rule 6). Returning NULL with err refuses the object. */
    struct pl_doc *(*transform)(void *arg, struct pl_doc *doc, struct pl_err *err);
    void *arg; /* of key and transform */
};

/* The caller owns the queue. The options are copied. */
struct pl_deltafifo *pl_deltafifo_create(const struct pl_deltafifo_options *options);
void pl_deltafifo_destroy(struct pl_deltafifo *fifo);

/* Documents are borrowed; the queue takes references. If an object has no key or the transformation
 * refuses it, nothing changes (rule 16); a list is taken as a whole or not at all. */
PL_MUST_USE int pl_deltafifo_add(struct pl_deltafifo *fifo, struct pl_doc *doc, struct pl_err *err);
PL_MUST_USE int pl_deltafifo_update(struct pl_deltafifo *fifo, struct pl_doc *doc,
                                    struct pl_err *err);
PL_MUST_USE int pl_deltafifo_delete(struct pl_deltafifo *fifo, struct pl_doc *doc,
                                    struct pl_err *err);
/* Adds or updates a key that the caller knows; only if the options have neither key nor transform.
 */
void pl_deltafifo_queue(struct pl_deltafifo *fifo, enum pl_delta_type type, struct pl_slice key,
                        struct pl_doc *doc);
/* Adds a deletion whose final state was missed; doc may be NULL. */
int pl_deltafifo_delete_stale(struct pl_deltafifo *fifo, struct pl_slice key, struct pl_doc *doc);
PL_MUST_USE int pl_deltafifo_replace(struct pl_deltafifo *fifo, struct pl_doc *const *docs,
                                     size_t count, struct pl_err *err);
int pl_deltafifo_resync(struct pl_deltafifo *fifo);

/* EAGAIN when nothing is queued, ECLOSED when closed and empty. The taken deltas must be given to
 * pl_deltafifo_done after processing (rule 27), which also releases them. */
int pl_deltafifo_take(struct pl_deltafifo *fifo, struct pl_deltas *deltas);
void pl_deltafifo_done(struct pl_deltafifo *fifo, struct pl_deltas *deltas);

bool pl_deltafifo_has_synced(const struct pl_deltafifo *fifo);
size_t pl_deltafifo_len(const struct pl_deltafifo *fifo); /* keys queued */
/* Queued keys can still be taken (rule 14). */
void pl_deltafifo_close(struct pl_deltafifo *fifo);
bool pl_deltafifo_is_closed(const struct pl_deltafifo *fifo);
