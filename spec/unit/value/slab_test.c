#include "value/slab.h"

#include "base/alloc.h"
#include "base/rand.h"

#include "support/test.h"

#include <sys/mman.h>

struct block {
    uint8_t *at;
    size_t size;
    uint8_t fill;
};

static bool is_whole(const struct block *block)
{
    for (size_t i = 0; i < block->size; i++) {
        if (block->at[i] != block->fill)
            return false;
    }
    return true;
}

TEST(blocks_of_every_size_keep_what_is_in_them)
{
    enum { KEPT = 1000, ROUNDS = 30000 };
    struct slab slab;
    struct pl_rand rand;
    static struct block blocks[KEPT];
    pl_slab_init(&slab, (size_t)1 << 30);
    pl_rand_seed(&rand, 3);
    for (int round = 0; round < ROUNDS; round++) {
        struct block *block = &blocks[pl_rand_u64(&rand) % KEPT];
        if (block->at != NULL) {
            CHECK(is_whole(block));
            pl_slab_free(&slab, block->at, block->size);
        }
        size_t most = round % 50 == 0 ? 300000 : round % 5 == 0 ? 20000 : 600;
        block->size = 1 + pl_rand_u64(&rand) % most;
        block->at = pl_slab_alloc(&slab, block->size);
        block->fill = (uint8_t)round;
        REQUIRE(block->at != NULL);
        CHECK_INT((uintptr_t)block->at % SLAB_GRANULE, 0);
        memset(block->at, block->fill, block->size);
        if (round % 10 == 0)
            pl_slab_release(&slab);
    }
    for (size_t i = 0; i < KEPT; i++) {
        if (blocks[i].at != NULL) {
            CHECK(is_whole(&blocks[i]));
            pl_slab_free(&slab, blocks[i].at, blocks[i].size);
        }
    }
    CHECK_INT(slab.live_bytes, 0);
    CHECK_INT(slab.run_count, 1);
    pl_slab_deinit(&slab);
}

TEST(sizes_are_rounded_up_by_little)
{
    struct slab slab;
    pl_slab_init(&slab, (size_t)1 << 30);
    for (size_t size = 1; size <= SLAB_SMALL; size++) {
        void *block = pl_slab_alloc(&slab, size);
        size_t got = slab.live_bytes;
        CHECK(got >= size && got < size + 16 + size / 8);
        pl_slab_free(&slab, block, size);
    }
    pl_slab_deinit(&slab);
}

TEST(a_full_stretch_gives_no_block_but_still_takes_some_back)
{
    struct slab slab;
    pl_slab_init(&slab, (size_t)1 << 20);
    void *blocks[32];
    int count = 0;
    while (count < 32 && (blocks[count] = pl_slab_alloc(&slab, SLAB_SPAN)) != NULL)
        count++;
    CHECK_INT(count, (1 << 20) / SLAB_SPAN);
    CHECK(pl_slab_alloc(&slab, 100) == NULL);
    CHECK(pl_slab_alloc(&slab, (size_t)1 << 40) == NULL);
    pl_slab_free(&slab, blocks[3], SLAB_SPAN);
    CHECK(pl_slab_alloc(&slab, 100) == slab.base + 3 * SLAB_SPAN);
    pl_slab_deinit(&slab);
}

static size_t resident(const struct slab *slab)
{
    size_t pages = (size_t)slab->used * SLAB_SPAN / 4096, count = 0;
    unsigned char *in = pl_malloc(pages);
    REQUIRE(mincore(slab->base, pages * 4096, in) == 0);
    for (size_t i = 0; i < pages; i++)
        count += in[i] & 1;
    pl_free(in);
    return count * 4096;
}

TEST(pages_without_blocks_are_given_back)
{
    enum { COUNT = 20000, SIZE = 700 };
    struct slab slab;
    pl_slab_init(&slab, (size_t)1 << 30);
    static uint8_t *blocks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = pl_slab_alloc(&slab, SIZE);
        memset(blocks[i], 1, SIZE);
    }
    size_t full = resident(&slab);
    CHECK(full >= (size_t)COUNT * SIZE);
    /* Neighbours are freed together, like the objects of a namespace: all except every tenth
     * hundred. */
    for (int i = 0; i < COUNT; i++) {
        if (i / 100 % 10 != 0)
            pl_slab_free(&slab, blocks[i], SIZE);
    }
    for (int i = 0; i < 100; i++)
        pl_slab_release(&slab);
    CHECK(resident(&slab) < full / 8);
    for (int i = 0; i < COUNT; i++) {
        if (i / 100 % 10 == 0)
            CHECK(blocks[i][0] == 1 && blocks[i][SIZE - 1] == 1);
    }
    pl_slab_deinit(&slab);
}

TEST(little_that_was_freed_is_given_back_at_rest)
{
    enum { COUNT = 40000, SIZE = 700, FREED = COUNT / 10 };
    struct slab slab;
    pl_slab_init(&slab, (size_t)1 << 30);
    static uint8_t *blocks[COUNT];
    for (int i = 0; i < COUNT; i++)
        blocks[i] = memset(pl_slab_alloc(&slab, SIZE), 1, SIZE);
    size_t full = resident(&slab);
    for (int i = 0; i < FREED; i++)
        pl_slab_free(&slab, blocks[i], SIZE);
    for (int i = 0; i < 100; i++)
        pl_slab_release(&slab);
    CHECK(resident(&slab) == full);
    pl_slab_rest(&slab);
    while (pl_slab_is_releasing(&slab))
        pl_slab_release(&slab);
    CHECK(resident(&slab) + (size_t)FREED * SIZE * 9 / 10 < full);
    pl_slab_rest(&slab); /* and then there is nothing to do */
    CHECK(!pl_slab_is_releasing(&slab));
    pl_slab_deinit(&slab);
}

TEST(only_blocks_in_sparse_spans_are_worth_moving)
{
    enum { COUNT = 10000, SIZE = 500 };
    struct slab slab;
    pl_slab_init(&slab, (size_t)1 << 30);
    static uint8_t *blocks[COUNT];
    for (int i = 0; i < COUNT; i++)
        blocks[i] = pl_slab_alloc(&slab, SIZE);
    CHECK(!pl_slab_drain(&slab, blocks[0], SIZE));
    for (int i = 0; i < COUNT; i++) {
        if (i % 20 != 0)
            pl_slab_free(&slab, blocks[i], SIZE);
    }
    int moved = 0;
    for (int i = 0; i < COUNT; i += 20) {
        if (!pl_slab_drain(&slab, blocks[i], SIZE))
            continue;
        uint8_t *to = pl_slab_alloc(&slab, SIZE);
        pl_slab_free(&slab, blocks[i], SIZE);
        blocks[i] = to;
        moved++;
    }
    CHECK(moved > COUNT / 20 / 2);
    size_t least = (size_t)COUNT / 20 * SIZE / SLAB_SPAN + 1;
    uint32_t spans = 0;
    for (int i = 0; i < SLAB_CLASSES; i++)
        spans += slab.classes[i].spans;
    CHECK(spans <= 3 * least);
    pl_slab_deinit(&slab);
}

TEST_MAIN()
