#include "schema/protobuf.h"

#include "base/alloc.h"
#include "base/rand.h"
#include "value/write.h"

#include "support/json.h"
#include "support/test.h"

#define BYTES(literal) pl_slice(literal, sizeof(literal) - 1)

static struct pl_slice field(struct pl_arena *arena, unsigned number, struct pl_slice bytes)
{
    struct pl_slice out = pl_arena_f(arena, "%c%c", (int)(number << 3 | 2), (int)bytes.len);
    struct pl_buf both = PL_BUF_INIT;
    pl_buf_add_slice(&both, out);
    pl_buf_add_slice(&both, bytes);
    out = pl_arena_copy(arena, pl_buf_slice(&both));
    pl_buf_deinit(&both);
    return out;
}

static struct pl_slice join(struct pl_arena *arena, struct pl_slice a, struct pl_slice b)
{
    struct pl_buf both = PL_BUF_INIT;
    pl_buf_add_slice(&both, a);
    pl_buf_add_slice(&both, b);
    struct pl_slice out = pl_arena_copy(arena, pl_buf_slice(&both));
    pl_buf_deinit(&both);
    return out;
}

static struct pl_slice text(struct pl_arena *arena, unsigned number, const char *value)
{
    return field(arena, number, pl_slice_z(value));
}

/* A SubjectAccessReview of jane in groups a and b, with a number and a fixed field that nobody
 * knows. */
static struct pl_slice review(struct pl_arena *arena, const char *user)
{
    struct pl_slice what = join(arena, text(arena, 2, "get"), text(arena, 5, "pods"));
    struct pl_slice spec = field(arena, 1, what);
    spec = join(arena, spec, text(arena, 3, user));
    spec = join(arena, spec, join(arena, text(arena, 4, "a"), text(arena, 4, "b")));
    spec = join(arena, spec, BYTES("\x78\x96\x01\x7d\x01\x02\x03\x04"));
    struct pl_slice object = join(arena, field(arena, 1, pl_slice("", 0)), field(arena, 2, spec));
    struct pl_slice type = join(arena, text(arena, 1, "authorization.k8s.io/v1"),
                                text(arena, 2, "SubjectAccessReview"));
    struct pl_slice outer = join(arena, field(arena, 1, type), field(arena, 2, object));
    return join(arena, BYTES("k8s\0"), outer);
}

TEST(a_review_is_what_it_is_in_json)
{
    struct pl_arena arena = {0};
    struct pl_buf got = PL_BUF_INIT;
    struct pl_tree *tree =
        pl_api_protobuf_decode(&arena, "SubjectAccessReview", review(&arena, "jane"));
    REQUIRE(tree != NULL);
    pl_tree_sort(tree);
    pl_tree_write(&got, tree);
    CHECK_STR(pl_buf_z(&got),
              "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\","
              "\"metadata\":{},\"spec\":{\"groups\":[\"a\",\"b\"],\"resourceAttributes\":{"
              "\"resource\":\"pods\",\"verb\":\"get\"},\"user\":\"jane\"}}");
    pl_buf_deinit(&got);
    pl_arena_deinit(&arena);
}

TEST(what_is_none_is_refused)
{
    struct pl_arena arena = {0};
    struct pl_slice whole = review(&arena, "jane");
    CHECK(pl_api_protobuf_decode(&arena, "TokenReview", BYTES("{}")) == NULL);
    CHECK(pl_api_protobuf_decode(&arena, "TokenReview", pl_slice("", 0)) == NULL);
    CHECK(pl_api_protobuf_decode(&arena, "SubjectAccessReview", review(&arena, "\xff")) == NULL);
    for (size_t cut = 5; cut < whole.len; cut++) /* any end but between the two fields */
        if (cut != 4 + 2 + 46)
            CHECK(pl_api_protobuf_decode(&arena, "SubjectAccessReview", pl_slice(whole.ptr, cut)) ==
                  NULL);
    CHECK(pl_api_protobuf_knows("SelfSubjectReview"));
    CHECK(!pl_api_protobuf_knows("ConfigMap"));
    pl_arena_deinit(&arena);
}

TEST(random_bytes_do_no_harm)
{
    struct pl_arena arena = {0};
    struct pl_rand rand;
    pl_rand_seed(&rand, 3);
    for (int round = 0; round < 20000; round++) {
        struct pl_slice whole = review(&arena, "jane");
        char *copy = pl_memdup0(whole.ptr, whole.len);
        for (int i = 0; i < 3; i++)
            copy[4 + pl_rand_u64(&rand) % (whole.len - 4)] = (char)pl_rand_u64(&rand);
        pl_api_protobuf_decode(&arena, "SubjectAccessReview", pl_slice(copy, whole.len));
        pl_free(copy);
        pl_arena_deinit(&arena);
    }
}

TEST_MAIN()
