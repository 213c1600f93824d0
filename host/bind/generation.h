/* One generation of scripts: its lanes, the editions of its controllers, and its origin. It is
 * loaded beside the running one, waits for the sync of new kinds, takes over, and ends when its
 * last run has ended. I/O thread. */
#pragma once

#include "control/edition.h"
#include "control/manager.h"
#include "lane/lanes.h"
#include "lua/origin.h"

struct pl_generation;

struct pl_generation_options {
    struct pl_cluster *cluster; /* borrowed for life */
    struct pl_loop *loop;       /* borrowed for life */
    /* A run of it has ended. May be NULL. */
    void (*ran)(void *arg, struct pl_generation *generation, const struct pl_ran *ran);
    /* The scripts have loaded: the callback may add declarations. May be NULL. */
    void (*declared)(void *arg, struct pl_declarations *declarations);
    /* pl_controller_options.order. May be NULL. */
    void (*order)(void *arg, struct pl_controller *controller);
    void *arg;
    bool unmeasured; /* its controllers have no metrics */
};

/* err NULL: success. */
typedef void (*pl_generation_fn)(void *arg, struct pl_generation *generation,
                                 const struct pl_err *err);

/* Fails when the scripts name other clusters and `cluster` knows none (a world of a test). */
PL_MUST_USE int pl_generation_check_clusters(struct pl_cluster *cluster,
                                             const struct pl_declarations *declarations,
                                             struct pl_err *err);
/* From loaded lanes, with declarations that pass pl_generation_check_clusters. Takes both and
 * attaches the lanes. The caller owns the generation, until pl_generation_close or
 * pl_generation_destroy. */
struct pl_generation *pl_generation_create(const struct pl_generation_options *options,
                                           struct pl_lanes *lanes,
                                           struct pl_declarations *declarations);
/* Loads the scripts; loaded is called once, later, unless it is destroyed before. After a failure
 * it can only be closed. The caller owns the generation from now on. */
struct pl_generation *pl_generation_load(const struct pl_generation_options *options,
                                         const struct pl_lanes_options *lanes,
                                         const char *const *paths, size_t path_count,
                                         pl_generation_fn loaded, void *arg);
/* Destroys it at once, whatever is under way: at the end of the host. Waits for its threads.
 * Accepts NULL. */
void pl_generation_destroy(struct pl_generation *generation);

/* Opens its editions and declares its indexes. prepared is called when all sources have synced that
 * `running` (NULL: none) does not have, or with an error when one has not within its
 * cache_sync_timeout. It may be called before this returns. */
void pl_generation_prepare(struct pl_generation *generation, const struct pl_generation *running,
                           pl_generation_fn prepared, void *arg);
/* It reconciles from now on. The controllers that differ from those of before (NULL: none) are
 * appended to `changed` (may be NULL), joined by ", ". */
void pl_generation_take_over(struct pl_generation *generation, struct pl_manager *manager,
                             const struct pl_generation *before, struct pl_buf *changed);
/* Its runs finish, or are cancelled after grace_ns. Then its threads end, it is freed, and closed
 * is called. A second call may cancel earlier. */
void pl_generation_close(struct pl_generation *generation, int64_t grace_ns,
                         pl_generation_fn closed, void *arg);
/* A controller was destroyed. */
void pl_generation_forget(struct pl_generation *generation, const struct pl_controller *controller);

uint64_t pl_generation_number(const struct pl_generation *generation);
/* True when its last run has ended. */
bool pl_generation_is_over(const struct pl_generation *generation);
size_t pl_generation_controllers(const struct pl_generation *generation);
/* Webhooks: one edition for each registration. The array and its references belong to the
 * generation. */
struct pl_edition *const *pl_generation_hooks(const struct pl_generation *generation,
                                              size_t *count);
/* 0 <= i < pl_generation_controllers. The generation holds the reference. */
struct pl_edition *pl_generation_edition(const struct pl_generation *generation, size_t i);
/* NULL: it declares no controller of that name. The generation holds the reference. */
struct pl_edition *pl_generation_edition_of(const struct pl_generation *generation,
                                            const char *name);
/* Both live as long as the generation. */
struct pl_lanes *pl_generation_lanes(const struct pl_generation *generation);
struct pl_origin *pl_generation_origin(const struct pl_generation *generation);
