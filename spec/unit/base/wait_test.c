#include "base/wait.h"

#include "support/test.h"
#include "support/virtual_clock.h"

struct world {
    struct virtual_clock time;
    struct pl_waits waits;
};

static void set_up(struct world *world)
{
    virtual_clock_init(&world->time, 100 * PL_SECOND);
    pl_waits_init(&world->waits, &world->time.clock);
}

static void check_description(const struct pl_wait *wait, const char *want)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_wait_describe(wait, &text);
    CHECK_STR(pl_buf_z(&text), want);
    pl_buf_deinit(&text);
}

TEST(a_wait_tells_its_age_and_limit_and_when_it_is_overdue)
{
    struct world world;
    struct pl_wait wait = {0};
    set_up(&world);
    CHECK(!pl_wait_is_waiting(&wait));
    CHECK_INT(pl_wait_age_ns(&wait), 0);
    pl_wait_begin(&world.waits, &wait, "first list", "pods", 30 * PL_SECOND);
    CHECK(pl_wait_is_waiting(&wait));
    world.time.now_ns += 12340 * PL_MS;
    check_description(&wait, "first list of pods: for 12.3 s, at most 30 s");
    world.time.now_ns = 130 * PL_SECOND;
    CHECK(!pl_wait_is_overdue(&wait));
    world.time.now_ns += 1;
    CHECK(pl_wait_is_overdue(&wait));
    check_description(&wait, "first list of pods: for 30 s, at most 30 s (overdue)");
    pl_wait_extend(&wait, 10 * PL_SECOND);
    CHECK(!pl_wait_is_overdue(&wait));
    CHECK_INT(pl_wait_age_ns(&wait), 30 * PL_SECOND + 1);
    pl_wait_end(&wait);
    CHECK(!pl_wait_is_waiting(&wait));
    CHECK_INT(world.waits.count, 0);
    pl_wait_end(&wait);
    pl_wait_extend(&wait, 1);
    CHECK_INT(world.waits.count, 0);
}

TEST(a_wait_without_a_deadline_says_why_and_is_never_overdue)
{
    struct world world;
    struct pl_wait wait = {0};
    set_up(&world);
    pl_wait_begin_open(&world.waits, &wait, "watch", "pods", "its server ends it");
    world.time.now_ns += 1000000 * PL_SECOND;
    CHECK(!pl_wait_is_overdue(&wait));
    check_description(&wait,
                      "watch of pods: for 1000000 s, without a deadline: its server ends it");
    pl_wait_extend(&wait, 1);
    world.time.now_ns += 2;
    CHECK(pl_wait_is_overdue(&wait));
    pl_waits_deinit(&world.waits);
    CHECK(!pl_wait_is_waiting(&wait));
}

TEST(a_deadline_beyond_the_end_of_time_is_the_end_of_time)
{
    struct world world;
    struct pl_wait wait = {0};
    set_up(&world);
    pl_wait_begin(&world.waits, &wait, "delay", "queue", INT64_MAX);
    CHECK(!pl_wait_is_overdue(&wait));
    CHECK_INT(wait.deadline_ns, INT64_MAX);
    pl_waits_deinit(&world.waits);
}

TEST(the_registry_lists_the_longest_wait_first_and_a_new_beginning_last)
{
    struct world world;
    struct pl_wait waits[3] = {0};
    const char *owners[] = {"a", "b", "c"};
    set_up(&world);
    for (int i = 0; i < 3; i++) {
        pl_wait_begin(&world.waits, &waits[i], "backoff", owners[i], PL_SECOND);
        world.time.now_ns += PL_MS;
    }
    pl_wait_begin(&world.waits, &waits[0], "list", "a", PL_SECOND);
    CHECK_INT(world.waits.count, 3);
    pl_wait_end(&waits[2]);
    struct pl_buf order = PL_BUF_INIT;
    for (const struct pl_wait *w = pl_waits_next(&world.waits, NULL); w != NULL;
         w = pl_waits_next(&world.waits, w))
        pl_buf_add_f(&order, "%s %s;", w->owner, w->name);
    CHECK_STR(pl_buf_z(&order), "b backoff;a list;");
    pl_buf_deinit(&order);
    pl_waits_deinit(&world.waits);
    CHECK_INT(world.waits.count, 0);
}

TEST_MAIN()
