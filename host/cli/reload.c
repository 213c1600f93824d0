#include "cli/reload.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "cli/endings.h"
#include "cli/guard.h"
#include "cli/look.h"
#include "cli/options.h"
#include "cli/reload_state.h"
#include "write/recorder.h"
#include "net/work.h"

#include <string.h>

#define FILE_CHANGED "a file changed"

struct pl_reload {
    struct pl_reload_options o;
    struct pl_reload_state state;
    struct pl_files *files;  /* NULL: --no-reload */
    bool said_unwatched;     /* that a file cannot be watched */
    struct pl_work *looking; /* the disk is compared; NULL: it is not */
    struct pl_wait disk;     /* while it is */
    struct {
        struct pl_buf text;
        struct pl_err err;
        struct pl_origin *origin; /* counted; NULL unless err has a code */
    } config;                     /* --config, as the last look found it */
    struct pl_generation *current;
    struct pl_generation *good; /* the one before, while the guard is on; NULL: none */
    struct pl_generation *next; /* is loading or preparing; NULL: none */
    struct pl_err wrong;        /* with it, or what was to be it; code 0: nothing yet */
    struct pl_origin *refused;  /* counted: what was tried last and does not run; NULL: none */
    struct pl_endings endings;
    uint64_t numbers; /* given out */
    bool stopped;
    const char *why;
    int64_t began_ns, since_ns, refused_ns;
    char *refusal;                                      /* owned */
    struct pl_origin *rolled_back[PL_LOOK_ROLLED_BACK]; /* counted: are not tried again */
    size_t rolled_back_count;
    struct pl_guard guard;
    char *failure; /* owned: the guard's first */
    struct pl_timer guard_end, step;
    struct pl_list waits, guarded_waits;
    struct pl_series *results[4], *seconds;
    void (*before_switch)(void *arg);
    void *before_switch_arg;
};

static struct pl_timers *timers_of(const struct pl_reload *reload)
{
    return pl_loop_timers(reload->o.loop);
}

static int64_t wall(const struct pl_reload *reload)
{
    return pl_clock_wall(pl_loop_clock(reload->o.loop));
}

static bool is_stopping(const struct pl_reload *reload)
{
    return reload->stopped || pl_manager_is_stopping(reload->o.manager);
}

/* ---- who waits ---- */

static void tell_all(struct pl_list *waits, enum pl_reload_result result, const char *message)
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

static void tell_applied(struct pl_reload *reload)
{
    PL_LIST_FOR (link, &reload->waits) {
        struct pl_reload_wait *wait = PL_CONTAINER_OF(link, struct pl_reload_wait, link);
        if (!wait->until_guarded || !reload->guard.on)
            continue;
        pl_link_unlink(link);
        pl_list_push(&reload->guarded_waits, link);
    }
    tell_all(&reload->waits, PL_RELOAD_APPLIED, NULL);
}

/* ---- numbers ---- */

static const double duration_bounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                         0.25,  0.5,    1,     2.5,  5,     10,   60};

static void add_metrics(struct pl_reload *reload)
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

static void tell(struct pl_reload *reload, enum pl_reload_event event)
{
    pl_reload_state_tell(&reload->state, is_stopping(reload) ? PL_RELOAD_STOP : event);
}

static void on_due(struct pl_timer *timer)
{
    tell(PL_CONTAINER_OF(timer, struct pl_reload, step), PL_RELOAD_DUE);
}

static void wait_until(void *arg, int64_t due_ns)
{
    struct pl_reload *reload = arg;
    int64_t delay = due_ns - pl_loop_now(reload->o.loop);
    pl_timer_start(timers_of(reload), &reload->step, delay > 0 ? delay : 0, on_due);
}

static void on_event(void *arg, const char *path)
{
    struct pl_reload *reload = arg;
    pl_log(PL_LOG_DEBUG, "a watched file changed", pl_str("path", path));
    if (reload->began_ns == 0)
        reload->began_ns = pl_loop_now(reload->o.loop);
    tell(reload, PL_RELOAD_CHANGED);
}

static void on_read(void *arg)
{
    struct pl_reload *reload = arg;
    if (reload->files != NULL)
        tell(reload, PL_RELOAD_READ);
}

/* ---- looking at the disk ---- */

static struct pl_origin *ref_origin(struct pl_origin *origin)
{
    return origin != NULL ? pl_origin_ref(origin) : NULL;
}

