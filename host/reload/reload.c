/* One attempt to reload the scripts: it carries out the effects of the state (reload_state.h), and
 * reports their results to it. The state alone decides what follows. */
#include "reload/reload_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "reload/config.h"
#include "write/recorder.h"

#include <string.h>

struct pl_timers *pl_reload_timers(const struct pl_reload *reload)
{
    return pl_loop_timers(reload->o.loop);
}

int64_t pl_reload_wall(const struct pl_reload *reload)
{
    return pl_clock_wall(pl_loop_clock(reload->o.loop));
}

bool pl_reload_is_stopping(const struct pl_reload *reload)
{
    return reload->stopped || pl_manager_is_stopping(reload->o.manager);
}

/* ---- waiting callers ---- */

void pl_reload_tell_waits(struct pl_list *waits, enum pl_reload_result result, const char *message)
{
    struct pl_list due;
    pl_list_init(&due);
    pl_list_splice(&due, waits);
    struct pl_link *link;
    while ((link = pl_list_pop(&due)) != NULL) {
        struct pl_reload_wait *wait = PL_CONTAINER_OF(link, struct pl_reload_wait, link);
        wait->done(wait, result, message);
    }
}

/* ---- numbers ---- */

static const double duration_bounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                         0.25,  0.5,    1,     2.5,  5,     10,   60};

static void reload_add_metrics(struct pl_reload *reload)
{
    static const struct pl_metric_spec total = {.name = "perilune_reload_total",
                                                .help = "Reloads of scripts by result.",
                                                .type = PL_METRIC_COUNTER,
                                                .labels = {"result"}};
    static const struct pl_metric_spec seconds = {
        .name = "perilune_reload_duration_seconds",
        .help = "From the trigger of a reload to the first moment under the new scripts.",
        .type = PL_METRIC_HISTOGRAM,
        .bounds = duration_bounds,
        .bound_count = PL_ARRAY_LEN(duration_bounds)};
    static const char *const names[] = {[PL_RELOAD_APPLIED] = "applied",
                                        [PL_RELOAD_REJECTED] = "rejected",
                                        [PL_RELOAD_ROLLED_BACK] = "rolled_back"};
    struct pl_metric *metric = pl_metrics_add(reload->o.metrics, &total);
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        if (names[i] != NULL)
            reload->results[i] = pl_metric_series(metric, &names[i]);
    reload->seconds = pl_metric_series(pl_metrics_add(reload->o.metrics, &seconds), NULL);
}

/* ---- telling the state ---- */

void pl_reload_tell(struct pl_reload *reload, enum pl_reload_event event)
{
    pl_reload_state_tell(&reload->state, pl_reload_is_stopping(reload) ? PL_RELOAD_STOP : event);
}

static void on_reload_due(struct pl_timer *timer)
{
    pl_reload_tell(PL_CONTAINER_OF(timer, struct pl_reload, step), PL_RELOAD_DUE);
}

static void wait_until(void *arg, int64_t due_ns)
{
    struct pl_reload *reload = arg;
    int64_t delay = due_ns - pl_loop_now(reload->o.loop);
    pl_timer_start(pl_reload_timers(reload), &reload->step, delay > 0 ? delay : 0, on_reload_due);
}

void pl_reload_on_read(void *arg)
{
    struct pl_reload *reload = arg;
    if (reload->files != NULL)
        pl_reload_tell(reload, PL_RELOAD_READ);
}

/* ---- refusals ---- */

void pl_reload_set_refused(struct pl_reload *reload, struct pl_origin *origin)
{
    pl_origin_unref(reload->refused);
    reload->refused = pl_reload_ref_origin(origin);
}

void pl_reload_forget_refusal(struct pl_reload *reload)
{
    pl_reload_set_refused(reload, NULL);
    pl_free(reload->refusal);
    reload->refusal = NULL;
}

