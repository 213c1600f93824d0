#include "store/store.h"

#include "base/alloc.h"
#include "base/rand.h"
#include "docs.h"

TEST(an_empty_store_finds_nothing)
{
    struct pl_store *store = pl_store_create();
    CHECK(pl_store_get(store, pl_slice_z("a")) == NULL);
    CHECK(pl_store_remove(store, pl_slice_z("a")) == NULL);
    CHECK_INT(pl_store_count(store), 0);
    CHECK_STR(joined(pl_store_keys(store)), "");
    pl_store_destroy(store);
    pl_store_destroy(NULL);
}

TEST(put_and_remove_hand_back_what_was_there)
{
    struct pl_store *store = pl_store_create();
    struct pl_doc *one = tagged(1, ""), *two = tagged(2, "");
    CHECK(pl_store_put(store, pl_slice_z("ns/a"), one) == NULL);
    struct pl_doc *old = pl_store_put(store, pl_slice_z("ns/a"), two);
    CHECK(old == one);
    pl_doc_unref(old);
    CHECK_INT(pl_store_count(store), 1);
    CHECK_INT(stored(store, "ns/a"), 2);
    old = pl_store_remove(store, pl_slice_z("ns/a"));
    CHECK(old == two);
    pl_doc_unref(old);
    CHECK_INT(pl_store_count(store), 0);
    pl_doc_unref(one);
    pl_doc_unref(two);
    pl_store_destroy(store);
}

/* rule 39 */
TEST(what_was_read_outlives_the_store)
{
    struct pl_store *store = pl_store_create();
    put(store, "a", 5, "");
    struct pl_doc *doc = pl_store_get(store, pl_slice_z("a"));
    pl_store_destroy(store);
    CHECK_INT(version_of(doc), 5);
    pl_doc_unref(doc);
}

/* rules 31, 32 */
TEST(index_sets_follow_overlapping_values)
{
    struct pl_store *store = pl_store_create();
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
    put(store, "a", 1, "xy");
    put(store, "b", 1, "yz");
    CHECK_STR(keys_under(store, "tags", "y"), "a b");
    put(store, "a", 2, "yw");
    CHECK_STR(keys_under(store, "tags", "x"), "");
    CHECK_STR(keys_under(store, "tags", "y"), "a b");
    CHECK_STR(keys_under(store, "tags", "w"), "a");
    CHECK_STR(joined(pl_store_index_values(store, "tags")), "w y z");
    put(store, "a", 3, "");
    pl_doc_unref(pl_store_remove(store, pl_slice_z("b")));
    CHECK_STR(joined(pl_store_index_values(store, "tags")), "");
    pl_store_destroy(store);
}

TEST(an_unchanged_value_leads_to_the_newest_object)
{
    struct pl_store *store = pl_store_create();
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
    put(store, "a", 1, "x");
    put(store, "a", 2, "x");
    struct pl_docs docs = {0};
    CHECK_INT(pl_store_by_index(store, "tags", pl_slice_z("x"), 0, &docs), 0);
    REQUIRE(docs.count == 1);
    CHECK_INT(version_of(docs.items[0]), 2);
    pl_docs_deinit(&docs);
    pl_store_destroy(store);
}

/* rule 35 */
TEST(a_late_index_covers_what_is_there_and_what_comes)
{
    struct pl_store *store = pl_store_create();
    int calls = 0;
    put(store, "a", 1, "x");
    put(store, "b", 1, "xy");
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, &calls, NULL), 0);
    CHECK_INT(calls, 2);
    CHECK_STR(keys_under(store, "tags", "x"), "a b");
    put(store, "c", 1, "y");
    CHECK_STR(keys_under(store, "tags", "y"), "b c");
    struct pl_err err;
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, &err), PL_EEXIST);
    CHECK(strstr(err.message, "tags") != NULL);
    CHECK_STR(keys_under(store, "tags", "y"), "b c");
    pl_store_destroy(store);
}

