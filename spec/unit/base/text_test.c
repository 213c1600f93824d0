#include "base/text.h"

#include "support/test.h"

TEST(a_part_is_found_where_it_stands_first)
{
    struct pl_slice text = pl_slice_z("one two two");
    CHECK(pl_text_find(text, "two") == text.ptr + 4);
    CHECK(pl_text_find(text, "one two two") == text.ptr);
    CHECK(pl_text_find(text, "three") == NULL);
    CHECK(pl_text_find(pl_slice(text.ptr, 6), "two") == NULL);
}

TEST(nothing_is_found_in_an_empty_text)
{
    CHECK(pl_text_find(pl_slice(NULL, 0), "a") == NULL);
    CHECK(pl_text_find(pl_slice_z(""), "a") == NULL);
}

TEST(a_text_begins_and_ends_with_its_parts)
{
    struct pl_slice text = pl_slice_z("hugepages-2Mi");
    CHECK(pl_text_begins(text, "hugepages-"));
    CHECK(!pl_text_begins(text, "pages"));
    CHECK(pl_text_ends(text, "-2Mi"));
    CHECK(!pl_text_ends(text, "-2"));
    CHECK(!pl_text_begins(pl_slice_z("huge"), "hugepages-"));
}

TEST_MAIN()
