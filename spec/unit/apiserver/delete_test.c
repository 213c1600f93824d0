#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

TEST(a_deleted_object_is_named_in_the_answer)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a", NULL), 200);
    CHECK_AT(&t, "status", "'Success'");
    CHECK_AT(&t, "details.name", "'a'");
    CHECK_AT(&t, "details.kind", "'configmaps'");
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a", NULL), 404);
    CHECK_MESSAGE(&t, "configmaps \"a\" not found");
    api_close(&t);
}

TEST(some_kinds_answer_with_what_was_deleted)
{
    struct api t;
    api_open(&t);
    api_post(&t, "/api/v1/namespaces/default/serviceaccounts", "{'metadata':{'name':'s'}}");
    CHECK_INT(api_delete(&t, "/api/v1/namespaces/default/serviceaccounts/s", NULL), 200);
    CHECK_AT(&t, "kind", "'ServiceAccount'");
    CHECK_ABSENT(&t, "metadata.deletionTimestamp");
    api_close(&t);
}

TEST(preconditions_must_hold)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a", "{'preconditions':{'uid':'x'}}"), 409);
    CHECK_AT(&t, "reason", "'Conflict'");
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a", "{'preconditions':{'resourceVersion':'1'}}"), 409);
    CHECK_MESSAGE(&t, "Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in "
                      "the precondition (1) does not match the ResourceVersion in record (6). The "
                      "object might have been modified");
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a", "{'propagationPolicy':'Foo'}"), 422);
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a", "{'preconditions':{'resourceVersion':'6'}}"), 200);
    api_close(&t);
}

TEST(a_body_replaces_the_options_of_the_query)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a?propagationPolicy=", NULL), 422);
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a", "{'propagationPolicy':''}"), 422);
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a?dryRun=All", NULL), 200);
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a", "{'dryRun':['All']}"), 200);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 200);
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a?dryRun=All", "{'gracePeriodSeconds':1}"), 200);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 404);
    api_close(&t);
}

TEST(finalizers_keep_the_object_and_bump_its_generation)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    api_post(&t, WIDGETS,
             "{" WIDGET ",'metadata':{'name':'w','finalizers':['a.b/c']},'spec':{'size':1}}");
    CHECK_INT(api_delete(&t, WIDGETS "/w", NULL), 200);
    CHECK_AT(&t, "metadata.generation", "2");
    CHECK_AT(&t, "metadata.deletionGracePeriodSeconds", "0");
    CHECK_AT(&t, "metadata.resourceVersion", "'9'");
    CHECK_INT(api_delete(&t, WIDGETS "/w", NULL), 200);
    CHECK_AT(&t, "metadata.resourceVersion", "'9'");
    api_close(&t);
}

TEST(collections_are_deleted_by_selector)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a','labels':{'x':'1'}}}");
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'b','labels':{'x':'2'}}}");
    CHECK_INT(api_delete(&t, DEFAULT_CMS "?labelSelector=x%3D1", NULL), 200);
    CHECK_AT(&t, "kind", "'ConfigMapList'");
    CHECK_INT(pl_node_len(api_node(&t, "items")), 1);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 404);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/b"), 200);
    CHECK_INT(api_delete(&t, "/api/v1/namespaces", NULL), 405);
    api_close(&t);
}

TEST(namespaces_that_must_stay_stay)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_delete(&t, "/api/v1/namespaces/default", NULL), 403);
    CHECK_MESSAGE(&t, "namespaces \"default\" is forbidden: this namespace may not be deleted");
    api_close(&t);
}

TEST_MAIN()
