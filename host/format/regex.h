/* Regular expressions in RE2's syntax, as Kubernetes and Go document it, on PCRE2. Constructs that
 * RE2 lacks (backreferences, lookaround, possessive quantifiers, recursion) are refused. If the two
 * libraries read an expression differently, it means what it means in RE2. The leftmost match wins;
 * among several there, the expression's preference decides. \d, \s, \w and \b are ASCII, case
 * folding is Unicode's.
 *
 * PCRE2 searches by backtracking, so an expression could run for ever. A search therefore has
 * limits (steps, depth, memory), and exceeding one is an error. Texts are UTF-8. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

#define PL_REGEX_PATTERN (32u << 10)  /* limit of an expression, in bytes */
#define PL_REGEX_TEXT    (1u << 20)   /* limit of a searched text, in bytes */
#define PL_REGEX_GROUPS  99           /* capturing groups */
#define PL_REGEX_STEPS   (64u << 20)  /* characters looked at; backtracking costs more */
#define PL_REGEX_MEMORY  (32u << 20)  /* memory of one search, in bytes */
#define PL_REGEX_NONE    ((size_t)-1) /* the group took no part in the match */

/* Immutable; several threads may search with it. It is one block of pl_regex_bytes bytes without
 * pointers into itself: a copy of the block is also a regex, and freeing the copy's memory is
 * enough. */
struct pl_regex;

/* Returns NULL and EINVAL or ELIMIT with the reason and the place: "at byte 3: ...". The caller
 * owns the expression and destroys it. */
struct pl_regex *pl_regex_compile(struct pl_slice text, struct pl_err *err);
void pl_regex_destroy(struct pl_regex *regex); /* accepts NULL; not for copies of the block */
size_t pl_regex_bytes(const struct pl_regex *regex);
size_t pl_regex_groups(const struct pl_regex *regex);

/* Memory for searching. One thread uses it, for any number of expressions, one after another. */
struct pl_regex_search;

/* The caller owns it and destroys it. */
struct pl_regex_search *pl_regex_search_create(void);
void pl_regex_search_destroy(struct pl_regex_search *search); /* accepts NULL */

/* Searches text from the byte `from` on, which may be text.len; the text before it counts for ^ and
 * \b. 1: found, 0: not found, else EINVAL (not UTF-8) or ELIMIT. more: continues the search of the
 * same text after a match. Then the text is not checked again, and the steps of all searches count
 * together. */
PL_MUST_USE int pl_regex_search(struct pl_regex_search *search, const struct pl_regex *regex,
                                struct pl_slice text, size_t from, bool more, struct pl_err *err);
/* Group i of the last match, 0 is the whole match: its bytes [*from, *to); both are PL_REGEX_NONE
 * when the group took no part. */
void pl_regex_group(const struct pl_regex_search *search, size_t i, size_t *from, size_t *to);
/* Whether there is a match anywhere, for callers without a pl_regex_search. */
PL_MUST_USE int pl_regex_test(const struct pl_regex *regex, struct pl_slice text,
                              struct pl_err *err);
