/* One replica's membership (shard/membership.h) over Leases of the API server, with its metrics and
 * log lines. leadership.h has the consequences for controllers and writes. I/O thread. */
#pragma once

#include "base/buf.h"
#include "base/metrics.h"
#include "shard/membership.h"

struct pl_shard_leases;
struct pl_shard_member;

struct pl_shard_member_ops {
    void (*on_lost)(void *arg, const char *why);
    /* It must not join, or cannot work: the process ends with that exit code. */
    void (*on_failed)(void *arg, int exit_code);
};

struct pl_shard_member_options {
    struct pl_shards *shards;       /* borrowed for life, like all fields below */
    struct pl_shard_leases *leases; /* without a watch yet */
    struct pl_timers *timers;
    struct pl_rand *rand;
    struct pl_metrics *metrics; /* NULL: none */
    const char *lease;          /* "namespace/name"; copied */
    const char *hostname;       /* prefix of its ids; copied */
    int64_t lease_duration_ns, renew_deadline_ns, retry_period_ns;
    int64_t settle_ns; /* as in pl_membership_options */
    const struct pl_shard_member_ops *ops;
    void *arg;
};

/* The caller owns the member. */
struct pl_shard_member *pl_shard_member_create(const struct pl_shard_member_options *options);
/* After it has ended, and after the client was destroyed. Accepts NULL. */
void pl_shard_member_destroy(struct pl_shard_member *member);

/* Joins under a new, unique id. */
void pl_shard_member_join(struct pl_shard_member *member);
void pl_shard_member_leave(struct pl_shard_member *member);
/* See pl_membership_end. */
void pl_shard_member_end(struct pl_shard_member *member, bool release, void (*ended)(void *arg),
                         void *arg);

/* Lives as long as the member. */
const struct pl_membership *pl_shard_member_membership(const struct pl_shard_member *member);
/* The shards of the options. */
struct pl_shards *pl_shard_member_shards(const struct pl_shard_member *member);
/* "member ID of lease NS/NAME has 5 of 16 shards", with what the server says about requests for
 * Leases that fail. */
void pl_shard_member_describe(const struct pl_shard_member *member, struct pl_buf *out);
