/* A shadow: a candidate generation that reconciles the same keys beside the running one. Its writes
 * are recorded and not sent, and the differences between the two are reported. At most one at a
 * time. It ends by itself, on request, at a reload and when the host stops. I/O thread. */
#pragma once

#include "reload/reload.h"

struct pl_shadow;

struct pl_shadow_options {
    struct pl_loop *loop; /* borrowed for life, like the following fields */
    struct pl_cluster *cluster;
    struct pl_manager *manager;
    struct pl_reload *reload;
    struct pl_lanes_options lanes; /* of the running generation */
    const char *config;            /* --config; NULL: none */
};

/* Starts nothing. The caller owns the result. */
struct pl_shadow *pl_shadow_create(const struct pl_shadow_options *options);
/* After the manager has stopped and before it is destroyed. Accepts NULL. */
void pl_shadow_destroy(struct pl_shadow *shadow);

struct pl_shadow_request {
    const char *const *paths; /* absolute; copied */
    size_t path_count;
    int64_t duration_ns; /* from the first runs on; 0: unlimited */
    int64_t keys;        /* number of keys to compare; 0: unlimited */
    /* It has begun, has ended without an error, or differs in a key: lines for the requester. The
     * document is borrowed. */
    void (*line)(void *arg, struct pl_doc *line);
    /* Called once, later; err: it was refused, or ended for an external reason. Lines about
     * comparisons until then have been reported. */
    void (*ended)(void *arg, const struct pl_err *err);
    void *arg;
};

/* PL_EEXIST when there is one already. */
PL_MUST_USE int pl_shadow_begin(struct pl_shadow *shadow, const struct pl_shadow_request *request,
                                struct pl_err *err);
/* A listener that also gets the lines of every shadow, and its end (line NULL; err as above). NULL
 * removes it. */
void pl_shadow_listen(struct pl_shadow *shadow,
                      void (*hear)(void *arg, struct pl_doc *line, const struct pl_err *err),
                      void *arg);
/* Ends it and reports its findings. False when there is none. */
bool pl_shadow_finish(struct pl_shadow *shadow);
/* Ends it with an error. Does nothing when there is none. */
void pl_shadow_abort(struct pl_shadow *shadow, const char *why);
/* The host is stopping: no shadow begins any more. */
void pl_shadow_stop(struct pl_shadow *shadow);
