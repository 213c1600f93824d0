/* Requests and runs that a world keeps for its specification until they are read. */
#pragma once

#include "control/controller.h"
#include "world/wire.h"

struct lua_State;
struct pl_seen;
struct pl_run_seen;

struct pl_recorded {
    struct pl_seen *seen; /* owned */
    size_t seen_count, seen_cap;
    struct pl_run_seen *runs; /* owned */
    size_t run_count, run_cap;
};

/* at_ns: wall. At most 100,000 of each are kept; later ones are dropped. */
void pl_recorded_add_seen(struct pl_recorded *recorded, const struct pl_wire_seen *seen,
                          int64_t at_ns);
void pl_recorded_add_run(struct pl_recorded *recorded, const char *host, const struct pl_ran *ran,
                         int64_t at_ns);
/* Pushes an array of the records, and drops them. */
void pl_recorded_push_seen(struct pl_recorded *recorded, struct lua_State *L);
void pl_recorded_push_runs(struct pl_recorded *recorded, struct lua_State *L);
void pl_recorded_deinit(struct pl_recorded *recorded);
