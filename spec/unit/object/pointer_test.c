#include "object/pointer.h"

#include "support/test.h"

TEST(words_are_taken_one_by_one_and_written_back)
{
    static const char *const pointers[] = {"", "/", "/a", "/a/b", "/a~1b/~0", "//", "/a/0/-"};
    static const int counts[] = {0, 1, 1, 2, 2, 2, 3};
    for (size_t i = 0; i < PL_ARRAY_LEN(pointers); i++) {
        struct pl_slice text = pl_slice_z(pointers[i]);
        struct pl_buf word = PL_BUF_INIT, again = PL_BUF_INIT;
        struct pl_err err;
        int count = 0;
        while (pl_pointer_next(&text, &word, &err) == 1) {
            pl_pointer_add(&again, pl_buf_slice(&word));
            count++;
        }
        CHECK_INT(count, counts[i]);
        CHECK_STR(pl_buf_z(&again), pointers[i]);
        pl_buf_deinit(&word);
        pl_buf_deinit(&again);
    }
}

TEST(what_is_no_pointer_is_an_error)
{
    static const char *const wrong[] = {"a", "/a~", "/a~2", "a/b", "/~/x"};
    for (size_t i = 0; i < PL_ARRAY_LEN(wrong); i++) {
        struct pl_slice text = pl_slice_z(wrong[i]);
        struct pl_buf word = PL_BUF_INIT;
        struct pl_err err;
        int rc;
        while ((rc = pl_pointer_next(&text, &word, &err)) == 1)
            continue;
        CHECK_INT(rc, PL_ESYNTAX);
        pl_buf_deinit(&word);
    }
}

TEST(an_index_is_digits_without_a_zero_in_front)
{
    size_t index;
    CHECK(pl_pointer_index(pl_slice_z("0"), &index) && index == 0);
    CHECK(pl_pointer_index(pl_slice_z("42"), &index) && index == 42);
    CHECK(!pl_pointer_index(pl_slice_z("042"), &index));
    CHECK(!pl_pointer_index(pl_slice_z("-"), &index));
    CHECK(!pl_pointer_index(pl_slice_z(""), &index));
    CHECK(!pl_pointer_index(pl_slice_z("99999999999"), &index));
}

TEST_MAIN()
