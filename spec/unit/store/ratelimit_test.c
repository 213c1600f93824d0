#include "store/ratelimit.h"

#include "base/base.h"
#include "support/test.h"

#define A pl_slice_z("ns/a")
#define B pl_slice_z("ns/b")

static int64_t ask(struct pl_ratelimit *limit, struct pl_slice key, int times)
{
    int64_t delay = -1;
    for (int i = 0; i < times; i++)
        delay = pl_ratelimit_when(limit, key, 0);
    return delay;
}

/* rule 96 */
TEST(exponential_doubles_per_key_up_to_the_maximum)
{
    struct pl_ratelimit *limit = pl_ratelimit_exponential(5 * PL_MS, 1000 * PL_SECOND);
    CHECK_INT(ask(limit, A, 1), 5 * PL_MS);
    CHECK_INT(ask(limit, A, 1), 10 * PL_MS);
    CHECK_INT(ask(limit, B, 1), 5 * PL_MS);
    CHECK_INT(ask(limit, A, 16), 655360 * PL_MS);
    CHECK_INT(ask(limit, A, 1), 1000 * PL_SECOND);
    CHECK_INT(pl_ratelimit_requeues(limit, A), 19);
    pl_ratelimit_forget(limit, A);
    CHECK_INT(pl_ratelimit_requeues(limit, A), 0);
    CHECK_INT(ask(limit, A, 1), 5 * PL_MS);
    CHECK_INT(ask(limit, B, 1), 10 * PL_MS);
    pl_ratelimit_destroy(limit);
}

/* Rule 96: where the doubling exceeds 63 bits, for any base. */
TEST(exponential_never_overflows)
{
    static const int64_t bases[] = {1, 2, 3, 1024, 5 * PL_MS, INT64_MAX};
    for (size_t i = 0; i < PL_ARRAY_LEN(bases); i++) {
        struct pl_ratelimit *limit = pl_ratelimit_exponential(bases[i], INT64_MAX);
        int64_t last = 0;
        for (int n = 0; n < 200; n++) {
            int64_t delay = ask(limit, A, 1);
            CHECK(delay >= last && delay > 0);
            last = delay;
        }
        CHECK_INT(last, INT64_MAX);
        pl_ratelimit_destroy(limit);
    }
}

/* rule 96 */
TEST(exponential_from_nothing_never_delays)
{
    struct pl_ratelimit *limit = pl_ratelimit_exponential(0, PL_SECOND);
    CHECK_INT(ask(limit, A, 1), 0);
    CHECK_INT(ask(limit, A, 63), 0);
    CHECK_INT(ask(limit, A, 2000), 0);
    CHECK_INT(pl_ratelimit_requeues(limit, A), 2064);
    pl_ratelimit_destroy(limit);
}

TEST(fast_slow_turns_slow_after_its_fast_attempts)
{
    struct pl_ratelimit *limit = pl_ratelimit_fast_slow(5, 900, 2);
    CHECK_INT(ask(limit, A, 2), 5);
    CHECK_INT(ask(limit, A, 1), 900);
    CHECK_INT(ask(limit, B, 1), 5);
    pl_ratelimit_forget(limit, A);
    CHECK_INT(ask(limit, A, 1), 5);
    pl_ratelimit_destroy(limit);
}

/* rule 97 */
TEST(bucket_is_shared_by_all_keys_and_not_undone_by_forget)
{
    struct pl_ratelimit *limit = pl_ratelimit_bucket(10, 2);
    CHECK_INT(pl_ratelimit_when(limit, A, 0), 0);
    CHECK_INT(pl_ratelimit_when(limit, B, 0), 0);
    pl_ratelimit_forget(limit, A);
    CHECK_INT(pl_ratelimit_when(limit, A, 0), 100 * PL_MS);
    CHECK_INT(pl_ratelimit_when(limit, B, 0), 200 * PL_MS);
    CHECK_INT(pl_ratelimit_when(limit, B, 200 * PL_MS), 100 * PL_MS);
    CHECK_INT(pl_ratelimit_when(limit, B, 3600 * PL_SECOND), 0);
    CHECK_INT(pl_ratelimit_when(limit, B, 3600 * PL_SECOND), 0);
    CHECK_INT(pl_ratelimit_when(limit, B, 3600 * PL_SECOND), 100 * PL_MS);
    CHECK_INT(pl_ratelimit_requeues(limit, B), 0);
    pl_ratelimit_destroy(limit);
}

