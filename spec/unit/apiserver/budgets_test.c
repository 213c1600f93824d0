#include "apiserver/budgets.h"

#include "support/api_fixture.h"

#define PODS    "/api/v1/namespaces/default/pods"
#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#define SETS    "/apis/apps/v1/namespaces/default/statefulsets"
#define BUDGET(spec)                                                                               \
    "{'metadata':{'name':'b'},'spec':{" spec ",'selector':{'matchLabels':{'a':'b'}}}}"

/* A text of the last answer. */
static void copy_text(const struct api *t, const char *path, char out[64])
{
    struct pl_scratch scratch;
    snprintf(out, 64, "%.*s", PL_FMT(pl_node_str(api_node(t, path), &scratch)));
}

/* Time for Pods to run, and then for their budgets to be counted. */
static void let_count(struct api *t)
{
    for (int i = 0; i < 4; i++)
        api_advance(t, PL_SECOND);
}

static void add_pod(struct api *t, const char *name, const char *owner)
{
    char text[512];
    snprintf(text, sizeof text,
             "{'metadata':{'name':'%s','labels':{'a':'b'}%s},'spec':{'containers':[{'name':'c',"
             "'image':'i'}]}}",
             name, owner);
    CHECK_INT(api_post(t, PODS, text), 201);
}

static void open_with_budget(struct api *t, const char *budget)
{
    api_open_with(t, (struct pl_api_options){.simulate = true});
    CHECK_INT(api_post(t, BUDGETS, budget), 201);
    add_pod(t, "p", "");
    add_pod(t, "q", "");
    add_pod(t, "r", "");
    let_count(t);
    CHECK_INT(api_get(t, BUDGETS "/b"), 200);
}

static int evict(struct api *t, const char *pod)
{
    char path[128], body[128];
    snprintf(path, sizeof path, PODS "/%s/eviction", pod);
    snprintf(body, sizeof body,
             "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'%s'}}", pod);
    return api_post(t, path, body);
}

TEST(the_ready_pods_of_a_budget_are_counted_and_evictions_obey)
{
    struct api t;
    open_with_budget(&t, BUDGET("'minAvailable':2"));
    CHECK_AT(&t, "status.currentHealthy", "3");
    CHECK_AT(&t, "status.desiredHealthy", "2");
    CHECK_AT(&t, "status.expectedPods", "3");
    CHECK_AT(&t, "status.disruptionsAllowed", "1");
    CHECK_AT(&t, "status.conditions[0].reason", "'SufficientPods'");
    CHECK_INT(evict(&t, "p"), 201);
    CHECK_INT(evict(&t, "q"), 429);
    let_count(&t);
    CHECK_INT(evict(&t, "q"), 429);
    CHECK_INT(api_get(&t, BUDGETS "/b"), 200);
    CHECK_AT(&t, "status.currentHealthy", "2");
    CHECK_AT(&t, "status.disruptionsAllowed", "0");
    CHECK_AT(&t, "status.conditions[0].reason", "'InsufficientPods'");
    add_pod(&t, "s", "");
    let_count(&t);
    CHECK_INT(evict(&t, "q"), 201);
    api_close(&t);
}

TEST(a_condition_keeps_its_time_while_its_status_stays)
{
    struct api t;
    char before[64], after[64];
    open_with_budget(&t, BUDGET("'minAvailable':2"));
    copy_text(&t, "status.conditions[0].lastTransitionTime", before);
    CHECK(before[0] != '\0');
    add_pod(&t, "s", "");
    let_count(&t);
    CHECK_INT(api_get(&t, BUDGETS "/b"), 200);
    CHECK_AT(&t, "status.disruptionsAllowed", "2");
    copy_text(&t, "status.conditions[0].lastTransitionTime", after);
    CHECK_STR(after, before);
    api_close(&t);
}

TEST(percentages_are_rounded_up)
{
    struct api t;
    open_with_budget(&t, BUDGET("'minAvailable':'34%'"));
    CHECK_AT(&t, "status.desiredHealthy", "2");
    api_close(&t);
    open_with_budget(&t, BUDGET("'maxUnavailable':'34%'"));
    CHECK_AT(&t, "status.desiredHealthy", "1");
    CHECK_AT(&t, "status.disruptionsAllowed", "2");
    api_close(&t);
}

TEST(as_many_pods_are_expected_as_their_controller_wants)
{
    struct api t;
    char owner[256], uid[64];
    open_with_budget(&t, BUDGET("'maxUnavailable':1"));
    CHECK_AT(&t, "status.disruptionsAllowed", "1");
    CHECK_INT(api_post(&t, SETS,
                       "{'metadata':{'name':'s'},'spec':{'replicas':4,'serviceName':'s',"
                       "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':"
                       "'b'}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}"),
              201);
    copy_text(&t, "metadata.uid", uid);
    snprintf(owner, sizeof owner,
             ",'ownerReferences':[{'apiVersion':'apps/v1','kind':'StatefulSet','name':'s','uid':"
             "'%s','controller':true}]",
             uid);
    add_pod(&t, "s-0", owner);
    add_pod(&t, "s-1", owner);
    let_count(&t);
    CHECK_INT(api_get(&t, BUDGETS "/b"), 200);
    CHECK_AT(&t, "status.expectedPods", "7");
    CHECK_AT(&t, "status.currentHealthy", "5");
    CHECK_AT(&t, "status.desiredHealthy", "6");
    CHECK_AT(&t, "status.disruptionsAllowed", "0");
    CHECK_INT(api_send(&t, "PATCH", SETS "/s", MERGE, "{'spec':{'replicas':2}}"), 200);
    let_count(&t);
    CHECK_INT(api_get(&t, BUDGETS "/b"), 200);
    CHECK_AT(&t, "status.expectedPods", "5");
    CHECK_AT(&t, "status.disruptionsAllowed", "1");
    api_close(&t);
}

TEST(a_count_that_changes_nothing_writes_nothing)
{
    struct api t;
    char before[64], after[64];
    open_with_budget(&t, BUDGET("'minAvailable':2"));
    copy_text(&t, "metadata.resourceVersion", before);
    CHECK_INT(api_send(&t, "PATCH", PODS "/p", MERGE, "{'metadata':{'labels':{'x':'y'}}}"), 200);
    let_count(&t);
    CHECK_INT(api_get(&t, BUDGETS "/b"), 200);
    copy_text(&t, "metadata.resourceVersion", after);
    CHECK_STR(after, before);
    api_close(&t);
}

TEST_MAIN()
