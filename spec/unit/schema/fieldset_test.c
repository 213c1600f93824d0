#include "schema/fieldset.h"

#include "support/json.h"

static const char schema_text[] =
    "{'type':'object','properties':{'spec':{'type':'object','properties':{'size':{'type':"
    "'integer'},'map':{'type':'object','additionalProperties':{'type':'integer'}},'set':{'type':"
    "'array','x-kubernetes-list-type':'set','items':{'type':'string'}},'list':{'type':'array',"
    "'x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['name'],'items':{'type':"
    "'object','properties':{'name':{'type':'string'},'v':{'type':'integer'}}}},'atom':{'type':"
    "'array','items':{'type':'string'}},'whole':{'type':'object','x-kubernetes-map-type':"
    "'atomic'}}}}}";

struct set_test {
    struct pl_arena arena;
    struct pl_schema *schema;
};

static void open_test(struct set_test *t)
{
    struct pl_doc *doc = json(schema_text);
    *t = (struct set_test){0};
    t->schema = pl_schema_from_openapi(pl_doc_root(doc), NULL);
    REQUIRE(t->schema != NULL);
    pl_doc_unref(doc);
}

static void close_test(struct set_test *t)
{
    pl_schema_destroy(t->schema);
    pl_arena_deinit(&t->arena);
}

static struct pl_tree *tree_of(struct set_test *t, const char *quoted)
{
    struct pl_doc *doc = json(quoted);
    struct pl_tree *tree = pl_tree_from_node(&t->arena, pl_doc_root(doc));
    pl_doc_unref(doc);
    return tree;
}

static void check_tree(const struct pl_tree *tree, const char *want)
{
    struct pl_buf got = PL_BUF_INIT;
    pl_tree_write(&got, tree);
    CHECK_STR(pl_buf_z(&got), want);
    pl_buf_deinit(&got);
}

/* Sets were checked against kube-apiserver 1.37. */
TEST(an_object_states_its_leaves_and_elements)
{
    struct set_test t;
    open_test(&t);
    check_tree(pl_api_fields_of(&t.arena,
                                tree_of(&t, "{'spec':{'size':1,'map':{'k':1},'set':['x','y'],"
                                            "'list':[{'name':'a','v':1}],'atom':['p'],"
                                            "'whole':{'a':{'b':1}}}}"),
                                t.schema),
               "{\"f:spec\":{\"f:atom\":{},\"f:list\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{\".\":{},"
               "\"f:name\":{},\"f:v\":{}}},\"f:map\":{\"f:k\":{}},\"f:set\":{\"v:\\\"x\\\"\":{},"
               "\"v:\\\"y\\\"\":{}},\"f:size\":{},\"f:whole\":{}}}");
    close_test(&t);
}

TEST(lists_without_their_keys_are_one_value)
{
    struct set_test t;
    open_test(&t);
    check_tree(pl_api_fields_of(&t.arena, tree_of(&t, "{'spec':{'list':[{'v':1}]}}"), t.schema),
               "{\"f:spec\":{\"f:list\":{}}}");
    close_test(&t);
}

TEST(comparing_tells_added_modified_and_removed)
{
    struct set_test t;
    struct pl_api_difference diff;
    open_test(&t);
    CHECK(pl_api_fields_compare(
        &t.arena,
        tree_of(&t, "{'spec':{'size':1,'list':[{'name':'a','v':1},{'name':'b'}],'set':['x']}}"),
        tree_of(&t, "{'spec':{'size':2,'list':[{'name':'a','v':2},{'name':'c'}],'set':['x'],"
                    "'map':{'k':1}}}"),
        t.schema, &diff));
    check_tree(diff.added, "{\"f:spec\":{\"f:list\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},"
                           "\"f:name\":{}}},\"f:map\":{\".\":{},\"f:k\":{}}}}");
    check_tree(diff.modified,
               "{\"f:spec\":{\"f:list\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{\"f:v\":{}}},"
               "\"f:size\":{}}}");
    check_tree(diff.removed, "{\"f:spec\":{\"f:list\":{\"k:{\\\"name\\\":\\\"b\\\"}\":{\".\":{},"
                             "\"f:name\":{}}}}}");
    close_test(&t);
}

TEST(equal_objects_do_not_differ)
{
    struct set_test t;
    struct pl_api_difference diff;
    open_test(&t);
    CHECK(!pl_api_fields_compare(&t.arena, tree_of(&t, "{'spec':{'size':1,'map':{}}}"),
                                 tree_of(&t, "{'spec':{'map':{},'size':1.0}}"), t.schema, &diff));
    close_test(&t);
}

TEST(sets_are_united_intersected_and_subtracted)
{
    struct set_test t;
    open_test(&t);
    struct pl_tree *a = tree_of(&t, "{'f:a':{},'f:b':{'.':{},'f:c':{}}}");
    struct pl_tree *b = tree_of(&t, "{'f:b':{'f:c':{},'f:d':{}}}");
    check_tree(pl_api_fields_union(&t.arena, a, b),
               "{\"f:a\":{},\"f:b\":{\"f:c\":{},\"f:d\":{},\".\":{}}}");
    check_tree(pl_api_fields_intersection(&t.arena, a, b), "{\"f:b\":{\"f:c\":{}}}");
    check_tree(pl_api_fields_difference(&t.arena, a, b), "{\"f:a\":{},\"f:b\":{}}");
    CHECK(pl_api_fields_empty(pl_api_fields_difference(&t.arena, a, a)));
    CHECK(pl_api_fields_equal(pl_api_fields_union(&t.arena, a, NULL), a));
    close_test(&t);
}

static void on_path(void *arg, struct pl_slice path)
{
    pl_buf_add_f(arg, "%.*s ", PL_FMT(path));
}

TEST(paths_read_as_conflicts_name_them)
{
    struct set_test t;
    struct pl_buf out = PL_BUF_INIT;
    open_test(&t);
    struct pl_tree *set = pl_tree_object(&t.arena);
    struct pl_tree *spec = pl_tree_child(&t.arena, set, "f:spec");
    pl_tree_child(&t.arena, pl_tree_child(&t.arena, spec, "k:{\"name\":\"a\",\"port\":8}"), "f:v");
    pl_tree_child(&t.arena, spec, "v:\"x\"");
    pl_api_fields_visit(&t.arena, set, on_path, &out);
    CHECK_STR(pl_buf_z(&out), ".spec[=\"x\"] .spec[name=\"a\",port=8].v ");
    pl_buf_deinit(&out);
    close_test(&t);
}

TEST_MAIN()
