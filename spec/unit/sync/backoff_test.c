#include "sync/backoff.h"

#include "base/base.h"
#include "support/test.h"

static void check_step(struct pl_backoff *backoff, struct pl_rand *rand, int64_t now, int64_t step)
{
    int64_t delay = pl_backoff_next(backoff, now, rand);
    if (delay < step || delay >= 2 * step)
        TEST_FAIL("delay %" PRId64 " is not in [%" PRId64 ", %" PRId64 ")", delay, step, 2 * step);
}

/* rule 83 */
TEST(doubles_from_800_ms_and_stays_between_30_and_60_s)
{
    struct pl_backoff backoff;
    struct pl_rand rand;
    pl_rand_seed(&rand, 1);
    pl_backoff_init(&backoff, 0);
    int64_t step = 800 * PL_MS;
    for (int i = 0; i < 12; i++) {
        check_step(&backoff, &rand, PL_SECOND, step);
        step = step * 2 > 30 * PL_SECOND ? 30 * PL_SECOND : step * 2;
    }
}

/* rule 84 */
TEST(starts_over_two_minutes_after_the_last_reset_point)
{
    struct pl_backoff backoff;
    struct pl_rand rand;
    pl_rand_seed(&rand, 2);
    pl_backoff_init(&backoff, 0);
    for (int i = 0; i < 5; i++)
        pl_backoff_next(&backoff, PL_SECOND, &rand);
    check_step(&backoff, &rand, 120 * PL_SECOND, 800 * PL_MS << 5);
    check_step(&backoff, &rand, 120 * PL_SECOND + 1, 800 * PL_MS);
    /* The point moved: another two minutes count from there. */
    check_step(&backoff, &rand, 240 * PL_SECOND, 1600 * PL_MS);
    check_step(&backoff, &rand, 240 * PL_SECOND + 2, 800 * PL_MS);
}

TEST(jitter_spreads_the_delays)
{
    struct pl_rand rand;
    pl_rand_seed(&rand, 3);
    int low = 0;
    for (int i = 0; i < 1000; i++) {
        struct pl_backoff backoff;
        pl_backoff_init_with(&backoff, PL_SECOND, PL_SECOND, PL_SECOND, 0);
        low += pl_backoff_next(&backoff, 0, &rand) < PL_SECOND + PL_SECOND / 2;
    }
    CHECK(low > 400 && low < 600);
}

TEST_MAIN()
