#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

static void make(struct api *t, const char *name)
{
    char *body = pl_format("{'metadata':{'name':'%s'}}", name);
    CHECK_INT(api_post(t, DEFAULT_CMS, body), 201);
    pl_free(body);
}

static int list_next(struct api *t, int limit)
{
    struct pl_scratch scratch;
    struct pl_slice token = pl_node_str(api_node(t, "metadata.continue"), &scratch);
    char *path = pl_format(DEFAULT_CMS "?limit=%d&continue=%.*s", limit, PL_FMT(token));
    int status = api_get(t, path);
    pl_free(path);
    return status;
}

TEST(lists_are_ordered_and_say_their_version)
{
    struct api t;
    api_open(&t);
    make(&t, "b");
    make(&t, "a");
    CHECK_INT(api_get(&t, DEFAULT_CMS), 200);
    CHECK_AT(&t, "kind", "'ConfigMapList'");
    CHECK_AT(&t, "metadata", "{'resourceVersion':'7'}");
    CHECK_AT(&t, "items[0].metadata.name", "'a'");
    CHECK_ABSENT(&t, "items[0].kind");
    CHECK_INT(api_get(&t, "/api/v1/namespaces/kube-system/configmaps"), 200);
    CHECK_AT(&t, "items", "[]");
    api_close(&t);
}

TEST(pages_show_one_moment)
{
    struct api t;
    api_open(&t);
    make(&t, "a");
    make(&t, "b");
    make(&t, "c");
    make(&t, "d");
    CHECK_INT(api_get(&t, DEFAULT_CMS "?limit=2"), 200);
    CHECK_AT(&t, "metadata.remainingItemCount", "2");
    struct pl_doc *first = pl_doc_ref(t.doc);
    api_delete(&t, DEFAULT_CMS "/c", NULL);
    api_merge(&t, DEFAULT_CMS "/d", "{'data':{'k':'v'}}");
    make(&t, "cc");
    pl_doc_unref(t.doc);
    t.doc = first;
    CHECK_INT(list_next(&t, 2), 200);
    CHECK_AT(&t, "metadata.resourceVersion", "'9'");
    CHECK_AT(&t, "items[0].metadata.name", "'c'");
    CHECK_AT(&t, "items[1].metadata.name", "'d'");
    CHECK_ABSENT(&t, "items[1].data");
    CHECK_ABSENT(&t, "metadata.continue");
    api_close(&t);
}

TEST(a_page_token_expires_with_the_history)
{
    struct api t;
    api_open(&t);
    make(&t, "a");
    make(&t, "b");
    api_get(&t, DEFAULT_CMS "?limit=1");
    struct pl_doc *first = pl_doc_ref(t.doc);
    make(&t, "c");
    api_post(&t, "/debug/compact", "");
    pl_doc_unref(t.doc);
    t.doc = first;
    CHECK_INT(list_next(&t, 1), 410);
    CHECK_AT(&t, "reason", "'Expired'");
    CHECK_INT(list_next(&t, 5), 200); /* with the token of the answer, inconsistent */
    CHECK_AT(&t, "items[0].metadata.name", "'b'");
    CHECK_INT(pl_node_len(api_node(&t, "items")), 2);
    CHECK_INT(api_get(&t, DEFAULT_CMS "?continue=abc"), 400);
    api_close(&t);
}

TEST(old_versions_can_be_listed_exactly)
{
    struct api t;
    api_open(&t);
    make(&t, "a");
    make(&t, "b");
    api_delete(&t, DEFAULT_CMS "/a", NULL);
    CHECK_INT(api_get(&t, DEFAULT_CMS "?resourceVersion=6&resourceVersionMatch=Exact"), 200);
    CHECK_AT(&t, "metadata.resourceVersion", "'6'");
    CHECK_INT(pl_node_len(api_node(&t, "items")), 1);
    CHECK_AT(&t, "items[0].metadata.name", "'a'");
    CHECK_INT(api_get(&t, DEFAULT_CMS "?resourceVersion=6"), 200);
    CHECK_AT(&t, "items[0].metadata.name", "'b'");
    CHECK_INT(api_get(&t, DEFAULT_CMS "?resourceVersion=6&limit=5"), 200);
    CHECK_AT(&t, "items[0].metadata.name", "'a'");
    CHECK_INT(api_get(&t, DEFAULT_CMS "?resourceVersion=0&limit=1"), 200);
    CHECK_ABSENT(&t, "metadata.continue");
    api_post(&t, "/debug/compact", "");
    CHECK_INT(api_get(&t, DEFAULT_CMS "?resourceVersion=6&resourceVersionMatch=Exact"), 410);
    CHECK_MESSAGE(&t, "The resourceVersion for the provided list is too old.");
    api_close(&t);
}

TEST(versions_to_come_time_out)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_get(&t, DEFAULT_CMS "?resourceVersion=999"), 504);
    CHECK_MESSAGE(&t, "Timeout: Too large resource version: 999, current: 5");
    CHECK_AT(&t, "details",
             "{'causes':[{'message':'Too large resource version','reason':"
             "'ResourceVersionTooLarge'}],'retryAfterSeconds':1}");
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a?resourceVersion=999"), 504);
    api_close(&t);
}

TEST(odd_options_are_refused)
{
    static const struct {
        const char *query;
        int status;
    } cases[] = {
        {"?resourceVersion=x", 400},
        {"?resourceVersionMatch=Exact", 422},
        {"?resourceVersion=0&resourceVersionMatch=Exact", 422},
        {"?resourceVersion=5&resourceVersionMatch=Foo", 422},
        {"?sendInitialEvents=true", 422},
        {"?limit=x", 400},
        {"?labelSelector=a%3D%3D%3Db", 400},
        {"?fieldSelector=data.x%3D1", 400},
    };
    struct api t;
    api_open(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char *path = pl_format(DEFAULT_CMS "%s", cases[i].query);
        CHECK_INT(api_get(&t, path), cases[i].status);
        pl_free(path);
    }
    api_close(&t);
}

TEST(a_name_with_a_nul_byte_is_no_other_object)
{
    struct api t;
    api_open(&t);
    make(&t, "a");
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a%00"), 404);
    CHECK_INT(api_get(&t, "/api/v1/namespaces/default%00/configmaps/a"), 404);
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a%00b", NULL), 404);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 200);
    api_close(&t);
}

TEST(metadata_alone_can_be_asked_for)
{
    struct api t;
    api_open(&t);
    make(&t, "a");
    t.accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 200);
    CHECK_AT(&t, "kind", "'PartialObjectMetadata'");
    t.accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    CHECK_INT(api_get(&t, DEFAULT_CMS), 200);
    CHECK_AT(&t, "kind", "'PartialObjectMetadataList'");
    CHECK_AT(&t, "items[0].kind", "'PartialObjectMetadata'");
    t.accept = "text/foo";
    CHECK_INT(api_get(&t, DEFAULT_CMS), 406);
    api_close(&t);
}

TEST(yaml_and_readable_json_can_be_asked_for)
{
    struct api t;
    api_open(&t);
    make(&t, "a");
    t.accept = "application/yaml";
    api_get(&t, DEFAULT_CMS "/a");
    CHECK(strstr(t.text, "kind: ConfigMap\n") != NULL);
    t.accept = NULL;
    t.agent = "curl/8";
    api_get(&t, DEFAULT_CMS "/a");
    CHECK(strstr(t.text, "{\n  \"kind\": \"ConfigMap\",\n") != NULL);
    api_close(&t);
}

TEST_MAIN()
