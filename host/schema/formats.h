/* Formats of strings in schemas of CRDs, as Go's libraries read them. */
#pragma once

#include "format/regex_cache.h"

/* True for a format that is checked; dashes in its name do not count. */
bool pl_api_format_is_known(struct pl_slice format);
/* True if the text has the format, or if the format is unknown. patterns: keeps the expressions of
 * formats for the next text. */
bool pl_api_format_fits(struct pl_slice format, struct pl_slice text,
                        struct pl_regex_cache *patterns);
