#include "net/loop.h"

#include "base/base.h"
#include "base/buf.h"
#include "net/mailbox.h"
#include "support/test.h"
#include "support/virtual_clock.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct tick {
    struct pl_timer timer;
    int *count;
};

static void on_tick(struct pl_timer *timer)
{
    (*PL_CONTAINER_OF(timer, struct tick, timer)->count)++;
}

static void *start_timer(void *timers)
{
    static struct tick tick;
    pl_timer_start(timers, &tick.timer, 0, on_tick);
    return NULL;
}

TEST(a_timer_that_another_thread_starts_ends_the_process)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    pid_t child = fork();
    if (child == 0) {
        pthread_t other;
        close(STDERR_FILENO); /* the message is expected */
        if (pthread_create(&other, NULL, start_timer, pl_loop_timers(loop)) == 0)
            pthread_join(other, NULL);
        _exit(0);
    }
    int status = 0;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    pl_loop_destroy(loop);
}

TEST(timers_fire_when_the_injected_clock_says_so)
{
    struct virtual_clock time;
    virtual_clock_init(&time, 5 * PL_SECOND);
    struct pl_loop *loop = pl_loop_create(&time.clock);
    int count = 0;
    struct tick tick = {.count = &count};
    pl_timer_start(pl_loop_timers(loop), &tick.timer, 10 * PL_SECOND, on_tick);
    pl_loop_turn(loop, 0);
    CHECK_INT(count, 0);
    time.now_ns += 10 * PL_SECOND - 1;
    pl_loop_turn(loop, 0);
    CHECK_INT(count, 0);
    time.now_ns += 1;
    pl_loop_turn(loop, 0);
    CHECK_INT(count, 1);
    pl_loop_turn(loop, 0);
    CHECK_INT(count, 1);
    pl_loop_destroy(loop);
}

TEST(a_waiting_turn_ends_when_a_timer_is_due)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    int count = 0;
    struct tick late = {.count = &count}, early = {.count = &count};
    pl_timer_start(pl_loop_timers(loop), &late.timer, 3600 * PL_SECOND, on_tick);
    pl_timer_start(pl_loop_timers(loop), &early.timer, 3 * PL_MS, on_tick);
    int64_t start = pl_loop_now(loop);
    while (count == 0)
        pl_loop_turn(loop, -1);
    CHECK(pl_loop_now(loop) - start >= 3 * PL_MS);
    CHECK(pl_timer_is_active(&late.timer));
    pl_timer_stop(pl_loop_timers(loop), &late.timer);
    pl_loop_destroy(loop);
}

TEST(a_turn_waits_no_longer_than_it_was_told)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    int64_t start = pl_loop_now(loop);
    pl_loop_turn(loop, 5);
    int64_t took = pl_loop_now(loop) - start;
    CHECK(took >= 4 * PL_MS);
    CHECK(took < 60 * PL_SECOND);
    pl_loop_destroy(loop);
}

/* libuv counts whole milliseconds and checks its timers before it polls. So a time-out of one
 * millisecond may have passed already if the turn began near the end of a millisecond. */
TEST(a_turn_waits_no_longer_although_its_time_is_over_before_it_waits)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    int count = 0;
    struct tick far = {.count = &count};
    pl_timer_start(pl_loop_timers(loop), &far.timer, 60 * PL_SECOND, on_tick);
    for (int64_t before = 100; before < 5000 && count == 0; before += 20) {
        while (pl_clock_mono(pl_clock_system()) % PL_MS < PL_MS - before)
            continue;
        pl_loop_turn(loop, 1);
    }
    CHECK_INT(count, 0);
    pl_timer_stop(pl_loop_timers(loop), &far.timer);
    pl_loop_destroy(loop);
}

struct step {
    struct pl_task task;
    struct pl_loop *loop;
    struct pl_buf *trace;
    char name;
    struct step *then, *not_then;
};

static void take_step(struct pl_task *task)
{
    struct step *step = PL_CONTAINER_OF(task, struct step, task);
    pl_buf_add_char(step->trace, step->name);
    if (step->then != NULL)
        pl_loop_defer(step->loop, &step->then->task, take_step);
    if (step->not_then != NULL)
        pl_loop_undefer(&step->not_then->task);
}

TEST(deferred_tasks_run_once_in_order_and_never_inside_defer)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct pl_buf trace = PL_BUF_INIT;
    struct step c = {.loop = loop, .trace = &trace, .name = 'c'};
    struct step x = {.loop = loop, .trace = &trace, .name = 'x'};
    struct step b = {.loop = loop, .trace = &trace, .name = 'b', .not_then = &x};
    struct step a = {.loop = loop, .trace = &trace, .name = 'a', .then = &c};
    pl_loop_defer(loop, &a.task, take_step);
    pl_loop_defer(loop, &a.task, take_step);
    pl_loop_defer(loop, &b.task, take_step);
    pl_loop_defer(loop, &x.task, take_step);
    CHECK_STR(pl_buf_z(&trace), "");
    pl_loop_turn(loop, -1); /* does not wait although nothing else is there */
    CHECK_STR(pl_buf_z(&trace), "ab");
    pl_loop_turn(loop, -1);
    CHECK_STR(pl_buf_z(&trace), "abc");
    pl_loop_turn(loop, 0);
    CHECK_STR(pl_buf_z(&trace), "abc");
    pl_buf_deinit(&trace);
    pl_loop_destroy(loop);
}

