/* Objects that are pushed one after the other share the userdata that holds their documents. */
#include "support/state_support.h"

/* An object of so many bytes of text and more. */
static struct pl_doc *text_of(int bytes)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_f(&text, "{\"text\":\"%0*d\"}", bytes, 1);
    struct pl_doc *doc = doc_of(pl_buf_z(&text));
    pl_buf_deinit(&text);
    return doc;
}

static void push(struct pl_state *s, struct pl_doc *doc, int times)
{
    for (int i = 0; i < times; i++)
        pl_lazy_push(s->L, s, doc, PL_OBJECT_ROOT);
}

static size_t pinned(struct pl_state *s)
{
    pl_state_collect(s);
    return s->pinned;
}

TEST(documents_go_with_the_last_object_of_their_shelf)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_doc *doc = text_of(1000);
    size_t one = pl_doc_bytes(doc);
    push(s, doc, PL_SHELF_DOCS + 1);
    CHECK_INT(pinned(s), (PL_SHELF_DOCS + 1) * one);
    lua_pop(s->L, PL_SHELF_DOCS);
    CHECK_INT(pinned(s), PL_SHELF_DOCS * one); /* the first one is left */
    lua_getfield(s->L, -1, "text");
    CHECK_INT(lua_objlen(s->L, -1), 1000);
    lua_pop(s->L, 2);
    CHECK_INT(pinned(s), 0);
    pl_doc_unref(doc);
    pl_state_destroy(s);
}

/* A later object at its address must be checked again. */
TEST(a_shelf_that_was_read_is_forgotten_with_it)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_doc *doc = doc_of("{\"inner\":{\"a\":{\"b\":{\"c\":1}}}}");
    push(s, doc, 1);
    lua_getfield(s->L, -1, "inner");
    CHECK(s->shelf_read != NULL);
    lua_pop(s->L, 2);
    pl_state_collect(s);
    CHECK(s->shelf_read == NULL);
    pl_doc_unref(doc);
    pl_state_destroy(s);
}

TEST(a_large_document_shares_with_none_that_comes_later)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    struct pl_doc *large = text_of(100000), *small = text_of(1000);
    push(s, large, 1);
    push(s, small, 1);
    lua_remove(s->L, -2);
    CHECK_INT(pinned(s), pl_doc_bytes(small));
    pl_doc_unref(large);
    pl_doc_unref(small);
    pl_state_destroy(s);
}

/* Also objects for which the shelf has no room, and objects at an address that another one had. */
TEST(the_levels_of_objects_that_share_are_told_apart)
{
    struct pl_state *s = new_state(NULL, 64 * MIB);
    char *text = wide_object(20), *doubled = pl_format("[%s,%s]", text, text);
    for (int round = 0; round < 50; round++) {
        CHECK_CODE(s,
                   "local all, sum = ..., 0 local a, b = all[1], all[2]\n"
                   "for i = 0, 19 do a['m' .. i].x = i b['m' .. (19 - i)].y = i end\n"
                   "for i = 0, 19 do local one, other = a['m' .. i], b['m' .. i]\n"
                   "  assert(one.n == i and one.x == i and other.n == i and other.y == 19 - i)\n"
                   "  assert(one.y == nil and other.x == nil) sum = sum + one.n a['m' .. i] = nil\n"
                   "end return {sum, next(a) == nil}",
                   doubled, "[190,true]");
        CHECK_CODE(
            s, "local o, sum = ..., 0 for i = 0, 19 do sum = sum + o['m' .. i].n end return sum",
            text, "190");
    }
    pl_free(doubled);
    pl_free(text);
    pl_state_destroy(s);
}

TEST_MAIN()
