/* The limits on what a script may compute and allocate, for every entry into Lua.
 *
 * Between pl_limits_enter and pl_limits_leave a slice of Lua runs. Over a limit, a hook
 * is armed that raises at every instruction until the host has unwound, so that no
 * pcall swallows it. The allocator arms it for memory; for CPU time the watchdog's
 * thread sends a signal whose handler arms it. Neither works on compiled code. */
#pragma once

#include "base/list.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <lua.h>

struct pl_watchdog;

enum pl_excess { PL_EXCESS_NONE, PL_EXCESS_CPU, PL_EXCESS_MEMORY };

struct pl_limits {
    lua_State *L;
    lua_Alloc alloc; /* LuaJIT's own */
    void *alloc_data;
    _Atomic size_t used;           /* written by the state's thread */
    size_t soft, hard;             /* bytes */
    _Atomic int64_t cpu_ns;        /* limit of the slice */
    _Atomic uint64_t slice;        /* odd while Lua runs */
    _Atomic uint64_t kill;         /* the slice that the watchdog wants ended */
    volatile sig_atomic_t armable; /* a signal may call lua_sethook now */
    bool armed;
    enum pl_excess excess;
    const char *(*who)(void *arg); /* names the script, for the message at the hard limit */
    void *who_arg;
    /* called instead of ending the process at the hard limit, by tests; must not return */
    void (*on_hard)(void *arg);

    struct pl_watchdog *dog;     /* borrowed; NULL: no CPU limit */
    struct pl_link link;         /* the watchdog's */
    pthread_t thread;            /* that runs the state */
    clockid_t cpu_clock;         /* of that thread */
    uint64_t seen;               /* the watchdog's: slice at its last tick */
    int64_t seen_cpu_ns;         /* the watchdog's: CPU time when it first saw that slice */
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
/* The calling thread runs the state from now on. */
void pl_limits_watch(struct pl_limits *limits, struct pl_watchdog *dog);
/* Before the thread ends or the state is closed. */
void pl_limits_unwatch(struct pl_limits *limits);

void pl_limits_enter(struct pl_limits *limits, int64_t cpu_ns);
/* Says which limit ended the slice, if one did. */
enum pl_excess pl_limits_leave(struct pl_limits *limits);
size_t pl_limits_used(const struct pl_limits *limits);

/* One thread for all states; it sleeps while no Lua runs. Installs a handler for SIGURG. */
struct pl_watchdog *pl_watchdog_create(void);
/* Every state must have been unwatched. */
void pl_watchdog_destroy(struct pl_watchdog *dog);
