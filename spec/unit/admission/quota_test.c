#include "admission/quota.h"

#include "support/api_fixture.h"

/* Refusals were checked against kube-apiserver 1.37. */

#define NS     "/api/v1/namespaces/default"
#define QUOTAS NS "/resourcequotas"
#define PODS   NS "/pods"
#define POD(name, amounts)                                                                         \
    "{'metadata':{'name':'" name "'},'spec':{'containers':[{'name':'c','image':'i','resources':{"  \
    "'requests':{" amounts "}}}]}}"

static void make(struct api *t, const char *hard)
{
    char *body = pl_format("{'metadata':{'name':'q'},'spec':{'hard':%s}}", hard);
    CHECK_INT(api_post(t, QUOTAS, body), 201);
    pl_free(body);
}

TEST(a_quota_holds_from_its_first_moment)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}"), 201);
    make(&t, "{'count/configmaps':'2'}");
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'b'}}"), 201);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'c'}}"), 403);
    CHECK_AT(&t, "message",
             "'configmaps \\\"c\\\" is forbidden: exceeded quota: q, requested: "
             "count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2'");
    api_get(&t, QUOTAS "/q");
    CHECK_AT(&t, "status.used", "{'count/configmaps':'2'}");
    api_close(&t);
}

TEST(what_goes_is_given_back)
{
    struct api t;
    api_open(&t);
    make(&t, "{'count/configmaps':'1'}");
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'b'}}"), 403);
    api_delete(&t, DEFAULT_CMS "/a", NULL);
    api_advance(&t, 2 * PL_SECOND);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'b'}}"), 201);
    api_close(&t);
}

TEST(requests_are_added_and_must_be_said)
{
    struct api t;
    api_open(&t);
    make(&t, "{'requests.cpu':'1','requests.memory':'1Gi'}");
    CHECK_INT(api_post(&t, PODS, POD("a", "'cpu':'600m'")), 403);
    CHECK_AT(&t, "message",
             "'pods \\\"a\\\" is forbidden: failed quota: q: must specify requests.memory for: c'");
    CHECK_INT(api_post(&t, PODS, POD("a", "'cpu':'600m','memory':'512Mi'")), 201);
    api_get(&t, QUOTAS "/q");
    CHECK_AT(&t, "status.used", "{'requests.cpu':'600m','requests.memory':'512Mi'}");
    CHECK_INT(api_post(&t, PODS, POD("b", "'cpu':'500m','memory':'256Mi'")), 403);
    CHECK_INT(api_post(&t, PODS "?dryRun=All", POD("b", "'cpu':'400m','memory':'256Mi'")), 201);
    api_get(&t, QUOTAS "/q");
    CHECK_AT(&t, "status.used['requests.cpu']", "'600m'");
    api_close(&t);
}

TEST(what_is_counted_is_what_there_is)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, PODS, POD("a", "'cpu':'600m','memory':'512Mi'")), 201);
    CHECK_INT(api_post(&t, PODS, POD("b", "'cpu':'900m','memory':'512Mi'")), 201);
    make(&t, "{'pods':'9','requests.cpu':'9','requests.memory':'9Gi','services':'9'}");
    api_advance(&t, 2 * PL_SECOND);
    api_get(&t, QUOTAS "/q");
    CHECK_AT(&t, "status.used",
             "{'pods':'2','requests.cpu':'1500m','requests.memory':'1Gi','services':'0'}");
    CHECK_AT(&t, "status.hard.services", "'9'");
    api_close(&t);
}

TEST_MAIN()
