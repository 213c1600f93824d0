#include "apiserver/pods.h"

#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

#define PODS "/api/v1/namespaces/default/pods"
#define SPEC "'spec':{'containers':[{'name':'c','image':'i'}]"

static void make_pod(struct api *t, const char *more)
{
    char body[256];
    snprintf(body, sizeof(body), "{'metadata':{'name':'p','labels':{'a':'b'}}," SPEC "%s}}", more);
    CHECK_INT(api_post(t, PODS, body), 201);
}

TEST(a_pod_is_bound_once)
{
    struct api t;
    api_open(&t);
    make_pod(&t, "");
    CHECK_INT(api_post(&t, PODS "/p/binding", "{'metadata':{'name':'p'},'target':{'name':''}}"),
              500);
    CHECK_MESSAGE(&t, "target.name: Required value");
    CHECK_INT(api_post(&t, PODS "/p/binding",
                       "{'metadata':{'name':'p'},'target':{'kind':'Node','name':'n'}}"),
              201);
    CHECK_AT(&t, "status", "'Success'");
    CHECK_INT(api_get(&t, PODS "/p"), 200);
    CHECK_AT(&t, "spec.nodeName", "'n'");
    CHECK_AT(&t, "status.conditions[0].type", "'PodScheduled'");
    CHECK_INT(api_post(&t, "/api/v1/namespaces/default/bindings",
                       "{'metadata':{'name':'p'},'target':{'kind':'Node','name':'m'}}"),
              409);
    CHECK_MESSAGE(&t, "Operation cannot be fulfilled on pods/binding \"p\": pod p is already "
                      "assigned to node \"n\"");
    CHECK_INT(api_post(&t, PODS "/q/binding", "{'metadata':{'name':'q'},'target':{'name':'n'}}"),
              404);
    api_close(&t);
}

TEST(a_pod_on_a_node_has_its_grace_period)
{
    struct api t;
    api_open(&t);
    make_pod(&t, ",'nodeName':'n'");
    CHECK_INT(api_delete(&t, PODS "/p", NULL), 200);
    CHECK_AT(&t, "metadata.deletionGracePeriodSeconds", "30");
    CHECK_AT(&t, "metadata.deletionTimestamp", "'2026-11-21T09:30:30Z'");
    CHECK_INT(api_delete(&t, PODS "/p?gracePeriodSeconds=40", NULL), 200);
    CHECK_AT(&t, "metadata.deletionGracePeriodSeconds", "30");
    CHECK_INT(api_delete(&t, PODS "/p", "{'gracePeriodSeconds':10}"), 200);
    CHECK_AT(&t, "metadata.deletionGracePeriodSeconds", "10");
    CHECK_AT(&t, "metadata.generation", "2");
    CHECK_INT(api_delete(&t, PODS "/p?gracePeriodSeconds=0", NULL), 200);
    CHECK_INT(api_get(&t, PODS "/p"), 404);
    api_close(&t);
}

TEST(who_ran_on_no_node_or_has_ended_goes_at_once)
{
    struct api t;
    api_open(&t);
    make_pod(&t, "");
    CHECK_INT(api_delete(&t, PODS "/p", NULL), 200);
    CHECK_INT(api_get(&t, PODS "/p"), 404);
    make_pod(&t, ",'nodeName':'n'");
    CHECK_INT(api_merge(&t, PODS "/p/status", "{'status':{'phase':'Succeeded'}}"), 200);
    CHECK_INT(api_delete(&t, PODS "/p", NULL), 200);
    CHECK_INT(api_get(&t, PODS "/p"), 404);
    api_close(&t);
}

TEST(logs_and_commands_say_that_nothing_runs)
{
    struct api t;
    api_open(&t);
    make_pod(&t, "");
    CHECK_INT(api_get(&t, PODS "/p/log"), 204);
    CHECK_INT(api_get(&t, PODS "/p/log?container=x"), 400);
    CHECK_MESSAGE(&t, "container x is not valid for pod p");
    CHECK_INT(api_post(&t, PODS "/p/exec?command=ls", ""), 400);
    CHECK_MESSAGE(&t, "pod p does not have a host assigned");
    CHECK_INT(api_post(&t, PODS "/p/binding", "{'metadata':{'name':'p'},'target':{'name':'n'}}"),
              201);
    CHECK_INT(api_get(&t, PODS "/p/log"), 200);
    CHECK_STR(t.text, "");
    CHECK_INT(api_post(&t, PODS "/p/exec?command=ls", ""), 501);
    CHECK_INT(api_get(&t, PODS "/q/log"), 404);
    api_close(&t);
}

