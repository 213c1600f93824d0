#include "write/noop.h"

#include "unit/control/bed.h"
#include "support/json.h"
#include "object/patch.h"
#include "object/schema.h"

static const struct pl_resource pods = {
    .kind = {"", "v1", "Pod"}, .plural = "pods", .namespaced = true, .has_status = true};

TEST(server_owned_fields_and_the_order_of_members_are_no_change)
{
    static const struct {
        const char *object;
        bool status, noop;
    } cases[] = {
        {"{\"spec\":{\"x\":1,\"y\":[2]},\"metadata\":{\"name\":\"p\",\"uid\":\"9\"}}", false, true},
        {"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"y\":[2],\"x\":1.0}}", false, true},
        {"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"y\":[2]}}", false, false},
        {"{\"metadata\":{\"name\":\"p\",\"labels\":{}},\"spec\":{\"y\":[2],\"x\":1}}", false,
         false},
        {"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"y\":[2],\"x\":1},\"status\":{}}", false, true},
        {"{\"metadata\":{\"name\":\"p\"},\"status\":{\"z\":3}}", true, true},
        {"{\"metadata\":{\"name\":\"p\"},\"status\":{\"z\":4}}", true, false},
        {"{\"metadata\":{\"name\":\"p\"}}", true, false},
    };
    struct pl_doc *cached = bed_doc("{\"metadata\":{\"name\":\"p\",\"uid\":\"1\",\"generation\":2,"
                                    "\"resourceVersion\":\"5\",\"creationTimestamp\":\"x\"},"
                                    "\"spec\":{\"x\":1,\"y\":[2]},\"status\":{\"z\":3}}");
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_doc *object = bed_doc(cases[i].object);
        if (pl_noop_update(pl_doc_root(object), pl_doc_root(cached), &pods, cases[i].status) !=
            cases[i].noop)
            TEST_FAIL("case %zu", i);
        pl_doc_unref(object);
    }
    pl_doc_unref(cached);
}

/* The quick comparison must have the same result as merging and comparing. */
TEST(a_merge_patch_changes_nothing_when_the_merged_object_is_the_same)
{
    static const char *const patches[] = {
        "{}",
        "{'spec':{}}",
        "{'spec':{'x':1,'y':[2,{'k':null}]}}",
        "{'spec':{'x':1.0}}",
        "{'spec':{'x':2}}",
        "{'spec':{'x':null}}",
        "{'spec':{'gone':null}}",
        "{'spec':{'gone':{}}}",
        "{'spec':{'gone':{'deeper':null}}}",
        "{'spec':{'none':null}}",
        "{'spec':{'x':{}}}",
        "{'spec':{'x':{'a':null}}}",
        "{'spec':{'m':{'a':1}}}",
        "{'spec':{'m':{'a':1,'b':2}}}",
        "{'spec':{'m':{'b':null}}}",
        "{'spec':{'y':[2]}}",
        "{'spec':7}",
        "{'spec':null}",
        "{'other':null}",
        "{'other':{}}",
        "{'metadata':{}}",
        "{'metadata':null}",
        "{'metadata':3}",
        "{'metadata':{'generation':9,'creationTimestamp':null}}",
        "{'metadata':{'labels':{'l':'1'}}}",
        "{'metadata':{'labels':{'l':'2'}}}",
        "{'metadata':{'labels':null}}",
        "{'metadata':{'annotations':null,'finalizers':null}}",
        "{'metadata':{'finalizers':[]}}",
        "{'status':{'z':3}}",
        "{'status':{'z':4}}",
        "{'status':{'z':null}}",
        "{'status':{'more':{}}}",
        "{'status':null}",
        "{'status':[]}",
        "{'status':{'z':3},'spec':{'x':2}}",
    };
    struct pl_resource plain = pods;
    plain.has_status = false;
    struct pl_doc *cached =
        json("{'metadata':{'name':'p','uid':'1','generation':2,'labels':{'l':'1'}},'spec':{'x':1,"
             "'y':[2,{'k':null}],'none':null,'m':{'a':1}},'status':{'z':3}}");
    for (size_t i = 0; i < PL_ARRAY_LEN(patches) * 4; i++) {
        const struct pl_resource *resource = i % 2 ? &pods : &plain;
        bool status = i / 2 % 2;
        struct pl_doc *patch = json(patches[i / 4]);
        struct pl_doc *merged = pl_patch_merge(pl_doc_root(cached), pl_doc_root(patch), NULL);
        if (pl_noop_merge_patch(pl_doc_root(patch), pl_doc_root(cached), resource, status) !=
            pl_noop_update(pl_doc_root(merged), pl_doc_root(cached), resource, status))
            TEST_FAIL("%s, %d", patches[i / 4], status);
        pl_doc_unref(patch);
        pl_doc_unref(merged);
    }
    pl_doc_unref(cached);
}