static struct pl_look *new_look(const struct pl_reload *reload)
{
    struct pl_look *look = PL_NEW(struct pl_look);
    look->running = pl_origin_ref(pl_generation_origin(reload->current));
    look->refused = ref_origin(reload->refused);
    look->next = reload->next != NULL ? pl_origin_ref(pl_generation_origin(reload->next)) : NULL;
    look->set = reload->files != NULL ? pl_files_set_create(reload->files) : NULL;
    return look;
}

/* For the load that may follow. */
static void keep_config(struct pl_reload *reload, struct pl_look *look)
{
    pl_buf_deinit(&reload->config.text);
    pl_origin_unref(reload->config.origin);
    reload->config.text = look->config_text;
    reload->config.err = look->config_err;
    reload->config.origin = look->config_origin;
    look->config_text = (struct pl_buf)PL_BUF_INIT;
    look->config_origin = NULL;
}

static enum pl_reload_event event_of(const struct pl_look *look)
{
    if (look->check)
        return look->is_next ? PL_RELOAD_UNMIXED : PL_RELOAD_MIXED;
    return look->is_next      ? PL_RELOAD_IS_NEXT
           : look->is_running ? PL_RELOAD_IS_RUNNING
           : look->is_refused ? PL_RELOAD_IS_REFUSED
                              : PL_RELOAD_IS_NEW;
}

/* Files that are watched from now on are watched before the state hears what was found. */
static void on_looked(void *arg)
{
    struct pl_look *look = arg;
    struct pl_reload *reload = look->owner;
    reload->looking = NULL;
    pl_wait_end(&reload->disk);
    enum pl_reload_event event = event_of(look);
    if (look->unwatched != NULL && !reload->said_unwatched) {
        reload->said_unwatched = true;
        pl_log(PL_LOG_WARN, "changes of a file will not be seen", pl_str("path", look->unwatched),
               pl_str("error", look->unwatched_why.message));
    }
    if (look->was_rolled_back && reload->wrong.code == 0)
        pl_err_set(&reload->wrong, PL_ESCRIPT,
                   "these scripts were tried and rolled back; change them");
    if (look->set != NULL)
        pl_files_use(reload->files, look->set);
    look->set = NULL;
    if (!look->check)
        keep_config(reload, look);
    pl_look_free(look);
    tell(reload, event);
}

static void run(void *look)
{
    pl_look_run(look);
}

static void drop_look(void *look)
{
    pl_look_free(look);
}

static void begin_look(struct pl_reload *reload, struct pl_look *look)
{
    struct pl_waits *waits = pl_site_waits(pl_cluster_site(reload->o.cluster));
    const struct pl_work_options work = {
        .run = run, .done = on_looked, .drop = drop_look, .arg = look};
    look->owner = reload;
    if (waits != NULL)
        pl_wait_begin_open(waits, &reload->disk, "the files of the scripts", "reload",
                           "a disk answers when it can");
    reload->looking = pl_work_start(reload->o.loop, &work);
}

static void look(void *arg)
{
    struct pl_reload *reload = arg;
    if (!reload->state.asked)
        reload->why = FILE_CHANGED;
    struct pl_look *look = new_look(reload);
    look->config = reload->o.config != NULL ? pl_strdup(reload->o.config) : NULL;
    begin_look(reload, look);
}

static void check(void *arg)
{
    struct pl_reload *reload = arg;
    struct pl_look *look = new_look(reload);
    look->check = true;
    look->carry = reload->wrong.code == 0;
    for (size_t i = 0; i < PL_LOOK_ROLLED_BACK; i++)
        look->rolled_back[i] = ref_origin(reload->rolled_back[i]);
    begin_look(reload, look);
}

/* ---- what is not taken ---- */

static void set_refused(struct pl_reload *reload, struct pl_origin *origin)
{
    pl_origin_unref(reload->refused);
    reload->refused = ref_origin(origin);
}

static void forget_refusal(struct pl_reload *reload)
{
    set_refused(reload, NULL);
    pl_free(reload->refusal);
    reload->refusal = NULL;
}

/* An Event of the host's own pod; the log has it anyway. */
static void say(struct pl_reload *reload, bool warning, const char *reason, const char *detail)
{
    char *note = pl_format("%s%s%s", warning ? "the scripts were not taken" : "new scripts run",
                           *detail != '\0' ? ": " : "", detail);
    pl_recorder_own_event(pl_cluster_recorder(reload->o.cluster), warning, reason, note);
    pl_free(note);
}

