/* Shared by the files of the binding: a world as the userdata of a spec. */
#pragma once

#include "world/binding.h"
#include "world/choose.h"
#include "world/line_coverage.h"
#include "world/recorded.h"
#include "world/world.h"

#include <lua.h>

/* Lua callbacks, by their references in the registry. */
enum callback { ON_HTTP, ON_EXEC, ON_STORED, CALLBACKS };

struct bound_world {
    struct pl_world *world;  /* NULL: closed */
    struct pl_choose choose; /* zeros: undisturbed */
    lua_State *L;            /* the caller's state; set by each call */
    int callbacks[CALLBACKS];
    int calling;   /* number of callbacks that run: the world waits for them */
    char *failure; /* owned: the first error that a callback raised; NULL: none */
    struct pl_recorded recorded;
    struct pl_line_coverage lines;
    char *last_start; /* owned: the options of the host that was started last; NULL: none */
};

/* The world at index 1, open; borrowed from the value at that index. Raises an error of Lua
 * otherwise. */
struct bound_world *pl_binding_check(lua_State *L);
/* The same, for calls that move the world, or start or end hosts: while a callback runs, the host
 * that asked is still on the stack, so they are refused. */
struct bound_world *pl_binding_check_idle(lua_State *L);
/* The number of seconds at this index, at least 0. */
int64_t pl_binding_nanoseconds(lua_State *L, int index);
/* Adds the functions of binding_disturb.c to the table at the top. */
void pl_binding_add_disturbing(lua_State *L);

/* ---- binding_callback.c ---- */

/* Time that the world needs does not count as time that the specification computes. */
void pl_binding_renew(lua_State *L);
/* Sets a member of the table at the top. */
void pl_binding_set_text(lua_State *L, const char *name, const char *text);
/* Calls the function below its arguments. False: it has raised an error, which is kept in
 * bound->failure if it is the first, and nothing is on the stack. */
bool pl_binding_call(struct bound_world *bound, int arguments, int results);
/* Makes the world tell `bound` what happens, and ask it. */
void pl_binding_listen(struct bound_world *bound, struct pl_world_options *options);
