/* One generation of scripts: its lanes, the editions of controllers that they declared, and what it
 * is made of. It is loaded beside the one that runs, waits for kinds that are new, takes over, and
 * ends when its last run has. I/O thread. */
#pragma once

#include "control/edition.h"
#include "control/manager.h"
#include "lane/lanes.h"
#include "lua/origin.h"

struct pl_generation;

struct pl_generation_options {
    struct pl_cluster *cluster; /* borrowed for life */
    struct pl_loop *loop;       /* borrowed for life */
    /* A run of it has ended. NULL: nobody wants to know. */
    void (*ran)(void *arg, struct pl_generation *generation, const struct pl_ran *ran);
    /* The scripts have loaded: declarations may be added to. NULL: nobody does. */
    void (*declared)(void *arg, struct pl_declarations *declarations);
    void *arg;
    bool unmeasured; /* its controllers have no metrics */
};

/* err NULL: done. */
typedef void (*pl_generation_fn)(void *arg, struct pl_generation *generation,
                                 const struct pl_err *err);

/* Of lanes that have loaded; takes both. Attaches the lanes. */
struct pl_generation *pl_generation_create(const struct pl_generation_options *options,
                                           struct pl_lanes *lanes,
                                           struct pl_declarations *declarations);
/* Loads the scripts; loaded is called once, later, unless it is destroyed before. After a failure
 * it can only be closed. */
struct pl_generation *pl_generation_load(const struct pl_generation_options *options,
                                         const struct pl_lanes_options *lanes,
                                         const char *const *paths, size_t path_count,
                                         pl_generation_fn loaded, void *arg);
/* At once, whatever is under way: when the host ends. Waits for its threads. Accepts NULL. */
void pl_generation_destroy(struct pl_generation *generation);

/* Opens its editions and declares its indexes; prepared is called once all sources have synced that
 * `running` (NULL: none) does not have, or with the reason why one has not in its
 * cache_sync_timeout. May be called back before it returns. */
void pl_generation_prepare(struct pl_generation *generation, const struct pl_generation *running,
                           pl_generation_fn prepared, void *arg);
/* From now on it reconciles. before (NULL: none) tells which controllers have changed, whose names
 * are appended to `changed` (may be NULL), joined by ", ". */
void pl_generation_take_over(struct pl_generation *generation, struct pl_manager *manager,
                             const struct pl_generation *before, struct pl_buf *changed);
/* Its runs finish, or are cancelled after grace_ns; then its threads end and it is freed. closed is
 * called then. A second call may bring the cancelling forward. */
void pl_generation_close(struct pl_generation *generation, int64_t grace_ns,
                         pl_generation_fn closed, void *arg);
/* A controller is gone. */
void pl_generation_forget(struct pl_generation *generation, const struct pl_controller *controller);

uint64_t pl_generation_number(const struct pl_generation *generation);
/* Its last run has ended. */
bool pl_generation_is_over(const struct pl_generation *generation);
size_t pl_generation_controllers(const struct pl_generation *generation);
/* Webhooks: an edition for each registration. */
size_t pl_generation_hooks(const struct pl_generation *generation);
/* i below that. */
struct pl_edition *pl_generation_hook(const struct pl_generation *generation, size_t i);
/* i below pl_generation_controllers. */
struct pl_edition *pl_generation_edition(const struct pl_generation *generation, size_t i);
/* NULL: it declares no controller of that name. */
struct pl_edition *pl_generation_edition_of(const struct pl_generation *generation,
                                            const char *name);
struct pl_lanes *pl_generation_lanes(const struct pl_generation *generation);
struct pl_origin *pl_generation_origin(const struct pl_generation *generation);
