/* A controller's life. It has the state that survives a reload (queue, delays, failures, metrics);
 * the edition has the declaration of a generation. It begins to run when its sources have synced,
 * and ends when its runs have ended. */
#include "control/controller_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "write/recorder.h"

#include <math.h>

#define SYNC_TIMEOUT (120 * PL_SECOND)

int64_t pl_controller_sync_timeout(const struct pl_controller_spec *spec)
{
    return spec->cache_sync_timeout_ns > 0 ? spec->cache_sync_timeout_ns : SYNC_TIMEOUT;
}

/* ---- lifetime ---- */

static struct pl_ratelimit *controller_make_limit(const struct pl_controller_spec *spec)
{
    bool is_task = spec->task.form != PL_NO_TASK;
    int64_t least = is_task ? PL_SECOND : 5 * PL_MS, most = (is_task ? 300 : 1000) * PL_SECOND;
    int64_t base = spec->rate.base_ns > 0 ? spec->rate.base_ns : least;
    int64_t max = spec->rate.max_ns > 0 ? spec->rate.max_ns : most;
    struct pl_ratelimit *limit =
        spec->rate.fast_attempts > 0
            ? pl_ratelimit_fast_slow(spec->rate.fast_ns, spec->rate.slow_ns,
                                     spec->rate.fast_attempts)
            : pl_ratelimit_exponential(base, max > base ? max : base);
    if (spec->rate.qps > 0) {
        struct pl_ratelimit *both[] = {limit,
                                       pl_ratelimit_bucket(spec->rate.qps, spec->rate.burst)};
        limit = pl_ratelimit_max_of(both, 2);
    }
    if (spec->rate.max_wait_ns > 0)
        limit = pl_ratelimit_max_wait(limit, spec->rate.max_wait_ns);
    return limit;
}

struct pl_ratelimit *pl_controller_current_limit(const struct pl_controller *c)
{
    struct pl_controller_spec spec = *c->spec; /* borrows all */
    const struct pl_tuning *t = &c->tuning;
    if (t->base_ns > 0 || t->max_ns > 0)
        spec.rate.fast_attempts = 0;
    if (t->base_ns > 0)
        spec.rate.base_ns = t->base_ns;
    if (t->max_ns > 0)
        spec.rate.max_ns = t->max_ns;
    if (t->qps > 0) {
        spec.rate.qps = t->qps;
        spec.rate.burst = t->burst > 0 ? t->burst : (int)ceil(t->qps);
    }
    return controller_make_limit(&spec);
}

static void on_queue_changed(void *arg)
{
    pl_controller_drive(arg);
}

static struct pl_informer *informer_of(const struct pl_writer *writer, size_t source)
{
    return pl_controller_informer(PL_CONTAINER_OF(writer, struct pl_controller, writer), source);
}

struct pl_controller *pl_controller_create_with(struct pl_edition *edition)
{
    struct pl_controller *c = PL_NEW(struct pl_controller);
    c->name = pl_strdup(edition->spec.name);
    c->cluster = edition->o.cluster;
    c->site = pl_cluster_site(c->cluster);
    c->timers = pl_site_timers(c->site);
    c->writer.informer = informer_of;
    c->may_run = true;
    pl_list_init(&c->runs);
    pl_list_init(&c->its_editions);
    pl_list_init(&c->askers);
    pl_causes_init(&c->causes);
    pl_subscriptions_init_retries(c);
    pl_controller_use(c, edition);
    struct pl_workqueue_options queue = {
        .limit = controller_make_limit(c->spec), .changed = on_queue_changed, .arg = c};
    c->queue = pl_workqueue_create(&queue);
    if (!edition->o.unmeasured)
        pl_controller_metrics_init(c);
    pl_controller_follow_shards(c);
    return c;
}

struct pl_controller *pl_controller_create(const struct pl_controller_options *options,
                                           struct pl_controller_spec *spec)
{
    struct pl_edition *edition = pl_edition_create(options, spec);
    struct pl_controller *c = pl_controller_create_with(edition);
    pl_edition_unref(edition);
    return c;
}

