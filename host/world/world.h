/* A world: an embedded API server and controller hosts in one thread, joined by calls, on a clock
 * that moves only when told. The same options and the same calls make the same world, step for
 * step. One thread. */
#pragma once

#include "world/alarms.h"
#include "world/asking.h"
#include "world/outside.h"
#include "world/replica.h"

struct pl_world;

struct pl_world_options {
    int64_t wall_ns;         /* what time it is at first, since 1970 */
    uint64_t seed;           /* not 0 */
    struct pl_watchdog *dog; /* of scripts; borrowed for life; NULL: each host has its own */
    const struct pl_chooser *chooser; /* borrowed for life; NULL: undisturbed */
    /* A request to the server was answered, a host's or a user's ("user"). NULL: nobody cares. */
    void (*seen)(void *arg, const struct pl_wire_seen *seen);
    /* Something was stored, by whoever: in the step that did it. False: what is under way ends with
     * an error of ESCRIPT. NULL as above. */
    bool (*stored)(void *arg);
    /* A run has ended. NULL as above. */
    void (*ran)(void *arg, const char *host, const struct pl_ran *ran);
    void *arg;
    struct pl_outside_options outside; /* what perilune.http meets */
};

struct pl_world *pl_world_create(const struct pl_world_options *options);
/* Every host ends as by a kill. Accepts NULL. */
void pl_world_destroy(struct pl_world *world);

/* ---- time ---- */

int64_t pl_world_now(const struct pl_world *world); /* wall, ns */
/* Does one thing, which may be that the clock goes on to the next timer; false: there is nothing
 * to come at all. */
bool pl_world_step(struct pl_world *world);
/* Does everything that is due until then. ELIMIT when reconciles do not end at one instant. */
int pl_world_advance(struct pl_world *world, int64_t ns, struct pl_err *err);
/* Until nothing goes on by itself and nothing is due within that time, or a full round of what is
 * has changed nothing. ELIMIT, with the busiest keys, when 10,000 reconciles were not enough;
 * ETIMEOUT, with what is under way, when the time was not. */
int pl_world_settle(struct pl_world *world, int64_t limit_ns, struct pl_err *err);
/* So many reconciles are enough from now on; 0: 10,000. */
void pl_world_limit(struct pl_world *world, unsigned reconciles);
/* Nothing goes on by itself, and no key fails. Else why is appended. */
bool pl_world_is_settled(struct pl_world *world, struct pl_buf *why);

/* ---- hosts ---- */

/* options: name, paths, config, namespaces and limits; the rest is the world's to set. It lists and
 * watches, and is not synced yet; pl_world_sync follows. */
int pl_world_start(struct pl_world *world, const struct pl_replica_options *options,
                   struct pl_err *err);
/* Until every controller of the host runs, or within its time says why not. */
int pl_world_sync(struct pl_world *world, const char *name, struct pl_err *err);
/* Graceful; time passes while runs end. */
int pl_world_stop(struct pl_world *world, const char *name, struct pl_err *err);
int pl_world_crash(struct pl_world *world, const char *name, struct pl_err *err);
/* EINVAL: there is no such host; else what is wrong with the scripts. */
int pl_world_reload(struct pl_world *world, const char *name, const char *const *paths,
                    size_t count, struct pl_err *err);
/* NULL: there is no such host. Until the next call that changes the world. */
struct pl_replica *pl_world_replica(struct pl_world *world, const char *name);

/* ---- the server ---- */

/* As a user with every right would. Other things go on while webhooks are asked, and only then. */
int pl_world_request(struct pl_world *world, const char *method, const char *target,
                     const char *content_type, struct pl_slice body, struct pl_world_answer *answer,
                     struct pl_err *err);
/* What choosers say of watches may have changed. */
void pl_world_look(struct pl_world *world);
/* Every host's watches of the resource ("apps/v1/deployments") end, as their version is too old. */
void pl_world_expire_watches(struct pl_world *world, const char *resource);
/* Of the last change. */
uint64_t pl_world_version(const struct pl_world *world);
/* ---- alarms: what somebody in the world does later ---- */

/* Settling waits for them as for keys. Lives as long as the world. */
struct pl_alarms *pl_world_alarms(struct pl_world *world);
