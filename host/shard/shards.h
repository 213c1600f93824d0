/* Which shards this process has: what every part asks that keeps or does only its own share. Who
 * decides it is elsewhere; here are the answer and the news of it.
 *
 * Everything here takes NULL for a host without shards: then every key is ours. Questions may be
 * asked on any thread; all else is the I/O thread's. An answer may be old as soon as it is given:
 * what may be written is decided by the gate. */
#pragma once

#include "base/list.h"
#include "shard/place.h"

enum pl_shard_by { PL_SHARD_BY_NAMESPACE, PL_SHARD_BY_UID };

enum pl_shard_state {
    PL_SHARD_ELSEWHERE, /* another's or nobody's: nothing of it is kept, read or done */
    PL_SHARD_COMING,    /* held; its objects are being listed; no run of its keys begins */
    PL_SHARD_OURS,      /* held; its objects are here, its keys are run */
    PL_SHARD_GOING,     /* held; no run of its keys begins, those under way end */
};

struct pl_shards;

/* 1 <= count <= PL_SHARDS_MAX; all shards are elsewhere. */
struct pl_shards *pl_shards_create(unsigned count, enum pl_shard_by by);
/* Nobody follows it any more. Accepts NULL. */
void pl_shards_destroy(struct pl_shards *shards);

/* ---- questions; any thread ---- */

unsigned pl_shards_count(const struct pl_shards *shards);      /* of NULL: 1 */
enum pl_shard_by pl_shards_by(const struct pl_shards *shards); /* of NULL: by namespace */
enum pl_shard_state pl_shards_state(const struct pl_shards *shards, unsigned i);
/* Held: coming, ours or going. */
struct pl_shard_set pl_shards_held(const struct pl_shards *shards);
struct pl_shard_set pl_shards_in(const struct pl_shards *shards, enum pl_shard_state state);

/* Of a host without shards: 0. */
unsigned pl_shards_of_namespace(const struct pl_shards *shards, struct pl_slice ns);
unsigned pl_shards_of_uid(const struct pl_shards *shards, struct pl_slice uid);

/* Is what lies there held, so that it is cached and may be read? */
bool pl_shards_hold_namespace(const struct pl_shards *shards, struct pl_slice ns);
bool pl_shards_hold_uid(const struct pl_shards *shards, struct pl_slice uid);
/* May a key of that shard be queued, and a run of it begin? */
bool pl_shards_run(const struct pl_shards *shards, unsigned i);

/* ---- news ---- */

struct pl_shards_follower;

struct pl_shards_follower_ops {
    /* These shards, one at least, have just come into that state. May be NULL. */
    void (*on_change)(void *arg, const struct pl_shard_set *which, enum pl_shard_state state);
    /* Of a coming shard: its objects are here. Of a going one: nothing of it is under way. NULL:
     * always. When that has become true pl_shards_settled is called. */
    bool (*is_settled)(void *arg, unsigned i);
};

/* Private but for initialising; embedded in who follows. */
struct pl_shards_follower {
    struct pl_link link;
    const struct pl_shards_follower_ops *ops; /* borrowed */
    void *arg;
};

/* Those that followed first are told first. It is told of nothing that was before. */
void pl_shards_follow(struct pl_shards *shards, struct pl_shards_follower *follower,
                      const struct pl_shards_follower_ops *ops, void *arg);
/* Harmless for who does not follow; also from inside of on_change. */
void pl_shards_unfollow(struct pl_shards *shards, struct pl_shards_follower *follower);
/* A follower's is_settled may have another answer now. */
void pl_shards_settled(struct pl_shards *shards);

/* ---- for who decides ---- */

/* Those of `which` that are in another state come into this one, and every follower is told. Not
 * from inside of on_change. */
void pl_shards_set(struct pl_shards *shards, const struct pl_shard_set *which,
                   enum pl_shard_state state);
/* All followers say that shard i is settled. */
bool pl_shards_is_settled(const struct pl_shards *shards, unsigned i);
/* Called from inside of pl_shards_settled. NULL: nobody. */
void pl_shards_on_settled(struct pl_shards *shards, void (*on_settled)(void *arg), void *arg);
