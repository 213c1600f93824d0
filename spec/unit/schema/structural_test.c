#include "schema/structural.h"

#include "schema/list_keys.h"

#include "support/json.h"

/* Messages were checked against kube-apiserver 1.37. */

static const char schema_text[] =
    "{'type':'object','properties':{'spec':{'type':'object','properties':{"
    "'name':{'type':'string','minLength':2,'maxLength':5,'pattern':'^[a-z]+\\\\d?$'},"
    "'list':{'type':'array','minItems':1,'maxItems':2,'items':{'type':'string'}},"
    "'re2':{'type':'string','pattern':'^(?:\\\\pL+|(?i)x(?:y|z)+?|(a+)+)$'},"
    "'ios':{'x-kubernetes-int-or-string':true},'nul':{'type':'string','nullable':true},"
    "'map':{'type':'object','maxProperties':1,'additionalProperties':{'type':'integer'}},"
    "'set':{'type':'array','x-kubernetes-list-type':'set','items':{'type':'string'}},"
    "'num':{'type':'number','exclusiveMinimum':true,'minimum':0,'multipleOf':2},"
    "'i32':{'type':'integer','format':'int32'},'date':{'type':'string','format':'date-time'},"
    "'one':{'type':'object','x-kubernetes-preserve-unknown-fields':true,'oneOf':[{'required':['a']"
    "},{'required':['b']}]},"
    "'deep':{'type':'object','properties':{'d':{'type':'integer','default':7}}},"
    "'pod':{'type':'object','x-kubernetes-embedded-resource':true}}}}}";

struct schema_test {
    struct pl_arena arena;
    struct pl_doc *schema;
    struct pl_regex_cache patterns;
};

static void open_test(struct schema_test *t)
{
    *t = (struct schema_test){.schema = json(schema_text)};
}

static void close_test(struct schema_test *t)
{
    pl_doc_unref(t->schema);
    pl_regex_cache_deinit(&t->patterns);
    pl_arena_deinit(&t->arena);
}

static struct pl_tree *tree_of(struct schema_test *t, const char *quoted)
{
    struct pl_doc *doc = json(quoted);
    struct pl_tree *tree = pl_tree_from_node(&t->arena, pl_doc_root(doc));
    pl_doc_unref(doc);
    return tree;
}

static void check_tree(const struct pl_tree *tree, const char *quoted)
{
    char *want = json_text(quoted);
    struct pl_buf got = PL_BUF_INIT;
    pl_tree_write(&got, tree);
    CHECK_STR(pl_buf_z(&got), want);
    pl_buf_deinit(&got);
    free(want);
}

/* The only fault's field and message, "" when there is none. */
static void check_fault(struct schema_test *t, const char *object, const char *want)
{
    struct pl_api_faults faults = {.arena = &t->arena};
    pl_api_structural_validate(&faults, tree_of(t, object), NULL, pl_doc_root(t->schema),
                               pl_slice("", 0), &t->patterns);
    pl_api_list_twins(&faults, pl_doc_root(t->schema), tree_of(t, object), pl_slice("", 0));
    struct pl_buf got = PL_BUF_INIT;
    PL_TREE_FOR(item, faults.causes)
    pl_buf_add_f(&got, "%.*s: %.*s", PL_FMT(pl_tree_text_at(item->value, "field")),
                 PL_FMT(pl_tree_text_at(item->value, "message")));
    CHECK_STR(pl_buf_z(&got), want);
    pl_buf_deinit(&got);
}

TEST(unknown_fields_are_pruned_and_named)
{
    struct schema_test t;
    open_test(&t);
    struct pl_tree *unknown = pl_tree_array(&t.arena);
    struct pl_tree *tree = tree_of(
        &t, "{'apiVersion':'v1','kind':'K','metadata':{'x':1},'zz':1,'spec':{'name':'ab','q':{},"
            "'one':{'keep':{'me':1}},'map':{'a':1},'pod':{'apiVersion':'v1','kind':'Pod','metadata'"
            ":{'name':'p'},'spec':{}},'deep':null}}");
    pl_api_structural_prune(&t.arena, tree, pl_doc_root(t.schema), unknown);
    check_tree(tree, "{'apiVersion':'v1','kind':'K','metadata':{'x':1},'spec':{'name':'ab','one':{"
                     "'keep':{'me':1}},'map':{'a':1},'pod':{'apiVersion':'v1','kind':'Pod',"
                     "'metadata':{'name':'p'}}}}");
    check_tree(unknown, "['spec.pod.spec','spec.q','zz']");
    close_test(&t);
}

TEST(defaults_reach_into_what_is_there)
{
    struct schema_test t;
    open_test(&t);
    struct pl_tree *tree = tree_of(&t, "{'spec':{'deep':{}}}");
    pl_api_structural_default(&t.arena, tree, pl_doc_root(t.schema));
    check_tree(tree, "{'spec':{'deep':{'d':7}}}");
    close_test(&t);
}

