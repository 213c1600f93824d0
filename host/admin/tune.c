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

static bool tune_has(struct pl_admin_call *call, const char *name)
{
    return !pl_node_is_missing(pl_node_getz(pl_admin_request(call), name));
}

/* A number that may be given. */
struct tune_number {
    const char *member, *range; /* "first delay must be from ..." */
    int64_t least, most;
};

/* Leaves *value when it is not given. EINVAL for one that is out of its range. */
static int tune_read(struct pl_admin_call *call, const struct tune_number *number, int64_t *value,
                     struct pl_err *err)
{
    int64_t given;
    struct pl_node node = pl_node_getz(pl_admin_request(call), number->member);
    if (pl_node_is_missing(node))
        return 0;
    if (!pl_node_int(node, &given) || given < number->least || given > number->most)
        return pl_err_set(err, PL_EINVAL, "%s", number->range);
    *value = given;
    return 0;
}

static int tune_numbers(struct pl_admin_call *call, struct pl_tuning *tuning, struct pl_err *err)
{
    static const struct tune_number numbers[] = {
        {"workers", "workers must be from 1 to 1000", 1, PL_TUNE_WORKERS_MAX},
        {"base_ms", "the first delay must be from 1ms to 24h", 1, PL_TUNE_DELAY_MAX / PL_MS},
        {"max_ms", "the longest delay must be from 1ms to 24h", 1, PL_TUNE_DELAY_MAX / PL_MS},
        {"burst", "the burst must be from 1 to 1000000", 1, 1000000},
    };
    int64_t values[PL_ARRAY_LEN(numbers)] = {0};
    for (size_t i = 0; i < PL_ARRAY_LEN(numbers); i++)
        if (tune_read(call, &numbers[i], &values[i], err) != 0)
            return PL_EINVAL;
    *tuning = (struct pl_tuning){
        .workers = (int)values[0],
        .base_ns = values[1] * PL_MS,
        .max_ns = values[2] * PL_MS,
        .burst = (int)values[3],
    };
    if (!tune_has(call, "qps"))
        return 0;
    tuning->qps = pl_node_double(pl_node_getz(pl_admin_request(call), "qps"));
    return tuning->qps > 0
               ? 0
               : pl_err_set(err, PL_EINVAL, "the retries per second must be above zero");
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
    static const char members[][8] = {"workers", "base_ms", "max_ms", "qps", "burst"};
    bool asked = false;
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        asked = asked || tune_has(call, members[i]);
    if (name == NULL)
        return asked ? pl_err_set(err, PL_EINVAL, "numbers are those of a controller: name it") : 0;
    struct pl_controller *c = pl_admin_find_controller(call, name, err);
    if (c == NULL)
        return err->code;
    if (!asked)
        return pl_err_set(err, PL_EINVAL, "a controller is named, and no number of it");
    struct pl_tuning tuning;
    int rc = tune_numbers(call, &tuning, err);
    if (rc == 0 && tuning.workers > 0 && pl_controller_spec(c)->task.form != PL_NO_TASK)
        return pl_err_set(err, PL_EINVAL, "\"%s\" is a task: it never runs twice at once", name);
    return rc == 0 ? pl_controller_tune(c, &tuning, for_ns, err) : rc;
}

static int tune_level(struct pl_tuner *tuner, const char *text, int64_t for_ns, struct pl_err *err)
{
    enum pl_log_level level;
    if (!pl_log_parse_level(text, &level))
        return pl_err_set(err, PL_EINVAL, "\"%s\" is not a log level: debug, info, warn or error",
                          text);
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

/* Checks which options go together, and the time. */
static int tune_terms(struct pl_admin_call *call, bool reset, int64_t *for_ns, struct pl_err *err)
{
    static const struct tune_number time = {"for_ms", "the time must be from 1s to 24h", 1000,
                                            PL_TUNE_FOR_MAX / PL_MS};
    bool changes = tune_has(call, "log_level") || tune_has(call, "controller");
    int64_t for_ms = FOR_NS / PL_MS;
    if (reset && changes)
        return pl_err_set(err, PL_EINVAL, "reset undoes all changes: use it alone");
    if (tune_has(call, "for_ms") && !changes)
        return pl_err_set(err, PL_EINVAL, "a time is given, and nothing that changes");
    int rc = tune_read(call, &time, &for_ms, err);
    *for_ns = for_ms * PL_MS;
    return rc;
}

static void tune_run(void *arg, struct pl_admin_call *call)
{
    struct pl_tuner *tuner = arg;
    struct pl_err err;
    int64_t for_ns = 0;
    pl_err_clear(&err);
    const char *level = pl_admin_text(call, "log_level");
    bool reset = pl_node_bool(pl_node_getz(pl_admin_request(call), "reset"));
    int rc = tune_terms(call, reset, &for_ns, &err);
    if (rc == 0)
        rc = tune_controller(call, for_ns, &err);
    if (rc == 0 && level != NULL)
        rc = tune_level(tuner, level, for_ns, &err);
    if (rc == 0 && reset)
        tune_reset(tuner, pl_admin_host(call)->manager);
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