struct pl_edition *pl_controller_edition(const struct pl_controller *c)
{
    return c->edition;
}

bool pl_controller_is_quiet(const struct pl_controller *c)
{
    return c->in_flight == 0 && c->asked == 0 && !c->drive_deferred;
}

void pl_controller_stop_timers(struct pl_controller *c)
{
    pl_timer_stop(c->timers, &c->sync_limit);
    pl_timer_stop(c->timers, &c->due);
    pl_timer_stop(c->timers, &c->resync);
    pl_wait_end(&c->sync_wait);
    pl_wait_end(&c->due_wait);
}

void pl_controller_wait_until(struct pl_controller *c, struct pl_wait *wait, const char *name,
                              int64_t due_ns)
{
    int64_t left = due_ns - pl_controller_now(c);
    if (pl_wait_is_waiting(wait))
        pl_wait_extend(wait, left > 0 ? left : 0);
    else
        pl_wait_begin(pl_site_waits(c->site), wait, name, c->name, left > 0 ? left : 0);
}

void pl_controller_destroy(struct pl_controller *c)
{
    if (c == NULL)
        return;
    PL_REQUIRE(pl_controller_is_quiet(c));
    pl_controller_unfollow_shards(c);
    pl_controller_metrics_deinit(c);
    pl_subscriptions_drop(c);
    pl_controller_stop_showing(c);
    pl_controller_stop_timers(c);
    pl_timer_stop(c->timers, &c->tuned);
    pl_controller_leave_editions(c);
    pl_heap_deinit(&c->retries);
    pl_map_deinit(&c->retry_keys);
    pl_controller_free_keys(c);
    pl_controller_free_loops(c);
    pl_causes_deinit(&c->causes);
    pl_requests_deinit(&c->requests);
    pl_workqueue_destroy(c->queue);
    pl_map_deinit(&c->kinds);
    pl_free(c->name);
    pl_free(c);
}

/* ---- starting ---- */

bool pl_controller_has_synced(const struct pl_controller *c)
{
    for (size_t i = 0; i < c->spec->source_count; i++)
        if (!pl_subscription_is_ready(&c->subscriptions[i]))
            return false;
    return c->listening;
}

bool pl_controller_waits_elsewhere(const struct pl_controller *c)
{
    bool waits = false;
    for (size_t i = 0; i < c->spec->source_count; i++) {
        if (pl_subscription_is_ready(&c->subscriptions[i]))
            continue;
        if (c->spec->sources[i].cluster_name == NULL)
            return false;
        waits = true;
    }
    return waits;
}

static bool informers_have_synced(const struct pl_controller *c)
{
    return c->started && pl_edition_is_synced(c->edition);
}

/* True when it has a single source, whose objects are its keys. Then each key comes once during the
 * first list, so waiting for the whole list would save no run. */
static bool hears_of_each_key_once(const struct pl_controller *c)
{
    size_t heard = 0;
    for (size_t i = 0; i < c->spec->source_count; i++) {
        const struct pl_source_spec *source = &c->spec->sources[i];
        if (source->role == PL_SOURCE_READS)
            continue;
        if (source->map_by != PL_MAP_SELF || ++heard > 1)
            return false;
    }
    return true;
}

static bool may_begin(const struct pl_controller *c)
{
    return pl_controller_has_synced(c) || (c->listening && c->may_run && hears_of_each_key_once(c));
}

static void add_unsynced(const struct pl_controller *c, struct pl_buf *out)
{
    for (size_t i = 0; i < c->spec->source_count; i++) {
        const struct pl_subscription *subscription = &c->subscriptions[i];
        if (pl_subscription_is_ready(subscription))
            continue;
        const struct pl_err *trouble =
            subscription->informer != NULL ? pl_informer_trouble(subscription->informer) : NULL;
        pl_buf_add_f(out, "%s%s%s%s", out->len > 0 ? "; " : "", subscription->kind,
                     trouble != NULL ? ": " : "", trouble != NULL ? trouble->message : "");
    }
}

