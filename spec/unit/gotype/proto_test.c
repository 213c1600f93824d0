#include "gotype/proto.h"

#include "base/base.h"
#include "gotype/wire.h"
#include "support/json.h"

static struct pl_message type_of(const char *group, const char *version, const char *kind)
{
    struct pl_message type =
        pl_message_of_kind(pl_slice_z(group), pl_slice_z(version), pl_slice_z(kind));
    REQUIRE(!pl_message_is_none(type));
    return type;
}

static void round_trip(const char *group, const char *version, const char *kind, const char *object)
{
    struct pl_arena arena = {0};
    struct pl_buf bytes = PL_BUF_INIT;
    struct pl_doc *doc = json(object);
    const char *why = NULL;
    struct pl_message type = type_of(group, version, kind);
    pl_proto_encode(&bytes, type, pl_doc_root(doc));
    struct pl_tree *tree = pl_proto_decode(&arena, type, pl_buf_slice(&bytes), &why);
    if (tree == NULL)
        TEST_FAIL("%s: %s", object, why);
    REQUIRE(tree != NULL);
    struct pl_doc *back = pl_tree_doc(tree, NULL);
    if (!pl_node_equal(pl_doc_root(back), pl_doc_root(doc)))
        CHECK_JSON(pl_doc_root(back), object);
    pl_doc_unref(back);
    pl_doc_unref(doc);
    pl_buf_deinit(&bytes);
    pl_arena_deinit(&arena);
}

TEST(objects_come_back_as_they_were)
{
    round_trip("", "v1", "ConfigMap",
               "{'metadata':{'name':'a','labels':{'x':'y'},'generation':-1,'creationTimestamp':"
               "'2026-01-02T03:04:05Z','ownerReferences':[{'apiVersion':'v1','kind':'A','name':'n',"
               "'uid':'u','controller':true}],'managedFields':[{'manager':'m','fieldsV1':{'f:data':"
               "{}}}]},'data':{'k':'v','empty':''},'binaryData':{'b':'AAEC/w=='}}");
    round_trip("apps", "v1", "Deployment",
               "{'metadata':{'name':'d'},'spec':{'replicas':3,'selector':{'matchLabels':{'a':'b'}},"
               "'strategy':{'rollingUpdate':{'maxSurge':'25%','maxUnavailable':1}},'template':{"
               "'metadata':{},'spec':{'containers':[{'name':'c','image':'i','resources':{'limits':{"
               "'cpu':'500m'}},'ports':[{'containerPort':80}],'livenessProbe':{'httpGet':{'port':"
               "8080}}}],'volumes':[{'name':'v','emptyDir':{}}],'securityContext':{"
               "'supplementalGroups':[1,2,3]}}}}}");
    round_trip("coordination.k8s.io", "v1", "Lease",
               "{'metadata':{'name':'l'},'spec':{'holderIdentity':'h','renewTime':"
               "'2026-01-02T03:04:05.123456Z'}}");
    round_trip("apiextensions.k8s.io", "v1", "CustomResourceDefinition",
               "{'metadata':{'name':'a.b'},'spec':{'group':'b','versions':[{'name':'v1','schema':{"
               "'openAPIV3Schema':{'type':'object','properties':{'n':{'maximum':1.5,'default':7,"
               "'enum':[1,'a',null]},'l':{'items':{'type':'string'}},'m':{'additionalProperties':"
               "true},'o':{'additionalProperties':{'type':'string'}}}}}}]}}");
    round_trip("apps", "v1", "ControllerRevision",
               "{'metadata':{'name':'r'},'data':{'spec':{'a':[1]}},'revision':9007199254740993}");
    round_trip("authorization.k8s.io", "v1", "SubjectAccessReview",
               "{'metadata':{},'spec':{'user':'u','extra':{'scopes':['a','b']}},'status':{"
               "'allowed':true}}");
}

/* What client-go 0.37 sends of a ConfigMap with a name and one entry of data. */
TEST(bytes_of_client_go_are_read)
{
    static const char bytes[] =
        "k8s\0\n\x0f\n\x02v1\x12\x09"
        "ConfigMap\x12\x1b\n\x11\n\x01"
        "a\x12\0\x1a\0\x22\0\x2a\0\x32\0\x38\0\x42\0\x12\x06\n\x01k\x12\x01v\x1a\0\x22\0";
    struct pl_proto_envelope envelope;
    struct pl_arena arena = {0};
    const char *why = NULL;
    REQUIRE(pl_proto_open(pl_slice(bytes, sizeof(bytes) - 1), &envelope));
    CHECK(pl_slice_eqz(envelope.api_version, "v1"));
    CHECK(pl_slice_eqz(envelope.kind, "ConfigMap"));
    struct pl_tree *tree =
        pl_proto_decode(&arena, type_of("", "v1", "ConfigMap"), envelope.raw, &why);
    CHECK(tree != NULL);
    CHECK(pl_slice_eqz(pl_tree_text_at(tree, "metadata.name"), "a"));
    CHECK(pl_slice_eqz(pl_tree_text_at(tree, "data.k"), "v"));
    pl_arena_deinit(&arena);
}

