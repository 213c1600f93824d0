#include "net/blocking_work.h"

#include "base/alloc.h"
#include "support/turn.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

/* Work that blocks its thread until the test lets it continue. */
struct reader {
    struct pl_loop *loop;
    sem_t answer;
    atomic_bool reads;
    bool on_loop; /* run was called there */
    int done, dropped;
};

static void run(void *arg)
{
    struct reader *reader = arg;
    reader->on_loop = pl_loop_is_current(reader->loop);
    atomic_store(&reader->reads, true);
    while (sem_wait(&reader->answer) != 0)
        continue;
}

static void on_done(void *arg)
{
    struct reader *reader = arg;
    CHECK(pl_loop_is_current(reader->loop));
    reader->done++;
}

static void on_drop(void *arg)
{
    ((struct reader *)arg)->dropped++;
}

/* answers: work that does not block. */
static struct pl_blocking_work *start_with(struct reader *reader, struct pl_loop *loop,
                                           unsigned answers)
{
    const struct pl_blocking_work_options options = {
        .run = run, .done = on_done, .drop = on_drop, .arg = reader};
    memset(reader, 0, sizeof *reader);
    reader->loop = loop;
    sem_init(&reader->answer, 0, answers);
    return pl_blocking_work_start(loop, &options);
}

static struct pl_blocking_work *start(struct reader *reader, struct pl_loop *loop)
{
    return start_with(reader, loop, 0);
}

TEST(it_runs_elsewhere_and_is_done_here)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct reader reader;
    start(&reader, loop);
    CHECK_INT(reader.done, 0);
    sem_post(&reader.answer);
    TURN_UNTIL(loop, reader.done > 0);
    CHECK(!reader.on_loop);
    CHECK_INT(reader.done, 1);
    CHECK_INT(reader.dropped, 0);
    pl_loop_destroy(loop);
    CHECK(!pl_blocking_work_is_left());
    sem_destroy(&reader.answer);
}

struct ticks {
    struct pl_timer timer;
    struct pl_loop *loop;
    int count;
};

static void on_tick(struct pl_timer *timer)
{
    struct ticks *ticks = PL_CONTAINER_OF(timer, struct ticks, timer);
    ticks->count++;
    pl_timer_start(pl_loop_timers(ticks->loop), timer, PL_MS, on_tick);
}

TEST(a_reader_that_does_not_answer_holds_up_nothing_else)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct ticks ticks = {.loop = loop};
    struct reader stuck, other;
    start(&stuck, loop);
    TURN_UNTIL(loop, atomic_load(&stuck.reads));
    pl_timer_start(pl_loop_timers(loop), &ticks.timer, PL_MS, on_tick);
    start(&other, loop);
    sem_post(&other.answer);
    TURN_UNTIL(loop, other.done > 0 && ticks.count >= 20);
    CHECK_INT(stuck.done, 0);
    sem_post(&stuck.answer);
    TURN_UNTIL(loop, stuck.done > 0);
    pl_timer_stop(pl_loop_timers(loop), &ticks.timer);
    pl_loop_destroy(loop);
    sem_destroy(&stuck.answer);
    sem_destroy(&other.answer);
}

TEST(what_is_abandoned_is_dropped_when_it_has_ended)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct reader reader;
    struct pl_blocking_work *work = start(&reader, loop);
    TURN_UNTIL(loop, atomic_load(&reader.reads));
    pl_blocking_work_abandon(work);
    CHECK_INT(reader.dropped, 0);
    sem_post(&reader.answer);
    TURN_UNTIL(loop, reader.dropped > 0);
    CHECK_INT(reader.done, 0);
    pl_loop_destroy(loop);
    CHECK(!pl_blocking_work_is_left());
    sem_destroy(&reader.answer);
}

TEST(however_many_are_stuck_others_begin)
{
    enum { STUCK = 12 };
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct reader stuck[STUCK], other;
    for (int i = 0; i < STUCK; i++)
        start(&stuck[i], loop);
    for (int i = 0; i < STUCK; i++)
        TURN_UNTIL(loop, atomic_load(&stuck[i].reads));
    start(&other, loop);
    sem_post(&other.answer);
    TURN_UNTIL(loop, other.done > 0);
    for (int i = 0; i < STUCK; i++)
        sem_post(&stuck[i].answer);
    for (int i = 0; i < STUCK; i++)
        TURN_UNTIL(loop, stuck[i].done > 0);
    pl_loop_destroy(loop);
    for (int i = 0; i < STUCK; i++)
        sem_destroy(&stuck[i].answer);
    sem_destroy(&other.answer);
}

/* A stack that fits into no process. */
static void forbid_threads(pthread_attr_t *before)
{
    pthread_attr_t attr;
    REQUIRE(pthread_getattr_default_np(before) == 0);
    REQUIRE(pthread_attr_init(&attr) == 0);
    REQUIRE(pthread_attr_setstacksize(&attr, (size_t)1 << 47) == 0);
    REQUIRE(pthread_setattr_default_np(&attr) == 0);
    pthread_attr_destroy(&attr);
}

TEST(without_a_thread_it_runs_here_and_is_done_later)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct reader reader;
    pthread_attr_t before;
    forbid_threads(&before);
    start_with(&reader, loop, 1);
    REQUIRE(pthread_setattr_default_np(&before) == 0);
    CHECK(reader.on_loop);
    CHECK_INT(reader.done, 0);
    TURN_UNTIL(loop, reader.done > 0);
    pl_loop_destroy(loop);
    CHECK(!pl_blocking_work_is_left());
    pthread_attr_destroy(&before);
    sem_destroy(&reader.answer);
}

/* Last: the loop's memory stays reachable through the thread that is stuck. */
TEST(a_loop_is_left_to_work_that_does_not_end)
{
    static struct reader reader;
    static struct pl_loop *loop;
    loop = pl_loop_create(pl_clock_system());
    struct pl_blocking_work *work = start(&reader, loop);
    TURN_UNTIL(loop, atomic_load(&reader.reads));
    pl_blocking_work_abandon(work);
    pl_loop_destroy(loop);
    CHECK(pl_blocking_work_is_left());
    sem_post(&reader.answer); /* so that this process ends by itself */
}

TEST_MAIN()