static void controller_tell_changed(struct pl_controller *c)
{
    if (c->changed != NULL)
        c->changed(c->changed_arg, c);
}

static void on_sync_limit(struct pl_timer *timer)
{
    struct pl_controller *c = PL_CONTAINER_OF(timer, struct pl_controller, sync_limit);
    struct pl_buf text = PL_BUF_INIT;
    add_unsynced(c, &text);
    c->sync_timed_out = true;
    char *note = pl_format("controller %s could not start within its cache_sync_timeout: %s",
                           c->name, pl_buf_z(&text));
    pl_recorder_own_event(pl_cluster_recorder(c->cluster), true, "ControllerNotStarted", note);
    pl_free(note);
    pl_log(PL_LOG_ERROR, "controller could not start within cache_sync_timeout; it keeps trying",
           pl_str("controller", c->name), pl_strn("unsynced", pl_buf_slice(&text)));
    pl_buf_deinit(&text);
    controller_tell_changed(c);
}

static void enqueue_for_objects(struct pl_controller *c, enum pl_cause_type cause)
{
    for (size_t i = 0; i < c->spec->source_count; i++) {
        struct pl_subscription *subscription = &c->subscriptions[i];
        if (subscription->source->role != PL_SOURCE_FOR || subscription->informer == NULL)
            continue;
        struct pl_add how = {.priority = PL_PRIORITY_LOW};
        char **keys = pl_store_keys(pl_informer_store(subscription->informer));
        for (char **key = keys; *key != NULL; key++)
            pl_controller_enqueue(c, pl_slice_z(*key), &how, cause);
        pl_store_free_names(keys);
    }
}

static void on_resync(struct pl_timer *timer)
{
    struct pl_controller *c = PL_CONTAINER_OF(timer, struct pl_controller, resync);
    enqueue_for_objects(c, PL_CAUSE_RESYNC);
    pl_timer_start(c->timers, timer, c->spec->resync_period_ns, on_resync);
}

void pl_controller_arm_resync(struct pl_controller *c)
{
    pl_timer_stop(c->timers, &c->resync);
    if (c->spec->resync_period_ns > 0)
        pl_timer_start(c->timers, &c->resync, c->spec->resync_period_ns, on_resync);
}

static void end_syncing(struct pl_controller *c)
{
    c->sync_timed_out = false;
    pl_timer_stop(c->timers, &c->sync_limit);
    pl_wait_end(&c->sync_wait);
}

static void begin_standing_by(struct pl_controller *c)
{
    c->standing_by = true;
    end_syncing(c);
    pl_log(PL_LOG_INFO, "controller stands by: its queue is ready", pl_str("controller", c->name));
    controller_tell_changed(c);
}

static void begin_running(struct pl_controller *c)
{
    c->running = true;
    end_syncing(c);
    pl_controller_arm_resync(c);
    if (c->spec->task.form != PL_NO_TASK)
        pl_log(PL_LOG_INFO, "task started", pl_str("task", c->name));
    else
        pl_log(PL_LOG_INFO, "controller started", pl_str("controller", c->name),
               pl_int("workers", c->spec->max_concurrent));
    pl_controller_task_begin(c);
    pl_controller_catch_up(c);
    controller_tell_changed(c);
    pl_controller_drive(c);
}

static void check_stopped(struct pl_controller *c)
{
    if (c->in_flight > 0 || c->asked > 0 || c->told_stopped || c->drive_deferred)
        return;
    c->told_stopped = true;
    if (c->stopped != NULL)
        c->stopped(c->stopped_arg);
}

