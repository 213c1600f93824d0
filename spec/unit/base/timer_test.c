#include "base/timer.h"

#include "support/test.h"

static int64_t now;

static int64_t read_now(void *arg)
{
    PL_UNUSED(arg);
    return now;
}

static const struct pl_clock test_clock = {read_now, read_now, read_now, NULL};

static char fired[32];
static struct pl_timers timers;
static int checks;

static void on_check(const struct pl_timers *checked)
{
    CHECK(checked == &timers);
    checks++;
}

static void start(void)
{
    now = 100;
    fired[0] = '\0';
    checks = 0;
    pl_timers_init(&timers, &test_clock);
    timers.require = on_check;
}

struct named {
    struct pl_timer timer;
    char name;
};

static void note(struct pl_timer *timer)
{
    char name[2] = {PL_CONTAINER_OF(timer, struct named, timer)->name, '\0'};
    strcat(fired, name);
}

static void note_and_restart(struct pl_timer *timer)
{
    note(timer);
    pl_timer_start(&timers, timer, 0, note_and_restart);
}

static struct pl_timer *victim;

static void note_and_stop_victim(struct pl_timer *timer)
{
    note(timer);
    pl_timer_stop(&timers, victim);
}

TEST(timers_fire_in_order_of_time_then_of_start)
{
    struct named a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'};
    start();
    pl_timer_start(&timers, &a.timer, 20, note);
    pl_timer_start(&timers, &b.timer, 10, note);
    pl_timer_start(&timers, &c.timer, 10, note);
    int64_t due;
    CHECK(pl_timers_next(&timers, &due) && due == 110);
    now = 109;
    pl_timers_run(&timers);
    CHECK_STR(fired, "");
    now = 120;
    pl_timers_run(&timers);
    CHECK_STR(fired, "bca");
    CHECK(!pl_timers_next(&timers, &due));
    CHECK(!pl_timer_is_active(&a.timer));
    pl_timers_deinit(&timers);
}

TEST(starting_again_moves_a_timer)
{
    struct named a = {.name = 'a'};
    start();
    pl_timer_start(&timers, &a.timer, 10, note);
    pl_timer_start(&timers, &a.timer, 30, note);
    now = 110;
    pl_timers_run(&timers);
    CHECK_STR(fired, "");
    now = 130;
    pl_timers_run(&timers);
    CHECK_STR(fired, "a");
    pl_timers_deinit(&timers);
}

TEST(a_delay_of_nothing_fires_at_the_next_run)
{
    struct named a = {.name = 'a'};
    start();
    pl_timer_start(&timers, &a.timer, -5, note);
    CHECK_STR(fired, "");
    pl_timers_run(&timers);
    CHECK_STR(fired, "a");
    pl_timers_deinit(&timers);
}

TEST(what_a_callback_starts_waits_for_the_next_run)
{
    struct named a = {.name = 'a'};
    start();
    pl_timer_start(&timers, &a.timer, 0, note_and_restart);
    pl_timers_run(&timers);
    CHECK_STR(fired, "a");
    pl_timers_run(&timers);
    CHECK_STR(fired, "aa");
    pl_timer_stop(&timers, &a.timer);
    pl_timers_deinit(&timers);
}

TEST(a_callback_can_stop_one_that_is_due)
{
    struct named a = {.name = 'a'}, b = {.name = 'b'};
    start();
    victim = &b.timer;
    pl_timer_start(&timers, &a.timer, 1, note_and_stop_victim);
    pl_timer_start(&timers, &b.timer, 1, note);
    now = 200;
    pl_timers_run(&timers);
    CHECK_STR(fired, "a");
    pl_timers_deinit(&timers);
}

TEST(each_start_and_each_stop_checks_the_thread)
{
    struct named a = {.name = 'a'};
    start();
    pl_timer_start(&timers, &a.timer, 10, note);
    CHECK_INT(checks, 1);
    pl_timer_stop(&timers, &a.timer);
    CHECK_INT(checks, 2);
    pl_timer_stop(&timers, &a.timer);
    CHECK_INT(checks, 3);
    pl_timers_deinit(&timers);
}

TEST(an_endless_delay_does_not_wrap_round)
{
    struct named a = {.name = 'a'};
    start();
    pl_timer_start(&timers, &a.timer, INT64_MAX, note);
    int64_t due;
    CHECK(pl_timers_next(&timers, &due) && due == INT64_MAX);
    pl_timers_run(&timers);
    CHECK_STR(fired, "");
    pl_timers_deinit(&timers);
}

TEST_MAIN()
