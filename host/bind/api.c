/* The parts of the host that only some of Perilune's own Lua modules may have: functions that wait,
 * and functions that read caches. Both are created anew for each module that gets them, so that no
 * script finds them. */
#include "bind/bind.h"

#include "bind/list.h"
#include "lane/tape.h"
#include "lua/state.h"

void pl_bind_push_waits(lua_State *L, struct pl_state *s)
{
    lua_newtable(L);
    pl_tape_register(L, s, pl_bind_writes);
    pl_tape_register(L, s, pl_bind_tasks);
    pl_state_register(L, s, pl_bind_says);
}

void pl_bind_push_reads(lua_State *L, struct pl_state *s)
{
    lua_newtable(L);
    pl_tape_register(L, s, pl_bind_reads);
}
