#include "serve/bind_address.h"

#include "support/test.h"

#include <stdio.h>

static void check_address(const char *text, const char *host, int port)
{
    struct pl_bind_address address;
    struct pl_err err;
    pl_err_clear(&err);
    REQUIRE(pl_bind_address_parse(text, &address, &err) == 0);
    CHECK(!address.off && !address.is_default);
    CHECK_STR(address.host, host);
    CHECK_INT(address.port, port);
    char back[300];
    pl_bind_address_text(&address, address.port, back, sizeof(back));
    CHECK_STR(back, text);
}

TEST(an_address_is_a_host_and_a_port)
{
    check_address("127.0.0.1:8080", "127.0.0.1", 8080);
    check_address(":8080", "", 8080);
    check_address("localhost:0", "localhost", 0);
    check_address("[::1]:65535", "::1", 65535);
}

TEST(zero_is_nowhere)
{
    struct pl_bind_address address;
    CHECK_INT(pl_bind_address_parse("0", &address, NULL), 0);
    CHECK(address.off);
}

TEST(everything_else_is_refused_with_what_it_should_be)
{
    static const char *const wrong[] = {
        "",      "8080", "a:",   "a:b",         "a:65536", "a:-1",
        "::1:1", "a: 1", ":80x", "http://a:1/", "a:+1",    "a:99999999999999999999"};
    for (size_t i = 0; i < PL_ARRAY_LEN(wrong); i++) {
        struct pl_bind_address address;
        struct pl_err err;
        pl_err_clear(&err);
        if (pl_bind_address_parse(wrong[i], &address, &err) != PL_EINVAL)
            TEST_FAIL("\"%s\" was taken", wrong[i]);
        CHECK(strstr(err.message, "HOST:PORT") != NULL);
    }
}

TEST(the_default_depends_on_where_the_host_runs)
{
    struct pl_bind_address address;
    CHECK_INT(pl_bind_address_choose(NULL, 8081, false, &address, NULL), 0);
    CHECK_STR(address.host, "127.0.0.1");
    CHECK_INT(address.port, 8081);
    CHECK(address.is_default);
    CHECK_INT(pl_bind_address_choose(NULL, 8081, true, &address, NULL), 0);
    CHECK_STR(address.host, "");
    CHECK(!address.is_default);
    CHECK_INT(pl_bind_address_choose(":1", 8081, true, &address, NULL), 0);
    CHECK_INT(address.port, 1);
}

TEST_MAIN()
