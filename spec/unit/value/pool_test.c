#include "value/build.h"
#include "value/pool_node.h"
#include "value/scan.h"
#include "value/write.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/rand.h"

#include "support/test.h"

#include <pthread.h>
#include <stdatomic.h>

/* The pool's memory of what was seen is lossy: with one seed in a hundred, a value is shared later
 * than the tests expect (value/filter.c). */
static struct pl_pool *pool_with_seed(void)
{
    struct pl_pool *pool = pl_pool_create();
    pool->seed = 1;
    return pool;
}

static struct pl_doc *pooled(struct pl_pool *pool, const char *json)
{
    struct pl_scan_options options = {.pool = pool};
    struct pl_err err;
    struct pl_doc *doc = pl_scan_text(pl_slice_z(json), &options, &err);
    if (doc == NULL)
        TEST_FAIL("%s: %s", json, err.message);
    return doc;
}

/* An object with a unique uid that shares its spec with the others of the `group`. */
static struct pl_doc *object(struct pl_pool *pool, int uid, int group)
{
    char json[1024];
    snprintf(
        json, sizeof(json),
        "{\"kind\":\"Thing\",\"metadata\":{\"name\":\"thing-%d\",\"namespace\":\"default\","
        "\"uid\":\"%08x-7c0e-4b52-8a5e-0f1d1f2a3b4c\"},\"spec\":{\"image\":"
        "\"registry.example.com/group-%d:v1\",\"args\":[\"--first=%d\",\"--second\",{\"k\":1}],"
        "\"replicas\":%d}}",
        uid, (unsigned)uid, group, group, group);
    return pooled(pool, json);
}

static struct pl_pool_stats stats_of(struct pl_pool *pool)
{
    struct pl_pool_stats stats;
    pl_pool_stats(pool, &stats);
    return stats;
}

static void check_json(struct pl_doc *doc, const char *want)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_write(&out, pl_doc_root(doc), PL_WRITE_COMPACT);
    CHECK_STR(pl_buf_z(&out), want);
    pl_buf_deinit(&out);
}

TEST(a_subtree_that_several_objects_hold_is_one_position)
{
    struct pl_pool *pool = pool_with_seed();
    struct pl_doc *docs[4];
    for (int i = 0; i < 4; i++)
        docs[i] = object(pool, i, 7);
    struct pl_node third = pl_node_getz(pl_doc_root(docs[2]), "spec");
    struct pl_node fourth = pl_node_getz(pl_doc_root(docs[3]), "spec");
    CHECK(pl_node_is_same(third, fourth));
    CHECK(pl_node_equal(third, pl_node_getz(pl_doc_root(docs[0]), "spec")));
    CHECK(!pl_node_equal(pl_doc_root(docs[2]), pl_doc_root(docs[3])));
    CHECK(pl_doc_bytes(docs[3]) < pl_doc_bytes(docs[0]));
    for (int i = 0; i < 4; i++)
        pl_doc_unref(docs[i]);
    CHECK_INT(stats_of(pool).documents, 0);
    CHECK_INT(stats_of(pool).document_bytes, 0);
    CHECK_INT(stats_of(pool).nodes, 0);
    CHECK_INT(stats_of(pool).node_bytes, 0);
    pl_pool_destroy(pool);
}

TEST(updates_of_one_object_do_not_fill_the_pool)
{
    struct pl_pool *pool = pool_with_seed();
    struct pl_doc *doc = NULL;
    for (int i = 0; i < 100; i++) {
        struct pl_doc *next = object(pool, 5, 5);
        pl_doc_unref(doc);
        doc = next;
    }
    CHECK_INT(stats_of(pool).nodes, 0);
    pl_doc_unref(doc);
    pl_pool_destroy(pool);
}

TEST(values_before_the_uid_are_shared_a_sight_later)
{
    struct pl_pool *pool = pool_with_seed();
    struct pl_doc *docs[6];
    char json[200];
    for (int i = 0; i < 6; i++) {
        snprintf(json, sizeof(json),
                 "{\"data\":{\"ca.crt\":\"-----BEGIN CERTIFICATE-----\"},\"metadata\":{\"uid\":"
                 "\"%08x-7c0e-4b52-8a5e-0f1d1f2a3b4c\"}}",
                 (unsigned)i);
        docs[i] = pooled(pool, json);
        check_json(docs[i], json);
    }
    CHECK(pl_node_is_same(pl_node_getz(pl_doc_root(docs[4]), "data"),
                          pl_node_getz(pl_doc_root(docs[5]), "data")));
    for (int i = 0; i < 6; i++)
        pl_doc_unref(docs[i]);
    pl_pool_destroy(pool);
}

