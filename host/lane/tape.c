/* Registers functions of the host so that a tape gets their calls. Without a tape they are
 * registered unchanged, so that their calls cost nothing more. */
#include "lane/tape.h"

#include "lane/co.h"

bool pl_tape_runs(const struct pl_state *s)
{
    return s->phase == PL_PHASE_LOAD || s->phase == PL_PHASE_MAP ||
           (s->phase == PL_PHASE_RUN && s->task != NULL);
}

/* Upvalues: the state (the first one, as in every function of the host), the function, its name. */
static int call_on_tape(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    lua_CFunction function = lua_tocfunction(L, lua_upvalueindex(2));
    if (!pl_tape_runs(s))
        return function(L);
    struct pl_tape *tape = s->lane->tape;
    return tape->ops->call(tape, L, lua_tostring(L, lua_upvalueindex(3)), function);
}

void pl_tape_register(lua_State *L, struct pl_state *s, const luaL_Reg *functions)
{
    if (s->lane == NULL || s->lane->tape == NULL) {
        pl_state_register(L, s, functions);
        return;
    }
    for (; functions->name != NULL; functions++) {
        lua_pushlightuserdata(L, s);
        lua_pushcfunction(L, functions->func);
        lua_pushstring(L, functions->name);
        lua_pushcclosure(L, call_on_tape, 3);
        lua_setfield(L, -2, functions->name);
    }
}
