#include "base/base.h"
#include "object/patch.h"

#include "base/buf.h"
#include "support/json.h"

static struct pl_doc *apply(const char *target, const char *patch, struct pl_err *err)
{
    struct pl_doc *doc = json(target), *ops = json(patch);
    struct pl_doc *result = pl_patch_json(pl_doc_root(doc), pl_doc_root(ops), err);
    pl_doc_unref(doc);
    pl_doc_unref(ops);
    return result;
}

/* RFC 6902, appendix A, and cases that it leaves open. */
TEST(json_patches_do_what_the_rfc_shows)
{
    static const struct {
        const char *target, *patch, *want;
    } cases[] = {
        {"{'a':1}", "[]", "{'a':1}"},
        {"{'foo':'bar'}", "[{'op':'add','path':'/baz','value':'qux'}]",
         "{'foo':'bar','baz':'qux'}"},
        {"{'foo':['bar','baz']}", "[{'op':'add','path':'/foo/1','value':'qux'}]",
         "{'foo':['bar','qux','baz']}"},
        {"{'baz':'qux','foo':'bar'}", "[{'op':'remove','path':'/baz'}]", "{'foo':'bar'}"},
        {"{'foo':['bar','qux','baz']}", "[{'op':'remove','path':'/foo/1'}]",
         "{'foo':['bar','baz']}"},
        {"{'baz':'qux','foo':'bar'}", "[{'op':'replace','path':'/baz','value':'boo'}]",
         "{'baz':'boo','foo':'bar'}"},
        {"{'foo':{'bar':'baz','waldo':'fred'},'qux':{'corge':'grault'}}",
         "[{'op':'move','from':'/foo/waldo','path':'/qux/thud'}]",
         "{'foo':{'bar':'baz'},'qux':{'corge':'grault','thud':'fred'}}"},
        {"{'foo':['all','grass','cows','eat']}", "[{'op':'move','from':'/foo/1','path':'/foo/3'}]",
         "{'foo':['all','cows','eat','grass']}"},
        {"{'baz':'qux','foo':['a',2,'c']}",
         "[{'op':'test','path':'/baz','value':'qux'},{'op':'test','path':'/foo/1','value':2}]",
         "{'baz':'qux','foo':['a',2,'c']}"},
        {"{'foo':'bar'}", "[{'op':'add','path':'/child','value':{'grandchild':{}}}]",
         "{'foo':'bar','child':{'grandchild':{}}}"},
        {"{'foo':'bar'}", "[{'op':'add','path':'/baz','value':'qux','xyz':123}]",
         "{'foo':'bar','baz':'qux'}"},
        {"{'/':9,'~1':10}", "[{'op':'test','path':'/~01','value':10}]", "{'/':9,'~1':10}"},
        {"{'/':9,'~1':10}", "[{'op':'replace','path':'/~1','value':8}]", "{'/':8,'~1':10}"},
        /* As in the API server: what is absent is added. */
        {"{'a':1}", "[{'op':'replace','path':'/b','value':1}]", "{'a':1,'b':1}"},
        {"{'foo':['bar']}", "[{'op':'add','path':'/foo/-','value':['abc','def']}]",
         "{'foo':['bar',['abc','def']]}"},
        {"{'foo':1}", "[{'op':'add','path':'/foo','value':null}]", "{'foo':null}"},
        {"{'foo':1}", "[{'op':'replace','path':'','value':[1]}]", "[1]"},
        {"{'foo':1}", "[{'op':'add','path':'','value':2},{'op':'test','path':'','value':2}]", "2"},
        {"{'foo':1}", "[{'op':'test','path':'','value':{'foo':1}}]", "{'foo':1}"},
        {"{'':1}", "[{'op':'move','from':'/','path':'/a'}]", "{'a':1}"},
        {"{'a':{'b':1}}",
         "[{'op':'copy','from':'/a','path':'/c'},"
         "{'op':'add','path':'/c/d','value':2}]",
         "{'a':{'b':1},'c':{'b':1,'d':2}}"},
        {"{'a':{'b':1}}",
         "[{'op':'add','path':'/a/x','value':2},{'op':'copy','from':'/a','path':"
         "'/c'},{'op':'remove','path':'/a/x'},{'op':'test','path':'/c','value':"
         "{'b':1,'x':2}}]",
         "{'a':{'b':1},'c':{'b':1,'x':2}}"},
        /* as in the API server */
        {"{'a':1}", "[{'op':'copy','from':'/x','path':'/b'}]", "{'a':1,'b':null}"},
        {"{'a':1}", "[{'op':'add','path':'/b'}]", "{'a':1,'b':null}"},
        {"{'a':1}", "[{'op':'add','path':'x/b','value':2}]", "{'a':1,'b':2}"},
        {"{'a':[1,2]}", "[{'op':'remove','path':'/a/-1'}]", "{'a':[1]}"},
        {"{'a':[1,2]}", "[{'op':'add','path':'/a/-1','value':3}]", "{'a':[1,2,3]}"},
        {"{'a':1}", "[{'op':'copy','from':'','path':'/self'}]", "{'a':1,'self':{'a':1}}"},
        {"{'a':{'b':[0]}}", "[{'op':'move','from':'/a/b','path':''}]", "[0]"},
        {"{'a':1,'b':2}", "[{'op':'move','from':'/a','path':'/b'}]", "{'b':1}"},
        {"{'a':1}", "[{'op':'move','from':'/a','path':'/a'}]", "{'a':1}"},
        {"{'0':1}", "[{'op':'add','path':'/01','value':2}]", "{'0':1,'01':2}"},
        {"{}", "[{'op':'add','path':'/~2~','value':1}]", "{'~2~':1}"},
        {"{'a':[1,2]}", "[{'op':'add','path':'/a/01','value':3}]", "{'a':[1,3,2]}"},
        {"{'a':[1,2]}", "[{'op':'replace','path':'/a/+1','value':3}]", "{'a':[1,3]}"},
        {"{'a':[1,2]}", "[{'op':'remove','path':'/a/-01'}]", "{'a':[1]}"},
        {"{'a':[1,2]}", "[{'op':'remove','path':'/a/-0'}]", "{'a':[2]}"},
        {"{'a':[1]}", "[{'op':'add','path':'/a/1','value':2}]", "{'a':[1,2]}"},
        {"{'a':[]}", "[{'op':'add','path':'/a/0','value':2}]", "{'a':[2]}"},
        /* As the API server has it. */
        {"{'a':{}}", "[{'op':'test','path':'/a/b','value':null}]", "{'a':{}}"},
        {"{'a':null}", "[{'op':'test','path':'/a','value':null}]", "{'a':null}"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_err err = {.message = ""};
        struct pl_doc *result = apply(cases[i].target, cases[i].patch, &err);
        if (result == NULL)
            TEST_FAIL("%s: %s", cases[i].patch, err.message);
        else
            CHECK_JSON(pl_doc_root(result), cases[i].want);
        pl_doc_unref(result);
    }
}

TEST(a_patch_that_does_not_fit_is_refused_with_its_operation)
{
    static const struct {
        const char *target, *patch;
        int code;
        const char *message;
    } bad[] = {
        {"{}", "{}", PL_ESYNTAX, "a JSON patch must be an array, not object"},
        {"{}", "[{}]", PL_ESYNTAX, "operation 0 ( ): \"path\" must be a JSON pointer"},
        {"{}", "[{'op':'jump','path':'/a'}]", PL_ESYNTAX,
         "operation 0 (jump /a): \"op\" must be add, remove, replace, move, copy or test"},
        {"{}", "[{'op':'add','path':'a','value':1}]", PL_ESYNTAX,
         "operation 0 (add a): \"path\" must begin with '/'"},
        {"{}", "[{'op':'copy','path':'/a'}]", PL_ESYNTAX,
         "operation 0 (copy /a): \"from\" must be a JSON pointer"},
        {"{'a':1}", "[{'op':'test','path':'/a','value':1},{'op':'test','path':'/a','value':2}]",
         PL_EINVAL, "operation 1 (test /a): the value is different"},
        {"{'a':1}", "[{'op':'test','path':'/a','value':'1'}]", PL_EINVAL,
         "operation 0 (test /a): the value is different"},
        {"{'a':[{'b':1}]}", "[{'op':'test','path':'/a','value':[{'b':1.0}]}]", PL_EINVAL,
         "operation 0 (test /a): the value is different"}, /* texts of numbers are compared */
        {"{'a':1}", "[{'op':'test','path':'/b','value':1}]", PL_EINVAL,
         "operation 0 (test /b): there is no \"b\""},
        {"{'a':[]}", "[{'op':'test','path':'/a/0','value':null}]", PL_EINVAL,
         "operation 0 (test /a/0): there is no \"0\""},
        {"{'a':1}", "[{'op':'remove','path':'/b'}]", PL_EINVAL,
         "operation 0 (remove /b): there is no \"b\""},
        {"{'a':1}", "[{'op':'add','path':'/b/c','value':1}]", PL_EINVAL,
         "operation 0 (add /b/c): there is no \"b\""},
        {"{'a':1}", "[{'op':'add','path':'/a/c','value':1}]", PL_EINVAL,
         "operation 0 (add /a/c): \"c\" cannot be looked up in a number"},
        {"{'a':[1]}", "[{'op':'add','path':'/a/2','value':1}]", PL_EINVAL,
         "operation 0 (add /a/2): there is no \"2\""},
        {"{'a':[1,2]}", "[{'op':'remove','path':'/a/02'}]", PL_EINVAL,
         "operation 0 (remove /a/02): there is no \"02\""},
        {"{'a':[1,2]}", "[{'op':'remove','path':'/a/+'}]", PL_EINVAL,
         "operation 0 (remove /a/+): \"+\" is not an array index"},
        {"{'a':[1]}", "[{'op':'remove','path':'/a/-2'}]", PL_EINVAL,
         "operation 0 (remove /a/-2): \"-2\" is not an array index"},
        {"{'a':[1]}", "[{'op':'replace','path':'/a/-','value':1}]", PL_EINVAL,
         "operation 0 (replace /a/-): \"-\" is not an array index"},
        {"{'a':[1]}", "[{'op':'remove','path':'/a/x'}]", PL_EINVAL,
         "operation 0 (remove /a/x): \"x\" is not an array index"},
        {"{'a':{'b':1}}", "[{'op':'move','from':'/a','path':'/a/b'}]", PL_EINVAL,
         "operation 0 (move /a/b): a value cannot be moved into itself"},
        {"{'a':1}", "[{'op':'remove','path':''}]", PL_EINVAL,
         "operation 0 (remove ): the whole document cannot be removed"},
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

/* n times the operation. */
static struct pl_doc *repeated(const char *operation, int n)
{
    struct pl_doc *one = json(operation);
    struct pl_build *b = pl_build_create(NULL);
    pl_build_array(b);
    for (int i = 0; i < n; i++)
        pl_build_node(b, pl_doc_root(one));
    pl_build_end(b);
    struct pl_doc *doc = pl_build_close(b);
    pl_doc_unref(one);
    return doc;
}

static void check_limit(const char *target, const char *operation, int n)
{
    struct pl_err err = {.message = ""};
    struct pl_doc *doc = json(target), *patch = repeated(operation, n);
    CHECK(pl_patch_json(pl_doc_root(doc), pl_doc_root(patch), &err) == NULL);
    CHECK_INT(err.code, PL_ELIMIT);
    pl_doc_unref(doc);
    pl_doc_unref(patch);
}

TEST(patches_that_inflate_are_stopped)
{
    check_limit("{'a':1}", "{'op':'test','path':'/a','value':1}", 10001);
    /* Each round doubles the list, or nests the document once more. */
    check_limit("{'a':[1]}", "{'op':'copy','from':'/a','path':'/a/-'}", 40);
    check_limit("{}", "{'op':'copy','from':'','path':'/a'}", 600);
    check_limit("{}", "{'op':'copy','from':'','path':'/a'}", 10000);
}

TEST(the_operation_that_fails_is_named)
{
    struct pl_err err = {0};
    size_t failed = 9;
    struct pl_doc *doc = json("{'a':1}");
    struct pl_doc *ops = json("[{'op':'add','path':'/b','value':1},{'op':'test','path':'/a',"
                              "'value':2},{'op':'remove','path':'/x'}]");
    CHECK(pl_patch_json_at(pl_doc_root(doc), pl_doc_root(ops), &failed, &err) == NULL);
    CHECK_INT(failed, 1);
    CHECK_INT(err.code, PL_EREFUSED);
    CHECK(pl_patch_json(pl_doc_root(doc), pl_doc_root(ops), &err) == NULL);
    CHECK_INT(err.code, PL_EINVAL);
    pl_doc_unref(doc);
    pl_doc_unref(ops);
}

/* The operation n times, with 0, 1, ... n - 1 in place of each #; then the value at /a. */
static void check_series(const char *target, const char *operation, int n, const char *want)
{
    struct pl_buf patch = PL_BUF_INIT;
    pl_buf_add_char(&patch, '[');
    for (int i = 0; i < n; i++) {
        pl_buf_add_z(&patch, i > 0 ? "," : "");
        for (const char *at = operation; *at != '\0'; at++)
            if (*at == '#')
                pl_buf_add_f(&patch, "%d", i);
            else
                pl_buf_add_char(&patch, *at);
    }
    pl_buf_add_char(&patch, ']');
    struct pl_err err = {.message = ""};
    struct pl_doc *doc = apply(target, pl_buf_z(&patch), &err);
    if (doc == NULL)
        TEST_FAIL("%s: %s", operation, err.message);
    else
        CHECK_JSON(pl_node_getz(pl_doc_root(doc), "a"), want);
    pl_doc_unref(doc);
    pl_buf_deinit(&patch);
}

#define LETTERS "{'a':['a','b','c','d','e','f','g','h','i','j']}"
#define MEMBERS                                                                                    \
    "{'a':{'k0':0,'k1':1,'k2':2,'k3':3,'k4':4,'k5':5,'k6':6,'k7':7,'k8':8,'k9':9,'k10':10,"        \
    "'k11':11,'k12':12,'k13':13,'k14':14,'k15':15,'k16':16,'k17':17,'k18':18,'k19':19}}"

TEST(many_operations_go_through_a_list)
{
    check_series(LETTERS, "{'op':'add','path':'/a/0','value':#}", 3,
                 "[2,1,0,'a','b','c','d','e','f','g','h','i','j']");
    check_series(LETTERS, "{'op':'add','path':'/a/-','value':#}", 3,
                 "['a','b','c','d','e','f','g','h','i','j',0,1,2]");
    check_series(LETTERS, "{'op':'add','path':'/a/#','value':#}", 12,
                 "[0,1,2,3,4,5,6,7,8,9,10,11,'a','b','c','d','e','f','g','h','i','j']");
    check_series(LETTERS, "{'op':'remove','path':'/a/0'}", 8, "['i','j']");
    check_series(LETTERS, "{'op':'remove','path':'/a/#'}", 5, "['b','d','f','h','j']");
    check_series(LETTERS, "{'op':'remove','path':'/a/-1'}", 8, "['a','b']");
    check_series(LETTERS, "{'op':'replace','path':'/a/#','value':#}", 10, "[0,1,2,3,4,5,6,7,8,9]");
    check_series(LETTERS, "{'op':'move','from':'/a/9','path':'/a/#'}", 9,
                 "['j','i','h','g','f','e','d','c','b','a']");
    check_series("{'a':[]}", "{'op':'add','path':'/a/0','value':#}", 20,
                 "[19,18,17,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0]");
}

TEST(many_operations_change_an_object_with_many_members)
{
    check_series(MEMBERS, "{'op':'remove','path':'/a/k#'}", 18, "{'k18':18,'k19':19}");
    check_series(MEMBERS, "{'op':'remove','path':'/a/k1#'}", 10,
                 "{'k0':0,'k1':1,'k2':2,'k3':3,'k4':4,'k5':5,'k6':6,'k7':7,'k8':8,'k9':9}");
    check_series(MEMBERS, "{'op':'move','from':'/a/k#','path':'/a/k1'}", 1,
                 "{'k1':0,'k2':2,'k3':3,'k4':4,'k5':5,'k6':6,'k7':7,'k8':8,'k9':9,'k10':10,"
                 "'k11':11,'k12':12,'k13':13,'k14':14,'k15':15,'k16':16,'k17':17,'k18':18,"
                 "'k19':19}");
    check_series("{'a':{}}", "{'op':'add','path':'/a/k#','value':#}", 20,
                 "{'k0':0,'k1':1,'k2':2,'k3':3,'k4':4,'k5':5,'k6':6,'k7':7,'k8':8,'k9':9,'k10':10,"
                 "'k11':11,'k12':12,'k13':13,'k14':14,'k15':15,'k16':16,'k17':17,'k18':18,"
                 "'k19':19}");
}

TEST_MAIN()