TEST(documents_from_builders_share_too)
{
    struct pl_pool *pool = pool_with_seed();
    struct pl_build *b = pl_build_create(pool);
    struct pl_doc *docs[3];
    for (int i = 0; i < 3; i++) {
        pl_build_object(b);
        pl_build_keyz(b, "greeting");
        pl_build_strz(b, "hello, world");
        pl_build_keyz(b, "number");
        pl_build_int(b, i);
        pl_build_end(b);
        docs[i] = pl_build_finish(b);
    }
    CHECK(pl_node_is_same(pl_node_getz(pl_doc_root(docs[1]), "greeting"),
                          pl_node_getz(pl_doc_root(docs[2]), "greeting")));
    check_json(docs[2], "{\"greeting\":\"hello, world\",\"number\":2}");
    struct pl_doc *alone = pl_doc_from_node(pl_doc_root(docs[2]), NULL);
    for (int i = 0; i < 3; i++)
        pl_doc_unref(docs[i]);
    pl_build_destroy(b);
    pl_pool_destroy(pool);
    check_json(alone, "{\"greeting\":\"hello, world\",\"number\":2}");
    pl_doc_unref(alone);
}

static int take_doc(void *arg, struct pl_slice type, struct pl_doc *doc)
{
    PL_UNUSED(type);
    struct pl_doc **slot = arg;
    pl_doc_unref(*slot);
    *slot = doc;
    return 0;
}

TEST(handles_of_a_half_read_document_survive_the_last_other_user)
{
    static const char json[] = "{\"metadata\":{\"uid\":\"%08x-7c0e-4b52-8a5e-0f1d1f2a3b4c\"},"
                               "\"spec\":{\"list\":[\"a long shared string\",{\"k\":\"and another "
                               "one\"}],\"own\":{\"more\":\"a long shared string\"}}}";
    size_t len = strlen(json);
    for (size_t cut = 1; cut < len; cut++) {
        struct pl_pool *pool = pool_with_seed();
        struct pl_doc *others[3], *got = NULL;
        char text[512];
        for (int i = 0; i < 3; i++) {
            snprintf(text, sizeof(text), json, (unsigned)i);
            others[i] = pooled(pool, text);
        }
        snprintf(text, sizeof(text), json, 9u);
        struct pl_scan_options options = {.pool = pool};
        struct pl_scan_sink sink = {.on_doc = take_doc, .arg = &got};
        struct pl_scan *scan = pl_scan_create(PL_SCAN_VALUES, &options, &sink);
        CHECK_INT(pl_scan_feed(scan, pl_slice(text, cut), NULL), 0);
        CHECK_INT(pl_scan_feed(scan, pl_slice(text + cut, 1), NULL), 0);
        for (int i = 0; i < 3; i++)
            pl_doc_unref(others[i]);
        CHECK_INT(pl_scan_feed(scan, pl_slice_z(text + cut + 1), NULL), 0);
        REQUIRE(got != NULL);
        check_json(got, text);
        pl_doc_unref(got);
        /* Documents that are never read completely. */
        CHECK_INT(pl_scan_feed(scan, pl_slice(text, cut), NULL), 0);
        pl_scan_destroy(scan);
        CHECK_INT(stats_of(pool).nodes, 0);
        pl_pool_destroy(pool);
    }
}

TEST(a_failed_scan_leaves_nothing_behind)
{
    struct pl_pool *pool = pool_with_seed();
    struct pl_doc *one = object(pool, 1, 1), *two = object(pool, 2, 1);
    size_t nodes = stats_of(pool).nodes;
    struct pl_scan_options options = {.pool = pool};
    for (int i = 0; i < 3; i++)
        CHECK(
            pl_scan_text(pl_slice_z("{\"metadata\":{\"uid\":\"x\"},\"spec\":{\"list\":[\"something "
                                    "new\",\"something new\"]},}"),
                         &options, NULL) == NULL);
    CHECK_INT(stats_of(pool).nodes, nodes);
    pl_doc_unref(one);
    pl_doc_unref(two);
    pl_pool_destroy(pool);
}

static void *drop(void *arg)
{
    pl_doc_unref(arg);
    return NULL;
}

TEST(a_document_dropped_elsewhere_is_freed_as_the_next_turn_begins)
{
    struct pl_pool *pool = pool_with_seed();
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, drop, object(pool, i, 0)) == 0);
        pthread_join(thread, NULL);
        /* Making the next document also takes the turn, so each sees the state that the one before
         * has left. */
        CHECK_INT(pool->documents, 1);
    }
    CHECK_INT(stats_of(pool).documents, 0);
    CHECK_INT(stats_of(pool).nodes, 0);
    pl_pool_destroy(pool);
}

/* Waits for its turn while the test has it. */
struct waiter {
    struct pl_pool *pool;
    bool had_it; /* in turns of the pool */
};

