#include "schema/defaults.h"

#include "support/api_fixture.h"

/* Every expectation was checked against kube-apiserver 1.37. */

#define APPS "/apis/apps/v1/namespaces/default/"
#define TEMPLATE                                                                                   \
    "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},"            \
    "'spec':{'containers':[{'name':'c','image':'n:1','ports':[{'containerPort':80}]}]}}"

static const char pod_spec[] =
    "{'containers':[{'image':'n:1','imagePullPolicy':'IfNotPresent','name':'c','ports':[{"
    "'containerPort':80,'protocol':'TCP'}],'resources':{},'terminationMessagePath':"
    "'/dev/termination-log','terminationMessagePolicy':'File'}],'dnsPolicy':'ClusterFirst',"
    "'restartPolicy':'Always','schedulerName':'default-scheduler','securityContext':{},"
    "'terminationGracePeriodSeconds':30}";

TEST(workloads_get_their_defaults)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, APPS "deployments", "{'metadata':{'name':'d'},'spec':{" TEMPLATE "}}"),
              201);
    CHECK_AT(&t, "spec.replicas", "1");
    CHECK_AT(&t, "spec.strategy",
             "{'rollingUpdate':{'maxSurge':'25%','maxUnavailable':'25%'},'type':'RollingUpdate'}");
    CHECK_AT(&t, "spec.progressDeadlineSeconds", "600");
    CHECK_AT(&t, "spec.revisionHistoryLimit", "10");
    CHECK_AT(&t, "spec.template.spec", pod_spec);
    CHECK_AT(&t, "status", "{}");
    CHECK_INT(api_post(&t, APPS "statefulsets",
                       "{'metadata':{'name':'d'},'spec':{'serviceName':'x'," TEMPLATE "}}"),
              201);
    CHECK_AT(&t, "spec.updateStrategy",
             "{'rollingUpdate':{'maxUnavailable':1,'partition':0},'type':'RollingUpdate'}");
    CHECK_AT(&t, "spec.persistentVolumeClaimRetentionPolicy",
             "{'whenDeleted':'Retain','whenScaled':'Retain'}");
    CHECK_INT(api_post(&t, APPS "daemonsets", "{'metadata':{'name':'d'},'spec':{" TEMPLATE "}}"),
              201);
    CHECK_AT(&t, "spec.updateStrategy",
             "{'rollingUpdate':{'maxSurge':0,'maxUnavailable':1},'type':'RollingUpdate'}");
    CHECK_INT(api_post(&t, APPS "deployments",
                       "{'metadata':{'name':'r'},'spec':{'strategy':{'type':'Recreate'}," TEMPLATE
                       "}}"),
              201);
    CHECK_AT(&t, "spec.strategy", "{'type':'Recreate'}");
    api_close(&t);
}

TEST(pull_policies_follow_the_tag)
{
    static const struct {
        const char *image, *policy;
    } cases[] = {
        {"nginx", "'Always'"},
        {"nginx:latest", "'Always'"},
        {"nginx:1.2", "'IfNotPresent'"},
        {"host:5000/nginx", "'Always'"},
        {"host:5000/n:1", "'IfNotPresent'"},
        {"n@sha256:00", "'IfNotPresent'"},
    };
    struct api t;
    api_open(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char *body = pl_format("{'metadata':{'name':'p%zu'},'spec':{'containers':[{'name':'c',"
                               "'image':'%s'}]}}",
                               i, cases[i].image);
        CHECK_INT(api_post(&t, "/api/v1/namespaces/default/pods", body), 201);
        CHECK_AT(&t, "spec.containers[0].imagePullPolicy", cases[i].policy);
        pl_free(body);
    }
    api_close(&t);
}

TEST(a_pods_requests_follow_its_limits)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, "/api/v1/namespaces/default/pods",
                       "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'n:1',"
                       "'resources':{'limits':{'cpu':'0.5'}}}]}}"),
              201);
    CHECK_AT(&t, "spec.containers[0].resources",
             "{'limits':{'cpu':'500m'},'requests':{'cpu':'500m'}}");
    CHECK_AT(&t, "status", "{'phase':'Pending','qosClass':'Burstable'}");
    CHECK_AT(&t, "metadata.generation", "1");
    api_close(&t);
}

TEST(probes_volumes_and_references_get_their_defaults)
{
    struct api t;
    api_open(&t);
    CHECK_INT(
        api_post(&t, "/api/v1/namespaces/default/pods",
                 "{'metadata':{'name':'p'},'spec':{'volumes':[{'name':'v','secret':{'secretName':"
                 "'s'}},{'name':'h','hostPath':{'path':'/'}}],'containers':[{'name':'c','image':"
                 "'n:1','livenessProbe':{'httpGet':{'port':80}},'env':[{'name':'x','valueFrom':{"
                 "'fieldRef':{'fieldPath':'metadata.name'}}}]}]}}"),
        201);
    CHECK_AT(&t, "spec.containers[0].livenessProbe",
             "{'failureThreshold':3,'httpGet':{'path':'/','port':80,'scheme':'HTTP'},"
             "'periodSeconds':10,'successThreshold':1,'timeoutSeconds':1}");
    CHECK_AT(&t, "spec.containers[0].env[0].valueFrom.fieldRef.apiVersion", "'v1'");
    CHECK_AT(&t, "spec.volumes[0].secret.defaultMode", "420");
    CHECK_AT(&t, "spec.volumes[1].hostPath.type", "''");
    api_close(&t);
}

TEST(secrets_fold_their_texts_into_data)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, "/api/v1/namespaces/default/secrets",
                       "{'metadata':{'name':'s'},'stringData':{'a':'b'},'data':{'c':'eA=='}}"),
              201);
    CHECK_AT(&t, "data", "{'a':'Yg==','c':'eA=='}");
    CHECK_AT(&t, "type", "'Opaque'");
    CHECK_ABSENT(&t, "stringData");
    api_close(&t);
}

TEST(smaller_kinds_get_their_defaults)
{
    static const struct {
        const char *path, *body, *at, *want;
    } cases[] = {
        {"/api/v1/namespaces", "{'metadata':{'name':'n'}}", "metadata.labels",
         "{'kubernetes.io/metadata.name':'n'}"},
        {"/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
         "{'metadata':{'name':'n'},'spec':{'podSelector':{},'egress':[{'ports':[{'port':1}]}]}}",
         "spec",
         "{'egress':[{'ports':[{'port':1,'protocol':'TCP'}]}],'podSelector':{},"
         "'policyTypes':['Ingress','Egress']}"},
        {"/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
         "{'metadata':{'name':'n'},'roleRef':{'kind':'Role','name':'x'},'subjects':[{'kind':'User',"
         "'name':'d'}]}",
         "subjects[0].apiGroup", "'rbac.authorization.k8s.io'"},
        {"/apis/batch/v1/namespaces/default/cronjobs",
         "{'metadata':{'name':'n'},'spec':{'schedule':'* * * * *','jobTemplate':{'spec':{"
         "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'n:1'}]}}}}"
         "}}",
         "spec.concurrencyPolicy", "'Allow'"},
        {"/apis/storage.k8s.io/v1/storageclasses", "{'metadata':{'name':'n'},'provisioner':'a/b'}",
         "volumeBindingMode", "'Immediate'"},
    };
    struct api t;
    api_open(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        CHECK_INT(api_post(&t, cases[i].path, cases[i].body), 201);
        CHECK_AT(&t, cases[i].at, cases[i].want);
    }
    api_close(&t);
}

TEST_MAIN()
