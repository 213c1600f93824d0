/* Starts and stops what the scripts declared, in the order of host/README.md. I/O thread. */
#pragma once

#include "cluster/cluster.h"
#include "control/edition.h"

struct pl_manager;
struct pl_leadership;

struct pl_manager_options {
    struct pl_cluster *cluster; /* borrowed for life */
    int64_t grace_ns;           /* --graceful-shutdown-timeout */
    /* Borrowed for life. Controllers whose spec says so run only while it leads; NULL: all run. */
    struct pl_leadership *leadership;
    /* Everything has stopped: 0, or the exit code that says why (1: the grace ran out; 3:
     * the lead was lost; 4: no controller could start within its cache_sync_timeout). Called once.
     * When the grace ran out or the lead was lost, pl_manager_is_clean may say no: runs, reads or
     * writes are still under way, so that nothing may be torn down; the process has to end. */
    void (*stopped)(void *arg, int exit_code);
    /* A stop begins: what the manager is held for may end. May be NULL. */
    void (*stopping)(void *arg);
    /* A controller that nothing declares any more is about to be destroyed. May be NULL. */
    void (*gone)(void *arg, const struct pl_controller *controller);
    void *arg;
};

struct pl_manager *pl_manager_create(const struct pl_manager_options *options);
void pl_manager_destroy(struct pl_manager *manager);

/* Before or after start. Takes the controller. */
void pl_manager_add(struct pl_manager *manager, struct pl_controller *controller);
void pl_manager_start(struct pl_manager *manager);
/* From now on these editions and no others: controllers that have the name go on under them, others
 * begin, and those that nobody declares any more end with their last run. Between two runs; every
 * edition is open. Nothing happens once the manager is stopping. */
struct pl_takeover {
    struct pl_edition *edition; /* borrowed; references are taken */
    bool changed;               /* its code is other code: pl_controller_adopt */
};
void pl_manager_switch(struct pl_manager *manager, const struct pl_takeover *all, size_t count);
bool pl_manager_is_stopping(const struct pl_manager *manager);
/* Graceful: no new work, running reconciles finish, calls still pending 5 s before the
 * grace ends are cancelled, informers stop, the Lease is released (rule 125), then `stopped`.
 * Idempotent. */
void pl_manager_stop(struct pl_manager *manager);
/* Somebody else's work, that needs caches and the gate, has to end first: a stop waits for as many
 * releases, within its grace. Before the stop. */
void pl_manager_hold(struct pl_manager *manager);
void pl_manager_release(struct pl_manager *manager);
/* NULL: no leader election. */
struct pl_leadership *pl_manager_leadership(const struct pl_manager *manager);
/* Everything that was started has ended. */
bool pl_manager_is_clean(const struct pl_manager *manager);
/* A name used by a controller already? */
struct pl_controller *pl_manager_find(struct pl_manager *manager, struct pl_slice name);
struct pl_cluster *pl_manager_cluster(const struct pl_manager *manager);
size_t pl_manager_count(const struct pl_manager *manager);
struct pl_controller *pl_manager_at(const struct pl_manager *manager, size_t i);
