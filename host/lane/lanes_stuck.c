/* Lanes whose slice cannot be ended: each is abandoned and replaced by a new one. Its runs and
 * questions are answered for it, and their code is not run again (lanes_barred.c).
 *
 * Nothing that the abandoned thread may still use is freed before the thread has ended: it uses the
 * lane, its state, and what the lanes lend it. If it ends after all, the lane is reaped. With too
 * many such lanes the process ends. */
#include "lane/lane.h"

#include "base/alloc.h"
#include "base/log.h"
#include "lua/state.h"
#include "object/meta.h"

#include <unistd.h>

static int count_stuck(struct pl_lanes *lanes, int more)
{
    _Atomic int *all = lanes->options.stuck;
    int own = atomic_fetch_add(&lanes->stuck, more) + more;
    pl_lane_metrics_stuck(lanes, more);
    return all != NULL ? atomic_fetch_add(all, more) + more : own;
}

static void lanes_give_up(int stuck)
{
    pl_log(PL_LOG_ERROR, "too many lanes are stuck in scripts that can't be interrupted; giving up",
           pl_int("stuck", stuck));
    _exit(1);
}

int pl_lanes_fail_endless(struct pl_err *err, const char *script)
{
    return pl_err_set(err, PL_ESCRIPT,
                      "%s: the main chunk can't be interrupted and did not end: look for an "
                      "endless loop, or a call such as string.find with a long pattern",
                      script);
}

/* A main chunk that cannot be interrupted. */
static void give_up_loading(struct pl_lane *lane, const char *script)
{
    struct pl_err err;
    pl_err_clear(&err);
    pl_lanes_fail_endless(&err, script);
    lane->lanes->lanes[lane->number] = NULL;
    pl_lanes_end_loading(lane->lanes, &err);
}

static void log_stuck(struct pl_lane *lane, const char *script, const struct pl_exec *run,
                      const struct pl_ask *ask, int stuck)
{
    int controller = run != NULL ? run->controller : ask != NULL ? ask->external.controller : -1;
    struct pl_buf key = PL_BUF_INIT;
    if (run != NULL)
        pl_buf_add_z(&key, run->key);
    else if (ask != NULL && ask->event.object != NULL)
        pl_meta_put_key(pl_doc_root(ask->event.object), &key);
    pl_log(PL_LOG_ERROR, "a script can't be interrupted; its lane is replaced",
           pl_int("lane", lane->number), pl_str("script", script),
           pl_str("controller", controller >= 0 ? lane->lanes->controllers[controller].name : ""),
           pl_str("kind", ask != NULL ? ask->kind : ""), pl_str("key", pl_buf_z(&key)),
           pl_int("stuck", stuck));
    pl_buf_deinit(&key);
}

/* Runs that would begin later on that lane go back to their queue. */
static void take_back_runs(struct pl_lanes *lanes)
{
    for (size_t i = 0; i < lanes->controller_count; i++)
        if (lanes->controllers[i].controller != NULL)
            pl_controller_take_back(lanes->controllers[i].controller);
}

void pl_lanes_replace(struct pl_lane *lane)
{
    struct pl_lanes *lanes = lane->lanes;
    /* Read it first: the state is freed by the thread, which may end any time from then on. */
    char *script = pl_strdup(lane->s->script != NULL ? lane->s->script : "?");
    take_back_runs(lanes);
    const struct pl_exec *run = pl_lane_guilty_run(lane);
    const struct pl_ask *ask = pl_lane_guilty_ask(lane);
    pl_lane_abandon(lane);
    int stuck = count_stuck(lanes, 1);
    log_stuck(lane, script, run, ask, stuck);
    if (stuck > PL_STUCK_MAX)
        lanes_give_up(stuck);
    pl_list_push(&lanes->abandoned, &lane->io.link);
    if (lanes->loading.on && lanes->lanes[lane->number] == lane) {
        give_up_loading(lane, script);
        pl_free(script);
        return;
    }
    pl_free(script);
    struct pl_lane *fresh = pl_lane_create(lanes, lane->number);
    lanes->lanes[lane->number] = fresh;
    pl_lane_send_load(fresh, NULL);
    PL_LIST_FOR (link, &lane->io.ops) {
        pl_lop_abandon_io(PL_CONTAINER_OF(link, struct pl_lop, io.link));
    }
    if (run != NULL)
        pl_lanes_bar_run(lanes, run);
    if (ask != NULL)
        pl_lanes_bar_ask(lanes, ask);
    PL_LIST_FOR (link, &lane->io.execs) {
        struct pl_exec *exec = PL_CONTAINER_OF(link, struct pl_exec, link);
        pl_exec_abandon_io(exec, exec == run);
    }
    pl_ask_abandon_io(lane);
}

void pl_lanes_reap(struct pl_lane *lane)
{
    struct pl_lanes *lanes = lane->lanes;
    int stuck = count_stuck(lanes, -1);
    pl_log(PL_LOG_INFO, "a lane that could not be interrupted has ended",
           pl_int("lane", lane->number), pl_int("stuck", stuck));
    pl_link_unlink(&lane->io.link);
    pl_lane_free(lane);
}

void pl_lanes_leave_abandoned(struct pl_lanes *lanes, struct pl_list *ended)
{
    pthread_mutex_lock(&lanes->end_lock);
    lanes->over = true;
    pthread_mutex_unlock(&lanes->end_lock);
    PL_LIST_FOR (link, &lanes->abandoned) {
        struct pl_lane *lane = PL_CONTAINER_OF(link, struct pl_lane, io.link);
        pl_loop_undefer(&lane->io.reap);
        /* It is in its slice, and destroys nothing from now on. */
        if (lane->s != NULL)
            continue;
        pthread_join(lane->thread, NULL); /* it has only to return */
        lane->started = false;
        lane->io.ended = pl_list_empty(&lane->io.ops);
        if (!lane->io.ended)
            continue;
        pl_link_unlink(link);
        pl_list_push(ended, link);
    }
}

int pl_lanes_stuck(struct pl_lanes *lanes)
{
    return atomic_load(&lanes->stuck);
}