void pl_controller_check(struct pl_controller *c)
{
    if (c->stopping) {
        check_stopped(c);
        return;
    }
    if (c->retired) {
        if (pl_controller_is_quiet(c))
            c->gone(c->gone_arg, c);
        return;
    }
    if (c->draining && pl_controller_running_as_leader(c) == 0) {
        c->draining = false;
        controller_tell_changed(c); /* ready or not: others wait for its runs */
    }
    if (!c->listening && informers_have_synced(c)) {
        c->listening = true;
        pl_subscriptions_listen(c);
    }
    pl_members_listen(c);
    if (c->running || c->standing_by || !may_begin(c))
        return;
    if (c->may_run)
        begin_running(c);
    else if (c->in_flight == 0)
        begin_standing_by(c);
}

void pl_controller_start(struct pl_controller *c)
{
    PL_REQUIRE(!c->started);
    c->started = true;
    pl_edition_open(c->edition, NULL, NULL);
    pl_controller_await_sources(c);
    if (pl_edition_is_synced(c->edition))
        pl_controller_drive(c);
}

void pl_controller_await_sources(struct pl_controller *c)
{
    c->running = c->standing_by = false;
    pl_timer_stop(c->timers, &c->resync);
    int64_t limit = pl_controller_sync_timeout(c->spec);
    pl_timer_start(c->timers, &c->sync_limit, limit, on_sync_limit);
    if (pl_site_waits(c->site) != NULL)
        pl_wait_begin_open(pl_site_waits(c->site), &c->sync_wait, "first sync", c->name,
                           "sources keep trying");
}

void pl_controller_set_may_run(struct pl_controller *c, bool may_run)
{
    pl_timers_require(c->timers);
    if (c->may_run == may_run)
        return;
    c->may_run = may_run;
    c->standing_by = false;
    if (!may_run) {
        struct pl_err why = {0};
        pl_err_set(&why, PL_ECANCELED, "the lead was lost");
        c->was_away = c->was_away || c->running;
        c->running = c->task_begun = false;
        c->draining = c->in_flight > 0;
        pl_timer_stop(c->timers, &c->resync);
        pl_controller_cancel_all(c, NULL, &why);
    }
    pl_controller_drive(c);
}

void pl_controller_lead_lost(struct pl_controller *c)
{
    struct pl_err why = {0};
    pl_err_set(&why, PL_ECANCELED, "the lead was lost");
    c->draining = c->draining || pl_controller_running_as_leader(c) > 0;
    pl_controller_cancel_as_leader(c, &why);
}

/* ---- stopping ---- */

void pl_controller_stop(struct pl_controller *c, void (*stopped)(void *arg), void *arg)
{
    if (c->stopping)
        return;
    c->stopping = true;
    c->running = c->standing_by = false;
    pl_controller_take_back(c);
    c->stopped = stopped;
    c->stopped_arg = arg;
    pl_controller_stop_showing(c);
    pl_controller_stop_timers(c);
    pl_workqueue_shutdown(c->queue);
    if (c->spec->task.form != PL_NO_TASK)
        pl_controller_ask_to_stop(c);
    pl_subscriptions_drop(c);
    pl_controller_drive(c);
}

void pl_controller_release_sources(struct pl_controller *c)
{
    PL_REQUIRE(c->told_stopped);
    for (size_t i = 0; i < c->spec->source_count; i++)
        pl_subscription_stop(&c->subscriptions[i]);
    for (size_t i = 0; i < c->edition->member_count; i++)
        pl_subscription_stop(&c->edition->members[i]->subscription);
}

void pl_controller_cancel_runs(struct pl_controller *c)
{
    struct pl_err why = {0};
    pl_err_set(&why, PL_ECANCELED, "the host is stopping");
    pl_controller_cancel_all(c, NULL, &why);
}

/* ---- channels ---- */

bool pl_controller_watches_channel(const struct pl_controller *c, struct pl_slice name)
{
    for (char **channel = c->spec->channels; channel != NULL && *channel != NULL; channel++)
        if (pl_slice_eqz(name, *channel))
            return true;
    return false;
}

