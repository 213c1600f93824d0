/* Perilune's own Lua modules. The binary holds each twice: as text, and as LuaJIT bytecode made by
 * the build (lua/embed.c). Compiling them would be most of the time for loading a script. */
#pragma once

#include "lua/state.h"

#include <string.h>

struct pl_embedded {
    char name[48];                         /* "perilune.client" */
    size_t text, text_len, code, code_len; /* places in pl_embedded_bytes */
};
extern const char pl_embedded_bytes[];
extern const struct pl_embedded pl_embedded[];
extern const size_t pl_embedded_count;
/* The bytecode of PL_OWN_SAMPLE. */
extern const struct pl_slice pl_embedded_sample;

/* A small program that uses every kind of instruction. It has no constant tables with names: their
 * order differs from one process to the next. */
#define PL_OWN_SAMPLE                                                                              \
    "local a, b, c = ...\n"                                                                        \
    "local function f(x, ...) local n = select('#', ...) + 1; return x and n or #x, ... end\n"     \
    "local t = { 1, 'two', 3.5, nil, true, f }\n"                                                  \
    "for i = 1, 10, 2 do t[i] = (i * 2 - 1) / 3 % 5 ^ 2 .. a .. 'x' end\n"                         \
    "for k, v in pairs(t) do if k == 'n' or v ~= 7 then t.k = -v elseif not v then break end "     \
    "end\n"                                                                                        \
    "for k in next, t do b[k] = k < 1 and k >= -300 or k > 70000 end\n"                            \
    "while a do a = b:method(c, 1)(f(a, ...)) end\n"                                               \
    "repeat local up = a; c = function(y) up = y; a = up; return f(up, y) end until a == nil\n"    \
    "goto done\n"                                                                                  \
    "do return c(...), { ... }, t[1], t[b], global end\n"                                          \
    "::done:: global = f; return f(a)\n"

/* "perilune.client" is client.lua and the chunk "=perilune:client"; "perilune" is init.lua. The
 * result is part of the name, or a literal. */
static inline const char *pl_own_file(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot != NULL ? dot + 1 : "init";
}

static inline struct pl_slice pl_own_text(const struct pl_embedded *own)
{
    return pl_slice(pl_embedded_bytes + own->text, own->text_len);
}

static inline struct pl_slice pl_own_code(const struct pl_embedded *own)
{
    return pl_slice(pl_embedded_bytes + own->code, own->code_len);
}

/* Pushes the chunk, or a message. Returns as lua_load. */
static inline int pl_own_load_sample(lua_State *L)
{
    return luaL_loadbufferx(L, PL_OWN_SAMPLE, sizeof PL_OWN_SAMPLE - 1, "=sample", "t");
}

/* True when the running LuaJIT compiles like the one of the build. The library may have been
 * replaced. */
bool pl_own_is_native(lua_State *L, struct pl_slice sample);
/* The module with this name, which is part of the program; NULL: there is none. */
const struct pl_embedded *pl_own_find(const char *name);
/* Loads the module's bytecode, or its text if the bytecode is another LuaJIT's. Returns as
 * lua_load. */
int pl_own_load(lua_State *L, struct pl_state *s, const struct pl_embedded *own, const char *chunk);