TEST(a_class_gives_a_pod_its_priority)
{
    struct api t;
    api_open_cluster(&t, (struct pl_api_options){0});
    CHECK_INT(api_post(&t, PODS,
                       "{'metadata':{'name':'p'}," SPEC ",'priorityClassName':"
                       "'system-node-critical'}}"),
              201);
    CHECK_AT(&t, "spec.priority", "2000001000");
    CHECK_INT(api_post(&t, PODS, "{'metadata':{'name':'q'}," SPEC ",'priorityClassName':'x'}}"),
              403);
    CHECK_MESSAGE(&t, "pods \"q\" is forbidden: no PriorityClass with name x was found");
    CHECK_INT(api_post(&t, PODS, "{'metadata':{'name':'q'}," SPEC ",'priority':5}}"), 403);
    CHECK_INT(api_post(&t, PODS, "{'metadata':{'name':'q'}," SPEC ",'runtimeClassName':'x'}}"),
              403);
    CHECK_MESSAGE(&t, "pods \"q\" is forbidden: pod rejected: RuntimeClass \"x\" not found");
    api_close(&t);
}

TEST(a_namespaces_finalizers_are_written_apart)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, "/api/v1/namespaces", "{'metadata':{'name':'n'}}"), 201);
    CHECK_INT(api_put(&t, "/api/v1/namespaces/n/finalize",
                      "{'metadata':{'name':'n'},'spec':{'finalizers':['example.com/x']}}"),
              200);
    CHECK_AT(&t, "spec.finalizers", "['example.com/x']");
    CHECK_INT(api_delete(&t, "/api/v1/namespaces/n", NULL), 200);
    pl_timers_run(&t.timers);
    CHECK_INT(api_get(&t, "/api/v1/namespaces/n"), 200);
    CHECK_INT(api_put(&t, "/api/v1/namespaces/n/finalize", "{'metadata':{'name':'n'},'spec':{}}"),
              200);
    CHECK_INT(api_get(&t, "/api/v1/namespaces/n"), 404);
    api_close(&t);
}

/* Checked against kube-apiserver 1.37. */
TEST(finalizers_and_options_of_logs_are_checked)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_put(&t, "/api/v1/namespaces/default/finalize",
                      "{'metadata':{'name':'default'},'spec':{'finalizers':['bad']}}"),
              422);
    CHECK_AT(&t, "details.causes[0].field", "'spec.finalizers[0]'");
    CHECK_INT(api_put(&t, "/api/v1/namespaces/default/finalize", "{'metadata':{'name':'x'}}"), 400);
    CHECK_INT(api_get(&t, PODS "/p/log?tailLines=-1"), 422);
    CHECK_MESSAGE(&t,
                  "PodLogOptions \"p\" is invalid: tailLines: Invalid value: -1: must be greater "
                  "than or equal to 0");
    api_close(&t);
}

TEST(ephemeral_containers_are_added_and_stay)
{
    struct api t;
    api_open(&t);
    api_post(&t, "/api/v1/namespaces/default/pods",
             "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i','resources':{"
             "'requests':{'cpu':'100m'}}}]}}");
    CHECK_INT(api_send(&t, "PATCH", "/api/v1/namespaces/default/pods/p/ephemeralcontainers",
                       STRATEGIC, "{'spec':{'ephemeralContainers':[{'name':'e','image':'x'}]}}"),
              200);
    CHECK_AT(&t, "spec.ephemeralContainers[0].imagePullPolicy", "'Always'");
    CHECK_AT(&t, "metadata.generation", "2");
    CHECK_INT(api_send(&t, "PATCH", "/api/v1/namespaces/default/pods/p/ephemeralcontainers", MERGE,
                       "{'spec':{'ephemeralContainers':null}}"),
              422);
    CHECK_INT(api_send(&t, "PATCH", "/api/v1/namespaces/default/pods/p/resize", STRATEGIC,
                       "{'spec':{'containers':[{'name':'c','image':'j','resources':{'requests':{"
                       "'cpu':'200m'}}}]}}"),
              200);
    CHECK_AT(&t, "spec.containers[0].image", "'i'");
    CHECK_AT(&t, "spec.containers[0].resources", "{'requests':{'cpu':'200m'}}");
    CHECK_INT(api_send(&t, "PATCH", "/api/v1/namespaces/default/pods/p/resize", MERGE,
                       "{'spec':{'containers':[{'name':'c','image':'i','resources':{}}]}}"),
              422);
    api_close(&t);
}

TEST_MAIN()
