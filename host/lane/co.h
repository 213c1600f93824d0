/* Tasks: the coroutines of a run, and the one loop that resumes them. The lane's thread. */
#pragma once

#include "base/list.h"
#include "lane/lane.h"
#include "lua/fault.h"
#include "lua/lerr.h"

struct pl_co {
    struct pl_link link;  /* exec->tasks */
    struct pl_link ready; /* lane->ready, when it can continue */
    struct pl_exec *exec; /* back-pointer */
    lua_State *thread;    /* anchored by ref */
    int ref;
    int handle;             /* reference of the userdata for joining; LUA_NOREF */
    int number;             /* of its run, from 1 */
    int args;               /* values on its stack to resume with */
    struct pl_lop *op;      /* the operation that it waits for */
    bool submitted;         /* the I/O thread has the op */
    struct pl_co *joins;    /* the task whose end this one waits for; NULL: none */
    struct pl_link joining; /* in the joiners of that task */
    struct pl_list joiners;
    bool done, failed, joined, is_main;
    struct pl_cache *seen_cache; /* the cache of the last cached get */
    char *seen_key;              /* owned; the key of that get */
    struct pl_doc *seen;         /* counted; the result of that get; NULL: nothing */
};

#define PL_TASKS_MAX 1000 /* limit for one run */

/* Creates a task from the top 1 + args values of L (function and arguments); it becomes ready. The
 * run owns the task. */
struct pl_co *pl_co_create(struct pl_lane *lane, struct pl_exec *exec, lua_State *L, int args);
/* Returns its coroutine to the pool. */
void pl_co_destroy(struct pl_lane *lane, struct pl_co *task);
/* Frees the rest, after its coroutine is gone. Any thread that owns it. */
void pl_co_free(struct pl_co *task);
/* Resumes each task that is ready now once. */
void pl_co_run_ready(struct pl_lane *lane);
/* Resumes one that is ready. */
void pl_co_resume(struct pl_lane *lane, struct pl_co *task);
/* What it waits for is over, with these results: the top `count` values of L, which are taken. */
void pl_co_wake(struct pl_lane *lane, struct pl_co *task, lua_State *L, int count);
/* An operation has completed. */
void pl_co_op_done(struct pl_lane *lane, struct pl_lop *op);

/* The last statement of a binding that waits: takes the op and yields. If waiting is impossible, it
 * raises an error with the reason and drops the op. */
int pl_co_wait(lua_State *L, struct pl_state *s, struct pl_lop *op);
/* Raises "cannot wait here" unless the running code may wait. Call it before allocating. */
void pl_co_check_wait(lua_State *L, struct pl_state *s);
/* Raises the reason if the run is cancelled. Only in a run. */
void pl_co_raise_canceled(lua_State *L, struct pl_state *s);
/* For the prelude: the reason why the running coroutine cannot wait; nil when it can. */
int pl_co_why_not(lua_State *L);

/* Remembers a cached get, for a wait that follows it. */
void pl_co_saw(struct pl_co *task, struct pl_cache *cache, struct pl_slice key, struct pl_doc *doc);
/* A reference to the result of that get; if it had another key, to the cached object. */
struct pl_doc *pl_co_seen(struct pl_co *task, struct pl_cache *cache, struct pl_slice key);

/* ---- for scripts ---- */
int pl_co_spawn(lua_State *L); /* (f, ...) -> handle */
int pl_co_join(lua_State *L);  /* (handle) -> failed?, results */
void pl_co_open(struct pl_state *s);
