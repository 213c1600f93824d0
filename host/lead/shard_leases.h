/* The Leases of a membership (shard/membership.h) on an API server: its requests, and the lists and
 * watches that inform it. I/O thread.
 *
 * Leases of members and shards have the label perilune.dev/shards: NAME, so that one list and one
 * watch cover them all. The Lease NAME has its own watch, since it may belong to another program.
 * If they cannot be watched, they are listed each retry period. */
#pragma once

#include "kube/client.h"
#include "shard/membership.h"

struct pl_shard_leases;

#define PL_SHARDS_NAME_MAX 63 /* a label's value */

struct pl_shard_leases_options {
    struct pl_client *client;     /* borrowed for life */
    struct pl_timers *timers;     /* borrowed for life */
    const struct pl_clock *clock; /* borrowed for life */
    const char *ns, *name;        /* copied */
    int64_t request_timeout_ns;
    int64_t silence_ns; /* a watch without a byte for this time is dead */
    int64_t retry_period_ns;
    /* The first list has shown whether the server filters by ranges of uids; called once. May be
     * NULL. */
    void (*filters)(void *arg, bool filters);
    void *arg;
};

/* The caller owns the result. */
struct pl_shard_leases *pl_shard_leases_create(const struct pl_shard_leases_options *options);
/* No request may be under way: destroy it after the client. Accepts NULL. */
void pl_shard_leases_destroy(struct pl_shard_leases *leases);

/* Starts lists and watches, which inform `m`, borrowed for life. Call it once. */
void pl_shard_leases_watch(struct pl_shard_leases *leases, struct pl_membership *m);
/* Why Leases cannot be listed, watched, written or read at present: the server's message. NULL: no
 * request about them has failed lately, except those that usually may (a conflict, one that is
 * gone). Borrowed until the next answer. */
const char *pl_shard_leases_trouble(const struct pl_shard_leases *leases);
/* Implements pl_membership_ops.start; the leases are the first argument. */
void pl_shard_leases_start(struct pl_shard_leases *leases, enum pl_shard_verb verb,
                           const struct pl_shard_lease *lease, pl_shard_answer_fn on_answer,
                           void *arg);
