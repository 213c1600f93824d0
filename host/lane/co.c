/* The coroutines of a run and the one loop that resumes them. Resumes are never nested: ready tasks
 * wait in a list. A coroutine yields an operation and is resumed once with its result. The run ends
 * when its main coroutine has ended and no operation is left. */
#include "lane/co.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdio.h>
#include <time.h>

#define POOL_MAX    64  /* idle coroutines that are kept */
#define RESULTS_MAX 250 /* of a task */
#define ARGS_MAX    250 /* of a task */

/* At its deadline a run is cancelled, with an error that names the limit. The limit of a pending
 * call is later by this time: a call may end up to a millisecond early, and would give another
 * error. */
#define CALL_GRACE (100 * PL_MS)

static const char handle_name[] = "perilune.task";

/* ---- coroutines ---- */

static lua_State *take_thread(struct pl_lane *lane, int *ref)
{
    lua_State *L = lane->s->L;
    if (lane->pool_count > 0) {
        *ref = lane->pool[--lane->pool_count];
        pl_ref_push(L, *ref);
        lua_State *thread = lua_tothread(L, -1);
        lua_pop(L, 1);
        return thread;
    }
    pl_ref_push(L, lane->s->refs.run_threads);
    lua_State *thread = lua_newthread(L);
    lua_pushvalue(L, -1);
    lua_pushboolean(L, true);
    lua_rawset(L, -4);
    lua_remove(L, -2);
    *ref = luaL_ref(L, LUA_REGISTRYINDEX);
    return thread;
}

static void give_back_thread(struct pl_lane *lane, struct pl_co *task)
{
    lua_State *L = lane->s->L;
    bool reusable = task->done && !task->failed && lua_status(task->thread) == 0;
    if (!reusable || lane->pool_count == POOL_MAX) {
        luaL_unref(L, LUA_REGISTRYINDEX, task->ref);
        return;
    }
    lua_settop(task->thread, 0);
    if (lane->pool == NULL)
        lane->pool = pl_calloc(POOL_MAX, sizeof *lane->pool);
    lane->pool[lane->pool_count++] = task->ref;
}

/* ---- tasks ---- */

struct pl_co *pl_co_create(struct pl_lane *lane, struct pl_exec *exec, lua_State *L, int args)
{
    struct pl_co *task = PL_NEW(struct pl_co);
    task->exec = exec;
    task->thread = take_thread(lane, &task->ref);
    task->handle = LUA_NOREF;
    task->args = args;
    pl_list_init(&task->joiners);
    lua_checkstack(task->thread, args + 1); /* this few always fit on a fresh stack */
    lua_xmove(L, task->thread, args + 1);
    pl_list_push(&exec->tasks, &task->link);
    pl_list_push(&lane->ready, &task->ready);
    task->number = ++exec->task_count;
    exec->live++;
    return task;
}

void pl_co_destroy(struct pl_lane *lane, struct pl_co *task)
{
    if (task->handle != LUA_NOREF) {
        lua_State *L = lane->s->L;
        pl_ref_push(L, task->handle);
        *(struct pl_co **)lua_touserdata(L, -1) = NULL;
        lua_pop(L, 1);
        luaL_unref(L, LUA_REGISTRYINDEX, task->handle);
    }
    pl_link_unlink(&task->link);
    pl_link_unlink(&task->ready);
    give_back_thread(lane, task);
    pl_co_free(task);
}

void pl_co_free(struct pl_co *task)
{
    pl_lop_unref(task->op);
    pl_doc_unref(task->seen);
    pl_free(task->seen_key);
    pl_free(task);
}

static void make_ready(struct pl_lane *lane, struct pl_co *task, int args)
{
    task->args = args;
    pl_list_push(&lane->ready, &task->ready);
}

/* Moves the results, or the error, of a task that ended to the task that joins it. */
static int push_ended(lua_State *L, struct pl_co *ended)
{
    lua_State *from = ended->thread;
    int count = ended->failed ? 1 : lua_gettop(from);
    ended->joined = true;
    luaL_checkstack(L, count + 2, "a task returned too many results");
    lua_pushboolean(L, ended->failed);
    for (int i = lua_gettop(from) - count + 1; count > 0 && i <= lua_gettop(from); i++)
        lua_pushvalue(from, i), lua_xmove(from, L, 1);
    return count + 1;
}

