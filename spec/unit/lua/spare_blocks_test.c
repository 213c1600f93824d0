#include "lua/spare_blocks.h"

#include "support/test.h"

#include <stdlib.h>

static size_t given_back;

static void *count_back(void *data, void *block, size_t old_size, size_t new_size)
{
    (void)data;
    CHECK(new_size == 0);
    given_back += old_size;
    free(block);
    return NULL;
}

TEST(a_block_that_was_given_back_is_the_next_one_of_its_size)
{
    struct pl_spares spares = {.bytes = 0};
    void *small = malloc(24), *large = malloc(64);
    CHECK(pl_spares_keep(&spares, small, 24));
    CHECK(pl_spares_keep(&spares, large, 64));
    CHECK(pl_spares_take(&spares, 32) == NULL);
    CHECK(pl_spares_take(&spares, 64) == large);
    CHECK(pl_spares_take(&spares, 64) == NULL);
    CHECK(pl_spares_take(&spares, 24) == small);
    CHECK_INT(spares.bytes, 0);
    free(small);
    free(large);
}

TEST(large_blocks_and_odd_sizes_are_not_kept)
{
    struct pl_spares spares = {.bytes = 0};
    char block[8];
    CHECK(!pl_spares_keep(&spares, block, PL_SPARE_BLOCK + 8));
    CHECK(!pl_spares_keep(&spares, block, 12));
    CHECK(!pl_spares_keep(&spares, block, 0));
    CHECK(pl_spares_take(&spares, 0) == NULL);
    CHECK_INT(spares.bytes, 0);
}

TEST(no_more_than_so_many_bytes_are_kept_and_all_can_be_given_back)
{
    struct pl_spares spares = {.bytes = 0};
    void *block = malloc(PL_SPARE_BLOCK);
    while (pl_spares_keep(&spares, block, PL_SPARE_BLOCK))
        block = malloc(PL_SPARE_BLOCK);
    free(block);
    CHECK_INT(spares.bytes, PL_SPARE_BYTES);
    given_back = 0;
    pl_spares_drop(&spares, count_back, NULL);
    CHECK_INT(spares.bytes, 0);
    CHECK_INT(given_back, PL_SPARE_BYTES);
    CHECK(pl_spares_take(&spares, PL_SPARE_BLOCK) == NULL);
}

TEST_MAIN()
