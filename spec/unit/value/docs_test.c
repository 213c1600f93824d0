#include "value/docs.h"

#include "support/test.h"
#include "value/build.h"

static struct pl_doc *number(int n)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_int(b, n);
    return pl_build_close(b);
}

TEST(documents_come_back_in_the_order_of_adding)
{
    struct pl_docs docs = {0};
    for (int i = 0; i < 100; i++)
        pl_docs_add(&docs, number(i));
    REQUIRE(docs.count == 100);
    for (int i = 0; i < 100; i++) {
        int64_t n = -1;
        CHECK(pl_node_int(pl_doc_root(docs.items[i]), &n));
        CHECK_INT(n, i);
    }
    pl_docs_deinit(&docs);
    CHECK(docs.items == NULL && docs.count == 0);
    pl_docs_deinit(&docs);
}

TEST(reserved_room_is_not_moved_by_adding)
{
    struct pl_docs docs = {0};
    pl_docs_add(&docs, number(1));
    pl_docs_reserve(&docs, 1000);
    struct pl_doc **items = docs.items;
    for (int i = 0; i < 1000; i++)
        pl_docs_add(&docs, number(i));
    CHECK(docs.items == items);
    pl_docs_deinit(&docs);
}

TEST_MAIN()
