#include "page/access.h"

#include "base/base.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

struct fixture {
    struct pl_page_access access;
    char bearer[128], cookie[256];
};

static void make_gate(struct fixture *f, const char *bound)
{
    REQUIRE(pl_page_access_init(&f->access, bound, 4711) == 0);
    snprintf(f->bearer, sizeof f->bearer, "Bearer %s", f->access.token);
    snprintf(f->cookie, sizeof f->cookie, "a=b; perilune-4711=%s; c=d", f->access.token);
}

TEST(two_gates_have_two_tokens)
{
    struct fixture a, b;
    make_gate(&a, "127.0.0.1");
    make_gate(&b, "127.0.0.1");
    CHECK_INT(strlen(a.access.token), PL_PAGE_TOKEN);
    CHECK_INT(strspn(a.access.token, "0123456789abcdef"), PL_PAGE_TOKEN);
    CHECK(strcmp(a.access.token, b.access.token) != 0);
}

TEST(a_host_of_loopback_is_answered_and_no_other)
{
    static const char *const ours[] = {"localhost",      "LocalHost:80", "127.0.0.1",
                                       "127.9.9.9:4711", "[::1]:1",      "[::1]"};
    static const char *const others[] = {
        "",           "evil.example", "127.0.0.1.evil.example", "10.0.0.1", "::1",
        "[::2]:4711", "[::1",         "localhost.evil.example", "0.0.0.0",  "127.0.0.1/8"};
    struct fixture f;
    make_gate(&f, "127.0.0.1");
    for (size_t i = 0; i < PL_ARRAY_LEN(ours); i++) {
        const struct pl_page_caller caller = {.host = ours[i], .authorization = f.bearer};
        if (pl_page_access_check(&f.access, &caller) != PL_PAGE_WELCOME)
            TEST_FAIL("\"%s\" was refused", ours[i]);
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(others); i++) {
        const struct pl_page_caller caller = {.host = others[i], .authorization = f.bearer};
        if (pl_page_access_check(&f.access, &caller) != PL_PAGE_FOREIGN_HOST)
            TEST_FAIL("\"%s\" was answered", others[i]);
    }
    const struct pl_page_caller none = {.host = NULL, .authorization = f.bearer};
    CHECK_INT(pl_page_access_check(&f.access, &none), PL_PAGE_FOREIGN_HOST);
}

/* The owner of a name can point it at our address (DNS rebinding); with an address this is
 * impossible. */
TEST(off_loopback_addresses_and_its_own_name_are_answered)
{
    struct fixture f;
    make_gate(&f, "box.example");
    CHECK(!f.access.loopback);
    const struct pl_page_caller own = {.host = "box.example:4711", .cookie = f.cookie};
    const struct pl_page_caller address = {.host = "10.1.2.3:4711", .cookie = f.cookie};
    const struct pl_page_caller other = {.host = "evil.example", .cookie = f.cookie};
    CHECK_INT(pl_page_access_check(&f.access, &own), PL_PAGE_WELCOME);
    CHECK_INT(pl_page_access_check(&f.access, &address), PL_PAGE_WELCOME);
    CHECK_INT(pl_page_access_check(&f.access, &other), PL_PAGE_FOREIGN_HOST);
}

TEST(another_sites_script_is_refused)
{
    struct fixture f;
    make_gate(&f, "127.0.0.1");
    struct pl_page_caller caller = {.host = "127.0.0.1:4711", .authorization = f.bearer};
    caller.origin = "http://127.0.0.1:4711";
    CHECK_INT(pl_page_access_check(&f.access, &caller), PL_PAGE_WELCOME);
    static const char *const others[] = {"http://evil.example", "null", "http://127.0.0.1:4712",
                                         "https://127.0.0.1:4711", ""};
    for (size_t i = 0; i < PL_ARRAY_LEN(others); i++) {
        caller.origin = others[i];
        CHECK_INT(pl_page_access_check(&f.access, &caller), PL_PAGE_FOREIGN_ORIGIN);
        CHECK_INT(pl_page_access_look(&f.access, &caller), PL_PAGE_FOREIGN_ORIGIN);
    }
}

static enum pl_page_verdict with_cookie(const struct fixture *f, const char *before,
                                        const char *token, const char *behind)
{
    char cookie[512];
    snprintf(cookie, sizeof cookie, "%.40s%.80s%.40s", before, token, behind);
    const struct pl_page_caller caller = {.host = "localhost", .cookie = cookie};
    return pl_page_access_check(&f->access, &caller);
}

TEST(the_token_is_taken_from_its_cookie_alone)
{
    struct fixture f;
    make_gate(&f, "127.0.0.1");
    const char *token = f.access.token;
    CHECK_INT(with_cookie(&f, "perilune-4711=", token, ""), PL_PAGE_WELCOME);
    CHECK_INT(with_cookie(&f, "a=b;  perilune-4711=", token, ";"), PL_PAGE_WELCOME);
    static const char *const wrong[] = {
        "perilune-4712=", "xperilune-4711=", "perilune-4711 =", "perilune-4711=;", "a=", ""};
    for (size_t i = 0; i < PL_ARRAY_LEN(wrong); i++)
        if (with_cookie(&f, wrong[i], token, "") != PL_PAGE_NO_TOKEN)
            TEST_FAIL("\"%s\" was taken", wrong[i]);
    CHECK_INT(with_cookie(&f, "perilune-4711=", token, "0"), PL_PAGE_NO_TOKEN);
    CHECK_INT(with_cookie(&f, "perilune-4711=", token + 1, ""), PL_PAGE_NO_TOKEN);
    CHECK_INT(with_cookie(&f, "perilune-4711=", "", ""), PL_PAGE_NO_TOKEN);
    CHECK_INT(with_cookie(&f, ";;; ;", "", ""), PL_PAGE_NO_TOKEN);
}

TEST(an_action_needs_the_token_as_a_header)
{
    struct fixture f;
    make_gate(&f, "127.0.0.1");
    struct pl_page_caller caller = {.host = "localhost", .cookie = f.cookie, .acts = true};
    CHECK_INT(pl_page_access_check(&f.access, &caller), PL_PAGE_NO_HEADER);
    caller.authorization = "Bearer 0";
    CHECK_INT(pl_page_access_check(&f.access, &caller), PL_PAGE_NO_HEADER);
    caller.authorization = f.bearer;
    CHECK_INT(pl_page_access_check(&f.access, &caller), PL_PAGE_WELCOME);
    caller.cookie = NULL;
    CHECK_INT(pl_page_access_check(&f.access, &caller), PL_PAGE_WELCOME);
    caller.authorization = NULL;
    CHECK_INT(pl_page_access_check(&f.access, &caller), PL_PAGE_NO_TOKEN);
}

TEST_MAIN()
