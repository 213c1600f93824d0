/* A full cache is emptied: a caller with more expressions than fit compiles some of them again. An
 * invalid expression is not kept. */
#include "format/regex_cache.h"

static void regex_cache_empty(struct pl_regex_cache *cache)
{
    size_t at = 0;
    struct pl_slice key;
    void *regex;
    while (pl_map_next(&cache->compiled, &at, &key, &regex))
        pl_regex_destroy(regex);
    pl_map_deinit(&cache->compiled);
    cache->bytes = 0;
}

void pl_regex_cache_deinit(struct pl_regex_cache *cache)
{
    regex_cache_empty(cache);
    pl_regex_search_destroy(cache->search);
    cache->search = NULL;
}

const struct pl_regex *pl_regex_cache_get(struct pl_regex_cache *cache, struct pl_slice text,
                                          struct pl_err *err)
{
    struct pl_regex *regex = pl_map_get(&cache->compiled, text);
    if (regex != NULL)
        return regex;
    regex = pl_regex_compile(text, err);
    if (regex == NULL)
        return NULL;
    size_t bytes = pl_regex_bytes(regex) + text.len;
    if (cache->compiled.count == PL_REGEX_CACHE_COUNT ||
        cache->bytes + bytes > PL_REGEX_CACHE_BYTES)
        regex_cache_empty(cache);
    pl_map_put(&cache->compiled, text, regex);
    cache->bytes += bytes;
    return regex;
}

int pl_regex_cache_test(struct pl_regex_cache *cache, const struct pl_regex *regex,
                        struct pl_slice text, struct pl_err *err)
{
    if (cache->search == NULL)
        cache->search = pl_regex_search_create();
    return pl_regex_search(cache->search, regex, text, 0, false, err);
}
