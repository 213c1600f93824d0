#include "apiinfo/debug.h"

#include "support/api_fixture.h"

TEST(requests_are_counted_by_verb_and_resource)
{
    struct api t;
    api_open(&t);
    api_get(&t, DEFAULT_CMS);
    api_get(&t, DEFAULT_CMS);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    api_get(&t, "/apis/apps/v1/namespaces/default/deployments/x/scale");
    CHECK_INT(api_get(&t, "/debug/requests"), 200);
    CHECK_STR(t.text, "{\"create configmaps\":1,\"get deployments/scale\":1,\"list "
                      "configmaps\":2}\n");
    api_close(&t);
}

TEST(writes_are_remembered_with_their_outcome)
{
    struct api t;
    api_open(&t);
    t.agent = "me/2";
    api_post(&t, DEFAULT_CMS "?fieldManager=m", "{'metadata':{'name':'a'}}");
    api_delete(&t, DEFAULT_CMS "/b", NULL);
    CHECK_INT(api_get(&t, "/debug/audit"), 200);
    CHECK_AT(&t, "[0]",
             "{'code':201,'fieldManager':'m','method':'POST','path':"
             "'/api/v1/namespaces/default/configmaps','userAgent':'me/2'}");
    CHECK_AT(&t, "[1].code", "404");
    api_close(&t);
}

TEST(lists_are_remembered_with_their_query_and_watches_that_begin_with_one)
{
    struct api t;
    api_open(&t);
    t.agent = "me/2";
    api_get(&t, DEFAULT_CMS "?limit=5&labelSelector=a%3Db");
    api_get(&t, DEFAULT_CMS "?resourceVersion=x");
    api_get(&t, DEFAULT_CMS "/a");
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    CHECK_INT(api_get(&t, "/debug/lists"), 200);
    CHECK_AT(&t, "",
             "[{'code':200,'fieldManager':'','method':'GET','path':"
             "'/api/v1/namespaces/default/configmaps?limit=5&labelSelector=a%3Db',"
             "'userAgent':'me/2'},{'code':400,'fieldManager':'','method':'GET','path':"
             "'/api/v1/namespaces/default/configmaps?resourceVersion=x','userAgent':'me/2'}]");
    api_close(&t);
}

TEST(other_debug_paths_do_not_exist)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_get(&t, "/debug/compact"), 404);
    CHECK_INT(api_get(&t, "/debug/pprof"), 404);
    api_close(&t);
}

TEST_MAIN()
