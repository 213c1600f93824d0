#include "shard/shards.h"

#include "base/base.h"
#include "support/test.h"

struct listener {
    struct pl_shards_follower follower;
    struct pl_shards *shards;
    struct pl_shard_set which;
    enum pl_shard_state state;
    int told;
    bool leaves, settled;
};

static void on_change(void *arg, const struct pl_shard_set *which, enum pl_shard_state state)
{
    struct listener *l = arg;
    l->told++;
    l->which = *which;
    l->state = state;
    for (unsigned i = 0; i < pl_shards_count(l->shards); i++)
        CHECK(!pl_shard_set_has(which, i) || pl_shards_state(l->shards, i) == state);
    if (l->leaves)
        pl_shards_unfollow(l->shards, &l->follower);
}

static bool is_settled(void *arg, unsigned i)
{
    return ((struct listener *)arg)->settled || i == 1;
}

static const struct pl_shards_follower_ops ops = {on_change, is_settled};

static void follow(struct listener *l, struct pl_shards *shards)
{
    *l = (struct listener){.shards = shards};
    pl_shards_follow(shards, &l->follower, &ops, l);
}

static void set(struct pl_shards *shards, unsigned i, unsigned k, enum pl_shard_state state)
{
    struct pl_shard_set which = {{0}};
    pl_shard_set_add(&which, i);
    pl_shard_set_add(&which, k);
    pl_shards_set(shards, &which, state);
}

TEST(without_shards_everything_is_ours)
{
    CHECK_INT(pl_shards_count(NULL), 1);
    CHECK(pl_shards_hold_namespace(NULL, pl_slice_z("x")));
    CHECK(pl_shards_hold_uid(NULL, pl_slice_z("x")));
    CHECK(pl_shards_run(NULL, 0));
    pl_shards_settled(NULL);
    pl_shards_destroy(NULL);
}

TEST(what_is_held_may_be_read_and_only_what_is_ours_is_run)
{
    struct pl_shards *shards = pl_shards_create(8, PL_SHARD_BY_NAMESPACE);
    struct pl_slice ns = pl_slice_z("tenant-000");
    unsigned i = pl_shards_of_namespace(shards, ns);
    CHECK_INT(i, 7);
    static const struct {
        enum pl_shard_state state;
        bool held, run;
    } cases[] = {{PL_SHARD_COMING, true, false},
                 {PL_SHARD_OURS, true, true},
                 {PL_SHARD_GOING, true, false},
                 {PL_SHARD_ELSEWHERE, false, false}};
    CHECK(!pl_shards_hold_namespace(shards, ns) && !pl_shards_run(shards, i));
    for (size_t k = 0; k < PL_ARRAY_LEN(cases); k++) {
        set(shards, i, i, cases[k].state);
        struct pl_shard_set held = pl_shards_held(shards);
        struct pl_shard_set in = pl_shards_in(shards, cases[k].state);
        CHECK_INT(pl_shards_hold_namespace(shards, ns), cases[k].held);
        CHECK_INT(pl_shard_set_has(&held, i), cases[k].held);
        CHECK_INT(pl_shards_run(shards, i), cases[k].run);
        CHECK(pl_shard_set_has(&in, i));
    }
    pl_shards_destroy(shards);
}

TEST(followers_hear_of_what_has_changed_and_may_leave_meanwhile)
{
    struct pl_shards *shards = pl_shards_create(4, PL_SHARD_BY_UID);
    struct listener a, b, c;
    follow(&a, shards);
    follow(&b, shards);
    follow(&c, shards);
    b.leaves = true;
    set(shards, 1, 1, PL_SHARD_COMING);
    CHECK(a.told == 1 && b.told == 1 && c.told == 1);
    set(shards, 1, 2, PL_SHARD_COMING);
    CHECK(a.told == 2 && b.told == 1 && c.told == 2);
    CHECK(!pl_shard_set_has(&c.which, 1) && pl_shard_set_has(&c.which, 2));
    set(shards, 1, 2, PL_SHARD_COMING);
    CHECK_INT(a.told, 2);
    pl_shards_unfollow(shards, &a.follower);
    pl_shards_unfollow(shards, &c.follower);
    pl_shards_destroy(shards);
}

static void count(void *arg)
{
    ++*(int *)arg;
}

TEST(a_shard_is_settled_when_everybody_says_so)
{
    struct pl_shards *shards = pl_shards_create(4, PL_SHARD_BY_UID);
    struct listener a, b;
    int calls = 0;
    follow(&a, shards);
    follow(&b, shards);
    pl_shards_on_settled(shards, count, &calls);
    CHECK(pl_shards_is_settled(shards, 1));
    CHECK(!pl_shards_is_settled(shards, 0));
    a.settled = true;
    pl_shards_settled(shards);
    CHECK(!pl_shards_is_settled(shards, 0));
    b.settled = true;
    pl_shards_settled(shards);
    CHECK(pl_shards_is_settled(shards, 0));
    CHECK_INT(calls, 2);
    pl_shards_unfollow(shards, &a.follower);
    pl_shards_unfollow(shards, &b.follower);
    pl_shards_destroy(shards);
}

TEST_MAIN()
