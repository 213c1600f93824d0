#include "apicall/rbac.h"

#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

#define RBAC     "/apis/rbac.authorization.k8s.io/v1/"
#define ROLES    RBAC "namespaces/default/roles"
#define BINDINGS RBAC "namespaces/default/rolebindings"
#define TO_JANE  "'subjects':[{'kind':'User','name':'jane','apiGroup':'rbac.authorization.k8s.io'}]"

static void open_as_jane(struct api *t)
{
    api_open_cluster(t, (struct pl_api_options){.token = "secret"});
    t->authorization = "Bearer secret";
}

static void speak_for(struct api *t, const char *user)
{
    t->impersonate[0] = (struct pl_http_header){user != NULL ? "impersonate-user" : NULL, user};
}

static void give(struct api *t, const char *rules)
{
    char body[512];
    snprintf(body, sizeof(body), "{'metadata':{'name':'r'},'rules':[%s]}", rules);
    CHECK_INT(api_put(t, ROLES "/r", body) / 100, 2);
    CHECK_INT(api_put(t, BINDINGS "/b",
                      "{'metadata':{'name':'b'},'roleRef':{'kind':'Role','name':'r','apiGroup':'"
                      "rbac.authorization.k8s.io'"
                      "}," TO_JANE "}") /
                  100,
              2);
}

TEST(a_stranger_is_told_what_is_missing)
{
    struct api t;
    open_as_jane(&t);
    speak_for(&t, "jane");
    CHECK_INT(api_get(&t, DEFAULT_CMS), 403);
    CHECK_MESSAGE(&t,
                  "configmaps is forbidden: User \"jane\" cannot list resource \"configmaps\" in "
                  "API group \"\" in the namespace \"default\"");
    CHECK_INT(api_get(&t, "/apis/apps/v1/namespaces/default/deployments/d/scale"), 403);
    CHECK_MESSAGE(&t, "deployments.apps \"d\" is forbidden: User \"jane\" cannot get resource "
                      "\"deployments/scale\" in API group \"apps\" in the namespace \"default\"");
    CHECK_INT(api_get(&t, "/api/v1/namespaces/default"), 403);
    CHECK_MESSAGE(&t, "namespaces \"default\" is forbidden: User \"jane\" cannot get resource "
                      "\"namespaces\" in API group \"\" in the namespace \"default\"");
    CHECK_INT(api_get(&t, "/debug/audit"), 403);
    CHECK_MESSAGE(&t, "forbidden: User \"jane\" cannot get path \"/debug/audit\"");
    CHECK_INT(api_get(&t, "/apis"), 200);
    api_close(&t);
}

TEST(a_role_gives_verbs_resources_and_names)
{
    struct api t;
    open_as_jane(&t);
    give(&t, "{'apiGroups':[''],'resources':['configmaps'],'resourceNames':['a'],'verbs':['get',"
             "'list']},{'apiGroups':['*'],'resources':['*/scale','secrets'],'verbs':['*']}");
    speak_for(&t, "jane");
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 404);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/b"), 403);
    CHECK_INT(api_get(&t, DEFAULT_CMS), 403);
    CHECK_INT(api_get(&t, DEFAULT_CMS "?fieldSelector=metadata.name%3Da"), 200);
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a", NULL), 403);
    CHECK_INT(api_get(&t, "/apis/apps/v1/namespaces/default/deployments/d/scale"), 404);
    CHECK_INT(api_get(&t, "/apis/apps/v1/namespaces/default/deployments/d"), 403);
    CHECK_INT(api_get(&t, "/api/v1/namespaces/default/secrets"), 200);
    CHECK_INT(api_get(&t, "/api/v1/namespaces/kube-system/secrets"), 403);
    CHECK_INT(api_get(&t, "/api/v1/secrets"), 403);
    api_close(&t);
}

TEST(a_patch_that_makes_needs_the_right_to_create)
{
    struct api t;
    open_as_jane(&t);
    give(&t, "{'apiGroups':[''],'resources':['configmaps'],'verbs':['patch']}");
    speak_for(&t, "jane");
    CHECK_INT(api_apply(&t, DEFAULT_CMS "/a?fieldManager=m",
                        "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a'}}"),
              403);
    speak_for(&t, NULL);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 404);
    api_close(&t);
}

