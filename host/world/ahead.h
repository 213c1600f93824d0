/* A host whose scripts are loaded before the world starts it. Branches of an exploration
 * (world/branch.h) get a copy of it, so a restart in a branch does not load the scripts again. It
 * is used only if loading the scripts later would give the same host: the options and the seed are
 * the same, and no script has asked for the time while it was loaded. */
#pragma once

#include "world/replica.h"

struct pl_ahead {
    struct pl_replica *replica; /* owned; NULL: none */
    char *text;                 /* owned: its options */
    uint64_t seed;
};

/* Loads a host and replaces the one that was loaded before. An error is not reported: the world
 * meets it again when it starts the host. options->text must not be NULL. */
void pl_ahead_load(struct pl_ahead *ahead, const struct pl_replica_options *options);
/* The loaded host, if it has these options and this seed; the caller owns it. Otherwise the loaded
 * host is destroyed, and the result is NULL. */
struct pl_replica *pl_ahead_take(struct pl_ahead *ahead, const struct pl_replica_options *options);
void pl_ahead_deinit(struct pl_ahead *ahead);
