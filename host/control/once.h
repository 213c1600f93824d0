/* `perilune run --once`: when has all been done that can be done now, and did it go well? I/O
 * thread.
 *
 * It is over when every controller runs and its first lists are told, no key is ready, running or
 * about to be tried again, every task has run, and the watches have brought what was written. Keys
 * that asked to come again later, wait for events or are paused hold up nothing. What fails is
 * tried again with its backoff, PL_ONCE_TRIES times (a map function PL_ONCE_MAP_TRIES times). */
#pragma once

#include "control/manager.h"

#define PL_ONCE_TRIES     10
#define PL_ONCE_MAP_TRIES 3

struct pl_once;

struct pl_once_options {
    struct pl_manager *manager; /* borrowed for life */
    int64_t timeout_ns;         /* 0: none */
    /* It is over, or the time is: 0, or the exit code of the process. Called once, from a timer;
     * what went wrong has been logged. */
    void (*over)(void *arg, int exit_code);
    void *arg;
};

/* Before or after the manager has started. */
struct pl_once *pl_once_create(const struct pl_once_options *options);
/* Accepts NULL. */
void pl_once_destroy(struct pl_once *once);
/* The host is asked to stop before it was over: `over` is not called any more. */
void pl_once_stop(struct pl_once *once);