void pl_reload_say(struct pl_reload *reload, bool warning, const char *reason, const char *detail)
{
    char *note = pl_format("%s%s%s", warning ? "the scripts were refused" : "the new scripts run",
                           *detail != '\0' ? ": " : "", detail);
    pl_recorder_own_event(pl_cluster_recorder(reload->o.cluster), warning, reason, note);
    pl_free(note);
}

void pl_reload_listen(struct pl_reload *reload,
                      void (*hear)(void *arg, const struct pl_reload_news *news), void *arg)
{
    reload->hear = hear;
    reload->hear_arg = arg;
}

void pl_reload_tell_news(struct pl_reload *reload, enum pl_reload_news_kind kind,
                         struct pl_slice text)
{
    bool by_itself = kind == PL_NEWS_GUARD_OVER || kind == PL_NEWS_ROLLED_BACK;
    const struct pl_reload_news news = {.kind = kind,
                                        .generation = pl_generation_number(reload->current),
                                        .trigger = by_itself ? NULL : reload->why,
                                        .text = text,
                                        .at_ns = pl_reload_wall(reload)};
    if (reload->hear != NULL)
        reload->hear(reload->hear_arg, &news);
}

static void reload_refuse(void *arg)
{
    struct pl_reload *reload = arg;
    struct pl_generation *next = reload->next;
    const char *message = reload->wrong.message;
    reload->next = NULL;
    reload->began_ns = 0;
    pl_free(reload->refusal);
    reload->refusal = pl_strdup(message);
    reload->refused_ns = pl_reload_wall(reload);
    pl_series_add(reload->results[PL_RELOAD_REJECTED], 1);
    pl_log(PL_LOG_ERROR, "reload refused: the running scripts go on",
           pl_int("generation", (int64_t)pl_generation_number(reload->current)),
           pl_str("trigger", reload->why), pl_str("error", message));
    pl_reload_say(reload, true, "ReloadRefused", message);
    pl_reload_tell_news(reload, PL_NEWS_REFUSED, pl_slice_z(message));
    if (next != NULL) {
        pl_reload_set_refused(reload, pl_generation_origin(next));
        pl_endings_add(&reload->endings, next);
    }
    pl_reload_tell_waits(&reload->waits, PL_RELOAD_REJECTED, reload->refusal);
}

static void reload_drop(void *arg)
{
    struct pl_reload *reload = arg;
    struct pl_generation *next = reload->next;
    reload->next = NULL;
    pl_endings_add(&reload->endings, next);
}

/* There is nothing to load: the running scripts are those on disk. */
static void reload_settle(void *arg, bool asked)
{
    struct pl_reload *reload = arg;
    reload->began_ns = 0;
    if (reload->refused != NULL || asked)
        pl_log(PL_LOG_INFO, "nothing to reload: the scripts have not changed",
               pl_int("generation", (int64_t)pl_generation_number(reload->current)));
    pl_reload_forget_refusal(reload);
    pl_reload_tell_waits(&reload->waits, PL_RELOAD_UNCHANGED, NULL);
}

/* ---- loading ---- */

static void on_reload_prepared(void *arg, struct pl_generation *generation,
                               const struct pl_err *err)
{
    struct pl_reload *reload = arg;
    PL_REQUIRE(generation == reload->next);
    if (err != NULL)
        reload->wrong = *err;
    pl_reload_tell(reload, err != NULL ? PL_RELOAD_UNPREPARED : PL_RELOAD_PREPARED);
}

static void reload_prepare(void *arg)
{
    struct pl_reload *reload = arg;
    pl_generation_prepare(reload->next, reload->current, on_reload_prepared, reload);
}

static bool reload_judge(void *arg)
{
    struct pl_reload *reload = arg;
    size_t hooks;
    pl_generation_hooks(reload->next, &hooks);
    if (reload->wrong.code == 0 && pl_generation_controllers(reload->next) == 0 && hooks == 0)
        pl_err_set(&reload->wrong, PL_EINVAL,
                   "%s: the scripts declare nothing; call perilune.controller", reload->o.paths[0]);
    return reload->wrong.code == 0;
}

