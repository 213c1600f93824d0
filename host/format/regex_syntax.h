/* RE2's syntax, read and written as PCRE2 reads it. Only host/format includes this. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* Appends the expression for PCRE2 (UTF, no UCP, dollar at the end only). Callouts, `(?C)`, stand
 * wherever a search can come to after going back: at its beginning, at the beginning of each
 * alternative and after each quantifier, where the number is how often a group may be repeated, up
 * to 255: so many groups are left there. EINVAL, with the byte. */
PL_MUST_USE int pl_regex_translate(struct pl_slice text, struct pl_buf *out, struct pl_err *err);
