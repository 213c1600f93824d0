#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

TEST(custom_kinds_are_scaled_where_their_definition_says)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':1}}");
    CHECK_INT(api_get(&t, WIDGETS "/w/scale"), 500);
    CHECK_MESSAGE(&t, "Internal error occurred: the spec replicas field \".spec.replicas\" does "
                      "not exist");
    api_merge(&t, WIDGETS "/w/status", "{'status':{'replicas':5,'selector':'a=b'}}");
    CHECK_INT(api_merge(&t, WIDGETS "/w/scale", "{'spec':{'replicas':7}}"), 200);
    CHECK_AT(&t, "kind", "'Scale'");
    CHECK_AT(&t, "spec", "{'replicas':7}");
    CHECK_AT(&t, "status", "{'replicas':5,'selector':'a=b'}");
    CHECK_INT(api_get(&t, WIDGETS "/w"), 200);
    CHECK_AT(&t, "spec.replicas", "7");
    CHECK_AT(&t, "metadata.generation", "2");
    api_close(&t);
}

TEST(deployments_are_scaled_with_a_version)
{
    static const char path[] = "/apis/apps/v1/namespaces/default/deployments";
    struct api t;
    api_open(&t);
    api_post(&t, path,
             "{'metadata':{'name':'d'},'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{"
             "'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'i:1'}]}}}"
             "}");
    CHECK_INT(api_get(&t, "/apis/apps/v1/namespaces/default/deployments/d/scale"), 200);
    CHECK_AT(&t, "apiVersion", "'autoscaling/v1'");
    CHECK_AT(&t, "status", "{'replicas':0,'selector':'a=b'}");
    CHECK_INT(api_put(&t, "/apis/apps/v1/namespaces/default/deployments/d/scale",
                      "{'metadata':{'name':'d','resourceVersion':'1'},'spec':{'replicas':3}}"),
              409);
    CHECK_INT(api_put(&t, "/apis/apps/v1/namespaces/default/deployments/d/scale",
                      "{'metadata':{'name':'d','resourceVersion':'6'},'spec':{'replicas':3}}"),
              200);
    CHECK_AT(&t, "spec", "{'replicas':3}");
    CHECK_AT(&t, "metadata.resourceVersion", "'7'");
    CHECK_INT(api_get(&t, "/apis/apps/v1/namespaces/default/deployments/x/scale"), 404);
    api_close(&t);
}

TEST(replicas_are_numbers)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':1,'replicas':1}}");
    CHECK_INT(api_merge(&t, WIDGETS "/w/scale", "{'spec':{'replicas':'x'}}"), 422);
    CHECK_INT(api_put(&t, WIDGETS "/w/scale", "{'metadata':{'name':'w'},'spec':{'replicas':'x'}}"),
              400);
    CHECK_MESSAGE(&t,
                  "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal "
                  "string into Go struct field ScaleSpec.spec.replicas of type int32");
    CHECK_INT(api_merge(&t, WIDGETS "/w/scale", "{'spec':{'replicas':-1}}"), 422);
    CHECK_MESSAGE(&t,
                  "Widget.ex.com \"w\" is invalid: .spec.replicas: Invalid value: -1: should be "
                  "a non-negative integer");
    CHECK_INT(api_get(&t, WIDGETS "/w"), 200);
    CHECK_AT(&t, "spec.replicas", "1");
    api_close(&t);
}

TEST_MAIN()
