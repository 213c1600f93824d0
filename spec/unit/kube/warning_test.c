#include "kube/warning.h"

#include "support/test.h"

#include <string.h>

/* The texts of one header's warnings, joined by "|". */
static void check(const char *value, const char *want)
{
    struct pl_http_header headers[] = {{"date", "299 - \"no\""}, {"warning", value}};
    struct pl_http_response response = {.status = 200, .headers = headers, .header_count = 2};
    struct pl_buf out = PL_BUF_INIT;
    pl_warnings_add(&out, &response);
    for (size_t i = 0; i < out.len; i++)
        if (out.ptr[i] == '\0')
            out.ptr[i] = '|';
    CHECK_STR(pl_buf_z(&out), want);
    pl_buf_deinit(&out);
}

TEST(warnings_are_read_as_the_server_writes_them)
{
    check("299 - \"unknown field \\\"spec.x\\\"\"", "unknown field \"spec.x\"|");
    check("299 - \"a\", 299 - \"b\"", "a|b|");
    check("299 host:80 \"a\" \"Sun, 06 Nov 1994 08:49:37 GMT\",299 - \"b\"", "a|b|");
    check("299 - \"a\\\\b\"", "a\\b|");
    check("299 - \"\"", "|");
}

TEST(what_is_no_warning_is_passed_over)
{
    static const char *const bad[] = {"",          "299",         "299 - ",      "299 - a",
                                      "299 - \"a", "299 - \"a\\", "214 - \"a\"", "299 -",
                                      "\"a\"",     "299 \"a\"",   "299,- \"a\""};
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++)
        check(bad[i], "");
    check("299 - \"a\" \"date", "a|");
    check("299 - \"a\", 299 - \"b", "a|");
    check("299 - \"a\nb\x7f\"", "a b |");
}

TEST(long_and_many_warnings_are_cut)
{
    struct pl_buf text = PL_BUF_INIT, out = PL_BUF_INIT;
    pl_buf_add_z(&text, "299 - \"");
    for (int i = 0; i < 5000; i++)
        pl_buf_add_char(&text, 'x');
    pl_buf_add_z(&text, "\"");
    for (int i = 0; i < 100; i++)
        pl_buf_add_z(&text, ", 299 - \"y\"");
    struct pl_http_header header = {"warning", pl_buf_z(&text)};
    struct pl_http_response response = {.headers = &header, .header_count = 1};
    pl_warnings_add(&out, &response);
    CHECK_INT(out.len, 1024 + 1 + 15 * 2);
    pl_buf_deinit(&text);
    pl_buf_deinit(&out);
}

TEST_MAIN()
