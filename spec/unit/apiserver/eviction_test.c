#include "apiserver/eviction.h"

#include "base/text.h"

#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

#define PODS    "/api/v1/namespaces/default/pods"
#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

static void make_pod(struct api *t)
{
    CHECK_INT(api_post(t, PODS,
                       "{'metadata':{'name':'p','labels':{'a':'b'}},'spec':{'containers':[{'name':"
                       "'c','image':'i'}]}}"),
              201);
}

static int evict(struct api *t, const char *query)
{
    char path[64];
    snprintf(path, sizeof(path), PODS "/p/eviction%s", query);
    return api_post(t, path,
                    "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'p'}}");
}

TEST(an_eviction_asks_the_budget_and_is_counted_there)
{
    struct api t;
    api_open(&t);
    make_pod(&t);
    CHECK_INT(api_merge(&t, PODS "/p/status", "{'status':{'phase':'Running'}}"), 200);
    CHECK_INT(api_post(&t, BUDGETS,
                       "{'metadata':{'name':'b'},'spec':{'minAvailable':1,'selector':{"
                       "'matchLabels':{'a':'b'}}}}"),
              201);
    CHECK_INT(evict(&t, ""), 429);
    CHECK_MESSAGE(&t, "Cannot evict pod as it would violate the pod's disruption budget.");
    CHECK_AT(&t, "details.causes[0].message",
             "'The disruption budget b is still being processed by the server.'");
    CHECK_AT(&t, "details.retryAfterSeconds", "10");
    CHECK_INT(
        api_merge(&t, BUDGETS "/b/status",
                  "{'status':{'observedGeneration':1,'desiredHealthy':1,'currentHealthy':1}}"),
        200);
    CHECK_INT(api_merge(&t, PODS "/p/status",
                        "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}"),
              200);
    CHECK_INT(evict(&t, ""), 429);
    CHECK_AT(&t, "details.causes[0].message",
             "'The disruption budget b needs 1 healthy pods and has 1 currently'");
    CHECK_INT(api_merge(&t, BUDGETS "/b/status", "{'status':{'disruptionsAllowed':1}}"), 200);
    CHECK_INT(evict(&t, "?dryRun=All"), 201);
    CHECK_INT(api_post(&t, PODS "/p/eviction",
                       "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'p'},"
                       "'deleteOptions':{'dryRun':['All']}}"),
              201);
    CHECK_INT(api_get(&t, BUDGETS "/b"), 200);
    CHECK_AT(&t, "status.disruptionsAllowed", "1");
    CHECK_INT(api_get(&t, PODS "/p"), 200);
    CHECK_INT(evict(&t, ""), 201);
    CHECK_INT(api_get(&t, PODS "/p"), 404);
    CHECK_INT(api_get(&t, BUDGETS "/b"), 200);
    CHECK_AT(&t, "status.disruptionsAllowed", "0");
    CHECK_AT(&t, "status.disruptedPods", "{'p':'2026-11-21T09:30:00Z'}");
    CHECK_AT(&t, "status.conditions",
             "[{'lastTransitionTime':'2026-11-21T09:30:00Z','message':'','observedGeneration':1,"
             "'reason':'InsufficientPods','status':'False','type':'DisruptionAllowed'}]");
    CHECK_INT(evict(&t, ""), 404);
    api_close(&t);
}

