#include "object/path.h"

#include "base/base.h"
#include "support/json.h"

static void check_find(struct pl_node root, const char *text, const char *want)
{
    struct pl_err err;
    struct pl_path *path = pl_path_parse(pl_slice_z(text), &err);
    if (path == NULL) {
        TEST_FAIL("%s: %s", text, err.message);
        return;
    }
    if (want == NULL)
        CHECK(pl_node_is_missing(pl_path_find(path, root)));
    else
        CHECK_JSON(pl_path_find(path, root), want);
    pl_path_destroy(path);
}

TEST(a_path_finds_what_it_names)
{
    struct pl_doc *doc = json("{'spec':{'containers':[{'name':'a'},{'name':'b'}]},"
                              "'metadata':{'annotations':{'example.com/key':'v','q\\\"x':1,'':2,"
                              "'\\u00e9\\ud83d\\ude00':3}}}");
    struct pl_node root = pl_doc_root(doc);
    check_find(root, "spec.containers[1].name", "'b'");
    check_find(root, ".spec.containers[0]", "{'name':'a'}");
    check_find(root, "metadata.annotations[\"example.com/key\"]", "'v'");
    check_find(root, "metadata.annotations['example.com/key']", "'v'");
    check_find(root, "metadata[\"annotations\"][\"q\\\"x\"]", "1");
    check_find(root, "metadata.annotations[\"\"]", "2");
    check_find(root, "metadata.annotations[\"\\u00e9\\ud83d\\ude00\"]", "3");
    check_find(root, "[\"spec\"].containers[0].name", "'a'");
    check_find(root, "spec.containers[2]", NULL);
    check_find(root, "spec.containers.name", NULL);
    check_find(root, "spec[0]", NULL);
    check_find(root, "spec.absent.deeper", NULL);
    check_find(pl_node_getz(root, "spec"), ".", "{'containers':[{'name':'a'},{'name':'b'}]}");
    struct pl_path *path = pl_path_parse(pl_slice_z(""), NULL);
    CHECK(pl_node_is_same(pl_path_find(path, root), root));
    CHECK_INT(pl_path_len(path), 0);
    pl_path_destroy(path);
    pl_doc_unref(doc);
}

TEST(steps_are_names_or_indices)
{
    struct pl_path *path = pl_path_parse(pl_slice_z("a[12][\"\"].b-c"), NULL);
    REQUIRE(path != NULL);
    REQUIRE(pl_path_len(path) == 4);
    CHECK_SLICE(pl_path_step(path, 0).key, "a");
    CHECK(pl_path_step(path, 1).key.ptr == NULL);
    CHECK_INT(pl_path_step(path, 1).index, 12);
    CHECK(pl_path_step(path, 2).key.ptr != NULL);
    CHECK_INT(pl_path_step(path, 2).key.len, 0);
    CHECK_SLICE(pl_path_step(path, 3).key, "b-c");
    pl_path_destroy(path);
}

TEST(what_is_no_path_is_refused_where_it_goes_wrong)
{
    static const struct {
        const char *text;
        int64_t offset;
    } bad[] = {
        {"a..b", 2},   {"a.", 2},         {"a[", 2},
        {"a[x]", 2},   {"a[1", 1},        {"a[\"x]", 2},
        {"a[1]b", 4},  {"a b", 1},        {"a]", 1},
        {"..a", 1},    {"a[\"\\x\"]", 3}, {"a[\"\\ud800\"]", 3},
        {"a[-1]", 2},  {"a[\"x\"y]", 1},  {"a[99999999999999999999999]", 2},
        {"a\"b\"", 1}, {"[]", 1},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++) {
        struct pl_err err;
        struct pl_path *path = pl_path_parse(pl_slice_z(bad[i].text), &err);
        if (path != NULL)
            TEST_FAIL("\"%s\" was taken", bad[i].text);
        else if (err.code != PL_EINVAL || err.offset != bad[i].offset)
            TEST_FAIL("%s: code %d, offset %" PRId64, err.message, err.code, err.offset);
        pl_path_destroy(path);
    }
}

TEST(paths_are_written_as_kubectl_prints_them_and_read_back)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_path_add_key(&out, pl_slice_z("metadata"));
    pl_path_add_key(&out, pl_slice_z("annotations"));
    pl_path_add_key(&out, pl_slice_z("example.com/\"key\"\n"));
    pl_path_add_index(&out, 3);
    pl_path_add_key(&out, pl_slice_z("b_c-d"));
    pl_path_add_key(&out, pl_slice_z(""));
    CHECK_STR(pl_buf_z(&out),
              "metadata.annotations[\"example.com/\\\"key\\\"\\n\"][3].b_c-d[\"\"]");
    struct pl_path *path = pl_path_parse(pl_buf_slice(&out), NULL);
    REQUIRE(path != NULL);
    REQUIRE(pl_path_len(path) == 6);
    CHECK_SLICE(pl_path_step(path, 2).key, "example.com/\"key\"\n");
    pl_path_destroy(path);
    pl_buf_deinit(&out);
}

TEST_MAIN()
