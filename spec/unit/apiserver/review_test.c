#include "apiserver/review.h"

#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37, which adds managedFields. */

#define AUTHORIZATION  "/apis/authorization.k8s.io/v1/"
#define AUTHENTICATION "/apis/authentication.k8s.io/v1/"
#define LOCAL          "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"
#define PODS           "'resourceAttributes':{'verb':'get','resource':'pods','namespace':'default'}"

static void check_allowed(struct api *t, const char *path, const char *spec)
{
    char body[256];
    snprintf(body, sizeof(body), "{'spec':{%s}}", spec);
    CHECK_INT(api_post(t, path, body), 201);
    CHECK_AT(t, "status", "{'allowed':true}");
    CHECK_AT(t, "spec.resourceAttributes.resource", "'pods'");
    CHECK_ABSENT(t, "metadata.name");
}

TEST(the_administrator_may_do_everything)
{
    struct api t;
    api_open(&t);
    check_allowed(&t, AUTHORIZATION "selfsubjectaccessreviews", PODS);
    CHECK_AT(&t, "kind", "'SelfSubjectAccessReview'");
    CHECK_AT(&t, "apiVersion", "'authorization.k8s.io/v1'");
    check_allowed(&t, AUTHORIZATION "subjectaccessreviews", "'groups':['system:masters']," PODS);
    check_allowed(&t, LOCAL, "'groups':['system:masters']," PODS);
    CHECK_AT(&t, "metadata.namespace", "'default'");
    api_close(&t);
}

TEST(others_may_what_a_binding_gives_them)
{
    struct api t;
    api_open_cluster(&t, (struct pl_api_options){0});
    CHECK_INT(
        api_post(&t, AUTHORIZATION "subjectaccessreviews", "{'spec':{'user':'jane'," PODS "}}"),
        201);
    CHECK_AT(&t, "status", "{'allowed':false}");
    CHECK_INT(api_post(&t, AUTHORIZATION "subjectaccessreviews",
                       "{'spec':{'user':'jane','groups':['system:authenticated'],"
                       "'nonResourceAttributes':{'path':'/apis/apps','verb':'get'}}}"),
              201);
    CHECK_AT(&t, "status.allowed", "true");
    CHECK_AT(&t, "status.reason",
             "'RBAC: allowed by ClusterRoleBinding \\\"system:discovery\\\" of ClusterRole "
             "\\\"system:discovery\\\" to Group \\\"system:authenticated\\\"'");
    api_close(&t);
}

TEST(who_asks_for_rules_may_do_everything)
{
    struct api t;
    api_open(&t);
    CHECK_INT(
        api_post(&t, AUTHORIZATION "selfsubjectrulesreviews", "{'spec':{'namespace':'default'}}"),
        201);
    CHECK_AT(&t, "status",
             "{'incomplete':false,'nonResourceRules':[{'nonResourceURLs':['*'],'verbs':['*']}],"
             "'resourceRules':[{'apiGroups':['*'],'resources':['*'],'verbs':['*']}]}");
    CHECK_INT(api_post(&t, AUTHORIZATION "selfsubjectrulesreviews", "{'spec':{}}"), 400);
    CHECK_MESSAGE(&t, "no namespace on request");
    api_close(&t);
}

#define ME "{'groups':['system:masters','system:authenticated'],'username':'perilune'}"

TEST(who_asks_is_told_who_they_are)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, AUTHENTICATION "selfsubjectreviews", "{}"), 201);
    CHECK_AT(&t, "status.userInfo", ME);
    api_close(&t);
}

TEST(a_token_is_reviewed_as_a_request_would_be)
{
    struct api t;
    api_open_with(&t, (struct pl_api_options){.token = "secret"});
    t.authorization = "Bearer secret";
    CHECK_INT(api_post(&t, AUTHENTICATION "tokenreviews",
                       "{'spec':{'token':'secret','audiences':['a']}}"),
              201);
    CHECK_AT(&t, "status", "{'audiences':['a'],'authenticated':true,'user':" ME "}");
    CHECK_INT(api_post(&t, AUTHENTICATION "tokenreviews", "{'spec':{'token':'other'}}"), 201);
    CHECK_AT(&t, "status", "{'error':'invalid bearer token','user':{}}");
    CHECK_INT(api_post(&t, AUTHENTICATION "tokenreviews", "{'spec':{}}"), 400);
    CHECK_MESSAGE(&t, "token is required for TokenReview in authentication");
    api_close(&t);
}

TEST(any_token_does_where_none_is_asked_for)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, AUTHENTICATION "tokenreviews", "{'spec':{'token':'x'}}"), 201);
    CHECK_AT(&t, "status.authenticated", "true");
    api_close(&t);
}

TEST(reviews_must_say_what_they_ask)
{
    static const struct {
        const char *path, *spec, *message;
    } cases[] = {
        {AUTHORIZATION "subjectaccessreviews", "'user':'jane'",
         ".authorization.k8s.io \"\" is invalid: spec: Invalid value: null: exactly one of "
         "nonResourceAttributes or resourceAttributes must be "
         "specified"},
        {AUTHORIZATION "subjectaccessreviews", PODS,
         ".authorization.k8s.io \"\" is invalid: spec.user: Invalid value: "
         "\"\": at least one of user or group must be specified"},
        {AUTHORIZATION "subjectaccessreviews", "'user':'a'," PODS ",'nonResourceAttributes':{}",
         ".authorization.k8s.io \"\" is invalid: spec: Invalid value: "
         "{\"Path\":\"\",\"Verb\":\"\"}: exactly one of "
         "nonResourceAttributes or resourceAttributes must be specified"},
        {LOCAL, "'user':'jane','resourceAttributes':{'namespace':'other'}",
         ".authorization.k8s.io \"\" is invalid: "
         "spec.resourceAttributes.namespace: Invalid value: \"other\": must match "
         "metadata.namespace"},
        {LOCAL, "'user':'jane','nonResourceAttributes':{'path':'/'}",
         ".authorization.k8s.io \"\" is invalid: "
         "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/\",\"Verb\":\"\"}: disallowed on "
         "this kind of request"},
    };
    struct api t;
    char body[256];
    api_open(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        snprintf(body, sizeof(body), "{'spec':{%s}}", cases[i].spec);
        CHECK_INT(api_post(&t, cases[i].path, body), 422);
        CHECK_MESSAGE(&t, cases[i].message);
    }
    api_close(&t);
}

TEST(reviews_can_only_be_created)
{
    struct api t;
    api_open(&t);
    check_allowed(&t, AUTHORIZATION "selfsubjectaccessreviews", PODS);
    CHECK_INT(api_get(&t, AUTHORIZATION "selfsubjectaccessreviews"), 405);
    CHECK_INT(api_get(&t, AUTHORIZATION "selfsubjectaccessreviews?watch=1"), 405);
    CHECK_INT(api_get(&t, AUTHORIZATION "selfsubjectaccessreviews/a"), 405);
    CHECK_INT(api_delete(&t, AUTHORIZATION "selfsubjectaccessreviews", NULL), 405);
    CHECK_INT(api_get(&t, AUTHORIZATION), 200);
    CHECK_AT(&t, "resources[0].name", "'localsubjectaccessreviews'");
    for (int i = 0; i < 4; i++) {
        char path[40];
        snprintf(path, sizeof(path), "resources[%d].verbs", i);
        CHECK_AT(&t, path, "['create']");
    }
    api_close(&t);
}

TEST_MAIN()
