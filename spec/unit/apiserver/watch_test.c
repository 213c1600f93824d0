#include "apiserver/watch.h"

#include "support/api_fixture.h"

/* Event sequences were checked against kube-apiserver 1.37. */

TEST(a_watch_goes_on_from_its_version)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'b'}}");
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&resourceVersion=6");
    CHECK_EVENTS(&watch, "ADDED b");
    api_merge(&t, DEFAULT_CMS "/a", "{'data':{'k':'v'}}");
    api_merge(&t, DEFAULT_CMS "/a", "{'data':{'k':'v'}}");
    api_delete(&t, DEFAULT_CMS "/b", NULL);
    api_post(&t, "/api/v1/namespaces/kube-system/configmaps", "{'metadata':{'name':'c'}}");
    CHECK_EVENTS(&watch, "ADDED b,MODIFIED a,DELETED b");
    api_watch_close(&watch);
    api_close(&t);
}

TEST(a_watch_without_a_version_shows_the_state_first)
{
    struct api t;
    struct api_watch none, zero;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'b'}}");
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    api_watch_open(&t, &none, DEFAULT_CMS "?watch=1");
    api_watch_open(&t, &zero, DEFAULT_CMS "?watch=true&resourceVersion=0");
    api_delete(&t, DEFAULT_CMS "/a", NULL);
    CHECK_EVENTS(&none, "ADDED a,ADDED b,DELETED a");
    CHECK_EVENTS(&zero, "ADDED a,ADDED b,DELETED a");
    api_watch_close(&none);
    api_watch_close(&zero);
    api_close(&t);
}

TEST(the_initial_state_ends_with_a_bookmark)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    api_watch_open(&t, &watch,
                   DEFAULT_CMS "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&"
                               "resourceVersionMatch=NotOlderThan");
    CHECK_EVENTS(&watch, "ADDED a,BOOKMARK ");
    CHECK(strstr(pl_buf_z(&watch.text),
                 "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\","
                 "\"metadata\":{\"resourceVersion\":\"6\",\"annotations\":{"
                 "\"k8s.io/initial-events-end\":\"true\"}}}}\n") != NULL);
    api_watch_close(&watch);
    api_close(&t);
}

static bool message_has(struct api *t, const char *part)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(api_node(t, "message"), &scratch);
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* In the words of kube-apiserver 1.37. */
TEST(options_that_do_not_fit_together_are_invalid)
{
    static const struct {
        const char *options, *causes[3];
    } cases[] = {
        {"sendInitialEvents=true",
         {"Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"}},
        {"sendInitialEvents=false",
         {"Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"}},
        {"sendInitialEvents=true&resourceVersionMatch=Exact",
         {"Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
          "Unsupported value: \"Exact\": supported values: \"NotOlderThan\""}},
        {"resourceVersionMatch=Exact",
         {"Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
          "provided",
          "Unsupported value: \"Exact\": supported values: \"NotOlderThan\""}},
        {"resourceVersionMatch=NotOlderThan",
         {"Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
          "provided"}},
        {"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=abc",
         {"Forbidden: resourceVersionMatch is forbidden when continue is provided"}},
    };
    struct api t;
    api_open(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char path[200];
        snprintf(path, sizeof path, DEFAULT_CMS "?watch=1&%s", cases[i].options);
        CHECK_INT(api_get(&t, path), 422);
        for (const char *const *cause = cases[i].causes; *cause != NULL; cause++)
            CHECK(message_has(&t, *cause));
    }
    CHECK_INT(api_get(&t, DEFAULT_CMS "?sendInitialEvents=true"), 422);
    api_close(&t);
}

TEST(an_initial_state_from_a_version_ahead_is_a_timeout_in_the_stream) /* rule 78 */
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    api_watch_open(&t, &watch,
                   DEFAULT_CMS "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&"
                               "resourceVersionMatch=NotOlderThan&resourceVersion=100000");
    CHECK(watch.ended);
    CHECK(strstr(pl_buf_z(&watch.text), "ResourceVersionTooLarge") != NULL);
    CHECK(strstr(pl_buf_z(&watch.text), "\"code\":504") != NULL);
    CHECK(strstr(pl_buf_z(&watch.text), "BOOKMARK") == NULL);
    api_watch_close(&watch);
    api_close(&t);
}

