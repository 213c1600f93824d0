/* One evaluation: its memory, its cost, and the values of variables. Private to cel. */
#pragma once

#include "cel/ast.h"

struct pl_regex;
struct pl_regex_search;

struct pl_cel_cached {
    const struct pl_tree *tree;
    const struct pl_cel_list *list;
};

struct pl_cel_eval {
    struct pl_arena *arena;
    struct pl_cel *slots; /* variables of the program first, then those of loops */
    uint64_t cost, limit;
    struct pl_cel_cached *cache; /* lists of documents; a hash table with open addressing */
    size_t cache_count, cache_cap;
    struct pl_regex_search *search; /* owned; NULL until it is first needed */
    const struct pl_cel_expr *call; /* whose function runs */
    struct pl_regex *regex; /* owned; the pattern compiled last, since a loop uses one many times */
    struct pl_slice regex_text; /* its text */
};

/* Adds to the cost; false: the limit is exceeded. */
bool pl_cel_charge(struct pl_cel_eval *eval, uint64_t cost);
struct pl_cel pl_cel_over_limit(void);

struct pl_cel pl_cel_eval_expr(struct pl_cel_eval *eval, const struct pl_cel_expr *e);
struct pl_cel pl_cel_eval_loop(struct pl_cel_eval *eval, const struct pl_cel_expr *e);
