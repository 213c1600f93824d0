#include "admission/prepare.h"

#include "support/api_fixture.h"

/* Every expectation was checked against kube-apiserver 1.37. */

#define SERVICES "/api/v1/namespaces/default/services"

TEST(services_are_given_addresses)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, SERVICES, "{'metadata':{'name':'s'},'spec':{'ports':[{'port':80}]}}"),
              201);
    CHECK_AT(&t, "spec",
             "{'clusterIP':'10.0.1.0','clusterIPs':['10.0.1.0'],'internalTrafficPolicy':"
             "'Cluster','ipFamilies':['IPv4'],'ipFamilyPolicy':'SingleStack','ports':[{'port':80,"
             "'protocol':'TCP','targetPort':80}],'sessionAffinity':'None','type':'ClusterIP'}");
    CHECK_AT(&t, "status", "{'loadBalancer':{}}");
    CHECK_INT(
        api_put(&t, SERVICES "/s", "{'metadata':{'name':'s'},'spec':{'ports':[{'port':81}]}}"),
        200);
    CHECK_AT(&t, "spec.clusterIP", "'10.0.1.0'");
    CHECK_INT(api_post(&t, SERVICES, "{'metadata':{'name':'h'},'spec':{'clusterIP':'None'}}"), 201);
    CHECK_AT(&t, "spec.clusterIPs", "['None']");
    CHECK_INT(api_post(&t, SERVICES,
                       "{'metadata':{'name':'e'},'spec':{'type':'ExternalName','externalName':"
                       "'x.y'}}"),
              201);
    CHECK_AT(&t, "spec", "{'externalName':'x.y','sessionAffinity':'None','type':'ExternalName'}");
    api_close(&t);
}

TEST(node_ports_come_and_go_with_the_type)
{
    struct api t;
    api_open(&t);
    api_post(&t, SERVICES,
             "{'metadata':{'name':'s'},'spec':{'type':'NodePort','ports':[{'port':80}]}}");
    CHECK_AT(&t, "spec.ports[0].nodePort", "30000");
    CHECK_AT(&t, "spec.externalTrafficPolicy", "'Cluster'");
    CHECK_INT(api_merge(&t, SERVICES "/s", "{'spec':{'type':'ClusterIP'}}"), 200);
    CHECK_ABSENT(&t, "spec.ports[0].nodePort");
    CHECK_ABSENT(&t, "spec.externalTrafficPolicy");
    api_close(&t);
}

TEST(the_class_of_service_follows_from_init_containers_too)
{
    static const char *const cases[][3] = {
        {"{'requests':{'cpu':'1'}}", "{}", "'Burstable'"},
        {"{'limits':{'cpu':'1','memory':'1Gi'}}", "{'limits':{'cpu':'1','memory':'1Gi'}}",
         "'Guaranteed'"},
        {"{}", "{'limits':{'cpu':'1','memory':'1Gi'}}", "'Burstable'"},
        {"{}", "{}", "'BestEffort'"}};
    struct api t;
    api_open(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char *body = pl_format("{'metadata':{'name':'p%zu'},'spec':{'initContainers':[{'name':'i',"
                               "'image':'n:1','resources':%s}],'containers':[{'name':'c','image':"
                               "'n:1','resources':%s}]}}",
                               i, cases[i][0], cases[i][1]);
        CHECK_INT(api_post(&t, "/api/v1/namespaces/default/pods", body), 201);
        CHECK_AT(&t, "status.qosClass", cases[i][2]);
        pl_free(body);
    }
    api_close(&t);
}

TEST(jobs_select_their_own_pods)
{
    struct api t;
    struct pl_scratch scratch;
    api_open(&t);
    CHECK_INT(api_post(&t, "/apis/batch/v1/namespaces/default/jobs",
                       "{'metadata':{'name':'j'},'spec':{'template':{'metadata':{'labels':{'a':'b'"
                       "}},'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'n:1'"
                       "}]}}}}"),
              201);
    char *uid = pl_format("'%.*s'", PL_FMT(pl_node_str(api_node(&t, "metadata.uid"), &scratch)));
    CHECK_AT(&t, "spec.selector.matchLabels[\"batch.kubernetes.io/controller-uid\"]", uid);
    CHECK_AT(&t, "spec.template.metadata.labels[\"job-name\"]", "'j'");
    CHECK_AT(&t, "metadata.labels.a", "'b'");
    CHECK_AT(&t, "spec.completions", "1");
    pl_free(uid);
    api_close(&t);
}

TEST(a_namespace_keeps_its_finalizer_until_the_server_takes_it)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_merge(&t, "/api/v1/namespaces/default", "{'spec':{'finalizers':null}}"), 200);
    CHECK_AT(&t, "spec.finalizers", "['kubernetes']");
    CHECK_AT(&t, "status", "{'phase':'Active'}");
    api_close(&t);
}

TEST(both_groups_of_events_show_the_same_event)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, "/apis/events.k8s.io/v1/namespaces/default/events",
                       "{'metadata':{'name':'e'},'regarding':{'kind':'Pod','name':'x','namespace':"
                       "'default'},'reason':'r','note':'m','type':'Normal','reportingController':"
                       "'a/b','reportingInstance':'i','action':'a','eventTime':"
                       "'2026-11-21T09:47:41.123456Z'}"),
              201);
    CHECK_AT(&t, "note", "'m'");
    CHECK_AT(&t, "deprecatedFirstTimestamp", "null");
    CHECK_INT(
        api_get(&t, "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dx"),
        200);
    CHECK_AT(&t, "items[0].message", "'m'");
    CHECK_AT(&t, "items[0].involvedObject.kind", "'Pod'");
    CHECK_AT(&t, "items[0].reportingComponent", "'a/b'");
    CHECK_INT(api_get(&t, "/apis/events.k8s.io/v1/namespaces/default/"
                          "events?fieldSelector=regarding.name%3Dx,type%3DNormal"),
              200);
    CHECK_INT(pl_node_len(api_node(&t, "items")), 1);
    api_close(&t);
}

TEST_MAIN()
