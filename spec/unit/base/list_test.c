#include "base/list.h"

#include "support/test.h"

struct item {
    struct pl_link link;
    int value;
};

static int value_of(struct pl_link *link)
{
    return PL_CONTAINER_OF(link, struct item, link)->value;
}

TEST(pushes_at_both_ends_and_pops_from_the_front)
{
    struct item a = {.value = 1}, b = {.value = 2}, c = {.value = 3};
    struct pl_list list;
    pl_list_init(&list);
    CHECK(pl_list_empty(&list) && pl_list_first(&list) == NULL && pl_list_pop(&list) == NULL);
    pl_list_push(&list, &b.link);
    pl_list_push(&list, &c.link);
    pl_list_push_front(&list, &a.link);
    for (int want = 1; want <= 3; want++) {
        struct pl_link *link = pl_list_pop(&list);
        REQUIRE(link != NULL);
        CHECK_INT(value_of(link), want);
        CHECK(!pl_link_is_linked(link));
    }
    CHECK(pl_list_empty(&list));
}

TEST(unlinking_twice_is_harmless)
{
    struct item a = {.value = 1};
    struct pl_list list;
    pl_list_init(&list);
    pl_list_push(&list, &a.link);
    pl_link_unlink(&a.link);
    pl_link_unlink(&a.link);
    CHECK(pl_list_empty(&list));
}

TEST(the_current_node_may_go_during_a_visit)
{
    struct item items[5] = {{.value = 0}, {.value = 1}, {.value = 2}, {.value = 3}, {.value = 4}};
    struct pl_list list;
    pl_list_init(&list);
    for (int i = 0; i < 5; i++)
        pl_list_push(&list, &items[i].link);
    int seen = 0;
    PL_LIST_FOR (link, &list) {
        CHECK_INT(value_of(link), seen++);
        if (value_of(link) % 2)
            pl_link_unlink(link);
    }
    CHECK_INT(seen, 5);
    int left = 0;
    PL_LIST_FOR (link, &list)
        left += value_of(link);
    CHECK_INT(left, 6);
}

TEST(splice_moves_everything_to_the_end)
{
    struct item a = {.value = 1}, b = {.value = 2}, c = {.value = 3};
    struct pl_list to, from;
    pl_list_init(&to);
    pl_list_init(&from);
    pl_list_push(&to, &a.link);
    pl_list_push(&from, &b.link);
    pl_list_push(&from, &c.link);
    pl_list_splice(&to, &from);
    CHECK(pl_list_empty(&from));
    int want = 1;
    PL_LIST_FOR (link, &to)
        CHECK_INT(value_of(link), want++);
    CHECK_INT(want, 4);
}

TEST_MAIN()