TEST(a_dropped_index_is_gone_and_its_name_free_again)
{
    struct pl_store *store = pl_store_create();
    CHECK_INT(pl_store_add_index(store, "one", &tag_ops, NULL, NULL), 0);
    CHECK_INT(pl_store_add_index(store, "two", &tag_ops, NULL, NULL), 0);
    put(store, "a", 1, "x");
    pl_store_drop_index(store, "one");
    pl_store_drop_index(store, "one");
    CHECK(!pl_store_has_index(store, "one") && pl_store_has_index(store, "two"));
    CHECK_STR(keys_under(store, "two", "x"), "a");
    put(store, "a", 2, "y");
    CHECK_STR(keys_under(store, "two", "x"), "");
    CHECK_INT(pl_store_add_index(store, "one", &tag_ops, NULL, NULL), 0);
    CHECK_STR(keys_under(store, "one", "y"), "a");
    pl_store_destroy(store);
}

static void count_destroy(void *arg)
{
    ++*(int *)arg;
}

TEST(an_index_owns_its_argument)
{
    const struct pl_index_ops ops = {tag_values, count_destroy};
    struct pl_store *store = pl_store_create();
    int one = 0, two = 0;
    CHECK_INT(pl_store_add_index(store, "one", &ops, &one, NULL), 0);
    CHECK_INT(pl_store_add_index(store, "two", &ops, &two, NULL), 0);
    pl_store_drop_index(store, "one");
    CHECK_INT(one, 1);
    pl_store_destroy(store);
    CHECK_INT(one, 1);
    CHECK_INT(two, 1);
}

/* Rule 30: a failing function leaves the object out and does not end the host. */
TEST(a_refused_object_is_left_out_of_that_index)
{
    struct pl_store *store = pl_store_create();
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
    put(store, "a", 1, "x");
    put(store, "a", 2, "y!");
    CHECK_INT(stored(store, "a"), 2);
    CHECK_STR(joined(pl_store_index_values(store, "tags")), "");
    put(store, "a", 3, "z");
    CHECK_STR(keys_under(store, "tags", "z"), "a");
    pl_store_destroy(store);
}

static void set_values(struct pl_store *store, const char *key, const char *text)
{
    struct pl_values values = {0};
    for (; *text != '\0'; text++)
        pl_values_add(&values, pl_slice(text, 1));
    pl_store_set_values(store, "script", pl_slice_z(key), &values);
    pl_values_deinit(&values);
}

TEST(values_computed_elsewhere_stay_until_the_next_ones)
{
    struct pl_store *store = pl_store_create();
    CHECK_INT(pl_store_add_index(store, "script", NULL, NULL, NULL), 0);
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
    put(store, "a", 1, "x");
    set_values(store, "a", "pq");
    set_values(store, "gone", "p");
    put(store, "a", 2, "y");
    CHECK_STR(keys_under(store, "script", "p"), "a");
    set_values(store, "a", "q");
    CHECK_STR(joined(pl_store_index_values(store, "script")), "q");
    CHECK_STR(joined(pl_store_index_values(store, "tags")), "y");
    pl_doc_unref(pl_store_remove(store, pl_slice_z("a")));
    CHECK_STR(joined(pl_store_index_values(store, "script")), "");
    pl_store_destroy(store);
}

TEST(only_an_index_computed_elsewhere_takes_values)
{
    struct pl_store *store = pl_store_create();
    CHECK_INT(pl_store_add_index(store, "script", &tag_ops, NULL, NULL), 0);
    put(store, "a", 1, "x");
    set_values(store, "a", "p");
    CHECK_STR(joined(pl_store_index_values(store, "script")), "x");
    pl_store_destroy(store);
}

