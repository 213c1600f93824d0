#include "apiserver/api.h"

#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

TEST(paths_lead_to_resources_or_nowhere)
{
    static const struct {
        const char *method, *path;
        int status;
        bool plain;
    } cases[] = {
        {"GET", "/foo", 404, true},
        {"GET", "/api/v1/nopes", 404, false},
        {"GET", "/apis/apps/v1/bars", 404, false},
        {"GET", "/apis/apps/v2/deployments", 404, false},
        {"GET", "/apis/foo.com/v1/bars", 404, true},
        {"POST", DEFAULT_CMS "/a", 405, false},
        {"POST", "/api/v1/configmaps", 405, false},
        {"DELETE", "/api/v1/configmaps", 405, false},
        {"PUT", DEFAULT_CMS, 405, false},
        {"GET", "/api/v1/namespaces/default/pods/x/y/z", 404, false},
        {"GET", "/api/v1/namespaces/default/namespaces", 404, false},
    };
    struct api t;
    api_open(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        CHECK_INT(api_send(&t, cases[i].method, cases[i].path, "application/json", "{}"),
                  cases[i].status);
        CHECK_INT(strcmp(t.text, "404 page not found\n") == 0, cases[i].plain);
    }
    api_close(&t);
}

TEST(a_token_is_asked_for)
{
    struct api t;
    api_open_with(&t, (struct pl_api_options){.token = "secret"});
    CHECK_INT(api_get(&t, DEFAULT_CMS), 401);
    CHECK_MESSAGE(&t, "Unauthorized");
    t.authorization = "Bearer secre";
    CHECK_INT(api_get(&t, DEFAULT_CMS), 401);
    t.authorization = "bearer secret"; /* a scheme's case does not matter */
    CHECK_INT(api_get(&t, DEFAULT_CMS), 200);
    t.authorization = "Bearer secret";
    CHECK_INT(api_get(&t, DEFAULT_CMS), 200);
    api_close(&t);
}

TEST(bodies_have_a_largest_size)
{
    struct api t;
    struct pl_buf body = PL_BUF_INIT;
    api_open(&t);
    pl_buf_add_z(&body, "{'a':'");
    for (int i = 0; i < (3 << 20) + 10; i++)
        pl_buf_add_char(&body, 'x');
    pl_buf_add_z(&body, "'}");
    CHECK_INT(api_post(&t, DEFAULT_CMS, pl_buf_z(&body)), 413);
    CHECK_AT(&t, "reason", "'RequestEntityTooLarge'");
    pl_buf_deinit(&body);
    api_close(&t);
}

/* Requests that are bad in one part or another, for programs and for people. */
TEST(whatever_bytes_come_in_json_goes_out)
{
    static const struct {
        const char *method, *target, *type, *body;
        int status;
    } cases[] = {
        {"POST", DEFAULT_CMS, "application/json", "{'metadata':{'name':'\xff'}}", 400},
        {"POST", DEFAULT_CMS, "application/json", "\xc3", 400},
        {"POST", DEFAULT_CMS, "application/json", "{'metadata':{'name':'aää", 400}, /* cut */
        {"POST", DEFAULT_CMS, "application/yaml", "metadata: \xff", 400},
        {"PATCH", DEFAULT_CMS "/a", MERGE, "{'a':'\xff'}", 400},
        {"PATCH", DEFAULT_CMS "/a", "application/json-patch+json", "[{'op':'\xff'}]", 400},
        {"PATCH", DEFAULT_CMS "/a?fieldManager=%ff", APPLY, "a: \xff", 400},
        {"DELETE", DEFAULT_CMS "/a", "application/json", "{'propagationPolicy':'\xff'}", 400},
        {"GET", DEFAULT_CMS "/%ff", NULL, NULL, 404},
        {"GET", "/api/v1/namespaces/%ff/configmaps/a", NULL, NULL, 404},
        {"GET", DEFAULT_CMS "?labelSelector=%ff,,", NULL, NULL, 400},
        {"GET", DEFAULT_CMS "?fieldSelector=%ff%3Da", NULL, NULL, 400},
        {"GET", DEFAULT_CMS "?limit=%ff", NULL, NULL, 400},
        {"GET", DEFAULT_CMS "?resourceVersion=%ff", NULL, NULL, 400},
        {"GET", DEFAULT_CMS "?continue=%ff", NULL, NULL, 400},
        {"POST", DEFAULT_CMS "?dryRun=%ff", "application/json", "{'metadata':{'name':'x'}}", 422},
    };
    static const char *const agents[] = {"test/1", "curl/8", "\xff/1"};
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    for (size_t i = 0; i < PL_ARRAY_LEN(cases) * PL_ARRAY_LEN(agents); i++) {
        size_t at = i / PL_ARRAY_LEN(agents);
        t.agent = agents[i % PL_ARRAY_LEN(agents)];
        api_send(&t, cases[at].method, cases[at].target, cases[at].type, cases[at].body);
        if (t.status != cases[at].status || t.doc == NULL)
            TEST_FAIL("%s %s %s: %d %s", cases[at].method, cases[at].target,
                      cases[at].body ? cases[at].body : "", t.status, t.text);
        CHECK_AT(&t, "kind", "'Status'");
    }
    api_close(&t);
}

TEST(no_name_of_a_manager_breaks_what_is_stored)
{
    struct api t;
    api_open(&t);
    t.agent = "\xff/1";
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'},'data':{'k':'v'}}");
    api_post(&t, DEFAULT_CMS "?fieldManager=%c3", "{'metadata':{'name':'b'},'data':{'k':'v'}}");
    CHECK_INT(api_get(&t, DEFAULT_CMS), 200);
    CHECK(t.doc != NULL);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/b"), 200);
    CHECK_AT(&t, "metadata.managedFields[0].manager", "'\xef\xbf\xbd'");
    CHECK_INT(api_get(&t, "/debug/audit"), 200);
    CHECK(t.doc != NULL);
    api_close(&t);
}

TEST(every_cluster_has_its_namespaces)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_get(&t, "/api/v1/namespaces"), 200);
    CHECK_INT(pl_node_len(api_node(&t, "items")), 4);
    CHECK_AT(&t, "items[0].metadata.name", "'default'");
    CHECK_AT(&t, "items[0].status.phase", "'Active'");
    CHECK_INT(api_get(&t, "/api/v1/namespaces/default/status"), 200);
    api_close(&t);
}

TEST(destroying_ends_watches)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1");
    api_close(&t);
    CHECK(watch.ended);
    api_watch_close(&watch);
}

TEST_MAIN()
