/* The recent history of each key, for `perilune why`: events with their changes, predicates that
 * dropped them, queueing, runs, the runs' calls and results. Bounded: the last 64 entries of a key,
 * 4 KiB of text for a key, 512 KiB in all; the keys that were quiet for longest are forgotten
 * first. One for each cluster. I/O thread. */
#pragma once

#include "base/keyset.h"
#include "base/list.h"
#include "base/map.h"
#include "base/slice.h"
#include "value/slab.h"

#include <stdint.h>

#define PL_HISTORY_LENGTH 64

enum pl_happening {
    PL_HAPPENED_EVENT,   /* detail: "MODIFIED v1/Pod default/a: spec.replicas" */
    PL_HAPPENED_DROPPED, /* a predicate dropped such an event; detail as above */
    PL_HAPPENED_QUEUED,  /* without an event; detail: "RESYNC", "RELOAD", or the requester */
    PL_HAPPENED_DELAYED, /* detail: the reason; `amount`: for how many ns */
    PL_HAPPENED_PARKED,  /* its For object is paused */
    PL_HAPPENED_STARTED, /* a run; detail: its reconcile id */
    PL_HAPPENED_CALLED,  /* a call of the run has ended; detail: "update v1/Pod default/a: ok" */
    PL_HAPPENED_ENDED,   /* detail: the result; `amount`: duration of the run in ns */
    PL_HAPPENED_FORGOT,  /* removed from the queue by an operator */
};
/* "event", "started". Literals. */
const char *pl_happening_name(enum pl_happening what);

struct pl_history {
    struct pl_keyset keys; /* "controller key" -> its entries */
    struct pl_list used;   /* the longest quiet one first */
    struct slab
        memory; /* on the heap, entries would keep temporary memory from going back to the system */
    size_t bytes, limit;
    struct pl_map calls; /* "controller verb kind [subresource]"; values are unused */
};

struct pl_happened {
    int64_t at_ns; /* monotonic */
    enum pl_happening what;
    int64_t amount;
    struct pl_slice detail; /* borrowed until the history changes */
};

/* limit: bytes in all; 0: 512 KiB. */
void pl_history_init(struct pl_history *history, size_t limit);
void pl_history_deinit(struct pl_history *history);
/* Forgets the entries of all keys, but no sort of call. */
void pl_history_clear(struct pl_history *history);

/* Joins the parts of the detail; beyond 512 bytes it is cut. */
void pl_history_add(struct pl_history *history, struct pl_slice controller, struct pl_slice key,
                    int64_t at_ns, enum pl_happening what, int64_t amount,
                    const struct pl_slice *parts, size_t part_count);
/* Visits the entries of a key, oldest first. */
typedef void (*pl_history_fn)(void *arg, const struct pl_happened *happened);
void pl_history_each(const struct pl_history *history, struct pl_slice controller,
                     struct pl_slice key, pl_history_fn visit, void *arg);

/* Remembers each sort of call of a controller once, at most 1,000 sorts; what: "update v1/Pod
 * default/a status". Requests to other servers are ignored. */
void pl_history_note_call(struct pl_history *history, struct pl_slice controller,
                          struct pl_slice what);
