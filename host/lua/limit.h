/* Limits on CPU time and memory of scripts, for every entry into Lua.
 *
 * Between pl_limits_enter and pl_limits_leave a slice of Lua runs. When it exceeds a limit, a hook
 * is armed that ends the script at its next instruction. The allocator arms it for memory. For CPU
 * time, the watchdog's thread sends a signal whose handler arms it. Neither works on compiled code.
 *
 * A coroutine is suspended for good: no pcall of it notices, and the collector frees its values.
 * Then the coroutine that resumed it is suspended, and so on up to the slice's own coroutine. C
 * functions in between that cannot be suspended (table.sort and others, and the main thread) are
 * left by raising: the hook raises at each instruction, so that no pcall swallows the error.
 *
 * A single library call can exceed all that (a concatenation, a table.concat). A big block beyond
 * the hard limit is refused: LuaJIT raises, and unwinding needs no other big block. Small blocks
 * cannot be refused safely: they end the process. */
#pragma once

#include "base/list.h"
#include "lua/nesting.h"
#include "lua/spare_blocks.h"
#include "lua/watchdog.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <lua.h>

#define PL_LIMIT_WHERE 160 /* "file:line", truncated */

enum pl_excess { PL_EXCESS_NONE, PL_EXCESS_CPU, PL_EXCESS_MEMORY };

/* Called before each line of scripts' files runs, but not for code that a script loads from a text,
 * and not for Perilune's own Lua. It runs on the state's thread, in a hook: it may read the stack,
 * but must leave it unchanged. */
struct pl_line_watch {
    void (*at)(void *arg, lua_State *L, const char *path, int line);
    void *arg;
};

/* Where a function comes from, which costs more to find out than the line. */
struct pl_line_function {
    const void *function;
    const char *path; /* borrowed from the function; NULL: it is in no file of a script */
};

struct pl_limits {
    lua_State *L;
    lua_Alloc alloc; /* LuaJIT's own */
    void *alloc_data;
    struct pl_spares spares;
    _Atomic size_t used;           /* written by the state's thread */
    size_t soft, hard;             /* limits in bytes */
    _Atomic int64_t cpu_ns;        /* limit of the slice */
    _Atomic int64_t due_ns;        /* monotonic: the next slice also ends at this time; 0: none */
    _Atomic uint64_t slice;        /* odd while Lua runs */
    _Atomic uint64_t kill;         /* the slice that the watchdog wants ended */
    _Atomic uint64_t sample;       /* the slice whose stack the profile wants */
    volatile sig_atomic_t armable; /* a signal handler may call lua_sethook now */
    bool armed;
    bool compiles; /* no allocation is refused: LuaJIT does not survive that in compiled code */
    _Atomic bool collecting;   /* a full collection, which ends by itself */
    struct pl_nesting nesting; /* of the slice */
    enum pl_excess excess;
    lua_State *running;         /* the slice's coroutine; NULL between slices */
    bool stopped;               /* it was suspended for good */
    int ended;                  /* reference of the set of other suspended coroutines; 0: none */
    char where[PL_LIMIT_WHERE]; /* the script's position when the slice first exceeded a limit, or
                                   "" */
    const char *(*who)(void *arg); /* names the script, for the message at the hard limit */
    void *who_arg;
    const struct pl_line_watch *lines;     /* borrowed for life; NULL: lines are not watched */
    struct pl_line_function functions[32]; /* those whose lines ran last */
    int noted;                             /* reference of a table that keeps them alive; 0: none */
    void (*arm)(struct pl_limits *limits); /* for the handler of the watchdog's signal */

    struct pl_watchdog *dog; /* borrowed; NULL: no CPU limit */
    struct pl_link link;     /* used by the watchdog */
    pthread_t thread;        /* the thread that runs the state */
    clockid_t cpu_clock;     /* of that thread */
    uint64_t seen;           /* used by the watchdog: slice at its last tick */
    int64_t seen_cpu_ns;     /* used by the watchdog: CPU time when it first saw that slice */
    int64_t over_cpu_ns; /* used by the watchdog: CPU time when it first wanted to end that slice;
                            0: it did not */
    bool told;           /* used by the watchdog: on_stuck was called for that slice */
    void (*on_stuck)(void *arg); /* watchdog's thread: a slice cannot be ended */
    void *stuck_arg;
};

/* Wraps the state's allocator. Call it after opening the libraries: LuaJIT does not survive a
 * failing allocation while it starts. The hard limit is four times the soft one. */
void pl_limits_init(struct pl_limits *limits, lua_State *L, size_t memory);
/* lines: borrowed until the state is closed. NULL: lines are not watched any more, which is
 * faster. */
void pl_limits_watch_lines(struct pl_limits *limits, const struct pl_line_watch *lines);
/* Call it before the state is closed: LuaJIT returns its memory to the system only with its own
 * allocator. Limits do not apply from now on. */
void pl_limits_deinit(struct pl_limits *limits);
/* The state was closed: for ThreadSanitizer, which does not see that LuaJIT unmaps pages and that
 * another state may get them. */
void pl_limits_closed(void);
/* A state may just have got pages (for ThreadSanitizer). */
void pl_limits_opened(void);

/* L: the thread where the slice begins, the main thread or a coroutine. */
void pl_limits_enter(struct pl_limits *limits, lua_State *L, int64_t cpu_ns);
/* Call it before pl_limits_enter: the slice ends at that time, even if it has computed little. */
void pl_limits_until(struct pl_limits *limits, int64_t due_ns);
/* True when the slice's coroutine was suspended for good. It must not be resumed. */
bool pl_limits_has_stopped(const struct pl_limits *limits);
/* Returns the limit that ended the slice, if any. */
enum pl_excess pl_limits_leave(struct pl_limits *limits);
/* Stack size of threads that run states. */
#define PL_LANE_STACK ((size_t)16 << 20)
/* Collects all garbage, and frees LuaJIT's own buffer, which each collection only halves. */
void pl_limits_collect(struct pl_limits *limits, lua_State *L);
/* For host functions that may run for long: raises when a limit was exceeded. */
void pl_limits_check(struct pl_limits *limits, lua_State *L);
/* The same for functions that must clean up first; the script is stopped after they return. */
bool pl_limits_is_over(struct pl_limits *limits, lua_State *L);
/* Describes the exceeded limit: "script memory limit exceeded (512 MiB)". */
#define PL_LIMIT_TEXT 80
void pl_limits_describe(const struct pl_limits *limits, char out[PL_LIMIT_TEXT]);
/* Pushes the same with the position where the slice exceeded it. */
void pl_limits_push_message(const struct pl_limits *limits, lua_State *L);
static inline size_t pl_limits_used(const struct pl_limits *limits)
{
    return atomic_load_explicit(&((struct pl_limits *)limits)->used, memory_order_relaxed);
}
