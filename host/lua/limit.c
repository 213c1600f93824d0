/* The limits of every entry into Lua. CPU time is watched by a thread (watchdog.c) that signals the
 * lane's thread, whose hook then suspends the script for good. Memory is counted in the allocator.
 * A stopped script is never resumed, so none of its pcalls can continue. */
#include "lua/limit.h"

#include "base/base.h"
#include "base/check.h"
#include "base/log.h"
#include "lua/lerr.h"

#include <lauxlib.h>
#include <unistd.h>

#define HARD_FACTOR 4
#define BIG_BLOCK   ((size_t)1 << 20) /* only strings, buffers and tables are this big */

static void on_hook(lua_State *L, lua_Debug *ar);
static void on_line(lua_State *L, lua_Debug *ar);

/* A signal that comes while the hook is being changed must not change it too. */
static void set_hook(struct pl_limits *limits, bool armed)
{
    sig_atomic_t before = limits->armable;
    limits->armable = 0;
    limits->armed = armed;
    if (!armed && limits->lines != NULL)
        lua_sethook(limits->L, on_line, LUA_MASKLINE, 0);
    else
        lua_sethook(limits->L, armed ? on_hook : NULL, armed ? LUA_MASKCOUNT : 0, armed ? 1 : 0);
    limits->armable = before;
}

PL_COLD static void end_process(struct pl_limits *limits, size_t wanted)
{
    pl_log(PL_LOG_ERROR, "a script needs more than four times its memory limit; giving up",
           pl_str("script", limits->who ? limits->who(limits->who_arg) : "?"),
           pl_int("limit_bytes", (int64_t)limits->soft), pl_int("wanted_bytes", (int64_t)wanted));
    /* LuaJIT crashes when an allocation fails in the wrong place. Exiting in order is better, and
     * nothing can be unwound from here. */
    _exit(1);
}

/* Whether LuaJIT survives if this allocation fails. */
static bool can_refuse(const struct pl_limits *limits, size_t more)
{
    return more >= BIG_BLOCK && limits->armable && !limits->compiles;
}

/* The innermost frame of the script, not of host functions that it called. */
static bool find_script(lua_State *L, lua_Debug *ar)
{
    for (int level = 0; lua_getstack(L, level, ar); level++) {
        lua_getinfo(L, "Sl", ar);
        if (ar->currentline > 0 && !pl_is_own_chunk(ar->source))
            return true;
    }
    return false;
}

static void note_where(struct pl_limits *limits, lua_State *L)
{
    lua_Debug ar;
    if (limits->where[0] == '\0' && L != NULL && find_script(L, &ar))
        snprintf(limits->where, sizeof limits->where, "%.*s:%d", PL_LIMIT_WHERE - 16,
                 pl_lerr_chunk(&ar), ar.currentline);
}

/* LuaJIT only says "not enough memory": the code that describes the error adds what is noted here.
 */
static void *limit_refuse(struct pl_limits *limits)
{
    limits->excess = PL_EXCESS_MEMORY;
    note_where(limits, limits->running);
    set_hook(limits, true);
    return NULL;
}

#if defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *address);
void __tsan_release(void *address);
static char pages; /* handed over by threads that close a state; only its address is used */

void pl_limits_closed(void)
{
    __tsan_release(&pages);
}

void pl_limits_opened(void)
{
    __tsan_acquire(&pages);
}
#else
void pl_limits_closed(void)
{
}

void pl_limits_opened(void)
{
}
#endif

static void note_used(struct pl_limits *limits, size_t used)
{
    atomic_store_explicit(&limits->used, used, memory_order_relaxed);
}

static __attribute__((noinline)) void *alloc_slowly(struct pl_limits *limits, void *ptr,
                                                    size_t old_size, size_t new_size)
{
    size_t used = pl_limits_used(limits) - old_size + new_size;
    if (new_size > old_size && used > limits->hard) {
        if (can_refuse(limits, new_size - old_size))
            return limit_refuse(limits);
        end_process(limits, used);
    }
    void *fresh = limits->alloc(limits->alloc_data, ptr, old_size, new_size);
    pl_limits_opened();
    if (fresh == NULL && new_size != 0)
        end_process(limits, used);
    note_used(limits, used);
    if (used > limits->soft && new_size > old_size && limits->armable && !limits->armed)
        set_hook(limits, true);
    return fresh;
}

