/* Runs a tool: one of Perilune's own Lua modules in a separate state.
 *
 * No script is ever loaded into that state, so it has io, os and the compiler. Input of a tool
 * (schemas, manifests, answers of servers) is data and never code. An error in the input is
 * reported by tool.fail with its place; any other error of the module is shown with its traceback,
 * as it is a bug of Perilune. */
#include "tool/tool.h"

#include "bind/bind.h"
#include "lua/sandbox.h"
#include "tool/files.h"

#include <stdio.h>

#define MEMORY ((size_t)2 << 30)

/* tool.ask(what, question as JSON) -> answer as JSON | nil, message */
static int tool_ask(lua_State *L)
{
    const struct pl_tool *tool = lua_touserdata(L, lua_upvalueindex(1));
    struct pl_buf answer = PL_BUF_INIT;
    struct pl_err err;
    pl_err_clear(&err);
    const char *what = luaL_checkstring(L, 1);
    struct pl_slice question = pl_lua_slice(L, 2);
    int rc = tool->ask != NULL
                 ? tool->ask(tool->arg, what, question, &answer, &err)
                 : pl_err_set(&err, PL_EINVAL, "this command has no answer to \"%s\"", what);
    if (rc != 0) {
        pl_buf_deinit(&answer);
        lua_pushnil(L);
        lua_pushstring(L, err.message);
        return 2;
    }
    pl_lua_push(L, pl_buf_slice(&answer));
    pl_buf_deinit(&answer);
    return 1;
}

/* Pushes require("perilune.tool.main"), and its arguments. */
static void push_call(lua_State *L, const struct pl_tool *tool)
{
    lua_newtable(L);
    pl_tool_files(L);
    lua_pushlightuserdata(L, (void *)tool);
    lua_pushcclosure(L, tool_ask, 1);
    lua_setfield(L, -2, "ask");
    lua_pushstring(L, tool->command);
    lua_setfield(L, -2, "command");
    lua_pushstring(L, tool->version);
    lua_setfield(L, -2, "version");
    lua_pushstring(L, tool->module);
    pl_lua_push(L, tool->input);
}

static int tool_run(struct pl_state *s, const struct pl_tool *tool, struct pl_fault *fault)
{
    lua_State *L = s->L;
    lua_getglobal(L, "require");
    lua_pushliteral(L, "perilune.tool.main");
    if (pl_state_call(s, PL_PHASE_LOAD, 0, 1, 1, fault) != 0)
        return 1;
    push_call(L, tool);
    if (pl_state_call(s, PL_PHASE_LOAD, 0, 3, 1, fault) != 0)
        return 1;
    int exit_code = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return exit_code;
}

int pl_tool_run(const struct pl_tool *tool)
{
    struct pl_err err;
    pl_err_clear(&err);
    const struct pl_sandbox_options options = {.hooks = &pl_bind_state_hooks,
                                               .memory = MEMORY,
                                               .jit = true,
                                               .unsafe = true,
                                               .trusted = true,
                                               .version = tool->version};
    struct pl_state *s = pl_state_create(&options, &err);
    if (s == NULL) {
        fprintf(stderr, "perilune %s: %s\n", tool->command, err.message);
        return 1;
    }
    struct pl_fault fault = {.message = NULL};
    int exit_code = tool_run(s, tool, &fault);
    if (fault.message != NULL)
        fprintf(stderr, "perilune %s: %s\n%s%s", tool->command, fault.message,
                fault.traceback != NULL ? fault.traceback : "",
                fault.traceback != NULL ? "\n" : "");
    pl_fault_deinit(&fault);
    pl_state_destroy(s);
    return exit_code;
}