static void *wait_for_turn(void *arg)
{
    struct waiter *waiter = arg;
    pl_pool_enter(waiter->pool);
    waiter->had_it = true;
    pl_pool_leave(waiter->pool);
    return NULL;
}

TEST(who_waits_comes_next_however_soon_the_turn_is_wanted_again)
{
    struct pl_pool *pool = pool_with_seed();
    struct waiter waiter = {.pool = pool};
    pthread_t thread;
    pl_pool_enter(pool);
    pl_pool_enter(pool); /* once more is no other turn */
    REQUIRE(pthread_create(&thread, NULL, wait_for_turn, &waiter) == 0);
    while (pthread_mutex_trylock(&pool->turn.next) == 0) /* until it stands there */
        pthread_mutex_unlock(&pool->turn.next);
    pl_pool_leave(pool);
    CHECK(!waiter.had_it);
    pl_pool_leave(pool);
    pl_pool_enter(pool);
    CHECK(waiter.had_it);
    pl_pool_leave(pool);
    pthread_join(thread, NULL);
    pl_pool_destroy(pool);
}

/* Several threads make documents of similar objects and free those of other threads. */
enum { MAKERS = 4, MADE = 400 };

struct maker {
    struct pl_pool *pool;
    _Atomic(struct pl_doc *) *slot; /* one for all */
    int number, wrong;
};

static void *make_documents(void *arg)
{
    struct maker *maker = arg;
    for (int i = 0; i < MADE; i++) {
        struct pl_doc *doc = object(maker->pool, maker->number * MADE + i, i % 3);
        struct pl_doc *other = atomic_exchange(maker->slot, doc);
        if (other == NULL)
            continue;
        struct pl_node spec = pl_node_getz(pl_doc_root(other), "spec");
        maker->wrong += pl_node_type(spec) != PL_OBJECT;
        pl_doc_unref(other);
        if (i % 50 == 0)
            pl_pool_collect(maker->pool);
    }
    return NULL;
}

TEST(threads_make_and_drop_documents_in_turns)
{
    struct pl_pool *pool = pool_with_seed();
    _Atomic(struct pl_doc *) slot = NULL;
    struct maker makers[MAKERS];
    pthread_t threads[MAKERS];
    for (int i = 0; i < MAKERS; i++) {
        makers[i] = (struct maker){.pool = pool, .slot = &slot, .number = i};
        REQUIRE(pthread_create(&threads[i], NULL, make_documents, &makers[i]) == 0);
    }
    for (int i = 0; i < MAKERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(makers[i].wrong, 0);
    }
    CHECK_INT(stats_of(pool).documents, 1);
    pl_doc_unref(slot);
    CHECK_INT(stats_of(pool).nodes, 0);
    pl_pool_destroy(pool);
}

/* A reader takes documents from a slot and reads them while the owner goes on adding
 * and freeing. The slot's exchange is all that orders them. */
struct shared {
    _Atomic(struct pl_doc *) slot;
    atomic_bool stop;
    size_t read;
};

static void *read_all(void *arg)
{
    struct shared *shared = arg;
    while (!atomic_load(&shared->stop)) {
        struct pl_doc *doc = atomic_exchange(&shared->slot, NULL);
        if (doc == NULL)
            continue;
        struct pl_buf out = PL_BUF_INIT;
        pl_write(&out, pl_doc_root(doc), PL_WRITE_SORTED);
        shared->read += out.len;
        pl_buf_deinit(&out);
        pl_doc_unref(doc);
    }
    return NULL;
}

TEST(readers_need_no_lock_while_the_owner_adds_and_frees)
{
    struct pl_pool *pool = pool_with_seed();
    struct shared shared = {NULL, false, 0};
    pthread_t reader;
    REQUIRE(pthread_create(&reader, NULL, read_all, &shared) == 0);
    struct pl_doc *kept[64] = {NULL};
    for (int i = 0; i < 20000; i++) {
        struct pl_doc *doc = object(pool, i, i / 50);
        pl_doc_unref(atomic_exchange(&shared.slot, pl_doc_ref(doc)));
        pl_doc_unref(kept[i % 64]);
        kept[i % 64] = doc;
        pl_pool_collect(pool);
    }
    /* Give the reader one that it must take before it is told to stop. */
    while (atomic_load(&shared.slot) != NULL)
        ;
    atomic_store(&shared.stop, true);
    pthread_join(reader, NULL);
    CHECK(shared.read > 0);
    for (int i = 0; i < 64; i++)
        pl_doc_unref(kept[i]);
    pl_pool_collect(pool);
    CHECK_INT(stats_of(pool).nodes, 0);
    pl_pool_destroy(pool);
}

/* Random documents over a small vocabulary, with random lifetimes; each must read back as
 * written. */
