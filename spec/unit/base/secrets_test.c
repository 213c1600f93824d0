#include "base/secrets.h"

#include "base/alloc.h"
#include "support/test.h"

static void check(const struct pl_secrets *secrets, const char *text, const char *want)
{
    char *masked = pl_secrets_mask(secrets, pl_slice_z(text));
    CHECK_STR(masked ? masked : "(nothing)", want);
    pl_free(masked);
}

TEST(values_are_cut_out_wherever_they_stand)
{
    struct pl_secrets secrets = {.count = 0};
    check(&secrets, "hunter2", "(nothing)");
    pl_secrets_add(&secrets, pl_slice_z("hunter2"));
    pl_secrets_add(&secrets, pl_slice_z("hunter2-long"));
    pl_secrets_add(&secrets, pl_slice_z("no"));
    check(&secrets, "nothing to see, no", "(nothing)");
    check(&secrets, "hunter2", "<7 bytes>");
    check(&secrets, "a hunter2 and hunter2-long, hunter2.",
          "a <7 bytes> and <12 bytes>, <7 bytes>.");
    CHECK(pl_secrets_has(&secrets, pl_slice_z("hunter2")));
    pl_secrets_clear(&secrets);
    check(&secrets, "hunter2", "(nothing)");
}

TEST(of_values_that_begin_at_one_place_the_longest_is_cut_out)
{
    struct pl_secrets secrets = {.count = 0};
    pl_secrets_add(&secrets, pl_slice_z("hunter2-long"));
    pl_secrets_add(&secrets, pl_slice_z("hunter2"));
    check(&secrets, "hunter2-long hunter2", "<12 bytes> <7 bytes>");
    pl_secrets_clear(&secrets);
}

TEST(a_value_has_at_least_four_bytes)
{
    struct pl_secrets secrets = {.count = 0};
    pl_secrets_add(&secrets, pl_slice_z("yes"));
    pl_secrets_add(&secrets, pl_slice_z("pass"));
    check(&secrets, "yes pass", "yes <4 bytes>");
    pl_secrets_clear(&secrets);
}

TEST(a_text_ends_where_its_slice_ends)
{
    struct pl_secrets secrets = {.count = 0};
    pl_secrets_add(&secrets, pl_slice_z("hunter2"));
    char *masked = pl_secrets_mask(&secrets, pl_slice("a hunter2 tail hunter2", 12));
    CHECK_STR(masked, "a <7 bytes> ta");
    pl_free(masked);
    pl_secrets_clear(&secrets);
}

TEST(values_are_found_in_texts_of_json)
{
    struct pl_secrets secrets = {.count = 0};
    pl_secrets_add(&secrets, pl_slice_z("one\n\"two\"/three"));
    pl_secrets_add(&secrets, pl_slice_z("a/b+c=="));
    check(&secrets, "{\"a\":\"one\\n\\\"two\\\"/three\",\"b\":\"x\\ny\"}",
          "{\"a\":\"<15 bytes>\",\"b\":\"x\\ny\"}");
    check(&secrets, "{\"a\":\"a\\/b+c==\"} a/b+c== \\u0061/b+c==",
          "{\"a\":\"<7 bytes>\"} <7 bytes> <7 bytes>");
    check(&secrets, "{\\\"a\\\":\\\"one\\\\n\\\\\\\"two\\\\\\\"/three\\\"}",
          "{\\\"a\\\":\\\"<15 bytes>\\\"}");
    check(&secrets, "no \\value\\", "(nothing)");
    check(&secrets, "\\u00", "(nothing)");
    pl_secrets_clear(&secrets);
}

TEST(values_are_found_in_blocks_of_yaml)
{
    struct pl_secrets secrets = {.count = 0};
    pl_secrets_add(&secrets, pl_slice_z("one line"));
    check(&secrets, "a: |\n  one\n  two\n", "(nothing)");
    pl_secrets_add(&secrets, pl_slice_z("one\n  two\n\nthree\n"));
    check(&secrets, "a: |\n  one\n    two\n\n  three\nb: 1\n", "a: |\n  <17 bytes>b: 1\n");
    check(&secrets, "x:\n- a: |\n      one\n        two\n\n      three\n",
          "x:\n- a: |\n      <17 bytes>");
    pl_secrets_clear(&secrets);
}

TEST(their_number_is_limited)
{
    static const char padding[] = "------";
    struct pl_secrets secrets = {.count = 0};
    char texts[3000][32];
    for (int i = 0; i < 3000; i++) {
        snprintf(texts[i], sizeof texts[i], "secret-%d%s", i, padding + i % 7);
        pl_secrets_add(&secrets, pl_slice_z(texts[i]));
    }
    CHECK_INT(secrets.count, 2000);
    for (int i = 0; i < 3000; i++) /* the oldest are forgotten */
        if (pl_secrets_has(&secrets, pl_slice_z(texts[i])) != (i >= 1000))
            TEST_FAIL("%s", texts[i]);
    pl_secrets_clear(&secrets);
}

TEST(those_of_another_are_added)
{
    struct pl_secrets one = {.count = 0}, other = {.count = 0};
    pl_secrets_add(&one, pl_slice_z("hunter1"));
    pl_secrets_add(&other, pl_slice_z("hunter1"));
    pl_secrets_add(&other, pl_slice_z("hunter2"));
    pl_secrets_add_all(&one, &other);
    pl_secrets_clear(&other);
    CHECK_INT(one.count, 2);
    pl_secrets_add_found(&other, &one, pl_slice_z("it is hunter2!"));
    CHECK_INT(other.count, 1);
    check(&other, "hunter1 hunter2", "hunter1 <7 bytes>");
    pl_secrets_clear(&other);
    check(&one, "hunter1 hunter2", "<7 bytes> <7 bytes>");
    pl_secrets_clear(&one);
}

TEST_MAIN()
