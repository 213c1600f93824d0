/* Indices that lists by label have asked for. */
#include "sync/label_index.h"

#include "base/timer.h"
#include "store/store.h"
#include "support/test.h"
#include "support/virtual_clock.h"
#include "value/scan.h"

enum { COUNT = 3000 };

/* Each reading of the clock advances it by a millisecond, so that a turn ends soon. */
struct bed {
    struct virtual_clock clock;
    struct pl_timers timers;
    struct pl_store *store;
    struct pl_label_indexes *indexes;
};

static int64_t passing(void *arg)
{
    return ((struct virtual_clock *)arg)->now_ns += PL_MS;
}

static void put(struct pl_store *store, int i, const char *app)
{
    char text[256], key[16];
    snprintf(key, sizeof key, "k%d", i);
    int len =
        snprintf(text, sizeof text,
                 "{\"metadata\":{\"labels\":{\"all\":\"1\",\"app\":\"%s\",\"odd\":%d}}}", app, i);
    struct pl_doc *doc =
        pl_scan_text(pl_slice(text, (size_t)len), &(struct pl_scan_options){0}, NULL);
    REQUIRE(doc != NULL);
    pl_doc_unref(pl_store_put(store, pl_slice_z(key), doc));
    pl_doc_unref(doc);
}

static void begin(struct bed *bed)
{
    virtual_clock_init(&bed->clock, 0);
    bed->clock.clock = (struct pl_clock){passing, passing, passing, &bed->clock};
    pl_timers_init(&bed->timers, &bed->clock.clock);
    bed->store = pl_store_create();
    bed->indexes = pl_label_indexes_create(bed->store, &bed->timers, "v1/Pod");
    for (int i = 0; i < COUNT; i++) {
        char app[16];
        snprintf(app, sizeof app, "a%d", i % 30);
        put(bed->store, i, app);
    }
}

static void finish(struct bed *bed)
{
    pl_label_indexes_destroy(bed->indexes);
    pl_store_destroy(bed->store);
    pl_timers_deinit(&bed->timers);
}

static void want(struct bed *bed, const char *key, const char *value)
{
    pl_label_indexes_want(bed->indexes, pl_slice_z(key), pl_slice_z(value));
}

/* Turns until nothing is left to do. */
static int turns(struct bed *bed)
{
    int count = 0;
    int64_t due;
    for (; pl_timers_next(&bed->timers, &due); count++) {
        CHECK(due <= bed->clock.now_ns);
        pl_timers_run(&bed->timers);
    }
    return count;
}

/* The number of objects under the value; less than 0: the error. */
static int under(struct bed *bed, const char *index, const char *value)
{
    struct pl_docs docs = {0};
    int code = pl_store_by_index(bed->store, index, pl_slice_z(value), 0, &docs);
    int count = (int)docs.count;
    pl_docs_deinit(&docs);
    return code == 0 ? count : -code;
}

TEST(a_rare_label_gets_an_index_that_is_built_in_turns)
{
    struct bed bed;
    begin(&bed);
    want(&bed, "app", "a7");
    CHECK_INT(under(&bed, "label:app", "a7"), -PL_EAGAIN);
    CHECK(turns(&bed) > 3);
    CHECK_INT(under(&bed, "label:app", "a7"), COUNT / 30);
    put(bed.store, 8, "a7");
    put(bed.store, COUNT, "a7");
    CHECK_INT(under(&bed, "label:app", "a7"), COUNT / 30 + 2);
    CHECK_INT(under(&bed, "label:app", "a8"), COUNT / 30 - 1);
    finish(&bed);
}

TEST(a_label_without_a_value_has_its_place_as_well)
{
    struct bed bed;
    begin(&bed);
    put(bed.store, 8, "");
    want(&bed, "app", "");
    turns(&bed);
    put(bed.store, 9, "");
    CHECK_INT(under(&bed, "label:app", ""), 2);
    finish(&bed);
}

TEST(a_common_label_gets_none)
{
    struct bed bed;
    begin(&bed);
    want(&bed, "all", "1");
    CHECK_INT(turns(&bed), 0);
    CHECK_INT(under(&bed, "label:all", "1"), -PL_ENOTFOUND);
    finish(&bed);
}

TEST(what_is_no_text_is_no_label)
{
    struct bed bed;
    begin(&bed);
    want(&bed, "odd", "1");
    turns(&bed);
    CHECK_INT(under(&bed, "label:odd", "1"), 0);
    finish(&bed);
}

TEST(there_are_eight_at_most_one_for_a_label)
{
    struct bed bed;
    char label[] = "label:x0";
    begin(&bed);
    for (int i = 0; i < 9; i++) {
        label[7] = (char)('0' + i);
        want(&bed, label + 6, "v");
        want(&bed, label + 6, "w");
    }
    turns(&bed);
    for (int i = 0; i < 9; i++) {
        label[7] = (char)('0' + i);
        CHECK_INT(under(&bed, label, "v"), i < 8 ? 0 : -PL_ENOTFOUND);
    }
    finish(&bed);
}

TEST(who_stops_builds_no_further)
{
    struct bed bed;
    begin(&bed);
    want(&bed, "app", "a7");
    pl_timers_run(&bed.timers);
    pl_label_indexes_destroy(bed.indexes);
    bed.indexes = NULL;
    CHECK_INT(turns(&bed), 0);
    CHECK_INT(under(&bed, "label:app", "a7"), -PL_EAGAIN);
    finish(&bed);
}

TEST_MAIN()