TEST(what_is_aggregated_is_given)
{
    struct api t;
    open_as_jane(&t);
    CHECK_INT(api_post(&t, BINDINGS,
                       "{'metadata':{'name':'v'},'roleRef':{'kind':'ClusterRole','name':'view',"
                       "'apiGroup':'rbac.authorization.k8s.io'}," TO_JANE "}"),
              201);
    speak_for(&t, "jane");
    CHECK_INT(api_get(&t, DEFAULT_CMS), 200);
    CHECK_INT(api_get(&t, "/api/v1/namespaces/default/secrets"), 403);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}"), 403);
    speak_for(&t, NULL);
    CHECK_INT(api_post(&t, RBAC "clusterroles",
                       "{'metadata':{'name':'more','labels':{'rbac.authorization.k8s.io/"
                       "aggregate-to-view':'true'}},'rules':[{'apiGroups':[''],'resources':["
                       "'secrets'],'verbs':['list']}]}"),
              201);
    speak_for(&t, "jane");
    CHECK_INT(api_get(&t, "/api/v1/namespaces/default/secrets"), 200);
    api_close(&t);
}

TEST(nobody_gives_what_he_has_not)
{
    struct api t;
    open_as_jane(&t);
    give(&t, "{'apiGroups':['rbac.authorization.k8s.io'],'resources':['roles','rolebindings'],"
             "'verbs':['create','update','get']},"
             "{'apiGroups':[''],'resources':['pods'],'verbs':['get']}");
    speak_for(&t, "jane");
    CHECK_INT(api_post(&t, ROLES,
                       "{'metadata':{'name':'m'},'rules':[{'apiGroups':[''],'resources':['pods'],"
                       "'verbs':['get','list']},{'apiGroups':[''],'resources':['secrets'],"
                       "'verbs':['get']}]}"),
              403);
    CHECK_MESSAGE(&t, "roles.rbac.authorization.k8s.io \"m\" is forbidden: user \"jane\" "
                      "(groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions "
                      "not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], "
                      "Verbs:[\"list\"]}\n{APIGroups:[\"\"], Resources:[\"secrets\"], "
                      "Verbs:[\"get\"]}");
    CHECK_INT(api_post(&t, ROLES,
                       "{'metadata':{'name':'m'},'rules':[{'apiGroups':[''],'resources':['pods'],"
                       "'resourceNames':['x'],'verbs':['get']}]}"),
              201);
    CHECK_INT(api_post(&t, BINDINGS,
                       "{'metadata':{'name':'x'},'roleRef':{'kind':'ClusterRole','name':"
                       "'cluster-admin','apiGroup':'rbac.authorization.k8s.io'}}"),
              403);
    CHECK_INT(api_post(&t, BINDINGS,
                       "{'metadata':{'name':'x'},'roleRef':{'kind':'Role','name':"
                       "'m','apiGroup':'rbac.authorization.k8s.io'}}"),
              201);
    api_close(&t);
}

TEST(who_speaks_for_others_needs_a_right)
{
    struct api t;
    open_as_jane(&t);
    CHECK_INT(api_post(&t, RBAC "clusterroles",
                       "{'metadata':{'name':'i'},'rules':[{'apiGroups':[''],'resources':['users'],"
                       "'resourceNames':['bob'],'verbs':['impersonate']},{'apiGroups':[''],"
                       "'resources':['serviceaccounts/token'],'verbs':['create']}]}"),
              201);
    CHECK_INT(api_post(&t, RBAC "clusterrolebindings",
                       "{'metadata':{'name':'i'},'roleRef':{'kind':'ClusterRole','name':'i',"
                       "'apiGroup':'rbac.authorization.k8s.io'},'subjects':[{'kind':"
                       "'ServiceAccount','name':'s','namespace':'default'}]}"),
              201);
    CHECK_INT(
        api_post(&t, "/api/v1/namespaces/default/serviceaccounts", "{'metadata':{'name':'s'}}"),
        201);
    CHECK_INT(api_post(&t, "/api/v1/namespaces/default/serviceaccounts/s/token", "{'spec':{}}"),
              201);
    struct pl_scratch scratch;
    struct pl_slice token = pl_node_str(api_node(&t, "status.token"), &scratch);
    char *bearer = pl_format("Bearer %.*s", PL_FMT(token));
    t.authorization = bearer;
    CHECK_INT(api_post(&t, "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}"), 201);
    CHECK_AT(&t, "status.userInfo.username", "'system:serviceaccount:default:s'");
    speak_for(&t, "bob");
    CHECK_INT(api_post(&t, "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}"), 201);
    CHECK_AT(&t, "status.userInfo", "{'groups':['system:authenticated'],'username':'bob'}");
    speak_for(&t, "admin");
    CHECK_INT(api_get(&t, "/api"), 403);
    t.impersonate[0] = (struct pl_http_header){"impersonate-group", "system:masters"};
    CHECK_INT(api_get(&t, "/api"), 400);
    pl_free(bearer);
    api_close(&t);
}

TEST_MAIN()
