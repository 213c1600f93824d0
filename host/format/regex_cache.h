/* Compiled expressions of a caller that tests many texts against the same few expressions. The
 * number of kept expressions is limited; others are compiled again. Used by one thread. */
#pragma once

#include "base/map.h"
#include "format/regex.h"

#define PL_REGEX_CACHE_COUNT 256        /* expressions that are kept */
#define PL_REGEX_CACHE_BYTES (1u << 20) /* and their size, compiled */

/* Zero-initialise. */
struct pl_regex_cache {
    struct pl_map compiled; /* expression -> struct pl_regex, owned */
    size_t bytes;
    struct pl_regex_search *search; /* owned; NULL until it is first needed */
};

void pl_regex_cache_deinit(struct pl_regex_cache *cache);
/* As pl_regex_compile, but the expression belongs to the cache, and lives until the next call. */
const struct pl_regex *pl_regex_cache_get(struct pl_regex_cache *cache, struct pl_slice text,
                                          struct pl_err *err);
/* As pl_regex_test. */
PL_MUST_USE int pl_regex_cache_test(struct pl_regex_cache *cache, const struct pl_regex *regex,
                                    struct pl_slice text, struct pl_err *err);
