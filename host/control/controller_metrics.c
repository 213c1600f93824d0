/* Metrics with the names of controller-runtime, which existing dashboards know
 * (host/cli/README.md). */
#include "control/controller_impl.h"

#include "base/check.h"

static const double run_bounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                    1,     2.5,  5,     10,   30,  60,   120};
static const double queue_bounds[] = {1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000};

enum bounds { NO_BOUNDS, RUN_BOUNDS, QUEUE_BOUNDS };

struct controller_metric {
    char name[56], help[72];
    char labels[2][12]; /* "": no second one */
    enum pl_metric_type type;
    enum bounds bounds; /* of a histogram */
};

static struct pl_metric *metric_of(struct pl_controller *c, const struct controller_metric *is)
{
    struct pl_metric_spec spec = {
        .name = is->name, .help = is->help, .type = is->type, .labels = {is->labels[0]}};
    if (*is->labels[1] != '\0')
        spec.labels[1] = is->labels[1];
    if (is->bounds != NO_BOUNDS) {
        bool of_run = is->bounds == RUN_BOUNDS;
        spec.bounds = of_run ? run_bounds : queue_bounds;
        spec.bound_count = of_run ? PL_ARRAY_LEN(run_bounds) : PL_ARRAY_LEN(queue_bounds);
    }
    return pl_metrics_add(pl_site_metrics(c->site), &spec);
}

/* Held until the controller is destroyed, so that series of former names do not stay for ever. */
static struct pl_series *controller_metrics_series(struct pl_controller *c,
                                                   const struct controller_metric *is,
                                                   const char *first, const char *second)
{
    struct pl_controller_metrics *m = &c->metrics;
    const char *const values[] = {first, second};
    struct pl_metric *metric = metric_of(c, is);
    PL_REQUIRE(m->held_count < PL_ARRAY_LEN(m->held));
    return m->held[m->held_count++] = pl_metric_hold(metric, values);
}

#define COUNTER(var, metric, text, ...)                                                            \
    static const struct controller_metric var = {                                                  \
        .name = metric, .help = text, .type = PL_METRIC_COUNTER, .labels = {__VA_ARGS__}}
#define GAUGE(var, metric, text, ...)                                                              \
    static const struct controller_metric var = {                                                  \
        .name = metric, .help = text, .type = PL_METRIC_GAUGE, .labels = {__VA_ARGS__}}
#define HISTOGRAM(var, metric, text, edges, ...)                                                   \
    static const struct controller_metric var = {.name = metric,                                   \
                                                 .help = text,                                     \
                                                 .type = PL_METRIC_HISTOGRAM,                      \
                                                 .labels = {__VA_ARGS__},                          \
                                                 .bounds = edges}

COUNTER(reconcile_total, "controller_runtime_reconcile_total", "Reconciles by result.",
        "controller", "result");
COUNTER(errors_total, "controller_runtime_reconcile_errors_total", "Reconciles that failed.",
        "controller");
COUNTER(terminal_total, "controller_runtime_terminal_reconcile_errors_total",
        "Reconciles that failed and are not retried.", "controller");
COUNTER(timeouts_total, "controller_runtime_reconcile_timeouts_total",
        "Reconciles that ran over reconcile_timeout.", "controller");
HISTOGRAM(time_seconds, "controller_runtime_reconcile_time_seconds", "How long reconciles took.",
          RUN_BOUNDS, "controller");
COUNTER(hot_loops, "perilune_hot_loops_total",
        "Keys that woke themselves by their own writes, again and again.", "controller");
COUNTER(field_fights, "perilune_field_fights_total",
        "Fields that the controller and somebody else changed in turns.", "controller");
GAUGE(active_workers, "controller_runtime_active_workers", "Reconciles that are running.",
      "controller");
GAUGE(max_concurrent, "controller_runtime_max_concurrent_reconciles",
      "Reconciles that may run at once.", "controller");
GAUGE(waiting, "perilune_waiting_keys", "Keys that a script says wait for something outside.",
      "controller");
GAUGE(depth, "workqueue_depth", "Keys that are ready.", "name", "controller");
COUNTER(adds, "workqueue_adds_total", "Keys that were added.", "name", "controller");
COUNTER(retries, "workqueue_retries_total", "Keys that were added with a delay.", "name",
        "controller");
GAUGE(unfinished, "workqueue_unfinished_work_seconds",
      "Seconds that the keys being worked on have taken so far.", "name", "controller");
GAUGE(longest, "workqueue_longest_running_processor_seconds",
      "Seconds that the key worked on for longest has taken so far.", "name", "controller");
HISTOGRAM(latency, "workqueue_queue_duration_seconds", "How long keys were ready and waited.",
          QUEUE_BOUNDS, "name", "controller");
HISTOGRAM(work, "workqueue_work_duration_seconds", "How long keys were worked on.", QUEUE_BOUNDS,
          "name", "controller");

