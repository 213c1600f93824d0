/* Rounds: when it is useless to wait for a key once more. */
#include "world/rounds.h"

#include "support/test.h"

TEST(a_key_that_was_waited_for_at_this_version_is_over)
{
    struct pl_map rounds = {0};
    struct pl_round *round = pl_rounds_of(&rounds, "main websites default/blog");
    CHECK(!pl_round_is_over(round, 7, 0));
    pl_round_wait(round, 7, 0);
    CHECK(pl_round_is_over(round, 7, 0));
    CHECK(!pl_round_is_over(round, 8, 0));
    pl_rounds_forget(&rounds);
    CHECK(!pl_round_is_over(round, 7, 0));
    pl_rounds_deinit(&rounds);
}

TEST(retries_count_until_something_has_changed)
{
    struct pl_map rounds = {0};
    struct pl_round *round = pl_rounds_of(&rounds, "main websites default/blog");
    CHECK(!pl_round_only_retries(round, 7, 1));
    pl_round_retry(round, 7);
    pl_round_retry(round, 7);
    CHECK(pl_round_only_retries(round, 7, 2));
    CHECK(!pl_round_only_retries(round, 7, 3));
    CHECK(!pl_round_only_retries(round, 8, 2)); /* somebody has written since */
    pl_round_retry(round, 8);
    CHECK(!pl_round_only_retries(round, 8, 2));
    CHECK(pl_rounds_of(&rounds, "main websites default/blog") == round);
    CHECK(!pl_round_only_retries(pl_rounds_of(&rounds, "main websites default/other"), 7, 1));
    pl_rounds_deinit(&rounds);
}

TEST_MAIN()
