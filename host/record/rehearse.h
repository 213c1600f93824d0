/* Other scripts, run on what a record's met: each recorded run once more, with the same key and
 * what that run had read, and what the two write compared. Nothing is sent. */
#pragma once

#include "base/err.h"
#include "record/desk.h"
#include "value/doc.h"

#include <stdint.h>

struct pl_reader;

struct pl_rehearse_options {
    const char *const *paths; /* of the scripts; borrowed for the call */
    size_t path_count;
    int64_t until_ns;             /* wall clock; 0: to the record's end */
    const char *controller, *key; /* runs of this key alone; NULL: all */
    /* A difference, as pl_difference_build makes it; or, with difference PL_MISSING, an error of
     * the scripts. Borrowed for the call. */
    void (*differs)(void *arg, const char *controller, const char *key, int64_t wall_ns,
                    struct pl_node difference, const char *error);
    void *arg;
    struct pl_desk_options desk; /* where to stop in the scripts */
};

struct pl_rehearsed_record {
    size_t runs;      /* compared */
    size_t different; /* of them */
    size_t missing;   /* runs of controllers that these scripts do not have */
    size_t unknown;   /* reads of what the record does not know */
};

PL_MUST_USE int pl_rehearse_run(const struct pl_reader *reader,
                                const struct pl_rehearse_options *options,
                                struct pl_rehearsed_record *out, struct pl_err *err);
