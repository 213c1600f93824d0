#include "apiserver/actors.h"

#include "support/api_fixture.h"

#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define SETS        "/apis/apps/v1/namespaces/default/statefulsets"
#define JOBS        "/apis/batch/v1/namespaces/default/jobs"
#define PODS        "/api/v1/namespaces/default/pods"
#define CLAIMS      "/api/v1/namespaces/default/persistentvolumeclaims"
#define TEMPLATE                                                                                   \
    "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{"    \
    "'containers':[{'name':'c','image':'i'}]}}"
#define POD "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i'}]}}"

static void open_simulated(struct api *t)
{
    api_open_with(t, (struct pl_api_options){.simulate = true});
}

TEST(a_deployment_is_rolled_out_after_a_second)
{
    struct api t;
    open_simulated(&t);
    CHECK_INT(
        api_post(&t, DEPLOYMENTS, "{'metadata':{'name':'d'},'spec':{'replicas':3," TEMPLATE "}}"),
        201);
    api_advance(&t, PL_SECOND / 2);
    api_get(&t, DEPLOYMENTS "/d");
    CHECK_AT(&t, "status", "{}");
    api_advance(&t, PL_SECOND);
    api_get(&t, DEPLOYMENTS "/d");
    CHECK_AT(&t, "status.readyReplicas", "3");
    CHECK_AT(&t, "status.observedGeneration", "1");
    CHECK_AT(&t, "status.conditions[0].type", "'Available'");
    CHECK_AT(&t, "metadata.generation", "1");
    api_close(&t);
}

TEST(each_change_of_the_scale_is_rolled_out)
{
    struct api t;
    open_simulated(&t);
    api_post(&t, SETS, "{'metadata':{'name':'s'},'spec':{'serviceName':'s'," TEMPLATE "}}");
    api_advance(&t, 2 * PL_SECOND);
    CHECK_INT(api_send(&t, "PATCH", SETS "/s", MERGE, "{'spec':{'replicas':2}}"), 200);
    CHECK_AT(&t, "status.readyReplicas", "1");
    api_advance(&t, 2 * PL_SECOND);
    api_get(&t, SETS "/s");
    CHECK_AT(&t, "status.readyReplicas", "2");
    CHECK_AT(&t, "status.observedGeneration", "2");
    api_close(&t);
}

TEST(a_replica_set_gets_its_replicas)
{
    struct api t;
    open_simulated(&t);
    CHECK_INT(api_post(&t, "/apis/apps/v1/namespaces/default/replicasets",
                       "{'metadata':{'name':'r'},'spec':{'replicas':2," TEMPLATE "}}"),
              201);
    api_advance(&t, 2 * PL_SECOND);
    api_get(&t, "/apis/apps/v1/namespaces/default/replicasets/r");
    CHECK_AT(&t, "status.availableReplicas", "2");
    CHECK_AT(&t, "status.fullyLabeledReplicas", "2");
    CHECK_ABSENT(&t, "status.updatedReplicas");
    api_close(&t);
}

TEST(jobs_complete_unless_they_are_suspended)
{
    struct api t;
    open_simulated(&t);
#define JOB(name, more)                                                                            \
    "{'metadata':{'name':'" name "'},'spec':{" more "'template':{'spec':{'restartPolicy':'Never'," \
    "'containers':[{'name':'c','image':'i'}]}}}}"
    CHECK_INT(api_post(&t, JOBS, JOB("j", "'completions':2,")), 201);
    CHECK_INT(api_post(&t, JOBS, JOB("k", "'suspend':true,")), 201);
    api_advance(&t, 2 * PL_SECOND);
    api_get(&t, JOBS "/j");
    CHECK_AT(&t, "status.succeeded", "2");
    CHECK_AT(&t, "status.conditions[1].type", "'Complete'");
    api_get(&t, JOBS "/k");
    CHECK_AT(&t, "status", "{}");
    CHECK_INT(api_send(&t, "PATCH", JOBS "/k", MERGE, "{'spec':{'suspend':false}}"), 200);
    api_advance(&t, 2 * PL_SECOND);
    api_get(&t, JOBS "/k");
    CHECK_AT(&t, "status.succeeded", "1");
    api_close(&t);
}

