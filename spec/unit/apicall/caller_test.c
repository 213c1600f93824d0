#include "apicall/caller.h"

#include "support/api_fixture.h"

#include <unistd.h>

TEST(requests_are_for_loopback_or_for_what_was_bound)
{
    static const struct {
        const char *bound, *authority;
        bool ours;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1:8001", true},
        {"127.0.0.1", "127.8.9.10", true},
        {"127.0.0.1", "localhost:1", true},
        {"127.0.0.1", "LocalHost", true},
        {"127.0.0.1", "[::1]:6443", true},
        {"127.0.0.1", "evil.example.com:8001", false},
        {"127.0.0.1", "127.0.0.1.evil.example.com", false},
        {"127.0.0.1", "localhost.evil.example.com", false},
        {"127.0.0.1", "10.0.0.1", false},
        {"127.0.0.1", "", false},
        {"127.0.0.1", "[::1", false},
        {"127.0.0.1", "[::1]evil.example.com", false},
        {"127.0.0.1", "127.0.0.1:8001.evil.example.com", false},
        {"127.0.0.1", "localhost:evil.example.com", false},
        {"10.0.0.1", "10.0.0.1:6443", true},
        {"10.0.0.1", "10.0.0.2:6443", false},
        {"dev.example.com", "Dev.example.com:6443", true},
        {"dev.example.com", "other.example.com:6443", false},
        {"0.0.0.0", "10.0.0.2:6443", true},
        {"::", "[fe80::1]:6443", true},
        {"0.0.0.0", "evil.example.com", false},
    };
    char own[256] = "";
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++)
        if (pl_api_host_is_ours(cases[i].bound, pl_slice_z(cases[i].authority)) != cases[i].ours)
            TEST_FAIL("%s for %s", cases[i].authority, cases[i].bound);
    REQUIRE(gethostname(own, sizeof(own) - 1) == 0);
    CHECK(pl_api_host_is_ours("0.0.0.0", pl_slice_z(own)));
}

TEST(pages_of_others_are_refused_whatever_they_carry)
{
    struct api t;
    api_open_with(&t, (struct pl_api_options){.token = "secret", .host = "127.0.0.1"});
    t.authorization = "Bearer secret";
    t.host = "127.0.0.1:8001";
    CHECK_INT(api_get(&t, DEFAULT_CMS), 200);
    t.origin = "http://localhost:8001";
    CHECK_INT(api_get(&t, DEFAULT_CMS), 200);
    t.origin = "https://evil.example.com";
    CHECK_INT(api_get(&t, DEFAULT_CMS), 403);
    CHECK_AT(&t, "reason", "'Forbidden'");
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}"), 403);
    t.origin = "null";
    CHECK_INT(api_get(&t, DEFAULT_CMS), 403);
    t.origin = NULL;
    t.host = "evil.example.com:8001";
    CHECK_INT(api_get(&t, DEFAULT_CMS), 403);
    CHECK_INT(api_get(&t, "/version"), 403);
    t.host = "localhost:8001";
    t.authorization = NULL;
    CHECK_INT(api_get(&t, "/version"), 401);
    api_close(&t);
}

TEST_MAIN()
