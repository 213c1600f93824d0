#include "net/signals.h"

#include "support/test.h"

#include <signal.h>
#include <unistd.h>

static void on_signal(void *arg, int signum)
{
    ((int *)arg)[signum == SIGUSR2]++;
}

TEST(signals_arrive_on_the_loop_until_unwatched)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    int seen[2] = {0, 0};
    const int signums[] = {SIGUSR1, SIGUSR2};
    struct pl_signals *signals = pl_signals_watch(loop, signums, 2, on_signal, seen);
    CHECK(signals != NULL);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    while (seen[0] == 0 || seen[1] == 0)
        pl_loop_turn(loop, -1);
    CHECK_INT(seen[0], 1);
    CHECK_INT(seen[1], 1);
    pl_signals_unwatch(signals);
    pl_signals_unwatch(NULL);
    pl_loop_destroy(loop);
}

TEST(a_signal_that_cannot_be_watched_is_an_error)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    int seen[2] = {0, 0};
    const int signums[] = {SIGUSR1, SIGKILL};
    CHECK(pl_signals_watch(loop, signums, 2, on_signal, seen) == NULL);
    struct pl_signals *signals = pl_signals_watch(loop, signums, 1, on_signal, seen);
    CHECK(signals != NULL);
    pl_signals_unwatch(signals);
    pl_loop_destroy(loop);
}

TEST_MAIN()
