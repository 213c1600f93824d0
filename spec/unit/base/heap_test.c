#include "base/heap.h"

#include "base/rand.h"
#include "support/test.h"

struct item {
    struct pl_heap_node node;
    int value;
};

static struct item *item_of(const struct pl_heap_node *node)
{
    return PL_CONTAINER_OF(node, struct item, node);
}

static bool smaller(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
    return item_of(a)->value < item_of(b)->value;
}

TEST(an_empty_heap_gives_nothing)
{
    struct pl_heap heap;
    pl_heap_init(&heap, smaller);
    CHECK(pl_heap_peek(&heap) == NULL);
    CHECK(pl_heap_pop(&heap) == NULL);
    pl_heap_deinit(&heap);
}

TEST(nodes_come_out_in_order)
{
    enum { N = 1000 };
    static struct item items[N];
    struct pl_heap heap;
    struct pl_rand rand;
    pl_rand_seed(&rand, 4);
    pl_heap_init(&heap, smaller);
    for (int i = 0; i < N; i++) {
        items[i].value = (int)(pl_rand_u64(&rand) % 500);
        pl_heap_push(&heap, &items[i].node);
    }
    int last = -1;
    for (int i = 0; i < N; i++) {
        struct pl_heap_node *node = pl_heap_pop(&heap);
        REQUIRE(node != NULL);
        CHECK(item_of(node)->value >= last);
        CHECK(!pl_heap_holds(node));
        last = item_of(node)->value;
    }
    CHECK(pl_heap_pop(&heap) == NULL);
    pl_heap_deinit(&heap);
}

TEST(removed_and_changed_nodes_keep_the_order)
{
    enum { N = 300 };
    static struct item items[N];
    struct pl_heap heap;
    struct pl_rand rand;
    pl_rand_seed(&rand, 5);
    pl_heap_init(&heap, smaller);
    memset(items, 0, sizeof(items));
    for (int round = 0; round < 5000; round++) {
        struct item *item = &items[pl_rand_u64(&rand) % N];
        int value = (int)(pl_rand_u64(&rand) % 1000);
        if (!pl_heap_holds(&item->node)) {
            item->value = value;
            pl_heap_push(&heap, &item->node);
        } else if (value % 2) {
            pl_heap_remove(&heap, &item->node);
            CHECK(!pl_heap_holds(&item->node));
        } else {
            item->value = value;
            pl_heap_fix(&heap, &item->node);
        }
        int least = 1000;
        for (int i = 0; i < N; i++)
            if (pl_heap_holds(&items[i].node) && items[i].value < least)
                least = items[i].value;
        if (heap.count > 0)
            CHECK_INT(item_of(pl_heap_peek(&heap))->value, least);
    }
    pl_heap_deinit(&heap);
}

TEST(removing_a_stranger_is_harmless_and_deinit_lets_nodes_go)
{
    struct item in = {.value = 1}, out = {.value = 2};
    struct pl_heap heap;
    pl_heap_init(&heap, smaller);
    pl_heap_push(&heap, &in.node);
    pl_heap_remove(&heap, &out.node);
    CHECK_INT(heap.count, 1);
    pl_heap_deinit(&heap);
    CHECK(!pl_heap_holds(&in.node));
}

TEST_MAIN()