static void *limited_alloc(void *data, void *ptr, size_t old_size, size_t new_size)
{
    struct pl_limits *limits = data;
    size_t used = pl_limits_used(limits) - old_size + new_size;
    void *spare = NULL;
    if (ptr == NULL && used <= limits->soft)
        spare = pl_spares_take(&limits->spares, new_size);
    if (spare == NULL &&
        !(new_size == 0 && ptr != NULL && pl_spares_keep(&limits->spares, ptr, old_size)))
        return alloc_slowly(limits, ptr, old_size, new_size);
    note_used(limits, used);
    return spare;
}

static struct pl_limits *limits_of(lua_State *L)
{
    void *data;
    PL_REQUIRE(lua_getallocf(L, &data) == limited_alloc);
    return data;
}

void pl_limits_describe(const struct pl_limits *limits, char out[PL_LIMIT_TEXT])
{
    if (limits->excess == PL_EXCESS_MEMORY)
        snprintf(out, PL_LIMIT_TEXT, "script memory limit exceeded (%d MiB)",
                 (int)(limits->soft >> 20));
    else
        snprintf(out, PL_LIMIT_TEXT, "script CPU limit exceeded (%g s without waiting)",
                 (double)atomic_load(&((struct pl_limits *)limits)->cpu_ns) / (double)PL_SECOND);
}

void pl_limits_collect(struct pl_limits *limits, lua_State *L)
{
    atomic_store(&limits->collecting, true);
    lua_gc(L, LUA_GCCOLLECT, 0);
    size_t before = SIZE_MAX;
    while (pl_limits_used(limits) > limits->soft / 4 &&
           pl_limits_used(limits) < before - before / 8) {
        before = pl_limits_used(limits);
        lua_gc(L, LUA_GCCOLLECT, 0);
    }
    pl_spares_drop(&limits->spares, limits->alloc, limits->alloc_data);
    atomic_store(&limits->collecting, false);
}

/* Whether the state stays over its memory limit. Tries one full collection. */
static bool is_over_memory(struct pl_limits *limits, lua_State *L)
{
    if (limits->excess == PL_EXCESS_MEMORY)
        return true;
    if (pl_limits_used(limits) <= limits->soft)
        return false;
    pl_limits_collect(limits, L);
    /* A quarter must be free. With less, the script would soon need the next full collection. */
    return pl_limits_used(limits) > limits->soft - limits->soft / 4;
}

/* Notes the limit that the slice exceeds, if any. */
static bool is_over(struct pl_limits *limits, lua_State *L)
{
    if (atomic_load(&limits->kill) == atomic_load(&limits->slice))
        limits->excess = PL_EXCESS_CPU;
    else if (is_over_memory(limits, L))
        limits->excess = PL_EXCESS_MEMORY;
    else
        return false;
    limits->armed = true;
    return true;
}

/* With the script's line that first exceeded it, even if a host function was running: later it may
 * be any line, or no frame of the script may be left. */
void pl_limits_push_message(const struct pl_limits *limits, lua_State *L)
{
    char message[PL_LIMIT_TEXT];
    pl_limits_describe(limits, message);
    lua_pushfstring(L, limits->where[0] != '\0' ? "%s: %s" : "%s%s", limits->where, message);
}

static void raise_limit(struct pl_limits *limits, lua_State *L)
{
    note_where(limits, L);
    pl_limits_push_message(limits, L);
    lua_error(L);
}

/* No script may resume it, since it would continue. */
static void bury(struct pl_limits *limits, lua_State *L)
{
    if (limits->ended == 0)
        return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, limits->ended);
    lua_pushthread(L);
    lua_pushboolean(L, true);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* Only in a hook, where LuaJIT can suspend in the middle of a function. Does not return. */
static void suspend(struct pl_limits *limits, lua_State *L)
{
    note_where(limits, L);
    if (L == limits->running)
        limits->stopped = true;
    else
        bury(limits, L);
    lua_yield(L, 0);
}

/* Too late: that slice has ended, or the collection has made room. */
static void disarm(struct pl_limits *limits)
{
    set_hook(limits, false);
}

/* In the handler of the watchdog's signal, which may come in the middle of LuaJIT. */
static void arm(struct pl_limits *limits)
{
    lua_sethook(limits->L, on_hook, LUA_MASKCOUNT, 1);
    limits->armed = true;
}

