#include "format/regex_cache.h"

#include "support/test.h"

#include <stdio.h>

static const struct pl_regex *get(struct pl_regex_cache *cache, const char *text)
{
    return pl_regex_cache_get(cache, pl_slice_z(text), NULL);
}

TEST(an_expression_is_compiled_once)
{
    struct pl_regex_cache cache = {.search = NULL};
    const struct pl_regex *first = get(&cache, "^a+$"), *other = get(&cache, "b");
    CHECK(first != NULL && other != NULL && first != other);
    CHECK(get(&cache, "^a+$") == first);
    CHECK_INT(cache.compiled.count, 2);
    CHECK_INT(pl_regex_cache_test(&cache, first, pl_slice_z("aa"), NULL), 1);
    CHECK_INT(pl_regex_cache_test(&cache, first, pl_slice_z("ab"), NULL), 0);
    CHECK_INT(pl_regex_cache_test(&cache, other, pl_slice_z("ab"), NULL), 1);
    CHECK_INT(pl_regex_cache_test(&cache, other, pl_slice_z("\xff"), NULL), PL_EINVAL);
    pl_regex_cache_deinit(&cache);
}

TEST(an_invalid_expression_fails_each_time)
{
    struct pl_regex_cache cache = {.search = NULL};
    struct pl_err err;
    for (int i = 0; i < 2; i++) {
        pl_err_clear(&err);
        CHECK(pl_regex_cache_get(&cache, pl_slice_z("("), &err) == NULL);
        CHECK_INT(err.code, PL_EINVAL);
    }
    CHECK_INT(cache.compiled.count, 0);
    pl_regex_cache_deinit(&cache);
}

/* More expressions than are kept, several times. */
TEST(what_is_kept_is_limited)
{
    struct pl_regex_cache cache = {.search = NULL};
    char text[32];
    for (int i = 0; i < 3 * PL_REGEX_CACHE_COUNT; i++) {
        snprintf(text, sizeof(text), "^x%d$", i);
        const struct pl_regex *regex = get(&cache, text);
        snprintf(text, sizeof(text), "x%d", i);
        CHECK_INT(pl_regex_cache_test(&cache, regex, pl_slice_z(text), NULL), 1);
        CHECK(cache.compiled.count > 0 && cache.compiled.count <= PL_REGEX_CACHE_COUNT);
    }
    pl_regex_cache_deinit(&cache);
}

TEST(large_expressions_leave_no_room_for_others)
{
    struct pl_regex_cache cache = {.search = NULL};
    char text[64];
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof(text), "(abcdefghijklmnopqrst%d){900}", i);
        CHECK(get(&cache, text) != NULL);
        CHECK(cache.bytes <= PL_REGEX_CACHE_BYTES || cache.compiled.count == 1);
    }
    CHECK(cache.compiled.count < 40);
    pl_regex_cache_deinit(&cache);
}

TEST_MAIN()
