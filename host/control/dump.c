/* Writes the log records. It reads everything, changes nothing and allocates little, since it is
 * used when something is wrong. A last line gives the number of records beyond the limit. */
#include "control/dump.h"

#include "base/log.h"
#include "control/report.h"
#include "control/leadership.h"

static double dump_seconds(int64_t ns)
{
    return (double)ns / (double)PL_SECOND;
}

/* ---- controllers and their runs ---- */

static void dump_controller(const struct pl_controller *controller)
{
    struct pl_controller_report report;
    struct pl_buf waits_for = PL_BUF_INIT;
    pl_controller_report(controller, &report);
    if (report.state == PL_CONTROLLER_WAITING)
        pl_controller_explain(controller, &waits_for);
    pl_log(PL_LOG_INFO, "state: controller",
           pl_str("controller", pl_controller_spec(controller)->name),
           pl_str("state", pl_controller_state_name(report.state)),
           pl_int("running", (int64_t)report.in_flight), pl_int("ready", (int64_t)report.ready),
           pl_int("delayed", (int64_t)report.delayed), pl_int("paused", (int64_t)report.paused),
           pl_int("waiting", (int64_t)report.waiting), pl_int("failing", (int64_t)report.failing),
           pl_int("map_retries", (int64_t)report.map_retries),
           pl_str("waits_for", pl_buf_z(&waits_for)));
    pl_buf_deinit(&waits_for);
}

static void dump_run(void *arg, const struct pl_run *run, int64_t age_ns, bool canceled)
{
    size_t *count = arg;
    if ((*count)++ >= PL_DUMP_LINES)
        return;
    pl_log(PL_LOG_INFO, "state: run",
           pl_str("controller", pl_controller_spec(run->controller)->name),
           pl_strn("key", run->key), pl_str("reconcile_id", run->id),
           pl_num("seconds", dump_seconds(age_ns)), pl_int("attempt", run->attempt),
           pl_bool("canceled", canceled));
}

static size_t left_out(size_t count)
{
    return count > PL_DUMP_LINES ? count - PL_DUMP_LINES : 0;
}

static void dump_leadership(const struct pl_leadership *leadership)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_leadership_describe(leadership, &text);
    pl_log(PL_LOG_INFO, "state: leadership", pl_strn("leadership", pl_buf_slice(&text)));
    pl_buf_deinit(&text);
}

size_t pl_dump_controllers(struct pl_manager *manager)
{
    if (pl_manager_leadership(manager) != NULL)
        dump_leadership(pl_manager_leadership(manager));
    size_t count = pl_manager_count(manager), runs = 0;
    for (size_t i = 0; i < count && i < PL_DUMP_LINES; i++)
        dump_controller(pl_manager_at(manager, i));
    for (size_t i = 0; i < count; i++)
        pl_controller_each_run(pl_manager_at(manager, i), dump_run, &runs);
    return left_out(count) + left_out(runs);
}

/* ---- sources ---- */

static void dump_source(struct pl_informer *informer)
{
    const struct pl_err *trouble = pl_informer_trouble(informer);
    pl_log(PL_LOG_INFO, "state: source", pl_str("source", pl_informer_owner(informer)),
           pl_bool("synced", pl_informer_has_synced(informer)),
           pl_int("objects", (int64_t)pl_store_count(pl_informer_store(informer))),
           pl_str("trouble", trouble != NULL ? trouble->message : ""));
}

size_t pl_dump_sources(struct pl_cluster *cluster)
{
    size_t count = pl_informers_count(pl_cluster_informers(cluster));
    for (size_t i = 0; i < count && i < PL_DUMP_LINES; i++)
        dump_source(pl_informers_at(pl_cluster_informers(cluster), i));
    return left_out(count);
}

/* ---- waits ---- */

static void dump_wait(const struct pl_wait *wait)
{
    struct pl_field age = pl_num("seconds", dump_seconds(pl_wait_age_ns(wait)));
    if (wait->no_deadline != NULL)
        pl_log(PL_LOG_INFO, "state: wait", pl_str("wait", wait->name), pl_str("of", wait->owner),
               age, pl_str("no_deadline", wait->no_deadline));
    else
        pl_log(PL_LOG_INFO, "state: wait", pl_str("wait", wait->name), pl_str("of", wait->owner),
               age, pl_num("at_most", dump_seconds(wait->deadline_ns - wait->since_ns)),
               pl_bool("overdue", pl_wait_is_overdue(wait)));
}

size_t pl_dump_waits(const struct pl_waits *waits)
{
    size_t count = 0;
    for (const struct pl_wait *wait = pl_waits_next(waits, NULL);
         wait != NULL && count < PL_DUMP_LINES; wait = pl_waits_next(waits, wait), count++)
        dump_wait(wait);
    return waits->count - count;
}
