/* One API server for all parts that use it: the client, its discovery, timers, randomness, waits,
 * metrics. It also counts work under way, so that a host can wait for its end. All state belongs to
 * a site and none to the process, so that there can be several clusters. I/O thread. */
#pragma once

#include "base/metrics.h"
#include "base/rand.h"
#include "base/task.h"
#include "base/timer.h"
#include "base/wait.h"
#include "sync/reconnect.h"
#include "kube/client.h"
#include "kube/discovery.h"
#include "value/pool.h"

struct pl_shards;
struct pl_site;

struct pl_site_options {
    struct pl_client *client; /* borrowed for life, as is everything below */
    struct pl_timers *timers;
    struct pl_rand *rand;
    struct pl_waits *waits; /* NULL: waits are not registered */
    struct pl_pool *pool;
    struct pl_metrics *metrics; /* NULL: none */
    /* Runs task->run later in this turn (pl_loop_defer behind it; tests have their own). */
    void (*defer)(void *arg, struct pl_task *task, void (*run)(struct pl_task *task));
    void *defer_arg;
    const char *name; /* of another cluster than the host's own; NULL: the host's. Borrowed. */
    struct pl_site
        *parent; /* the host's own site, which is not idle while this one is not; NULL: none */
    struct pl_shards *shards; /* the shards of this process; NULL: no shards, everything is ours */
    bool stream_lists; /* request lists as the beginning of watches if the server supports it */
    /* Reports a problem that a person has to resolve (an Event about ourselves). May be NULL. */
    void (*say)(void *arg, const char *reason, const char *note);
    void *say_arg;
};

/* The caller owns it. */
struct pl_site *pl_site_create(const struct pl_site_options *options);
/* It must be idle. Accepts NULL. */
void pl_site_destroy(struct pl_site *site);

/* The results are borrowed, and live as long as the site. */
struct pl_client *pl_site_client(const struct pl_site *site);
struct pl_discovery *pl_site_discovery(const struct pl_site *site);
struct pl_timers *pl_site_timers(const struct pl_site *site);
struct pl_rand *pl_site_rand(const struct pl_site *site);
struct pl_waits *pl_site_waits(const struct pl_site *site); /* NULL: none */
struct pl_pool *pl_site_pool(const struct pl_site *site);
struct pl_metrics *pl_site_metrics(const struct pl_site *site); /* NULL: none */
struct pl_reconnects *pl_site_reconnects(const struct pl_site *site);
const char *pl_site_name(const struct pl_site *site); /* NULL: the host's own */
bool pl_site_streams_lists(const struct pl_site *site);
struct pl_shards *pl_site_shards(const struct pl_site *site); /* NULL: none */
/* The server filters lists and watches by ranges of uids; false until this is known. */
bool pl_site_filters_uids(const struct pl_site *site);
void pl_site_set_filters_uids(struct pl_site *site, bool filters);

void pl_site_defer(struct pl_site *site, struct pl_task *task, void (*run)(struct pl_task *task));
/* The time until a deadline of the monotonic clock; 0: there is no deadline. ETIMEOUT: it has
 * passed. */
PL_MUST_USE int pl_site_time_left(const struct pl_site *site, int64_t deadline_ns, int64_t *left_ns,
                                  struct pl_err *err);
void pl_site_say(struct pl_site *site, const char *reason, const char *note);

/* ---- idle ---- */

/* Work (an informer, a read, a write) keeps the site from being idle; each hold needs one release.
 */
void pl_site_hold(struct pl_site *site);
void pl_site_release(struct pl_site *site);
/* True when there is no hold. */
bool pl_site_is_idle(const struct pl_site *site);
/* Calls back once, later, when it is idle. Only one callback at a time; NULL removes it. */
void pl_site_on_idle(struct pl_site *site, void (*on_idle)(void *arg), void *arg);
