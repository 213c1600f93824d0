#include "schema/managed.h"

#include "support/api_fixture.h"

/* Scenarios and conflicts were checked against kube-apiserver 1.37. */

#define CM "'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a'}"

static int apply_as(struct api *t, const char *manager, const char *body)
{
    char *path = pl_format(DEFAULT_CMS "/a?fieldManager=%s", manager);
    int status = api_apply(t, path, body);
    pl_free(path);
    return status;
}

TEST(the_same_apply_twice_writes_once)
{
    struct api t;
    api_open(&t);
    CHECK_INT(apply_as(&t, "m1", "{" CM ",'data':{'a':'1'}}"), 201);
    CHECK_AT(&t, "metadata.managedFields[0].operation", "'Apply'");
    CHECK_AT(&t, "metadata.managedFields[0].fieldsV1", "{'f:data':{'f:a':{}}}");
    api_advance(&t, 10 * PL_SECOND);
    CHECK_INT(apply_as(&t, "m1", "{" CM ",'data':{'a':'1'}}"), 200);
    CHECK_AT(&t, "metadata.resourceVersion", "'6'");
    api_close(&t);
}

TEST(another_managers_value_is_a_conflict)
{
    struct api t;
    api_open(&t);
    apply_as(&t, "m1", "{" CM ",'data':{'a':'1','b':'2'}}");
    CHECK_INT(apply_as(&t, "m2", "{" CM ",'data':{'a':'2','b':'3'}}"), 409);
    CHECK_MESSAGE(&t, "Apply failed with 2 conflicts: conflicts with \"m1\":\n- .data.a\n- "
                      ".data.b");
    CHECK_AT(&t, "details.causes[0]",
             "{'field':'.data.a','message':'conflict with \\'m1\\'',"
             "'reason':'FieldManagerConflict'}");
    CHECK_INT(apply_as(&t, "m2&force=true", "{" CM ",'data':{'a':'2'}}"), 200);
    CHECK_AT(&t, "data", "{'a':'2','b':'2'}");
    CHECK_AT(&t, "metadata.managedFields[0].fieldsV1", "{'f:data':{'f:b':{}}}");
    api_close(&t);
}

TEST(the_same_value_is_shared)
{
    struct api t;
    api_open(&t);
    apply_as(&t, "m1", "{" CM ",'data':{'a':'1','b':'2'}}");
    CHECK_INT(apply_as(&t, "m2", "{" CM ",'data':{'a':'1'}}"), 200);
    CHECK_INT(apply_as(&t, "m1", "{" CM ",'data':{}}"), 200);
    CHECK_AT(&t, "data", "{'a':'1'}");
    CHECK_INT(apply_as(&t, "m2", "{" CM "}"), 200);
    CHECK_ABSENT(&t, "data.a");
    api_close(&t);
}

TEST(what_a_manager_no_longer_states_is_removed)
{
    struct api t;
    api_open(&t);
    apply_as(&t, "m1", "{" CM ",'data':{'a':'1','b':'2'}}");
    api_merge(&t, DEFAULT_CMS "/a", "{'data':{'c':'3'}}");
    CHECK_INT(apply_as(&t, "m1", "{" CM ",'data':{'b':'2'}}"), 200);
    CHECK_AT(&t, "data", "{'b':'2','c':'3'}");
    api_close(&t);
}

TEST(an_update_takes_fields_over)
{
    struct api t;
    api_open(&t);
    apply_as(&t, "m1", "{" CM ",'data':{'a':'1'}}");
    api_merge(&t, DEFAULT_CMS "/a?fieldManager=m3", "{'data':{'a':'9'}}");
    CHECK_AT(&t, "metadata.managedFields",
             "[{'apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{'f:data':{'f:a':{}}},"
             "'manager':'m3','operation':'Update','time':'2026-11-21T09:30:00Z'}]");
    CHECK_INT(apply_as(&t, "m1", "{" CM ",'data':{'a':'1'}}"), 409);
    CHECK_MESSAGE(&t, "Apply failed with 1 conflict: conflict with \"m3\" using v1: .data.a");
    api_close(&t);
}

