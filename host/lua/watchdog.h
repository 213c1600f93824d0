/* The thread that watches how long scripts compute (lua/limit.h), and asks for their stacks while a
 * profile is made. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

struct lua_State;
struct pl_limits;
struct pl_watchdog;

/* One thread for all states; it sleeps while no Lua runs. Installs a handler for SIGURG. The caller
 * owns the watchdog. */
struct pl_watchdog *pl_watchdog_create(void);
/* fork(2), by the thread that runs all states of the watchdog. The child has no thread but a timer,
 * which is cheaper if it lives for milliseconds. It ends with 1 when a slice can't be ended, and it
 * must not destroy the watchdog. */
pid_t pl_watchdog_fork(struct pl_watchdog *dog);
/* The calling thread runs the state of the limits from now on. */
void pl_watchdog_add(struct pl_watchdog *dog, struct pl_limits *limits);
/* Before the thread ends or the state is closed. Nothing happens for limits that were not added. */
void pl_watchdog_remove(struct pl_limits *limits);
/* After a slice has begun: ends the watchdog's sleep. */
void pl_watchdog_wake(struct pl_watchdog *dog);
/* In the hook that was armed for a profile: notes the stack of L. */
void pl_watchdog_sample(struct pl_limits *limits, struct lua_State *L);
/* From now on the stacks of Lua that runs are noted every PL_PROFILE_MS, until the end. Any thread;
 * one at a time. */
#define PL_PROFILE_MS 2
void pl_watchdog_profile_begin(struct pl_watchdog *dog);
/* Appends the stacks, see pl_profile_write. */
size_t pl_watchdog_profile_end(struct pl_watchdog *dog, struct pl_buf *stacks);
/* False, and nothing is done, while a state is watched that was abandoned with its thread. */
bool pl_watchdog_try_destroy(struct pl_watchdog *dog);
/* No state may be watched any more. */
void pl_watchdog_destroy(struct pl_watchdog *dog);
