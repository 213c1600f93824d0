/* Chooses the cache that answers a script's read, and reads it. The lane's thread. */
#pragma once

#include "lane/lane.h"

enum pl_choice {
    PL_CHOICE_CACHE,      /* *cache; it may not have synced yet */
    PL_CHOICE_LIVE,       /* declared, but in a form that cannot answer: ask the server */
    PL_CHOICE_UNDECLARED, /* ask the server */
    PL_CHOICE_OUTSIDE,    /* the namespace is none of the controller's; *cache: a cache for which it
                             is declared, but --namespace leaves it out, or NULL */
};

struct pl_wanted {
    struct pl_kind kind;
    struct pl_slice ns;      /* ptr NULL: none given */
    struct pl_slice cluster; /* ptr NULL: the host's own */
    bool metadata_only;
};

/* The widest of the running controller's own declarations, else of other controllers'. */
enum pl_choice pl_cache_choose(struct pl_lanes *lanes, int controller,
                               const struct pl_wanted *wanted, struct pl_cache **cache);
bool pl_cache_is_ready(struct pl_cache *cache);
/* True when it has selectors, so that missing objects may exist nevertheless. */
bool pl_cache_is_selective(const struct pl_cache *cache);
/* True when it keeps the namespaces of this replica's shards, and ns is not among them. Only when
 * it is ready. */
bool pl_cache_is_elsewhere(const struct pl_cache *cache, struct pl_slice ns);
/* Logs once for each kind that it should be declared. */
void pl_cache_hint(struct pl_lanes *lanes, struct pl_slice kind);

/* ---- listing ---- */

struct pl_filter {
    struct pl_slice ns, labels, fields, owner_uid, index_name, index_value, continue_token;
    struct pl_capture *view;  /* of a shadow's run, which changes the cache's answer; else NULL */
    const char *index_stored; /* store's name of index_name; NULL: no such index */
    int64_t limit;            /* 0: none */
};

/* What was found, sorted by key. */
struct pl_found {
    struct pl_docs docs;
    struct pl_buf continue_token; /* the last key, when there are more */
    size_t remaining;
    struct pl_buf rv;
};
void pl_found_deinit(struct pl_found *found);
/* The lists of caches in a world, which may reverse their order. */
struct pl_listing {
    bool reversed; /* whole lists come in the reverse order; those with a limit never */
    bool had_many; /* some list had more than one object */
};
/* EINVAL for invalid selectors, EAGAIN for an index that is being built. lane: the one that lists.
 */
PL_MUST_USE int pl_cache_list(struct pl_lane *lane, struct pl_cache *cache,
                              const struct pl_filter *filter, struct pl_found *found,
                              struct pl_err *err);
/* Keeps the documents whose controller reference has this uid. */
void pl_docs_keep_owned(struct pl_docs *docs, struct pl_slice owner_uid);
