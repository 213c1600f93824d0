/* The queue of keys to reconcile: each key once, never processed twice at a time, with delays, rate
 * limits and priorities (rules 86-98, 100-106, 108, 109; shutdown drains: rules 89-91). I/O thread;
 * time is passed in, never read. */
#pragma once

#include "base/base.h"
#include "base/slice.h"
#include "store/ratelimit.h"

struct pl_workqueue;

#define PL_PRIORITY_LOW (-100)

struct pl_workqueue_options {
    struct pl_ratelimit *limit; /* the queue takes it; NULL: exponential 5 ms to 1000 s */
    /* behaves exactly like client-go's queue without priorities: a delay and an add without one run
     * a key twice (rule 92), and a key that is added while it is being processed is queued at the
     * end when it is done (rule 88). */
    bool plain;
    /* Called when a key may be ready, or the next due time has moved. May be NULL. */
    void (*changed)(void *arg);
    void *arg;
};

struct pl_add {
    int priority;
    int64_t after_ns;  /* 0: at once; below 0: at once, but counted as a retry (rule 93) */
    bool rate_limited; /* wait for the limiter's delay; with after_ns the shorter of both (rule 102)
                        */
};

/* The caller owns the queue. The options are copied. */
struct pl_workqueue *pl_workqueue_create(const struct pl_workqueue_options *options);
void pl_workqueue_destroy(struct pl_workqueue *q);

/* Adding a queued key merges both entries: the higher priority and the earlier due time win; a
 * ready key stays ready. A key whose priority rises goes to the end of its new level (rules
 * 101-104). Ignored after shutdown (rule 90), except that done queues a key that was dirty before.
 */
void pl_workqueue_add(struct pl_workqueue *q, struct pl_slice key, const struct pl_add *how,
                      int64_t now_ns);

/* The next key. It must be given to pl_workqueue_done whatever the outcome; until then it is not
 * taken again. EAGAIN when no key can be taken; ECLOSED instead after shutdown (a key that is being
 * processed may still come back). The key is borrowed until done. */
struct pl_item {
    struct pl_slice key;
    int priority;
    int64_t added_ns; /* when it became ready */
};
int pl_workqueue_take(struct pl_workqueue *q, struct pl_item *item, int64_t now_ns);
void pl_workqueue_done(struct pl_workqueue *q, struct pl_slice key, int64_t now_ns);
/* The next key for a caller that will begin it later: until then it counts as ready, and is shown
 * so. The caller must call either begin, which takes the key at that moment, or unclaim, which puts
 * it back in its place. An add after the claim runs the key once more after the first run; unclaim
 * merges both. Not for plain queues. Returns as take does. */
int pl_workqueue_claim(struct pl_workqueue *q, struct pl_item *item, int64_t now_ns);
void pl_workqueue_begin(struct pl_workqueue *q, struct pl_slice key, int64_t now_ns);
void pl_workqueue_unclaim(struct pl_workqueue *q, struct pl_slice key);
void pl_workqueue_forget(struct pl_workqueue *q, struct pl_slice key);
/* Removes a key in any state of waiting; a key that is being processed is not run again for earlier
 * adds. False when it was not there. */
bool pl_workqueue_drop(struct pl_workqueue *q, struct pl_slice key);

/* Replaces the limiter; the queue takes the new one. Failure counts are copied to it; existing
 * delays stay. */
void pl_workqueue_set_limit(struct pl_workqueue *q, struct pl_ratelimit *limit);
/* Moves due keys into the ready set, in the order of their due times (rule 104). So does each call
 * that gets the time. */
void pl_workqueue_promote(struct pl_workqueue *q, int64_t now_ns);
/* The instant the next waiting key becomes ready, which is over for keys that are due but were not
 * promoted; false when none waits. */
bool pl_workqueue_next_due(struct pl_workqueue *q, int64_t *due_ns);
size_t pl_workqueue_len(struct pl_workqueue *q, int64_t now_ns); /* ready keys (rule 106) */
size_t pl_workqueue_waiting(struct pl_workqueue *q);
int pl_workqueue_requeues(struct pl_workqueue *q, struct pl_slice key);

/* The state of a key. Several fields may be set: a running key may be ready again, or delayed. */
struct pl_queued {
    struct pl_slice key; /* borrowed until the queue changes */
    bool running, ready, delayed;
    int priority;
    int64_t started_ns; /* while running */
    int64_t ready_ns;   /* while ready: the time when it became ready */
    int64_t due_ns;     /* while delayed */
    int requeues;       /* rate limited adds since the last forget */
};
/* False when the key is not in the queue; then out has only its requeues. */
bool pl_workqueue_look(struct pl_workqueue *q, struct pl_slice key, int64_t now_ns,
                       struct pl_queued *out);
/* Visits at most `limit` keys: running ones first, then ready ones in the order of taking, then
 * delayed ones by due time. Returns the total number. The queue must not change meanwhile. */
size_t pl_workqueue_each(struct pl_workqueue *q, int64_t now_ns, size_t limit,
                         void (*visit)(void *arg, const struct pl_queued *queued), void *arg);

/* No new keys are accepted; ready keys are still handed out; delays are lost (rule 94). */
void pl_workqueue_shutdown(struct pl_workqueue *q);
bool pl_workqueue_is_shutting_down(const struct pl_workqueue *q);
/* True when it is shut down and no key is ready or being processed. */
bool pl_workqueue_is_drained(struct pl_workqueue *q, int64_t now_ns);

struct pl_workqueue_metrics {
    uint64_t adds; /* keys that became ready */
    uint64_t
        retries; /* rate limited and delayed adds, including those that changed nothing (rule 93) */
    size_t depth; /* ready keys, including those that were added again while being processed */
    int64_t unfinished_ns; /* sum over keys being processed */
    int64_t longest_ns;
};
void pl_workqueue_metrics(struct pl_workqueue *q, int64_t now_ns, struct pl_workqueue_metrics *out);
/* Ready keys by priority, highest first; levels without keys are left out. Fills at most cap
 * entries and returns the total number. */
struct pl_depth {
    int priority;
    size_t count;
};
size_t pl_workqueue_depths(struct pl_workqueue *q, int64_t now_ns, struct pl_depth *out,
                           size_t cap);
/* Called once per key when it is taken (latency: ready to taken) and when it is done (work). */
struct pl_workqueue_observer {
    void (*latency)(void *arg, int64_t ns);
    void (*work)(void *arg, int64_t ns);
    void *arg;
};
void pl_workqueue_observe(struct pl_workqueue *q, const struct pl_workqueue_observer *observer);
