/* `perilune run --once`: detects when all work that can be done now is done, and whether it
 * succeeded. I/O thread.
 *
 * The work is done when every controller runs and its first lists are delivered, no key is ready,
 * running or due for a retry, every task has run, and the watches have brought all writes. With
 * shards, this replica's share has come; keys of other replicas do not count. Keys that requested a
 * later run, wait for events or are paused do not count. Failures are retried with their backoff,
 * PL_ONCE_TRIES times (a map function PL_ONCE_MAP_TRIES times). */
#pragma once

#include "control/manager.h"

#define PL_ONCE_TRIES     10
#define PL_ONCE_MAP_TRIES 3

struct pl_once;

struct pl_once_options {
    struct pl_manager *manager; /* borrowed for life */
    int64_t timeout_ns;         /* 0: none */
    /* The work is done, or the time is over: 0, or the exit code of the process. Called once, from
     * a timer; failures have been logged. */
    void (*over)(void *arg, int exit_code);
    void *arg;
};

/* Before or after the manager has started. The caller owns the result. */
struct pl_once *pl_once_create(const struct pl_once_options *options);
/* Accepts NULL. */
void pl_once_destroy(struct pl_once *once);
/* The host was asked to stop before: `over` is not called any more. */
void pl_once_stop(struct pl_once *once);
