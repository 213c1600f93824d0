#include "apicall/request.h"

#include "support/test.h"

static struct pl_api_request parse(struct pl_arena *arena, const char *path, const char *query)
{
    struct pl_api_status status = {.arena = arena};
    struct pl_api_request request;
    struct pl_api_call call = {.method = "GET",
                               .path = pl_slice_z(path),
                               .query = pl_slice_z(query),
                               .user_agent = "me/1.0 (x)"};
    CHECK_INT(pl_api_request_parse(&request, &call, &status), 0);
    return request;
}

TEST(paths_are_taken_apart)
{
    static const struct {
        const char *path, *group, *version, *ns, *resource, *name, *sub;
    } cases[] = {
        {"/api/v1/namespaces/n/pods/p/status", "", "v1", "n", "pods", "p", "status"},
        {"/api/v1/namespaces", "", "v1", "", "namespaces", "", ""},
        {"/api/v1/namespaces/n", "", "v1", "", "namespaces", "n", ""},
        {"/api/v1/namespaces/n/status", "", "v1", "", "namespaces", "n", "status"},
        {"/api/v1/namespaces/n/pods", "", "v1", "n", "pods", "", ""},
        {"/apis/apps/v1/deployments", "apps", "v1", "", "deployments", "", ""},
        {"/apis/ex.com/v1/namespaces/n/widgets/a%2Fb", "ex.com", "v1", "n", "", "a/b",
         ""}, /* none has it */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pl_arena arena = {0};
        struct pl_api_request r = parse(&arena, cases[i].path, "");
        CHECK(r.is_resource);
        CHECK_SLICE(r.group, cases[i].group);
        CHECK_SLICE(r.version, cases[i].version);
        CHECK_SLICE(r.ns, cases[i].ns);
        CHECK_SLICE(r.resource, cases[i].resource);
        CHECK_SLICE(r.name, cases[i].name);
        CHECK_SLICE(r.subresource, cases[i].sub);
        pl_arena_deinit(&arena);
    }
}

TEST(other_paths_are_no_resources)
{
    static const char *const paths[] = {"/",     "/api",        "/api/v1", "/apis/apps/v1",
                                        "/apis", "/openapi/v2", "/healthz"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        struct pl_arena arena = {0};
        CHECK(!parse(&arena, paths[i], "").is_resource);
        pl_arena_deinit(&arena);
    }
}

TEST(parameters_are_decoded)
{
    struct pl_arena arena = {0};
    struct pl_api_request r =
        parse(&arena, "/api/v1/pods",
              "labelSelector=a%3Db+&limit=5&watch=1&allowWatchBookmarks=true&timeoutSeconds=7&"
              "sendInitialEvents=false&dryRun=All&force=true");
    CHECK_SLICE(r.label_selector, "a=b ");
    CHECK_INT(r.limit, 5);
    CHECK_INT(r.timeout_s, 7);
    CHECK(r.watch && r.bookmarks && r.dry_run && r.force && r.has_send_initial && !r.send_initial);
    CHECK_SLICE(pl_api_request_manager(&r), "me");
    pl_arena_deinit(&arena);
}

TEST(no_timeout_is_longer_than_can_be_waited_for)
{
    static const struct {
        const char *query;
        int64_t want;
    } cases[] = {
        {"timeoutSeconds=31536000", 31536000},
        {"timeoutSeconds=9223372036854775807", INT64_C(100) * 366 * 86400},
        {"timeoutSeconds=-9223372036854775808", INT64_MIN}, /* as if there were none */
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_arena arena = {0};
        CHECK_INT(parse(&arena, "/api/v1/pods", cases[i].query).timeout_s, cases[i].want);
        pl_arena_deinit(&arena);
    }
}

TEST(bad_parameters_are_errors)
{
    static const char *const queries[] = {"limit=x", "timeoutSeconds=1s", "limit=+5",
                                          "limit=99999999999999999999",
                                          "gracePeriodSeconds=-99999999999999999999"};
    for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
        struct pl_arena arena = {0};
        struct pl_api_status status = {.arena = &arena};
        struct pl_api_request request;
        struct pl_api_call call = {
            .method = "GET", .path = pl_slice_z("/api/v1/pods"), .query = pl_slice_z(queries[i])};
        CHECK_INT(pl_api_request_parse(&request, &call, &status), -1);
        CHECK_INT(status.code, 400);
        pl_arena_deinit(&arena);
    }
}

TEST_MAIN()
