/* A Lua function as the chooser of a world: f(point, once) -> nil, or {act =, ...}. Together they
 * have the fields of struct pl_point except its body, for which there is pl_choose_push_body.
 * point: what is the same each time when it comes again, kind as "request", "applied"...; such
 * points may share the table, so nobody may change it. once: run_id, version, message (nil: none),
 * status, call_id. `act` is "crash", "refuse" (status, reason), "lose", "later" (delay in seconds),
 * "cut", "pick" (pick), "stale" (version). It runs on the thread of the world and the state. */
#pragma once

#include "base/map.h"
#include "world/point.h"

#include <lua.h>

struct pl_choose {
    struct pl_chooser chooser; /* for the world's options */
    lua_State *L;              /* NULL: there is no function; the other fields are private */
    int ref, problem;
    bool failed;
    char text[128];
    const struct pl_point *point; /* while the function runs */
    struct pl_map held;           /* resources */
    bool attentive;               /* the function is called at all points */
};

/* The function at index. */
void pl_choose_init(struct pl_choose *choose, lua_State *L, int index);
/* Events of watches of "apps/v1/deployments" wait from now on, or not any more. */
void pl_choose_hold(struct pl_choose *choose, const char *resource, bool held);
/* Whether the function is called at all points. At first it is not: no disturbance begins at
 * ANSWERED and WAIT, at bookmarks, and at answers to the host itself; one that has begun before can
 * only continue there. */
void pl_choose_attend(struct pl_choose *choose, bool attentive);
/* While the function runs: pushes the body of its point; nil: the function does not run. The body
 * is no field of the point, because it is long and few points need it. */
void pl_choose_push_body(const struct pl_choose *choose, lua_State *L);
/* Also for a zeroed struct. */
void pl_choose_deinit(struct pl_choose *choose);
/* Raises the error that the function has raised since the last call, if any. */
void pl_choose_raise(struct pl_choose *choose, lua_State *L);
