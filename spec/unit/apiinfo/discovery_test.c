#include "apiinfo/discovery.h"

#include "support/api_fixture.h"

TEST(groups_versions_and_resources_are_listed)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_get(&t, "/api"), 200);
    CHECK_AT(&t, "versions", "['v1']");
    CHECK_INT(api_get(&t, "/apis/apps"), 200);
    CHECK_AT(&t, "preferredVersion", "{'groupVersion':'apps/v1','version':'v1'}");
    CHECK_INT(api_get(&t, "/apis/"), 200);
    CHECK_AT(&t, "kind", "'APIGroupList'");
    CHECK_INT(api_get(&t, "/api/v1"), 200);
    CHECK_AT(&t, "resources[1].verbs", "['get','list']");
    CHECK_AT(&t, "resources[2]",
             "{'kind':'ConfigMap','name':'configmaps','namespaced':true,'shortNames':['cm'],"
             "'singularName':'configmap','storageVersionHash':'qFsyl6wFWjQ=','verbs':['create','"
             "delete','deletecollection','get',"
             "'list','patch','update','watch']}");
    CHECK_INT(api_get(&t, "/apis/events.k8s.io/v1"), 200);
    CHECK_AT(&t, "resources[0].kind", "'Event'");
    CHECK_INT(api_get(&t, "/apis/nope"), 404);
    CHECK_INT(api_send(&t, "POST", "/api", NULL, NULL), 405);
    api_close(&t);
}

TEST(health_and_version_are_told)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_get(&t, "/readyz"), 200);
    CHECK_STR(t.text, "ok");
    CHECK_INT(api_get(&t, "/healthz"), 200);
    CHECK_INT(api_get(&t, "/livez"), 200);
    CHECK_INT(api_get(&t, "/version"), 200);
    CHECK_AT(&t, "minor", "'37'");
    api_close(&t);
}

TEST_MAIN()
