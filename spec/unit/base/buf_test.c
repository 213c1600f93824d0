#include "base/buf.h"

#include "base/alloc.h"
#include "support/test.h"

#include <stdio.h>

TEST(an_untouched_buffer_reads_as_the_empty_text)
{
    struct pl_buf buf = PL_BUF_INIT;
    CHECK_STR(pl_buf_z(&buf), "");
    CHECK_INT(pl_buf_slice(&buf).len, 0);
    char *taken = pl_buf_take(&buf);
    CHECK_STR(taken, "");
    pl_free(taken);
    pl_buf_deinit(&buf);
}

TEST(everything_added_comes_out_in_order_and_terminated)
{
    struct pl_buf buf = PL_BUF_INIT;
    pl_buf_add(&buf, "ab", 2);
    pl_buf_add_char(&buf, 'c');
    pl_buf_add_z(&buf, "de");
    pl_buf_add_slice(&buf, pl_slice("fgh", 2));
    pl_buf_add_f(&buf, "-%d-%s", 42, "x");
    CHECK_STR(pl_buf_z(&buf), "abcdefg-42-x");
    CHECK_INT(buf.len, 12);
    pl_buf_deinit(&buf);
}

TEST(grows_over_many_sizes_without_losing_a_byte)
{
    struct pl_buf buf = PL_BUF_INIT;
    for (int i = 0; i < 10000; i++)
        pl_buf_add_f(&buf, "%c", 'a' + i % 26);
    REQUIRE(buf.len == 10000);
    for (int i = 0; i < 10000; i++)
        CHECK(buf.ptr[i] == 'a' + i % 26);
    CHECK(buf.ptr[10000] == '\0');
    pl_buf_deinit(&buf);
}

TEST(long_formats_fit)
{
    struct pl_buf buf = PL_BUF_INIT;
    pl_buf_add_f(&buf, "%0500d", 7);
    CHECK_INT(buf.len, 500);
    CHECK(buf.ptr[499] == '7' && buf.ptr[0] == '0');
    pl_buf_deinit(&buf);
}

/* Formats texts of each length with each amount of room after the last text. */
TEST(formats_fit_into_any_room)
{
    char want[256] = "";
    for (int before = 0; before < 80; before++)
        for (int width = 1; width < 80; width++) {
            struct pl_buf buf = PL_BUF_INIT;
            snprintf(want, sizeof(want), "%.*s%*d", before,
                     "........................................"
                     "........................................",
                     width, 7);
            pl_buf_add(&buf, want, (size_t)before);
            pl_buf_add_f(&buf, "%*d", width, 7);
            CHECK_STR(pl_buf_z(&buf), want);
            pl_buf_deinit(&buf);
        }
}

TEST(clear_keeps_the_memory_and_drop_front_moves_the_rest)
{
    struct pl_buf buf = PL_BUF_INIT;
    pl_buf_add_z(&buf, "hello world");
    pl_buf_drop_front(&buf, 6);
    CHECK_STR(pl_buf_z(&buf), "world");
    pl_buf_drop_front(&buf, 0);
    CHECK_STR(pl_buf_z(&buf), "world");
    size_t cap = buf.cap;
    pl_buf_clear(&buf);
    CHECK_STR(pl_buf_z(&buf), "");
    CHECK_INT(buf.cap, cap);
    pl_buf_deinit(&buf);
}

TEST(bytes_with_nul_are_bytes)
{
    struct pl_buf buf = PL_BUF_INIT;
    pl_buf_add(&buf, "a\0b", 3);
    CHECK_INT(buf.len, 3);
    CHECK(pl_slice_eq(pl_buf_slice(&buf), pl_slice("a\0b", 3)));
    pl_buf_deinit(&buf);
}

TEST_MAIN()
