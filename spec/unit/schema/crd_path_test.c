#include "schema/crd_path.h"

#include "support/json.h"

TEST(simple_paths_find_values)
{
    struct pl_doc *doc = json("{'spec':{'a.b':1,'list':[{'type':'x','v':2},{'type':'y','v':3}]}}");
    struct pl_node root = pl_doc_root(doc);
    static const struct {
        const char *path;
        int64_t want;
    } cases[] = {
        {".spec['a.b']", 1},
        {".spec.a\\.b", 1},
        {".spec.list[0].v", 2},
        {".spec.list[?(@.type==\"y\")].v", 3},
        {".spec.list[?(@.type=='x')].v", 2},
        {".spec.nope.v", -1},
        {".spec.list[9].v", -1},
        {".spec.list[?(broken", -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t got = -1;
        pl_node_int(pl_api_jsonpath(root, pl_slice_z(cases[i].path)), &got);
        CHECK_INT(got, cases[i].want);
    }
    pl_doc_unref(doc);
}

TEST(setting_makes_what_is_missing)
{
    struct pl_arena arena = {0};
    struct pl_tree *tree = pl_tree_object(&arena);
    pl_api_jsonpath_set(&arena, tree, ".spec.scale.replicas", pl_tree_int(&arena, 3));
    struct pl_tree *scale = pl_tree_getz(pl_tree_getz(tree, "spec"), "scale");
    CHECK_SLICE(pl_tree_getz(scale, "replicas")->text, "3");
    pl_arena_deinit(&arena);
}

TEST_MAIN()
