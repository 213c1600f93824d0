#include "object/meta.h"

#include "base/base.h"
#include "value/pool.h"
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

static bool same_uid(const char *a, const char *b)
{
    struct pl_doc *x = json(a), *y = json(b);
    bool same = pl_meta_same_uid(pl_doc_root(x), pl_doc_root(y));
    pl_doc_unref(x);
    pl_doc_unref(y);
    return same;
}

TEST(versions_of_one_object_have_one_uid)
{
    static const char packed[] = "{'metadata':{'uid':'0b2cd8f1-7c0e-4b52-8a5e-0f1d1f2a3b4c'}}";
    CHECK(same_uid(packed, packed));
    CHECK(!same_uid(packed, "{'metadata':{'uid':'0b2cd8f1-7c0e-4b52-8a5e-0f1d1f2a3b4d'}}"));
    CHECK(!same_uid(packed, "{'metadata':{}}"));
    CHECK(same_uid("{'metadata':{'uid':'u'}}", "{'metadata':{'name':'a','uid':'u'}}"));
    CHECK(same_uid("{'metadata':{'uid':7}}", "{}"));
    CHECK(same_uid("{'metadata':{'uid':''}}", "{'metadata':{}}"));
}

TEST(kind_and_version_of_its_api_are_found_wherever_they_stand)
{
    struct pl_node api_version, kind;
    struct pl_scratch scratch;
    struct pl_doc *doc = json("{'spec':{},'kind':'Pod','kinder':1,'apiVersion':'v1'}");
    pl_meta_type(pl_doc_root(doc), &api_version, &kind);
    CHECK_SLICE(pl_node_str(api_version, &scratch), "v1");
    CHECK_SLICE(pl_node_str(kind, &scratch), "Pod");
    pl_doc_unref(doc);
    static const char *const without[] = {"{'king':'Pod','apiversion':'v1'}", "['kind']", "'kind'"};
    for (size_t i = 0; i < PL_ARRAY_LEN(without); i++) {
        doc = json(without[i]);
        pl_meta_type(pl_doc_root(doc), &api_version, &kind);
        CHECK(pl_node_is_missing(api_version) && pl_node_is_missing(kind));
        pl_doc_unref(doc);
    }
    pl_meta_type(PL_NODE_MISSING, &api_version, &kind);
    CHECK(pl_node_is_missing(api_version) && pl_node_is_missing(kind));
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

static void check_identity(struct pl_doc *doc, const char *ns, const char *name, const char *uid,
                           const char *rv)
{
    struct pl_node object = pl_doc_root(doc);
    struct pl_scratch scratch;
    for (int again = 0; again < 2; again++) { /* their position is kept after the first time */
        CHECK_SLICE(pl_meta_uid(object, &scratch), uid);
        CHECK_SLICE(pl_meta_rv(object, &scratch), rv);
        CHECK_SLICE(pl_meta_namespace(object, &scratch), ns);
        CHECK_SLICE(pl_meta_name(object, &scratch), name);
    }
}

TEST(what_identifies_an_object_is_the_same_however_often_it_is_asked_for)
{
    static const char *const template = "{'metadata':{'name':'inner','uid':'u2'}}";
    struct pl_doc *doc =
        json("{'kind':'A','metadata':{'uid':'0b5e8a3c-4c1f-4d0e-9a57-1f2e3d4c5b6a',"
             "'labels':{'name':'no'},'name':'a','resourceVersion':'123456789'},"
             "'template':{'metadata':{'name':'inner','uid':'u2'}}}");
    check_identity(doc, "", "a", "0b5e8a3c-4c1f-4d0e-9a57-1f2e3d4c5b6a", "123456789");
    struct pl_scratch scratch;
    struct pl_node inner = pl_node_getz(pl_doc_root(doc), "template");
    CHECK_SLICE(pl_meta_name(inner, &scratch), "inner");
    CHECK_SLICE(pl_meta_uid(inner, &scratch), "u2");
    CHECK_SLICE(pl_meta_rv(inner, &scratch), "");
    pl_doc_unref(doc);
    doc = json(template);
    check_identity(doc, "", "inner", "u2", "");
    pl_doc_unref(doc);
    static const char *const strange[] = {"[]", "7", "{}", "{'metadata':[{'name':'a'}]}",
                                          "{'metadata':{'name':1,'uid':null}}"};
    for (size_t i = 0; i < PL_ARRAY_LEN(strange); i++) {
        doc = json(strange[i]);
        check_identity(doc, "", "", "", "");
        pl_doc_unref(doc);
    }
}

/* In one pool: values that several objects share lie outside of each object, possibly all metadata
 * of an object. */
TEST(what_identifies_an_object_is_found_where_it_is_shared)
{
    struct pl_pool *pool = pl_pool_create();
    struct pl_doc *docs[6];
    for (size_t i = 0; i < PL_ARRAY_LEN(docs); i++) {
        char *text = json_text("{'metadata':{'name':'the-same-name-everywhere','namespace':"
                               "'the-same-namespace','labels':{'app':'the-same-label'},'uid':"
                               "'0b5e8a3c-4c1f-4d0e-9a57-1f2e3d4c5b6a'},'n':0}");
        text[strlen(text) - 2] = (char)('0' + i);
        docs[i] = pl_scan_text(pl_slice_z(text), &(struct pl_scan_options){.pool = pool}, NULL);
        free(text);
        check_identity(docs[i], "the-same-namespace", "the-same-name-everywhere",
                       "0b5e8a3c-4c1f-4d0e-9a57-1f2e3d4c5b6a", "");
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(docs); i++)
        pl_doc_unref(docs[i]);
    pl_pool_destroy(pool);
}

TEST(what_identifies_an_object_is_found_behind_long_annotations)
{
    for (size_t len = 65500; len < 65540; len++) { /* some of it before the end of what is kept */
        struct pl_buf text = PL_BUF_INIT;
        pl_buf_add_z(&text, "{\"metadata\":{\"annotations\":{\"a\":\"");
        for (size_t i = 0; i < len; i++)
            pl_buf_add_char(&text, 'x');
        pl_buf_add_z(&text, "\"},\"name\":\"n\",\"namespace\":\"ns\",\"resourceVersion\":"
                            "\"5\",\"uid\":\"u\"}}");
        struct pl_doc *doc = pl_scan_text(pl_buf_slice(&text), &(struct pl_scan_options){0}, NULL);
        check_identity(doc, "ns", "n", "u", "5");
        pl_doc_unref(doc);
        pl_buf_deinit(&text);
    }
}

TEST(versions_are_the_same_when_both_have_that_or_none)
{
    struct pl_doc *a = json("{'metadata':{'resourceVersion':'12'}}");
    struct pl_doc *b = json("{'metadata':{'name':'b','resourceVersion':'12'}}");
    struct pl_doc *later = json("{'metadata':{'resourceVersion':'13'}}");
    struct pl_doc *none = json("{'metadata':{}}"),
                  *number = json("{'metadata':{'resourceVersion':12}}");
    CHECK(pl_meta_same_rv(pl_doc_root(a), pl_doc_root(b)));
    CHECK(!pl_meta_same_rv(pl_doc_root(a), pl_doc_root(later)));
    CHECK(!pl_meta_same_rv(pl_doc_root(a), pl_doc_root(none)));
    CHECK(pl_meta_same_rv(pl_doc_root(none), pl_doc_root(none)));
    CHECK(pl_meta_same_rv(pl_doc_root(none), pl_doc_root(number)));
    pl_doc_unref(a);
    pl_doc_unref(b);
    pl_doc_unref(later);
    pl_doc_unref(none);
    pl_doc_unref(number);
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

/* Rule 38. */
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
