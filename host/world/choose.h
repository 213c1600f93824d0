/* A Lua function as the chooser of a world: f(point) -> nil, or {act =, ...}. The point has the
 * fields of struct pl_point (kind as "request", "applied"...) but its body, see
 * pl_choose_push_body; `act` is "crash", "refuse" (status, reason), "lose", "later" (delay in
 * seconds), "cut", "pick" (pick), "stale" (version). It runs on the thread of the world and the
 * state. */
#pragma once

#include "base/map.h"
#include "world/point.h"

#include <lua.h>

struct pl_choose {
    struct pl_chooser chooser; /* for the world's options */
    lua_State *L;              /* NULL: there is none; the other fields are private */
    int ref, problem;
    bool failed;
    char text[128];
    const struct pl_point *point; /* while the function runs */
    struct pl_map held;           /* resources */
    bool attentive;               /* the function is called at ANSWERED and WAIT, too */
};

/* The function at index. */
void pl_choose_init(struct pl_choose *choose, lua_State *L, int index);
/* Events of watches of "apps/v1/deployments" wait from now on, or not any more. */
void pl_choose_hold(struct pl_choose *choose, const char *resource, bool held);
/* From now on the function is called at ANSWERED and WAIT, or not any more, as at the beginning:
 * there only what began before can go on. */
void pl_choose_attend(struct pl_choose *choose, bool attentive);
/* Pushes the body of the point that the function was called at; nil: it does not run. Few points
 * need it, and it is long. */
void pl_choose_push_body(const struct pl_choose *choose, lua_State *L);
/* Also for a zeroed struct. */
void pl_choose_deinit(struct pl_choose *choose);
/* Raises the error that the function has raised since the last call, if any. */
void pl_choose_raise(struct pl_choose *choose, lua_State *L);
