/* Declarations of scripts while they load: controllers and indexes as the core's specs, and their
 * functions, which stay in the Lua state. The lane's thread. */
#pragma once

#include "control/controller.h"
#include "lane/lanes.h"
#include "lua/state.h"

/* A handle of a script's functions, which the core returns in questions. It is the same on all
 * lanes: an index in the order of declaration. */
struct pl_external {
    struct pl_lanes *lanes;
    int controller; /* -1: the indexes of a kind */
    int source;
};

/* Names of units in the origin: PL_UNIT_CONTROLLER name, PL_UNIT_INDEX kind " " name. */
#define PL_UNIT_CONTROLLER "controller "
#define PL_UNIT_INDEX      "index "

struct pl_declared {
    struct pl_declarations content;
    bool sealed;   /* loading is over */
    char **places; /* owned: "file:line" of each controller, once sealed */
    size_t place_count;
};

void pl_declare_open(struct pl_state *s);
/* No more declarations are accepted. */
void pl_declare_seal(struct pl_state *s);
void pl_declare_close(struct pl_state *s);

/* ---- for scripts: host.controller, host.index ---- */
int pl_declare_controller(lua_State *L);
int pl_declare_index(lua_State *L);
int pl_declare_cluster(lua_State *L);

/* ---- functions of declarations; each pushes a function, or nil ---- */
void pl_declare_push_reconcile(lua_State *L, struct pl_state *s, int controller);
void pl_declare_push_map(lua_State *L, struct pl_state *s, int controller, int source);
void pl_declare_push_leaf(lua_State *L, struct pl_state *s, int controller, int source, int leaf);
/* The script's own function of a map, or with source -1 of the reconcile; its first line is used in
 * messages that have no other line. */
void pl_declare_push_blamed(lua_State *L, struct pl_state *s, int controller, int source);
/* The table name -> function of a kind's indexes. */
void pl_declare_push_indexes(lua_State *L, struct pl_state *s, const char *kind);
/* "file:line" of the declaration; "?" if there is no such controller. Lives as long as the state.
 */
const char *pl_declare_where(struct pl_state *s, int controller);
