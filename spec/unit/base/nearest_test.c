#include "support/test.h"

#include "base/base.h"
#include "base/nearest.h"

static const char *const flags[] = {"kubeconfig", "context",   "server",    "namespace",
                                    "lanes",      "log-level", "log-format"};

static const char *near(const char *word)
{
    return pl_nearest(pl_slice_z(word), flags, PL_ARRAY_LEN(flags));
}

TEST(a_slip_of_the_finger_finds_the_word)
{
    CHECK_STR(near("kubeconfg"), "kubeconfig");
    CHECK_STR(near("kubecnofig"), "kubeconfig");
    CHECK_STR(near("lane"), "lanes");
    CHECK_STR(near("log_level"), "log-level");
    CHECK_STR(near("Server"), "server");
}

TEST(the_end_or_start_of_a_name_finds_it)
{
    CHECK_STR(near("config"), "kubeconfig");
    CHECK_STR(near("name"), "namespace");
}

TEST(what_is_far_from_everything_finds_nothing)
{
    CHECK(near("zebra") == NULL);
    CHECK(near("") == NULL);
    CHECK(near("x") == NULL);
}

/* ---- two words alone ---- */

static bool is_near(const char *word, const char *known)
{
    const char *found = pl_nearest(pl_slice_z(word), &known, 1);
    CHECK(found == NULL || found == known);
    return found != NULL;
}

TEST(one_edit_is_near_in_the_shortest_words)
{
    CHECK(is_near("ab", "ax"));
    CHECK(is_near("ab", "abc"));
    CHECK(is_near("abc", "ab"));
    CHECK(is_near("ab", "ba")); /* a swap is one edit */
    CHECK(is_near("cabd", "cbad"));
    CHECK(!is_near("ab", "bc"));
    CHECK(!is_near("ab", "abcd"));
    CHECK(!is_near("abcd", "ab"));
}

TEST(an_edit_for_three_letters_is_near)
{
    CHECK(is_near("abcdef", "abcdxy"));
    CHECK(is_near("abcdxy", "abcdef"));
    CHECK(!is_near("abcde", "abcxy"));
    CHECK(is_near("abcdefghi", "abXdeXghX"));
    CHECK(!is_near("abcdefgh", "abXdeXgX"));
}

TEST(upper_and_lower_case_are_equal)
{
    CHECK(is_near("AAZZ", "aazz"));
    CHECK(is_near("aazz", "AAZZ"));
    CHECK(!is_near("@@[[", "``{{")); /* beside the letters */
}

TEST(four_letters_of_a_name_find_it_and_three_do_not)
{
    CHECK(is_near("cont", "controllers"));
    CHECK(is_near("lers", "controllers"));
    CHECK(!is_near("con", "controllers"));
    CHECK(!is_near("trol", "controllers"));
}

TEST(the_nearest_wins_and_of_equals_the_first)
{
    static const char *const words[] = {"contexts", "context", "kontext"};
    CHECK_STR(pl_nearest(pl_slice_z("context"), words, 3), "context");
    CHECK_STR(pl_nearest(pl_slice_z("contest"), words, 3), "context");
    CHECK_STR(pl_nearest(pl_slice_z("contextes"), words, 3), "contexts");
    CHECK_STR(pl_nearest(pl_slice_z("ontext"), words, 3), "context");
    CHECK(pl_nearest(pl_slice_z("context"), words, 0) == NULL);
}

TEST(words_of_more_than_64_letters_are_left_out)
{
    char longest[66] = "";
    memset(longest, 'a', 65);
    static const char *const other[] = {"b"};
    const char *words[] = {longest, longest + 1};
    CHECK(pl_nearest(pl_slice_z(longest), words, 2) == NULL);
    CHECK_STR(pl_nearest(pl_slice_z(longest + 1), words, 2), longest + 1);
    CHECK(pl_nearest(pl_slice_z(longest + 1), other, 1) == NULL);
}

TEST_MAIN()