/* rule 36 */
TEST(replace_swaps_content_and_rebuilds_every_index)
{
    struct pl_store *store = pl_store_create();
    CHECK_INT(pl_store_add_index(store, "script", NULL, NULL, NULL), 0);
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
    put(store, "a", 1, "x");
    put(store, "b", 1, "y");
    set_values(store, "a", "p");
    set_values(store, "b", "p");
    struct pl_doc *b = tagged(2, "z"), *c = tagged(2, "z"), *c3 = tagged(3, "w");
    pl_store_replace(
        store,
        (struct pl_store_item[]){{pl_slice_z("b"), b}, {pl_slice_z("c"), c}, {pl_slice_z("c"), c3}},
        3);
    pl_doc_unref(b);
    pl_doc_unref(c);
    pl_doc_unref(c3);
    CHECK_STR(joined(pl_store_keys(store)), "b c");
    CHECK_INT(stored(store, "c"), 3);
    CHECK_STR(joined(pl_store_index_values(store, "tags")), "w z");
    CHECK_STR(keys_under(store, "tags", "z"), "b");
    CHECK_STR(keys_under(store, "script", "p"), "b");
    put(store, "b", 4, "w");
    CHECK_STR(keys_under(store, "tags", "w"), "b c");
    pl_store_replace(store, NULL, 0);
    CHECK_INT(pl_store_count(store), 0);
    CHECK_STR(joined(pl_store_index_values(store, "tags")), "");
    pl_store_destroy(store);
}

/* rule 37 */
/* Under one lock, and with so many changes that a table is made aside. */
TEST(changes_are_applied_together_and_hand_back_what_was_there)
{
    for (int few = 0; few < 2; few++) {
        size_t count = few ? 4 : 9004, indexed = 0;
        struct pl_store *store = pl_store_create();
        CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
        CHECK_INT(pl_store_add_index(store, "script", NULL, NULL, NULL), 0);
        put(store, "a", 1, "x");
        put(store, "b", 1, "y");
        put(store, "c", 1, "xy");
        struct pl_values values = {0};
        pl_values_add(&values, pl_slice_z("v"));
        pl_store_set_values(store, "script", pl_slice_z("a"), &values);
        pl_store_set_values(store, "script", pl_slice_z("c"), &values);
        pl_values_deinit(&values);
        struct pl_doc *two = tagged(2, "z"), *three = tagged(3, "y");
        struct pl_store_change *changes = pl_calloc(count, sizeof(*changes));
        char(*names)[8] = pl_calloc(count, sizeof(*names));
        changes[0] = (struct pl_store_change){.key = pl_slice_z("a"), .doc = two};
        changes[1] = (struct pl_store_change){.key = pl_slice_z("b")};
        changes[2] = (struct pl_store_change){.key = pl_slice_z("new"), .doc = two};
        changes[3] = (struct pl_store_change){.key = pl_slice_z("new"), .doc = three};
        for (size_t i = 4; i < count; i++) {
            snprintf(names[i], sizeof names[i], "m%zu", i);
            changes[i] = (struct pl_store_change){.key = pl_slice_z(names[i]), .doc = two};
        }
        pl_store_apply(store, changes, count);
        CHECK_INT(version_of(changes[0].old), 1);
        CHECK_INT(version_of(changes[1].old), 1);
        CHECK(changes[2].old == NULL);
        CHECK(changes[3].old == two);
        for (size_t i = 0; i < count; i++)
            pl_doc_unref(changes[i].old);
        CHECK_INT(pl_store_count(store), count - 4 + 3);
        CHECK_INT(stored(store, "a"), 2);
        CHECK_INT(stored(store, "c"), 1);
        CHECK_INT(stored(store, "new"), 3);
        CHECK(pl_store_get(store, pl_slice_z("b")) == NULL);
        CHECK_STR(keys_under(store, "tags", "x"), "c");
        CHECK_STR(keys_under(store, "tags", "y"), "c new");
        struct pl_docs under = {0};
        CHECK_INT(pl_store_by_index(store, "tags", pl_slice_z("z"), 0, &under), 0);
        indexed = under.count;
        CHECK_INT(indexed, count - 4 + 1);
        pl_docs_deinit(&under);
        CHECK_STR(keys_under(store, "script", "v"), "a c");
        pl_doc_unref(two);
        pl_doc_unref(three);
        pl_free(changes);
        pl_free(names);
        pl_store_destroy(store);
    }
}

