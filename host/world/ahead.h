/* A host that is loaded before it is asked for. Branches of an exploration (world/branch.h) get a
 * copy of it, so that a restart in them need not load the scripts again. It is used only where it
 * cannot be told from one that is loaded then: its options and its seed are the same, and no script
 * has asked for the time. */
#pragma once

#include "world/replica.h"

struct pl_ahead {
    struct pl_replica *replica; /* owned; NULL: none */
    char *text;                 /* owned: its options */
    uint64_t seed;
};

/* Takes the place of the one before. An error is not told: it comes again when the host is asked
 * for. options->text is not NULL. */
void pl_ahead_load(struct pl_ahead *ahead, const struct pl_replica_options *options);
/* The caller owns the replica. NULL: there is none like this; the one that is there is destroyed.
 */
struct pl_replica *pl_ahead_take(struct pl_ahead *ahead, const struct pl_replica_options *options);
void pl_ahead_deinit(struct pl_ahead *ahead);