static void refuse(void *arg)
{
    struct pl_reload *reload = arg;
    struct pl_generation *next = reload->next;
    const char *message = reload->wrong.message;
    reload->next = NULL;
    reload->began_ns = 0;
    pl_free(reload->refusal);
    reload->refusal = pl_strdup(message);
    reload->refused_ns = wall(reload);
    pl_series_add(reload->results[PL_RELOAD_REJECTED], 1);
    pl_log(PL_LOG_ERROR, "reload refused: the running scripts go on",
           pl_int("generation", (int64_t)pl_generation_number(reload->current)),
           pl_str("trigger", reload->why), pl_str("error", message));
    say(reload, true, "ReloadRefused", message);
    if (next != NULL) {
        set_refused(reload, pl_generation_origin(next));
        pl_endings_add(&reload->endings, next);
    }
    tell_all(&reload->waits, PL_RELOAD_REJECTED, reload->refusal);
}

static void drop(void *arg)
{
    struct pl_reload *reload = arg;
    struct pl_generation *next = reload->next;
    reload->next = NULL;
    pl_endings_add(&reload->endings, next);
}

/* Nothing is to be loaded: what runs is what is there. */
static void settle(void *arg, bool asked)
{
    struct pl_reload *reload = arg;
    reload->began_ns = 0;
    if (reload->refused != NULL || asked)
        pl_log(PL_LOG_INFO, "nothing to reload: the scripts are those that run",
               pl_int("generation", (int64_t)pl_generation_number(reload->current)));
    forget_refusal(reload);
    tell_all(&reload->waits, PL_RELOAD_UNCHANGED, NULL);
}

static void remember_rolled_back(struct pl_reload *reload, struct pl_origin *origin)
{
    struct pl_origin **place =
        &reload->rolled_back[reload->rolled_back_count++ % PL_LOOK_ROLLED_BACK];
    pl_origin_unref(*place);
    *place = pl_origin_ref(origin);
}

/* ---- the switch, and the way back ---- */

static void run_from_now_on(struct pl_reload *reload, struct pl_generation *generation,
                            struct pl_buf *changed)
{
    const struct pl_generation *before = reload->current;
    if (reload->before_switch != NULL)
        reload->before_switch(reload->before_switch_arg);
    pl_generation_take_over(generation, reload->o.manager, before, changed);
    pl_lanes_on_read(pl_generation_lanes(generation), on_read, reload);
    reload->current = generation;
    reload->since_ns = wall(reload);
}

static void on_guard_end(struct pl_timer *timer)
{
    struct pl_reload *reload = PL_CONTAINER_OF(timer, struct pl_reload, guard_end);
    struct pl_generation *good = reload->good;
    reload->good = NULL;
    reload->guard.on = false;
    pl_endings_add(&reload->endings, good);
    tell_all(&reload->guarded_waits, PL_RELOAD_APPLIED, NULL);
}

static void begin_guard(struct pl_reload *reload, struct pl_generation *before)
{
    pl_free(reload->failure);
    reload->failure = NULL;
    tell_all(&reload->guarded_waits, PL_RELOAD_APPLIED, NULL);
    if (!reload->o.guard) {
        pl_endings_add(&reload->endings, before);
        return;
    }
    if (reload->good == NULL) {
        reload->good = before;
    } else {
        /* it was on trial itself, and made room for the newest */
        pl_endings_add(&reload->endings, before);
    }
    pl_guard_begin(&reload->guard, pl_loop_now(reload->o.loop));
    pl_timer_start(timers_of(reload), &reload->guard_end, PL_GUARD_NS, on_guard_end);
}

