/* The running generation: the switch to a prepared one, its guard, and the rollback. The last good
 * generation is kept during the guard, and closed when the guard is content. */
#include "reload/reload_impl.h"

#include "base/alloc.h"
#include "base/log.h"

static void remember_rolled_back(struct pl_reload *reload, struct pl_origin *origin)
{
    struct pl_origin **place =
        &reload->rolled_back[reload->rolled_back_count++ % PL_DISK_SCAN_ROLLED_BACK];
    pl_origin_unref(*place);
    *place = pl_origin_ref(origin);
}

void pl_reload_run(struct pl_reload *reload, struct pl_generation *generation,
                   struct pl_buf *changed)
{
    const struct pl_generation *before = reload->current;
    if (reload->before_switch != NULL)
        reload->before_switch(reload->before_switch_arg);
    pl_generation_take_over(generation, reload->o.manager, before, changed);
    pl_lanes_on_read(pl_generation_lanes(generation), pl_reload_on_read, reload);
    reload->current = generation;
    if (reload->o.switched != NULL)
        reload->o.switched(reload->o.arg, generation);
    reload->since_ns = pl_reload_wall(reload);
}

static void on_guard_end(struct pl_timer *timer)
{
    struct pl_reload *reload = PL_CONTAINER_OF(timer, struct pl_reload, guard_end);
    struct pl_generation *good = reload->good;
    reload->good = NULL;
    reload->guard.on = false;
    pl_endings_add(&reload->endings, good);
    pl_reload_tell_news(reload, PL_NEWS_GUARD_OVER, pl_slice_z(""));
    pl_reload_tell_waits(&reload->guarded_waits, PL_RELOAD_APPLIED, NULL);
}

static void begin_guard(struct pl_reload *reload, struct pl_generation *before)
{
    pl_free(reload->failure);
    reload->failure = NULL;
    pl_reload_tell_waits(&reload->guarded_waits, PL_RELOAD_APPLIED, NULL);
    if (!reload->o.guard) {
        pl_endings_add(&reload->endings, before);
        return;
    }
    struct pl_generation *ending = before;
    if (reload->good == NULL || pl_guard_is_good(&reload->guard)) {
        ending = reload->good;
        reload->good = before;
    } /* else it was under guard itself and not known to be good: those before it may return */
    pl_endings_add(&reload->endings, ending);
    pl_guard_begin(&reload->guard, pl_loop_now(reload->o.loop));
    pl_timer_start(pl_reload_timers(reload), &reload->guard_end, PL_GUARD_NS, on_guard_end);
}

static void on_roll_back(struct pl_timer *timer)
{
    struct pl_reload *reload = PL_CONTAINER_OF(timer, struct pl_reload, guard_end);
    struct pl_generation *bad = reload->current, *good = reload->good;
    if (pl_reload_is_stopping(reload) || good == NULL)
        return;
    reload->good = NULL;
    pl_log(PL_LOG_ERROR, "the new scripts fail: returning to the old ones",
           pl_int("from", (int64_t)pl_generation_number(bad)),
           pl_int("to", (int64_t)pl_generation_number(good)), pl_int("runs", reload->guard.runs),
           pl_int("failed", reload->guard.failures), pl_str("first_failure", reload->failure));
    remember_rolled_back(reload, pl_generation_origin(bad));
    pl_series_add(reload->results[PL_RELOAD_ROLLED_BACK], 1);
    pl_reload_say(reload, true, "ReloadRolledBack", reload->failure != NULL ? reload->failure : "");
    pl_reload_run(reload, good, NULL);
    pl_reload_set_refused(reload, pl_generation_origin(bad));
    pl_free(reload->refusal);
    reload->refusal = pl_strdup(reload->failure);
    reload->refused_ns = pl_reload_wall(reload);
    pl_reload_tell_news(reload, PL_NEWS_ROLLED_BACK, pl_slice_z(reload->refusal));
    pl_endings_add(&reload->endings, bad);
    pl_reload_tell(reload, PL_RELOAD_BACK); /* the prepared scripts were compared with a generation
                                               that does not run any more */
    pl_reload_tell_waits(&reload->guarded_waits, PL_RELOAD_ROLLED_BACK, reload->refusal);
}

