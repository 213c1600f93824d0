#include "base/base.h"
#include "object/patch.h"

#include "support/json.h"

static const struct pl_schema *pod_schema(void)
{
    struct pl_kind kind;
    REQUIRE(pl_kind_parse(pl_slice_z("v1/Pod"), &kind, NULL) == 0);
    return pl_schema_builtin(&kind);
}

static struct pl_doc *apply(const char *target, const char *patch, struct pl_err *err)
{
    struct pl_doc *doc = json(target), *change = json(patch);
    struct pl_doc *result =
        pl_patch_strategic(pl_doc_root(doc), pl_doc_root(change), pod_schema(), err);
    pl_doc_unref(doc);
    pl_doc_unref(change);
    return result;
}

static void check(const char *target, const char *patch, const char *want)
{
    struct pl_err err = {.message = ""};
    struct pl_doc *result = apply(target, patch, &err);
    if (result == NULL)
        TEST_FAIL("%s: %s", patch, err.message);
    else
        CHECK_JSON(pl_doc_root(result), want);
    pl_doc_unref(result);
}

TEST(maps_merge_and_null_removes)
{
    check("{'metadata':{'labels':{'a':'1','b':'2'}}}",
          "{'metadata':{'labels':{'b':null,'c':'3','d':null}}}",
          "{'metadata':{'labels':{'a':'1','c':'3'}}}");
    check("{}", "{'spec':{'a':{'b':null,'c':[{'d':null}]}}}", "{'spec':{'a':{'c':[{}]}}}");
    check("{'spec':{'nodeSelector':{'a':'1'}}}", "{'spec':{'nodeSelector':{'b':'2'}}}",
          "{'spec':{'nodeSelector':{'a':'1','b':'2'}}}");
    check("{'spec':{'a':1}}", "{'spec':{'a':{'b':2}}}", "{'spec':{'a':{'b':2}}}");
    check("{'spec':{'a':{'b':2}}}", "{'spec':{'a':[1]}}", "{'spec':{'a':[1]}}");
}

TEST(lists_with_a_merge_key_merge_by_it)
{
    check("{'spec':{'containers':[{'name':'a','image':'1'},{'name':'b','image':'1'}]}}",
          "{'spec':{'containers':[{'name':'b','image':'2','env':[{'name':'X','value':'1'}]}]}}",
          "{'spec':{'containers':[{'name':'a','image':'1'},"
          "{'name':'b','image':'2','env':[{'name':'X','value':'1'}]}]}}");
    /* What the patch adds comes before what only the server has. */
    check("{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
          "{'spec':{'containers':[{'name':'c'}]}}",
          "{'spec':{'containers':[{'name':'c'},{'name':'a'},{'name':'b'}]}}");
    check("{'spec':{'containers':[{'name':'a','env':[{'name':'X','value':'1'},"
          "{'name':'Y','value':'2'}]}]}}",
          "{'spec':{'containers':[{'name':'a','env':[{'name':'Y','value':'3'}]}]}}",
          "{'spec':{'containers':[{'name':'a','env':[{'name':'X','value':'1'},"
          "{'name':'Y','value':'3'}]}]}}");
    check("{'spec':{'containers':[{'name':'a','ports':[{'containerPort':80,'name':'w'}]}]}}",
          "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':80.0,'hostPort':1},"
          "{'containerPort':443}]}]}}",
          "{'spec':{'containers':[{'name':'a','ports':["
          "{'containerPort':80.0,'name':'w','hostPort':1},{'containerPort':443}]}]}}");
    check("{}", "{'spec':{'containers':[{'name':'a','image':null}]}}",
          "{'spec':{'containers':[{'name':'a'}]}}");
    /* A new list is taken as it is, also where two elements share the merge key. */
    check("{'spec':{'containers':[{'name':'a'}]}}",
          "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':53,'protocol':'TCP'},"
          "{'containerPort':53,'protocol':'UDP'}]}]}}",
          "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':53,'protocol':'TCP'},"
          "{'containerPort':53,'protocol':'UDP'}]}]}}");
    /* Named twice in one patch: one after the other. */
    check("{'spec':{'containers':[{'name':'a','x':0}]}}",
          "{'spec':{'containers':[{'name':'a','x':1,'y':1},{'name':'a','x':2}]}}",
          "{'spec':{'containers':[{'name':'a','x':2,'y':1}]}}");
}

