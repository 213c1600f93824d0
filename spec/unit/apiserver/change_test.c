#include "apiserver/write.h"

#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

static void make_widget(struct api *t)
{
    api_make_widgets(t);
    CHECK_INT(api_post(t, WIDGETS, "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':1}}"), 201);
}

TEST(an_update_needs_the_present_version)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    CHECK_INT(api_put(&t, DEFAULT_CMS "/a", "{'metadata':{'name':'a','resourceVersion':'1'}}"),
              409);
    CHECK_MESSAGE(&t, "Operation cannot be fulfilled on configmaps \"a\": the object has been "
                      "modified; please apply your changes to the latest version and try again");
    CHECK_INT(api_put(&t, DEFAULT_CMS "/a",
                      "{'metadata':{'name':'a','resourceVersion':'6'},'data':{'k':'v'}}"),
              200);
    CHECK_AT(&t, "metadata.resourceVersion", "'7'");
    CHECK_INT(api_put(&t, DEFAULT_CMS "/a", "{'metadata':{'name':'a'}}"), 200);
    CHECK_ABSENT(&t, "data");
    CHECK_INT(api_put(&t, DEFAULT_CMS "/a", "{'metadata':{'name':'a','uid':'x'}}"), 409);
    CHECK_INT(api_put(&t, DEFAULT_CMS "/a", "{'metadata':{'name':'b'}}"), 400);
    CHECK_INT(api_put(&t, DEFAULT_CMS "/b", "{'metadata':{'name':'b'}}"), 404);
    api_close(&t);
}

TEST(some_kinds_want_a_version_and_some_are_created)
{
    struct api t;
    api_open(&t);
    make_widget(&t);
    CHECK_INT(api_put(&t, WIDGETS "/w", "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':1}}"),
              422);
    CHECK_MESSAGE(&t, "widgets.ex.com \"w\" is invalid: metadata.resourceVersion: Invalid value: "
                      "0: must be specified for an update");
    CHECK_INT(api_put(&t, "/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
                      "{'metadata':{'name':'l'},'spec':{'holderIdentity':'me'}}"),
              201);
    api_close(&t);
}

TEST(a_patch_may_take_the_version_only_from_kinds_that_want_none)
{
    struct api t;
    api_open(&t);
    make_widget(&t);
    CHECK_INT(api_merge(&t, WIDGETS "/w", "{'metadata':{'resourceVersion':null}}"), 422);
    CHECK_INT(api_merge(&t, WIDGETS "/w", "{'metadata':{'resourceVersion':'0'}}"), 422);
    CHECK_INT(api_merge(&t, WIDGETS "/w/status", "{'metadata':{'resourceVersion':'1'}}"), 409);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a','resourceVersion':'x'}}"), 201);
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "{'metadata':{'resourceVersion':null}}"), 200);
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "{'metadata':{'resourceVersion':'x'}}"), 500);
    CHECK_MESSAGE(&t, "strconv.ParseUint: parsing \"x\": invalid syntax");
    CHECK_INT(
        api_merge(&t, DEFAULT_CMS "/a", "{'metadata':{'resourceVersion':'99999999999999999999'}}"),
        500);
    CHECK_MESSAGE(&t, "strconv.ParseUint: parsing \"99999999999999999999\": value out of range");
    api_close(&t);
}

TEST(a_write_that_changes_nothing_is_no_write)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'},'data':{'k':'v'}}");
    api_advance(&t, 10 * PL_SECOND);
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "{'data':{'k':'v'}}"), 200);
    CHECK_AT(&t, "metadata.resourceVersion", "'6'");
    CHECK_INT(api_put(&t, DEFAULT_CMS "/a", "{'metadata':{'name':'a'},'data':{'k':'v'}}"), 200);
    CHECK_AT(&t, "metadata.resourceVersion", "'6'");
    api_close(&t);
}

TEST(status_and_the_rest_are_written_apart)
{
    struct api t;
    api_open(&t);
    make_widget(&t);
    CHECK_INT(api_merge(&t, WIDGETS "/w", "{'spec':{'size':2},'status':{'a':1}}"), 200);
    CHECK_ABSENT(&t, "status");
    CHECK_AT(&t, "metadata.generation", "2");
    CHECK_INT(api_merge(&t, WIDGETS "/w/status",
                        "{'spec':{'size':3},'status':{'a':1},'metadata':{'labels':{'x':'y'}}}"),
              200);
    CHECK_AT(&t, "status", "{'a':1}");
    CHECK_AT(&t, "spec.size", "2");
    CHECK_ABSENT(&t, "metadata.labels");
    CHECK_AT(&t, "metadata.generation", "2");
    CHECK_AT(&t, "metadata.managedFields[1].subresource", "'status'");
    CHECK_INT(api_merge(&t, WIDGETS "/w", "{'metadata':{'labels':{'x':'y'}}}"), 200);
    CHECK_AT(&t, "metadata.generation", "2");
    api_close(&t);
}

TEST(what_the_server_sets_cannot_be_changed)
{
    struct api t;
    api_open(&t);
    make_widget(&t);
    CHECK_INT(api_merge(&t, WIDGETS "/w",
                        "{'metadata':{'creationTimestamp':'2020-01-01T00:00:00Z','generation':9}}"),
              200);
    CHECK_AT(&t, "metadata.generation", "1");
    CHECK_AT(&t, "metadata.creationTimestamp", "'2026-11-21T09:30:00Z'");
    CHECK_INT(api_merge(&t, WIDGETS "/w", "{'metadata':{'uid':'x'}}"), 422);
    CHECK_INT(
        api_merge(&t, WIDGETS "/w", "{'metadata':{'deletionTimestamp':'2020-01-01T00:00:00Z'}}"),
        422);
    api_close(&t);
}

TEST(annotations_of_a_deployment_count_as_a_new_generation)
{
    static const char path[] = "/apis/apps/v1/namespaces/default/deployments";
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, path,
                       "{'metadata':{'name':'d'},'spec':{'selector':{'matchLabels':{'a':'b'}},"
                       "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{"
                       "'name':'c','image':'i:1'}]}}}}"),
              201);
    api_merge(&t, "/apis/apps/v1/namespaces/default/deployments/d",
              "{'metadata':{'labels':{'a':'b'}}}");
    CHECK_AT(&t, "metadata.generation", "1");
    api_merge(&t, "/apis/apps/v1/namespaces/default/deployments/d",
              "{'metadata':{'annotations':{'a':'b'}}}");
    CHECK_AT(&t, "metadata.generation", "2");
    api_close(&t);
}

TEST(an_object_goes_with_its_last_finalizer)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a','finalizers':['x.y/z']}}");
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&resourceVersion=6");
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a", NULL), 200);
    CHECK_AT(&t, "metadata.deletionTimestamp", "'2026-11-21T09:30:00Z'");
    CHECK_AT(&t, "metadata.resourceVersion", "'7'");
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "{'metadata':{'finalizers':['x.y/q']}}"), 422);
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "{'metadata':{'finalizers':null}}"), 200);
    CHECK_AT(&t, "metadata.resourceVersion", "'7'");
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 404);
    CHECK_EVENTS(&watch, "MODIFIED a,DELETED a");
    api_watch_close(&watch);
    api_close(&t);
}

TEST_MAIN()
