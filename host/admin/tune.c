/* The admin command "tune": the log's level, and a controller's workers and delays, for a limited
 * time. Nothing is kept when the host ends; each change expires, so that a host is not left at
 * debug level.
 *
 *   {"command":"tune","log_level":"debug","controller":"website","workers":8,"base_ms":1000,
 *    "max_ms":60000,"qps":10,"burst":20,"for_ms":900000,"reset":false}
 *
 * Every member except the first is optional; without any, it returns the current tuning. */
#include "admin/admin.h"

#include "base/alloc.h"
#include "base/log.h"
#include "control/tuning.h"

#include <string.h>

#define FOR_NS (15 * 60 * PL_SECOND)

struct pl_tuner {
    struct pl_timers *timers; /* borrowed for life */
    struct pl_timer level;    /* active: the log's level is tuned */
    enum pl_log_level before;
};

static void restore_level(struct pl_tuner *tuner)
{
    if (!pl_timer_is_active(&tuner->level))
        return;
    pl_timer_stop(tuner->timers, &tuner->level);
    pl_log_set_level(tuner->before);
}

static void on_level_over(struct pl_timer *timer)
{
    struct pl_tuner *tuner = PL_CONTAINER_OF(timer, struct pl_tuner, level);
    pl_log_set_level(tuner->before);
    pl_log(PL_LOG_INFO, "log level restored");
}

static int64_t integer_of(struct pl_admin_call *call, const char *name, int64_t fallback)
{
    int64_t value = fallback;
    struct pl_node node = pl_node_getz(pl_admin_request(call), name);
    if (!pl_node_is_missing(node) && (!pl_node_int(node, &value) || value < 0 || value > INT32_MAX))
        value = INT64_MAX; /* the later check refuses it */
    return value;
}

static bool tune_has(struct pl_admin_call *call, const char *name)
{
    return !pl_node_is_missing(pl_node_getz(pl_admin_request(call), name));
}

static struct pl_controller *tune_find(struct pl_manager *manager, const char *name)
{
    for (size_t i = 0; i < pl_manager_count(manager); i++) {
        struct pl_controller *c = pl_manager_at(manager, i);
        if (strcmp(pl_controller_spec(c)->name, name) == 0)
            return c;
    }
    return NULL;
}

static void tune_build_controller(struct pl_build *b, struct pl_controller *c)
{
    struct pl_tuning t;
    int64_t left;
    if (!pl_controller_tuned(c, &t, &left))
        return;
    pl_build_object(b);
    pl_build_put_text(b, "controller", pl_slice_z(pl_controller_spec(c)->name));
    pl_build_keyz(b, "workers");
    pl_build_int(b, t.workers > 0 ? t.workers : pl_controller_spec(c)->max_concurrent);
    pl_build_keyz(b, "declared_workers");
    pl_build_int(b, pl_controller_spec(c)->max_concurrent);
    if (t.base_ns > 0)
        pl_admin_build_seconds(b, "retry_base_seconds", t.base_ns);
    if (t.max_ns > 0)
        pl_admin_build_seconds(b, "retry_max_seconds", t.max_ns);
    if (t.qps > 0) {
        pl_build_keyz(b, "retry_qps");
        pl_build_double(b, t.qps);
    }
    pl_admin_build_seconds(b, "left_seconds", left);
    pl_build_end(b);
}

static void tune_answer(const struct pl_tuner *tuner, struct pl_admin_call *call)
{
    struct pl_manager *manager = pl_admin_host(call)->manager;
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_put_strz(b, "log_level", pl_log_level_name(pl_log_get_level()));
    if (pl_timer_is_active(&tuner->level))
        pl_admin_build_seconds(b, "log_level_left_seconds",
                               tuner->level.due_ns - pl_clock_mono(tuner->timers->clock));
    pl_build_keyz(b, "controllers");
    pl_build_array(b);
    for (size_t i = 0; i < pl_manager_count(manager); i++)
        tune_build_controller(b, pl_manager_at(manager, i));
    pl_build_end(b);
    pl_build_end(b);
    struct pl_doc *result = pl_build_close(b);
    pl_admin_reply(call, result);
}

