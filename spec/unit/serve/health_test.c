#include "serve/health.h"

#include "support/test.h"

static bool fine(void *arg, struct pl_buf *why)
{
    PL_UNUSED(arg);
    PL_UNUSED(why);
    return true;
}

static bool broken(void *arg, struct pl_buf *why)
{
    pl_buf_add_z(why, arg);
    return false;
}

static void each(void *arg, struct pl_health_page *page)
{
    PL_UNUSED(arg);
    pl_health_say(page, "controller/a", NULL);
    pl_health_say(page, "controller/b", "v1/Secret: forbidden");
}

static void check_answer(struct pl_health *health, const char *path, const char *query, int status,
                         const char *want)
{
    struct pl_buf body = PL_BUF_INIT;
    CHECK_INT(pl_health_answer(health, pl_slice_z(path), pl_slice_z(query), &body), status);
    CHECK_STR(pl_buf_z(&body), want);
    pl_buf_deinit(&body);
}

TEST(without_checks_a_ping_is_all_there_is)
{
    struct pl_health *health = pl_health_create();
    check_answer(health, "/healthz", "", 200, "ok");
    check_answer(health, "/healthz/", "", 200, "ok");
    check_answer(health, "/readyz", "verbose", 200, "[+]ping ok\nreadyz check passed\n");
    check_answer(health, "/healthz/ping", "", 200, "ok");
    pl_health_destroy(health);
    pl_health_destroy(NULL);
}

TEST(a_failed_check_fails_its_probe_and_shows_all_checks)
{
    struct pl_health *health = pl_health_create();
    char why[] = "lane 0\nis stuck";
    pl_health_add(health, PL_PROBE_LIVE, "lanes", broken, why);
    pl_health_add(health, PL_PROBE_LIVE, "other", fine, NULL);
    check_answer(health, "/healthz", "", 500,
                 "[+]ping ok\n[-]lanes failed: lane 0 is stuck\n[+]other ok\n"
                 "healthz check failed\n");
    check_answer(health, "/readyz", "", 200, "ok");
    pl_health_remove(health, why);
    check_answer(health, "/healthz", "", 200, "ok");
    pl_health_destroy(health);
}

TEST(excluded_checks_do_not_count_and_unknown_names_are_told)
{
    struct pl_health *health = pl_health_create();
    pl_health_add_group(health, PL_PROBE_READY, each, NULL);
    check_answer(health, "/readyz", "exclude=controller%2Fb", 200, "ok");
    check_answer(health, "/readyz", "verbose&exclude=controller/b&exclude=x%0ay", 200,
                 "[+]ping ok\n[+]controller/a ok\n[+]controller/b excluded: ok\n"
                 "warn: some health checks cannot be excluded: no matches for \"x y\"\n"
                 "readyz check passed\n");
    check_answer(health, "/readyz", "exclude=controller/a", 500,
                 "[+]ping ok\n[+]controller/a excluded: ok\n"
                 "[-]controller/b failed: v1/Secret: forbidden\nreadyz check failed\n");
    pl_health_destroy(health);
}

TEST(one_check_is_asked_for_by_its_name)
{
    struct pl_health *health = pl_health_create();
    pl_health_add_group(health, PL_PROBE_READY, each, NULL);
    check_answer(health, "/readyz/controller/a", "", 200, "ok");
    check_answer(health, "/readyz/controller%2fb", "verbose", 500,
                 "internal server error: v1/Secret: forbidden\n");
    check_answer(health, "/readyz/pong", "", 404, "no such check; did you mean ping?\n");
    check_answer(health, "/healthz/controller/a", "", 404,
                 "no such check; /healthz?verbose lists them\n");
    pl_health_destroy(health);
}

TEST(other_paths_are_not_found)
{
    struct pl_health *health = pl_health_create();
    static const char *const paths[] = {"", "/", "/healthzz", "/livez", "/health", "/readyz2/ping"};
    for (size_t i = 0; i < PL_ARRAY_LEN(paths); i++)
        check_answer(health, paths[i], "", 404, "try /healthz or /readyz\n");
    pl_health_destroy(health);
}

TEST(a_page_has_limits)
{
    struct pl_health *health = pl_health_create();
    char *why = malloc(100001);
    memset(why, 'x', 100000);
    why[100000] = '\0';
    for (int i = 0; i < 2000; i++)
        pl_health_add(health, PL_PROBE_LIVE, "many", fine, NULL);
    pl_health_add(health, PL_PROBE_READY, "long", broken, why);
    struct pl_buf body = PL_BUF_INIT;
    CHECK_INT(pl_health_answer(health, pl_slice_z("/healthz"), pl_slice_z("verbose"), &body), 200);
    CHECK(strstr(pl_buf_z(&body), "warn: more than 1000 checks") != NULL);
    pl_buf_clear(&body);
    CHECK_INT(pl_health_answer(health, pl_slice_z("/readyz"), pl_slice_z("&&=&verbose=1&"), &body),
              500);
    CHECK(body.len < 2200);
    pl_buf_deinit(&body);
    free(why);
    pl_health_destroy(health);
}

TEST_MAIN()