TEST(bucket_that_cannot_serve_says_never)
{
    struct pl_ratelimit *no_burst = pl_ratelimit_bucket(10, 0);
    CHECK_INT(pl_ratelimit_when(no_burst, A, 0), INT64_MAX);
    pl_ratelimit_destroy(no_burst);
    struct pl_ratelimit *no_rate = pl_ratelimit_bucket(0, 1);
    CHECK_INT(pl_ratelimit_when(no_rate, A, 0), 0);
    CHECK_INT(pl_ratelimit_when(no_rate, A, PL_SECOND), INT64_MAX);
    pl_ratelimit_destroy(no_rate);
}

/* rule 98 */
TEST(max_of_spends_tokens_also_when_the_key_decides)
{
    struct pl_ratelimit *limit = pl_ratelimit_max_of(
        (struct pl_ratelimit *const[]){pl_ratelimit_exponential(PL_MS, PL_SECOND),
                                       pl_ratelimit_bucket(10, 1)},
        2);
    CHECK_INT(pl_ratelimit_when(limit, A, 0), PL_MS);
    CHECK_INT(pl_ratelimit_when(limit, B, 0), 100 * PL_MS);
    CHECK_INT(pl_ratelimit_requeues(limit, A), 1);
    pl_ratelimit_forget(limit, A);
    CHECK_INT(pl_ratelimit_requeues(limit, A), 0);
    pl_ratelimit_destroy(limit);
}

TEST(max_wait_cuts_what_is_longer)
{
    struct pl_ratelimit *limit =
        pl_ratelimit_max_wait(pl_ratelimit_exponential(PL_MS, PL_SECOND), 3 * PL_MS);
    CHECK_INT(ask(limit, A, 2), 2 * PL_MS);
    CHECK_INT(ask(limit, A, 1), 3 * PL_MS);
    CHECK_INT(pl_ratelimit_requeues(limit, A), 3);
    pl_ratelimit_destroy(limit);
}

TEST(counts_are_carried_over_to_a_limiter_of_another_shape)
{
    struct pl_ratelimit *from = pl_ratelimit_exponential(PL_MS, PL_SECOND);
    struct pl_ratelimit *to =
        pl_ratelimit_max_of((struct pl_ratelimit *const[]){pl_ratelimit_bucket(1000, 1000),
                                                           pl_ratelimit_fast_slow(1, 2, 3)},
                            2);
    ask(from, A, 7);
    ask(to, B, 1);
    pl_ratelimit_copy_counts(to, from);
    CHECK_INT(pl_ratelimit_requeues(to, A), 7);
    CHECK_INT(pl_ratelimit_requeues(to, B), 1);
    CHECK_INT(ask(to, A, 1), 2);
    CHECK_INT(pl_ratelimit_requeues(from, A), 7);
    pl_ratelimit_destroy(from);
    pl_ratelimit_destroy(to);
}

TEST(counts_that_are_carried_over_never_shrink)
{
    struct pl_ratelimit *from = pl_ratelimit_fast_slow(1, 2, 3);
    struct pl_ratelimit *to = pl_ratelimit_exponential(PL_MS, PL_SECOND);
    ask(from, A, 7);
    ask(from, B, 2);
    ask(to, B, 5);
    pl_ratelimit_copy_counts(to, from);
    CHECK_INT(ask(to, A, 1), 128 * PL_MS);
    CHECK_INT(pl_ratelimit_requeues(to, B), 5);
    pl_ratelimit_destroy(from);
    pl_ratelimit_destroy(to);
}

/* Adds that come faster than the bucket's rate: the debt is cut, and gone when they stop. */
TEST(a_storm_of_adds_does_not_push_keys_out_for_ever) /* F46 */
{
    struct pl_ratelimit *limit =
        pl_ratelimit_max_wait(pl_ratelimit_bucket(10, 100), 60 * PL_SECOND);
    int64_t now = 0, longest = 0;
    for (int i = 0; i < 100000; i++, now += PL_MS) {
        int64_t delay = pl_ratelimit_when(limit, A, now);
        longest = delay > longest ? delay : longest;
    }
    CHECK_INT(longest, 60 * PL_SECOND);
    CHECK(pl_ratelimit_when(limit, B, now) <= 60 * PL_SECOND);
    pl_ratelimit_destroy(limit);
}

TEST_MAIN()
