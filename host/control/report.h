/* The state of a controller in numbers: for `perilune status` and `why`. I/O thread; texts are
 * borrowed until the controller does something. */
#pragma once

#include "control/controller.h"

enum pl_controller_state {
    PL_CONTROLLER_WAITING, /* waiting for its sources */
    PL_CONTROLLER_STANDBY, /* waiting for the lead */
    PL_CONTROLLER_RUNNING,
    PL_CONTROLLER_ELSEWHERE, /* runs on the replica with shard 0, which is another */
    PL_CONTROLLER_STOPPING,
};
/* "waiting", "standby", "running", "elsewhere", "stopping". Literals. */
const char *pl_controller_state_name(enum pl_controller_state state);

struct pl_controller_report {
    enum pl_controller_state state;
    size_t in_flight, ready, delayed, paused;
    size_t waiting;           /* keys whose script waits */
    size_t failing;           /* keys whose last run failed */
    size_t map_retries;       /* objects whose map function failed */
    int64_t runs, errors;     /* runs that have ended, and failed ones, since the start */
    const char *last_error;   /* of any key, since the start of the process; NULL: none */
    struct pl_slice last_key; /* the key of that error */
    int64_t last_error_ns;    /* monotonic */
};
void pl_controller_report(const struct pl_controller *controller, struct pl_controller_report *out);

struct pl_key_report {
    struct pl_queued queued;
    bool paused;
    int64_t paused_ns;      /* since when, monotonic */
    const char *waits_for;  /* the reason that its script waits for; NULL: it does not */
    int64_t waiting_ns;     /* since when, monotonic */
    int failures;           /* in a row */
    const char *last_error; /* of this key, since its last success; NULL: none */
};
void pl_controller_report_key(const struct pl_controller *controller, struct pl_slice key,
                              struct pl_key_report *out);

/* Every run that has not ended, the oldest first. */
void pl_controller_each_run(const struct pl_controller *controller,
                            void (*visit)(void *arg, const struct pl_run *run, int64_t age_ns,
                                          bool canceled),
                            void *arg);

/* Visits the keys that an object of one of its sources queues, as far as the core knows (map
 * functions of scripts are not asked), each once. */
void pl_controller_each_woken(struct pl_controller *controller, size_t source,
                              struct pl_doc *object, void (*visit)(void *arg, struct pl_slice key),
                              void *arg);
/* Endless work of its keys: see control/write_loops.h. */
struct pl_loop;
void pl_controller_each_loop(const struct pl_controller *controller,
                             void (*visit)(void *arg, const char *key, const struct pl_loop *loop),
                             void *arg);
/* Removes a waiting key from the queue, with its failures; a run continues. False when it was not
 * there. */
bool pl_controller_drop(struct pl_controller *controller, struct pl_slice key);
