#include "apiserver/write.h"

#include "gotype/proto.h"
#include "gotype/wire.h"

#include "support/api_fixture.h"

/* Answers were checked against kube-apiserver 1.37. */

#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"

TEST(a_wrong_type_is_a_bad_request)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, DEPLOYMENTS, "{'metadata':{'name':'d'},'spec':{'replicas':'three'}}"),
              400);
    CHECK_MESSAGE(&t,
                  "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot "
                  "unmarshal string into Go struct field DeploymentSpec.spec.replicas of type "
                  "int32");
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':5}}"), 400);
    api_close(&t);
}

TEST(unknown_and_repeated_fields_are_refused_warned_of_or_passed_over)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, DEFAULT_CMS "?fieldValidation=Strict",
                       "{'metadata':{'name':'a'},'dat':{},'data':{'x':'y','x':'z'}}"),
              400);
    CHECK_MESSAGE(&t,
                  "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding "
                  "error: unknown field \"dat\", duplicate field \"data.x\"");
    CHECK_INT(api_post(&t, DEFAULT_CMS "?fieldValidation=Ignore",
                       "{'metadata':{'name':'a'},'dat':{},'data':{'x':'y','x':'z'}}"),
              201);
    CHECK_AT(&t, "data", "{'x':'z'}");
    CHECK_ABSENT(&t, "dat");
    api_close(&t);
}

TEST(a_patch_that_makes_a_wrong_type_is_invalid)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}"), 201);
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "{'data':{'k':5}}"), 422);
    CHECK_INT(api_merge(&t, DEFAULT_CMS "/a", "{'data':{'k':'5'}}"), 200);
    api_close(&t);
}

static int send_bytes(struct api *t, const char *method, const char *path, struct pl_slice body)
{
    struct pl_api_call call = {
        .method = method,
        .path = pl_slice_z(path),
        .user_agent = "test",
        .content_type = PL_PROTO_TYPE,
        .accept = "application/json",
        .body = body,
    };
    api_forget(t);
    pl_api_handle(t->api, &call, (struct pl_api_responder){&api_reply_ops, t});
    return t->status;
}

/* An object in the envelope, as client-go sends it. */
static int send_object(struct api *t, const char *method, const char *path, const char *version,
                       const char *kind, const char *object)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_doc *doc = json(object);
    struct pl_message type =
        strcmp(kind, "DeleteOptions") == 0
            ? pl_message_find(pl_slice_z("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"))
            : pl_message_of_kind(pl_slice(version, strcspn(version, "/") == strlen(version)
                                                       ? 0
                                                       : strcspn(version, "/")),
                                 pl_slice_z("v1"), pl_slice_z(kind));
    size_t begun = pl_proto_begin(&out, pl_slice_z(version), pl_slice_z(kind));
    pl_proto_encode(&out, type, pl_doc_root(doc));
    pl_proto_end(&out, begun);
    int status = send_bytes(t, method, path, pl_buf_slice(&out));
    pl_doc_unref(doc);
    pl_buf_deinit(&out);
    return status;
}

TEST(objects_are_taken_in_protobuf)
{
    struct api t;
    api_open(&t);
    CHECK_INT(send_object(&t, "POST", DEFAULT_CMS, "v1", "ConfigMap",
                          "{'metadata':{'name':'a'},'data':{'k':'v'}}"),
              201);
    CHECK_INT(send_object(&t, "POST", DEPLOYMENTS, "apps/v1", "Deployment",
                          "{'metadata':{'name':'d'},'spec':{'selector':{'matchLabels':{'a':'b'}},"
                          "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{"
                          "'name':'c','image':'i'}]}}}}"),
              201);
    CHECK_INT(send_object(&t, "POST", DEFAULT_CMS, "v1", "ConfigMap",
                          "{'metadata':{'name':'b','namespace':'','uid':'','resourceVersion':'',"
                          "'generation':0}}"),
              201);
    CHECK_INT(send_object(&t, "PUT", DEFAULT_CMS "/a", "v1", "ConfigMap",
                          "{'metadata':{'name':'a'},'data':{'k':'w'}}"),
              200);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 200);
    CHECK_AT(&t, "data", "{'k':'w'}");
    CHECK_INT(api_get(&t, DEPLOYMENTS "/d"), 200);
    CHECK_AT(&t, "spec.replicas", "1");
    CHECK_INT(send_object(&t, "DELETE", DEFAULT_CMS "/a", "v1", "DeleteOptions",
                          "{'preconditions':{'uid':'x'}}"),
              409);
    CHECK_INT(send_object(&t, "DELETE", DEFAULT_CMS "/a", "v1", "DeleteOptions", "{}"), 200);
    api_close(&t);
}

/* Go sends empty fields, too, and a review's metadata must say nothing. */
TEST(a_review_is_taken_in_protobuf)
{
    struct api t;
    api_open(&t);
    CHECK_INT(send_object(&t, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                          "authorization.k8s.io/v1", "SelfSubjectAccessReview",
                          "{'metadata':{'name':'','uid':'','generation':0},'spec':{"
                          "'resourceAttributes':{'verb':'get','resource':'pods'}}}"),
              201);
    CHECK_AT(&t, "status.allowed", "true");
    api_close(&t);
}

TEST(protobuf_that_is_none_is_a_bad_request)
{
    struct api t;
    api_open(&t);
    CHECK_INT(send_bytes(&t, "POST", DEFAULT_CMS, pl_slice_z("{}")), 400);
    CHECK_INT(send_object(&t, "POST", DEFAULT_CMS, "v1", "Secret", "{'metadata':{'name':'a'}}"),
              400);
    CHECK_INT(send_bytes(&t, "POST", DEFAULT_CMS, pl_slice("k8s\0\x12\x7f", 6)), 400);
    CHECK_INT(send_bytes(&t, "DELETE", DEFAULT_CMS "/a", pl_slice("k8s\0\x12\x7f", 6)), 400);
    api_close(&t);
}

TEST_MAIN()
