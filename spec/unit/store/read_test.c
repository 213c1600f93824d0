#include "store/store.h"

#include "docs.h"
#include "support/json.h"
#include "value/label_bloom.h"
#include "object/meta.h"

#include <pthread.h>
#include <stdatomic.h>

TEST(list_appends_every_object_once)
{
    struct pl_store *store = pl_store_create();
    struct pl_docs docs = {0};
    for (int i = 0; i < 100; i++) {
        char key[16];
        snprintf(key, sizeof(key), "k%d", i);
        put(store, key, i, "");
    }
    pl_store_list(store, 0, &docs);
    pl_store_list(store, 0, &docs);
    REQUIRE(docs.count == 200);
    int sum = 0;
    for (size_t i = 0; i < docs.count; i++)
        sum += version_of(docs.items[i]);
    CHECK_INT(sum, 2 * 4950);
    pl_docs_deinit(&docs);
    pl_store_destroy(store);
}

TEST(objects_known_to_lack_a_label_are_left_out)
{
    struct pl_store *store = pl_store_create();
    struct pl_docs all = {0}, web = {0};
    uint64_t wanted = pl_label_bloom(pl_slice_z("app"), pl_slice_z("web"));
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
    put(store, "unlabelled", 1, "x");
    struct pl_doc *doc = json("{'v':2,'tags':['x'],'metadata':{'labels':{'app':'web'}}}");
    pl_doc_unref(pl_store_put(store, pl_slice_z("labelled"), doc));
    pl_store_list(store, wanted, &all);
    REQUIRE(all.count == 2); /* nothing is known yet */
    for (size_t i = 0; i < all.count; i++)
        pl_label_bloom_keep(pl_doc_root(all.items[i]), pl_meta_labels(pl_doc_root(all.items[i])));
    pl_store_list(store, wanted, &web);
    CHECK_INT(pl_store_by_index(store, "tags", pl_slice_z("x"), wanted, &web), 0);
    REQUIRE(web.count == 2);
    CHECK(web.items[0] == doc && web.items[1] == doc);
    put(store, "unlabelled", 3, "x"); /* another document: anything may be in it */
    pl_store_list(store, wanted, &web);
    CHECK_INT(web.count, 4);
    pl_docs_deinit(&all);
    pl_docs_deinit(&web);
    pl_doc_unref(doc);
    pl_store_destroy(store);
}

static int by_fewest(struct pl_store *store, const struct pl_index_value *values, size_t count,
                     int *found, size_t *seen)
{
    struct pl_docs docs = {0};
    int code = pl_store_by_fewest(store, values, count, 0, &docs, seen);
    *found = docs.count > 0 ? version_of(docs.items[0]) : 0;
    pl_docs_deinit(&docs);
    return code;
}

TEST(of_several_values_the_one_with_the_fewest_objects_is_taken)
{
    struct pl_store *store = pl_store_create();
    int found;
    size_t seen;
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
    CHECK_INT(pl_store_add_index(store, "other", &tag_ops, NULL, NULL), 0);
    put(store, "x", 1, "ab");
    put(store, "y", 2, "a");
    put(store, "z", 3, "ca");
    struct pl_index_value values[] = {
        {"none", pl_slice_z("b")},
        {"tags", pl_slice_z("a")},
        {"other", pl_slice_z("c")},
        {"tags", pl_slice_z("nobody's")},
    };
    CHECK_INT(by_fewest(store, values, 1, &found, &seen), PL_ENOTFOUND);
    CHECK_INT(by_fewest(store, values, 2, &found, &seen), 0);
    CHECK_INT(seen, 3);
    CHECK_INT(by_fewest(store, values, 3, &found, &seen), 0);
    CHECK_INT(seen, 1);
    CHECK_INT(found, 3);
    CHECK_INT(by_fewest(store, values, 4, &found, &seen), 0);
    CHECK_INT(seen, 0);
    pl_store_set_building(store, "other", true);
    CHECK_INT(by_fewest(store, values, 3, &found, &seen), 0);
    CHECK_INT(seen, 3);
    CHECK_INT(by_fewest(store, &values[2], 1, &found, &seen), PL_EAGAIN);
    pl_store_destroy(store);
}

/* rule 33 */
TEST(names_come_sorted_by_their_bytes)
{
    struct pl_store *store = pl_store_create();
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
    put(store, "b", 1, "z");
    put(store, "B", 1, "a");
    put(store, "a/b", 1, "z");
    put(store, "a", 1, "z");
    CHECK_STR(joined(pl_store_keys(store)), "B a a/b b");
    CHECK_STR(keys_under(store, "tags", "z"), "a a/b b");
    CHECK_STR(joined(pl_store_index_values(store, "tags")), "a z");
    pl_store_destroy(store);
}