TEST(other_lists_are_replaced)
{
    check("{'spec':{'tolerations':[{'key':'a'}]}}", "{'spec':{'tolerations':[{'key':'b'}]}}",
          "{'spec':{'tolerations':[{'key':'b'}]}}");
    check("{'spec':{'unknown':[1,2]}}", "{'spec':{'unknown':[3]}}", "{'spec':{'unknown':[3]}}");
}

TEST(elements_are_deleted_and_lists_replaced_by_directives)
{
    check("{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}}",
          "{'spec':{'containers':[{'name':'b','$patch':'delete'}]}}",
          "{'spec':{'containers':[{'name':'a'},{'name':'c'}]}}");
    check("{'spec':{'containers':[{'name':'a','x':1}]}}",
          "{'spec':{'containers':[{'name':'a','$patch':'delete'},{'name':'a','y':1}]}}",
          "{'spec':{'containers':[{'name':'a','y':1}]}}");
    check("{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
          "{'spec':{'containers':[{'$patch':'replace'},{'name':'c'}]}}",
          "{'spec':{'containers':[{'name':'c'}]}}");
    check("{}", "{'spec':{'containers':[{'name':'a','$patch':'delete'}]}}",
          "{'spec':{'containers':[]}}");
}

TEST(maps_are_replaced_or_emptied_by_directives)
{
    check("{'metadata':{'labels':{'a':'1'}}}",
          "{'metadata':{'labels':{'$patch':'replace','b':'2','c':null}}}",
          "{'metadata':{'labels':{'b':'2'}}}");
    check("{'metadata':{'labels':{'a':'1'}}}", "{'metadata':{'labels':{'$patch':'delete'}}}",
          "{'metadata':{'labels':{}}}");
    check("{'metadata':{}}", "{'metadata':{'labels':{'$patch':'delete'}}}", "{'metadata':{}}");
    check("{'metadata':{'labels':'x'}}", "{'metadata':{'labels':{'$patch':'delete'}}}",
          "{'metadata':{}}");
}

TEST(scalars_are_added_to_and_deleted_from_sets)
{
    check("{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'finalizers':['c','a']}}",
          "{'metadata':{'finalizers':['c','a','b']}}");
    check("{'metadata':{'finalizers':['a','b','c']}}",
          "{'metadata':{'$deleteFromPrimitiveList/finalizers':['b','x']}}",
          "{'metadata':{'finalizers':['a','c']}}");
    check("{'metadata':{'finalizers':['a']}}",
          "{'metadata':{'$deleteFromPrimitiveList/finalizers':'a'}}",
          "{'metadata':{'finalizers':['a']}}");
    check("{'metadata':{'finalizers':['a','b']}}",
          "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a'],'finalizers':['c']}}",
          "{'metadata':{'finalizers':['c','b']}}");
    check("{'metadata':{}}", "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a']}}",
          "{'metadata':{}}");
    check("{'spec':{'args':['a','b']}}", "{'spec':{'$deleteFromPrimitiveList/args':['a']}}",
          "{'spec':{'args':['b']}}");
}

TEST(the_order_of_elements_can_be_set)
{
    check("{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}}",
          "{'spec':{'$setElementOrder/containers':[{'name':'c'},{'name':'a'},{'name':'b'}]}}",
          "{'spec':{'containers':[{'name':'c'},{'name':'a'},{'name':'b'}]}}");
    check("{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
          "{'spec':{'$setElementOrder/containers':[{'name':'a'},{'name':'n'},{'name':'b'}],"
          "'containers':[{'name':'n','x':1}]}}",
          "{'spec':{'containers':[{'name':'a'},{'name':'n','x':1},{'name':'b'}]}}");
    /* What only the server has keeps its place before what it preceded. */
    check("{'spec':{'containers':[{'name':'s'},{'name':'a'},{'name':'b'}]}}",
          "{'spec':{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}]}}",
          "{'spec':{'containers':[{'name':'s'},{'name':'b'},{'name':'a'}]}}");
    check("{'metadata':{'finalizers':['a','b','c']}}",
          "{'metadata':{'$setElementOrder/finalizers':['c','b','a']}}",
          "{'metadata':{'finalizers':['c','b','a']}}");
    check("{'spec':{}}",
          "{'spec':{'$setElementOrder/containers':[{'name':'a'},{'name':'b'}],"
          "'containers':[{'name':'a'},{'name':'b'}]}}",
          "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}");
    check("{'spec':{}}", "{'spec':{'$setElementOrder/containers':[{'name':'a'}]}}", "{'spec':{}}");
}

