/* The declaration of a controller or a task: its sources, rates and rights. Plain data, created
 * from the script and owned by an edition. */
#pragma once

#include "event/hook_spec.h"
#include "event/source.h"

enum pl_task_form { PL_NO_TASK, PL_TASK_EVERY, PL_TASK_RUN };

struct pl_task_spec {
    enum pl_task_form form;
    int64_t period_ns; /* interval of `every`: above 0 */
    bool immediate;    /* the first run of `every` is at once if the name is new to the process */
    bool when_changed; /* `every` runs at once when its code has changed */
};

/* The declaration of a script. The spec owns all texts and arrays. */
struct pl_controller_spec {
    char *name;                   /* DNS-1123 label (of a hook: subdomain), unique */
    int max_concurrent;           /* at least 1 */
    int64_t reconcile_timeout_ns; /* 0: none */
    struct {
        int64_t base_ns, max_ns;  /* exponential; 0: 5 ms, 1000 s */
        int64_t fast_ns, slow_ns; /* instead, when fast_attempts > 0 */
        int fast_attempts;
        double qps; /* an additional shared bucket, when > 0 */
        int burst;
        int64_t max_wait_ns; /* 0: none */
    } rate;
    int max_retries;          /* -1: for ever */
    int64_t resync_period_ns; /* 0: none */
    bool leader_election;     /* runs only while leading */
    bool on_reload_enqueue;
    int64_t cache_sync_timeout_ns; /* 0: 2 minutes */
    struct pl_source_spec *sources;
    size_t source_count;
    struct pl_write_right {
        struct pl_kind kind;
        char **verbs; /* NULL-terminated */
    } * writes;       /* :Writes declarations */
    size_t write_count;
    char **channels; /* names, NULL-terminated; NULL: none */
    struct pl_task_spec task;
    char *schedule; /* of a cron task, for people: expression and zone; NULL: none */
    /* A webhook handler: requests start its runs, and there is neither a queue nor a controller.
     * NULL: none. */
    struct pl_hook_spec *hook;
    const char *declared_at; /* "file:line", for messages; owned */
};

void pl_controller_spec_deinit(struct pl_controller_spec *spec);

/* Finds errors that every builder must refuse (rule 142): two For, Owns without For, no source, an
 * invalid name, invalid numbers. EINVAL with a message that says how to correct it. */
PL_MUST_USE int pl_controller_spec_check(const struct pl_controller_spec *spec, struct pl_err *err);