TEST(what_changes_after_the_initial_state_comes_on_the_same_stream) /* rule 77 */
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    api_watch_open(&t, &watch,
                   DEFAULT_CMS "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&"
                               "resourceVersionMatch=NotOlderThan&resourceVersion=1");
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'b'}}");
    CHECK_EVENTS(&watch, "ADDED a,BOOKMARK ,ADDED b");
    api_watch_close(&watch);
    api_close(&t);
}

TEST(entering_a_selection_is_added_and_leaving_it_deleted)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&labelSelector=a%3Db&resourceVersion=5");
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'x'}}");
    api_merge(&t, DEFAULT_CMS "/x", "{'metadata':{'labels':{'a':'b'}}}");
    api_merge(&t, DEFAULT_CMS "/x", "{'data':{'k':'v'}}");
    api_merge(&t, DEFAULT_CMS "/x", "{'metadata':{'labels':{'a':'c'}}}");
    api_merge(&t, DEFAULT_CMS "/x", "{'data':{'k':'w'}}");
    CHECK_EVENTS(&watch, "ADDED x,MODIFIED x,DELETED x");
    /* What left is shown as it was, at the version at which it left. */
    CHECK(strstr(pl_buf_z(&watch.text), "\"resourceVersion\":\"9\"") != NULL);
    CHECK(strstr(pl_buf_z(&watch.text), "\"a\":\"c\"") == NULL);
    api_watch_close(&watch);
    api_close(&t);
}

TEST(a_version_that_is_forgotten_is_an_error_event)
{
    struct api t;
    struct api_watch watch;
    api_open_with(&t, (struct pl_api_options){.history = 3});
    for (int i = 0; i < 5; i++) {
        char *body = pl_format("{'metadata':{'name':'x%d'}}", i);
        api_post(&t, DEFAULT_CMS, body);
        pl_free(body);
    }
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&resourceVersion=6");
    CHECK(watch.ended);
    CHECK_STR(pl_buf_z(&watch.text),
              "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
              "\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version: 6 "
              "(7)\",\"reason\":\"Expired\",\"code\":410}}\n");
    api_watch_close(&watch);
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&resourceVersion=7");
    CHECK_EVENTS(&watch, "ADDED x2,ADDED x3,ADDED x4");
    api_watch_close(&watch);
    api_close(&t);
}

TEST(a_version_that_was_never_given_out_is_an_error_event)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&resourceVersion=100000");
    CHECK(watch.ended);
    CHECK(strstr(pl_buf_z(&watch.text), "too large resource version: 100000") != NULL);
    CHECK(strstr(pl_buf_z(&watch.text), "\"code\":410") != NULL);
    api_watch_close(&watch);
    api_close(&t);
}

/* Who watched the server that was here before knows versions from before the first. */
TEST(a_version_of_the_server_before_is_an_error_event)
{
    struct api t;
    struct api_watch watch;
    api_open_with(&t, (struct pl_api_options){.first_version = 1000});
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    CHECK_AT(&t, "metadata.resourceVersion", "'1005'"); /* after four namespaces */
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&resourceVersion=999");
    CHECK(watch.ended);
    CHECK(strstr(pl_buf_z(&watch.text), "too old resource version: 999 (1000)") != NULL);
    api_watch_close(&watch);
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&resourceVersion=1000");
    CHECK_EVENTS(&watch, "ADDED a");
    api_watch_close(&watch);
    api_close(&t);
}

TEST(a_watch_ends_after_its_time_and_sends_bookmarks_before)
{
    struct api t;
    struct api_watch watch;
    api_open_with(&t, (struct pl_api_options){.bookmark_ns = 10 * PL_SECOND});
    api_watch_open(&t, &watch,
                   DEFAULT_CMS "?watch=1&timeoutSeconds=25&allowWatchBookmarks=1&"
                               "resourceVersion=5");
    for (int i = 0; i < 24; i++)
        api_advance(&t, PL_SECOND);
    CHECK(!watch.ended);
    CHECK_EVENTS(&watch, "BOOKMARK ,BOOKMARK ");
    api_advance(&t, PL_SECOND);
    CHECK(watch.ended);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    CHECK_EVENTS(&watch, "BOOKMARK ,BOOKMARK ");
    api_watch_close(&watch);
    api_close(&t);
}

