/* One Lua state and the data that C keeps about it. Used by the state's own thread. Functions that
 * scripts can reach have it as their first upvalue. */
#pragma once

#include "lua/limit.h"
#include "base/secrets.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/slice.h"

#include <lauxlib.h>
#include <string.h>
#include <lua.h>
#include <luajit.h>
#include <lualib.h>

#if LUA_VERSION_NUM != 501 || !defined(LUAJIT_VERSION_NUM)
#error "lua.h is not LuaJIT's"
#endif

#define PL_TCDATA 10 /* lua_type of a cdata; LuaJIT's headers do not name it */

struct pl_lane;
struct pl_declared;
struct pl_doc;
struct pl_co;
struct pl_metrics;
struct pl_origin;
struct pl_state;

enum pl_phase {
    PL_PHASE_LOAD, /* a main chunk: may declare, may not wait */
    PL_PHASE_RUN,  /* a reconcile: may wait */
    PL_PHASE_MAP,  /* a predicate, map or index function: may read the cache, may not wait */
};

/* References in the registry. */
struct pl_refs {
    int lazy_meta;   /* metatable of unfilled tables */
    int array_meta;  /* metatable that marks arrays */
    int number_meta; /* metatable of perilune.number */
    int error_meta;  /* metatable of error tables, filled by lua/perilune */
    int box_meta;    /* metatable of document boxes */
    int shelf_meta;  /* metatable of shelves */
    int shelf;       /* the shelf for the next document, or false */
    int batch_meta;  /* metatable of the results of a list */
    int kinds;       /* weak: text -> struct pl_kind */
    int bases;       /* weak: object -> box of the document it was read from */
    int secrets;     /* weak: tables with values of a Secret */
    int ffi;         /* kept alive: without it LuaJIT's int64 constructor crashes */
    int new_int64;   /* () -> a fresh int64_t */
    int cdata_class; /* (cdata) -> 1 int64, 2 uint64, nil */
    int loaded;      /* modules by their path */
    int host;        /* perilune.host */
    int own_globals; /* globals for Perilune's own Lua, independent of changes by scripts */
    int own_chunks;  /* weak: main chunks of Perilune's own Lua; only these get perilune.host */
    int run_threads; /* weak: coroutines of runs, which scripts must not resume */
    int traced;      /* weak: error values of script coroutines -> traceback text */
    int traceback;   /* message handler of protected calls */
    int getinfo;     /* debug.getinfo, which scripts do not have */
    int blocking;    /* C functions that call back -> their names */
    int declared;    /* functions of controllers and indexes, see declare.c */
    int blamed;      /* the script's function that is being asked, in PL_PHASE_MAP */
    int unread_meta; /* metatable of unread contexts */
    /* Of the prelude: makes the arguments of reconciles. */
    int new_arguments;
};

/* Functions that higher layers give a state, since this layer knows neither lanes nor the API of
 * scripts. Each is called on the state's thread; a state without hooks has no perilune.host. */
struct pl_state_hooks {
    void (*open)(struct pl_state *s);  /* when the state is created, before the next function */
    void (*close)(struct pl_state *s); /* when it ends */
    void (*push_host)(lua_State *L, struct pl_state *s); /* pushes perilune.host */
    /* Runs the part of the sandbox that is written in Lua; takes cjson from the top of the stack.
     */
    void (*prepare)(lua_State *L, struct pl_state *s);
    /* Fills an unread context of a run, at this absolute index. */
    void (*fill)(lua_State *L, struct pl_state *s, int index);
    /* Pushes the script's function with which the running task began; false: pushes nothing. */
    bool (*push_blamed)(lua_State *L, struct pl_state *s);
    void (*told_read)(struct pl_state *s); /* a script has read a file that is new to the origin */
};