static void on_unmarked(void *arg, struct pl_slice key, struct pl_doc *doc)
{
    REQUIRE(doc != NULL);
    pl_buf_add_slice(arg, key);
}

TEST(what_a_list_does_not_name_is_found)
{
    struct pl_store *store = pl_store_create();
    struct pl_buf rest = PL_BUF_INIT;
    put(store, "a", 1, "");
    put(store, "b", 2, "");
    for (int round = 0; round < 2; round++) {
        uint32_t list = pl_store_begin_marks(store);
        struct pl_doc *doc = pl_store_mark(store, pl_slice_z("b"), list);
        CHECK_INT(version_of(doc), 2);
        pl_doc_unref(doc);
        CHECK(pl_store_mark(store, pl_slice_z("c"), list) == NULL);
        pl_buf_clear(&rest);
        pl_store_unmarked(store, list, on_unmarked, &rest);
        CHECK_SLICE(pl_buf_slice(&rest), "a");
    }
    uint32_t list = pl_store_begin_marks(store);
    put(store, "c", 3, ""); /* of the list, or newer than it */
    pl_doc_unref(pl_store_mark(store, pl_slice_z("a"), list));
    pl_buf_clear(&rest);
    pl_store_unmarked(store, list, on_unmarked, &rest);
    CHECK_SLICE(pl_buf_slice(&rest), "b");
    pl_buf_deinit(&rest);
    pl_store_destroy(store);
}

TEST(two_lists_of_different_keys_are_compared_at_the_same_time)
{
    struct pl_store *store = pl_store_create();
    struct pl_buf rest = PL_BUF_INIT;
    put(store, "a1", 1, "");
    put(store, "a2", 2, "");
    put(store, "b1", 3, "");
    put(store, "b2", 4, "");
    uint32_t a = pl_store_begin_marks(store);
    pl_doc_unref(pl_store_mark(store, pl_slice_z("a1"), a));
    uint32_t b = pl_store_begin_marks(store);
    pl_doc_unref(pl_store_mark(store, pl_slice_z("b2"), b));
    pl_doc_unref(pl_store_mark(store, pl_slice_z("a2"), a));
    pl_store_unmarked(store, a, on_unmarked, &rest); /* only b knows those of b */
    CHECK_SLICE(pl_buf_slice(&rest), "b1");
    pl_buf_clear(&rest);
    pl_store_unmarked(store, b, on_unmarked, &rest);
    CHECK(strstr(pl_buf_z(&rest), "b1") != NULL && strstr(pl_buf_z(&rest), "b2") == NULL);
    pl_buf_deinit(&rest);
    pl_store_destroy(store);
}

TEST(the_version_is_what_was_set_last)
{
    struct pl_store *store = pl_store_create();
    struct pl_buf rv = PL_BUF_INIT;
    pl_store_rv(store, &rv);
    CHECK_STR(pl_buf_z(&rv), "");
    pl_store_set_rv(store, pl_slice_z("120"));
    pl_store_set_rv(store, pl_slice_z("99"));
    pl_store_rv(store, &rv);
    CHECK_STR(pl_buf_z(&rv), "99");
    pl_buf_deinit(&rv);
    pl_store_destroy(store);
}

