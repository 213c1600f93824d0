/* Runs other scripts on a record: each recorded run again, with the same key and the same reads,
 * and compares the writes of the two. Nothing is sent. One thread, the caller's. */
#pragma once

#include "base/err.h"
#include "record/breakpoint.h"
#include "value/doc.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_reader;

struct pl_rehearse_options {
    const char *const *paths; /* of the scripts; borrowed for the call */
    size_t path_count;
    int64_t until_ns;             /* wall clock; 0: to the record's end */
    const char *controller, *key; /* only runs of this key; NULL: all */
    /* Called with a difference (see pl_difference_build) or, if it is PL_MISSING, with an error of
     * the scripts. Borrowed for the call. */
    void (*differs)(void *arg, const char *controller, const char *key, int64_t wall_ns,
                    struct pl_node difference, const char *error);
    void *arg;
    struct pl_breakpoint_options breakpoint; /* the breakpoint in the scripts */
};

struct pl_rehearsed_record {
    size_t runs;      /* compared */
    size_t different; /* of the compared runs */
    size_t missing;   /* runs of controllers that these scripts do not have */
    size_t unknown;   /* reads of objects that the record does not know */
    size_t stops;     /* at the breakpoint */
    bool veiled;      /* a run met pseudonyms of Secrets' values, which are not compared */
};

PL_MUST_USE int pl_rehearse_run(const struct pl_reader *reader,
                                const struct pl_rehearse_options *options,
                                struct pl_rehearsed_record *out, struct pl_err *err);