static void on_hook(lua_State *L, lua_Debug *ar)
{
    PL_UNUSED(ar);
    struct pl_limits *limits = limits_of(L);
    if (atomic_load(&limits->sample) == atomic_load(&limits->slice))
        pl_watchdog_sample(limits, L);
    if (!is_over(limits, L))
        disarm(limits);
    else if (lua_isyieldable(L))
        suspend(limits, L);
    else
        raise_limit(limits, L);
}

/* Notes where the function at the top comes from. It is not collected while it is noted, so no
 * other function has its address. */
static void note_function(struct pl_limits *limits, lua_State *L, lua_Debug *ar, size_t place)
{
    struct pl_line_function *noted = &limits->functions[place];
    lua_getinfo(L, "S", ar);
    noted->function = lua_topointer(L, -1);
    bool in_file = *ar->source == '@' || *ar->source == '=';
    noted->path = in_file && !pl_is_own_chunk(ar->source) ? ar->source + 1 : NULL;
    if (limits->noted == 0) {
        lua_newtable(L);
        limits->noted = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, limits->noted);
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, (int)place + 1);
    lua_pop(L, 1);
}

static void on_line(lua_State *L, lua_Debug *ar)
{
    struct pl_limits *limits = limits_of(L);
    lua_getinfo(L, "f", ar);
    const void *function = lua_topointer(L, -1);
    size_t place = ((uintptr_t)function >> 4) % PL_ARRAY_LEN(limits->functions);
    const struct pl_line_function *noted = &limits->functions[place];
    if (noted->function != function)
        note_function(limits, L, ar, place);
    lua_pop(L, 1);
    if (ar->currentline > 0 && noted->path != NULL)
        limits->lines->at(limits->lines->arg, L, noted->path, ar->currentline);
}

void pl_limits_watch_lines(struct pl_limits *limits, const struct pl_line_watch *lines)
{
    bool changes = lines != limits->lines && !limits->armed;
    limits->lines = lines;
    if (changes)
        set_hook(limits, false);
}

void pl_limits_check(struct pl_limits *limits, lua_State *L)
{
    if (!limits->armed)
        return;
    if (is_over(limits, L))
        raise_limit(limits, L);
    disarm(limits);
}

bool pl_limits_is_over(struct pl_limits *limits, lua_State *L)
{
    return limits->armed && is_over(limits, L);
}

void pl_limits_init(struct pl_limits *limits, lua_State *L, size_t memory)
{
    limits->L = L;
    limits->arm = arm;
    pl_nesting_init(&limits->nesting);
    limits->soft = memory;
    limits->hard = memory * HARD_FACTOR;
    limits->alloc = lua_getallocf(L, &limits->alloc_data);
    atomic_store(&limits->used,
                 (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB, 0));
    lua_setallocf(L, limited_alloc, limits);
}

void pl_limits_deinit(struct pl_limits *limits)
{
    if (limits->L != NULL) {
        pl_spares_drop(&limits->spares, limits->alloc, limits->alloc_data);
        lua_setallocf(limits->L, limits->alloc, limits->alloc_data);
    }
    limits->L = NULL;
}

/* ---- slices ---- */

void pl_limits_enter(struct pl_limits *limits, lua_State *L, int64_t cpu_ns)
{
    if (limits->L == NULL)
        return;
    limits->excess = PL_EXCESS_NONE;
    limits->where[0] = '\0';
    limits->stopped = false;
    pl_nesting_reset(&limits->nesting);
    limits->running = L;
    atomic_store_explicit(&limits->cpu_ns, cpu_ns, memory_order_relaxed);
    atomic_fetch_add(&limits->slice, 1);
    if (limits->dog != NULL)
        pl_watchdog_wake(limits->dog);
    if (pl_limits_used(limits) > limits->soft)
        set_hook(limits, true);
    limits->armable = 1;
}

void pl_limits_until(struct pl_limits *limits, int64_t due_ns)
{
    atomic_store_explicit(&limits->due_ns, due_ns, memory_order_relaxed);
}

bool pl_limits_has_stopped(const struct pl_limits *limits)
{
    return limits->stopped;
}

enum pl_excess pl_limits_leave(struct pl_limits *limits)
{
    if (limits->L == NULL)
        return PL_EXCESS_NONE;
    limits->armable = 0;
    limits->running = NULL;
    atomic_fetch_add(&limits->slice, 1);
    atomic_store_explicit(&limits->due_ns, 0, memory_order_relaxed);
    if (limits->armed)
        set_hook(limits, false);
    return limits->excess;
}
