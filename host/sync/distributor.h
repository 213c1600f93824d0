/* The inner part of a shared informer, without I/O: takes deltas from a delta queue, keeps the
 * store equal to it and tells every listener (rules 24, 29, 40-43, 49). The host has one listener
 * here and never resyncs; the rest is client-go's, for vectors. I/O thread; time is passed in. */
#pragma once

#include "base/list.h"
#include "store/deltafifo.h"
#include "store/store.h"

struct pl_distributor;
struct pl_listener;

/* Keys and documents are borrowed for the call. Inside a call a listener may remove itself or
 * others, add others, and queue new deltas. */
struct pl_listener_ops {
    /* initial: of the first list, or stored before this listener was added. */
    void (*on_add)(struct pl_listener *listener, struct pl_slice key, struct pl_doc *object,
                   bool initial);
    /* Also called without a change, for listeners that are due for a resync. */
    void (*on_update)(struct pl_listener *listener, struct pl_slice key, struct pl_doc *old,
                      struct pl_doc *object);
    /* stale: the deletion was missed; then object is the last known state, NULL when there is none
     * (rule 49). */
    void (*on_delete)(struct pl_listener *listener, struct pl_slice key, struct pl_doc *object,
                      bool stale);
};

/* Embedded in its owner. */
struct pl_listener {
    struct pl_link link;               /* private from here on */
    const struct pl_listener_ops *ops; /* borrowed for life */
    struct pl_distributor *of;         /* back-pointer; NULL when not registered */
    int64_t asked_resync_ns, resync_ns, next_resync_ns;
    bool due;        /* gets updates without a change (rule 42) */
    uint64_t joined; /* the distribution during which it was added */
};

struct pl_distributor_options {
    struct pl_store *store;    /* borrowed for life, as is the queue */
    struct pl_deltafifo *fifo; /* its known objects should be the store: pl_distributor_known_ops */
    int64_t resync_ns;         /* initial period of pl_distributor_resync; 0: never */
};

/* For the queue's options: the store (known_arg) as the known objects. */
extern const struct pl_known_ops pl_distributor_known_ops;

/* The caller owns the distributor. The options are copied. */
struct pl_distributor *pl_distributor_create(const struct pl_distributor_options *options);
/* Remaining listeners are forgotten. Accepts NULL. */
void pl_distributor_destroy(struct pl_distributor *d);

/* From now on new listeners get the stored objects, and the check period is fixed. */
void pl_distributor_start(struct pl_distributor *d);
/* Removes all listeners and accepts no more (rule 46). */
void pl_distributor_stop(struct pl_distributor *d);
bool pl_distributor_is_stopped(const struct pl_distributor *d);

/* Processes one key: EAGAIN when nothing is queued, ECLOSED when the queue is closed too. */
int pl_distributor_process(struct pl_distributor *d);
/* Processes everything that is queued as one change: readers of the store see all of it or nothing
 * (F26); then the listeners are told one by one. EAGAIN and ECLOSED as above. */
int pl_distributor_process_all(struct pl_distributor *d);
/* The version of a list or bookmark. It becomes the store's version when everything that is queued
 * has been processed, never earlier (rules 24, 37). */
void pl_distributor_set_rv(struct pl_distributor *d, struct pl_slice rv);

/* ---- listeners ---- */

/* resync_ns: 0 for never. It is raised to at least a second and, after start, to the check period;
 * before start it lowers the check period (rule 43). Calls on_add for all stored objects when
 * started (rule 40). ECLOSED after stop. */
int pl_distributor_add(struct pl_distributor *d, struct pl_listener *listener,
                       const struct pl_listener_ops *ops, int64_t resync_ns, int64_t now_ns);
/* Does nothing when it is not registered. */
void pl_distributor_remove(struct pl_listener *listener);
bool pl_distributor_has(const struct pl_listener *listener);
/* True when the first list was processed and this listener has finished its initial adds (rule 41).
 */
bool pl_listener_has_synced(const struct pl_listener *listener);

/* ---- resync ---- */

/* The period for calling pl_distributor_resync; 0: never. */
int64_t pl_distributor_check_period(const struct pl_distributor *d);
/* Decides which listeners are due, and queues every stored object if one is; then true. */
bool pl_distributor_resync(struct pl_distributor *d, int64_t now_ns);
