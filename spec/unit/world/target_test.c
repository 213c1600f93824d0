/* The readable names of requests. */
#include "world/target.h"

#include "support/test.h"

static void check(const char *method, const char *url, const char *verb, const char *object,
                  const char *subresource, bool writes)
{
    struct pl_target target;
    pl_target_parse(&target, method, url);
    CHECK_STR(target.verb, verb);
    CHECK_STR(target.object, object);
    CHECK_STR(target.subresource, subresource);
    CHECK_INT(target.writes, writes);
    pl_target_deinit(&target);
}

TEST(objects_have_their_resource_namespace_and_name)
{
    check("GET", "http://world/api/v1/namespaces/default/pods/a", "get", "v1/pods default/a", "",
          false);
    check("GET", "http://world/apis/apps/v1/deployments?limit=500", "list", "apps/v1/deployments",
          "", false);
    check("POST", "http://world/apis/apps/v1/namespaces/team-a/deployments", "create",
          "apps/v1/deployments team-a", "", true);
    check("PATCH", "http://world/apis/ex.com/v1/namespaces/d/sites/x/status?force=true", "patch",
          "ex.com/v1/sites d/x", "status", true);
    check("DELETE", "http://world/api/v1/namespaces/gone", "delete", "v1/namespaces gone", "",
          true);
    check("DELETE", "http://world/api/v1/namespaces/d/pods", "deletecollection", "v1/pods d", "",
          true);
}

TEST(watches_and_dry_runs_are_told_by_their_parameters)
{
    check("GET", "http://world/api/v1/pods?watch=true&resourceVersion=4", "watch", "v1/pods", "",
          false);
    check("GET", "http://world/api/v1/pods?allowWatch=true", "list", "v1/pods", "", false);
    check("PUT", "http://world/api/v1/namespaces/d/pods/a?dryRun=All", "update", "v1/pods d/a", "",
          false);
}

TEST(what_is_no_resource_keeps_its_path)
{
    check("GET", "http://world/version", "get", "/version", "", false);
    check("GET", "http://world/apis/apps/v1?timeout=32s", "get", "/apis/apps/v1", "", false);
    check("GET", "http://world", "get", "/", "", false);
    check("GET", "/", "get", "/", "", false);
}

TEST_MAIN()
