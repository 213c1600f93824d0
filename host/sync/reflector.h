/* Keeps a sink equal to what the server has of one kind (in one namespace or in all):
 * LIST, then WATCH from where the list ended, for ever (rules 50-53, 55-71, 73, 83-85); with
 * `stream` the list comes as the beginning of the watch (rules 75-79, 81). Knows no store and no
 * queue. I/O thread.
 *
 * What it decides itself:
 * - An answer without an HTTP status when a watch is opened (refused, reset, timed out)
 *   says nothing about our resourceVersion, so the watch is opened again after a pause; rule 64 is
 *   kept for answers. The same holds for a watch that ends within a second without progress
 *   (rule 68).
 * - A page limit beside a resourceVersion other than "0" goes with
 *   resourceVersionMatch=NotOlderThan, as the server would read it as an exact version else.
 * - resourceVersions that go back (a restored etcd) lead to a list without a version.
 * - A list that a bad connection cuts is asked for in smaller pages, the cut page again and not
 *   the whole list; pages grow back with lists that come through.
 * - A streamed list falls back to a list in the same cycle on any failure but a lost connection or
 *   429, and when its end bookmark does not come: within 30 s, or 30 s more for each 1,000
 *   objects that came in the last 30 (5 minutes at most). client-go tries again with each cycle
 * (rule 79); here a refusal is remembered for 10 minutes by the whole cluster, a bookmark that did
 * not come by the source. A stream that is cut is opened once more (rule 78), then listed.
 * - What ends without any answer waits for its turn among the cluster's reflectors instead of for a
 *   pause of its own (sync/reconnect.h). */
#pragma once

#include "sync/listing.h"
#include "sync/reconnect.h"
#include "sync/trouble.h"

struct pl_reflector;

/* Documents are borrowed for the call. */
struct pl_reflector_sink {
    /* What has come next of a list that goes on; the first of it begins the list, and whatever was
     * begun before is not gone on with. `taken`: replace need not have it again, so that there is
     * no long work at the end; of a list that is streamed, an object may come again, changed, or
     * `remove` may come for it. NULL: takes nothing. */
    int (*page)(void *arg, const struct pl_docs *items, bool first, bool anew, bool *taken,
                struct pl_err *err);
    /* Everything there is, as of rv, or the rest of it when it was `begun` by pages that were
     * taken. `anew`: the server was asked without a version, because ours was of no use; its answer
     * counts even where it is older. A failure leads to another list. The items may be taken out of
     * the array. */
    int (*replace)(void *arg, struct pl_docs *items, bool begun, struct pl_slice rv, bool anew,
                   struct pl_err *err);
    /* A failure is logged; the next event comes nevertheless (rule 69). */
    int (*add)(void *arg, struct pl_doc *object, struct pl_err *err);
    int (*update)(void *arg, struct pl_doc *object, struct pl_err *err);
    int (*remove)(void *arg, struct pl_doc *object, struct pl_err *err);
    /* Nothing else happened up to rv. */
    void (*bookmark)(void *arg, struct pl_slice rv);
    /* What the sink holds of an object that is being listed, where that is the same version: takes
     * the reference and gives one back, so that a relist needs no second copy. NULL: nothing. */
    struct pl_doc *(*share)(void *arg, struct pl_doc *object);
    /* ---- of objects that lie in shards; NULL: all are kept ---- */
    /* A list begins: of what it brings, `keeps` is asked as it stands now. Appends what the server
     * is to be asked for (shardSelector); nothing: for all. */
    void (*begin)(void *arg, struct pl_buf *shards);
    /* The same of a watch. */
    void (*watch)(void *arg, struct pl_buf *shards);
    /* Is it to be kept? */
    bool (*keeps)(void *arg, struct pl_doc *object, bool listed);
    /* Something happened to an object that is not: there is nothing else up to its version. */
    void (*pass)(void *arg, struct pl_doc *object);
    /* The server does not understand what begin or watch said. */
    void (*no_shards)(void *arg);
};

struct pl_reflector_options {
    struct pl_listing listing;        /* its resource lives until `ended`; its texts are copied */
    struct pl_waits *waits;           /* borrowed for life; NULL: none */
    struct pl_reconnects *reconnects; /* the same; NULL: it comes back without asking others */
    bool stream;                      /* ask for lists as streams first */
    const struct pl_reflector_sink *sink;
    /* The trouble or the state is another one. May be NULL. */
    void (*changed)(void *arg);
    /* The server does not know the resource (404): it keeps asking, until it is stopped. */
    void (*gone)(void *arg);
    void *arg;
    struct pl_series *watches; /* requests made; NULL: not counted */
};

enum pl_reflector_state {
    PL_REFLECTOR_IDLE,
    PL_REFLECTOR_LISTING,
    PL_REFLECTOR_OPENING, /* a watch was asked for */
    PL_REFLECTOR_WATCHING,
    PL_REFLECTOR_PAUSING, /* until the next try */
    PL_REFLECTOR_STOPPED,
};

struct pl_reflector *pl_reflector_create(const struct pl_reflector_options *options);
void pl_reflector_start(struct pl_reflector *reflector);
/* Cancels what is under way. From now on nothing is called but `ended`: later, once, when the
 * reflector is no more. At any moment, also from its own callbacks. */
void pl_reflector_stop(struct pl_reflector *reflector, void (*ended)(void *arg), void *arg);

/* What `watch` says is another text now: a watch that is under way is opened again with it, from
 * where it is. */
void pl_reflector_rewatch(struct pl_reflector *reflector);
/* A list of all is under way, or will be before the next watch. */
bool pl_reflector_will_list(const struct pl_reflector *reflector);

enum pl_reflector_state pl_reflector_state(const struct pl_reflector *reflector);
/* NULL when nothing is wrong. */
const struct pl_trouble *pl_reflector_trouble(const struct pl_reflector *reflector);
/* The version the next watch would begin at; empty before the first list. */
struct pl_slice pl_reflector_rv(const struct pl_reflector *reflector);
