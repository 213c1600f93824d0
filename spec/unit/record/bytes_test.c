/* Numbers and texts of a record, and malformed ones. */
#include "record/bytes.h"

#include "support/test.h"

TEST(numbers_and_texts_are_read_as_they_were_put)
{
    static const uint64_t numbers[] = {0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX};
    struct pl_buf buf = PL_BUF_INIT;
    for (size_t i = 0; i < PL_ARRAY_LEN(numbers); i++)
        pl_bytes_put_int(&buf, numbers[i]);
    pl_bytes_put_text(&buf, pl_slice_z("text"));
    pl_bytes_put_text(&buf, pl_slice("", 0));
    struct pl_bytes from = pl_bytes_of(pl_buf_slice(&buf));
    for (size_t i = 0; i < PL_ARRAY_LEN(numbers); i++)
        CHECK(pl_bytes_int(&from) == numbers[i]);
    CHECK(pl_slice_eqz(pl_bytes_text(&from), "text"));
    CHECK(pl_bytes_text(&from).len == 0);
    CHECK(pl_bytes_is_over(&from));
    CHECK(!from.bad);
    pl_buf_deinit(&buf);
}

TEST(what_is_cut_or_too_long_is_bad_and_stays_so)
{
    struct pl_bytes from = pl_bytes_of(pl_slice("\x05"
                                                "abc",
                                                4));
    CHECK(pl_bytes_text(&from).len == 0);
    CHECK(from.bad);
    CHECK(pl_bytes_int(&from) == 0);
    from = pl_bytes_of(pl_slice("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11));
    pl_bytes_int(&from);
    CHECK(from.bad);
    from = pl_bytes_of(pl_slice("", 0));
    CHECK(pl_bytes_char(&from) == '\0');
    CHECK(from.bad);
}

TEST_MAIN()
