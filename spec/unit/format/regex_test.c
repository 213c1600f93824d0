/* The syntax and meaning of RE2; every search must end. */
#include "format/regex.h"

#include "base/alloc.h"
#include "base/buf.h"

#include "support/test.h"

#include <string.h>

/* "0-3 1-2 ?": the groups of the first match; "" for none; "error: ..." */
static void describe(const char *pattern, struct pl_slice text, struct pl_buf *out)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_regex *regex = pl_regex_compile(pl_slice_z(pattern), &err);
    struct pl_regex_search *search = pl_regex_search_create();
    int rc = regex != NULL ? pl_regex_search(search, regex, text, 0, false, &err) : err.code;
    if (rc < 0)
        pl_buf_add_f(out, "error: %s", err.message);
    for (size_t i = 0; rc == 1 && i <= pl_regex_groups(regex); i++) {
        size_t from, to;
        pl_regex_group(search, i, &from, &to);
        if (from == PL_REGEX_NONE)
            pl_buf_add_z(out, i > 0 ? " ?" : "?");
        else
            pl_buf_add_f(out, "%s%zu-%zu", i > 0 ? " " : "", from, to);
    }
    pl_regex_search_destroy(search);
    pl_regex_destroy(regex);
}

static void check(const char *pattern, const char *text, const char *want)
{
    struct pl_buf got = PL_BUF_INIT;
    describe(pattern, pl_slice_z(text), &got);
    if (strcmp(pl_buf_z(&got), want) != 0)
        TEST_FAIL("/%s/ on \"%s\": %s, not %s", pattern, text, pl_buf_z(&got), want);
    pl_buf_deinit(&got);
}

static void check_refused(const char *pattern, const char *part)
{
    struct pl_buf got = PL_BUF_INIT;
    describe(pattern, pl_slice_z(""), &got);
    if (strncmp(pl_buf_z(&got), "error: ", 7) != 0 || strstr(pl_buf_z(&got), part) == NULL)
        TEST_FAIL("/%s/: \"%s\", not %s", pattern, pl_buf_z(&got), part);
    pl_buf_deinit(&got);
}

