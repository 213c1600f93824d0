/* A shadow: a candidate generation that reconciles the same keys beside the running one, with its
 * writes kept instead of sent, and what the two would do differently. At most one at a time. It
 * ends by itself, when somebody says so, at a reload and when the host stops. I/O thread. */
#pragma once

#include "reload/reload.h"

struct pl_shadow;

struct pl_shadow_options {
    struct pl_loop *loop; /* borrowed for life, as is what follows */
    struct pl_cluster *cluster;
    struct pl_manager *manager;
    struct pl_reload *reload;
    struct pl_lanes_options lanes; /* as of the running generation */
    const char *config;            /* --config; NULL: none */
};

/* Nothing is under way. */
struct pl_shadow *pl_shadow_create(const struct pl_shadow_options *options);
/* After the manager has stopped and before it is destroyed. Accepts NULL. */
void pl_shadow_destroy(struct pl_shadow *shadow);

struct pl_shadow_request {
    const char *const *paths; /* absolute; copied */
    size_t path_count;
    int64_t duration_ns; /* from the beginning of the runs; 0: no end */
    int64_t keys;        /* until so many were compared; 0: no end */
    /* It has begun, ended without an error, or differs in a key: lines for whoever asked. The
     * document is borrowed. */
    void (*line)(void *arg, struct pl_doc *line);
    /* Once, later; err: it was refused, or ended for a reason that is not its own. Of what was
     * compared until then the lines have been told. */
    void (*ended)(void *arg, const struct pl_err *err);
    void *arg;
};

/* PL_EEXIST when there is one already. */
PL_MUST_USE int pl_shadow_begin(struct pl_shadow *shadow, const struct pl_shadow_request *request,
                                struct pl_err *err);
/* One listener hears the lines of every shadow, too, and how each ends (line NULL; err as above).
 * NULL forgets it. */
void pl_shadow_listen(struct pl_shadow *shadow,
                      void (*hear)(void *arg, struct pl_doc *line, const struct pl_err *err),
                      void *arg);
/* Ends it and tells what it found. False when there is none. */
bool pl_shadow_finish(struct pl_shadow *shadow);
/* Ends it with an error. Harmless when there is none. */
void pl_shadow_abort(struct pl_shadow *shadow, const char *why);
/* The host is stopping: none begins any more. */
void pl_shadow_stop(struct pl_shadow *shadow);
