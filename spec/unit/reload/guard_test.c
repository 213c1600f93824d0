#include "reload/guard.h"

#include "support/test.h"

#define SECOND INT64_C(1000000000)

static enum pl_guard_run run_of(char c)
{
    return c == 'x' ? PL_GUARD_WORSE : c == '-' ? PL_GUARD_NO_WORSE : PL_GUARD_CLEAN;
}

static int verdict_of(struct pl_guard *guard, const char *runs, int64_t now_ns)
{
    enum pl_guard_verdict verdict = PL_GUARD_WATCHING;
    for (; *runs != '\0' && verdict == PL_GUARD_WATCHING; runs++)
        verdict = *runs == 'X' ? pl_guard_lost(guard, now_ns)
                               : pl_guard_ran(guard, run_of(*runs), now_ns);
    return (int)verdict;
}

TEST(five_failures_of_more_than_half_the_runs_end_it)
{
    static const struct {
        const char *runs;
        enum pl_guard_verdict verdict;
    } cases[] = {
        {"xxxx", PL_GUARD_WATCHING},
        {"xxxxx", PL_GUARD_FAILED},
        {"....xxxx", PL_GUARD_WATCHING},
        {"....xxxxx", PL_GUARD_FAILED},
        {".....xxxxx", PL_GUARD_WATCHING},
        {".....xxxxxx", PL_GUARD_FAILED},
        {"x.x.x.x.x.x.x.", PL_GUARD_FAILED},
        {".x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x", PL_GUARD_PASSED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pl_guard guard;
        pl_guard_begin(&guard, 0);
        CHECK_INT(verdict_of(&guard, cases[i].runs, SECOND), (int)cases[i].verdict);
    }
}

/* Five lost lanes end the process. */
TEST(a_run_that_cannot_be_interrupted_weighs_as_five_failures)
{
    static const struct {
        const char *runs;
        enum pl_guard_verdict verdict;
    } cases[] = {
        {"X", PL_GUARD_FAILED},
        {"....X", PL_GUARD_FAILED},
        {".....X", PL_GUARD_WATCHING},
        {".....Xx", PL_GUARD_FAILED},
        {".........X", PL_GUARD_WATCHING},
        {".........XX", PL_GUARD_FAILED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pl_guard guard;
        pl_guard_begin(&guard, 0);
        CHECK_INT(verdict_of(&guard, cases[i].runs, SECOND), (int)cases[i].verdict);
    }
}

TEST(it_passes_after_its_time_or_its_runs_and_stays_passed)
{
    struct pl_guard guard;
    pl_guard_begin(&guard, 7 * SECOND);
    CHECK_INT(pl_guard_look(&guard, 36 * SECOND), PL_GUARD_WATCHING);
    CHECK_INT(verdict_of(&guard, "xxxx", 36 * SECOND), PL_GUARD_WATCHING);
    CHECK_INT(pl_guard_ran(&guard, PL_GUARD_WORSE, 37 * SECOND), PL_GUARD_PASSED);
    CHECK_INT(pl_guard_ran(&guard, PL_GUARD_WORSE, 36 * SECOND), PL_GUARD_PASSED);
    pl_guard_begin(&guard, 0);
    for (int i = 0; i < PL_GUARD_RUNS - 1; i++)
        CHECK_INT(pl_guard_ran(&guard, PL_GUARD_CLEAN, 0), PL_GUARD_WATCHING);
    CHECK_INT(pl_guard_ran(&guard, PL_GUARD_CLEAN, 0), PL_GUARD_PASSED);
    CHECK_INT(verdict_of(&guard, "xxxxxxxxx", 0), PL_GUARD_PASSED);
}

/* Whether a reload during the guard may come back to these scripts. */
TEST(scripts_are_good_before_their_time_when_a_run_was_clean_and_most_did_not_fail)
{
    static const struct {
        const char *runs;
        bool good;
    } cases[] = {
        {"", false},      {".", true},   {"......", true}, {"x", false},      {"-----", false},
        {"xxxx.", false}, {".x", true},  {"..xxx", false}, {"----x.", true},  {".....X", true},
        {"....X", false}, {"--", false}, {"..X", false},   {"xxxxx.", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pl_guard guard;
        pl_guard_begin(&guard, 0);
        CHECK(!pl_guard_is_good(&guard));
        (void)verdict_of(&guard, cases[i].runs, SECOND);
        CHECK_INT(pl_guard_is_good(&guard), cases[i].good);
    }
}

TEST_MAIN()