static void on_roll_back(struct pl_timer *timer)
{
    struct pl_reload *reload = PL_CONTAINER_OF(timer, struct pl_reload, guard_end);
    struct pl_generation *bad = reload->current, *good = reload->good;
    if (is_stopping(reload) || good == NULL)
        return;
    reload->good = NULL;
    pl_log(PL_LOG_ERROR, "the new scripts fail: back to those before",
           pl_int("from", (int64_t)pl_generation_number(bad)),
           pl_int("to", (int64_t)pl_generation_number(good)), pl_int("runs", reload->guard.runs),
           pl_int("failed", reload->guard.failures), pl_str("first_failure", reload->failure));
    remember_rolled_back(reload, pl_generation_origin(bad));
    pl_series_add(reload->results[PL_RELOAD_ROLLED_BACK], 1);
    say(reload, true, "ReloadRolledBack", reload->failure != NULL ? reload->failure : "");
    run_from_now_on(reload, good, NULL);
    set_refused(reload, pl_generation_origin(bad));
    pl_free(reload->refusal);
    reload->refusal = pl_strdup(reload->failure);
    reload->refused_ns = wall(reload);
    pl_endings_add(&reload->endings, bad);
    tell(reload,
         PL_RELOAD_BACK); /* what is prepared was compared with what does not run any more */
    tell_all(&reload->guarded_waits, PL_RELOAD_ROLLED_BACK, reload->refusal);
}

/* From inside the end of a run: what follows happens later. */
static void on_ran(void *arg, struct pl_generation *generation, const struct pl_ran *ran)
{
    struct pl_reload *reload = arg;
    if (generation != reload->current || !reload->guard.on ||
        ran->outcome->outcome == PL_OUTCOME_CANCELED)
        return;
    bool lost = ran->outcome->barred && !ran->failed_before;
    bool failed = lost || (ran->outcome->by_script && !ran->failed_before &&
                           (ran->outcome->outcome == PL_OUTCOME_ERROR ||
                            ran->outcome->outcome == PL_OUTCOME_TIMEOUT));
    if (failed && reload->failure == NULL) {
        const char *text =
            ran->outcome->traceback != NULL ? ran->outcome->traceback : ran->outcome->message;
        reload->failure = pl_format("%.*s: %s\n%s", PL_FMT(ran->run->key),
                                    ran->outcome->message != NULL ? ran->outcome->message : "",
                                    text != NULL ? text : "");
    }
    int64_t now = pl_loop_now(reload->o.loop);
    enum pl_guard_verdict verdict =
        lost ? pl_guard_lost(&reload->guard, now) : pl_guard_ran(&reload->guard, failed, now);
    if (verdict != PL_GUARD_WATCHING)
        pl_timer_start(timers_of(reload), &reload->guard_end, 0,
                       verdict == PL_GUARD_FAILED ? on_roll_back : on_guard_end);
}

static void apply(void *arg)
{
    struct pl_reload *reload = arg;
    struct pl_generation *before = reload->current, *next = reload->next;
    struct pl_buf changed = PL_BUF_INIT;
    int64_t began = pl_loop_now(reload->o.loop);
    reload->numbers++;
    pl_view_add_lanes(reload->o.view, pl_generation_lanes(next));
    run_from_now_on(reload, next, &changed);
    int64_t now = pl_loop_now(reload->o.loop);
    forget_refusal(reload);
    begin_guard(reload, before);
    pl_series_add(reload->results[PL_RELOAD_APPLIED], 1);
    pl_series_observe(reload->seconds, (double)(now - reload->began_ns) / 1e9);
    pl_log(PL_LOG_INFO, "reloaded", pl_int("generation", (int64_t)pl_generation_number(next)),
           pl_str("trigger", reload->why),
           pl_int("controllers", (int64_t)pl_generation_controllers(next)),
           pl_strn("changed", pl_buf_slice(&changed)),
           pl_num("seconds", (double)(now - reload->began_ns) / 1e9),
           pl_num("switch_seconds", (double)(now - began) / 1e9));
    say(reload, false, "Reloaded", pl_buf_z(&changed));
    pl_buf_deinit(&changed);
    reload->next = NULL;
    reload->began_ns = 0;
    tell_applied(reload);
}

/* ---- loading ---- */

static void on_prepared(void *arg, struct pl_generation *generation, const struct pl_err *err)
{
    struct pl_reload *reload = arg;
    PL_REQUIRE(generation == reload->next);
    if (err != NULL)
        reload->wrong = *err;
    tell(reload, err != NULL ? PL_RELOAD_UNPREPARED : PL_RELOAD_PREPARED);
}

static void prepare(void *arg)
{
    struct pl_reload *reload = arg;
    pl_generation_prepare(reload->next, reload->current, on_prepared, reload);
}

static bool judge(void *arg)
{
    struct pl_reload *reload = arg;
    if (reload->wrong.code == 0 && pl_generation_controllers(reload->next) == 0)
        pl_err_set(&reload->wrong, PL_EINVAL,
                   "%s: the scripts declare nothing; call perilune.controller", reload->o.paths[0]);
    return reload->wrong.code == 0;
}