TEST(a_merge_patch_that_names_a_version_or_another_uid_is_always_sent)
{
    static const struct {
        const char *patch;
        bool noop;
    } cases[] = {
        {"{\"spec\":{\"x\":1}}", true},
        {"{\"spec\":{\"x\":2}}", false},
        {"{\"spec\":{\"gone\":null}}", true},
        {"{\"metadata\":{\"uid\":\"1\"},\"spec\":{\"x\":1}}", true},
        {"{\"metadata\":{\"uid\":\"2\"},\"spec\":{\"x\":1}}", false},
        {"{\"metadata\":{\"resourceVersion\":\"5\"},\"spec\":{\"x\":1}}", false},
    };
    struct pl_doc *cached = bed_doc("{\"metadata\":{\"name\":\"p\",\"uid\":\"1\","
                                    "\"resourceVersion\":\"5\"},\"spec\":{\"x\":1}}");
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_doc *patch = bed_doc(cases[i].patch);
        if (pl_noop_merge_patch(pl_doc_root(patch), pl_doc_root(cached), &pods, false) !=
            cases[i].noop)
            TEST_FAIL("case %zu", i);
        pl_doc_unref(patch);
    }
    pl_doc_unref(cached);
}

TEST(what_was_applied_is_remembered_up_to_a_limit)
{
    struct pl_applied *applied = pl_applied_create(2);
    struct pl_doc *one = bed_doc("{\"a\":1,\"b\":2}"), *same = bed_doc("{\"b\":2,\"a\":1}");
    struct pl_doc *other = bed_doc("{\"a\":1}");
    CHECK(!pl_applied_is_last(applied, pl_slice_z("x"), pl_doc_root(one)));
    pl_applied_remember(applied, pl_slice_z("x"), pl_doc_root(one), NULL);
    CHECK(pl_applied_is_last(applied, pl_slice_z("x"), pl_doc_root(same)));
    CHECK(!pl_applied_is_last(applied, pl_slice_z("x"), pl_doc_root(other)));
    pl_applied_remember(applied, pl_slice_z("y"), pl_doc_root(one), NULL);
    CHECK(pl_applied_is_last(applied, pl_slice_z("x"), pl_doc_root(one))); /* used: kept longer */
    pl_applied_remember(applied, pl_slice_z("z"), pl_doc_root(one), NULL);
    CHECK(!pl_applied_is_last(applied, pl_slice_z("y"), pl_doc_root(one)));
    CHECK(pl_applied_is_last(applied, pl_slice_z("x"), pl_doc_root(one)));
    pl_applied_forget(applied, pl_slice_z("x"));
    CHECK(!pl_applied_is_last(applied, pl_slice_z("x"), pl_doc_root(one)));
    pl_doc_unref(one);
    pl_doc_unref(same);
    pl_doc_unref(other);
    pl_applied_destroy(applied);
}

/* Applies of Pods: before, then after. */
TEST(fields_of_an_apply_are_told_apart_by_their_names_and_not_by_their_values)
{
    static const struct {
        const char *before, *after;
        enum pl_applied_fields fields;
    } cases[] = {
        {"{'spec':{'a':1,'b':{'c':2}}}", "{'spec':{'b':{'c':3},'a':{}}}", PL_FIELDS_SAME},
        {"{'spec':{'a':1,'b':{'c':2}}}", "{'spec':{'a':1}}", PL_FIELDS_FEWER},
        {"{'spec':{'a':1}}", "{'spec':{'b':1}}", PL_FIELDS_FEWER},
        {"{'spec':{'a':1}}", "{'spec':{'a':1,'b':1}}", PL_FIELDS_MORE},
        {"{'spec':{'a':{'b':1}}}", "{'spec':{'b':{'a':1}}}", PL_FIELDS_FEWER},
        /* atomic lists and objects are one field */
        {"{'spec':{'other':[1,2]}}", "{'spec':{'other':[3]}}", PL_FIELDS_SAME},
        {"{'spec':{'nodeSelector':{'a':'1'}}}", "{'spec':{'nodeSelector':{'b':'1'}}}",
         PL_FIELDS_SAME},
        /* elements with keys, in any order, with defaults */
        {"{'spec':{'containers':[{'name':'a','image':'i'},{'name':'b','image':'i'}]}}",
         "{'spec':{'containers':[{'name':'b','image':'j'},{'name':'a','image':'i'}]}}",
         PL_FIELDS_SAME},
        {"{'spec':{'containers':[{'name':'a','image':'i'},{'name':'b','image':'i'}]}}",
         "{'spec':{'containers':[{'name':'a','image':'i'},{'name':'c','image':'i'}]}}",
         PL_FIELDS_FEWER},
        {"{'spec':{'containers':[{'name':'a','ports':[{'containerPort':1,'protocol':'TCP'}]}]}}",
         "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':1}]}]}}", PL_FIELDS_SAME},
        {"{'metadata':{'finalizers':['a/a','b/b']}}", "{'metadata':{'finalizers':['b/b']}}",
         PL_FIELDS_FEWER},
        {"{'metadata':{'finalizers':['a/a','b/b']}}", "{'metadata':{'finalizers':['b/b','a/a']}}",
         PL_FIELDS_SAME},
    };
    const struct pl_schema *schema = pl_schema_builtin(&pods.kind);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_applied *applied = pl_applied_create(2);
        struct pl_doc *before = json(cases[i].before), *after = json(cases[i].after);
        CHECK_INT(pl_applied_compare(applied, pl_slice_z("x"), pl_doc_root(after), schema),
                  PL_FIELDS_SAME);
        pl_applied_remember(applied, pl_slice_z("x"), pl_doc_root(before), schema);
        if (pl_applied_compare(applied, pl_slice_z("x"), pl_doc_root(after), schema) !=
            cases[i].fields)
            TEST_FAIL("case %zu", i);
        pl_doc_unref(before);
        pl_doc_unref(after);
        pl_applied_destroy(applied);
    }
}

TEST_MAIN()
