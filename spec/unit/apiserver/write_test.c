#include "apiserver/write.h"

#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

TEST(a_created_object_gets_identity_and_version)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'},'data':{'k':'v'}}"), 201);
    CHECK_AT(&t, "kind", "'ConfigMap'");
    CHECK_AT(&t, "metadata.namespace", "'default'");
    CHECK_AT(&t, "metadata.creationTimestamp", "'2026-11-21T09:30:00Z'");
    CHECK_AT(&t, "metadata.resourceVersion", "'6'");
    CHECK_ABSENT(&t, "metadata.generation");
    CHECK_INT(pl_node_type(api_node(&t, "metadata.uid")), PL_STRING);
    CHECK_AT(&t, "metadata.managedFields",
             "[{'apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{'f:data':{'.':{},'f:k':{}}},"
             "'manager':'test','operation':'Update','time':'2026-11-21T09:30:00Z'}]");
    api_close(&t);
}

TEST(a_name_is_taken_once)
{
    struct api t;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}"), 409);
    CHECK_MESSAGE(&t, "configmaps \"a\" already exists");
    CHECK_AT(&t, "reason", "'AlreadyExists'");
    CHECK_AT(&t, "details", "{'kind':'configmaps','name':'a'}");
    api_close(&t);
}

TEST(names_can_be_generated)
{
    struct api t;
    struct pl_scratch scratch;
    api_open(&t);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'generateName':'a-'}}"), 201);
    struct pl_slice name = pl_node_str(api_node(&t, "metadata.name"), &scratch);
    CHECK_INT(name.len, 7);
    CHECK(memcmp(name.ptr, "a-", 2) == 0);
    api_close(&t);
}

TEST(bad_objects_are_refused_in_the_servers_words)
{
    static const struct {
        const char *body;
        int status;
        const char *message;
    } cases[] = {
        {"{'metadata':{}}", 422,
         "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is "
         "required"},
        {"{'metadata':{'name':'x','namespace':'other'}}", 400,
         "the namespace of the provided object does not match the namespace sent on the request"},
        {"{'metadata':{'name':'x','resourceVersion':'4'}}", 500,
         "resourceVersion should not be set on objects to be created"},
        {"{'apiVersion':'v1','kind':'Secret','metadata':{'name':'x'}}", 400,
         "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to "
         "(core.ConfigMap): unknown conversion"},
        {"", 400,
         "the object provided is unrecognized (must be of type ConfigMap): couldn't get "
         "version/kind; json parse error: unexpected end of JSON input (<empty>)"},
    };
    struct api t;
    api_open(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        CHECK_INT(api_post(&t, DEFAULT_CMS, cases[i].body), cases[i].status);
        CHECK_MESSAGE(&t, cases[i].message);
    }
    api_close(&t);
}

TEST(a_namespace_must_exist_and_stay)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, "/api/v1/namespaces/no/configmaps", "{'metadata':{'name':'a'}}"), 404);
    CHECK_MESSAGE(&t, "namespaces \"no\" not found");
    api_post(&t, "/api/v1/namespaces", "{'metadata':{'name':'n'}}");
    api_delete(&t, "/api/v1/namespaces/n", NULL);
    CHECK_INT(api_post(&t, "/api/v1/namespaces/n/configmaps", "{'metadata':{'name':'a'}}"), 403);
    CHECK_AT(&t, "details.causes[0].reason", "'NamespaceTerminating'");
    api_close(&t);
}

TEST(a_dry_run_stores_nothing)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, DEFAULT_CMS "?dryRun=All", "{'metadata':{'name':'a'}}"), 201);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 404);
    api_close(&t);
}

TEST(unknown_fields_are_dropped_warned_about_or_refused)
{
    static const char body[] =
        "{" WIDGET ",'metadata':{'name':'w','bar':1},'spec':{'size':1,'foo':2,'any':{'x':1}}}";
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    CHECK_INT(api_post(&t, WIDGETS "?fieldValidation=Strict", body), 400);
    CHECK_MESSAGE(&t, "Widget in version \"v1\" cannot be handled as a Widget: strict decoding "
                      "error: unknown field \"metadata.bar\", unknown field \"spec.foo\"");
    CHECK_INT(api_post(&t, WIDGETS "?fieldValidation=Warn", body), 201);
    CHECK_STR(t.warning, "299 - \"unknown field \\\"metadata.bar\\\"\"");
    CHECK_AT(&t, "spec", "{'any':{'x':1},'color':'red','size':1}");
    api_close(&t);
}

TEST(objects_have_a_largest_size)
{
    struct api t;
    struct pl_buf body = PL_BUF_INIT;
    api_open(&t);
    pl_buf_add_z(&body, "{'metadata':{'name':'a'},'data':{'k':'");
    for (int i = 0; i < 1600 * 1024; i++)
        pl_buf_add_char(&body, 'x');
    pl_buf_add_z(&body, "'}}");
    CHECK_INT(api_post(&t, DEFAULT_CMS, pl_buf_z(&body)), 422);
    CHECK_MESSAGE(&t,
                  "ConfigMap \"a\" is invalid: []: Too long: may not be more than 1048576 bytes");
    pl_buf_deinit(&body);
    api_close(&t);
}

TEST(yaml_is_read_too)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_send(&t, "POST", DEFAULT_CMS, "application/yaml",
                       "metadata:\n  name: doc\ndata: {a: b}\n"),
              201);
    CHECK_AT(&t, "data", "{'a':'b'}");
    CHECK_INT(api_send(&t, "POST", DEFAULT_CMS, "text/plain", "{}"), 415);
    api_close(&t);
}

TEST_MAIN()
