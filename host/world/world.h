/* A world: an embedded API server and controller hosts in one thread, connected by calls, on a
 * clock that moves only on request. The same options and the same calls give the same world, step
 * for step. One thread. */
#pragma once

#include "apicall/commands.h"
#include "world/alarms.h"
#include "world/external_servers.h"
#include "world/replica.h"
#include "world/user_request.h"

struct pl_world;

struct pl_world_options {
    int64_t wall_ns;         /* initial time, since 1970 */
    uint64_t seed;           /* not 0 */
    uint64_t first_version;  /* of the server; 0: 1 */
    struct pl_watchdog *dog; /* of scripts; borrowed for life; NULL: each host has its own */
    const struct pl_chooser *chooser; /* borrowed for life; NULL: no disturbances */
    /* A request to the server was answered, from a host or a user ("user"). May be NULL. */
    void (*seen)(void *arg, const struct pl_wire_seen *seen);
    /* Called in each step that stored something. False: the current call ends with an error of
     * ESCRIPT. May be NULL. */
    bool (*stored)(void *arg);
    /* A run has ended. May be NULL. */
    void (*ran)(void *arg, const char *host, const struct pl_ran *ran);
    void *arg;
    /* Documents share no values (value/pool.h): for a world that ends soon, and is copied with its
     * process, as each page of a pool that is written is copied, too. */
    bool unshared;
    const struct pl_line_watch *lines;  /* of the scripts; borrowed for life; NULL: none */
    struct pl_external_options outside; /* the external servers for perilune.http */
    struct pl_api_commands commands;    /* in Pods; answer NULL: only annotations answer */
};

/* The caller owns the world. The options are copied. */
struct pl_world *pl_world_create(const struct pl_world_options *options);
/* Every host ends like by a kill. Accepts NULL. */
void pl_world_destroy(struct pl_world *world);

/* ---- time ---- */

int64_t pl_world_now(const struct pl_world *world); /* wall, ns */
/* Does one piece of work, which may be moving the clock to the next timer; false: there is nothing
 * left to do before end_ns (wall; INT64_MAX: no limit). */
bool pl_world_step(struct pl_world *world, int64_t end_ns);
/* Does all work that is due until then. ELIMIT when reconciles do not end at one instant.
 * until_crash: it also ends at the time when a disturbance has killed a host. */
PL_MUST_USE int pl_world_advance(struct pl_world *world, int64_t ns, bool until_crash,
                                 struct pl_err *err);
/* Runs until no work continues by itself and nothing is due within that time, or until a full round
 * of all keys has changed nothing, or until a disturbance has killed the last host. ELIMIT, with
 * the busiest keys, after 10,000 reconciles; ETIMEOUT, with the current work, after limit_ns. */
PL_MUST_USE int pl_world_settle(struct pl_world *world, int64_t limit_ns, struct pl_err *err);
/* Something outside of the cluster has changed, which a round may wait for. */
void pl_world_changed_outside(struct pl_world *world);
/* Sets that limit of reconciles; 0: 10,000. */
void pl_world_limit(struct pl_world *world, unsigned reconciles);
/* Sets another limit, of one key's reconciles. A new world has none. */
void pl_world_limit_key(struct pl_world *world, unsigned reconciles);
/* Settling does not wait for a key that has backed off so often while nothing changed; 0, as in a
 * new world: it always waits. */
void pl_world_limit_retries(struct pl_world *world, unsigned retries);
/* True when no work continues by itself and no key fails. Otherwise the reason is appended. */
bool pl_world_is_settled(struct pl_world *world, struct pl_buf *why);

/* ---- hosts ---- */

/* options: name, paths, config, namespaces and limits; the world sets the rest. The host lists and
 * watches, but is not synced yet; call pl_world_sync next. */
PL_MUST_USE int pl_world_start(struct pl_world *world, const struct pl_replica_options *options,
                               struct pl_err *err);
/* Loads the next host with these options now; pl_world_start does the rest. See world/ahead.h. */
void pl_world_load_ahead(struct pl_world *world, const struct pl_replica_options *options);
/* Runs until every controller of the host runs; an error with the reason when its time is over. */
PL_MUST_USE int pl_world_sync(struct pl_world *world, const char *name, struct pl_err *err);
/* Graceful; the clock moves while runs end. */
PL_MUST_USE int pl_world_stop(struct pl_world *world, const char *name, struct pl_err *err);
PL_MUST_USE int pl_world_crash(struct pl_world *world, const char *name, struct pl_err *err);
/* EINVAL: there is no such host; else the error in the scripts. */
PL_MUST_USE int pl_world_reload(struct pl_world *world, const char *name, const char *const *paths,
                                size_t count, struct pl_err *err);
/* Queues a key of the controller on every host; false: no host has it, or it is a task. */
bool pl_world_enqueue(struct pl_world *world, const char *controller, const char *key);
/* Delayed keys of all hosts run so much later than they are due, from now on. */
void pl_world_set_lateness(struct pl_world *world, int64_t ns);
/* From now on, each write of a host takes so long, as on a real server; without this the clock
 * stands still, and the same time written again is no change. */
void pl_world_set_pace(struct pl_world *world, int64_t ns);
/* From now on, whole lists of caches come in the reverse order, or sorted by key again. True if a
 * list had more than one object since the last call. */
bool pl_world_reverse_lists(struct pl_world *world, bool reversed);
/* NULL: there is no such host. Valid until the next call that changes the world. */
struct pl_replica *pl_world_replica(struct pl_world *world, const char *name);
/* Visits the hosts in the order of their starts. */
void pl_world_each_host(struct pl_world *world,
                        void (*visit)(void *arg, struct pl_replica *replica), void *arg);

/* ---- the server ---- */

/* Like a user with all rights. Other work continues only while webhooks are asked. */
PL_MUST_USE int pl_world_request(struct pl_world *world, const char *method, const char *target,
                                 const char *content_type, struct pl_slice body,
                                 struct pl_world_answer *answer, struct pl_err *err);
/* Calls visit for each stored object of "apps/v1/deployments", in the order of keys; doc is
 * borrowed for the call. No request is made. False: the resource is unknown, or is shown in another
 * form than it is stored in. */
bool pl_world_each_object(struct pl_world *world, const char *resource,
                          void (*visit)(void *arg, const char *uid, uint64_t version,
                                        const struct pl_doc *doc),
                          void *arg);
/* The highest version of an object of "apps/v1/deployments"; 0: there is none. */
uint64_t pl_world_newest(struct pl_world *world, const char *resource);

/* Appends the status that an actor of the server would write into this object now, as JSON; see
 * apiserver/actors.h. False: none, or there is no such object. */
bool pl_world_actor_status(struct pl_world *world, const char *resource, const char *key,
                           struct pl_buf *out);
/* Settling waits again for keys and tasks that it has waited for and that changed nothing. */
void pl_world_forget_rounds(struct pl_world *world);
/* The chooser's answers about watches may have changed. */
void pl_world_look(struct pl_world *world);
/* Ends every host's watches of the resource ("apps/v1/deployments"), as their version is too old.
 */
void pl_world_expire_watches(struct pl_world *world, const char *resource);
/* Garbage collection waits while it is held. */
void pl_world_hold_garbage(struct pl_world *world, bool held);
/* The version of the last change. */
uint64_t pl_world_version(const struct pl_world *world);
/* ---- alarms: later actions of actors ---- */

/* Settling waits for them as for keys. They live as long as the world. */
struct pl_alarms *pl_world_alarms(struct pl_world *world);
