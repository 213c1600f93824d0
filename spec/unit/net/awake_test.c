#include "net/awake.h"

#include "support/test.h"
#include "support/virtual_clock.h"

#define START 1000000000

struct bed {
    struct virtual_clock clock;
    struct pl_awake awake;
    int asked;       /* how often, in the last wait */
    int there_after; /* checks; each takes a tenth of the longest wait */
};

static bool is_there(void *arg)
{
    struct bed *bed = arg;
    bed->clock.now_ns += PL_AWAKE_NS / 10;
    return ++bed->asked >= bed->there_after;
}

static void begin(struct bed *bed)
{
    virtual_clock_init(&bed->clock, START);
    pl_awake_init(&bed->awake, &bed->clock.clock);
    bed->awake.processors = 2;
}

/* Spins as long as it may, then sleeps asleep_ns. */
static void wait_for(struct bed *bed, int there_after, int64_t asleep_ns)
{
    bed->asked = 0;
    bed->there_after = there_after;
    pl_awake_begin(&bed->awake, is_there, bed);
    bed->clock.now_ns += asleep_ns;
    pl_awake_end(&bed->awake);
}

TEST(the_first_wait_is_asleep)
{
    struct bed bed;
    begin(&bed);
    wait_for(&bed, 1, PL_AWAKE_NS / 2);
    CHECK_INT(bed.asked, 0);
}

TEST(after_a_short_wait_the_next_begins_awake_and_ends_with_what_comes)
{
    struct bed bed;
    begin(&bed);
    wait_for(&bed, 1, PL_AWAKE_NS / 2);
    wait_for(&bed, 3, 0);
    CHECK_INT(bed.asked, 3);
    wait_for(&bed, 2, 0);
    CHECK_INT(bed.asked, 2);
}

TEST(nobody_is_awake_for_longer_than_the_longest_wait)
{
    struct bed bed;
    begin(&bed);
    wait_for(&bed, 1, PL_AWAKE_NS / 2);
    wait_for(&bed, 1000, 50 * PL_AWAKE_NS);
    CHECK_INT(bed.asked, 10);
}

TEST(a_wait_for_what_was_just_asked_for_begins_awake)
{
    struct bed bed;
    begin(&bed);
    pl_awake_expect(&bed.awake);
    wait_for(&bed, 3, 5 * PL_AWAKE_NS);
    CHECK_INT(bed.asked, 3);
    wait_for(&bed, 3, 0);
    CHECK_INT(bed.asked, 0);
}

TEST(after_a_long_wait_the_next_is_asleep)
{
    struct bed bed;
    begin(&bed);
    wait_for(&bed, 1, PL_AWAKE_NS / 2);
    wait_for(&bed, 1000, PL_AWAKE_NS);
    wait_for(&bed, 1, PL_AWAKE_NS / 2);
    CHECK_INT(bed.asked, 0);
    wait_for(&bed, 1, 0);
    CHECK_INT(bed.asked, 1);
}

TEST(on_one_processor_nobody_is_awake)
{
    struct bed bed;
    begin(&bed);
    bed.awake.processors = 1;
    wait_for(&bed, 1, 0);
    wait_for(&bed, 1, 0);
    CHECK_INT(bed.asked, 0);
}

TEST_MAIN()
