#include "store/impl.h"
#include "value/pool.h"

#include "base/alloc.h"
#include "docs.h"

enum { COUNT = 20000, KEPT = COUNT / 10 };

static struct pl_doc *pod(struct pl_pool *pool, int i)
{
    char text[512];
    int len = snprintf(text, sizeof(text), "{\"v\":%d,\"tags\":[\"%c\"],\"note\":\"%0300d\"}", i,
                       'a' + i % 7, i);
    struct pl_doc *doc =
        pl_scan_text(pl_slice(text, (size_t)len), &(struct pl_scan_options){.pool = pool}, NULL);
    REQUIRE(doc != NULL);
    return doc;
}

static struct pl_slice key_of(int i, char *room)
{
    return pl_slice(room, (size_t)snprintf(room, 64, "default/some-pod-of-a-set-%d", i));
}

static void fill(struct pl_store *store, struct pl_pool *pool)
{
    char room[64];
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
    for (int i = 0; i < COUNT; i++) {
        struct pl_doc *doc = pod(pool, i);
        pl_doc_unref(pl_store_put(store, key_of(i, room), doc));
        pl_doc_unref(doc);
    }
}

/* All except every tenth; the rest are far from each other. */
static void remove_most(struct pl_store *store)
{
    char room[64];
    for (int i = 0; i < COUNT; i++)
        if (i % 10 != 3)
            pl_doc_unref(pl_store_remove(store, key_of(i, room)));
}

static void compact(struct pl_store *store, struct pl_pool *pool)
{
    size_t at = 0;
    while (pl_store_compact(store, pool, &at, 100))
        pl_pool_collect(pool);
    pl_pool_collect(pool);
}

static size_t spans_of(const struct slab *slab)
{
    size_t count = 0;
    for (size_t i = 0; i < SLAB_CLASSES; i++)
        count += slab->classes[i].spans;
    return count;
}

/* The order of the hashes decides which spans are left, so one store may keep some more. */
TEST(what_is_left_after_many_removals_lies_close_together)
{
    size_t full = 0, left = 0;
    for (int round = 0; round < 5; round++) {
        struct pl_pool *pool = pl_pool_create();
        struct pl_store *store = pl_store_create();
        fill(store, pool);
        size_t before = spans_of(&store->memory);
        remove_most(store);
        CHECK(spans_of(&store->memory) > before * 3 / 4);
        compact(store, pool);
        full += before;
        left += spans_of(&store->memory);
        pl_store_destroy(store);
        pl_pool_destroy(pool);
    }
    CHECK(left * 2 < full);
}

TEST(what_was_moved_is_found_as_before)
{
    struct pl_pool *pool = pl_pool_create();
    struct pl_store *store = pl_store_create();
    char room[64];
    fill(store, pool);
    struct pl_doc *held[KEPT];
    for (int i = 0; i < KEPT; i++)
        held[i] = pl_store_get(store, key_of(i * 10 + 3, room));
    remove_most(store);
    compact(store, pool);
    size_t in_index = 0;
    for (char tag = 'a'; tag < 'a' + 7; tag++) {
        struct pl_docs docs = {0};
        CHECK_INT(pl_store_by_index(store, "tags", pl_slice(&tag, 1), 0, &docs), 0);
        in_index += docs.count;
        pl_docs_deinit(&docs);
    }
    CHECK_INT(in_index, KEPT);
    for (int i = 0; i < COUNT; i++)
        CHECK_INT(stored(store, key_of(i, room).ptr), i % 10 == 3 ? i : -1);
    int moved = 0;
    for (int i = 0; i < KEPT; i++) {
        struct pl_doc *now = pl_store_get(store, key_of(i * 10 + 3, room));
        moved += now != held[i];
        CHECK_INT(version_of(held[i]), i * 10 + 3); /* a reader keeps its document */
        pl_doc_unref(now);
        pl_doc_unref(held[i]);
    }
    CHECK(moved > KEPT / 2);
    remove_most(store);
    for (int i = 3; i < COUNT; i += 10)
        pl_doc_unref(pl_store_remove(store, key_of(i, room)));
    CHECK_INT(pl_store_count(store), 0);
    CHECK_INT(store->memory.live_bytes, 0);
    pl_store_destroy(store);
    pl_pool_destroy(pool);
}

TEST(what_lies_well_is_not_moved)
{
    struct pl_pool *pool = pl_pool_create();
    struct pl_store *store = pl_store_create();
    char room[64];
    fill(store, pool);
    struct pl_doc *before = pl_store_get(store, key_of(7, room));
    compact(store, pool);
    struct pl_doc *after = pl_store_get(store, key_of(7, room));
    CHECK(after == before);
    pl_doc_unref(after);
    pl_doc_unref(before);
    pl_store_destroy(store);
    pl_pool_destroy(pool);
}

TEST_MAIN()