TEST(lists_are_merged_by_their_keys)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    CHECK_INT(api_apply(&t, WIDGETS "/w?fieldManager=m1",
                        "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':1,'list':[{'name':'a',"
                        "'v':1},{'name':'b','v':2}]}}"),
              201);
    CHECK_INT(api_apply(&t, WIDGETS "/w?fieldManager=m2",
                        "{" WIDGET
                        ",'metadata':{'name':'w'},'spec':{'list':[{'name':'c','v':3}]}}"),
              200);
    CHECK_AT(&t, "spec.list", "[{'name':'a','v':1},{'name':'b','v':2},{'name':'c','v':3}]");
    CHECK_INT(api_apply(&t, WIDGETS "/w?fieldManager=m1",
                        "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':1,'list':[{'name':'b',"
                        "'v':2}]}}"),
              200);
    CHECK_AT(&t, "spec.list", "[{'name':'b','v':2},{'name':'c','v':3}]");
    CHECK_INT(api_apply(&t, WIDGETS "/w?fieldManager=m2",
                        "{" WIDGET
                        ",'metadata':{'name':'w'},'spec':{'list':[{'name':'b','v':9}]}}"),
              409);
    CHECK_MESSAGE(&t, "Apply failed with 1 conflict: conflict with \"m1\": "
                      ".spec.list[name=\"b\"].v");
    api_close(&t);
}

TEST(unknown_fields_of_a_custom_kind_cannot_be_applied)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    CHECK_INT(api_apply(&t, WIDGETS "/w?fieldManager=m1",
                        "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':1,'nope':1}}"),
              500);
    CHECK_MESSAGE(&t, "failed to create typed patch object (/w; ex.com/v1, Kind=Widget): "
                      ".spec.nope: field not declared in schema");
    api_close(&t);
}

TEST(status_is_applied_through_its_subresource)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    api_apply(&t, WIDGETS "/w?fieldManager=m1",
              "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':1},'status':{'a':1}}");
    CHECK_ABSENT(&t, "status");
    CHECK_INT(api_apply(&t, WIDGETS "/w/status?fieldManager=m1",
                        "{" WIDGET ",'metadata':{'name':'w'},'status':{'a':1}}"),
              200);
    CHECK_AT(&t, "status", "{'a':1}");
    CHECK_AT(&t, "spec.size", "1");
    CHECK_INT(api_apply(&t, WIDGETS "/no/status?fieldManager=m1",
                        "{" WIDGET ",'metadata':{'name':'no'},'status':{'a':1}}"),
              404);
    api_close(&t);
}

TEST(objects_from_before_the_first_apply_have_an_unknown_author)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    api_merge(&t, DEFAULT_CMS "/a", "{'data':{'k':'v'}}");
    CHECK_ABSENT(&t, "metadata.managedFields");
    CHECK_INT(apply_as(&t, "m1", "{" CM ",'data':{'k':'w'}}"), 409);
    CHECK_MESSAGE(&t, "Apply failed with 1 conflict: conflict with \"before-first-apply\" using "
                      "v1: .data.k");
    api_close(&t);
}

TEST(an_update_may_forget_all_managers)
{
    struct api t;
    api_open(&t);
    apply_as(&t, "m1", "{" CM ",'data':{'a':'1'}}");
    CHECK_INT(api_put(&t, DEFAULT_CMS "/a",
                      "{'metadata':{'name':'a','managedFields':[{}]},'data':{'a':'1'}}"),
              200);
    CHECK_ABSENT(&t, "metadata.managedFields");
    api_close(&t);
}

TEST(the_eleventh_updater_joins_the_ancients)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS "?fieldManager=m0", "{'metadata':{'name':'a'},'data':{'k':'v'}}");
    for (int i = 1; i <= 12; i++) {
        char *path = pl_format(DEFAULT_CMS "/a?fieldManager=m%d", i);
        char *body = pl_format("{'data':{'k%d':'v'}}", i);
        api_advance(&t, PL_SECOND);
        CHECK_INT(api_merge(&t, path, body), 200);
        pl_free(path);
        pl_free(body);
    }
    CHECK_INT(pl_node_len(api_node(&t, "metadata.managedFields")), 10);
    CHECK_AT(&t, "metadata.managedFields[0].manager", "'ancient-changes'");
    CHECK_AT(&t, "metadata.managedFields[0].fieldsV1",
             "{'f:data':{'.':{},'f:k':{},'f:k1':{},'f:k2':{},'f:k3':{}}}");
    api_close(&t);
}

TEST_MAIN()