static void stop_joining(struct pl_co *task)
{
    task->joins = NULL;
    pl_link_unlink(&task->joining);
}

/* Removes and returns the next task that joins it; NULL: none. */
static struct pl_co *take_joiner(struct pl_co *ended)
{
    struct pl_link *link = pl_list_first(&ended->joiners);
    if (link == NULL)
        return NULL;
    struct pl_co *task = PL_CONTAINER_OF(link, struct pl_co, joining);
    stop_joining(task);
    return task;
}

static void wake_joiners(struct pl_lane *lane, struct pl_co *ended)
{
    struct pl_co *task;
    while ((task = take_joiner(ended)) != NULL)
        make_ready(lane, task, push_ended(task->thread, ended));
}

static void task_ended(struct pl_lane *lane, struct pl_co *task, struct pl_fault *fault)
{
    struct pl_exec *exec = task->exec;
    task->done = true;
    task->failed = fault != NULL;
    exec->live--;
    wake_joiners(lane, task);
    if (fault != NULL && (task->is_main || !task->joined || exec->over) && !exec->failed) {
        exec->failed = true;
        exec->fault = *fault;
    } else if (fault != NULL) {
        pl_fault_deinit(fault);
    }
    pl_exec_task_ended(lane, exec);
}

/* ---- resuming ---- */

static void drop_options(struct pl_lop *op)
{
    if (op->options != LUA_NOREF)
        luaL_unref(op->lane->s->L, LUA_REGISTRYINDEX, op->options);
    op->options = LUA_NOREF;
}

static void drop_op(struct pl_co *task)
{
    if (task->op == NULL)
        return;
    drop_options(task->op);
    task->op->task = NULL;
    pl_lop_unref(task->op);
    task->op = NULL;
}

static void fail_yield(struct pl_co *task)
{
    lua_settop(task->thread, 0);
    lua_pushliteral(task->thread, "coroutine.yield outside of a coroutine: Reconcile and tasks can "
                                  "only wait by calling Perilune");
}

/* The joining task could not take the results. */
static void fail_results(struct pl_co *task)
{
    lua_settop(task->thread, 0);
    lua_pushfstring(task->thread, "a task returned more than %d values", RESULTS_MAX);
}

/* The task yielded: it waits for an operation, or misused coroutine.yield. */
static bool co_park(struct pl_lane *lane, struct pl_co *task)
{
    lua_State *co = task->thread;
    bool wait = lua_gettop(co) > 0 && lua_type(co, -1) == LUA_TLIGHTUSERDATA &&
                lua_touserdata(co, -1) == lane->s && (task->op != NULL || task->joins != NULL);
    if (!wait)
        return false;
    lua_settop(co, 0);
    if (task->op != NULL) {
        task->submitted = true;
        task->exec->spent_ns = 0;
        pl_lane_send_io(lane, &task->op->msg, PL_IO_OP);
    }
    return true;
}

/* After a run exceeded a limit: otherwise each of its tasks would get the whole limit again. */
static void end_unresumed(struct pl_lane *lane, struct pl_co *task)
{
    struct pl_exec *exec = task->exec;
    drop_op(task);
    stop_joining(task);
    task->done = task->failed = true;
    exec->live--;
    struct pl_co *waiting;
    while ((waiting = take_joiner(task)) != NULL)
        make_ready(lane, waiting, 0);
    pl_exec_task_ended(lane, exec);
}

static int64_t thread_cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * PL_SECOND + now.tv_nsec;
}

/* The watchdog sees single slices; short slices of many tasks that create each other add up here.
 */
static void check_spent(struct pl_lane *lane, struct pl_exec *exec)
{
    int64_t limit = lane->lanes->options.cpu_limit_ns;
    if (limit <= 0 || exec->spent_ns <= limit || exec->over)
        return;
    if (!exec->failed)
        exec->fault = (struct pl_fault){
            .type = PL_FAULT_SCRIPT,
            .by_script = true,
            .message =
                pl_format("%s: script CPU limit exceeded (%g s without waiting, by all its tasks)",
                          lane->s->script, (double)limit / (double)PL_SECOND)};
    exec->failed = true;
    pl_exec_overrun(lane, exec);
}