TEST(an_eviction_passes_admission_and_is_typed)
{
    static const char eviction[] =
        "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'p'}%s}";
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, PODS,
                       "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c',"
                       "'image':'i'}]}}"),
              201);
    char *wrong = pl_format(eviction, ",'deleteOptions':{'gracePeriodSeconds':'x'}");
    CHECK_INT(api_post(&t, PODS "/p/eviction", wrong), 400);
    pl_free(wrong);
    char *dry = pl_format(eviction, ",'deleteOptions':{'dryRun':['All']}");
    CHECK_INT(api_post(&t, PODS "/p/eviction", dry), 201);
    CHECK_INT(api_get(&t, PODS "/p"), 200);
    pl_free(dry);
    CHECK_INT(
        api_post(
            &t, "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
            "{'metadata':{'name':'a'},'spec':{'matchConstraints':{'resourceRules':[{"
            "'apiGroups':[''],'apiVersions':['v1'],'operations':['CREATE'],'resources':["
            "'pods/eviction']}]},'validations':[{'expression':'request.kind.kind.size() == 3','"
            "message':'none'}]}}"),
        201);
    CHECK_INT(
        api_post(
            &t, "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
            "{'metadata':{'name':'a'},'spec':{'policyName':'a','validationActions':['Deny']}}"),
        201);
    char *plain = pl_format(eviction, "");
    CHECK_INT(api_post(&t, PODS "/p/eviction", plain), 422);
    CHECK_MESSAGE(&t,
                  "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'a' denied "
                  "request: none");
    pl_free(plain);
    api_close(&t);
}

/* As in kube-apiserver: a Pod that is not ready does not count as healthy. */
TEST(an_unready_pod_is_evicted_while_enough_others_are_healthy)
{
    struct api t;
    api_open(&t);
    make_pod(&t);
    CHECK_INT(api_merge(&t, PODS "/p/status", "{'status':{'phase':'Running'}}"), 200);
    CHECK_INT(api_post(&t, BUDGETS,
                       "{'metadata':{'name':'b'},'spec':{'minAvailable':2,'selector':{"
                       "'matchLabels':{'a':'b'}}}}"),
              201);
    CHECK_INT(
        api_merge(&t, BUDGETS "/b/status",
                  "{'status':{'observedGeneration':1,'desiredHealthy':2,'currentHealthy':1}}"),
        200);
    CHECK_INT(evict(&t, "?dryRun=All"), 429);
    CHECK_INT(api_merge(&t, BUDGETS "/b", "{'spec':{'unhealthyPodEvictionPolicy':'AlwaysAllow'}}"),
              200);
    CHECK_INT(evict(&t, "?dryRun=All"), 201);
    CHECK_INT(
        api_merge(&t, BUDGETS "/b", "{'spec':{'unhealthyPodEvictionPolicy':'IfHealthyBudget'}}"),
        200);
    CHECK_INT(evict(&t, "?dryRun=All"), 429);
    CHECK_INT(api_merge(&t, BUDGETS "/b/status", "{'status':{'currentHealthy':2}}"), 200);
    CHECK_INT(evict(&t, ""), 201);
    CHECK_INT(api_get(&t, PODS "/p"), 404);
    CHECK_INT(api_get(&t, BUDGETS "/b"), 200);
    CHECK_ABSENT(&t, "status.disruptedPods");
    api_close(&t);
}

static int evict_at(struct api *t, const char *version)
{
    char body[256];
    snprintf(body, sizeof body,
             "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'p'},'deleteOptions':"
             "{'preconditions':{'resourceVersion':'%s'}}}",
             version);
    return api_post(t, PODS "/p/eviction", body);
}

/* An eviction notes its reason in the Pod, which makes a new version. */
TEST(an_eviction_of_one_version_is_not_hindered_by_its_own_note)
{
    struct api t;
    struct pl_scratch scratch;
    api_open(&t);
    make_pod(&t);
    CHECK_INT(api_get(&t, PODS "/p"), 200);
    char *version = pl_text_copy(pl_node_str(api_node(&t, "metadata.resourceVersion"), &scratch));
    CHECK_INT(evict_at(&t, "1"), 409);
    CHECK_INT(api_get(&t, PODS "/p"), 200);
    CHECK_SLICE(pl_node_str(api_node(&t, "metadata.resourceVersion"), &scratch), version);
    CHECK_INT(evict_at(&t, version), 201);
    CHECK_INT(api_get(&t, PODS "/p"), 404);
    pl_free(version);
    api_close(&t);
}

TEST_MAIN()
