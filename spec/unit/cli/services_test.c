#include "support/test.h"

#include "base/base.h"
#include "cli/services.h"

static struct pl_err err;

static const char *found(struct pl_services *services, const char *ns, const char *name, int port)
{
    static char text[300];
    const struct pl_api_service which = {.ns = ns, .name = name, .port = port};
    struct pl_buf where = PL_BUF_INIT;
    bool known = pl_services_find(services, &which, &where);
    snprintf(text, sizeof text, "%s", pl_buf_z(&where));
    pl_buf_deinit(&where);
    return known ? text : NULL;
}

static int read_one(const char *text)
{
    char *const texts[] = {(char *)text, NULL};
    struct pl_services services;
    pl_err_clear(&err);
    int rc = pl_services_read(texts, &services, &err);
    pl_services_deinit(&services);
    return rc;
}

TEST(services_are_where_the_flags_say)
{
    static char first[] = "web/hooks=127.0.0.1:9443", second[] = "web/other:8443=[::1]:1";
    char *const texts[] = {first, second, NULL};
    struct pl_services services;
    pl_err_clear(&err);
    CHECK_INT(pl_services_read(texts, &services, &err), 0);
    CHECK_STR(found(&services, "web", "hooks", 443), "127.0.0.1:9443");
    CHECK_STR(found(&services, "web", "other", 8443), "[::1]:1");
    CHECK(found(&services, "web", "hooks", 8443) == NULL);
    CHECK(found(&services, "we", "hooks", 443) == NULL);
    CHECK(found(&services, "web", "hook", 443) == NULL);
    pl_services_deinit(&services);
}

TEST(no_services_are_known_without_the_flag)
{
    struct pl_services services;
    CHECK_INT(pl_services_read(NULL, &services, &err), 0);
    CHECK(found(&services, "web", "hooks", 443) == NULL);
    pl_services_deinit(&services);
}

TEST(what_is_no_service_is_told)
{
    static const char *const wrong[] = {
        "",           "hooks=a:1",     "a/b",         "a/b=c",     "a/b=:1",
        "a/b=c:",     "/b=c:1",        "a/=c:1",      "a/b/c=d:1", "a/b:=c:1",
        "a/b:0=c:1",  "a/b:65536=c:1", "a/b=c:70000", "a/b=c/d:1", "a/b:99999999999999999999=c:1",
        "a/b:1x=c:1", "a/b=c:1x"};
    for (size_t i = 0; i < PL_ARRAY_LEN(wrong); i++) {
        CHECK_INT(read_one(wrong[i]), PL_EINVAL);
        CHECK(strstr(err.message, "--service") != NULL);
    }
    CHECK_INT(read_one("a/b=c:1"), 0);
}

TEST_MAIN()
