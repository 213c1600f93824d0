/* Why keys were queued, also when a run that did not begin gives its causes back. */
#include "event/causes.h"

#include "support/test.h"

static const struct pl_slice key = {"d/a", 3};

static void add(struct pl_causes *causes, enum pl_cause_type type, int times)
{
    for (int i = 0; i < times; i++)
        pl_causes_add(causes, key, type);
}

/* Causes are taken, others arrive, the first are given back, and more arrive. */
static void check_given_back(int taken, int since, int after)
{
    struct pl_causes causes;
    struct pl_cause_list list;
    pl_causes_init(&causes);
    add(&causes, PL_CAUSE_REQUEUE, taken);
    pl_causes_take(&causes, key, &list);
    add(&causes, PL_CAUSE_RETRY, since);
    pl_causes_give_back(&causes, key, &list);
    CHECK(list.items == NULL && list.count == 0);
    add(&causes, PL_CAUSE_RESYNC, after);
    pl_causes_take(&causes, key, &list);
    int all = taken + since + after, kept = all < PL_CAUSES_MAX ? all : PL_CAUSES_MAX;
    CHECK_INT(list.count, kept);
    CHECK_INT(list.dropped, all - kept);
    for (int i = 0; i < (int)list.count; i++)
        CHECK_INT(list.items[i].type, i < taken           ? PL_CAUSE_REQUEUE
                                      : i < taken + since ? PL_CAUSE_RETRY
                                                          : PL_CAUSE_RESYNC);
    pl_cause_list_deinit(&list);
    pl_causes_deinit(&causes);
}

TEST(what_is_given_back_stands_before_what_came_since_and_takes_more)
{
    for (int taken = 0; taken <= PL_CAUSES_MAX + 1; taken++)
        for (int since = 0; since <= PL_CAUSES_MAX + 1; since++)
            check_given_back(taken, since, 3);
}

TEST_MAIN()