static enum pl_guard_run judge_run(const struct pl_ran *ran)
{
    switch (ran->outcome->outcome) {
    case PL_OUTCOME_ERROR:
    case PL_OUTCOME_TIMEOUT:
        return ran->outcome->by_script && !ran->failed_before ? PL_GUARD_WORSE : PL_GUARD_NO_WORSE;
    case PL_OUTCOME_TERMINAL:
    case PL_OUTCOME_CONFLICT:
    case PL_OUTCOME_CANCELED:
        return PL_GUARD_NO_WORSE;
    case PL_OUTCOME_DONE:
    case PL_OUTCOME_REQUEUE_AFTER:
    case PL_OUTCOME_REQUEUE:
    case PL_OUTCOME_WAITING:
        break;
    }
    return PL_GUARD_CLEAN;
}

/* Called inside the end of a run: the consequences follow later. */
void pl_reload_on_ran(void *arg, struct pl_generation *generation, const struct pl_ran *ran)
{
    struct pl_reload *reload = arg;
    if (generation != reload->current || !reload->guard.on ||
        ran->outcome->outcome == PL_OUTCOME_CANCELED)
        return;
    bool lost = ran->outcome->barred && !ran->failed_before;
    enum pl_guard_run run = lost ? PL_GUARD_WORSE : judge_run(ran);
    if (run == PL_GUARD_WORSE && reload->failure == NULL) {
        const char *text =
            ran->outcome->traceback != NULL ? ran->outcome->traceback : ran->outcome->message;
        reload->failure = pl_format("%.*s: %s\n%s", PL_FMT(ran->run->key),
                                    ran->outcome->message != NULL ? ran->outcome->message : "",
                                    text != NULL ? text : "");
    }
    int64_t now = pl_loop_now(reload->o.loop);
    enum pl_guard_verdict verdict =
        lost ? pl_guard_lost(&reload->guard, now) : pl_guard_ran(&reload->guard, run, now);
    if (verdict != PL_GUARD_WATCHING)
        pl_timer_start(pl_reload_timers(reload), &reload->guard_end, 0,
                       verdict == PL_GUARD_FAILED ? on_roll_back : on_guard_end);
}

static void tell_applied(struct pl_reload *reload)
{
    PL_LIST_FOR (link, &reload->waits) {
        struct pl_reload_wait *wait = PL_CONTAINER_OF(link, struct pl_reload_wait, link);
        if (!wait->until_guarded || !reload->guard.on)
            continue;
        pl_link_unlink(link);
        pl_list_push(&reload->guarded_waits, link);
    }
    pl_reload_tell_waits(&reload->waits, PL_RELOAD_APPLIED, NULL);
}

void pl_reload_apply(void *arg)
{
    struct pl_reload *reload = arg;
    struct pl_generation *before = reload->current, *next = reload->next;
    struct pl_buf changed = PL_BUF_INIT;
    int64_t began = pl_loop_now(reload->o.loop);
    reload->numbers++;
    pl_view_add_lanes(reload->o.view, pl_generation_lanes(next));
    pl_reload_run(reload, next, &changed);
    int64_t now = pl_loop_now(reload->o.loop);
    pl_reload_forget_refusal(reload);
    begin_guard(reload, before);
    pl_series_add(reload->results[PL_RELOAD_APPLIED], 1);
    pl_series_observe(reload->seconds, (double)(now - reload->began_ns) / 1e9);
    pl_log(PL_LOG_INFO, "reloaded", pl_int("generation", (int64_t)pl_generation_number(next)),
           pl_str("trigger", reload->why),
           pl_int("controllers", (int64_t)pl_generation_controllers(next)),
           pl_strn("changed", pl_buf_slice(&changed)),
           pl_num("seconds", (double)(now - reload->began_ns) / 1e9),
           pl_num("switch_seconds", (double)(now - began) / 1e9));
    pl_reload_say(reload, false, "Reloaded", pl_buf_z(&changed));
    pl_reload_tell_news(reload, PL_NEWS_APPLIED, pl_buf_slice(&changed));
    pl_buf_deinit(&changed);
    reload->next = NULL;
    reload->began_ns = 0;
    tell_applied(reload);
}