TEST(what_is_deferred_still_runs_when_the_loop_is_destroyed)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct pl_buf trace = PL_BUF_INIT;
    struct step b = {.loop = loop, .trace = &trace, .name = 'b'};
    struct step a = {.loop = loop, .trace = &trace, .name = 'a', .then = &b};
    pl_loop_defer(loop, &a.task, take_step);
    pl_loop_destroy(loop);
    CHECK_STR(pl_buf_z(&trace), "ab");
    pl_buf_deinit(&trace);
}

struct hook {
    struct pl_idle idle;
    int turns, stop_at;
    struct hook *other;
};

static void on_turn(struct pl_idle *idle)
{
    struct hook *hook = PL_CONTAINER_OF(idle, struct hook, idle);
    hook->turns++;
    if (hook->turns == hook->stop_at) {
        pl_loop_each_turn_stop(&hook->other->idle);
        pl_loop_each_turn_stop(idle);
    }
}

TEST(hooks_run_each_turn_until_one_stops_itself_and_its_neighbour)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct hook b = {.stop_at = -1};
    struct hook a = {.stop_at = 2, .other = &b};
    pl_loop_each_turn(loop, &a.idle, on_turn);
    pl_loop_each_turn(loop, &b.idle, on_turn);
    for (int i = 0; i < 4; i++)
        pl_loop_turn(loop, 0);
    CHECK_INT(a.turns, 2);
    CHECK_INT(b.turns, 1);
    pl_loop_destroy(loop);
}

static void stop_run(struct pl_timer *timer)
{
    struct tick *tick = PL_CONTAINER_OF(timer, struct tick, timer);
    (*tick->count)++;
}

static void stop_loop(struct pl_task *task)
{
    pl_loop_stop(PL_CONTAINER_OF(task, struct step, task)->loop);
}

TEST(run_ends_with_stop_although_timers_wait)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    int count = 0;
    struct tick tick = {.count = &count};
    struct step stop = {.loop = loop};
    pl_timer_start(pl_loop_timers(loop), &tick.timer, 3600 * PL_SECOND, stop_run);
    pl_loop_defer(loop, &stop.task, stop_loop);
    pl_loop_run(loop);
    CHECK_INT(count, 0);
    CHECK(pl_loop_is_current(loop));
    pl_timer_stop(pl_loop_timers(loop), &tick.timer);
    pl_loop_destroy(loop);
}

struct observed {
    int turns;
    int64_t longest_ns;
};

static void note_turn(void *arg, int64_t took_ns)
{
    struct observed *observed = arg;
    observed->turns++;
    if (took_ns > observed->longest_ns)
        observed->longest_ns = took_ns;
}

static void compute_a_while(struct pl_task *task)
{
    PL_UNUSED(task);
    int64_t until = pl_clock_mono(pl_clock_system()) + 20 * PL_MS;
    while (pl_clock_mono(pl_clock_system()) < until)
        continue;
}

TEST(a_turn_counts_what_it_computes_and_not_what_it_waits)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct observed observed = {0};
    pl_loop_turn(loop, 0);
    pl_loop_observe(loop, note_turn, &observed);
    pl_loop_turn(loop, 0); /* the first to be seen begins here */
    CHECK_INT(observed.turns, 0);
    int64_t start = pl_loop_now(loop);
    pl_loop_turn(loop, 200);
    pl_loop_turn(loop, 0);
    int64_t all = pl_loop_now(loop) - start;
    CHECK_INT(observed.turns, 2);
    CHECK(observed.longest_ns < all - 190 * PL_MS);
    struct pl_task task = {0};
    pl_loop_defer(loop, &task, compute_a_while);
    pl_loop_turn(loop, 0);
    pl_loop_turn(loop, 0);
    CHECK(observed.longest_ns >= 20 * PL_MS);
    int turns = observed.turns;
    pl_loop_observe(loop, NULL, NULL);
    pl_loop_turn(loop, 0);
    CHECK_INT(observed.turns, turns);
    pl_loop_destroy(loop);
}

struct letters {
    struct pl_inbox inbox;
    bool some, watched;
    int watches, delivered;
};

static bool has_letters(const struct pl_inbox *inbox)
{
    return PL_CONTAINER_OF(inbox, struct letters, inbox)->some;
}

static void watch_letters(struct pl_inbox *inbox, bool watched)
{
    struct letters *letters = PL_CONTAINER_OF(inbox, struct letters, inbox);
    CHECK(letters->watched != watched);
    letters->watched = watched;
    letters->watches += watched;
    letters->some = watched || letters->some; /* it arrives while the loop spins */
}