TEST(metadata_loses_what_no_object_has)
{
    struct schema_test t;
    open_test(&t);
    struct pl_tree *tree =
        tree_of(&t, "{'metadata':{'name':'a','foo':1,'labels':{},'creationTimestamp':null}}");
    pl_api_prune_metadata(&t.arena, tree, false, NULL);
    check_tree(tree, "{'metadata':{'name':'a'}}");
    close_test(&t);
}

TEST(values_are_validated)
{
    static const struct {
        const char *spec, *want;
    } cases[] = {
        {"{'name':'ab1','list':['x'],'ios':'5%','nul':null,'num':4,'date':'2026-01-01T00:00:00Z'}",
         ""},
        {"{'ios':3}", ""},
        {"{'name':'a'}",
         "spec.name: Invalid value: \"a\": spec.name in body should be at least 2 chars long"},
        {"{'name':'abcdef'}", "spec.name: Too long: may not be more than 5 bytes"},
        {"{'name':'AB'}",
         "spec.name: Invalid value: \"AB\": spec.name in body should match '^[a-z]+\\d?$'"},
        {"{'re2':'\xc3\xa4'}", ""},
        {"{'re2':'XZ'}", ""},
        {"{'re2':'1'}", "spec.re2: Invalid value: \"1\": spec.re2 in body should match "
                        "'^(?:\\pL+|(?i)x(?:y|z)+?|(a+)+)$'"},
        {"{'re2':'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'}",
         "spec.re2: Invalid value: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\": spec.re2 in body "
         "should match '^(?:\\pL+|(?i)x(?:y|z)+?|(a+)+)$'"},
        {"{'list':[]}",
         "spec.list: Invalid value: 0: spec.list in body should have at least 1 items"},
        {"{'list':['a','b','c']}", "spec.list: Too many: 3: must have at most 2 items"},
        {"{'list':['a',3]}", "spec.list[1]: Invalid value: \"integer\": spec.list[1] in body must "
                             "be of type string: \"integer\""},
        {"{'ios':true}", "spec.ios: Invalid value: \"boolean\": spec.ios in body must be of type "
                         "integer,string: \"boolean\""},
        {"{'map':{'a':1,'b':2}}", "spec.map: Too many: 2: must have at most 1 item"},
        {"{'map':[]}", "spec.map: Invalid value: \"array\": spec.map in body must be of type "
                       "object: \"array\""},
        {"{'set':['a','a']}", "spec.set[1]: Duplicate value: \"a\""},
        {"{'num':0}", "spec.num: Invalid value: 0: spec.num in body should be greater than 0"},
        {"{'num':3}", "spec.num: Invalid value: 3: spec.num in body should be a multiple of 2"},
        {"{'i32':5000000000}", "<nil>: Invalid value: \"\": Checked value must be of type integer "
                               "with format int32 in spec.i32"},
        {"{'date':'x'}", "spec.date: Invalid value: \"x\": spec.date in body must be of type "
                         "date-time: \"x\""},
        {"{'one':{'a':1}}", ""},
        {"{'one':{'a':1,'b':1}}", "<nil>: Invalid value: \"\": \"spec.one\" must validate one and "
                                  "only one schema (oneOf). Found 2 valid alternatives"},
    };
    struct schema_test t;
    open_test(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char object[512];
        snprintf(object, sizeof(object), "{'spec':%s}", cases[i].spec);
        check_fault(&t, object, cases[i].want);
    }
    close_test(&t);
}

static size_t count_faults(struct schema_test *t, const char *object, const char *old)
{
    struct pl_api_faults faults = {.arena = &t->arena};
    pl_api_structural_validate(&faults, tree_of(t, object), tree_of(t, old), pl_doc_root(t->schema),
                               pl_slice("", 0), &t->patterns);
    return faults.causes != NULL ? faults.causes->count : 0;
}

TEST(what_has_not_changed_has_no_faults)
{
    struct schema_test t;
    open_test(&t);
    CHECK_INT(count_faults(&t, "{'spec':{'name':'AB','num':3}}", "{'spec':{'name':'AB'}}"), 1);
    CHECK_INT(count_faults(&t, "{'spec':{'name':'AB','num':4}}", "{'spec':{'name':'AB'}}"), 0);
    CHECK_INT(count_faults(&t, "{'spec':{'name':'AC'}}", "{'spec':{'name':'AB'}}"), 1);
    CHECK_INT(
        count_faults(&t, "{'spec':{'list':['a','b','c']}}", "{'spec':{'list':['a','b','c']}}"), 0);
    CHECK_INT(count_faults(&t, "{'spec':{'list':['a',3]}}", "{'spec':{'list':[3]}}"), 1);
    CHECK_INT(count_faults(&t, "{'spec':{'name':3}}", "{'spec':'x'}"), 1);
    close_test(&t);
}

TEST_MAIN()
