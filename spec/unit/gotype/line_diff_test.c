#include "gotype/line_diff.h"

#include "base/buf.h"

#include "support/test.h"

static void check(const char *a, const char *b, const char *want)
{
    struct pl_arena arena = {0};
    CHECK_SLICE(pl_line_diff(&arena, pl_slice_z(a), pl_slice_z(b)), want);
    pl_arena_deinit(&arena);
}

TEST(equal_texts_have_no_difference)
{
    check("a\nb", "a\nb", "");
}

TEST(a_change_has_three_lines_around_it)
{
    check("1\n2\n3\n4\n5\n6\n7\n8", "1\n2\n3\n4\nx\n6\n7\n8",
          "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
    check("a", "b", "@@ -1 +1 @@\n-a\n+b\n");
    check("a\nb", "a", "@@ -1,2 +1 @@\n a\n-b\n");
}

TEST(changes_far_apart_have_a_part_each)
{
    check("1\n2\n3\n4\n5\n6\n7\n8\n9\n10", "x\n2\n3\n4\n5\n6\n7\n8\n9\ny",
          "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+y\n");
}

/* A client chooses the texts; the comparisons have a limit. */
TEST(texts_in_another_order_end_as_one_change)
{
    struct pl_arena arena = {0};
    struct pl_buf a = PL_BUF_INIT, b = PL_BUF_INIT;
    for (int i = 0; i < 1900; i++) {
        pl_buf_add_f(&a, "%d\n", i);
        pl_buf_add_f(&b, "%d\n", 1900 - i);
    }
    struct pl_slice text = pl_line_diff(&arena, pl_buf_slice(&a), pl_buf_slice(&b));
    size_t lines = 0;
    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    CHECK(lines > 3000 && lines < 3900);
    pl_buf_deinit(&a);
    pl_buf_deinit(&b);
    pl_arena_deinit(&arena);
}

TEST_MAIN()
