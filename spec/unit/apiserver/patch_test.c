#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

TEST(merge_patches_set_and_remove)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'},'data':{'k':'v','l':'w'}}");
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "{'data':{'k':null,'m':'x'}}"), 200);
    CHECK_AT(&t, "data", "{'l':'w','m':'x'}");
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "{'metadata':{'resourceVersion':'1'}}"), 409);
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/no", "{}"), 404);
    api_close(&t);
}

TEST(json_patches_that_fail_are_invalid)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'},'data':{'k':'v'}}");
    CHECK_INT(api_send(&t, "PATCH", DEFAULT_CMS "/a", JSON_PATCH,
                       "[{'op':'test','path':'/data/k','value':'x'}]"),
              422);
    CHECK_MESSAGE(&t, "the server rejected our request due to an error in our request");
    CHECK_INT(api_send(&t, "PATCH", DEFAULT_CMS "/a", JSON_PATCH, "{}"), 400);
    CHECK_INT(api_send(&t, "PATCH", DEFAULT_CMS "/a", JSON_PATCH,
                       "[{'op':'replace','path':'/data/k','value':'x'}]"),
              200);
    CHECK_AT(&t, "data", "{'k':'x'}");
    api_close(&t);
}

TEST(strategic_patches_are_for_built_in_kinds)
{
    static const char pods[] = "/api/v1/namespaces/default/pods";
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':1}}");
    CHECK_INT(api_send(&t, "PATCH", WIDGETS "/w", STRATEGIC, "{}"), 415);
    CHECK_INT(api_post(&t, pods,
                       "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','image':'i:1'},"
                       "{'name':'b','image':'i:1'}]}}"),
              201);
    CHECK_INT(api_send(&t, "PATCH", "/api/v1/namespaces/default/pods/p", STRATEGIC,
                       "{'spec':{'containers':[{'name':'b','image':'i:2'}]}}"),
              200);
    CHECK_AT(&t, "spec.containers[0].image", "'i:1'");
    CHECK_AT(&t, "spec.containers[1].image", "'i:2'");
    api_close(&t);
}

TEST(other_bodies_are_no_patches)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    CHECK_INT(api_send(&t, "PATCH", DEFAULT_CMS "/a", "application/json", "{}"), 415);
    CHECK_MESSAGE(&t, "415: Unsupported Media Type");
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a?force=true", "{}"), 422);
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "[1]"), 400);
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "{"), 400);
    api_close(&t);
}

TEST(an_apply_names_its_object_and_manager)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_apply(&t, DEFAULT_CMS "/a", "{'apiVersion':'v1','kind':'ConfigMap'}"), 422);
    CHECK_MESSAGE(&t, "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is "
                      "required for apply patch");
    CHECK_INT(api_apply(&t, DEFAULT_CMS "/a?fieldManager=m",
                        "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'a'}}"),
              400);
    CHECK_MESSAGE(&t, "invalid object type: /v1, Kind=Secret");
    CHECK_INT(api_apply(&t, DEFAULT_CMS "/a?fieldManager=m",
                        "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'b'}}"),
              400);
    CHECK_INT(api_apply(&t, DEFAULT_CMS "/a?fieldManager=m",
                        "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a','uid':'x'}}"),
              409);
    CHECK_INT(api_apply(&t, DEFAULT_CMS "/a?fieldManager=m",
                        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"),
              201);
    CHECK_AT(&t, "data", "{'k':'v'}");
    api_close(&t);
}

TEST_MAIN()
