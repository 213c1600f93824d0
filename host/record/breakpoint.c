/* Everything happens inside the hook at that line, on the stack of the script: its frame is alive,
 * and nothing else runs. An expression gets its own environment with copies of the locals and
 * upvalues; behind it are the script's globals. */
#include "record/breakpoint_impl.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "lane/co.h"
#include "lane/lane.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "type an expression to see it, \"locals\" for all locals, \"continue\" or \"quit\"";

static void breakpoint_at(void *arg, lua_State *L, const char *path, int line);

void pl_breakpoint_init(struct pl_breakpoint *breakpoint,
                        const struct pl_breakpoint_options *options)
{
    *breakpoint = (struct pl_breakpoint){.watch = {breakpoint_at, breakpoint}, .o = options};
}

static void breakpoint_say(const struct pl_breakpoint *breakpoint, const char *text)
{
    breakpoint->o->say(breakpoint->o->arg, text);
}

/* ---- the environment ---- */

/* -- table; sets each local of the frame. Of equal names the innermost is set last. */
static void add_locals(lua_State *L, lua_Debug *ar)
{
    const char *name;
    for (int i = 1; (name = lua_getlocal(L, ar, i)) != NULL; i++) {
        if (name[0] == '(')
            lua_pop(L, 1);
        else
            lua_setfield(L, -2, name);
    }
}

/* -- table; sets each upvalue of the frame's function. */
static void add_captured(lua_State *L, lua_Debug *ar)
{
    const char *name;
    lua_getinfo(L, "f", ar); /* -- table, function */
    for (int i = 1; (name = lua_getupvalue(L, -1, i)) != NULL; i++)
        lua_setfield(L, -3, name);
    lua_pop(L, 1);
}

