/* A controller host in a world: the parts of `perilune run` on a stepped loop, with a wire instead
 * of connections, and without the parts of a process (signals, addresses, the admin socket). Its
 * scripts run in an ordinary lane on the calling thread. */
#pragma once

#include "bind/generation.h"
#include "control/manager.h"
#include "webhook/hooks.h"
#include "world/external_servers.h"
#include "world/wire.h"

struct pl_replica;

struct pl_replica_options {
    const char *name;             /* "main"; copied */
    const struct pl_clock *clock; /* the world's; borrowed for life */
    struct pl_api *api;           /* borrowed for life */
    struct pl_watchdog *dog;      /* borrowed for life; NULL: a new one */
    uint64_t seed;                /* not 0 */
    int64_t skew_ns;              /* of its wall clock, against the world's */
    const char *const *paths;     /* of scripts; borrowed for the call */
    size_t path_count;
    struct pl_doc *config;              /* perilune.config; a reference is taken; NULL: {} */
    char **namespaces;                  /* as --namespace; NULL: all. Copied. */
    bool elects;                        /* as --leader-elect */
    bool unshared;                      /* its documents share no values, see value/pool.h */
    int64_t cpu_limit_ns;               /* 0: 5 s */
    int64_t grace_ns;                   /* 0: 25 s */
    const struct pl_chooser *chooser;   /* borrowed for life; NULL: no disturbances */
    const struct pl_line_watch *lines;  /* borrowed for life; NULL: lines are not recorded */
    struct pl_listing *listing;         /* lane/cache.h; borrowed for life; NULL: none */
    struct pl_external_options outside; /* the external servers for perilune.http */
    void (*seen)(void *arg, const struct pl_wire_seen *seen);
    bool (*rule)(void *arg, const struct pl_point *point, struct pl_disturbance *out);
    bool (*is_held)(void *arg, const char *resource);
    /* A run has ended. */
    void (*ran)(void *arg, struct pl_replica *replica, const struct pl_ran *ran);
    /* It has to end at once: call pl_replica_destroy, but not inside this call. */
    void (*crash)(void *arg, struct pl_replica *replica);
    void *arg;
    const char *text; /* the options that the world does not set, for world/ahead.h; borrowed for
                       * the call; NULL: none */
};

/* Loads the scripts; nothing is sent yet. NULL and err for an error in a script, "file:line: what".
 * The caller owns the replica. */
struct pl_replica *pl_replica_create(const struct pl_replica_options *options, struct pl_err *err);
/* Begins to list and watch. An error: an index of the scripts is refused. */
PL_MUST_USE int pl_replica_begin(struct pl_replica *replica, struct pl_err *err);
/* True if its scripts have asked for the time. */
bool pl_replica_asked_time(const struct pl_replica *replica);
/* Like a kill: no byte leaves it any more. Accepts NULL. */
void pl_replica_destroy(struct pl_replica *replica);
/* Like SIGTERM; it has stopped when pl_replica_is_stopped returns true. */
void pl_replica_stop(struct pl_replica *replica);
bool pl_replica_is_stopped(const struct pl_replica *replica);
/* Loads other scripts. done is called once, later; err: they were refused, and the old ones
 * continue. */
void pl_replica_reload(struct pl_replica *replica, const char *const *paths, size_t count,
                       void (*done)(void *arg, const struct pl_err *err), void *arg);

/* Lives as long as the replica. */
const char *pl_replica_name(const struct pl_replica *replica);
/* Does the next piece of work that is possible now; false: there is none. */
bool pl_replica_step(struct pl_replica *replica);
/* The time of its next timer; false: there is none. */
bool pl_replica_next_timer(const struct pl_replica *replica, int64_t *due_ns);
/* True when every controller runs. Otherwise appends why one does not. */
bool pl_replica_is_synced(struct pl_replica *replica, struct pl_buf *why);
/* The work that continues by itself: a request, a run, a question, events; NULL: none. Sleeping
 * runs of tasks do not count. A literal. */
const char *pl_replica_busy_with(struct pl_replica *replica);
/* One of its controllers waits for the lead. */
bool pl_replica_stands_by(const struct pl_replica *replica);
/* It has the lead, or there is no election. */
bool pl_replica_leads(const struct pl_replica *replica);

/* Later work: delayed keys, and sleeping tasks. */
struct pl_replica_due {
    const char *what; /* "controller key", and the place of a sleep: borrowed for the call */
    int64_t due_ns;
    int64_t delay_ns; /* of a sleep; else 0 */
    bool fails;       /* it is a retry */
};
void pl_replica_each_due(struct pl_replica *replica,
                         void (*visit)(void *arg, const struct pl_replica_due *due), void *arg);

/* What it knows besides its caches: pl_script_memory. false: it can't be told, or it has webhooks,
 * memos of keys, keys that fail, or later work. */
bool pl_replica_memory(struct pl_replica *replica, uint64_t *digest);

/* All that follow live as long as the replica. */
struct pl_cluster *pl_replica_cluster(struct pl_replica *replica);
struct pl_manager *pl_replica_manager(struct pl_replica *replica);
/* NULL: its scripts have never declared a webhook. */
struct pl_hooks *pl_replica_hooks(struct pl_replica *replica);
struct pl_metrics *pl_replica_metrics(struct pl_replica *replica);
struct pl_wire *pl_replica_wire(struct pl_replica *replica);
