/* Shared by the files of the binding: a world as the userdata of a spec. */
#pragma once

#include "world/binding.h"
#include "world/choose.h"
#include "world/line_coverage.h"
#include "world/recorded.h"
#include "world/world.h"

#include <lua.h>

/* Lua callbacks, by their references in the registry. */
enum callback { ON_HTTP, ON_STORED, CALLBACKS };

struct bound {
    struct pl_world *world;  /* NULL: closed */
    struct pl_choose choose; /* zeros: undisturbed */
    lua_State *L;            /* the caller's state; set by each call */
    int callbacks[CALLBACKS];
    char *failure; /* owned: the first error that a callback raised; NULL: none */
    struct pl_recorded recorded;
    struct pl_line_coverage lines;
};

/* The world at index 1, open; raises an error of Lua otherwise. */
struct bound *pl_binding_check(lua_State *L);
/* The number of seconds at this index, at least 0. */
int64_t pl_binding_nanoseconds(lua_State *L, int index);
/* Adds the functions of binding_disturb.c to the table at the top. */
void pl_binding_add_disturbing(lua_State *L);