static void random_value(struct pl_rand *rand, struct pl_buf *out, int depth)
{
    uint64_t pick = pl_rand_u64(rand) % (depth > 0 ? 8 : 5);
    unsigned word = (unsigned)(pl_rand_u64(rand) % 40);
    uint64_t count = pl_rand_u64(rand) % 5;
    if (pl_rand_u64(rand) % 50 == 0)
        count = 32 + word;
    switch (pick) {
    case 0:
        pl_buf_add_f(out, "%u", 1 + word * 1000);
        break;
    case 1:
        pl_buf_add_f(out, "\"2026-11-21T09:30:%02uZ\"", word);
        break;
    case 2:
        pl_buf_add_f(out, "%u.%u", word, word);
        break;
    case 3:
    case 4:
        pl_buf_add_f(out, "\"a text with the number %u\"", word);
        break;
    case 5:
        pl_buf_add_char(out, '[');
        for (uint64_t i = 0; i < count; i++) {
            pl_buf_add_z(out, i ? "," : "");
            random_value(rand, out, depth - 1);
        }
        pl_buf_add_char(out, ']');
        break;
    default:
        pl_buf_add_char(out, '{');
        for (uint64_t i = 0; i < count; i++) {
            pl_buf_add_f(out, "%s\"k%u\":", i ? "," : "", (unsigned)i + word % 3);
            random_value(rand, out, depth - 1);
        }
        pl_buf_add_char(out, '}');
        break;
    }
}

TEST(random_documents_read_back_whatever_is_shared)
{
    enum { KEPT = 500, ROUNDS = 20000 };
    struct pl_pool *pool = pool_with_seed();
    struct pl_rand rand;
    pl_rand_seed(&rand, 7);
    struct pl_doc *docs[KEPT] = {NULL};
    char *texts[KEPT] = {NULL};
    for (int round = 0; round < ROUNDS; round++) {
        size_t i = pl_rand_u64(&rand) % KEPT;
        if (docs[i] != NULL) {
            check_json(docs[i], texts[i]);
            pl_doc_unref(docs[i]);
            pl_free(texts[i]);
        }
        struct pl_buf json = PL_BUF_INIT;
        random_value(&rand, &json, 4);
        docs[i] = pooled(pool, pl_buf_z(&json));
        texts[i] = pl_buf_take(&json);
        if (round % 100 == 0)
            pl_pool_collect(pool);
        size_t j = pl_rand_u64(&rand) % KEPT;
        if (docs[j] != NULL)
            CHECK(pl_node_equal(pl_doc_root(docs[i]), pl_doc_root(docs[j])) ==
                  (strcmp(texts[i], texts[j]) == 0));
    }
    for (size_t i = 0; i < KEPT; i++) {
        pl_doc_unref(docs[i]);
        pl_free(texts[i]);
    }
    CHECK_INT(stats_of(pool).nodes, 0);
    CHECK_INT(stats_of(pool).node_bytes, 0);
    pl_pool_destroy(pool);
}

TEST(compacting_keeps_values_and_shared_positions)
{
    enum { COUNT = 20000 };
    struct pl_pool *pool = pool_with_seed();
    struct pl_doc **docs = pl_calloc(COUNT, sizeof(struct pl_doc *));
    for (int i = 0; i < COUNT; i++)
        docs[i] = object(pool, i, i / 100);
    CHECK(pl_pool_compact(pool, docs[0]) == NULL); /* lies well */
    for (int i = 0; i < COUNT; i++) {
        if (i % 10 != 3) {
            pl_doc_unref(docs[i]);
            docs[i] = NULL;
        }
    }
    int moved = 0;
    for (int i = 3; i < COUNT; i += 10) {
        struct pl_doc *copy = pl_pool_compact(pool, docs[i]);
        if (copy == NULL)
            continue;
        CHECK(pl_node_is_same(pl_node_getz(pl_doc_root(copy), "spec"),
                              pl_node_getz(pl_doc_root(docs[i]), "spec")) ||
              i % 100 < 3);
        CHECK(pl_node_equal(pl_doc_root(copy), pl_doc_root(docs[i])));
        pl_doc_unref(docs[i]);
        docs[i] = copy;
        moved++;
    }
    CHECK(moved > COUNT / 10 / 2);
    CHECK_INT(stats_of(pool).documents, COUNT / 10);
    for (int i = 0; i < COUNT; i++)
        pl_doc_unref(docs[i]);
    CHECK_INT(stats_of(pool).nodes, 0);
    pl_pool_destroy(pool);
    pl_free(docs);
}

TEST(without_a_pool_documents_share_nothing_and_there_is_nothing_to_collect)
{
    struct pl_doc *doc = pooled(NULL, "{\"name\":\"a name of some length\"}");
    CHECK(doc->base == NULL);
    CHECK(pl_pool_compact(NULL, doc) == NULL);
    CHECK(!pl_pool_collect(NULL));
    pl_doc_unref(doc);
}

TEST_MAIN()