static void take_letters(struct pl_inbox *inbox)
{
    struct letters *letters = PL_CONTAINER_OF(inbox, struct letters, inbox);
    CHECK(!letters->watched);
    letters->delivered += letters->some;
    letters->some = false;
}

static bool waits_awake(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1)
        return true;
    printf("left out: on one processor no loop waits awake\n");
    return false;
}

TEST(what_is_found_by_a_loop_awake_is_delivered_though_nobody_woke_it)
{
    if (!waits_awake())
        return;
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct letters letters = {
        .inbox = {.has_some = has_letters, .watch = watch_letters, .deliver = take_letters}};
    pl_loop_add_inbox(loop, &letters.inbox);
    pl_loop_turn(loop, 0); /* libuv's own descriptors come first, which ends a wait awake */
    CHECK_INT(letters.delivered, 0);
    for (int i = 1; i <= 3; i++) {
        pl_loop_expect(loop);
        pl_loop_turn(loop, -1); /* would wait for ever */
        CHECK_INT(letters.delivered, i);
        CHECK_INT(letters.watches, i);
        CHECK(!letters.watched);
    }
    pl_loop_remove_inbox(&letters.inbox);
    pl_loop_destroy(loop);
}

TEST(a_loop_that_sleeps_at_once_watches_nothing)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct letters letters = {
        .inbox = {.has_some = has_letters, .watch = watch_letters, .deliver = take_letters}};
    pl_loop_add_inbox(loop, &letters.inbox);
    pl_loop_turn(loop, 1); /* no message is expected: the first wait does not spin */
    CHECK_INT(letters.watches, 0);
    CHECK_INT(letters.delivered, 0);
    pl_loop_remove_inbox(&letters.inbox);
    pl_loop_destroy(loop);
}

/* ---- stepped ---- */

struct letter {
    struct pl_msg msg;
    char name;
};

struct story {
    struct pl_loop *loop;
    struct pl_buf text;
    struct pl_task task, next;
    struct tick tick;
};

static void on_letters(void *arg, struct pl_list *messages)
{
    struct story *story = arg;
    struct pl_link *link;
    while ((link = pl_list_pop(messages)) != NULL) {
        struct pl_msg *msg = PL_CONTAINER_OF(link, struct pl_msg, link);
        pl_buf_add_char(&story->text, PL_CONTAINER_OF(msg, struct letter, msg)->name);
    }
}

static void on_next(struct pl_task *task)
{
    pl_buf_add_char(&PL_CONTAINER_OF(task, struct story, next)->text, 'n');
}

static void on_task(struct pl_task *task)
{
    struct story *story = PL_CONTAINER_OF(task, struct story, task);
    pl_buf_add_char(&story->text, 't');
    pl_loop_defer(story->loop, &story->next, on_next);
}

TEST(a_stepped_loop_does_one_thing_at_a_time_mail_tasks_timers)
{
    struct virtual_clock time;
    virtual_clock_init(&time, PL_SECOND);
    struct pl_loop *loop = pl_loop_create_stepped(&time.clock);
    int count = 0;
    struct story story = {.loop = loop, .text = PL_BUF_INIT, .tick.count = &count};
    struct pl_mailbox *box = pl_mailbox_create_for_loop(loop, on_letters, &story);
    struct letter a = {.name = 'a'}, b = {.name = 'b'};
    CHECK(!pl_loop_step(loop));
    pl_timer_start(pl_loop_timers(loop), &story.tick.timer, 0, on_tick);
    pl_loop_defer(loop, &story.task, on_task);
    pl_mailbox_send(box, &a.msg);
    pl_mailbox_send(box, &b.msg);
    CHECK(pl_loop_step(loop));
    CHECK_STR(pl_buf_z(&story.text), "ab");
    CHECK(pl_loop_step(loop) && pl_loop_step(loop));
    CHECK_STR(pl_buf_z(&story.text), "abtn");
    CHECK_INT(count, 0);
    CHECK(pl_loop_step(loop));
    CHECK_INT(count, 1);
    CHECK(!pl_loop_step(loop));
    pl_buf_deinit(&story.text);
    pl_mailbox_destroy(box, NULL);
    pl_loop_destroy(loop);
}

TEST(a_stepped_loop_goes_by_its_clock_alone)
{
    struct virtual_clock time;
    virtual_clock_init(&time, PL_SECOND);
    struct pl_loop *loop = pl_loop_create_stepped(&time.clock);
    int count = 0;
    struct tick tick = {.count = &count};
    pl_timer_start(pl_loop_timers(loop), &tick.timer, 3600 * PL_SECOND, on_tick);
    CHECK(!pl_loop_step(loop));
    time.now_ns += 3600 * PL_SECOND;
    CHECK(pl_loop_step(loop));
    CHECK_INT(count, 1);
    pl_loop_destroy(loop);
}

TEST_MAIN()