TEST(matches_are_those_of_re2)
{
    static const struct {
        const char *pattern, *text, *want;
    } cases[] = {
        {"", "", "0-0"},
        {"", "abc", "0-0"},
        {"b", "abc", "1-2"},
        {"a|ab", "ab", "0-1"},
        {"^[a-z]([-a-z0-9]*[a-z0-9])?$", "my-name", "0-7 1-7"},
        {"^[a-z]([-a-z0-9]*[a-z0-9])?$", "a", "0-1 ?"},
        {"^[a-z]([-a-z0-9]*[a-z0-9])?$", "a-", ""},
        {"a{2,3}", "aaaa", "0-3"},
        {"a{2,3}?", "aaaa", "0-2"},
        {"a{,2}", "a{,2}", "0-5"},
        {"a{", "a{", "0-2"},
        {"a{1", "a{1", "0-3"},
        {"x{01}", "x{01}", "0-5"},
        {"(a+)(b+)?", "aac", "0-2 0-2 ?"},
        {"(?P<n>a)(?<m>b)(?:c)", "abc", "0-3 0-1 1-2"},
        /* the dollar is the end of the text, not the place before a last line break */
        {"a$", "a\n", ""},
        {"(?m)a$", "a\nb", "0-1"},
        {"(?m)^", "\n", "0-0"},
        {"(?m)\\n^$", "a\n", "1-2"},
        {"a.b", "a\nb", ""},
        {"(?s)a.b", "a\nb", "0-3"},
        {".", "\r", "0-1"},
        {"(?i)stra\xc3\x9f\x45", "STRA\xc3\x9f\x45", "0-7"},
        {"(?i)K", "\xe2\x84\xaa", "0-3"},
        {"(?U)a+", "aaa", "0-1"},
        {"(?U)a+?", "aaa", "0-3"},
        {"(?i:a)b", "Ab", "0-2"},
        {"(?i:a)b", "AB", ""},
        {"a(?i)b|c", "C", "0-1"},
        /* classes contain only ASCII */
        {"\\d", "\xd9\xa3", ""},
        {"\\w+", "a_9\xc3\xa4", "0-3"},
        {"\\s", "\v", ""},
        {"\\S", "\v", "0-1"},
        {"[\\s]", "\v", ""},
        {"[\\S]", "\v", "0-1"},
        {"[^\\S]", " ", "0-1"},
        {"[[:space:]]", "\v", "0-1"},
        {"\\v", "\n", ""},
        {"\\v", "\v", "0-1"},
        {"[[:alpha:][:^digit:]]", "-", "0-1"},
        {"[]a]+", "]a", "0-2"},
        {"[^]a]", "]ab", "2-3"},
        {"[a-]+", "a-", "0-2"},
        {"[-a]+", "-a", "0-2"},
        {"[[]", "[", "0-1"},
        {"[[:x]", ":", "0-1"},
        {"[\\]\\-\\x41]+", "]-A", "0-3"},
        {"\\pL+",
         "a\xc3\xa4"
         "1",
         "0-3"},
        {"\\p{Greek}", "a\xce\xb1", "1-3"},
        {"\\P{Greek}",
         "\xce\xb1"
         "a",
         "2-3"},
        {"\\p{^Lu}", "Aa", "1-2"},
        {"\\x{e4}\\xe4\\101\\07",
         "\xc3\xa4\xc3\xa4"
         "A\a",
         "0-6"},
        {"\\Qa.b*\\E*", "a.b**", "0-5"},
        {"\\Q\\", "\\", "0-1"},
        {"a# b", "a# b", "0-4"},
        {"\\_\\-\\/", "_-/", "0-3"},
        {"\\bfoo\\b", "a foo", "2-5"},
        {"\\Aa\\z", "a", "0-1"},
        {"(?:^)*a", "ba", "1-2"},
        {"^*a", "ba", "1-2"},
        {"\\b+a", "ba", ""},
        {"()|a", "a", "0-0 0-0"},
        {"(|a)+", "aa", "0-0 0-0"},
        {"(a*)*", "b", "0-0 0-0"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++)
        check(cases[i].pattern, cases[i].text, cases[i].want);
}

TEST(what_re2_does_not_have_is_refused_with_its_place)
{
    static const char *const cases[][2] = {
        {"(a)\\1", "at byte 4, \"\\1\": backreferences are not supported"},
        {"\\8", "backreferences"},
        {"(?P<a>b)(?P=a)", "backreferences"},
        {"\\k<a>", "backreferences"},
        {"ab(?=c)", "at byte 3, \"(?=c)\": lookaround is not supported"},
        {"(?!c)", "lookaround"},
        {"(?<=c)", "lookaround"},
        {"(?<!c)", "lookaround"},
        {"(?>a)", "not in RE2's syntax"},
        {"(?#a)", "not in RE2's syntax"},
        {"(?|a)", "not in RE2's syntax"},
        {"(?R)", "not in RE2's syntax"},
        {"(?1)", "not in RE2's syntax"},
        {"(?&a)", "not in RE2's syntax"},
        {"(?(1)a)", "not in RE2's syntax"},
        {"(?x)a", "not in RE2's syntax"},
        {"(?i-)a", "not in RE2's syntax"},
        {"(?)a", "not in RE2's syntax"},
        {"(?C1)", "not in RE2's syntax"},
        {"(*UTF)a", "without anything to repeat"},
        {"(*ACCEPT)", "without anything to repeat"},
        {"*a", "without anything to repeat"},
        {"a|*", "without anything to repeat"},
        {"(?i)*", "without anything to repeat"},
        {"a**", "after a quantifier"},
        {"a*+", "after a quantifier"},
        {"a{2}{3}", "after a quantifier"},
        {"a??"
         "?",
         "after a quantifier"},
        {"a{3,2}", "the counts must rise"},
        {"a{1001}", "up to 1000"},
        {"(a", "a ) is missing"},
        {"a)", "a ) without a ("},
        {"[a", "a ] is missing"},
        {"[", "a ] is missing"},
        {"[a-", "a ] is missing"},
        {"[]", "a ] is missing"},
        {"[z-a]", "ends before it begins"},
        {"[a-\\d]", "not in RE2's syntax"},
        {"[[:word2:]]", "no such class"},
        {"\\", "a backslash at the end"},
        {"\\C", "not in RE2's syntax"},
        {"\\Z", "not in RE2's syntax"},
        {"\\G", "not in RE2's syntax"},
        {"\\K", "not in RE2's syntax"},
        {"\\R", "not in RE2's syntax"},
        {"\\N{U+41}", "not in RE2's syntax"},
        {"\\h", "not in RE2's syntax"},
        {"\\x{110000}", "no such character"},
        {"\\x{d800}", "no such character"},
        {"\\x4", "two hexadecimal digits"},
        {"\\x{}", "two hexadecimal digits"},
        {"\\p{Nonsense}", "property"},
        {"\\p{", "one letter, or a name"},
        {"(?P<1>a)", "a group's name"},
        {"(?P<a>b)(?P<a>c)", "same name"},
        {"a\xff", "the expression is not UTF-8 at byte 2"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++)
        check_refused(cases[i][0], cases[i][1]);
}

TEST(sizes_are_limited)
{
    struct pl_buf text = PL_BUF_INIT;
    for (int i = 0; i < 251; i++)
        pl_buf_add_char(&text, '(');
    check_refused(pl_buf_z(&text), "groups are nested more than 250 deep");
    pl_buf_clear(&text);
    for (int i = 0; i < 100; i++)
        pl_buf_add_z(&text, "()");
    check_refused(pl_buf_z(&text), "100 capturing groups; the limit is 99");
    pl_buf_clear(&text);
    for (size_t i = 0; i < PL_REGEX_PATTERN + 1; i++)
        pl_buf_add_char(&text, 'a');
    check_refused(pl_buf_z(&text), "the limit is 32768");
    check_refused("((((a{1000}){1000}){1000}){1000}){1000}", "too large");
    pl_buf_deinit(&text);
}

static char *repeated(const char *piece, size_t count, const char *end)
{
    struct pl_buf text = PL_BUF_INIT;
    for (size_t i = 0; i < count; i++)
        pl_buf_add_z(&text, piece);
    pl_buf_add_z(&text, end);
    return pl_buf_take(&text);
}

TEST(a_search_that_would_take_for_ever_is_given_up)
{
    static const char *const patterns[] = {
        "(a+)+$",
        "(a|aa)+$",
        "(a|a)*b",
        "(.*)*x",
        "(a?){40}a{40}$",
        "a*a*a*a*a*c",
        "(?:a|a|a){30}b",
        "(a*)*b",
        "[a-z]*1",
        "(x+x+)+y|(a+a+)+y",
        "(.*)(.*)(.*)(.*)(.*)[^a]c",
        "(?:(?:a*)*)*b",
        "(^{8,763}^{8,763}aaab)?c",
        "(?:a?){8,763}(?:a?){8,763}b",
        "(?:(?:a?){99}){9}b",
        "a*?a*?a*?a*?a*?c",
    };
    char *shorter = repeated("a", 5000, "!"), *longer = repeated("a", PL_REGEX_TEXT - 1, "!");
    for (size_t i = 0; i < PL_ARRAY_LEN(patterns); i++)
        for (int j = 0; j < 2; j++) {
            struct pl_buf got = PL_BUF_INIT;
            describe(patterns[i], pl_slice_z(j ? longer : shorter), &got);
            bool given_up = strstr(pl_buf_z(&got), "the search was given up") != NULL;
            if (!given_up && got.len > 0 && !(j == 0 && strchr(pl_buf_z(&got), '-') != NULL))
                TEST_FAIL("/%s/: %s", patterns[i], pl_buf_z(&got));
            pl_buf_deinit(&got);
        }
    pl_free(shorter);
    pl_free(longer);
}

TEST(long_texts_are_searched)
{
    char *text = repeated("key: value\n", 90000, "last: x");
    check("(?m)^last: (\\w)$", text, "990000-990007 990006-990007");
    check("nothing", text, "");
    check("(?:[a-z]+: [a-z]+\\n)", text, "0-11");
    pl_free(text);
    text = repeated("a", PL_REGEX_TEXT + 1, "");
    check("a", text, "error: the text has 1048577 bytes; the limit is 1048576");
    pl_free(text);
    check("a", "a\xc3", "error: the text is not UTF-8 at byte 2");
}

TEST(a_search_goes_on_and_the_steps_of_all_count)
{
    struct pl_regex *regex = pl_regex_compile(pl_slice_z("a*"), NULL);
    struct pl_regex_search *search = pl_regex_search_create();
    struct pl_slice text = pl_slice_z("baac");
    size_t from, to;
    CHECK_INT(pl_regex_search(search, regex, text, 0, false, NULL), 1);
    CHECK_INT(pl_regex_search(search, regex, text, 1, true, NULL), 1);
    pl_regex_group(search, 0, &from, &to);
    CHECK_INT(from, 1);
    CHECK_INT(to, 3);
    CHECK_INT(pl_regex_search(search, regex, text, 4, true, NULL), 1);
    int rc = 1;
    for (int i = 0; rc == 1 && i < (int)PL_REGEX_STEPS; i++)
        rc = pl_regex_search(search, regex, text, 0, true, NULL);
    CHECK_INT(rc, PL_ELIMIT);
    CHECK_INT(pl_regex_search(search, regex, text, 0, false, NULL), 1);
    pl_regex_search_destroy(search);
    pl_regex_destroy(regex);
}

TEST(a_copy_of_the_block_is_the_same_expression)
{
    struct pl_regex *regex = pl_regex_compile(pl_slice_z("(b)(c)?"), NULL);
    size_t size = pl_regex_bytes(regex);
    struct pl_regex *copy = memcpy(pl_calloc(1, size), regex, size);
    pl_regex_destroy(regex);
    CHECK_INT(pl_regex_groups(copy), 2);
    CHECK_INT(pl_regex_test(copy, pl_slice_z("abc"), NULL), 1);
    CHECK_INT(pl_regex_test(copy, pl_slice(NULL, 0), NULL), 0);
    pl_free(copy);
}

TEST_MAIN()
