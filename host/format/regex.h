/* Regular expressions in RE2's syntax, as Kubernetes and Go document it, on PCRE2. What RE2 does
 * not have (backreferences, lookaround, possessive quantifiers, recursion) is refused; where the
 * two read a text differently, RE2's reading holds. The first match from the left wins, and of
 * several the one that the expression prefers. \d, \s, \w and \b are about ASCII, case is
 * Unicode's.
 *
 * PCRE2 searches by trying, so that an expression could take for ever: what a search may do is
 * limited (steps, depth, memory), and one that needs more is an error. Texts are UTF-8. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

#define PL_REGEX_PATTERN (32u << 10)  /* bytes of an expression */
#define PL_REGEX_TEXT    (1u << 20)   /* bytes of a text that is searched */
#define PL_REGEX_GROUPS  99           /* that capture */
#define PL_REGEX_STEPS   (64u << 20)  /* characters looked at; going back costs more */
#define PL_REGEX_MEMORY  (32u << 20)  /* bytes of one search */
#define PL_REGEX_NONE    ((size_t)-1) /* a group that took no part */

/* Immutable; several threads may search with it. It is one block of pl_regex_bytes bytes without
 * pointers into itself: a copy of the block is a regex, too, that ends with its memory. */
struct pl_regex;

/* NULL and EINVAL or ELIMIT with what is wrong and where: "at byte 3: ...". */
struct pl_regex *pl_regex_compile(struct pl_slice text, struct pl_err *err);
void pl_regex_destroy(struct pl_regex *regex); /* accepts NULL; not for copies of the block */
size_t pl_regex_bytes(const struct pl_regex *regex);
size_t pl_regex_groups(const struct pl_regex *regex);

/* What searching needs. One thread's; any number of expressions, one after another. */
struct pl_regex_search;

struct pl_regex_search *pl_regex_search_create(void);
void pl_regex_search_destroy(struct pl_regex_search *search); /* accepts NULL */

/* Searches text from the byte `from` on, which may be text.len; what is before it counts for ^ and
 * \b. 1: found, 0: not, else EINVAL (no UTF-8) or ELIMIT. more: the search of the same text goes on
 * after a match: it is not checked again, and the steps of all are counted together. */
PL_MUST_USE int pl_regex_search(struct pl_regex_search *search, const struct pl_regex *regex,
                                struct pl_slice text, size_t from, bool more, struct pl_err *err);
/* Group i of the last match, 0 the whole: its bytes [*from, *to); PL_REGEX_NONE twice when it took
 * no part. */
void pl_regex_group(const struct pl_regex_search *search, size_t i, size_t *from, size_t *to);
/* Is there a match anywhere? For callers without a search of their own. */
PL_MUST_USE int pl_regex_test(const struct pl_regex *regex, struct pl_slice text,
                              struct pl_err *err);
