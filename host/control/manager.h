/* Starts and stops the declared controllers, in the order of host/README.md. I/O thread. */
#pragma once

#include "cluster/cluster.h"
#include "control/edition.h"

struct pl_manager;
struct pl_leadership;

struct pl_manager_options {
    struct pl_cluster *cluster; /* borrowed for life */
    int64_t grace_ns;           /* --graceful-shutdown-timeout */
    /* Borrowed for life. Leader-only controllers run only while it leads; NULL: all run. */
    struct pl_leadership *leadership;
    /* Everything has stopped: 0, or the exit code for the reason (1: the grace period ended; 3: the
     * lead was lost; 4: no controller could start within its cache_sync_timeout). Called once.
     * After codes 1 and 3, pl_manager_is_clean may be false: runs, reads or writes are still under
     * way, so nothing may be destroyed and the process has to exit. */
    void (*stopped)(void *arg, int exit_code);
    /* A stop begins: work that holds the manager may end. May be NULL. */
    void (*stopping)(void *arg);
    /* A controller that no generation declares any more is about to be destroyed. May be NULL. */
    void (*gone)(void *arg, const struct pl_controller *controller);
    void *arg;
};

/* The caller owns the manager, and the manager its controllers. */
struct pl_manager *pl_manager_create(const struct pl_manager_options *options);
void pl_manager_destroy(struct pl_manager *manager);

/* Before or after start. Takes the controller. */
void pl_manager_add(struct pl_manager *manager, struct pl_controller *controller);
void pl_manager_start(struct pl_manager *manager);
/* Replaces all editions: controllers with the same name adopt them, new controllers start, and
 * controllers without an edition end after their last run. Call it between two runs, with open
 * editions. Does nothing while the manager is stopping. */
struct pl_takeover {
    struct pl_edition *edition; /* borrowed; references are taken */
    bool changed;               /* its code differs: see pl_controller_adopt */
};
void pl_manager_switch(struct pl_manager *manager, const struct pl_takeover *all, size_t count);
bool pl_manager_is_stopping(const struct pl_manager *manager);
/* Graceful stop: no new work begins, running reconciles finish, calls still pending 5 s before the
 * end of the grace period are cancelled, informers stop, the Lease is released (rule 125), then
 * `stopped` is called. Idempotent. */
void pl_manager_stop(struct pl_manager *manager);
/* Other work that needs caches and the gate has to end first: a stop waits for one release for each
 * hold, within its grace period. Call it before the stop. */
void pl_manager_hold(struct pl_manager *manager);
void pl_manager_release(struct pl_manager *manager);
/* NULL: no leader election. Borrowed, as in the options. */
struct pl_leadership *pl_manager_leadership(const struct pl_manager *manager);
/* True when everything that was started has ended. */
bool pl_manager_is_clean(const struct pl_manager *manager);
/* The controller with this name, or NULL. It belongs to the manager. */
struct pl_controller *pl_manager_find(struct pl_manager *manager, struct pl_slice name);
/* The cluster of the options. */
struct pl_cluster *pl_manager_cluster(const struct pl_manager *manager);
size_t pl_manager_count(const struct pl_manager *manager);
/* Controller i, 0 <= i < pl_manager_count; it belongs to the manager. */
struct pl_controller *pl_manager_at(const struct pl_manager *manager, size_t i);