static void on_reload_loaded(void *arg, struct pl_generation *generation,
                             const struct pl_err *failed)
{
    struct pl_reload *reload = arg;
    PL_REQUIRE(generation == reload->next);
    if (failed != NULL)
        reload->wrong = *failed;
    pl_reload_tell(reload, PL_RELOAD_LOADED);
}

/* Only the config was read: until it changes there is nothing to try. */
static void refuse_config(struct pl_reload *reload)
{
    struct pl_origin *origin = reload->config.origin;
    origin = origin != NULL ? pl_origin_ref(origin) : pl_origin_create();
    if (reload->config.text.len > 0)
        pl_origin_add_common(origin, reload->o.config, pl_buf_slice(&reload->config.text));
    pl_reload_set_refused(reload, origin);
    pl_origin_unref(origin);
}

/* Decodes the config of the last look. */
static bool decode_config(struct pl_reload *reload, struct pl_doc **config)
{
    reload->wrong = reload->config.err;
    return reload->o.config == NULL ||
           (reload->wrong.code == 0 &&
            pl_config_decode(reload->o.config, pl_buf_slice(&reload->config.text), config,
                             &reload->wrong) == 0);
}

static struct pl_node flags_of(const struct pl_doc *config)
{
    return pl_node_getz(pl_doc_root(config), "flags");
}

/* The process has read its flags at the start. */
static void tell_of_flags(const struct pl_reload *reload, const struct pl_doc *config)
{
    if (!pl_node_equal(flags_of(reload->o.lanes.config), flags_of(config)))
        pl_log(PL_LOG_WARN, "flags in the config have changed: they take effect at the next start",
               pl_str("config", reload->o.config));
}

static bool reload_load(void *arg)
{
    struct pl_reload *reload = arg;
    if (reload->began_ns == 0)
        reload->began_ns = pl_loop_now(reload->o.loop);
    struct pl_lanes_options lanes = reload->o.lanes;
    struct pl_generation_options options = {.cluster = reload->o.cluster,
                                            .loop = reload->o.loop,
                                            .ran = pl_reload_on_ran,
                                            .arg = reload};
    struct pl_doc *config = NULL;
    if (!decode_config(reload, &config)) {
        refuse_config(reload);
        return false;
    }
    tell_of_flags(reload, config);
    lanes.config = config;
    lanes.config_path = reload->o.config;
    lanes.config_text = pl_buf_slice(&reload->config.text);
    lanes.generation = reload->numbers + 1;
    reload->next = pl_generation_load(&options, &lanes, reload->o.paths, reload->o.path_count,
                                      on_reload_loaded, reload);
    pl_doc_unref(config);
    return true;
}

static bool reload_make_room(void *arg)
{
    return pl_endings_make_room(&((struct pl_reload *)arg)->endings);
}

static const struct pl_reload_ops ops = {
    .wait = wait_until,
    .look = pl_reload_look,
    .check = pl_reload_check,
    .make_room = reload_make_room,
    .load = reload_load,
    .judge = reload_judge,
    .prepare = reload_prepare,
    .apply = pl_reload_apply,
    .refuse = reload_refuse,
    .drop = reload_drop,
    .settle = reload_settle,
};

void pl_reload_request(struct pl_reload *reload, const char *why, struct pl_reload_wait *wait)
{
    pl_loop_require(reload->o.loop);
    if (wait != NULL)
        pl_list_push(&reload->waits, &wait->link);
    reload->why = why;
    if (reload->next == NULL)
        reload->began_ns = pl_loop_now(reload->o.loop);
    pl_reload_tell(reload, PL_RELOAD_ASKED);
}

/* ---- life ---- */

