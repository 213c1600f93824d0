#include "object/patch.h"

#include "base/base.h"
#include "base/rand.h"
#include "support/json.h"

/* RFC 7386, appendix A, and what it says about nulls in arrays and in new objects. */
TEST(merge_patches_do_what_the_rfc_shows)
{
    static const struct {
        const char *target, *patch, *want;
    } cases[] = {
        {"{'a':'b'}", "{'a':'c'}", "{'a':'c'}"},
        {"{'a':'b'}", "{'b':'c'}", "{'a':'b','b':'c'}"},
        {"{'a':'b'}", "{'a':null}", "{}"},
        {"{'a':'b','b':'c'}", "{'a':null}", "{'b':'c'}"},
        {"{'a':['b']}", "{'a':'c'}", "{'a':'c'}"},
        {"{'a':'c'}", "{'a':['b']}", "{'a':['b']}"},
        {"{'a':{'b':'c'}}", "{'a':{'b':'d','c':null}}", "{'a':{'b':'d'}}"},
        {"{'a':[{'b':'c'}]}", "{'a':[1]}", "{'a':[1]}"},
        {"['a','b']", "['c','d']", "['c','d']"},
        {"{'a':'b'}", "['c']", "['c']"},
        {"{'a':'foo'}", "null", "null"},
        {"{'a':'foo'}", "'bar'", "'bar'"},
        {"{'e':null}", "{'a':1}", "{'e':null,'a':1}"},
        {"[1,2]", "{'a':'b','c':null}", "{'a':'b'}"},
        {"{}", "{'a':{'bb':{'ccc':null}}}", "{'a':{'bb':{}}}"},
        {"{'a':1}", "{'a':[null,{'b':null}]}", "{'a':[null,{'b':null}]}"},
        {"{'n':1.50}", "{'m':12345678901234567890123}", "{'n':1.50,'m':12345678901234567890123}"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_doc *target = json(cases[i].target), *patch = json(cases[i].patch);
        struct pl_doc *result = pl_patch_merge(pl_doc_root(target), pl_doc_root(patch), NULL);
        CHECK_JSON(pl_doc_root(result), cases[i].want);
        pl_doc_unref(target);
        pl_doc_unref(patch);
        pl_doc_unref(result);
    }
}

/* ---- one member ---- */

static void check_with(const char *base, const char *path, const char *value, const char *want)
{
    char text[64];
    const char *keys[8];
    size_t count = 0;
    snprintf(text, sizeof(text), "%s", path);
    for (char *key = strtok(text, "."); key != NULL; key = strtok(NULL, "."))
        keys[count++] = key;
    struct pl_doc *doc = json(base), *given = value != NULL ? json(value) : NULL;
    struct pl_doc *result = pl_doc_with(pl_doc_root(doc), keys, count, pl_doc_root(given));
    CHECK_JSON(pl_doc_root(result), want);
    pl_doc_unref(doc);
    pl_doc_unref(given);
    pl_doc_unref(result);
}

TEST(one_member_is_set_or_removed)
{
    check_with("{'a':1,'b':{'c':2},'d':3}", "b.c", "9", "{'a':1,'b':{'c':9},'d':3}");
    check_with("{'a':1,'b':{'c':2},'d':3}", "b.x", "9", "{'a':1,'b':{'c':2,'x':9},'d':3}");
    check_with("{'a':1}", "b.c.d", "[9]", "{'a':1,'b':{'c':{'d':[9]}}}");
    check_with("{'a':1}", "a.b", "9", "{'a':{'b':9}}");
    check_with("{'a':1}", "a", "null", "{'a':null}");
    check_with("{'a':1,'b':{'c':2},'d':3}", "b.c", NULL, "{'a':1,'b':{},'d':3}");
    check_with("{'a':1,'b':{'c':2},'d':3}", "b", NULL, "{'a':1,'d':3}");
    check_with("{'a':1}", "b.c", NULL, "{'a':1}");
    check_with("{'a':1}", "a.c", NULL, "{'a':1}");
    check_with("{'a':1}", "", "[2]", "[2]");
}

/* ---- a property: the difference as a merge patch makes the second value of the first ---- */

static void random_value(struct pl_rand *rand, struct pl_build *b, int depth)
{
    switch (pl_rand_u64(rand) % (depth > 0 ? 7 : 4)) {
    case 0:
        pl_build_int(b, (int64_t)(pl_rand_u64(rand) % 3));
        return;
    case 1:
        pl_build_bool(b, pl_rand_u64(rand) % 2);
        return;
    case 2:
        pl_build_strz(b, pl_rand_u64(rand) % 2 ? "x" : "a longer string of some length");
        return;
    case 3:
        pl_build_array(b);
        for (size_t n = pl_rand_u64(rand) % 3; n > 0; n--)
            pl_build_int(b, (int64_t)n);
        pl_build_end(b);
        return;
    default:
        pl_build_object(b);
        for (char key[2] = "a"; key[0] < 'g'; key[0]++) {
            if (pl_rand_u64(rand) % 2)
                continue;
            pl_build_keyz(b, key);
            random_value(rand, b, depth - 1);
        }
        pl_build_end(b);
    }
}

static struct pl_doc *random_object(struct pl_rand *rand)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    for (char key[2] = "a"; key[0] < 'e'; key[0]++) {
        pl_build_keyz(b, key);
        random_value(rand, b, 3);
    }
    pl_build_end(b);
    return pl_build_close(b);
}

static void build_merge_patch(struct pl_build *b, struct pl_node from, struct pl_node to)
{
    struct pl_iter it = pl_iter(from);
    pl_build_object(b);
    while (pl_iter_next(&it)) {
        struct pl_node now = pl_node_get(to, it.key);
        if (pl_node_equal(it.value, now))
            continue;
        pl_build_key(b, it.key);
        if (pl_node_type(it.value) == PL_OBJECT && pl_node_type(now) == PL_OBJECT)
            build_merge_patch(b, it.value, now);
        else
            pl_build_node(b, now); /* PL_MISSING is written as null */
    }
    it = pl_iter(to);
    while (pl_iter_next(&it)) {
        if (!pl_node_is_missing(pl_node_get(from, it.key)))
            continue;
        pl_build_key(b, it.key);
        pl_build_node(b, it.value);
    }
    pl_build_end(b);
}

TEST(a_merge_patch_of_the_differences_leads_to_the_target)
{
    struct pl_rand rand;
    uint64_t seed;
    pl_rand_init(&rand);
    seed = pl_rand_u64(&rand);
    pl_rand_seed(&rand, seed);
    for (int round = 0; round < 2000; round++) {
        struct pl_doc *from = random_object(&rand), *to = random_object(&rand);
        struct pl_build *b = pl_build_create(NULL);
        build_merge_patch(b, pl_doc_root(from), pl_doc_root(to));
        struct pl_doc *patch = pl_build_finish(b);
        struct pl_doc *result = pl_patch_merge(pl_doc_root(from), pl_doc_root(patch), NULL);
        bool same = pl_node_equal(pl_doc_root(result), pl_doc_root(to));
        pl_doc_unref(from);
        pl_doc_unref(to);
        pl_doc_unref(patch);
        pl_doc_unref(result);
        pl_build_destroy(b);
        if (!same) {
            TEST_FAIL("round %d of seed %" PRIu64, round, seed);
            return;
        }
    }
}

TEST_MAIN()