TEST(an_envelope_is_written_as_it_is_read)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_proto_envelope envelope;
    size_t begun = pl_proto_begin(&out, pl_slice_z("apps/v1"), pl_slice_z("Deployment"));
    pl_wire_put_bytes(&out, 1, pl_slice_z("x"));
    pl_proto_end(&out, begun);
    REQUIRE(pl_proto_open(pl_buf_slice(&out), &envelope));
    CHECK(pl_slice_eqz(envelope.api_version, "apps/v1"));
    CHECK(pl_slice_eqz(envelope.kind, "Deployment"));
    CHECK_INT(envelope.raw.len, 3);
    CHECK(!pl_proto_open(pl_slice_z("{}"), &envelope));
    CHECK(!pl_proto_open(pl_slice(out.ptr, out.len - 1), &envelope));
    pl_buf_deinit(&out);
}

static void check_refused(struct pl_message type, struct pl_slice bytes, const char *want)
{
    struct pl_arena arena = {0};
    const char *why = NULL;
    CHECK(pl_proto_decode(&arena, type, bytes, &why) == NULL);
    CHECK_STR(why != NULL ? why : "", want);
    pl_arena_deinit(&arena);
}

#define BYTES(text) pl_slice(text, sizeof(text) - 1)

TEST(bytes_that_lie_are_refused)
{
    struct pl_message map = type_of("", "v1", "ConfigMap");
    check_refused(map, BYTES("\x0a\x7f"), "unexpected EOF");
    check_refused(map, BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "unexpected EOF");
    check_refused(map, BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "unexpected EOF");
    check_refused(map, BYTES("\x00"), "unexpected EOF");
    check_refused(map, BYTES("\x0b\x0c"), "unexpected EOF");
    check_refused(map, BYTES("\x08\x01"), "proto: wrong wireType = 0 for field metadata");
    check_refused(map, BYTES("\x0a\x03\x0a\x01\xff"), "a string is not UTF-8");
    check_refused(map, BYTES("\x12\x03\x0a\x01\xff"),
                  "a map entry is truncated or its key is not UTF-8");
    check_refused(map, BYTES("\x12\x02\x0a\x05"),
                  "a map entry is truncated or its key is not UTF-8");
    struct pl_message revision = type_of("apps", "v1", "ControllerRevision");
    check_refused(revision, BYTES("\x12\x03\x0a\x01{"), "bytes that must be JSON are malformed");
    struct pl_message lease = type_of("coordination.k8s.io", "v1", "Lease");
    check_refused(lease, BYTES("\x12\x0c\x1a\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
                  "a time is out of range");
}

TEST(fields_that_are_not_known_are_passed_over)
{
    struct pl_arena arena = {0};
    const char *why = NULL;
    struct pl_tree *tree = pl_proto_decode(&arena, type_of("", "v1", "ConfigMap"),
                                           BYTES("\xf8\x07\x05\x0a\x03\x0a\x01x"), &why);
    REQUIRE(tree != NULL);
    CHECK(pl_slice_eqz(pl_tree_text_at(tree, "metadata.name"), "x"));
    pl_arena_deinit(&arena);
}

/* JSONSchemaProps.not holds another one of itself. */
TEST(endless_nesting_ends)
{
    struct pl_message schema = pl_message_find(
        pl_slice_z("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"));
    struct pl_buf bytes = PL_BUF_INIT, outer = PL_BUF_INIT;
    for (int i = 0; i < 1000; i++) {
        pl_buf_clear(&outer);
        pl_wire_put_bytes(&outer, 28, pl_buf_slice(&bytes));
        struct pl_buf swap = bytes;
        bytes = outer;
        outer = swap;
    }
    check_refused(schema, pl_buf_slice(&bytes), "messages are nested too deeply");
    pl_buf_deinit(&bytes);
    pl_buf_deinit(&outer);
}

TEST_MAIN()