struct pl_reload *pl_reload_create(const struct pl_reload_options *options, struct pl_lanes *lanes,
                                   struct pl_declarations *declarations)
{
    struct pl_reload *reload = PL_NEW(struct pl_reload);
    reload->o = *options;
    reload->numbers = 1;
    reload->endings = (struct pl_endings){.view = options->view, .grace_ns = options->grace_ns};
    pl_list_init(&reload->waits);
    pl_list_init(&reload->guarded_waits);
    reload_add_metrics(reload);
    pl_reload_state_init(&reload->state, &ops, reload, pl_loop_clock(options->loop),
                         options->watch);
    struct pl_generation_options first = {
        .cluster = options->cluster, .loop = options->loop, .ran = pl_reload_on_ran, .arg = reload};
    struct pl_generation *generation = pl_generation_create(&first, lanes, declarations);
    pl_reload_run(reload, generation, NULL);
    return reload;
}

void pl_reload_before_switch(struct pl_reload *reload, void (*before)(void *arg), void *arg)
{
    reload->before_switch = before;
    reload->before_switch_arg = arg;
}

int pl_reload_start(struct pl_reload *reload, struct pl_err *err)
{
    int rc = pl_lanes_add_indexes(pl_generation_lanes(reload->current), err);
    if (rc == 0 && reload->o.watch) {
        reload->files = pl_files_create(reload->o.loop, pl_reload_on_event, reload, err);
        rc = reload->files == NULL ? err->code : 0;
    }
    if (rc == 0)
        pl_reload_on_read(reload);
    return rc;
}

void pl_reload_stop(struct pl_reload *reload)
{
    pl_loop_require(reload->o.loop);
    reload->stopped = true;
    pl_reload_tell(reload, PL_RELOAD_STOP);
    reload->guard.on = false;
    pl_timer_stop(pl_reload_timers(reload), &reload->guard_end);
    pl_timer_stop(pl_reload_timers(reload), &reload->step);
    if (reload->looking != NULL)
        pl_blocking_work_abandon(reload->looking);
    pl_wait_end(&reload->disk);
    reload->looking = NULL;
    pl_files_destroy(reload->files);
    reload->files = NULL;
    pl_reload_tell_waits(&reload->waits, PL_RELOAD_REJECTED, "the host is stopping");
    pl_reload_tell_waits(&reload->guarded_waits, PL_RELOAD_APPLIED, NULL);
}

void pl_reload_destroy(struct pl_reload *reload)
{
    if (reload == NULL)
        return;
    pl_reload_stop(reload);
    pl_generation_destroy(reload->next);
    pl_generation_destroy(reload->good);
    pl_endings_deinit(&reload->endings);
    pl_generation_destroy(reload->current);
    pl_origin_unref(reload->refused);
    pl_origin_unref(reload->config.origin);
    pl_buf_deinit(&reload->config.text);
    for (size_t i = 0; i < PL_DISK_SCAN_ROLLED_BACK; i++)
        pl_origin_unref(reload->rolled_back[i]);
    pl_free(reload->refusal);
    pl_free(reload->failure);
    pl_free(reload);
}

void pl_reload_controller_gone(void *arg, const struct pl_controller *controller)
{
    struct pl_reload *reload = arg;
    pl_generation_forget(reload->current, controller);
    if (reload->good != NULL)
        pl_generation_forget(reload->good, controller);
    pl_endings_forget(&reload->endings, controller);
}

/* ---- status ---- */

void pl_reload_status(const struct pl_reload *reload, struct pl_reload_status *out)
{
    *out = (struct pl_reload_status){
        .generation = pl_generation_number(reload->current),
        .since_ns = reload->since_ns,
        .loading = reload->next != NULL,
        .guarded = reload->guard.on,
        .kept = 1 + (reload->good != NULL),
        .ending = reload->endings.count,
        .refusal = reload->refusal,
        .refused_ns = reload->refused_ns,
    };
    pl_origin_digest(pl_generation_origin(reload->current), out->digest);
}

struct pl_generation *pl_reload_current(const struct pl_reload *reload)
{
    return reload->current;
}
