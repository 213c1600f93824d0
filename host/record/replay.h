/* Runs a record's scripts again: each lane by itself, on this thread, in the recorded order.
 * Nothing is sent or requested. Each call of the host's functions must be the recorded one and gets
 * the recorded answer. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "record/breakpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_reader;

struct pl_replay_options {
    int64_t until_ns;             /* wall clock; 0: to the end */
    const char *controller, *key; /* print the runs of this key: the controller's name or the kind
                                     of its For; "default/blog". NULL: none */
    void (*say)(void *arg, const char *line); /* borrowed for the call */
    void *arg;
    struct pl_breakpoint_options breakpoint; /* the breakpoint; with a key only in its runs */
};

struct pl_replayed {
    size_t runs, calls;
    size_t told;               /* runs of the key of the options */
    size_t skipped;            /* runs whose beginning is not in the record */
    size_t limited;            /* runs that a limit has ended; limits depend on the machine */
    size_t stops;              /* at the breakpoint */
    int64_t first_ns, last_ns; /* wall clock, of the replayed entries; 0: none */
    bool quit;                 /* the user has ended the replay at the breakpoint */
    char *difference;          /* owned: the first difference; NULL: none */
};
void pl_replayed_deinit(struct pl_replayed *replayed);

/* Errors (EINVAL and others): the scripts can't be loaded, or the record is damaged. */
PL_MUST_USE int pl_replay_run(const struct pl_reader *reader,
                              const struct pl_replay_options *options, struct pl_replayed *replayed,
                              struct pl_err *err);