struct pl_state {
    const struct pl_state_hooks *hooks; /* borrowed for life; never NULL, see sandbox.c */
    lua_State *L;                       /* owned when `own`: the main thread */
    bool own;
    bool eager;     /* fill every table at once: pairs is not wrapped here (spec module) */
    bool unsafe;    /* --unsafe-stdlib */
    bool trusted;   /* no script is loaded into it */
    bool own_code;  /* see pl_own_load */
    bool in_dialog; /* the code talks with `perilune repl` */
    enum pl_phase phase;
    struct pl_lane *lane; /* back-pointer; NULL: without a cluster */
    struct pl_co *task;   /* the running task; NULL outside of runs */
    int asking;           /* outside of runs: controller whose event is being evaluated; -1 */
    struct pl_refs refs;
    /* Addresses of metatables. */
    const void *lazy_meta, *array_meta, *number_meta, *box_meta, *shelf_meta, *unread_meta;
    const void *shelf_read; /* the last userdata that proved to be a shelf; NULL: none that lives */
    struct pl_limits limits;
    size_t memory_limit;
    struct pl_secrets secrets;    /* values of Secrets that runs have read */
    size_t pinned;                /* bytes of documents in boxes */
    size_t pins;                  /* bytes added since the last pl_state_pay */
    size_t pins_kept;             /* of `pinned`: the rest after the last collection */
    struct pl_map sources;        /* "path" -> struct pl_source_text: loaded files */
    struct pl_map roots;          /* folders of scripts -> non-NULL */
    struct pl_origin *origin;     /* counted: scripts read through it; NULL: directly */
    const char *script;           /* being loaded or last run, for messages; borrowed */
    struct pl_declared *declared; /* owned; declarations of this state's scripts */
    const char *version;          /* borrowed */
    struct pl_metrics *metrics;   /* borrowed; NULL: none, declaring one raises */
    uint64_t generation;
    struct pl_doc *config;        /* counted; NULL: {} */
    const struct pl_clock *clock; /* borrowed for life; NULL: the system's */
    bool seeded;                  /* seeded random numbers for scripts: */
    struct pl_rand rand;
};

static inline const struct pl_clock *pl_state_clock(const struct pl_state *s)
{
    return s->clock != NULL ? s->clock : pl_clock_system();
}

/* The state whose function runs; see above. */
static inline struct pl_state *pl_state_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

static inline void pl_ref_push(lua_State *L, int ref)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, ref);
}

/* Borrowed while the value is on the stack. */
static inline struct pl_slice pl_lua_slice(lua_State *L, int index)
{
    size_t len = 0;
    const char *text = lua_tolstring(L, index, &len);
    return pl_slice(text, len);
}

static inline void pl_lua_push(lua_State *L, struct pl_slice text)
{
    lua_pushlstring(L, text.ptr ? text.ptr : "", text.len);
}

/* A text or number argument; else it raises. Borrowed from the stack. */
static inline struct pl_slice pl_lua_check_text(lua_State *L, int index)
{
    luaL_checkstring(L, index);
    return pl_lua_slice(L, index);
}

/* Pushes what is in the buffer, and empties it. Returns 1. */
static inline int pl_lua_push_buf(lua_State *L, struct pl_buf *buf)
{
    pl_lua_push(L, pl_buf_slice(buf));
    pl_buf_deinit(buf);
    return 1;
}

/* nil and the message. Returns 2. */
static inline int pl_lua_fail(lua_State *L, const struct pl_err *err)
{
    lua_pushnil(L);
    lua_pushstring(L, err->message);
    return 2;
}

/* Sets field = text in the table at the top; does nothing without a text. */
static inline void pl_lua_set(lua_State *L, const char *field, struct pl_slice text)
{
    if (text.len == 0)
        return;
    pl_lua_push(L, text);
    lua_setfield(L, -2, field);
}

/* Sets name = function, with the state as upvalue, in the table at the top. */
void pl_state_set(lua_State *L, struct pl_state *s, const char *name, lua_CFunction function);
void pl_state_register(lua_State *L, struct pl_state *s, const luaL_Reg *functions);
/* Scripts see false instead of the metatable at the top. */
static inline void pl_meta_hide(lua_State *L)
{
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
}
/* A reference to a new table that does not keep its keys ("k") or values ("v") alive. */
int pl_weak_ref(lua_State *L, const char *mode);
/* Prefix of chunk names of Perilune's own Lua; their frames are not shown. */
#define PL_OWN_CHUNK "=perilune:"
static inline bool pl_is_own_chunk(const char *source)
{
    return strncmp(source, PL_OWN_CHUNK, strlen(PL_OWN_CHUNK)) == 0;
}