/* ---- one slice: a task's code from a resume to the next wait, or to its end ---- */

struct slice {
    bool ended, failed;
    struct pl_fault fault; /* when it failed */
};

static void begin_slice(struct pl_lane *lane, struct pl_co *task)
{
    struct pl_state *s = lane->s;
    s->task = task;
    s->phase = PL_PHASE_RUN;
    atomic_store(&lane->running, task->exec);
    if (task->exec->hook != NULL && lane->lanes->options.stepped == NULL)
        /* After the deadline nobody waits for the answer, but other runs wait for the lane. */
        pl_limits_until(&s->limits, task->exec->deadline_ns);
    pl_limits_enter(&s->limits, task->thread, lane->lanes->options.cpu_limit_ns);
}

static struct slice run_slice(struct pl_lane *lane, struct pl_co *task)
{
    struct pl_state *s = lane->s;
    struct slice slice = {.fault = {.message = NULL}};
    int status = lua_resume(task->thread, task->args);
    slice.ended = status != LUA_YIELD || pl_limits_has_stopped(&s->limits);
    slice.failed = slice.ended && status != 0;
    if (!slice.ended && !co_park(lane, task)) {
        fail_yield(task);
        slice.ended = slice.failed = true;
    } else if (slice.ended && !slice.failed && lua_gettop(task->thread) > RESULTS_MAX) {
        fail_results(task);
        slice.failed = true;
    }
    if (!slice.failed)
        return slice;
    pl_fault_take(task->thread, s, &slice.fault); /* __tostring may run: it belongs to the slice */
    if (task->is_main)
        lua_pop(s->L, 1);
    else
        lua_xmove(s->L, task->thread, 1); /* for the joining task */
    return slice;
}

static enum pl_excess end_slice(struct pl_lane *lane)
{
    struct pl_state *s = lane->s;
    enum pl_excess excess = pl_limits_leave(&s->limits);
    atomic_store(&lane->running, NULL);
    s->task = NULL;
    return excess;
}

void pl_co_resume(struct pl_lane *lane, struct pl_co *task)
{
    if (PL_TAPE_WANTS(lane, resume))
        lane->tape->ops->resume(lane->tape, task);
    lane->s->script = pl_declare_where(lane->s, task->exec->controller);
    check_spent(lane, task->exec);
    if (task->exec->over) {
        end_unresumed(lane, task);
        return;
    }
    bool shares = task->exec->task_count > 1;
    int64_t began = shares ? thread_cpu() : 0;
    begin_slice(lane, task);
    struct slice slice = run_slice(lane, task);
    enum pl_excess excess = end_slice(lane);
    if (shares && (slice.ended || task->op == NULL))
        task->exec->spent_ns += thread_cpu() - began;
    if (!slice.ended)
        return;
    drop_op(task); /* an operation was prepared, but the task did not wait for it */
    stop_joining(task);
    if (excess != PL_EXCESS_NONE && slice.failed)
        pl_exec_overrun(lane, task->exec);
    lane->collect =
        /* a slice over either limit may leave much garbage */
        lane->collect || excess != PL_EXCESS_NONE;
    task_ended(lane, task, slice.failed ? &slice.fault : NULL);
}

/* ---- what is ready ---- */

void pl_co_run_ready(struct pl_lane *lane)
{
    struct pl_list now;
    pl_list_init(&now);
    pl_list_splice(&now, &lane->ready);
    struct pl_link *link;
    while (!atomic_load(&lane->abandoned) && (link = pl_list_pop(&now)) != NULL)
        pl_co_resume(lane, PL_CONTAINER_OF(link, struct pl_co, ready));
    while ((link = pl_list_pop(&now)) != NULL) /* runs of these keys moved elsewhere */
        pl_list_push(&lane->ready, link);
}

static int push_failure(lua_State *L, struct pl_co *task, struct pl_lop *op, struct pl_state *s)
{
    const struct pl_err *err = &op->out.err;
    if (task->exec->canceled && err->code == PL_ECANCELED)
        err = task->exec->why;
    struct pl_about about = {.verb = op->verb,
                             .kind = op->kind,
                             .called = op->called,
                             .key = op->key,
                             .status = op->out.doc};
    if (op->type == PL_LOP_WRITE)
        about.subresource = op->in.write.subresource;
    else if (op->type == PL_LOP_READ)
        about.subresource = op->in.read.subresource;
    about.was_read = op->type == PL_LOP_WRITE && op->in.write.base != NULL;
    lua_pushboolean(L, true);
    pl_lerr_push(L, s, err, &about);
    return 2;
}

