#include "net/http_server.h"

#include "support/test.h"

static void check_unescaped(const char *text, bool plus, const char *want)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_url_unescape(pl_slice_z(text), plus, &out);
    CHECK_STR(pl_buf_z(&out), want);
    pl_buf_deinit(&out);
}

TEST(escapes_are_resolved_and_broken_ones_left)
{
    check_unescaped("a%2Fb%2fc", false, "a/b/c");
    check_unescaped("a+b%2B", true, "a b+");
    check_unescaped("a+b", false, "a+b");
    check_unescaped("%", false, "%");
    check_unescaped("%4", false, "%4");
    check_unescaped("%zz%41", false, "%zzA");
    check_unescaped("%C3%A9", false, "\xc3\xa9");
}

TEST(a_nul_survives_unescaping)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_url_unescape(pl_slice_z("a%00b"), false, &out);
    CHECK_INT(out.len, 3);
    CHECK_INT(out.ptr[1], 0);
    pl_buf_deinit(&out);
}

TEST(everything_but_the_unreserved_is_escaped)
{
    struct pl_buf out = PL_BUF_INIT, back = PL_BUF_INIT;
    pl_url_escape(pl_slice_z("aZ0-._~/?&=+ %\xc3\xa9"), &out);
    CHECK_STR(pl_buf_z(&out), "aZ0-._~%2F%3F%26%3D%2B%20%25%C3%A9");
    pl_url_unescape(pl_buf_slice(&out), true, &back);
    CHECK_STR(pl_buf_z(&back), "aZ0-._~/?&=+ %\xc3\xa9");
    pl_buf_deinit(&out);
    pl_buf_deinit(&back);
}

static void check_query(const char *query, const char *name, const char *want)
{
    struct pl_buf value = PL_BUF_INIT;
    pl_buf_add_z(&value, "before");
    CHECK_INT(pl_query_get(pl_slice_z(query), name, &value), want != NULL);
    CHECK_STR(pl_buf_z(&value), want != NULL ? want : "before");
    pl_buf_deinit(&value);
}

TEST(query_parameters_are_found_by_name_the_first_one_wins)
{
    check_query("a=1&b=2&a=3", "a", "1");
    check_query("a=1&b=2", "b", "2");
    check_query("labelSelector=app%3Dx%2Ctier+in+%28a%29", "labelSelector", "app=x,tier in (a)");
    check_query("watch", "watch", "");
    check_query("watch=", "watch", "");
    check_query("fieldManager%5B=x", "fieldManager[", "x");
    check_query("a==b", "a", "=b");
    check_query("&&a=1&", "a", "1");
    check_query("ab=1", "a", NULL);
    check_query("%61b=1&a%62=2", "ab", "1");
    check_query("%zz=1&b=2", "b", "2");
    check_query("", "a", NULL);
}

TEST(people_see_urls_without_passwords_and_queries)
{
    static const char *const cases[][2] = {
        {"https://a/b", "https://a/b"},
        {"https://me:secret@a:1/b@c?d=e", "https://a:1/b@c?..."},
        {"http://@a", "http://a"},
        {"https://a/@me#x", "https://a/@me#..."},
        {"http://me:se/cr@et@a", "http://a"},
        {"http://[::1]:80/@b", "http://[::1]:80/@b"},
        {"me:secret@a:1", "a:1"},
        {"http://", "http://"},
        {"", ""},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_buf out = PL_BUF_INIT;
        pl_url_add_public(&out, pl_slice_z(cases[i][0]));
        CHECK_STR(pl_buf_z(&out), cases[i][1]);
        pl_buf_deinit(&out);
    }
}

TEST_MAIN()
