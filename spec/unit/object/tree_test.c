#include "object/tree.h"

#include "base/base.h"
#include "base/rand.h"
#include "support/json.h"

static struct pl_tree *tree_of(struct pl_arena *arena, const char *quoted)
{
    struct pl_doc *doc = json(quoted);
    struct pl_tree *tree = pl_tree_from_node(arena, pl_doc_root(doc));
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

TEST(a_document_survives_the_way_through_a_tree)
{
    struct pl_arena arena = {0};
    static const char text[] = "{'a':[1,2.50,1e3,'x\\n',true,null,{}],'b':{},'c':[]}";
    struct pl_tree *tree = tree_of(&arena, text);
    check_tree(tree, text);
    struct pl_doc *doc = pl_tree_doc(tree, NULL);
    check_tree(pl_tree_from_node(&arena, pl_doc_root(doc)), text);
    pl_doc_unref(doc);
    pl_arena_deinit(&arena);
}

TEST(setting_replaces_in_place_and_removing_keeps_the_order)
{
    struct pl_arena arena = {0};
    struct pl_tree *tree = tree_of(&arena, "{'a':1,'b':2,'c':3}");
    pl_tree_set_strz(&arena, tree, "b", "x");
    pl_tree_removez(tree, "c");
    pl_tree_set_strz(&arena, tree, "d", "y");
    CHECK(!pl_tree_remove(tree, pl_slice_z("nope")));
    check_tree(tree, "{'a':1,'b':'x','d':'y'}");
    CHECK_INT(tree->count, 3);
    pl_arena_deinit(&arena);
}

TEST(items_may_be_unlinked_while_they_are_visited)
{
    struct pl_arena arena = {0};
    struct pl_tree *tree = tree_of(&arena, "[1,2,3,4]");
    PL_TREE_FOR(item, tree)
    if (!pl_slice_eqz(item->value->text, "3"))
        pl_tree_unlink(tree, item);
    check_tree(tree, "[3]");
    pl_tree_push(&arena, tree, pl_tree_int(&arena, 5));
    check_tree(tree, "[3,5]");
    pl_arena_deinit(&arena);
}

TEST(equality_ignores_order_and_spelling_of_numbers)
{
    struct pl_arena arena = {0};
    struct pl_tree *a = tree_of(&arena, "{'a':1,'b':[1.0,'x']}");
    CHECK(pl_tree_equal(a, tree_of(&arena, "{'b':[1,'x'],'a':1e0}")));
    CHECK(!pl_tree_equal(a, tree_of(&arena, "{'b':[1,'x'],'a':2}")));
    CHECK(!pl_tree_equal(a, tree_of(&arena, "{'b':['x',1],'a':1}")));
    CHECK(!pl_tree_equal(a, NULL));
    pl_arena_deinit(&arena);
}

TEST(defaults_fill_absent_and_null_members_only)
{
    struct pl_arena arena = {0};
    struct pl_tree *tree = tree_of(&arena, "{'a':1,'n':null}");
    pl_tree_default(&arena, tree, "a", pl_tree_int(&arena, 7));
    pl_tree_default(&arena, tree, "n", pl_tree_int(&arena, 8));
    pl_tree_default(&arena, tree, "z", pl_tree_int(&arena, 9));
    check_tree(tree, "{'a':1,'n':8,'z':9}");
    pl_arena_deinit(&arena);
}

TEST(paths_and_integers_are_read_from_trees)
{
    struct pl_arena arena = {0};
    int64_t value;
    struct pl_tree *tree = tree_of(&arena, "{'a':{'b':['x',{'c':3.0}]},'s':'1'}");
    CHECK_SLICE(pl_tree_text(pl_tree_at(pl_tree_dig(tree, "a.b"), 0)), "x");
    CHECK(pl_tree_integer(pl_tree_getz(pl_tree_at(pl_tree_dig(tree, "a.b"), 1), "c"), &value));
    CHECK_INT(value, 3);
    CHECK(!pl_tree_integer(pl_tree_getz(tree, "s"), &value));
    CHECK(pl_tree_dig(tree, "a.x.y") == NULL);
    pl_arena_deinit(&arena);
}

TEST(sorting_orders_members_at_every_depth)
{
    struct pl_arena arena = {0};
    struct pl_tree *tree = tree_of(&arena, "{'b':{'z':1,'y':2},'a':[{'d':1,'c':2}]}");
    pl_tree_sort(tree);
    check_tree(tree, "{'a':[{'c':2,'d':1}],'b':{'y':2,'z':1}}");
    pl_arena_deinit(&arena);
}

/* ---- objects with many members ---- */

enum { NAMES = 200 };

struct model {
    struct pl_arena arena;
    struct pl_tree *tree;
    int64_t values[NAMES]; /* 0: absent */
};

static struct pl_slice name_of(struct model *m, size_t i)
{
    return pl_arena_f(&m->arena, "name-%zu", i);
}

static void check_model(struct model *m)
{
    size_t count = 0, seen = 0;
    for (size_t i = 0; i < NAMES; i++) {
        int64_t value = 0;
        pl_tree_integer(pl_tree_get(m->tree, name_of(m, i)), &value);
        CHECK_INT(value, m->values[i]);
        count += m->values[i] != 0;
    }
    const struct pl_tree_item *before = NULL;
    PL_TREE_FOR(item, m->tree)
    {
        CHECK(item->prev == before);
        before = item;
        seen++;
    }
    CHECK(m->tree->last == before);
    CHECK_INT(m->tree->count, count);
    CHECK_INT(seen, count);
}

static void rename_some(struct model *m, size_t i, size_t to)
{
    PL_TREE_FOR(item, m->tree)
    if (pl_slice_eq(item->key, name_of(m, i)) && m->values[to] == 0) {
        pl_tree_rename(m->tree, item, name_of(m, to));
        m->values[to] = m->values[i];
        m->values[i] = 0;
    }
}

static void change_some(struct model *m, size_t i, uint64_t how, int64_t value)
{
    if (how == 0) {
        pl_tree_sort(m->tree);
    } else if (how == 1) {
        rename_some(m, i, (i + 7) % NAMES);
    } else if (how < 40) {
        CHECK_INT(pl_tree_remove(m->tree, name_of(m, i)), m->values[i] != 0);
        m->values[i] = 0;
    } else {
        pl_tree_set(&m->arena, m->tree, name_of(m, i), pl_tree_int(&m->arena, value));
        m->values[i] = value;
    }
}

TEST(objects_with_many_members_behave_as_small_ones)
{
    struct pl_rand rand;
    struct model m = {0};
    pl_rand_seed(&rand, 5);
    m.tree = pl_tree_object(&m.arena);
    for (int64_t round = 1; round <= 20000; round++) {
        change_some(&m, pl_rand_u64(&rand) % NAMES, pl_rand_u64(&rand) % 100, round);
        if (round % 97 == 0)
            check_model(&m);
    }
    check_model(&m);
    CHECK(pl_tree_equal(m.tree, pl_tree_copy(&m.arena, m.tree)));
    pl_arena_deinit(&m.arena);
}

TEST(long_texts_fit_the_arena)
{
    struct pl_arena arena = {0};
    char big[100000];
    memset(big, 'x', sizeof(big));
    struct pl_slice copy = pl_arena_copy(&arena, pl_slice(big, sizeof(big)));
    CHECK_INT(copy.len, sizeof(big));
    CHECK_INT(copy.ptr[copy.len], '\0');
    CHECK_SLICE(pl_arena_f(&arena, "%d-%s", 5, "a"), "5-a");
    pl_arena_deinit(&arena);
}

TEST(literals_are_what_a_parser_makes_of_them)
{
    struct pl_arena arena = {0};
    static const char *const texts[] = {
        "null", "true",  "false", "0",     "30",        "-1",        "1.5",    "''",
        "'a'",  "'a b'", "'\\n'", "'\\''", "{'a':'b'}", "['a','b']", "[null]", "{}"};
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++) {
        char *text = json_text(texts[i]);
        struct pl_tree *tree = pl_tree_literal(&arena, text);
        CHECK(pl_tree_equal(tree, tree_of(&arena, texts[i])));
        check_tree(tree, texts[i]);
        free(text);
    }
    pl_arena_deinit(&arena);
}

TEST(no_text_is_longer_than_its_limit)
{
    struct pl_arena arena = {0};
    static const char *const texts[] = {"null",
                                        "-1",
                                        "''",
                                        "[]",
                                        "{}",
                                        "[[],[[]]]",
                                        "{'':''}",
                                        "{'a':[1,null,true,false,'\\u0001']}",
                                        "{'\\u0001\\u0002':'\\u001f'}",
                                        "[false,false,false,false]"};
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++) {
        struct pl_buf text = PL_BUF_INIT;
        const struct pl_tree *tree = tree_of(&arena, texts[i]);
        pl_tree_write(&text, tree);
        CHECK(text.len <= pl_tree_bytes_at_most(tree));
        pl_buf_deinit(&text);
    }
    CHECK_INT(pl_tree_bytes_at_most(tree_of(&arena, "'abc'")), 26);
    pl_arena_deinit(&arena);
}

TEST_MAIN()