/* Each index set must be exactly what a scan over the model says. */
TEST(agrees_with_a_model_over_random_changes)
{
    enum { KEYS = 40, ROUNDS = 8000 };
    static const char *const choices[] = {"", "a", "b", "ab", "ba", "abc", "cde", "e", "aab"};
    const char *model[KEYS] = {0};
    struct pl_rand rand;
    pl_rand_seed(&rand, 30);
    struct pl_store *store = pl_store_create();
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t draw = pl_rand_u64(&rand);
        int i = (int)(draw % KEYS);
        char key[16];
        snprintf(key, sizeof(key), "k%02d", i);
        if ((draw >> 32) % 3 == 0) {
            pl_doc_unref(pl_store_remove(store, pl_slice_z(key)));
            model[i] = NULL;
        } else {
            model[i] = choices[(draw >> 40) % PL_ARRAY_LEN(choices)];
            put(store, key, round, model[i]);
        }
        char tag[2] = {(char)('a' + (draw >> 48) % 5), '\0'}, want[1024] = "";
        for (int k = 0; k < KEYS; k++)
            if (model[k] != NULL && strchr(model[k], tag[0]) != NULL)
                snprintf(want + strlen(want), sizeof(want) - strlen(want), "%sk%02d",
                         want[0] ? " " : "", k);
        CHECK_STR(keys_under(store, "tags", tag), want);
    }
    pl_store_destroy(store);
}

/* Puts, removes, replaces all; keys and tags by the draw. */
static void change(struct pl_store *store, uint64_t draw)
{
    static const char *const choices[] = {"", "a", "ab", "bc", "c", "cab"};
    char key[16];
    snprintf(key, sizeof(key), "k%03d", (int)(draw % 300));
    const char *tags = choices[(draw >> 16) % PL_ARRAY_LEN(choices)];
    if ((draw >> 32) % 50 == 0) {
        struct pl_doc *doc = tagged(1, tags);
        struct pl_store_item items[] = {{pl_slice_z("k001"), doc}, {pl_slice_z(key), doc}};
        pl_store_replace(store, items, PL_ARRAY_LEN(items));
        pl_doc_unref(doc);
    } else if ((draw >> 32) % 3 == 0) {
        pl_doc_unref(pl_store_remove(store, pl_slice_z(key)));
    } else {
        put(store, key, 1, tags);
    }
}

static void check_alike(struct pl_store *store, const char *one, const char *other)
{
    for (const char *tag = "abc"; *tag != '\0'; tag++) {
        char value[] = {*tag, '\0'}, want[1024];
        snprintf(want, sizeof(want), "%s", keys_under(store, one, value));
        CHECK_STR(keys_under(store, other, value), want);
    }
}

TEST(an_index_is_built_in_pieces_while_the_store_changes)
{
    struct pl_rand rand;
    pl_rand_seed(&rand, 31);
    for (int round = 0; round < 200; round++) {
        struct pl_store *store = pl_store_create();
        struct pl_store_walk walk = {0};
        struct pl_docs docs = {0};
        CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
        for (int i = 0; i < 100; i++)
            change(store, pl_rand_u64(&rand));
        CHECK_INT(pl_store_begin_index(store, "late", &tag_ops, NULL, NULL), 0);
        CHECK_INT(pl_store_begin_index(store, "late", &tag_ops, NULL, NULL), PL_EEXIST);
        CHECK_INT(pl_store_by_index(store, "late", pl_slice_z("a"), 0, &docs), PL_EAGAIN);
        while (pl_store_build_index(store, "late", &walk, 5))
            change(store, pl_rand_u64(&rand));
        check_alike(store, "tags", "late");
        for (int i = 0; i < 20; i++)
            change(store, pl_rand_u64(&rand));
        check_alike(store, "tags", "late");
        pl_store_destroy(store);
    }
}

TEST(an_index_that_was_dropped_is_not_built_any_more)
{
    struct pl_store *store = pl_store_create();
    struct pl_store_walk walk = {0};
    put(store, "a", 1, "a");
    put(store, "b", 1, "a");
    CHECK_INT(pl_store_begin_index(store, "late", &tag_ops, NULL, NULL), 0);
    CHECK(pl_store_build_index(store, "late", &walk, 1));
    pl_store_drop_index(store, "late");
    CHECK(!pl_store_build_index(store, "late", &walk, 1));
    CHECK(!pl_store_has_index(store, "late"));
    pl_store_destroy(store);
}

