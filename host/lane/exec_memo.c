/* The memo of a key, at both ends of a run: it is read when a script asks for it, and the table is
 * saved when the run has ended, successfully or not. A shadow sees the memo of the run that it
 * follows, and saves nothing. When the For object goes, its memo and the series of its metrics are
 * removed. */
#include "lane/exec_memo.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/metrics_declare.h"
#include "write/capture.h"
#include "lane/declare.h"
#include "lane/effects.h"
#include "lane/lane.h"
#include "lua/lerr.h"
#include "lua/lval.h"
#include "lane/memo.h"

#define LATE_KEEP_NS (100 * PL_MS)

struct pl_cache *pl_exec_for_cache(const struct pl_exec *exec)
{
    return pl_lanes_for_cache(exec->lane->lanes, exec->controller);
}

static const char *controller_of(const struct pl_exec *exec)
{
    return exec->lane->lanes->controllers[exec->controller].name;
}

struct pl_doc *pl_exec_remembered(struct pl_exec *exec)
{
    static const struct pl_kind kind = {"perilune.dev", "memo", "Memo"};
    struct pl_lanes *lanes = exec->lane->lanes;
    struct pl_slice key = pl_slice_z(exec->key);
    struct pl_doc *doc = NULL;
    struct pl_capture *view = pl_exec_view(exec);
    if (view == NULL || !pl_capture_sees(view, &kind, key, &doc))
        doc = pl_memos_get(lanes->memos, controller_of(exec), exec->key);
    if (exec->capture != NULL) {
        pl_capture_show(exec->capture, &kind, key, doc, true);
        exec->memo_before = pl_doc_ref(doc);
    }
    return doc;
}

/* ---- keeping ---- */

static bool exec_memo_is_empty(lua_State *L, int index)
{
    lua_pushnil(L);
    if (lua_next(L, index) == 0)
        return true;
    lua_pop(L, 2);
    return false;
}

/* (exec): protected, as reading the table may raise. */
static int exec_memo_keep(lua_State *L)
{
    struct pl_exec *exec = lua_touserdata(L, 1);
    struct pl_state *s = exec->lane->s;
    struct pl_err err;
    pl_err_clear(&err);
    pl_ref_push(L, exec->memo);
    struct pl_doc *doc =
        exec_memo_is_empty(L, 2) ? NULL : pl_lval_check_doc(L, s, 2, "memo", PL_MEMO_BYTES);
    if (exec->capture != NULL)
        exec->memo_after = pl_doc_ref(doc);
    if (pl_lanes_hold(exec->lane->lanes))
        return 0;
    if (pl_memos_put(exec->lane->lanes->memos, controller_of(exec), exec->key, doc, &err) != 0)
        return luaL_error(L, "memo: %s", err.message);
    return 0;
}

/* A run that a limit has ended does not get the same time again. */
static int64_t time_to_keep(const struct pl_lane *lane, const struct pl_exec *exec)
{
    int64_t limit = lane->lanes->options.cpu_limit_ns;
    return exec->over && (limit <= 0 || limit > LATE_KEEP_NS) ? LATE_KEEP_NS : limit;
}

/* The run is over, so no line of it caused the error: the message names where its function
 * begins. */
static void blame_function(struct pl_lane *lane, const struct pl_exec *exec, struct pl_fault *fault)
{
    lua_State *L = lane->s->L;
    pl_free(fault->traceback);
    fault->traceback = NULL;
    pl_declare_push_blamed(L, lane->s, exec->controller, -1);
    fault->message = pl_lerr_placed(L, fault->message);
}

static void keep_table(struct pl_lane *lane, struct pl_exec *exec)
{
    struct pl_state *s = lane->s;
    struct pl_fault fault = {.message = NULL};
    lua_pushcfunction(s->L, exec_memo_keep);
    lua_pushlightuserdata(s->L, exec);
    bool kept = pl_state_call(s, PL_PHASE_RUN, time_to_keep(lane, exec), 1, 0, &fault) == 0;
    luaL_unref(s->L, LUA_REGISTRYINDEX, exec->memo);
    exec->memo = 0;
    if (!kept)
        blame_function(lane, exec, &fault);
    if (!kept && !exec->failed) {
        exec->failed = true;
        exec->fault = fault;
    } else {
        pl_fault_deinit(&fault);
    }
}

static bool is_gone(const struct pl_exec *exec)
{
    struct pl_cache *cache = pl_exec_for_cache(exec);
    if (cache == NULL || !atomic_load_explicit(&cache->ready, memory_order_acquire))
        return false;
    struct pl_doc *object = pl_store_get(cache->store, pl_slice_z(exec->key));
    pl_doc_unref(object);
    return object == NULL;
}

void pl_memo_keep(struct pl_lane *lane, struct pl_exec *exec)
{
    struct pl_memos *memos = lane->lanes->memos;
    if (exec->memo != 0)
        keep_table(lane, exec);
    struct pl_metrics *metrics = lane->lanes->options.metrics;
    bool owns = pl_memos_count(memos) > 0 || (metrics != NULL && pl_metrics_owners(metrics) > 0);
    if (!pl_lanes_hold(lane->lanes) && owns && is_gone(exec))
        pl_lanes_forget_key(lane->lanes, controller_of(exec), exec->key);
}

/* ---- data that ends with the For object ---- */

static char *owner_text(const char *controller, const char *key)
{
    return pl_format("%s %s", controller, key);
}

char *pl_exec_metrics_owner(const struct pl_exec *exec)
{
    return pl_exec_for_cache(exec) != NULL ? owner_text(controller_of(exec), exec->key) : NULL;
}

void pl_lanes_forget_key(struct pl_lanes *lanes, const char *controller, const char *key)
{
    PL_IGNORE(
        pl_memos_put(lanes->memos, controller, key, NULL, NULL)); /* removing always succeeds */
    if (lanes->options.metrics == NULL)
        return;
    char *owner = owner_text(controller, key);
    pl_metrics_disown(lanes->options.metrics, pl_slice_z(owner));
    pl_free(owner);
}

void pl_lanes_forget_keys(struct pl_lanes *lanes, const char *controller)
{
    pl_memos_forget(lanes->memos, controller);
    if (lanes->options.metrics == NULL)
        return;
    char *owners = owner_text(controller, "");
    pl_metrics_disown_all(lanes->options.metrics, pl_slice_z(owners));
    pl_free(owners);
}