TEST(pods_run_and_claims_are_bound)
{
    struct api t;
    open_simulated(&t);
    CHECK_INT(api_post(&t, PODS, POD), 201);
    CHECK_INT(api_post(&t, CLAIMS,
                       "{'metadata':{'name':'c'},'spec':{'accessModes':['ReadWriteOnce'],"
                       "'resources':{'requests':{'storage':'1Gi'}}}}"),
              201);
    api_advance(&t, 2 * PL_SECOND);
    api_get(&t, PODS "/p");
    CHECK_AT(&t, "status.phase", "'Running'");
    CHECK_AT(&t, "status.conditions[3].type", "'Ready'");
    CHECK_AT(&t, "status.containerStatuses[0].ready", "true");
    api_get(&t, CLAIMS "/c");
    CHECK_AT(&t, "status.phase", "'Bound'");
    CHECK_AT(&t, "status.capacity.storage", "'1Gi'");
    api_close(&t);
}

TEST(a_pod_on_a_node_that_is_deleted_is_gone_after_a_second)
{
    struct api t;
    open_simulated(&t);
    CHECK_INT(api_post(&t, PODS,
                       "{'metadata':{'name':'p'},'spec':{'nodeName':'n','containers':[{'name':'c',"
                       "'image':'i'}]}}"),
              201);
    api_advance(&t, 2 * PL_SECOND);
    CHECK_INT(api_delete(&t, PODS "/p", NULL), 200);
    CHECK_INT(api_get(&t, PODS "/p"), 200);
    CHECK_AT(&t, "metadata.deletionGracePeriodSeconds", "30");
    api_advance(&t, 2 * PL_SECOND);
    CHECK_INT(api_get(&t, PODS "/p"), 404);
    api_close(&t);
}

TEST(a_job_that_has_failed_is_left_alone)
{
    struct api t;
    open_simulated(&t);
    CHECK_INT(api_post(&t, JOBS, JOB("j", "")), 201);
    CHECK_INT(api_send(&t, "PATCH", JOBS "/j/status", MERGE,
                       "{'status':{'startTime':'2026-01-01T00:00:00Z','conditions':[{'type':"
                       "'FailureTarget','status':'True'},{'type':'Failed','status':'True'}]}}"),
              200);
    api_advance(&t, 2 * PL_SECOND);
    CHECK_INT(api_get(&t, JOBS "/j"), 200);
    CHECK_AT(&t, "status.conditions[1].type", "'Failed'");
    api_close(&t);
}

TEST(what_is_gone_or_replaced_meanwhile_is_left_alone)
{
    struct api t;
    open_simulated(&t);
    api_post(&t, PODS, POD);
    api_advance(&t, PL_SECOND / 2);
    api_delete(&t, PODS "/p", NULL);
    api_post(&t, PODS, POD);
    api_advance(&t, 3 * PL_SECOND / 4);
    api_get(&t, PODS "/p");
    CHECK_AT(&t, "status.phase", "'Pending'");
    api_advance(&t, PL_SECOND / 2);
    api_get(&t, PODS "/p");
    CHECK_AT(&t, "status.phase", "'Running'");
    api_delete(&t, PODS "/p", NULL);
    api_post(&t, PODS, POD);
    api_close(&t); /* with a note that is still waiting */
}

TEST(without_actors_nothing_happens)
{
    struct api t;
    api_open(&t);
    api_post(&t, PODS, POD);
    api_advance(&t, 10 * PL_SECOND);
    api_get(&t, PODS "/p");
    CHECK_AT(&t, "status.phase", "'Pending'");
    api_close(&t);
}

TEST_MAIN()
