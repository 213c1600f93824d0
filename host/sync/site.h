/* One API server, as the parts that talk to it see it: the client, its discovery, timers,
 * randomness, waits, metrics. It also counts what keeps the server busy with us, so that a host can
 * wait for the end of it. Everything hangs on a site and nothing on the process, so that a second
 * cluster can be added. I/O thread. */
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
    const char *name;         /* of a cluster that is not the host's own; NULL: it is. Borrowed. */
    struct pl_site *parent;   /* the host's own: not idle while this one is not; NULL: none */
    struct pl_shards *shards; /* which are this process's; NULL: there are none, all is ours */
    bool stream_lists; /* lists come as the beginning of watches where the server does that */
    /* Tells people of something that they have to mend (an Event about ourselves). NULL: nobody. */
    void (*say)(void *arg, const char *reason, const char *note);
    void *say_arg;
};

/* The caller owns it. */
struct pl_site *pl_site_create(const struct pl_site_options *options);
/* It must be idle. Accepts NULL. */
void pl_site_destroy(struct pl_site *site);

/* What is returned is borrowed, and lives as long as the site. */
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
/* The server filters lists and watches by ranges of uids; false until somebody says so. */
bool pl_site_filters_uids(const struct pl_site *site);
void pl_site_set_filters_uids(struct pl_site *site, bool filters);

void pl_site_defer(struct pl_site *site, struct pl_task *task, void (*run)(struct pl_task *task));
void pl_site_say(struct pl_site *site, const char *reason, const char *note);

/* ---- idle ---- */

/* Something began (an informer, a read, a write) that keeps the site from being idle; each hold is
 * undone by one release. */
void pl_site_hold(struct pl_site *site);
void pl_site_release(struct pl_site *site);
/* Nothing holds it. */
bool pl_site_is_idle(const struct pl_site *site);
/* Calls back once, later, when it is idle; one caller at a time; NULL forgets it. */
void pl_site_on_idle(struct pl_site *site, void (*on_idle)(void *arg), void *arg);
