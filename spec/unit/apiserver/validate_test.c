#include "schema/validate.h"

#include "support/api_fixture.h"

/* Messages were checked against kube-apiserver 1.37. */

static void check_refused(struct api *t, const char *path, const char *body, const char *want)
{
    CHECK_INT(api_post(t, path, body), 422);
    CHECK(strstr(t->text, want) != NULL);
    if (strstr(t->text, want) == NULL)
        fprintf(stderr, "%s\n", t->text);
}

TEST(names_and_labels_have_a_form)
{
    static const struct {
        const char *meta, *want;
    } cases[] = {
        {"'name':'A_b'", "a lowercase RFC 1123 subdomain must consist of"},
        {"'name':'-a'", "a lowercase RFC 1123 subdomain must consist of"},
        {"'name':'x','labels':{'a b':'c'}", "name part must consist of"},
        {"'name':'x','labels':{'a':'c d'}", "a valid label must be an empty string or consist of"},
        {"'name':'x','labels':{'/a':'c'}", "prefix part must be non-empty"},
        {"'name':'x','annotations':{'x y':'1'}", "metadata.annotations"},
        {"'name':'x','ownerReferences':[{'kind':'x'}]",
         "metadata.ownerReferences[0].uid: Required value: must not be empty"},
        {"'name':'x','finalizers':['a b']", "metadata.finalizers"},
    };
    struct api t;
    api_open(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char *body = pl_format("{'metadata':{%s}}", cases[i].meta);
        check_refused(&t, DEFAULT_CMS, body, cases[i].want);
        pl_free(body);
    }
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a.b-c.1','labels':{'x.y/z':''}}}"),
              201);
    check_refused(&t, "/api/v1/namespaces", "{'metadata':{'name':'a.b'}}", "must not contain dots");
    CHECK_INT(api_post(&t, "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                       "{'metadata':{'name':'system:x'},'rules':[]}"),
              201);
    api_close(&t);
}

TEST(workloads_select_their_own_pods)
{
    static const char path[] = "/apis/apps/v1/namespaces/default/deployments";
    struct api t;
    api_open(&t);
    check_refused(&t, path, "{'metadata':{'name':'d'},'spec':{'template':{'spec':{}}}}",
                  "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: "
                  "null: `selector` does not match template `labels`, "
                  "spec.template.spec.containers: Required value]");
    CHECK_INT(api_post(&t, path,
                       "{'metadata':{'name':'d'},'spec':{'selector':{'matchLabels':{'a':'b'}},"
                       "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{"
                       "'name':'c','image':'i:1'}]}}}}"),
              201);
    CHECK_INT(api_merge(&t, "/apis/apps/v1/namespaces/default/deployments/d",
                        "{'spec':{'selector':{'matchLabels':{'a':'c'}},'template':{'metadata':{"
                        "'labels':{'a':'c'}}}}}"),
              422);
    CHECK_MESSAGE(&t, "Deployment.apps \"d\" is invalid: spec.selector: Invalid value: "
                      "{\"matchLabels\":{\"a\":\"c\"}}: field is immutable");
    api_close(&t);
}

TEST(pods_and_services_need_their_parts)
{
    struct api t;
    api_open(&t);
    check_refused(&t, "/api/v1/namespaces/default/pods",
                  "{'metadata':{'name':'p'},'spec':{'containers':[{}]}}",
                  "[spec.containers[0].name: Required value, spec.containers[0].image: Required "
                  "value]");
    check_refused(&t, "/api/v1/namespaces/default/services",
                  "{'metadata':{'name':'s'},'spec':{'ports':[]}}", "spec.ports: Required value");
    check_refused(&t, "/api/v1/namespaces/default/services",
                  "{'metadata':{'name':'s'},'spec':{'ports':[{'port':1,'name':'a'},{'port':2}]}}",
                  "spec.ports[1].name: Required value");
    api_close(&t);
}

TEST(immutable_data_stays)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'},'immutable':true,'data':{'k':'v'}}");
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "{'data':{'k':'w'}}"), 422);
    CHECK_MESSAGE(&t, "ConfigMap \"a\" is invalid: data: Forbidden: field is immutable when "
                      "`immutable` is set");
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "{'metadata':{'labels':{'x':'y'}}}"), 200);
    api_close(&t);
}

TEST_MAIN()
