/* The limits on what a script may compute and allocate, for every entry into Lua.
 *
 * Between pl_limits_enter and pl_limits_leave a slice of Lua runs. Over a limit, a hook
 * is armed that ends the script at its next instruction. The allocator arms it for memory; for
 * CPU time the watchdog's thread sends a signal whose handler arms it. Neither works on compiled
 * code.
 *
 * A coroutine is suspended for good: none of its pcalls gets to know, however many there are, and
 * what it holds is the collector's. Who resumed it is next, up to the slice's own coroutine.
 * Where C functions are between, which can't be suspended (table.sort and its like, and the main
 * thread), the hook raises instead, at each instruction, so that no pcall swallows it.
 *
 * One library call can take more than all that at once (a concatenation, a table.concat). A
 * big block that passes the hard limit is refused: LuaJIT raises, and nothing is unwound that
 * could need another such block. Small ones can't be refused safely: they end the process. */
#pragma once

#include "base/list.h"
#include "lua/nesting.h"
#include "lua/spare.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <lua.h>

struct pl_watchdog;

#define PL_LIMIT_WHERE 160 /* "file:line", cut */

enum pl_excess { PL_EXCESS_NONE, PL_EXCESS_CPU, PL_EXCESS_MEMORY };

struct pl_limits {
    lua_State *L;
    lua_Alloc alloc; /* LuaJIT's own */
    void *alloc_data;
    struct pl_spares spares;
    _Atomic size_t used;           /* written by the state's thread */
    size_t soft, hard;             /* bytes */
    _Atomic int64_t cpu_ns;        /* limit of the slice */
    _Atomic int64_t due_ns;        /* monotonic, of the next slice: it ends then, too; 0: none */
    _Atomic uint64_t slice;        /* odd while Lua runs */
    _Atomic uint64_t kill;         /* the slice that the watchdog wants ended */
    volatile sig_atomic_t armable; /* a signal may call lua_sethook now */
    bool armed;
    bool compiles;           /* nothing is refused: LuaJIT does not survive that in compiled code */
    _Atomic bool collecting; /* a full collection, which ends by itself */
    struct pl_nesting nesting; /* of the slice */
    enum pl_excess excess;
    lua_State *running;         /* the slice's coroutine; NULL between slices */
    bool stopped;               /* it was suspended for good */
    int ended;                  /* reference of the set of other coroutines that were; 0: none */
    char where[PL_LIMIT_WHERE]; /* where the script was when the slice first met a limit, or "" */
    const char *(*who)(void *arg); /* names the script, for the message at the hard limit */
    void *who_arg;

    struct pl_watchdog *dog;     /* borrowed; NULL: no CPU limit */
    struct pl_link link;         /* the watchdog's */
    pthread_t thread;            /* that runs the state */
    clockid_t cpu_clock;         /* of that thread */
    uint64_t seen;               /* the watchdog's: slice at its last tick */
    int64_t seen_cpu_ns;         /* the watchdog's: CPU time when it first saw that slice, */
    int64_t over_cpu_ns;         /* and when it first wanted it ended; 0: it does not */
    bool told;                   /* the watchdog's: on_stuck was called for that slice */
    void (*on_stuck)(void *arg); /* watchdog's thread: a slice cannot be ended */
    void *stuck_arg;
};

/* Wraps the state's allocator. After the libraries were opened: LuaJIT does not survive
 * a failing allocation while it starts. The hard limit is four times the soft one. */
void pl_limits_init(struct pl_limits *limits, lua_State *L, size_t memory);
/* Before the state is closed: LuaJIT gives its memory back to the system only when it finds its own
 * allocator. No limit holds from now on. */
void pl_limits_deinit(struct pl_limits *limits);
/* The state was closed: for ThreadSanitizer, which does not see that LuaJIT unmaps its pages and
 * that another state gets them. */
void pl_limits_closed(void);
/* A state may just have got pages. */
void pl_limits_opened(void);
/* The calling thread runs the state from now on. */
void pl_limits_watch(struct pl_limits *limits, struct pl_watchdog *dog);
/* Before the thread ends or the state is closed. */
void pl_limits_unwatch(struct pl_limits *limits);

/* L: what the slice begins with, the main thread or a coroutine. */
void pl_limits_enter(struct pl_limits *limits, lua_State *L, int64_t cpu_ns);
/* Before pl_limits_enter: the slice is over at that time, however little it has computed. */
void pl_limits_until(struct pl_limits *limits, int64_t due_ns);
/* Was the slice's coroutine suspended for good? It must not be resumed. */
bool pl_limits_has_stopped(const struct pl_limits *limits);
/* Says which limit ended the slice, if one did. */
enum pl_excess pl_limits_leave(struct pl_limits *limits);
/* The size for threads that run states. */
#define PL_LANE_STACK ((size_t)16 << 20)
/* Collects all garbage, and lets go of LuaJIT's own buffer, which each collection halves. */
void pl_limits_collect(struct pl_limits *limits, lua_State *L);
/* For host functions that may walk for long: raises when a limit was passed. */
void pl_limits_check(struct pl_limits *limits, lua_State *L);
/* The same for those that must clean up first; the script gets to know when they return. */
bool pl_limits_is_over(struct pl_limits *limits, lua_State *L);
/* Which limit was passed: "script memory limit exceeded (512 MiB)". */
#define PL_LIMIT_TEXT 80
void pl_limits_describe(const struct pl_limits *limits, char out[PL_LIMIT_TEXT]);
/* The same with the place where the slice met it, as it is raised. Pushes it. */
void pl_limits_push_message(const struct pl_limits *limits, lua_State *L);
static inline size_t pl_limits_used(const struct pl_limits *limits)
{
    return atomic_load_explicit(&((struct pl_limits *)limits)->used, memory_order_relaxed);
}

/* One thread for all states; it sleeps while no Lua runs. Installs a handler for SIGURG. */
struct pl_watchdog *pl_watchdog_create(void);
/* Every state must have been unwatched. */
void pl_watchdog_destroy(struct pl_watchdog *dog);