void pl_controller_send(struct pl_controller *c, const char *channel, struct pl_slice key)
{
    if (pl_controller_is_over(c) || !pl_controller_may_queue(c, key))
        return;
    if (!pl_map_has(&c->kinds, pl_slice_z(channel)))
        pl_map_put(&c->kinds, pl_slice_z(channel), c);
    pl_causes_add_channel(&c->causes, key, pl_map_key(&c->kinds, pl_slice_z(channel)).ptr);
    pl_controller_note(c, key, PL_HAPPENED_QUEUED, 0, pl_cause_type_name(PL_CAUSE_CHANNEL));
    struct pl_add how = {.priority = 0};
    pl_workqueue_add(c->queue, key, &how, pl_controller_now(c));
    pl_controller_drive(c);
}

/* ---- questions about it ---- */

const struct pl_writer *pl_controller_writer(const struct pl_controller *c)
{
    return &c->writer;
}

const struct pl_controller_spec *pl_controller_spec(const struct pl_controller *c)
{
    return c->spec;
}

struct pl_informer *pl_controller_informer(const struct pl_controller *c, size_t source)
{
    return c->subscriptions[source].informer;
}

bool pl_controller_is_running(const struct pl_controller *c)
{
    return c->running;
}

bool pl_controller_is_retired(const struct pl_controller *c)
{
    return c->retired;
}

void pl_controller_watch_runs(struct pl_controller *c, const struct pl_run_watcher *watcher)
{
    pl_controller_take_back(c);
    c->watcher = watcher;
}

bool pl_controller_is_standing_by(const struct pl_controller *c)
{
    return c->standing_by;
}

size_t pl_controller_in_flight(const struct pl_controller *c)
{
    return c->in_flight;
}

bool pl_controller_sync_timed_out(const struct pl_controller *c)
{
    return c->sync_timed_out;
}

struct pl_workqueue *pl_controller_queue(struct pl_controller *c)
{
    return c->queue;
}

void pl_controller_on_change(struct pl_controller *c,
                             void (*changed)(void *arg, struct pl_controller *controller),
                             void *arg)
{
    c->changed = changed;
    c->changed_arg = arg;
}

void pl_controller_enqueue(struct pl_controller *c, struct pl_slice key, const struct pl_add *how,
                           enum pl_cause_type cause)
{
    pl_timers_require(c->timers);
    if (pl_controller_is_over(c) || !pl_controller_may_queue(c, key))
        return;
    pl_causes_add(&c->causes, key, cause);
    pl_controller_note(c, key, PL_HAPPENED_QUEUED, how->after_ns, pl_cause_type_name(cause));
    pl_workqueue_add(c->queue, key, how, pl_controller_now(c));
    pl_controller_drive(c);
}

static void add_waits(const struct pl_controller *c, const struct pl_informer *informer,
                      struct pl_buf *out)
{
    const struct pl_waits *waits = pl_site_waits(c->site);
    if (waits == NULL)
        return;
    for (const struct pl_wait *wait = pl_waits_next(waits, NULL); wait != NULL;
         wait = pl_waits_next(waits, wait)) {
        if (!pl_informer_is_waiting(informer, wait))
            continue;
        pl_buf_add_z(out, "; ");
        pl_wait_describe(wait, out);
    }
}

void pl_controller_explain(const struct pl_controller *c, struct pl_buf *out)
{
    size_t before = out->len;
    for (size_t i = 0; c->started && i < c->spec->source_count; i++) {
        const struct pl_subscription *subscription = &c->subscriptions[i];
        const struct pl_informer *informer = subscription->informer;
        if (informer == NULL || pl_subscription_is_ready(subscription))
            continue;
        const struct pl_err *trouble = pl_informer_trouble(informer);
        pl_buf_add_f(out, "%ssource %s: %s", out->len > before ? " | " : "",
                     pl_informer_owner(informer),
                     trouble != NULL ? trouble->message
                     : !pl_informer_has_synced(informer)
                         ? "has not synced"
                         : "predicates and map functions run on its first list");
        add_waits(c, informer, out);
    }
    if (out->len == before)
        pl_buf_add_z(out, c->started ? "its handlers are about to start" : "it has not started");
}
