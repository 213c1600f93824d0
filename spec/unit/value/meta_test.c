#include "value/meta.h"

#include "base/base.h"
#include "support/json.h"

TEST(a_key_is_namespace_and_name)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_err err;
    struct pl_doc *doc = json("{'metadata':{'namespace':'default','name':'blog'}}");
    CHECK_INT(pl_meta_key(pl_doc_root(doc), &out, NULL), 0);
    CHECK_STR(pl_buf_z(&out), "default/blog");
    pl_doc_unref(doc);

    pl_buf_clear(&out);
    doc = json("{'metadata':{'name':'node-1'}}");
    CHECK_INT(pl_meta_key(pl_doc_root(doc), &out, NULL), 0);
    CHECK_STR(pl_buf_z(&out), "node-1");
    pl_doc_unref(doc);

    doc = json("{'metadata':{'namespace':'default'}}");
    CHECK_INT(pl_meta_key(pl_doc_root(doc), &out, &err), PL_EINVAL);
    CHECK_STR(err.message, "the object has no metadata.name");
    pl_doc_unref(doc);
    pl_buf_deinit(&out);
}

TEST(keys_are_split_at_their_only_slash)
{
    struct pl_slice ns, name;
    CHECK_INT(pl_key_split(pl_slice_z("a/b"), &ns, &name), 0);
    CHECK_SLICE(ns, "a");
    CHECK_SLICE(name, "b");
    CHECK_INT(pl_key_split(pl_slice_z("b"), &ns, &name), 0);
    CHECK_SLICE(ns, "");
    CHECK_SLICE(name, "b");
    static const char *const bad[] = {"", "/", "a/", "/b", "a/b/c"};
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++)
        CHECK_INT(pl_key_split(pl_slice_z(bad[i]), &ns, &name), PL_EINVAL);
}

TEST(metadata_is_read_and_what_is_absent_is_empty)
{
    struct pl_scratch scratch;
    struct pl_doc *doc = json("{'metadata':{'name':'a','namespace':'b','uid':'u','resourceVersion':"
                              "'12','generation':3,'deletionTimestamp':'2026-11-21T09:30:00Z',"
                              "'labels':{'app':'x'},'annotations':{'k':'v'}}}");
    struct pl_node object = pl_doc_root(doc);
    CHECK_SLICE(pl_meta_name(object, &scratch), "a");
    CHECK_SLICE(pl_meta_namespace(object, &scratch), "b");
    CHECK_SLICE(pl_meta_uid(object, &scratch), "u");
    CHECK_SLICE(pl_meta_rv(object, &scratch), "12");
    CHECK_INT(pl_meta_generation(object), 3);
    CHECK(pl_meta_is_deleting(object));
    CHECK_JSON(pl_meta_labels(object), "{'app':'x'}");
    CHECK_JSON(pl_meta_annotations(object), "{'k':'v'}");
    pl_doc_unref(doc);

    doc = json("{'metadata':{'deletionTimestamp':null}}");
    object = pl_doc_root(doc);
    CHECK_SLICE(pl_meta_uid(object, &scratch), "");
    CHECK_INT(pl_meta_generation(object), 0);
    CHECK(!pl_meta_is_deleting(object));
    CHECK(pl_node_is_missing(pl_meta_labels(object)));
    pl_doc_unref(doc);
}

TEST(owner_references_are_read_by_index_and_by_controller)
{
    struct pl_owner owner;
    struct pl_doc *doc = json("{'metadata':{'ownerReferences':["
                              "{'apiVersion':'v1','kind':'ConfigMap','name':'c','uid':'1'},"
                              "{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'r','uid':'2',"
                              "'controller':true}]}}");
    struct pl_node object = pl_doc_root(doc);
    CHECK_INT(pl_meta_owner_count(object), 2);
    CHECK(pl_meta_owner(object, 0, &owner));
    CHECK_SLICE(owner.kind, "ConfigMap");
    CHECK(!owner.controller);
    CHECK(pl_meta_controller(object, &owner));
    CHECK_SLICE(owner.api_version, "apps/v1");
    CHECK_SLICE(owner.kind, "ReplicaSet");
    CHECK_SLICE(owner.name, "r");
    CHECK_SLICE(owner.uid, "2");
    CHECK(owner.controller);
    CHECK(!pl_meta_owner(object, 2, &owner));
    pl_doc_unref(doc);

    doc = json("{'metadata':{'ownerReferences':{'controller':true}}}");
    CHECK_INT(pl_meta_owner_count(pl_doc_root(doc)), 0);
    pl_doc_unref(doc);
    doc = json("{}");
    CHECK(!pl_meta_controller(pl_doc_root(doc), &owner));
    pl_doc_unref(doc);
}

/* Semantics 38. */
TEST(resource_versions_compare_by_length_and_then_by_text)
{
    CHECK(pl_rv_is_valid(pl_slice_z("1")));
    CHECK(pl_rv_is_valid(pl_slice_z("18446744073709551616000")));
    static const char *const bad[] = {"", "0", "01", "1a", "-1", " 1"};
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++)
        CHECK(!pl_rv_is_valid(pl_slice_z(bad[i])));
    CHECK(pl_rv_compare(pl_slice_z("9"), pl_slice_z("10")) < 0);
    CHECK(pl_rv_compare(pl_slice_z("11"), pl_slice_z("10")) > 0);
    CHECK(pl_rv_compare(pl_slice_z("10"), pl_slice_z("10")) == 0);
    CHECK(pl_rv_compare(pl_slice_z("20000000000000000000"), pl_slice_z("9999999999999999999")) > 0);
}

TEST_MAIN()