/* Pushes the environment of expressions. */
static void push_scope(lua_State *L, lua_Debug *ar)
{
    lua_newtable(L);
    add_captured(L, ar);
    add_locals(L, ar);
    lua_newtable(L);
    lua_getinfo(L, "f", ar);
    lua_getfenv(L, -1);
    lua_remove(L, -2);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

static void say_locals(const struct pl_breakpoint *breakpoint, lua_State *L, lua_Debug *ar)
{
    struct pl_buf text = PL_BUF_INIT;
    const char *name;
    for (int i = 1; (name = lua_getlocal(L, ar, i)) != NULL; i++) {
        const char *value = lua_type(L, -1) == LUA_TSTRING || lua_type(L, -1) == LUA_TNUMBER
                                ? lua_tostring(L, -1)
                                : luaL_typename(L, -1);
        if (name[0] != '(')
            pl_buf_add_f(&text, "%s%s = %.200s", text.len > 0 ? "\n" : "", name, value);
        lua_pop(L, 1);
    }
    breakpoint_say(breakpoint, text.len > 0 ? pl_buf_z(&text) : "there are no locals here");
    pl_buf_deinit(&text);
}

/* ---- evaluating ---- */

/* Pushes the compiled text. False: pushes the error message. */
static bool desk_compile(lua_State *L, const char *typed)
{
    char *expression = pl_format("return %s", typed);
    int failed = luaL_loadbufferx(L, expression, strlen(expression), "=typed", "t");
    pl_free(expression);
    if (failed != 0) {
        lua_pop(L, 1);
        failed = luaL_loadbufferx(L, typed, strlen(typed), "=typed", "t");
    }
    return failed == 0;
}

/* -- value; pops it. Tables as YAML. */
static void say_value(const struct pl_breakpoint *breakpoint, lua_State *L)
{
    lua_getglobal(L, "require");
    lua_pushliteral(L, "perilune.show");
    if (lua_pcall(L, 1, 1, 0) == 0) {
        lua_pushvalue(L, -2);
        lua_pcall(L, 1, 1, 0);
    }
    const char *text = lua_tostring(L, -1);
    breakpoint_say(breakpoint, text != NULL ? text : luaL_typename(L, -2));
    lua_pop(L, 2);
}

static void breakpoint_evaluate(struct pl_breakpoint *breakpoint, lua_State *L, lua_Debug *ar,
                                const char *typed)
{
    int top = lua_gettop(L);
    if (desk_compile(L, typed)) {
        push_scope(L, ar);
        lua_setfenv(L, -2);
        int failed = lua_pcall(L, 0, LUA_MULTRET, 0);
        int count = failed ? 0 : lua_gettop(L) - top;
        for (int i = 1; i <= count; i++) {
            lua_pushvalue(L, top + i);
            say_value(breakpoint, L);
        }
        if (failed)
            breakpoint_say(breakpoint,
                           lua_tostring(L, -1) != NULL ? lua_tostring(L, -1) : "an error");
    } else {
        breakpoint_say(breakpoint, lua_tostring(L, -1));
    }
    lua_settop(L, top);
}

/* ---- the stop ---- */

static bool is_here(const struct pl_breakpoint *breakpoint, const char *path, int line)
{
    const char *file = breakpoint->o->file;
    if (line != breakpoint->o->line)
        return false;
    if (file == NULL)
        return true;
    size_t len = strlen(path), tail = strlen(file);
    return len >= tail && strcmp(path + len - tail, file) == 0 &&
           (len == tail || path[len - tail - 1] == '/');
}

/* exec: NULL in a function that is called for events. */
static void say_place(const struct pl_breakpoint *breakpoint, const struct pl_exec *exec,
                      const char *path, int line)
{
    const char *name =
        exec != NULL ? breakpoint->lanes->controllers[exec->controller].name : "a function for";
    char *text = pl_format("stopped at %s:%d, %s %s; %s", path, line, name,
                           exec != NULL ? exec->key : "events", help);
    breakpoint_say(breakpoint, text);
    pl_free(text);
}

/* Whether the code that runs is part of a run, or a predicate, map or index function, where it must
 * stop. */
static bool stops_here(const struct pl_breakpoint *breakpoint, const struct pl_state *s)
{
    const struct pl_exec *exec = s->task != NULL ? s->task->exec : NULL;
    if (exec == NULL && s->phase != PL_PHASE_MAP)
        return false;
    return breakpoint->is_wanted == NULL || breakpoint->is_wanted(breakpoint->arg, exec);
}

static void breakpoint_at(void *arg, lua_State *L, const char *path, int line)
{
    struct pl_breakpoint *breakpoint = arg;
    const struct pl_state *s = breakpoint->lanes != NULL ? breakpoint->lanes->lanes[0]->s : NULL;
    lua_Debug ar;
    char *typed;
    if (breakpoint->open || breakpoint->quit || !is_here(breakpoint, path, line) || s == NULL ||
        !stops_here(breakpoint, s) || !lua_getstack(L, 0, &ar) || !lua_checkstack(L, 40))
        return;
    breakpoint->stops++;
    say_place(breakpoint, s->task != NULL ? s->task->exec : NULL, path, line);
    breakpoint->open = true;
    while ((typed = breakpoint->o->ask(breakpoint->o->arg)) != NULL) {
        bool on = strcmp(typed, "continue") == 0 || strcmp(typed, "c") == 0;
        breakpoint->quit = strcmp(typed, "quit") == 0 || strcmp(typed, "q") == 0;
        if (strcmp(typed, "locals") == 0)
            say_locals(breakpoint, L, &ar);
        else if (!on && !breakpoint->quit && typed[0] != '\0')
            breakpoint_evaluate(breakpoint, L, &ar, typed);
        pl_free(typed);
        if (on || breakpoint->quit)
            break;
    }
    breakpoint->open = false;
}

const struct pl_line_watch *pl_breakpoint_watch(const struct pl_breakpoint *breakpoint)
{
    return breakpoint->o->line > 0 ? &breakpoint->watch : NULL;
}

int pl_breakpoint_parse(const char *text, char **file, int *line, struct pl_err *err)
{
    const char *colon = strrchr(text, ':'), *digits = colon != NULL ? colon + 1 : text;
    char *end;
    long number = strtol(digits, &end, 10);
    *file = NULL;
    if (!pl_is_digit(*digits) || *end != '\0' || number < 1 || number > 10000000 || colon == text)
        return pl_err_set(err, PL_EINVAL,
                          "--break takes LINE or FILE:LINE, such as main.lua:44, "
                          "not \"%s\"",
                          text);
    if (colon != NULL)
        *file = pl_memdup0(text, (size_t)(colon - text));
    *line = (int)number;
    return 0;
}
