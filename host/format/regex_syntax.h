/* RE2's syntax, translated to PCRE2's. Only host/format includes this. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* Appends the expression for PCRE2 (UTF, no UCP, dollar at the end only). It has a callout, `(?C)`,
 * at each place where a search can resume after backtracking: at the beginning, at the beginning of
 * each alternative and after each quantifier. The callout's number is how often a group may repeat,
 * up to 255: a failing search abandons that many groups there. EINVAL, with the byte. */
PL_MUST_USE int pl_regex_translate(struct pl_slice text, struct pl_buf *out, struct pl_err *err);
