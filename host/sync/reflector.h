/* Keeps a sink equal to the server's objects of one kind (in one namespace or in all): LIST, then
 * WATCH from the list's version, for ever (rules 50-53, 55-71, 73, 83-85). With `stream` the list
 * is the beginning of the watch (rules 75-79, 81). It knows neither store nor queue. I/O thread.
 *
 * Its own decisions:
 * - If opening a watch fails without an HTTP status (refused, reset, timed out), this says nothing
 * about our resourceVersion, so the watch is opened again after a pause; rule 64 applies to
 * answers. The same holds for a watch that ends within a second without progress (rule 68).
 * - A page limit with a resourceVersion other than "0" is sent with
 * resourceVersionMatch=NotOlderThan, as the server would otherwise read it as an exact version.
 * - resourceVersions that go back (a restored etcd) lead to a list without a version.
 * - If a bad connection cuts a list, smaller pages are requested, beginning with the cut page and
 * not with the whole list; pages grow again after successful lists.
 * - A streamed list falls back to a list in the same cycle on any failure except a lost connection
 * or 429, and when its end bookmark does not come: within 30 s, or 30 s more for each 1,000 objects
 * that came in the last 30 (at most 5 minutes). client-go tries again in each cycle (rule 79). Here
 * the whole cluster remembers a refusal for 10 minutes, and the source remembers a missing
 * bookmark. A stream that is cut is opened once more (rule 78), then listed.
 * - After a failure without any answer it waits for its turn among the cluster's reflectors instead
 * of pausing by itself (sync/reconnect.h). */
#pragma once

#include "sync/listing.h"
#include "sync/reconnect.h"
#include "sync/trouble.h"

struct pl_reflector;

/* Documents are borrowed for the call. */
struct pl_reflector_sink {
    /* The next objects of a list in progress. The first call begins the list and abandons an
     * earlier one. `taken`: replace will not bring these objects again, so that there is no long
     * work at the end. In a streamed list, an object may come again, changed, or be removed with
     * `remove`. NULL: not used. */
    int (*page)(void *arg, const struct pl_docs *items, bool first, bool anew, bool *taken,
                struct pl_err *err);
    /* All objects as of rv, or the rest if the list was `begun` by taken pages. `anew`: the server
     * was asked without a version, because ours was unusable; its answer counts even if it is
     * older. A failure leads to another list. The sink may move items out of the array. */
    int (*replace)(void *arg, struct pl_docs *items, bool begun, struct pl_slice rv, bool anew,
                   struct pl_err *err);
    /* A failure is logged; the next event comes nevertheless (rule 69). */
    int (*add)(void *arg, struct pl_doc *object, struct pl_err *err);
    int (*update)(void *arg, struct pl_doc *object, struct pl_err *err);
    int (*remove)(void *arg, struct pl_doc *object, struct pl_err *err);
    /* There are no other events up to rv. */
    void (*bookmark)(void *arg, struct pl_slice rv);
    /* The sink's copy of an object that is being listed, if it has the same version: takes the
     * reference and returns one, so that a relist needs no second copy. NULL: not used. */
    struct pl_doc *(*share)(void *arg, struct pl_doc *object);
    /* ---- of objects that lie in shards; NULL: all are kept ---- */
    /* A list begins: `keeps` is asked for its objects as of now. Appends the shardSelector for the
     * server; an empty text means all objects. */
    void (*begin)(void *arg, struct pl_buf *shards);
    /* The same for a watch. */
    void (*watch)(void *arg, struct pl_buf *shards);
    /* Whether the object should be kept. */
    bool (*keeps)(void *arg, struct pl_doc *object, bool listed);
    /* There was an event for an object that is not kept: there are no other events up to its
     * version. */
    void (*pass)(void *arg, struct pl_doc *object);
    /* The server does not understand the text of begin or watch. */
    void (*no_shards)(void *arg, const struct pl_err *err);
};

struct pl_reflector_options {
    struct pl_listing listing;        /* its resource lives until `ended`; its texts are copied */
    struct pl_waits *waits;           /* borrowed for life; NULL: none */
    struct pl_reconnects *reconnects; /* the same; NULL: it reconnects without asking others */
    bool stream;                      /* ask for lists as streams first */
    const struct pl_reflector_sink *sink;
    /* The trouble or the state has changed. May be NULL. */
    void (*changed)(void *arg);
    /* The server does not know the resource (404): the reflector keeps asking until it is stopped.
     */
    void (*gone)(void *arg);
    void *arg;
    struct pl_series *watches; /* number of requests; NULL: not counted */
};

enum pl_reflector_state {
    PL_REFLECTOR_IDLE,
    PL_REFLECTOR_LISTING,
    PL_REFLECTOR_OPENING, /* a watch was asked for */
    PL_REFLECTOR_WATCHING,
    PL_REFLECTOR_PAUSING, /* waits until the next attempt */
    PL_REFLECTOR_STOPPED,
};

/* The caller owns the reflector. Texts of the listing are copied. */
struct pl_reflector *pl_reflector_create(const struct pl_reflector_options *options);
void pl_reflector_start(struct pl_reflector *reflector);
/* Cancels everything under way. From now on only `ended` is called: once, later, when the reflector
 * is freed. May be called at any time, also inside its own callbacks. */
void pl_reflector_stop(struct pl_reflector *reflector, void (*ended)(void *arg), void *arg);

/* The text of `watch` has changed: a watch under way is opened again with the new text, at its
 * current version. */
void pl_reflector_rewatch(struct pl_reflector *reflector);
/* A full list is under way, or will be before the next watch. */
bool pl_reflector_will_list(const struct pl_reflector *reflector);

enum pl_reflector_state pl_reflector_state(const struct pl_reflector *reflector);
/* The last failure if it has not been overcome, else NULL. Part of the reflector; borrowed for the
 * moment. */
const struct pl_trouble *pl_reflector_trouble(const struct pl_reflector *reflector);
/* The version where the next watch would begin; empty before the first list. */
struct pl_slice pl_reflector_rv(const struct pl_reflector *reflector);
