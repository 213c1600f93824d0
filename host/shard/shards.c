/* The states of this process's shards, and their followers. States are atomic bytes, so that lanes
 * may ask while the I/O thread changes them; a set that is read meanwhile may mix old and new, as
 * any answer may be outdated. This file does not decide which shards are ours. */
#include "shard/shards.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdatomic.h>

struct pl_shards {
    unsigned count;
    enum pl_shard_by by;
    _Atomic unsigned char states[PL_SHARDS_MAX]; /* enum pl_shard_state */
    struct pl_list followers;
    struct pl_link *next; /* of a round of on_change: the next follower */
    bool telling;
    void (*on_settled)(void *arg);
    void *arg;
};

struct pl_shards *pl_shards_create(unsigned count, enum pl_shard_by by)
{
    PL_REQUIRE(count >= 1 && count <= PL_SHARDS_MAX);
    struct pl_shards *s = PL_NEW(struct pl_shards);
    s->count = count;
    s->by = by;
    pl_list_init(&s->followers);
    return s;
}

void pl_shards_destroy(struct pl_shards *s)
{
    if (s == NULL)
        return;
    PL_REQUIRE(pl_list_empty(&s->followers));
    pl_free(s);
}

/* ---- questions ---- */

unsigned pl_shards_count(const struct pl_shards *s)
{
    return s != NULL ? s->count : 1;
}

enum pl_shard_by pl_shards_by(const struct pl_shards *s)
{
    return s != NULL ? s->by : PL_SHARD_BY_NAMESPACE;
}

enum pl_shard_state pl_shards_state(const struct pl_shards *s, unsigned i)
{
    if (s == NULL)
        return PL_SHARD_OURS;
    PL_REQUIRE(i < s->count);
    return (enum pl_shard_state)atomic_load_explicit(&s->states[i], memory_order_acquire);
}

struct pl_shard_set pl_shards_in(const struct pl_shards *s, enum pl_shard_state state)
{
    struct pl_shard_set set = {{0}};
    for (unsigned i = 0; i < pl_shards_count(s); i++)
        if (pl_shards_state(s, i) == state)
            pl_shard_set_add(&set, i);
    return set;
}

struct pl_shard_set pl_shards_held(const struct pl_shards *s)
{
    struct pl_shard_set set = {{0}};
    for (unsigned i = 0; i < pl_shards_count(s); i++)
        if (pl_shards_state(s, i) != PL_SHARD_ELSEWHERE)
            pl_shard_set_add(&set, i);
    return set;
}

unsigned pl_shards_of_namespace(const struct pl_shards *s, struct pl_slice ns)
{
    return s != NULL ? pl_shard_of_place(pl_place_of_namespace(ns), s->count) : 0;
}

unsigned pl_shards_of_uid(const struct pl_shards *s, struct pl_slice uid)
{
    return s != NULL ? pl_shard_of_place(pl_place_of_uid(uid), s->count) : 0;
}

bool pl_shards_hold_namespace(const struct pl_shards *s, struct pl_slice ns)
{
    return pl_shards_state(s, pl_shards_of_namespace(s, ns)) != PL_SHARD_ELSEWHERE;
}

bool pl_shards_hold_uid(const struct pl_shards *s, struct pl_slice uid)
{
    return pl_shards_state(s, pl_shards_of_uid(s, uid)) != PL_SHARD_ELSEWHERE;
}

bool pl_shards_run(const struct pl_shards *s, unsigned i)
{
    return pl_shards_state(s, i) == PL_SHARD_OURS;
}

/* ---- changes ---- */

void pl_shards_follow(struct pl_shards *s, struct pl_shards_follower *follower,
                      const struct pl_shards_follower_ops *ops, void *arg)
{
    if (s == NULL)
        return;
    follower->ops = ops;
    follower->arg = arg;
    pl_list_push(&s->followers, &follower->link);
}

void pl_shards_unfollow(struct pl_shards *s, struct pl_shards_follower *follower)
{
    if (s != NULL && s->next == &follower->link)
        s->next = follower->link.next;
    pl_link_unlink(&follower->link);
}

void pl_shards_settled(struct pl_shards *s)
{
    if (s != NULL && s->on_settled != NULL)
        s->on_settled(s->arg);
}

static struct pl_shards_follower *follower_of(struct pl_link *link)
{
    return PL_CONTAINER_OF(link, struct pl_shards_follower, link);
}

static void shards_tell(struct pl_shards *s, const struct pl_shard_set *which,
                        enum pl_shard_state state)
{
    s->telling = true;
    s->next = s->followers.head.next;
    while (s->next != &s->followers.head) {
        struct pl_shards_follower *follower = follower_of(s->next);
        s->next = s->next->next;
        if (follower->ops->on_change != NULL)
            follower->ops->on_change(follower->arg, which, state);
    }
    s->next = NULL;
    s->telling = false;
}

void pl_shards_set(struct pl_shards *s, const struct pl_shard_set *which, enum pl_shard_state state)
{
    PL_REQUIRE(!s->telling);
    struct pl_shard_set changed = {{0}};
    for (unsigned i = 0; i < s->count; i++) {
        if (!pl_shard_set_has(which, i) || pl_shards_state(s, i) == state)
            continue;
        atomic_store_explicit(&s->states[i], (unsigned char)state, memory_order_release);
        pl_shard_set_add(&changed, i);
    }
    if (pl_shard_set_count(&changed) > 0)
        shards_tell(s, &changed, state);
}

bool pl_shards_is_settled(const struct pl_shards *s, unsigned i)
{
    for (struct pl_link *link = s->followers.head.next; link != &s->followers.head;
         link = link->next) {
        const struct pl_shards_follower *follower = follower_of(link);
        if (follower->ops->is_settled != NULL && !follower->ops->is_settled(follower->arg, i))
            return false;
    }
    return true;
}

void pl_shards_on_settled(struct pl_shards *s, void (*on_settled)(void *arg), void *arg)
{
    s->on_settled = on_settled;
    s->arg = arg;
}
