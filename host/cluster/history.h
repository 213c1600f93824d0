/* What happened to each key lately, for `perilune why`: events with what they changed, predicates
 * that dropped them, queueing, runs, the runs' calls and how they ended. Bounded: the last 64
 * things of a key, 4 KiB of text a key, 512 KiB in all; the keys that were quiet longest are
 * forgotten first. One for a cluster. I/O thread. */
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
    PL_HAPPENED_QUEUED,  /* without an event; detail: "RESYNC", "RELOAD", who asked */
    PL_HAPPENED_DELAYED, /* detail: why; `amount` is for how many ns */
    PL_HAPPENED_PARKED,  /* its For object is paused */
    PL_HAPPENED_STARTED, /* a run; detail: its reconcile id */
    PL_HAPPENED_CALLED,  /* the run's call has ended; detail: "update v1/Pod default/a: ok" */
    PL_HAPPENED_ENDED,   /* detail: how; `amount` is how many ns the run took */
    PL_HAPPENED_FORGOT,  /* dropped from the queue by hand */
};
const char *pl_happening_name(enum pl_happening what); /* "event", "started" */

struct pl_history {
    struct pl_keyset keys; /* "controller key" -> its things */
    struct pl_list used;   /* the quietest first */
    struct slab memory;    /* in the common heap they would keep what a burst needed */
    size_t bytes, limit;
    struct pl_map calls; /* "controller verb kind [subresource]"; values are nothing */
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

/* The details' parts are joined; what is over 512 bytes is cut. */
void pl_history_add(struct pl_history *history, struct pl_slice controller, struct pl_slice key,
                    int64_t at_ns, enum pl_happening what, int64_t amount,
                    const struct pl_slice *parts, size_t part_count);
/* Visits what is known of a key, oldest first. */
typedef void (*pl_history_fn)(void *arg, const struct pl_happened *happened);
void pl_history_each(const struct pl_history *history, struct pl_slice controller,
                     struct pl_slice key, pl_history_fn visit, void *arg);

/* Remembers what sort of call a controller has made, each once, at most 1,000 sorts; what: "update
 * v1/Pod default/a status". Requests to other servers are passed over. */
void pl_history_note_call(struct pl_history *history, struct pl_slice controller,
                          struct pl_slice what);