TEST(only_the_retained_keys_of_a_map_stay)
{
    check("{'spec':{'volumes':[{'name':'v','emptyDir':{},'x':1}]}}",
          "{'spec':{'volumes':[{'$retainKeys':['name','secret'],'name':'v','secret':{'s':1}}]}}",
          "{'spec':{'volumes':[{'name':'v','secret':{'s':1}}]}}");
    check("{'spec':{'strategy':{'type':'A','rollingUpdate':{'x':1}}}}",
          "{'spec':{'strategy':{'$retainKeys':['type'],'type':'B','rollingUpdate':null}}}",
          "{'spec':{'strategy':{'type':'B'}}}");
}

TEST(a_strategic_patch_that_does_not_fit_is_refused)
{
    static const struct {
        const char *target, *patch;
        int code;
        const char *message;
    } bad[] = {
        {"{}", "[]", PL_ESYNTAX, "a strategic merge patch and what it patches must be objects"},
        {"{'spec':{'containers':[]}}", "{'spec':{'containers':[{'image':'x'}]}}", PL_EINVAL,
         "map: map[image:x] does not contain declared merge key: name"},
        {"{'spec':{'containers':[]}}", "{'spec':{'containers':['x']}}", PL_EINVAL,
         "element 0 must be an object with \"name\""},
        {"{'metadata':{'finalizers':[]}}", "{'metadata':{'finalizers':[{}]}}", PL_EINVAL,
         "element 0 must be a scalar"},
        {"{'spec':{'containers':[]}}", "{'spec':{'containers':[{'name':'a','$patch':'remove'}]}}",
         PL_EINVAL, "unknown patch type: remove in map: map[$patch:remove name:a]"},
        {"{'spec':{}}", "{'spec':{'$patch':'drop'}}", PL_EINVAL,
         "unknown patch type: drop in map: map[$patch:drop]"},
        {"{'spec':{'a':1}}", "{'spec':{'$retainKeys':'a'}}", PL_ESYNTAX,
         "invalid patch format of retainKeys"},
        {"{'spec':{'a':1}}", "{'spec':{'$retainKeys':['a'],'b':1}}", PL_ESYNTAX,
         "invalid patch format of retainKeys"},
        {"{'spec':{'args':[]}}", "{'spec':{'$setElementOrder/args':{}}}", PL_ESYNTAX,
         "invalid patch format of setElementOrder list"},
        {"{'spec':{'containers':[]}}", "{'spec':{'containers':[{'name':'a','$patch':'merge'}]}}",
         PL_EINVAL, "merging lists cannot yet be specified in the patch"},
        {"{'metadata':{'labels':{}}}", "{'metadata':{'labels':{'$patch':'merge','b':'2'}}}",
         PL_EINVAL, "unknown patch type: merge in map: map[$patch:merge b:2]"},
        {"{'spec':{'containers':[]}}",
         "{'spec':{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}],"
         "'containers':[{'name':'a'},{'name':'b'}]}}",
         PL_EINVAL,
         "The order in patch list:\n[map[name:a] map[name:b]]\n doesn't match $setElementOrder "
         "list:\n[map[name:b] map[name:a]]\n"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++) {
        struct pl_err err = {.message = ""};
        struct pl_doc *result = apply(bad[i].target, bad[i].patch, &err);
        CHECK(result == NULL);
        CHECK_INT(err.code, bad[i].code);
        CHECK_STR(err.message, bad[i].message);
        pl_doc_unref(result);
    }
}

TEST_MAIN()
