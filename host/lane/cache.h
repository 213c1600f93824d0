/* Which cache answers a script's read, and reading it. The lane's thread. */
#pragma once

#include "lane/lane.h"

enum pl_choice {
    PL_CHOICE_CACHE,      /* *cache; it may not have synced yet */
    PL_CHOICE_LIVE,       /* declared, but not in a form that can answer: ask the server */
    PL_CHOICE_UNDECLARED, /* ask the server */
    PL_CHOICE_OUTSIDE,    /* the namespace is not one of the declared ones */
};

struct pl_wanted {
    struct pl_kind kind;
    struct pl_slice ns;      /* ptr NULL: none given */
    struct pl_slice cluster; /* ptr NULL: the host's own */
    bool metadata_only;
};

/* The widest of the running controller's own declarations, else of others'. */
enum pl_choice pl_cache_choose(struct pl_lanes *lanes, int controller,
                               const struct pl_wanted *wanted, struct pl_cache **cache);
bool pl_cache_is_ready(struct pl_cache *cache);
/* Has it selectors, so that what it lacks may exist all the same? */
bool pl_cache_is_selective(const struct pl_cache *cache);
/* It keeps the namespaces of this replica's shards, of which this is none. Once it is ready. */
bool pl_cache_is_elsewhere(const struct pl_cache *cache, struct pl_slice ns);
/* Says once a kind that it would better be declared. */
void pl_cache_hint(struct pl_lanes *lanes, struct pl_slice kind);

/* ---- listing ---- */

struct pl_filter {
    struct pl_slice ns, labels, fields, owner_uid, index_name, index_value, continue_token;
    struct pl_capture *view;  /* of a shadow's run, which amends what the cache has; else NULL */
    const char *index_stored; /* of index_name; NULL: no such index */
    int64_t limit;            /* 0: none */
};

/* What was found, sorted by key. */
struct pl_found {
    struct pl_docs docs;
    struct pl_buf continue_token; /* the last key, when there is more */
    size_t remaining;
    struct pl_buf rv;
};
void pl_found_deinit(struct pl_found *found);
/* EINVAL for selectors that are none, EAGAIN for an index that is being built. lane: the one that
 * lists. */
PL_MUST_USE int pl_cache_list(struct pl_lane *lane, struct pl_cache *cache,
                              const struct pl_filter *filter, struct pl_found *found,
                              struct pl_err *err);
/* Keeps those whose controller reference has this uid. */
void pl_docs_keep_owned(struct pl_docs *docs, struct pl_slice owner_uid);
