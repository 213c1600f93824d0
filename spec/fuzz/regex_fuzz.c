/* Regular expressions: the first line is an expression, the rest is the text. Each search ends, and
 * its matches are inside the text. */
#include "base/check.h"
#include "format/regex.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *end = size > 0 ? memchr(text, '\n', size) : NULL;
    size_t len = end != NULL ? (size_t)(end - text) : size;
    struct pl_slice rest = end != NULL ? pl_slice(end + 1, size - len - 1) : pl_slice("", 0);
    struct pl_err err;
    struct pl_regex *regex = pl_regex_compile(pl_slice(text, len), &err);
    if (regex == NULL)
        return 0;
    struct pl_regex_search *search = pl_regex_search_create();
    size_t at = 0;
    for (int i = 0; i < 20 && pl_regex_search(search, regex, rest, at, i > 0, &err) == 1; i++) {
        for (size_t group = 0; group <= pl_regex_groups(regex); group++) {
            size_t from, to;
            pl_regex_group(search, group, &from, &to);
            PL_REQUIRE((from == PL_REGEX_NONE && to == from) || (from <= to && to <= rest.len));
            if (group == 0)
                at = to;
        }
    }
    pl_regex_search_destroy(search);
    pl_regex_destroy(regex);
    return 0;
}