void pl_co_wake(struct pl_lane *lane, struct pl_co *task, lua_State *L, int count)
{
    struct pl_lop *op = task->op;
    if (PL_TAPE_WANTS(lane, woken))
        lane->tape->ops->woken(lane->tape, task, L, count);
    lua_xmove(L, task->thread, count);
    task->op = NULL;
    task->submitted = false;
    op->task = NULL;
    pl_lop_unref(op);
    make_ready(lane, task, count);
}

void pl_co_op_done(struct pl_lane *lane, struct pl_lop *op)
{
    struct pl_co *task = op->task;
    if (task == NULL) {
        pl_lop_unref(op);
        return;
    }
    PL_REQUIRE(task->op == op);
    /* Pushed on the main stack: the task's own may be full, and an error can be raised only inside
     * the script. The few results fit where it yielded. */
    lua_State *L = lane->s->L;
    int count;
    pl_lane_warn(lane, op, task->thread);
    if (op->woken && !task->exec->canceled)
        pl_err_clear(&op->out.err);
    if (op->out.err.code != 0) {
        drop_options(op);
        count = push_failure(L, task, op, lane->s);
    } else {
        lua_pushboolean(L, false);
        count = 1 + op->push(L, lane->s, op);
    }
    pl_co_wake(lane, task, L, count);
}

/* ---- may we wait here? ---- */

/* The name of the C function in the way; NULL when it is unknown. */
static const char *blocking_function(lua_State *L, struct pl_state *s)
{
    lua_Debug ar;
    const char *name = NULL;
    luaL_checkstack(L, 4, NULL);
    pl_ref_push(L, s->refs.blocking);
    for (int level = 0; name == NULL && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "f", &ar);
        lua_rawget(L, -2);
        name = lua_tostring(L, -1); /* the table keeps it alive */
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return name;
}

static bool find_obstacle(lua_State *L, struct pl_state *s, char *out, size_t size)
{
    if (s->phase == PL_PHASE_LOAD) {
        snprintf(out, size,
                 "cannot wait here: the script is being loaded, only reconciles, tasks "
                 "and webhooks can wait");
    } else if (s->phase == PL_PHASE_MAP) {
        snprintf(out, size, "cannot wait here: predicates, map and index functions may not wait");
    } else if (s->task == NULL) {
        snprintf(out, size, "cannot wait here: no reconcile is running");
    } else if (!lua_isyieldable(L)) {
        const char *name = blocking_function(L, s);
        snprintf(out, size, "cannot wait here: a function called by %s can't wait",
                 name ? name : "a C function");
    } else {
        return false;
    }
    return true;
}

void pl_co_check_wait(lua_State *L, struct pl_state *s)
{
    char why[256];
    if (find_obstacle(L, s, why, sizeof why))
        pl_lerr_raise(L, s, "%s", why);
}

int pl_co_why_not(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    char why[256];
    if (!find_obstacle(L, s, why, sizeof why))
        return 0;
    if (s->task != NULL) {
        drop_op(s->task);
        stop_joining(s->task);
    }
    lua_pushstring(L, why);
    return 1;
}

/* The run was cancelled: operations fail at once. */
static int fail_canceled(lua_State *L, struct pl_state *s)
{
    lua_pushboolean(L, true);
    pl_lerr_push(L, s, s->task->exec->why, NULL);
    return 2;
}

/* The I/O thread reports it, and does not know the secrets. */
static void note_secrets(const struct pl_state *s, struct pl_lop *op)
{
    pl_secrets_add_found(&op->hidden, &s->secrets, op->key);
    if (op->type == PL_LOP_HTTP)
        pl_secrets_add_found(&op->hidden, &s->secrets, op->in.http.url);
}

