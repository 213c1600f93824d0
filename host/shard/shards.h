/* The shards of this process, for all parts that keep or do only their own share. Another part
 * decides; this one stores the states and reports changes.
 *
 * All functions take NULL for a host without shards: then every key is ours. Questions may be asked
 * on any thread; everything else runs on the I/O thread. An answer may be outdated as soon as it is
 * given: the gate decides about writes. */
#pragma once

#include "base/list.h"
#include "shard/place.h"

enum pl_shard_by { PL_SHARD_BY_NAMESPACE, PL_SHARD_BY_UID };

enum pl_shard_state {
    PL_SHARD_ELSEWHERE, /* another replica's or free: nothing of it is kept, read or done */
    PL_SHARD_COMING,    /* held; its objects are being listed; no run of its keys begins */
    PL_SHARD_OURS,      /* held; its objects are stored, its keys run */
    PL_SHARD_GOING,     /* held; no run of its keys begins, running ones end */
};

struct pl_shards;

/* 1 <= count <= PL_SHARDS_MAX; all shards are elsewhere. The caller owns the result. */
struct pl_shards *pl_shards_create(unsigned count, enum pl_shard_by by);
/* It must have no followers. Accepts NULL. */
void pl_shards_destroy(struct pl_shards *shards);

/* ---- questions; any thread ---- */

unsigned pl_shards_count(const struct pl_shards *shards);      /* of NULL: 1 */
enum pl_shard_by pl_shards_by(const struct pl_shards *shards); /* of NULL: by namespace */
enum pl_shard_state pl_shards_state(const struct pl_shards *shards, unsigned i);
/* Held: coming, ours or going. */
struct pl_shard_set pl_shards_held(const struct pl_shards *shards);
struct pl_shard_set pl_shards_in(const struct pl_shards *shards, enum pl_shard_state state);

/* 0 for a host without shards. */
unsigned pl_shards_of_namespace(const struct pl_shards *shards, struct pl_slice ns);
unsigned pl_shards_of_uid(const struct pl_shards *shards, struct pl_slice uid);

/* Whether its objects are held, so that they are cached and may be read. */
bool pl_shards_hold_namespace(const struct pl_shards *shards, struct pl_slice ns);
bool pl_shards_hold_uid(const struct pl_shards *shards, struct pl_slice uid);
/* Whether a key of that shard may be queued, and a run of it may begin. */
bool pl_shards_run(const struct pl_shards *shards, unsigned i);

/* ---- changes ---- */

struct pl_shards_follower;

struct pl_shards_follower_ops {
    /* These shards, at least one, have just changed to that state. May be NULL. */
    void (*on_change)(void *arg, const struct pl_shard_set *which, enum pl_shard_state state);
    /* For a coming shard: its objects are stored. For a going one: no work of it is left. NULL:
     * always. When that has become true, call pl_shards_settled. */
    bool (*is_settled)(void *arg, unsigned i);
};

/* Private after initialisation; embedded in the follower. */
struct pl_shards_follower {
    struct pl_link link;
    const struct pl_shards_follower_ops *ops; /* borrowed */
    void *arg;
};

/* Earlier followers are called first. Earlier changes are not reported. */
void pl_shards_follow(struct pl_shards *shards, struct pl_shards_follower *follower,
                      const struct pl_shards_follower_ops *ops, void *arg);
/* Does nothing if it does not follow; also allowed inside on_change. */
void pl_shards_unfollow(struct pl_shards *shards, struct pl_shards_follower *follower);
/* The answer of a follower's is_settled may have changed. */
void pl_shards_settled(struct pl_shards *shards);

/* ---- for the deciding part ---- */

/* Shards of `which` in another state change to this one, and every follower is told. Not inside
 * on_change. */
void pl_shards_set(struct pl_shards *shards, const struct pl_shard_set *which,
                   enum pl_shard_state state);
/* True when all followers say that shard i is settled. */
bool pl_shards_is_settled(const struct pl_shards *shards, unsigned i);
/* Called inside pl_shards_settled. NULL: none. */
void pl_shards_on_settled(struct pl_shards *shards, void (*on_settled)(void *arg), void *arg);
