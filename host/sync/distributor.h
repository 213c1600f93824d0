/* The inner part of a shared informer, without I/O: takes what a delta queue holds, keeps the
 * store equal to it and tells every listener (rules 24, 29, 40-43, 49).
 * I/O thread; time is passed in. */
#pragma once

#include "base/list.h"
#include "store/deltafifo.h"
#include "store/store.h"

struct pl_distributor;
struct pl_listener;

/* Keys and documents are borrowed for the call. A listener may remove itself or others, add others,
 * and queue new deltas, from inside a call. */
struct pl_listener_ops {
    /* initial: of the first list, or there already when this listener came. */
    void (*on_add)(struct pl_listener *listener, struct pl_slice key, struct pl_doc *object,
                   bool initial);
    /* Also when nothing changed, to listeners that are due for a resync. */
    void (*on_update)(struct pl_listener *listener, struct pl_slice key, struct pl_doc *old,
                      struct pl_doc *object);
    /* stale: the deletion was missed; object is the last known state then, NULL when there is
     * none (rule 49). */
    void (*on_delete)(struct pl_listener *listener, struct pl_slice key, struct pl_doc *object,
                      bool stale);
};

/* Embedded in its owner. */
struct pl_listener {
    struct pl_link link;               /* private from here on */
    const struct pl_listener_ops *ops; /* borrowed for life */
    struct pl_distributor *of;         /* back-pointer; NULL when not registered */
    int64_t asked_resync_ns, resync_ns, next_resync_ns;
    bool due;        /* gets updates that changed nothing (rule 42) */
    size_t holds;    /* initial work that is still under way (rule 41) */
    uint64_t joined; /* the distribution during which it came */
};

struct pl_distributor_options {
    struct pl_store *store;    /* borrowed for life, as is the queue */
    struct pl_deltafifo *fifo; /* what it knows should be the store: pl_distributor_known_ops */
    int64_t resync_ns;         /* how often pl_distributor_resync is called at first; 0: never */
};

/* For the queue's options: the store (known_arg) is what is known. */
extern const struct pl_known_ops pl_distributor_known_ops;

struct pl_distributor *pl_distributor_create(const struct pl_distributor_options *options);
/* Listeners left are forgotten. Accepts NULL. */
void pl_distributor_destroy(struct pl_distributor *d);

/* From here on listeners that come are told what is stored, and the check period is fixed. */
void pl_distributor_start(struct pl_distributor *d);
/* Forgets all listeners and takes no more (rule 46). */
void pl_distributor_stop(struct pl_distributor *d);
bool pl_distributor_is_stopped(const struct pl_distributor *d);

/* Works off one key: EAGAIN when nothing is queued, ECLOSED when the queue is closed too. */
int pl_distributor_process(struct pl_distributor *d);
/* Works off everything that is queued as one change: readers of the store see all of it or nothing
 * (F26), then the listeners are told one by one. EAGAIN and ECLOSED as above. */
int pl_distributor_process_all(struct pl_distributor *d);
/* The version of a list or bookmark: the store's once all that is queued has been worked off,
 * never ahead of the content (rules 24, 37). */
void pl_distributor_set_rv(struct pl_distributor *d, struct pl_slice rv);

/* ---- listeners ---- */

/* resync_ns: 0 for never; raised to a second (rule 43), to the check period after start, and
 * it lowers that before (rule 43). Calls on_add for everything stored when started (rule 40).
 * ECLOSED after stop. */
int pl_distributor_add(struct pl_distributor *d, struct pl_listener *listener,
                       const struct pl_listener_ops *ops, int64_t resync_ns, int64_t now_ns);
/* Harmless when it is not registered. */
void pl_distributor_remove(struct pl_listener *listener);
bool pl_distributor_has(const struct pl_listener *listener);
/* A listener that finishes its initial adds later holds while it has some. */
void pl_listener_hold(struct pl_listener *listener);
void pl_listener_release(struct pl_listener *listener);
/* The first list was worked off, and this listener is done with its initial adds (rule 41). */
bool pl_listener_has_synced(const struct pl_listener *listener);

/* ---- resync ---- */

/* How often pl_distributor_resync should be called; 0: never. */
int64_t pl_distributor_check_period(const struct pl_distributor *d);
/* Decides anew which listeners are due, and queues every stored object when one is: true then. */
bool pl_distributor_resync(struct pl_distributor *d, int64_t now_ns);
