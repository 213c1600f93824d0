/* A tuning is read where the number is used, and never copied into the spec, which belongs to an
 * edition. So a reload neither loses it nor makes it permanent. */
#include "control/tuning.h"

#include "base/log.h"
#include "control/controller_impl.h"

static void tuning_apply(struct pl_controller *c, const struct pl_tuning *tuning)
{
    c->tuning = *tuning;
    pl_workqueue_set_limit(c->queue, pl_controller_current_limit(c));
    if (c->metrics.on)
        pl_series_set(c->metrics.max_concurrent, pl_controller_workers(c));
    pl_controller_drive(c);
}

static void on_over(struct pl_timer *timer)
{
    struct pl_controller *c = PL_CONTAINER_OF(timer, struct pl_controller, tuned);
    pl_log(PL_LOG_INFO, "tuning ended", pl_str("controller", c->name));
    tuning_apply(c, &(struct pl_tuning){0});
}

static int tuning_check(const struct pl_tuning *t, int64_t for_ns, struct pl_err *err)
{
    if (t->workers < 0 || t->workers > PL_TUNE_WORKERS_MAX)
        return pl_err_set(err, PL_EINVAL, "workers must be from 1 to %d", PL_TUNE_WORKERS_MAX);
    if (t->base_ns < 0 || t->max_ns < 0 || t->burst < 0)
        return pl_err_set(err, PL_EINVAL, "a number below zero");
    if (!(t->qps >= 0 && t->qps <= PL_TUNE_QPS_MAX))
        return pl_err_set(err, PL_EINVAL, "the retries per second must be at most %d",
                          PL_TUNE_QPS_MAX);
    if (t->max_ns > 0 && t->base_ns > t->max_ns)
        return pl_err_set(err, PL_EINVAL, "the first delay is longer than the longest");
    if (t->burst > 0 && t->qps <= 0)
        return pl_err_set(err, PL_EINVAL, "a burst needs a rate");
    if (for_ns <= 0 || for_ns > PL_TUNE_FOR_MAX)
        return pl_err_set(err, PL_EINVAL, "the time must be from 1s to 24h");
    return 0;
}

int pl_controller_tune(struct pl_controller *c, const struct pl_tuning *tuning, int64_t for_ns,
                       struct pl_err *err)
{
    int rc = tuning_check(tuning, for_ns, err);
    if (rc != 0)
        return rc;
    pl_log(PL_LOG_INFO, "tuned", pl_str("controller", c->name),
           pl_int("workers", tuning->workers > 0 ? tuning->workers : c->spec->max_concurrent),
           pl_num("seconds", (double)for_ns / (double)PL_SECOND));
    pl_timer_start(c->timers, &c->tuned, for_ns, on_over);
    tuning_apply(c, tuning);
    return 0;
}

void pl_controller_untune(struct pl_controller *c)
{
    if (!pl_timer_is_active(&c->tuned))
        return;
    pl_timer_stop(c->timers, &c->tuned);
    on_over(&c->tuned);
}

bool pl_controller_tuned(const struct pl_controller *c, struct pl_tuning *tuning, int64_t *left_ns)
{
    if (!pl_timer_is_active(&c->tuned))
        return false;
    *tuning = c->tuning;
    *left_ns = c->tuned.due_ns - pl_controller_now(c);
    return true;
}
