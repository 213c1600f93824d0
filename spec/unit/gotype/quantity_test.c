#include "gotype/quantity.h"

#include "support/json.h"

static void check(const char *text, const char *want)
{
    char out[64];
    bool changed = pl_api_quantity_text(pl_slice_z(text), out);
    CHECK_STR(changed ? out : text, want);
}

/* Checked against kube-apiserver 1.37. */
TEST(quantities_get_their_shortest_form)
{
    check("0.5", "500m");
    check("1024Mi", "1Gi");
    check("1.5Gi", "1536Mi");
    check("1000m", "1");
    check("1500m", "1500m");
    check("1000", "1k");
    check("100", "100");
    check("0", "0");
    check("128974848", "128974848");
    check("1025Mi", "1025Mi");
    check("-0.25", "-250m");
}

TEST(what_is_no_quantity_stays)
{
    char out[64];
    CHECK(!pl_api_quantity_text(pl_slice_z("abc"), out));
    CHECK(!pl_api_quantity_text(pl_slice_z(""), out));
    CHECK(!pl_api_quantity_text(pl_slice_z("1Zi"), out));
}

TEST(only_resource_maps_are_rewritten)
{
    struct pl_arena arena = {0};
    struct pl_doc *doc = json("{'metadata':{'limits':{'a':'0.5'}},'data':{'limits':{'a':'0.5'}},"
                              "'spec':{'x':[{'resources':{'limits':{'cpu':'0.5','memory':1}}}],"
                              "'other':{'cpu':'0.5'}}}");
    struct pl_tree *tree = pl_tree_from_node(&arena, pl_doc_root(doc));
    pl_api_canonical_quantities(&arena, tree);
    struct pl_buf got = PL_BUF_INIT;
    pl_tree_write(&got, pl_tree_getz(tree, "spec"));
    CHECK_STR(pl_buf_z(&got),
              "{\"x\":[{\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"1\"}}}],"
              "\"other\":{\"cpu\":\"0.5\"}}");
    CHECK_SLICE(pl_tree_text_at(tree, "data.limits.a"), "0.5");
    CHECK_SLICE(pl_tree_text_at(tree, "metadata.limits.a"), "0.5");
    pl_buf_deinit(&got);
    pl_doc_unref(doc);
    pl_arena_deinit(&arena);
}

TEST_MAIN()