int pl_co_wait(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    struct pl_co *task = s->task;
    drop_op(task); /* of a coroutine that could not wait */
    stop_joining(task);
    op->lane = s->lane;
    note_secrets(s, op);
    if (task->exec->canceled) {
        drop_options(op);
        pl_lop_unref(op);
        return fail_canceled(L, s);
    }
    task->op = op;
    op->task = task;
    op->controller = task->exec->controller;
    op->exec = pl_exec_ref(task->exec);
    if (op->deadline_ns == 0 && task->exec->deadline_ns != 0)
        op->deadline_ns = task->exec->deadline_ns + CALL_GRACE;
    lua_pushlightuserdata(L, s);
    return lua_yield(L, 1);
}

/* ---- what was read last ---- */

void pl_co_saw(struct pl_co *task, struct pl_cache *cache, struct pl_slice key, struct pl_doc *doc)
{
    pl_doc_unref(task->seen);
    pl_free(task->seen_key);
    task->seen = pl_doc_ref(doc);
    task->seen_key = pl_memdup0(key.ptr, key.len);
    task->seen_cache = cache;
}

struct pl_doc *pl_co_seen(struct pl_co *task, struct pl_cache *cache, struct pl_slice key)
{
    if (task->seen_cache == cache && pl_slice_eqz(key, task->seen_key))
        return pl_doc_ref(task->seen);
    return pl_store_get(cache->store, key);
}

/* ---- spawn and join ---- */

void pl_co_raise_canceled(lua_State *L, struct pl_state *s)
{
    if (!s->task->exec->canceled)
        return;
    fail_canceled(L, s);
    lua_error(L);
}

int pl_co_spawn(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    luaL_checktype(L, 1, LUA_TFUNCTION);
    if (s->task == NULL || s->phase != PL_PHASE_RUN)
        return pl_lerr_raise(L, s, "spawn works inside a reconcile or task only");
    struct pl_exec *exec = s->task->exec;
    pl_co_raise_canceled(L, s); /* like every wait */
    if (exec->live >= PL_TASKS_MAX)
        return pl_lerr_raise(L, s, "spawn: this run has %d spawned tasks already: join some first",
                             PL_TASKS_MAX);
    if (lua_gettop(L) - 1 > ARGS_MAX) /* all of them move to the task's own stack */
        return pl_lerr_raise(L, s, "spawn: at most %d arguments", ARGS_MAX);
    struct pl_co **handle = lua_newuserdata(L, sizeof(struct pl_co *));
    *handle = NULL;
    luaL_getmetatable(L, handle_name);
    lua_setmetatable(L, -2);
    lua_insert(L, 1); /* -- handle, f, ... */
    struct pl_co *task = pl_co_create(s->lane, exec, L, lua_gettop(L) - 2);
    *handle = task;
    lua_pushvalue(L, 1);
    task->handle = luaL_ref(L, LUA_REGISTRYINDEX);
    return 1;
}

/* True if the end of `target` waits for the task. */
static bool waits_for(const struct pl_co *target, const struct pl_co *task)
{
    while (target != NULL && target != task)
        target = target->joins;
    return target != NULL;
}

int pl_co_join(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_co **handle = luaL_checkudata(L, 1, handle_name);
    struct pl_co *target = *handle;
    if (target == NULL || s->task == NULL || target->exec != s->task->exec)
        return pl_lerr_raise(L, s, "join takes a task that this run has spawned");
    if (target == s->task)
        return pl_lerr_raise(L, s, "a task can't join itself");
    if (waits_for(target, s->task))
        return pl_lerr_raise(L, s, "join: that task waits for this one, so neither would end");
    pl_co_check_wait(L, s);
    if (target->done) {
        if (target->failed && s->task->exec->failed && !target->joined) {
            /* the joining task handles its error: it does not fail the run any more */
            pl_fault_deinit(&s->task->exec->fault);
            s->task->exec->failed = false;
        }
        return push_ended(L, target);
    }
    if (L == s->task->thread)
        luaL_checkstack(L, RESULTS_MAX + 2, "no room for the results of a task");
    drop_op(s->task);
    stop_joining(s->task);
    s->task->joins = target;
    pl_list_push(&target->joiners, &s->task->joining);
    lua_pushlightuserdata(L, s);
    return lua_yield(L, 1);
}

void pl_co_open(struct pl_state *s)
{
    luaL_newmetatable(s->L, handle_name);
    lua_pushliteral(s->L, "perilune.task");
    lua_setfield(s->L, -2, "__metatable");
    lua_pop(s->L, 1);
}
