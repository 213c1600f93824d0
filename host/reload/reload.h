/* Hot reload: its triggers, the decision whether the next generation takes over, and the rollback.
 * The running generation is not touched until the next one has loaded, was accepted and has all its
 * sources. I/O thread. */
#pragma once

#include "serve/view.h"
#include "bind/generation.h"

struct pl_reload;

struct pl_reload_options {
    struct pl_loop *loop; /* borrowed for life, like the following fields */
    struct pl_cluster *cluster;
    struct pl_manager *manager;
    struct pl_metrics *metrics;
    struct pl_view *view;
    struct pl_lanes_options lanes; /* for the next generations; the config is read again */
    const char *const *paths;      /* PATH... */
    size_t path_count;
    const char *config; /* --config; NULL: none */
    bool watch;         /* --reload */
    bool guard;         /* --reload-guard */
    int64_t grace_ns;   /* grace period for runs of an ended generation */
    /* This generation runs from now on. May be NULL. */
    void (*switched)(void *arg, struct pl_generation *generation);
    void *arg;
};

/* The generation of these loaded lanes runs from now on; call it before the manager starts. Takes
 * both. The caller owns the result, which is never NULL. */
struct pl_reload *pl_reload_create(const struct pl_reload_options *options, struct pl_lanes *lanes,
                                   struct pl_declarations *declarations);
/* After pl_manager_start: declares the indexes, and starts watching files. */
PL_MUST_USE int pl_reload_start(struct pl_reload *reload, struct pl_err *err);
/* The host is stopping: no more scripts are loaded. */
void pl_reload_stop(struct pl_reload *reload);
/* After the manager has stopped and before it is destroyed. Accepts NULL. */
void pl_reload_destroy(struct pl_reload *reload);

/* For the manager: pl_manager_options.gone. */
void pl_reload_controller_gone(void *reload, const struct pl_controller *controller);

/* Called just before another generation takes over. Only one callback; NULL removes it. */
void pl_reload_before_switch(struct pl_reload *reload, void (*before)(void *arg), void *arg);

/* ---- requesting a reload ---- */

enum pl_reload_result {
    PL_RELOAD_APPLIED,     /* a new generation runs */
    PL_RELOAD_UNCHANGED,   /* the scripts are the running ones */
    PL_RELOAD_REJECTED,    /* message: the reason; the running generation continues */
    PL_RELOAD_ROLLED_BACK, /* message: the first failure; the previous generation runs again */
};

/* A caller that waits for the result. Embedded in its owner. */
struct pl_reload_wait {
    struct pl_link link;
    bool until_guarded; /* wait until the guard of an applied reload has ended */
    void (*done)(struct pl_reload_wait *wait, enum pl_reload_result result, const char *message);
};

/* Also retries scripts that were refused. why: for the log, a literal. wait: NULL, or called once,
 * later. */
void pl_reload_request(struct pl_reload *reload, const char *why, struct pl_reload_wait *wait);

/* ---- listening to reloads ---- */

struct pl_reload_news {
    enum pl_reload_news_kind {
        PL_NEWS_APPLIED,     /* text: the controllers that changed */
        PL_NEWS_REFUSED,     /* text: the reason */
        PL_NEWS_GUARD_OVER,  /* the new scripts stay */
        PL_NEWS_ROLLED_BACK, /* text: the first failure */
    } kind;
    uint64_t generation; /* the running generation now */
    const char *trigger; /* a literal; NULL: none */
    struct pl_slice text;
    int64_t at_ns; /* wall clock */
};
/* One listener, called as it happens; it must not request a reload. NULL removes it. The news are
 * borrowed for the call. */
void pl_reload_listen(struct pl_reload *reload,
                      void (*hear)(void *arg, const struct pl_reload_news *news), void *arg);

/* ---- status ---- */

struct pl_reload_status {
    uint64_t generation;
    char digest[2 * PL_SHA256_BYTES + 1]; /* of the running generation's files */
    int64_t since_ns;                     /* wall clock: when it took over */
    bool loading, guarded;
    size_t kept;         /* generations: the running one, and during the guard the last good one */
    size_t ending;       /* their runs are still in flight, or a lane of theirs is stuck */
    const char *refusal; /* borrowed: the last refusal; NULL: the last attempt was not refused */
    int64_t refused_ns;  /* wall clock */
};
void pl_reload_status(const struct pl_reload *reload, struct pl_reload_status *out);
/* The generation that runs now; it belongs to the reload. */
struct pl_generation *pl_reload_current(const struct pl_reload *reload);