/* 0, or an error that was not reported yet. */
static int tune_controller(struct pl_admin_call *call, int64_t for_ns, struct pl_err *err)
{
    const char *name = pl_admin_text(call, "controller");
    static const char *const members[] = {"workers", "base_ms", "max_ms", "qps", "burst"};
    bool asked = false;
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        asked = asked || tune_has(call, members[i]);
    if (name == NULL)
        return asked ? pl_err_set(err, PL_EINVAL, "which controller? use --controller NAME") : 0;
    struct pl_controller *c = tune_find(pl_admin_host(call)->manager, name);
    if (c == NULL)
        return pl_err_set(err, PL_EINVAL, "there is no controller \"%s\"", name);
    if (!asked)
        return pl_err_set(err, PL_EINVAL,
                          "tune what? use --workers, --retry-base, --retry-max or --retry-qps");
    int64_t workers = integer_of(call, "workers", 0), burst = integer_of(call, "burst", 0);
    int64_t base = integer_of(call, "base_ms", 0), max = integer_of(call, "max_ms", 0);
    struct pl_tuning tuning = {
        .workers = workers > INT32_MAX ? -1 : (int)workers,
        .base_ns = base > INT32_MAX ? -1 : base * PL_MS,
        .max_ns = max > INT32_MAX ? -1 : max * PL_MS,
        .qps = pl_node_double(pl_node_getz(pl_admin_request(call), "qps")),
        .burst = burst > INT32_MAX ? -1 : (int)burst,
    };
    return pl_controller_tune(c, &tuning, for_ns, err);
}

static int tune_level(struct pl_tuner *tuner, const char *text, int64_t for_ns, struct pl_err *err)
{
    enum pl_log_level level;
    if (!pl_log_parse_level(text, &level))
        return pl_err_set(err, PL_EINVAL, "\"%s\" is not a log level: debug, info, warn or error",
                          text);
    if (for_ns <= 0 || for_ns > PL_TUNE_FOR_MAX)
        return pl_err_set(err, PL_EINVAL, "the time must be from 1s to 24h");
    if (!pl_timer_is_active(&tuner->level))
        tuner->before = pl_log_get_level();
    pl_timer_start(tuner->timers, &tuner->level, for_ns, on_level_over);
    pl_log(PL_LOG_INFO, "log level changed", pl_str("level", text),
           pl_num("seconds", (double)for_ns / (double)PL_SECOND));
    pl_log_set_level(level);
    return 0;
}

static void tune_reset(struct pl_tuner *tuner, struct pl_manager *manager)
{
    restore_level(tuner);
    for (size_t i = 0; i < pl_manager_count(manager); i++)
        pl_controller_untune(pl_manager_at(manager, i));
}

static void tune_run(void *arg, struct pl_admin_call *call)
{
    struct pl_tuner *tuner = arg;
    struct pl_err err;
    pl_err_clear(&err);
    const char *level = pl_admin_text(call, "log_level");
    int64_t for_ms = integer_of(call, "for_ms", FOR_NS / PL_MS);
    int64_t for_ns = for_ms > INT32_MAX ? -1 : for_ms * PL_MS;
    if (pl_node_bool(pl_node_getz(pl_admin_request(call), "reset")))
        tune_reset(tuner, pl_admin_host(call)->manager);
    int rc = tune_controller(call, for_ns, &err);
    if (rc == 0 && level != NULL)
        rc = tune_level(tuner, level, for_ns, &err);
    if (rc != 0)
        pl_admin_fail(call, "%s", err.message);
    else
        tune_answer(tuner, call);
}

struct pl_tuner *pl_admin_add_tune(struct pl_admin *admin, struct pl_timers *timers)
{
    static const struct pl_admin_command command = {"tune", tune_run};
    struct pl_tuner *tuner = PL_NEW(struct pl_tuner);
    tuner->timers = timers;
    pl_admin_add(admin, &command, tuner);
    return tuner;
}

void pl_tuner_destroy(struct pl_tuner *tuner)
{
    if (tuner != NULL)
        restore_level(tuner);
    pl_free(tuner);
}
