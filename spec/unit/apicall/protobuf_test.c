#include "apicall/protobuf.h"

#include "gotype/proto.h"
#include "gotype/wire.h"
#include "support/api_fixture.h"

#define PROTO_OR_JSON PL_PROTO_TYPE ",application/json"
#define PARTIAL       PL_PROTO_TYPE ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

/* What an envelope holds, by our own decoder; want with ' for ". */
static void check_object(struct pl_slice bytes, const char *api_version, const char *kind,
                         const char *want)
{
    struct pl_arena arena = {0};
    struct pl_proto_envelope envelope;
    const char *why = NULL;
    REQUIRE(pl_proto_open(bytes, &envelope));
    CHECK_SLICE(envelope.api_version, api_version);
    CHECK_SLICE(envelope.kind, kind);
    struct pl_message type = pl_api_proto_type(envelope.api_version, envelope.kind);
    struct pl_tree *tree = pl_proto_decode(&arena, type, envelope.raw, &why);
    REQUIRE(tree != NULL);
    pl_tree_removez(pl_tree_child(&arena, tree, "metadata"), "uid");
    pl_tree_removez(pl_tree_child(&arena, tree, "metadata"), "managedFields");
    struct pl_doc *doc = pl_tree_doc(tree, NULL);
    CHECK_JSON(pl_doc_root(doc), want);
    pl_doc_unref(doc);
    pl_arena_deinit(&arena);
}

static struct pl_slice answer(const struct api *t)
{
    CHECK_STR(t->content_type, PL_PROTO_TYPE);
    return pl_slice(t->text, t->text_len);
}

TEST(objects_and_failures_are_written_in_protobuf)
{
    struct api t;
    api_open(&t);
    t.accept = PROTO_OR_JSON;
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'},'data':{'k':'v'}}"), 201);
    check_object(answer(&t), "v1", "ConfigMap",
                 "{'metadata':{'name':'a','namespace':'default','resourceVersion':'6',"
                 "'creationTimestamp':'2026-11-21T09:30:00Z'},'data':{'k':'v'}}");
    CHECK_INT(api_get(&t, DEFAULT_CMS "/b"), 404);
    check_object(answer(&t), "v1", "Status",
                 "{'metadata':{},'status':'Failure','message':'configmaps \\'b\\' not found',"
                 "'reason':'NotFound','details':{'name':'b','kind':'configmaps'},'code':404}");
    t.accept = PARTIAL;
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 200);
    check_object(answer(&t), "meta.k8s.io/v1", "PartialObjectMetadata",
                 "{'metadata':{'name':'a','namespace':'default','resourceVersion':'6',"
                 "'creationTimestamp':'2026-11-21T09:30:00Z'}}");
    api_close(&t);
}

TEST(lists_have_their_items_one_after_the_other)
{
    struct api t;
    struct pl_proto_envelope list;
    struct pl_wire_field field;
    size_t items = 0;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'b'}}");
    t.accept = PL_PROTO_TYPE;
    CHECK_INT(api_get(&t, DEFAULT_CMS), 200);
    REQUIRE(pl_proto_open(answer(&t), &list));
    CHECK_SLICE(list.kind, "ConfigMapList");
    for (struct pl_slice rest = list.raw; pl_wire_next(&rest, &field) == 1;)
        items += field.number == 2;
    CHECK_INT(items, 2);
    api_close(&t);
}

TEST(custom_kinds_have_their_metadata_alone)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    api_post(&t, WIDGETS, "{" WIDGET ",'metadata':{'name':'w'},'spec':{'size':3}}");
    t.accept = PROTO_OR_JSON;
    CHECK_INT(api_get(&t, WIDGETS "/w"), 200);
    CHECK_STR(t.content_type, "application/json");
    t.accept = PARTIAL;
    CHECK_INT(api_get(&t, WIDGETS "/w"), 200);
    CHECK_STR(t.content_type, PL_PROTO_TYPE);
    t.accept = PL_PROTO_TYPE;
    CHECK_INT(api_get(&t, WIDGETS "/w"), 406);
    api_close(&t);
}

/* Each frame: its length, the type of the event, an object in its envelope. */
TEST(watches_are_frames)
{
    static const char *const want[] = {"ADDED", "BOOKMARK", "MODIFIED", "DELETED"};
    struct api t;
    struct api_watch watch;
    size_t at = 0, count = 0;
    api_open(&t);
    api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    t.accept = PL_PROTO_TYPE;
    api_watch_open(&t, &watch,
                   DEFAULT_CMS "?watch=1&allowWatchBookmarks=1&sendInitialEvents=true"
                               "&resourceVersionMatch=NotOlderThan");
    api_merge(&t, DEFAULT_CMS "/a", "{'data':{'k':'v'}}");
    api_delete(&t, DEFAULT_CMS "/a", NULL);
    while (at + 4 <= watch.text.len && count < PL_ARRAY_LEN(want)) {
        const unsigned char *head = (const unsigned char *)watch.text.ptr + at;
        size_t len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
        struct pl_slice rest = pl_slice(watch.text.ptr + at + 4, len);
        struct pl_wire_field type, object, raw;
        struct pl_proto_envelope envelope;
        REQUIRE(at + 4 + len <= watch.text.len);
        REQUIRE(pl_wire_next(&rest, &type) == 1 && pl_wire_next(&rest, &object) == 1);
        CHECK_SLICE(type.bytes, want[count]);
        REQUIRE(pl_wire_next(&object.bytes, &raw) == 1);
        REQUIRE(pl_proto_open(raw.bytes, &envelope));
        CHECK_SLICE(envelope.kind, "ConfigMap");
        at += 4 + len;
        count++;
    }
    CHECK_INT(count, PL_ARRAY_LEN(want));
    CHECK_INT(at, watch.text.len);
    api_watch_close(&watch);
    api_close(&t);
}

TEST_MAIN()
