#include "schema/config_check.h"

#include "support/json.h"

/* Messages were checked against kube-apiserver 1.37. */

static const char schema_text[] =
    "{'type':'object','properties':{'spec':{'type':'object','properties':{"
    "'size':{'type':'integer'},'on':{'type':'boolean'},'name':{'type':'string'},"
    "'list':{'type':'array','items':{'type':'object','properties':{'a':{'type':'number'}}}},"
    "'map':{'type':'object','additionalProperties':{'type':'string'}},"
    "'ios':{'x-kubernetes-int-or-string':true},"
    "'free':{'type':'object','x-kubernetes-preserve-unknown-fields':true},"
    "'pod':{'type':'object','x-kubernetes-embedded-resource':true}}}}}";

static void check(const char *config, const char *want)
{
    struct pl_arena arena = {0};
    struct pl_doc *schema = json(schema_text), *doc = json(config);
    struct pl_tree *tree = pl_tree_from_node(&arena, pl_doc_root(doc));
    const char *fault = pl_api_config_fault(&arena, tree, pl_doc_root(schema));
    CHECK_STR(fault != NULL ? fault : "", want);
    pl_doc_unref(doc);
    pl_doc_unref(schema);
    pl_arena_deinit(&arena);
}

TEST(what_fits_has_no_fault)
{
    check("{'apiVersion':'a/v1','kind':'B','metadata':{'x':1},'spec':{'size':1,'on':true}}", "");
    check("{'spec':{'list':[{'a':1.5}],'map':{'k':'v'},'ios':1,'free':{'x':[1]}}}", "");
    check("{'spec':{'pod':{'apiVersion':'v1','kind':'Pod','metadata':{}},'name':null}}", "");
}

TEST(unknown_members)
{
    check("{'other':1}", ".other: field not declared in schema");
    check("{'spec':{'list':[{'b':1}]}}", ".spec.list[0].b: field not declared in schema");
    check("{'spec':{'pod':{'spec':{}}}}", ".spec.pod.spec: field not declared in schema");
}

TEST(wrong_types)
{
    check("{'spec':{'size':'x'}}", ".spec.size: expected numeric (int or float), got string");
    check("{'spec':{'on':1}}", ".spec.on: expected boolean, got &{1}");
    check("{'spec':{'name':1}}", ".spec.name: expected string, got "
                                 "&value.valueUnstructured{Value:1}");
    check("{'spec':{'list':{}}}", ".spec.list: expected list, got &{map[]}");
    check("{'spec':{'map':{'k':1}}}", ".spec.map.k: expected string, got "
                                      "&value.valueUnstructured{Value:1}");
    check("{'spec':'x'}", ".spec: expected map, got &{x}");
}

TEST_MAIN()