static void on_loaded(void *arg, struct pl_generation *generation, const struct pl_err *failed)
{
    struct pl_reload *reload = arg;
    PL_REQUIRE(generation == reload->next);
    if (failed != NULL)
        reload->wrong = *failed;
    tell(reload, PL_RELOAD_LOADED);
}

/* Nothing else was read: until it changes there is nothing to try. */
static void refuse_config(struct pl_reload *reload)
{
    struct pl_origin *origin = reload->config.origin;
    origin = origin != NULL ? pl_origin_ref(origin) : pl_origin_create();
    if (reload->config.text.len > 0)
        pl_origin_add_common(origin, reload->o.config, pl_buf_slice(&reload->config.text));
    set_refused(reload, origin);
    pl_origin_unref(origin);
}

/* Of what the last look has read. */
static bool decode_config(struct pl_reload *reload, struct pl_doc **config)
{
    reload->wrong = reload->config.err;
    return reload->o.config == NULL ||
           (reload->wrong.code == 0 &&
            pl_config_decode(reload->o.config, pl_buf_slice(&reload->config.text), config,
                             &reload->wrong) == 0);
}

static bool load(void *arg)
{
    struct pl_reload *reload = arg;
    if (reload->began_ns == 0)
        reload->began_ns = pl_loop_now(reload->o.loop);
    struct pl_lanes_options lanes = reload->o.lanes;
    struct pl_generation_options options = {
        .cluster = reload->o.cluster, .loop = reload->o.loop, .ran = on_ran, .arg = reload};
    struct pl_doc *config = NULL;
    if (!decode_config(reload, &config)) {
        refuse_config(reload);
        return false;
    }
    lanes.config = config;
    lanes.config_path = reload->o.config;
    lanes.config_text = pl_buf_slice(&reload->config.text);
    lanes.generation = reload->numbers + 1;
    reload->next = pl_generation_load(&options, &lanes, reload->o.paths, reload->o.path_count,
                                      on_loaded, reload);
    pl_doc_unref(config);
    return true;
}

static bool make_room(void *arg)
{
    return pl_endings_make_room(&((struct pl_reload *)arg)->endings);
}

static const struct pl_reload_ops ops = {
    .wait = wait_until,
    .look = look,
    .check = check,
    .make_room = make_room,
    .load = load,
    .judge = judge,
    .prepare = prepare,
    .apply = apply,
    .refuse = refuse,
    .drop = drop,
    .settle = settle,
};

void pl_reload_request(struct pl_reload *reload, const char *why, struct pl_reload_wait *wait)
{
    if (wait != NULL)
        pl_list_push(&reload->waits, &wait->link);
    reload->why = why;
    if (reload->next == NULL)
        reload->began_ns = pl_loop_now(reload->o.loop);
    tell(reload, PL_RELOAD_ASKED);
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
    add_metrics(reload);
    pl_reload_state_init(&reload->state, &ops, reload, pl_loop_clock(options->loop),
                         options->watch);
    struct pl_generation_options first = {
        .cluster = options->cluster, .loop = options->loop, .ran = on_ran, .arg = reload};
    struct pl_generation *generation = pl_generation_create(&first, lanes, declarations);
    run_from_now_on(reload, generation, NULL);
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
        reload->files = pl_files_create(reload->o.loop, on_event, reload, err);
        rc = reload->files == NULL ? err->code : 0;
    }
    if (rc == 0)
        on_read(reload);
    return rc;
}

void pl_reload_stop(struct pl_reload *reload)
{
    reload->stopped = true;
    tell(reload, PL_RELOAD_STOP);
    reload->guard.on = false;
    pl_timer_stop(timers_of(reload), &reload->guard_end);
    pl_timer_stop(timers_of(reload), &reload->step);
    if (reload->looking != NULL)
        pl_work_abandon(reload->looking);
    pl_wait_end(&reload->disk);
    reload->looking = NULL;
    pl_files_destroy(reload->files);
    reload->files = NULL;
    tell_all(&reload->waits, PL_RELOAD_REJECTED, "the host is stopping");
    tell_all(&reload->guarded_waits, PL_RELOAD_APPLIED, NULL);
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
    for (size_t i = 0; i < PL_LOOK_ROLLED_BACK; i++)
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

/* ---- what is going on ---- */

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