/* rule 34 */
TEST(an_unknown_index_is_an_error_and_an_unknown_value_is_not)
{
    struct pl_store *store = pl_store_create();
    struct pl_docs docs = {0};
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
    CHECK_INT(pl_store_by_index(store, "tags", pl_slice_z("x"), 0, &docs), 0);
    CHECK_INT(pl_store_by_index(store, "none", pl_slice_z("x"), 0, &docs), PL_ENOTFOUND);
    CHECK_INT(docs.count, 0);
    CHECK(pl_store_index_keys(store, "none", pl_slice_z("x")) == NULL);
    CHECK(pl_store_index_values(store, "none") == NULL);
    CHECK_STR(keys_under(store, "tags", "x"), "");
    pl_docs_deinit(&docs);
    pl_store_destroy(store);
}

/* ---- readers on other threads ---- */

enum { SHARED_KEYS = 64, WRITES = 3000, READERS = 3 };

struct shared {
    struct pl_store *store;
    atomic_bool stop;
    atomic_long reads;
};

/* Every object of one generation carries the same v; a reader must never see a mixture
 * of generations in one list, because each generation is put by one replace. */
static void check_list(struct pl_store *store)
{
    struct pl_docs docs = {0};
    pl_store_list(store, 0, &docs);
    for (size_t i = 1; i < docs.count; i++)
        if (version_of(docs.items[i]) != version_of(docs.items[0])) {
            CHECK_INT(version_of(docs.items[i]), version_of(docs.items[0]));
            break;
        }
    pl_docs_deinit(&docs);
}

static void *read_all_the_time(void *arg)
{
    struct shared *shared = arg;
    for (int i = 0; !atomic_load(&shared->stop); i++) {
        char key[16];
        snprintf(key, sizeof(key), "k%d", i % SHARED_KEYS);
        struct pl_doc *doc = pl_store_get(shared->store, pl_slice_z(key));
        CHECK(doc == NULL || version_of(doc) >= 0);
        pl_doc_unref(doc);
        check_list(shared->store);
        struct pl_docs docs = {0};
        pl_store_by_index(shared->store, "tags", pl_slice_z("x"), 0, &docs);
        pl_docs_deinit(&docs);
        pl_store_free_names(pl_store_keys(shared->store));
        pl_store_free_names(pl_store_index_values(shared->store, "late"));
        struct pl_buf rv = PL_BUF_INIT;
        pl_store_rv(shared->store, &rv);
        pl_buf_deinit(&rv);
        atomic_fetch_add(&shared->reads, 1);
    }
    return NULL;
}

static void replace_all(struct pl_store *store, int generation)
{
    static char keys[SHARED_KEYS][16];
    struct pl_store_item items[SHARED_KEYS];
    size_t count = (size_t)(generation % SHARED_KEYS) + 1;
    for (size_t i = 0; i < count; i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%d", (int)i);
        items[i] =
            (struct pl_store_item){pl_slice_z(keys[i]), tagged(generation, i % 2 ? "xy" : "xz")};
    }
    pl_store_replace(store, items, count);
    for (size_t i = 0; i < count; i++)
        pl_doc_unref(items[i].doc);
}

TEST(readers_on_other_threads_see_whole_states)
{
    struct shared shared = {.store = pl_store_create()};
    CHECK_INT(pl_store_add_index(shared.store, "tags", &tag_ops, NULL, NULL), 0);
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, read_all_the_time, &shared) == 0);
    for (int i = 0; i < WRITES || atomic_load(&shared.reads) < READERS; i++) {
        replace_all(shared.store, i);
        /* Single changes that keep the generation, and indices that come and go. */
        put(shared.store, "k0", i, i % 2 ? "xq" : "");
        pl_doc_unref(pl_store_remove(shared.store, pl_slice_z("k1")));
        pl_store_set_rv(shared.store, pl_slice_z(i % 2 ? "1" : "22"));
        if (i % 8 == 0)
            CHECK_INT(pl_store_add_index(shared.store, "late", &tag_ops, NULL, NULL), 0);
        if (i % 8 == 4)
            pl_store_drop_index(shared.store, "late");
    }
    atomic_store(&shared.stop, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    pl_store_destroy(shared.store);
}

TEST_MAIN()