/* Marks the keys that a walk brings; returns whether it goes on. */
static bool walk_on(struct pl_store *store, struct pl_store_walk *walk, bool *seen)
{
    struct pl_docs docs = {0};
    bool more = pl_store_walk(store, walk, 7, &docs);
    for (size_t i = 0; i < docs.count; i++)
        seen[version_of(docs.items[i])] = true;
    pl_docs_deinit(&docs);
    return more;
}

static void put_numbered(struct pl_store *store, int number)
{
    char key[16];
    snprintf(key, sizeof(key), "k%d", number);
    put(store, key, number, "");
}

TEST(a_walk_comes_by_each_object_once)
{
    for (int keys = 0; keys < 200; keys++) {
        struct pl_store *store = pl_store_create();
        struct pl_store_walk walk = {0};
        struct pl_docs docs = {0};
        for (int i = 0; i < keys; i++)
            put_numbered(store, i);
        CHECK(!pl_store_walk(store, &walk, SIZE_MAX, &docs));
        CHECK_INT(docs.count, keys);
        pl_docs_deinit(&docs);
        pl_store_destroy(store);
    }
}

TEST(a_walk_misses_nothing_that_stays)
{
    enum { KEYS = 400, ROUNDS = 60 };
    struct pl_rand rand;
    pl_rand_seed(&rand, 5);
    for (int round = 0; round < ROUNDS; round++) {
        struct pl_store *store = pl_store_create();
        struct pl_store_walk walk = {0};
        bool seen[2 * KEYS] = {0}, stays[2 * KEYS] = {0};
        for (int i = 0; i < KEYS; i++) {
            put_numbered(store, i);
            stays[i] = true;
        }
        while (walk_on(store, &walk, seen)) {
            uint64_t draw = pl_rand_u64(&rand);
            int gone = (int)(draw % KEYS);
            char key[16];
            snprintf(key, sizeof(key), "k%d", gone);
            pl_doc_unref(pl_store_remove(store, pl_slice_z(key)));
            stays[gone] = false;
            if (round % 3 == 0)
                put_numbered(store, KEYS + (int)((draw >> 32) % KEYS));
        }
        for (int i = 0; i < KEYS; i++)
            CHECK(seen[i] || !stays[i]);
        pl_store_destroy(store);
    }
}

static size_t bytes_of_all(struct pl_store *store)
{
    struct pl_docs docs = {0};
    size_t bytes = 0;
    pl_store_list(store, 0, &docs);
    for (size_t i = 0; i < docs.count; i++)
        bytes += pl_doc_bytes(docs.items[i]);
    pl_docs_deinit(&docs);
    return bytes;
}

TEST(bytes_are_those_of_what_is_stored_after_every_kind_of_change)
{
    struct pl_store *store = pl_store_create();
    CHECK_INT(pl_store_add_index(store, "tags", &tag_ops, NULL, NULL), 0);
    put(store, "a", 1, "x");
    put(store, "b", 100000, "xyz");
    CHECK(pl_store_bytes(store) > 0);
    CHECK_INT(pl_store_bytes(store), bytes_of_all(store));
    put(store, "a", 2, "xyzw"); /* other values */
    put(store, "b", 3, "xyz");  /* the same values */
    CHECK_INT(pl_store_bytes(store), bytes_of_all(store));
    struct pl_doc *c = tagged(100000, "abcdef");
    struct pl_store_change changes[] = {{.key = pl_slice_z("c"), .doc = c},
                                        {.key = pl_slice_z("a"), .doc = NULL}};
    pl_store_apply(store, changes, 2);
    pl_doc_unref(changes[1].old);
    CHECK_INT(pl_store_bytes(store), bytes_of_all(store));
    struct pl_store_item item = {pl_slice_z("d"), c};
    pl_store_replace(store, &item, 1);
    CHECK_INT(pl_store_bytes(store), bytes_of_all(store));
    pl_doc_unref(pl_store_remove(store, pl_slice_z("d")));
    CHECK_INT(pl_store_bytes(store), 0);
    pl_doc_unref(c);
    pl_store_destroy(store);
}

TEST_MAIN()
