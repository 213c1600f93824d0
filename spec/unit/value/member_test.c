#include "value/member.h"

#include "base/base.h"
#include "support/json.h"

/* {"k0":0,"k1":1,...}, or backwards. */
static struct pl_doc *numbered(int count, bool backwards)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    for (int i = 0; i < count; i++) {
        char key[16];
        int n = backwards ? count - 1 - i : i;
        snprintf(key, sizeof(key), "k%d", n);
        pl_build_keyz(b, key);
        pl_build_int(b, n);
    }
    pl_build_end(b);
    return pl_build_close(b);
}

static void check_all(struct pl_doc *names, struct pl_doc *looked_in)
{
    struct pl_members members;
    struct pl_iter it = pl_iter(pl_doc_root(names));
    pl_members_init(&members, pl_doc_root(looked_in));
    while (pl_iter_next(&it)) {
        struct pl_node found = pl_members_get(&members, it.key);
        int64_t value = -1;
        CHECK(pl_node_int(found, &value));
        char key[16];
        snprintf(key, sizeof(key), "k%d", (int)value);
        CHECK_SLICE(it.key, key);
    }
    CHECK(pl_node_is_missing(pl_members_get(&members, pl_slice_z("absent"))));
    CHECK(pl_node_is_missing(pl_members_get(&members, pl_slice_z(""))));
    pl_members_deinit(&members);
}

TEST(members_are_found_in_any_order_and_number)
{
    static const int counts[] = {0, 1, 5, 40, 1000};
    for (size_t i = 0; i < PL_ARRAY_LEN(counts); i++) {
        struct pl_doc *a = numbered(counts[i], false), *b = numbered(counts[i], true);
        check_all(a, a);
        check_all(a, b);
        check_all(b, a);
        pl_doc_unref(a);
        pl_doc_unref(b);
    }
}

TEST(what_is_no_object_has_no_members)
{
    struct pl_members members;
    struct pl_doc *doc = json("[1,2]");
    pl_members_init(&members, pl_doc_root(doc));
    for (int i = 0; i < 100; i++)
        CHECK(pl_node_is_missing(pl_members_get(&members, pl_slice_z("a"))));
    pl_members_deinit(&members);
    pl_members_init(&members, PL_NODE_MISSING);
    CHECK(pl_node_is_missing(pl_members_get(&members, pl_slice_z("a"))));
    pl_members_deinit(&members);
    pl_doc_unref(doc);
}

TEST_MAIN()