static void on_latency(void *arg, int64_t ns)
{
    struct pl_controller *c = arg;
    pl_series_observe(c->metrics.latency, (double)ns / (double)PL_SECOND);
}

static void on_work(void *arg, int64_t ns)
{
    struct pl_controller *c = arg;
    pl_series_observe(c->metrics.work, (double)ns / (double)PL_SECOND);
}

static void controller_metrics_collect(void *arg)
{
    struct pl_controller *c = arg;
    struct pl_controller_metrics *m = &c->metrics;
    struct pl_workqueue_metrics queue;
    pl_workqueue_metrics(c->queue, pl_controller_now(c), &queue);
    pl_series_set(m->active, (double)c->in_flight);
    pl_series_set(m->max_concurrent, pl_controller_workers(c)); /* a reload may change it */
    pl_series_set(m->waiting, (double)c->waiting.count);
    pl_series_set(m->depth, (double)queue.depth);
    pl_series_set(m->unfinished, (double)queue.unfinished_ns / (double)PL_SECOND);
    pl_series_set(m->longest, (double)queue.longest_ns / (double)PL_SECOND);
    pl_series_add(m->adds, (double)(queue.adds - m->adds_seen));
    pl_series_add(m->retries, (double)(queue.retries - m->retries_seen));
    m->adds_seen = queue.adds;
    m->retries_seen = queue.retries;
}

void pl_controller_metrics_init(struct pl_controller *c)
{
    struct pl_metrics *metrics = pl_site_metrics(c->site);
    struct pl_controller_metrics *m = &c->metrics;
    const char *name = c->name;
    if (metrics == NULL)
        return;
    m->on = true;
    m->success = controller_metrics_series(c, &reconcile_total, name, "success");
    m->error = controller_metrics_series(c, &reconcile_total, name, "error");
    m->requeue = controller_metrics_series(c, &reconcile_total, name, "requeue");
    m->requeue_after = controller_metrics_series(c, &reconcile_total, name, "requeue_after");
    m->errors = controller_metrics_series(c, &errors_total, name, NULL);
    m->terminal = controller_metrics_series(c, &terminal_total, name, NULL);
    m->timeouts = controller_metrics_series(c, &timeouts_total, name, NULL);
    m->seconds = controller_metrics_series(c, &time_seconds, name, NULL);
    m->loops = controller_metrics_series(c, &hot_loops, name, NULL);
    m->fights = controller_metrics_series(c, &field_fights, name, NULL);
    m->active = controller_metrics_series(c, &active_workers, name, NULL);
    m->max_concurrent = controller_metrics_series(c, &max_concurrent, name, NULL);
    m->waiting = controller_metrics_series(c, &waiting, name, NULL);
    m->depth = controller_metrics_series(c, &depth, name, name);
    m->adds = controller_metrics_series(c, &adds, name, name);
    m->retries = controller_metrics_series(c, &retries, name, name);
    m->unfinished = controller_metrics_series(c, &unfinished, name, name);
    m->longest = controller_metrics_series(c, &longest, name, name);
    m->latency = controller_metrics_series(c, &latency, name, name);
    m->work = controller_metrics_series(c, &work, name, name);
    struct pl_workqueue_observer observer = {on_latency, on_work, c};
    pl_workqueue_observe(c->queue, &observer);
    pl_metrics_collect(metrics, controller_metrics_collect, c);
}

void pl_controller_metrics_deinit(struct pl_controller *c)
{
    if (!c->metrics.on)
        return;
    controller_metrics_collect(c);
    pl_metrics_uncollect(pl_site_metrics(c->site), controller_metrics_collect, c);
    for (size_t i = 0; i < c->metrics.held_count; i++)
        pl_series_release(c->metrics.held[i]);
}

void pl_controller_metrics_run(struct pl_controller *c, enum pl_outcome outcome, bool timed_out,
                               int64_t took_ns)
{
    struct pl_controller_metrics *m = &c->metrics;
    if (!m->on || outcome == PL_OUTCOME_CANCELED)
        return;
    bool failed = pl_outcome_is_error(outcome);
    bool requeue = outcome == PL_OUTCOME_REQUEUE || outcome == PL_OUTCOME_CONFLICT;
    pl_series_add(failed                                ? m->error
                  : requeue                             ? m->requeue
                  : outcome == PL_OUTCOME_REQUEUE_AFTER ? m->requeue_after
                                                        : m->success,
                  1);
    if (failed)
        pl_series_add(m->errors, 1);
    if (outcome == PL_OUTCOME_TERMINAL)
        pl_series_add(m->terminal, 1);
    if (timed_out)
        pl_series_add(m->timeouts, 1);
    pl_series_observe(m->seconds, (double)took_ns / (double)PL_SECOND);
}
