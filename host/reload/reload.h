/* Hot reload: what triggers one, whether the next generation takes over, and the way back. The
 * running generation goes on untouched until the next one has loaded, was found right and has all
 * its sources. I/O thread. */
#pragma once

#include "serve/view.h"
#include "bind/generation.h"

struct pl_reload;

struct pl_reload_options {
    struct pl_loop *loop; /* borrowed for life, as is what follows */
    struct pl_cluster *cluster;
    struct pl_manager *manager;
    struct pl_metrics *metrics;
    struct pl_view *view;
    struct pl_lanes_options lanes; /* of the next generations; the config is read again */
    const char *const *paths;      /* PATH... */
    size_t path_count;
    const char *config; /* --config; NULL: none */
    bool watch;         /* --reload */
    bool guard;         /* --reload-guard */
    int64_t grace_ns;   /* for runs of a generation that is over */
    /* A generation runs from now on: whoever else has to do with it. May be NULL. */
    void (*switched)(void *arg, struct pl_generation *generation);
    void *arg;
};

/* The generation of these lanes, which have loaded, runs from now on: call it before the manager
 * starts. Takes both. NULL and err when an index is declared of a kind that nobody declares. */
struct pl_reload *pl_reload_create(const struct pl_reload_options *options, struct pl_lanes *lanes,
                                   struct pl_declarations *declarations);
/* After pl_manager_start: declares the indexes, and begins to watch files. */
PL_MUST_USE int pl_reload_start(struct pl_reload *reload, struct pl_err *err);
/* The host is stopping: nothing is loaded any more. */
void pl_reload_stop(struct pl_reload *reload);
/* After the manager has stopped and before it is destroyed. Accepts NULL. */
void pl_reload_destroy(struct pl_reload *reload);

/* For the manager: pl_manager_options.gone. */
void pl_reload_controller_gone(void *reload, const struct pl_controller *controller);

/* Called just before another generation takes over; one caller; NULL forgets it. */
void pl_reload_before_switch(struct pl_reload *reload, void (*before)(void *arg), void *arg);

/* ---- asking for one ---- */

enum pl_reload_result {
    PL_RELOAD_APPLIED,     /* another generation runs */
    PL_RELOAD_UNCHANGED,   /* the scripts are those that run */
    PL_RELOAD_REJECTED,    /* message says why; the generation goes on */
    PL_RELOAD_ROLLED_BACK, /* message is the first failure; the generation before runs again */
};

/* Someone who wants to know how it ends. Embedded in its owner. */
struct pl_reload_wait {
    struct pl_link link;
    bool until_guarded; /* of one that was applied: when its guard is over */
    void (*done)(struct pl_reload_wait *wait, enum pl_reload_result result, const char *message);
};

/* Also tries again what was refused. why: for the log, a literal. wait: NULL, or told once, later.
 */
void pl_reload_request(struct pl_reload *reload, const char *why, struct pl_reload_wait *wait);

/* ---- hearing of each ---- */

struct pl_reload_news {
    enum pl_reload_news_kind {
        PL_NEWS_APPLIED,     /* text: the controllers that changed */
        PL_NEWS_REFUSED,     /* text: why */
        PL_NEWS_GUARD_OVER,  /* the new scripts stay */
        PL_NEWS_ROLLED_BACK, /* text: the first failure */
    } kind;
    uint64_t generation; /* the one that runs now */
    const char *trigger; /* a literal; NULL: none of its own */
    struct pl_slice text;
    int64_t at_ns; /* wall clock */
};
/* One listener, called as it happens; it must not ask for a reload. NULL forgets it. The news are
 * borrowed for the call. */
void pl_reload_listen(struct pl_reload *reload,
                      void (*hear)(void *arg, const struct pl_reload_news *news), void *arg);

/* ---- what is going on ---- */

struct pl_reload_status {
    uint64_t generation;
    char digest[2 * PL_SHA256_BYTES + 1]; /* of its files */
    int64_t since_ns;                     /* wall clock: when it took over */
    bool loading, guarded;
    size_t kept;   /* generations: the running one, and while the guard is on the last good one */
    size_t ending; /* runs of theirs are still in flight, or a lane of theirs is stuck */
    const char *refusal; /* borrowed: why the last one was refused; NULL: it was not */
    int64_t refused_ns;  /* wall clock */
};
void pl_reload_status(const struct pl_reload *reload, struct pl_reload_status *out);
/* The running one. */
struct pl_generation *pl_reload_current(const struct pl_reload *reload);