TEST(a_watch_for_ever_is_not_over_at_once)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    api_watch_open(&t, &watch,
                   DEFAULT_CMS "?watch=1&timeoutSeconds=9223372036854775807&resourceVersion=5");
    for (int i = 0; i < 10; i++)
        api_advance(&t, INT64_C(86400) * PL_SECOND);
    CHECK(!watch.ended);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    CHECK_EVENTS(&watch, "ADDED a");
    api_watch_close(&watch);
    api_close(&t);
}

TEST(a_client_that_left_gets_nothing_more)
{
    struct api t;
    struct api_watch gone, there;
    api_open(&t);
    api_watch_open(&t, &gone, DEFAULT_CMS "?watch=1&resourceVersion=5");
    api_watch_open(&t, &there, DEFAULT_CMS "?watch=1&resourceVersion=5");
    api_watch_leave(&gone);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    CHECK_EVENTS(&gone, "");
    CHECK_EVENTS(&there, "ADDED a");
    api_watch_close(&gone);
    api_watch_close(&there);
    api_close(&t);
}

TEST(one_object_is_watched_by_its_name)
{
    struct api t;
    struct api_watch watch, path;
    api_open(&t);
    api_watch_open(&t, &watch,
                   DEFAULT_CMS "?watch=1&fieldSelector=metadata.name%3Da&resourceVersion=5");
    api_watch_open(&t, &path, "/api/v1/watch/namespaces/default/configmaps/a?resourceVersion=5");
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'b'}}");
    CHECK_EVENTS(&watch, "ADDED a");
    CHECK_EVENTS(&path, "ADDED a");
    api_watch_close(&watch);
    api_watch_close(&path);
    api_close(&t);
}

TEST(metadata_watches_and_tables_have_their_own_form)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    t.accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&resourceVersion=5");
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'},'data':{'k':'v'}}");
    CHECK(strstr(pl_buf_z(&watch.text), "\"kind\":\"PartialObjectMetadata\"") != NULL);
    CHECK(strstr(pl_buf_z(&watch.text), "\"data\":{\"k\"") == NULL);
    api_watch_close(&watch);
    t.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1");
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'b'}}");
    CHECK(strstr(pl_buf_z(&watch.text), "\"columnDefinitions\":[") != NULL);
    CHECK(strstr(pl_buf_z(&watch.text), "\"columnDefinitions\":null") != NULL);
    api_watch_close(&watch);
    api_close(&t);
}

/* Texts of an event are shared by watches that want the same one, in whatever order they come. */
TEST(each_of_many_watches_gets_the_form_that_it_asked_for)
{
    static const char *const forms[] = {
        "application/json",
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "application/vnd.kubernetes.protobuf",
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    };
    enum { FORMS = PL_ARRAY_LEN(forms) };
    struct api t;
    struct api_watch watches[2 * FORMS];
    api_open(&t);
    for (size_t i = 0; i < 2 * FORMS; i++) {
        t.accept = forms[i % FORMS];
        api_watch_open(&t, &watches[i], DEFAULT_CMS "?watch=1&resourceVersion=5");
    }
    t.accept = forms[0];
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'},'data':{'k':'v'}}");
    for (size_t i = 0; i < FORMS; i++) {
        CHECK(watches[i].text.len > 0);
        CHECK(pl_slice_eq(pl_buf_slice(&watches[i].text), pl_buf_slice(&watches[FORMS + i].text)));
        for (size_t k = 0; k < i; k++)
            CHECK(!pl_slice_eq(pl_buf_slice(&watches[i].text), pl_buf_slice(&watches[k].text)));
    }
    for (size_t i = 0; i < 2 * FORMS; i++)
        api_watch_close(&watches[i]);
    api_close(&t);
}

TEST_MAIN()
