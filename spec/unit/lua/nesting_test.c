/* Calls of scripts by C are counted by the places of their frames. */
#include "lua/nesting.h"

#include "support/test.h"

/* A frame that many bytes below the first one; stacks grow down. */
static const void *frame(size_t below)
{
    return (const void *)(uintptr_t)((1u << 30) - below);
}

static struct pl_nesting fresh(void)
{
    return (struct pl_nesting){.low = 1u << 29};
}

TEST(as_many_calls_as_there_may_be_nest)
{
    struct pl_nesting nesting = fresh();
    for (size_t i = 0; i < PL_NESTING_MAX; i++)
        CHECK(pl_nesting_enter(&nesting, frame(i * 300)));
    CHECK(!pl_nesting_enter(&nesting, frame(PL_NESTING_MAX * 300)));
    CHECK(!pl_nesting_enter(&nesting, frame(PL_NESTING_MAX * 300)));
}

TEST(calls_one_after_the_other_do_not_add_up)
{
    struct pl_nesting nesting = fresh();
    for (size_t i = 0; i < 10 * (size_t)PL_NESTING_MAX; i++)
        CHECK(pl_nesting_enter(&nesting, frame(0)));
    CHECK_INT(nesting.count, 1);
}

/* Left by an error, without a notice. */
TEST(a_call_that_was_left_is_forgotten_by_the_next_one_above_it)
{
    struct pl_nesting nesting = fresh();
    for (size_t i = 0; i < PL_NESTING_MAX; i++)
        CHECK(pl_nesting_enter(&nesting, frame(i * 300)));
    CHECK(pl_nesting_enter(&nesting, frame(10 * 300 + 50)));
    CHECK_INT(nesting.count, 12);
    CHECK(pl_nesting_enter(&nesting, frame(0)));
    CHECK_INT(nesting.count, 1);
}

TEST(a_new_slice_begins_with_none)
{
    struct pl_nesting nesting = fresh();
    CHECK(pl_nesting_enter(&nesting, frame(0)));
    CHECK(pl_nesting_enter(&nesting, frame(300)));
    pl_nesting_reset(&nesting);
    CHECK(pl_nesting_enter(&nesting, frame(600)));
    CHECK_INT(nesting.count, 1);
}

TEST(a_call_where_the_stack_gets_short_is_one_too_many)
{
    struct pl_nesting nesting = fresh();
    CHECK(pl_nesting_enter(&nesting, (const void *)(uintptr_t)(1u << 29)));
    CHECK(!pl_nesting_enter(&nesting, (const void *)(uintptr_t)((1u << 29) - 1)));
}

TEST(half_of_the_threads_stack_is_for_what_is_not_counted)
{
    struct pl_nesting nesting;
    char here;
    pl_nesting_init(&nesting);
    CHECK(pl_nesting_enter(&nesting, &here));
    CHECK(nesting.low < (uintptr_t)&here);
    CHECK_INT(nesting.count, 1);
}

TEST_MAIN()
