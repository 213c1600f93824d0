/* The parts of a replica, for the files that implement it: replica.c builds and destroys it and
 * steps its loop, replica_generation.c loads its scripts. */
#pragma once

#include "lane/lanes.h"
#include "lua/limit.h"
#include "world/replica.h"

#include <sys/types.h>

struct pl_replica {
    struct pl_line_watch lines; /* for the lanes, as the next */
    struct pl_fault_watch faults;
    pid_t process; /* that created it */
    struct pl_replica_options o;
    char *name;
    struct pl_clock clock, script_clock;
    int64_t extra_ns; /* offset to the world's clock, while it is being destroyed */
    struct pl_loop *loop;
    struct pl_rand rand;
    struct pl_waits waits;
    struct pl_pool *pool; /* NULL: documents share no values */
    struct pl_idle collect;
    struct pl_metrics *metrics;
    struct pl_wire *wire;
    struct pl_external_servers *outside;
    struct pl_kubeconfig config;
    struct pl_client *client;
    struct pl_cluster *cluster;
    struct pl_memos *memos;
    struct pl_barred *barred;
    struct pl_elected *elected; /* NULL: no election */
    struct pl_manager *manager;
    struct pl_hooks *hooks; /* NULL: no script has declared a webhook yet */
    struct pl_generation *current, *next;
    struct pl_generation **closing; /* owned array: those that were replaced and have not closed */
    size_t closing_count;
    uint64_t generations;
    void (*reloaded)(void *arg, const struct pl_err *err);
    void *reloaded_arg;
    bool stopped, dead;
    bool asked_time; /* script_clock was read */
};

/* Loads the first generation: replica->current. */
int pl_replica_load(struct pl_replica *replica, struct pl_err *err);
