/* A record's scripts, run again on what they met then: each lane by itself, on this thread, in the
 * order in which it went. Nothing is sent and nothing is asked; each call of the host's functions
 * must be the recorded one, and gets the recorded answer. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "record/desk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_reader;

struct pl_replay_options {
    int64_t until_ns;             /* wall clock; 0: to its end */
    const char *controller, *key; /* runs of these are told: the name, or the kind of its For;
                                   * "default/blog". NULL: none */
    void (*say)(void *arg, const char *line); /* borrowed for the call */
    void *arg;
    struct pl_desk_options desk; /* where to stop; with a key only in its runs */
};

struct pl_replayed {
    size_t runs, calls;
    size_t skipped;            /* runs whose beginning is not in the record */
    size_t limited;            /* runs that a limit has ended, which depends on the machine */
    int64_t first_ns, last_ns; /* wall clock, of what was replayed; 0: nothing */
    bool quit;                 /* at the line where it stopped */
    char *difference;          /* owned: where it went another way, and how; NULL: nowhere */
};
void pl_replayed_deinit(struct pl_replayed *replayed);

/* EINVAL and more: the scripts can't be loaded, or the record is damaged. */
PL_MUST_USE int pl_replay_run(const struct pl_reader *reader,
                              const struct pl_replay_options *options, struct pl_replayed *replayed,
                              struct pl_err *err);
