#include "cli/trim_memory.h"

#include "value/doc.h"
#include "value/scan.h"

#include "support/test.h"
#include "support/virtual_clock.h"

#include <malloc.h>
#include <stdlib.h>

struct bed {
    struct virtual_clock clock;
    struct pl_loop *loop;
    struct pl_pool *pool;
    struct pl_trim trim;
    void *last; /* of a heap with much free memory in its middle; NULL: none */
    size_t before_kib;
};

static void begin(struct bed *bed)
{
    *bed = (struct bed){0};
    virtual_clock_init(&bed->clock, PL_SECOND);
    bed->loop = pl_loop_create(&bed->clock.clock);
    bed->pool = pl_pool_create();
    pl_trim_start(&bed->trim, bed->loop, bed->pool);
}

static void end(struct bed *bed)
{
    free(bed->last);
    pl_trim_stop(&bed->trim);
    pl_pool_destroy(bed->pool);
    pl_loop_destroy(bed->loop);
}

static void turns(struct bed *bed, int count)
{
    for (int i = 0; i < count; i++)
        pl_loop_turn(bed->loop, 0);
}

static void turns_and_time(struct bed *bed, int count, int64_t ns)
{
    turns(bed, count);
    bed->clock.now_ns += ns;
}

static bool would_wake(const struct bed *bed)
{
    int64_t due_ns;
    return pl_timers_next(pl_loop_timers(bed->loop), &due_ns);
}

TEST(a_loop_that_rests_is_woken_once_after_its_start)
{
    struct bed bed;
    begin(&bed);
    CHECK(!would_wake(&bed));
    turns(&bed, 1);
    CHECK(would_wake(&bed));
    bed.clock.now_ns += 3 * PL_SECOND;
    turns(&bed, 3);
    CHECK(!would_wake(&bed));
    turns(&bed, 3);
    CHECK(!would_wake(&bed));
    end(&bed);
}

TEST(a_loop_that_worked_is_woken_once)
{
    struct bed bed;
    begin(&bed);
    turns(&bed, 100);
    CHECK(would_wake(&bed));
    bed.clock.now_ns += 3 * PL_SECOND;
    turns(&bed, 3);
    CHECK(!would_wake(&bed));
    turns(&bed, 100);
    CHECK(would_wake(&bed));
    end(&bed);
    pl_trim_stop(&(struct pl_trim){0}); /* never started */
}

struct memory {
    unsigned long total, resident, of_files; /* pages of 4 KiB */
};

static struct memory memory(void)
{
    struct memory now;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file != NULL);
    REQUIRE(fscanf(file, "%lu %lu %lu", &now.total, &now.resident, &now.of_files) == 3);
    fclose(file);
    return now;
}

static size_t resident_kib(void)
{
    return memory().resident * 4;
}

TEST(code_that_is_not_in_use_is_unmapped)
{
    struct bed bed;
    begin(&bed);
    unsigned long at_start = memory().of_files;
    turns(&bed, 1);
    bed.clock.now_ns += 3 * PL_SECOND;
    turns(&bed, 1);
    CHECK(memory().of_files < at_start - at_start / 4);
    end(&bed);
}

TEST(code_stays_mapped_while_the_loop_works)
{
    struct bed bed;
    begin(&bed);
    unsigned long at_start = memory().of_files;
    for (int seconds = 0; seconds < 8; seconds += 2)
        turns_and_time(&bed, 100, 2 * PL_SECOND);
    CHECK(memory().of_files >= at_start);
    end(&bed);
}

/* With a heap that has much free memory in its middle. */
static void begin_with_holes(struct bed *bed)
{
    enum { COUNT = 40000, SIZE = 1000 };
    static void *blocks[COUNT];
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    begin(bed);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = memset(malloc(SIZE), 1, SIZE);
    for (int i = 0; i + 1 < COUNT; i++)
        free(blocks[i]);
    bed->last = blocks[COUNT - 1];
    bed->before_kib = resident_kib();
}

static bool was_given_back(const struct bed *bed)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    return resident_kib() + 20000 < bed->before_kib;
#else /* they keep freed memory, so only errors would be seen */
    PL_UNUSED(bed);
    return true;
#endif
}

TEST(what_was_freed_in_the_middle_of_the_heap_goes_back)
{
    struct bed bed;
    begin_with_holes(&bed);
    turns_and_time(&bed, 100, 3 * PL_SECOND);
    turns(&bed, 3);
    CHECK(was_given_back(&bed));
    end(&bed);
}

TEST(while_there_is_much_to_do_it_goes_back_later)
{
    struct bed bed;
    begin_with_holes(&bed);
    for (int seconds = 0; seconds < 28; seconds += 2)
        turns_and_time(&bed, 400, 2 * PL_SECOND);
    CHECK(resident_kib() + 1000 > bed.before_kib);
    for (int seconds = 28; seconds < 32; seconds += 2)
        turns_and_time(&bed, 400, 2 * PL_SECOND);
    turns(&bed, 1);
    CHECK(was_given_back(&bed));
    end(&bed);
}

TEST(it_goes_back_as_soon_as_there_is_less_to_do)
{
    struct bed bed;
    begin_with_holes(&bed);
    turns_and_time(&bed, 400, 2 * PL_SECOND);
    turns_and_time(&bed, 3, 2 * PL_SECOND); /* put off */
    turns(&bed, 3);
    CHECK(was_given_back(&bed));
    CHECK(!would_wake(&bed));
    end(&bed);
}

static struct pl_doc *object(struct pl_pool *pool, int i)
{
    char json[1200];
    struct pl_err err;
    snprintf(json, sizeof(json), "{\"metadata\":{\"uid\":\"%d\"},\"data\":\"%01000d\"}", i, i);
    struct pl_doc *doc =
        pl_scan_text(pl_slice_z(json), &(struct pl_scan_options){.pool = pool}, &err);
    REQUIRE(doc != NULL);
    return doc;
}

TEST(little_that_the_pool_has_freed_goes_back_once_there_is_time)
{
    enum { COUNT = 30000, FREED = COUNT / 10 }; /* less than malloc returns by itself */
    static struct pl_doc *docs[COUNT];
    struct bed bed;
    begin(&bed);
    for (int i = 0; i < COUNT; i++)
        docs[i] = object(bed.pool, i);
    for (int i = 0; i < FREED; i++)
        pl_doc_unref(docs[i]);
    CHECK(!pl_pool_collect(bed.pool));
    size_t before = resident_kib();
    turns(&bed, 100);
    bed.clock.now_ns += 3 * PL_SECOND;
    turns(&bed, 3);
    while (pl_pool_collect(bed.pool))
        ;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    CHECK(resident_kib() + FREED / 2 < before);
#else
    PL_UNUSED(before);
#endif
    for (int i = FREED; i < COUNT; i++)
        pl_doc_unref(docs[i]);
    end(&bed);
}

TEST_MAIN()
