/* Tasks: the coroutines of a run, and the one loop that resumes them. The lane's thread. */
#pragma once

#include "base/list.h"
#include "lane/lane.h"
#include "lua/lerr.h"

struct pl_co {
    struct pl_link link;  /* exec->tasks */
    struct pl_link ready; /* lane->ready, while it can go on */
    struct pl_exec *exec; /* back-pointer */
    lua_State *thread;    /* anchored by ref */
    int ref;
    int handle;             /* reference of the userdata that scripts join; LUA_NOREF */
    int args;               /* values on its stack to resume with */
    struct pl_lop *op;      /* what it waits for */
    bool submitted;         /* the op is with the I/O thread */
    struct pl_co *joins;    /* waits for the end of this one, */
    struct pl_link joining; /* in its joiners */
    struct pl_list joiners;
    bool done, failed, joined, is_main;
    struct pl_cache *seen_cache; /* the last cached get: where, */
    char *seen_key;              /* of which key (owned), */
    struct pl_doc *seen;         /* and what it gave (counted, or NULL) */
};

#define PL_TASKS_MAX 1000 /* of one run */

/* A task whose function and arguments are the top 1 + args values of L; it becomes ready. */
struct pl_co *pl_co_create(struct pl_lane *lane, struct pl_exec *exec, lua_State *L, int args);
/* Its coroutine goes back to the pool. */
void pl_co_destroy(struct pl_lane *lane, struct pl_co *task);
/* The rest of it, when its coroutine is gone. Any thread that owns it. */
void pl_co_free(struct pl_co *task);
/* Resumes what is ready now, once each. */
void pl_co_run_ready(struct pl_lane *lane);
/* The op came back. */
void pl_co_op_done(struct pl_lane *lane, struct pl_lop *op);

/* The last statement of a binding that waits: takes the op, yields. Raises where waiting is
 * impossible and says why; the op is dropped then. */
int pl_co_wait(lua_State *L, struct pl_state *s, struct pl_lop *op);
/* Raises "cannot wait here" unless the running code may; before anything is allocated. */
void pl_co_check_wait(lua_State *L, struct pl_state *s);
/* For the prelude: why the running coroutine can't pass a wait on; nil when it can. */
int pl_co_why_not(lua_State *L);

/* Remembers a cached get, for a wait that follows it. */
void pl_co_saw(struct pl_co *task, struct pl_cache *cache, struct pl_slice key, struct pl_doc *doc);
/* A reference to what it gave; to what is in the cache now when that was another key. */
struct pl_doc *pl_co_seen(struct pl_co *task, struct pl_cache *cache, struct pl_slice key);

/* ---- for scripts ---- */
int pl_co_spawn(lua_State *L); /* (f, ...) -> handle */
int pl_co_join(lua_State *L);  /* (handle) -> failed?, results */
void pl_co_open(struct pl_state *s);
