/* The internals of a world, only for world.c, hosts.c and settle.c. */
#pragma once

#include "base/map.h"
#include "lane/cache.h"
#include "world/ahead.h"
#include "world/registered.h"
#include "world/reviews.h"
#include "world/rounds.h"
#include "world/world.h"

struct host {
    struct pl_link link;
    struct pl_replica *replica;
    bool crashes; /* it has to be destroyed before the next step */
    bool leaves;  /* it is stopping */
};

struct pl_world {
    struct pl_world_options o;
    struct pl_clock clock;
    int64_t now_ns;
    struct pl_loop *loop; /* the server's */
    struct pl_idle collect;
    struct pl_api *api;
    struct pl_reviews *reviews; /* the server's way to webhooks */
    struct pl_registered registered;
    struct pl_list hosts;
    unsigned started;
    unsigned crashes; /* by disturbances */
    struct pl_ahead ahead;
    struct pl_map keys; /* of rounds.h */
    struct pl_alarms alarms;
    struct pl_listing listing; /* of all hosts */
    uint64_t renewals;         /* writes that only renewed Leases; they count as no change */
    uint64_t changed_outside;  /* changes outside of the cluster */
    int64_t pace_ns;           /* of each write of a host */
    uint64_t told_version;     /* version of the last `stored` call */
    bool refused;              /* `stored` returned false */
    char *exhausted;           /* owned: a run that has computed too long; NULL: none */
    unsigned reconciles, most; /* of one settling */
    unsigned most_of_key;      /* limit of reconciles of one key in one settling */
    unsigned most_retries;     /* of one key, in a row and without a change; 0: no limit */
    unsigned too_many;         /* reconciles of keys that have reached that limit */
};

/* ---- world.c ---- */

/* Does one piece of work without moving the clock; false: there is none. */
bool pl_world_step_now(struct pl_world *world);
/* The next timer of the server or any host; false: none is armed. */
bool pl_world_next_timer(const struct pl_world *world, int64_t *due_ns);
/* The clock never goes back. */
void pl_world_move_to(struct pl_world *world, int64_t at_ns);
/* Differs after every write, except renewals of Leases by a leader, and after every change outside
 * of the cluster. */
uint64_t pl_world_changes(const struct pl_world *world);
/* Returns the error when `stored` has returned false. */
int pl_world_refusal(struct pl_world *world, struct pl_err *err);
/* Does one step or moves the clock. False: nothing more happens until end_ns. */
bool pl_world_move_on(struct pl_world *world, int64_t end_ns);
/* Takes note of a request of a host or the user. arg: the world. */
void pl_world_seen(void *arg, const struct pl_wire_seen *seen);
/* NULL: no such host runs. */
struct host *pl_world_find(const struct pl_world *world, const char *name);
/* The hooks of the first host that has some, since any of them may answer; NULL: no host has. arg:
 * the world. */
struct pl_hooks *pl_world_find_hooks(void *arg);
/* Destroys the host; its requests end. */
void pl_world_take_down(struct pl_world *world, struct host *host);
/* Does the same for each host that a disturbance has killed. */
void pl_world_take_down_crashed(struct pl_world *world);
/* Counts a run of a host. arg: the world. */
void pl_world_ran(void *arg, struct pl_replica *replica, const struct pl_ran *ran);
/* Returns the error when a script has computed for too long; 0: none has. */
int pl_world_exhausted(struct pl_world *world, struct pl_err *err);
/* Restarts counting. */
void pl_world_forget_runs(struct pl_world *world);
