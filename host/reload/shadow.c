/* Carries out the effects of the table in shadow_state.c, which makes the decisions. A shadow never
 * writes and never takes over; every end goes through close_generation. */
#include "reload/shadow.h"

#include "base/alloc.h"
#include "base/log.h"
#include "reload/config.h"
#include "reload/shadow_report.h"
#include "reload/shadow_state.h"
#include "control/manager.h"

#include <string.h>

struct actor {
    char *name; /* owned: the controller's */
    struct pl_shadow *shadow;
    struct pl_rehearsal *rehearsal; /* owned */
};

struct pl_shadow {
    struct pl_shadow_options o;
    struct pl_shadow_state state;
    bool stopped, told;
    struct pl_shadow_request request; /* paths: owned */
    char **paths;
    struct pl_generation *generation; /* NULL: none */
    struct actor *actors;             /* owned array */
    size_t actor_count;
    struct pl_shadow_report report;
    struct pl_err wrong; /* the error that may end it */
    struct pl_err err;   /* the error that ended it; code 0: a regular end */
    const char *reason;  /* literal, for a regular end */
    int64_t began_ns, ended_ns;
    struct pl_timer limit, poll;
    void (*hear)(void *arg, struct pl_doc *line, const struct pl_err *err); /* NULL: none */
    void *hear_arg;
};

static struct pl_timers *shadow_timers_of(const struct pl_shadow *shadow)
{
    return pl_loop_timers(shadow->o.loop);
}

/* ---- reporting ---- */

void pl_shadow_listen(struct pl_shadow *shadow,
                      void (*hear)(void *arg, struct pl_doc *line, const struct pl_err *err),
                      void *arg)
{
    shadow->hear = hear;
    shadow->hear_arg = arg;
}

static void say_line(struct pl_shadow *shadow, struct pl_doc *line)
{
    if (shadow->hear != NULL)
        shadow->hear(shadow->hear_arg, line, NULL);
    shadow->request.line(shadow->request.arg, line);
}

static void shadow_say(struct pl_shadow *shadow, struct pl_build *b)
{
    pl_build_end(b);
    struct pl_doc *line = pl_build_close(b);
    say_line(shadow, line);
    pl_doc_unref(line);
}

static struct pl_build *begin_line(const char *type)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_keyz(b, "type");
    pl_build_strz(b, type);
    return b;
}

static void build_count(struct pl_build *b, const char *key, uint64_t count)
{
    pl_build_keyz(b, key);
    pl_build_int(b, (int64_t)count);
}

static void say_summary(struct pl_shadow *shadow)
{
    struct pl_build *b = begin_line("summary");
    struct pl_rehearsal_stats all = {.pending = 0};
    for (size_t i = 0; i < shadow->actor_count; i++) {
        struct pl_rehearsal_stats one;
        pl_rehearsal_stats(shadow->actors[i].rehearsal, &one);
        all.pending += one.pending;
        all.runs += one.runs;
        all.skipped += one.skipped;
        all.walking = all.walking || one.walking;
    }
    build_count(b, "keys", shadow->report.keys);
    build_count(b, "different", pl_shadow_report_count(&shadow->report));
    build_count(b, "runs", all.runs);
    build_count(b, "pending", all.pending);
    pl_build_keyz(b, "all_keys");
    pl_build_bool(b, !all.walking && all.pending == 0);
    build_count(b, "left_out", shadow->report.left_out);
    build_count(b, "skipped", all.skipped);
    build_count(b, "generation", pl_generation_number(pl_reload_current(shadow->o.reload)));
    pl_build_keyz(b, "seconds");
    pl_build_double(b, (double)(shadow->ended_ns - shadow->began_ns) / 1e9);
    pl_build_keyz(b, "ended");
    pl_build_strz(b, shadow->reason);
    shadow_say(shadow, b);
}

static void on_key_line(void *arg, struct pl_doc *line)
{
    say_line(arg, line);
}

static void tell_end(void *arg)
{
    struct pl_shadow *shadow = arg;
    if (shadow->told)
        return;
    shadow->told = true;
    pl_shadow_report_deinit(&shadow->report);
    const struct pl_err *err = shadow->err.code != 0 ? &shadow->err : NULL;
    if (shadow->hear != NULL)
        shadow->hear(shadow->hear_arg, NULL, err);
    shadow->request.ended(shadow->request.arg, err);
}

/* ---- its state ---- */

static void shadow_tell(struct pl_shadow *shadow, enum pl_shadow_event event)
{
    pl_shadow_state_tell(&shadow->state, event);
}

static void tell_failure(struct pl_shadow *shadow, enum pl_shadow_event event,
                         const struct pl_err *why)
{
    shadow->wrong = *why;
    shadow_tell(shadow, event);
}

static void on_shadow_limit(struct pl_timer *timer)
{
    shadow_tell(PL_CONTAINER_OF(timer, struct pl_shadow, limit), PL_SHADOW_LIMIT);
}

static void on_shadow_poll(struct pl_timer *timer)
{
    shadow_tell(PL_CONTAINER_OF(timer, struct pl_shadow, poll), PL_SHADOW_POLL);
}

static void start_timer(struct pl_shadow *shadow, struct pl_timer *timer, int64_t due_ns,
                        pl_timer_fn fire)
{
    int64_t delay = due_ns - pl_loop_now(shadow->o.loop);
    pl_timer_start(shadow_timers_of(shadow), timer, delay > 0 ? delay : 0, fire);
}

static void start_limit(void *arg, int64_t due_ns)
{
    struct pl_shadow *shadow = arg;
    start_timer(shadow, &shadow->limit, due_ns, on_shadow_limit);
}

static void start_poll(void *arg, int64_t due_ns)
{
    struct pl_shadow *shadow = arg;
    start_timer(shadow, &shadow->poll, due_ns, on_shadow_poll);
}

/* ---- ending ---- */

static void shadow_reset(void *arg)
{
    struct pl_shadow *shadow = arg;
    tell_end(shadow);
    for (char **path = shadow->paths; path != NULL && *path != NULL; path++)
        pl_free(*path);
    pl_free(shadow->paths);
    shadow->paths = NULL;
    shadow->generation = NULL;
    pl_timer_stop(shadow_timers_of(shadow), &shadow->limit);
    pl_timer_stop(shadow_timers_of(shadow), &shadow->poll);
}

static void on_shadow_closed(void *arg, struct pl_generation *generation, const struct pl_err *err)
{
    PL_UNUSED(generation);
    PL_UNUSED(err);
    shadow_tell(arg, PL_SHADOW_CLOSED);
}

static void destroy_actors(struct pl_shadow *shadow)
{
    for (size_t i = 0; i < shadow->actor_count; i++) {
        pl_rehearsal_destroy(shadow->actors[i].rehearsal);
        pl_free(shadow->actors[i].name);
    }
    pl_free(shadow->actors);
    shadow->actors = NULL;
    shadow->actor_count = 0;
}

static bool is_quiet(void *arg)
{
    const struct pl_shadow *shadow = arg;
    for (size_t i = 0; i < shadow->actor_count; i++)
        if (!pl_rehearsal_is_quiet(shadow->actors[i].rehearsal))
            return false;
    return true;
}

static void close_generation(void *arg)
{
    struct pl_shadow *shadow = arg;
    destroy_actors(shadow);
    pl_generation_close(shadow->generation, 0, on_shadow_closed, shadow);
}

static void set_reason(struct pl_shadow *shadow, enum pl_shadow_why why)
{
    static const char reasons[][12] = {
        [PL_SHADOW_DURATION] = "duration", [PL_SHADOW_KEYS] = "keys",
        [PL_SHADOW_FINISHED] = "asked to", [PL_SHADOW_TOO_EARLY] = "asked to",
        [PL_SHADOW_REFUSED] = "",          [PL_SHADOW_ABORTED] = "ended early",
    };
    shadow->reason = reasons[why];
    if (why == PL_SHADOW_REFUSED || why == PL_SHADOW_ABORTED)
        shadow->err = shadow->wrong;
    else if (why == PL_SHADOW_TOO_EARLY)
        pl_err_set(&shadow->err, PL_ECANCELED, "the shadow was ended before it had begun");
}

static void shadow_end(void *arg, enum pl_shadow_why why, bool ran)
{
    struct pl_shadow *shadow = arg;
    set_reason(shadow, why);
    shadow->ended_ns = pl_loop_now(shadow->o.loop);
    for (size_t i = 0; i < shadow->actor_count; i++)
        pl_rehearsal_stop(shadow->actors[i].rehearsal);
    pl_log(PL_LOG_INFO, "shadow ended", pl_int("keys", (int64_t)shadow->report.keys),
           pl_int("different", (int64_t)pl_shadow_report_count(&shadow->report)),
           pl_str("error", shadow->err.code != 0 ? shadow->err.message : ""));
    if (ran) {
        pl_shadow_report_each(&shadow->report, on_key_line, shadow);
        say_summary(shadow);
    }
}

bool pl_shadow_finish(struct pl_shadow *shadow)
{
    pl_loop_require(shadow->o.loop);
    bool is_on = pl_shadow_state_is_on(&shadow->state);
    shadow_tell(shadow, PL_SHADOW_FINISH);
    return is_on;
}

void pl_shadow_abort(struct pl_shadow *shadow, const char *why)
{
    pl_loop_require(shadow->o.loop);
    struct pl_err err;
    pl_err_clear(&err);
    pl_err_set(&err, PL_ECANCELED, "%s", why);
    tell_failure(shadow, PL_SHADOW_ABORT, &err);
}

/* ---- running ---- */

static void on_compared(void *arg, const struct pl_rehearsed *rehearsed)
{
    struct actor *actor = arg;
    struct pl_shadow *shadow = actor->shadow;
    if (shadow->state.at != PL_SHADOW_RUNNING)
        return;
    pl_shadow_report_add(&shadow->report, actor->name, rehearsed);
    bool enough = shadow->request.keys > 0 && shadow->report.keys >= (uint64_t)shadow->request.keys;
    if (enough && !pl_timer_is_active(&shadow->poll)) /* not inside the end of a run */
        start_poll(shadow, pl_loop_now(shadow->o.loop));
}

static bool is_controller(const struct pl_controller_spec *spec)
{
    return spec->task.form == PL_NO_TASK;
}

static struct pl_controller *running_of(struct pl_shadow *shadow, const char *name)
{
    struct pl_controller *controller = pl_manager_find(shadow->o.manager, pl_slice_z(name));
    bool usable = controller != NULL && !pl_controller_is_retired(controller) &&
                  is_controller(pl_controller_spec(controller));
    return usable ? controller : NULL;
}

/* running and edition: either may be NULL. */
static void add_actor(struct pl_shadow *shadow, struct pl_controller *running,
                      struct pl_edition *edition)
{
    const struct pl_controller_spec *spec =
        edition != NULL ? pl_edition_spec(edition) : pl_controller_spec(running);
    struct actor *actor = &shadow->actors[shadow->actor_count++];
    *actor = (struct actor){.name = pl_strdup(spec->name), .shadow = shadow};
    struct pl_rehearsal_options options = {
        .cluster = shadow->o.cluster,
        .ops = pl_lanes_ops(),
        .self = pl_generation_lanes(shadow->generation),
        .edition = edition,
        .running = running,
        .compared = on_compared,
        .arg = actor,
    };
    actor->rehearsal = pl_rehearsal_create(&options);
}

static void build_name(struct pl_build *b, const char *name, bool wanted)
{
    if (wanted)
        pl_build_strz(b, name);
}

static void say_begun(struct pl_shadow *shadow)
{
    static const char lists[][12] = {"controllers", "added", "removed"};
    struct pl_build *b = begin_line("begun");
    for (size_t list = 0; list < PL_ARRAY_LEN(lists); list++) {
        pl_build_keyz(b, lists[list]);
        pl_build_array(b);
        for (size_t i = 0; i < shadow->actor_count; i++) {
            const char *name = shadow->actors[i].name;
            bool runs = running_of(shadow, name) != NULL;
            bool declared = pl_generation_edition_of(shadow->generation, name) != NULL;
            build_name(b, name, list == 0 ? runs && declared : list == 1 ? !runs : !declared);
        }
        pl_build_end(b);
    }
    shadow_say(shadow, b);
}

static void begin_runs(void *arg)
{
    struct pl_shadow *shadow = arg;
    struct pl_generation *generation = shadow->generation;
    size_t editions = pl_generation_controllers(generation);
    size_t running = pl_manager_count(shadow->o.manager);
    shadow->actors = pl_calloc(editions + running + 1, sizeof *shadow->actors);
    for (size_t i = 0; i < editions; i++) {
        struct pl_edition *edition = pl_generation_edition(generation, i);
        if (is_controller(pl_edition_spec(edition)))
            add_actor(shadow, running_of(shadow, pl_edition_spec(edition)->name), edition);
    }
    for (size_t i = 0; i < running; i++) {
        const char *name = pl_controller_spec(pl_manager_at(shadow->o.manager, i))->name;
        if (running_of(shadow, name) != NULL && pl_generation_edition_of(generation, name) == NULL)
            add_actor(shadow, running_of(shadow, name), NULL);
    }
    shadow->began_ns = pl_loop_now(shadow->o.loop);
    if (shadow->request.duration_ns > 0)
        start_limit(shadow, shadow->began_ns + shadow->request.duration_ns);
    pl_log(PL_LOG_INFO, "shadow began", pl_int("controllers", (int64_t)shadow->actor_count));
    say_begun(shadow);
}

/* ---- beginning ---- */

static void on_shadow_prepared(void *arg, struct pl_generation *generation,
                               const struct pl_err *err)
{
    struct pl_shadow *shadow = arg;
    PL_UNUSED(generation);
    if (err != NULL)
        tell_failure(shadow, PL_SHADOW_UNPREPARED, err);
    else
        shadow_tell(shadow, PL_SHADOW_PREPARED);
}

static void shadow_prepare(void *arg)
{
    struct pl_shadow *shadow = arg;
    pl_generation_prepare(shadow->generation, pl_reload_current(shadow->o.reload),
                          on_shadow_prepared, shadow);
}

static void on_shadow_loaded(void *arg, struct pl_generation *generation,
                             const struct pl_err *failed)
{
    struct pl_shadow *shadow = arg;
    struct pl_err err;
    pl_err_clear(&err);
    if (failed == NULL && pl_generation_controllers(generation) == 0) {
        pl_err_set(&err, PL_EINVAL, "%s: the scripts declare nothing; call perilune.controller",
                   shadow->paths[0]);
        failed = &err;
    }
    if (failed != NULL)
        tell_failure(shadow, PL_SHADOW_UNLOADED, failed);
    else
        shadow_tell(shadow, PL_SHADOW_LOADED);
}

static const struct pl_shadow_ops ops = {
    .prepare = shadow_prepare,
    .run = begin_runs,
    .end = shadow_end,
    .is_quiet = is_quiet,
    .close = close_generation,
    .tell = tell_end,
    .reset = shadow_reset,
    .limit = start_limit,
    .poll = start_poll,
};

static int shadow_load(struct pl_shadow *shadow, struct pl_err *err)
{
    struct pl_lanes_options lanes = shadow->o.lanes;
    struct pl_generation_options options = {.cluster = shadow->o.cluster, .loop = shadow->o.loop};
    struct pl_doc *config = NULL;
    struct pl_buf text = PL_BUF_INIT;
    int rc = shadow->o.config != NULL ? pl_config_read(shadow->o.config, &text, err) : 0;
    if (rc == 0 && shadow->o.config != NULL)
        rc = pl_config_decode(shadow->o.config, pl_buf_slice(&text), &config, err);
    if (rc == 0) {
        lanes.count = 1;
        lanes.shadow = true;
        lanes.metrics = NULL; /* metrics of its scripts are not the host's */
        lanes.config = config;
        lanes.config_path = shadow->o.config;
        lanes.config_text = pl_buf_slice(&text);
        lanes.generation = pl_generation_number(pl_reload_current(shadow->o.reload)) + 1;
        shadow->generation =
            pl_generation_load(&options, &lanes, (const char *const *)shadow->paths,
                               shadow->request.path_count, on_shadow_loaded, shadow);
    }
    pl_doc_unref(config);
    pl_buf_deinit(&text);
    return rc;
}

static void copy_paths(struct pl_shadow *shadow)
{
    const struct pl_shadow_request *request = &shadow->request;
    shadow->paths = pl_calloc(request->path_count + 1, sizeof(char *));
    for (size_t i = 0; i < request->path_count; i++)
        shadow->paths[i] = pl_strdup(request->paths[i]);
}

int pl_shadow_begin(struct pl_shadow *shadow, const struct pl_shadow_request *request,
                    struct pl_err *err)
{
    if (shadow->stopped || pl_manager_is_stopping(shadow->o.manager))
        return pl_err_set(err, PL_ECLOSED, "the host is stopping");
    if (shadow->state.at != PL_SHADOW_NONE)
        return pl_err_set(err, PL_EEXIST,
                          pl_shadow_state_is_on(&shadow->state)
                              ? "there is a shadow already; one at a time"
                              : "the last shadow is still ending; try again");
    shadow->request = *request;
    shadow->told = false;
    shadow->reason = "";
    pl_err_clear(&shadow->err);
    copy_paths(shadow);
    int rc = shadow_load(shadow, err);
    if (rc == 0) {
        shadow_tell(shadow, PL_SHADOW_BEGUN);
    } else {
        shadow->told = true; /* the caller knows it */
        shadow_reset(shadow);
    }
    return rc;
}

/* ---- life ---- */

static void on_switch(void *arg)
{
    pl_shadow_abort(arg, "the scripts were reloaded meanwhile");
}

struct pl_shadow *pl_shadow_create(const struct pl_shadow_options *options)
{
    struct pl_shadow *shadow = PL_NEW(struct pl_shadow);
    shadow->o = *options;
    pl_shadow_state_init(&shadow->state, &ops, shadow, pl_loop_clock(options->loop));
    pl_reload_before_switch(options->reload, on_switch, shadow);
    return shadow;
}

void pl_shadow_stop(struct pl_shadow *shadow)
{
    shadow->stopped = true;
    pl_shadow_abort(shadow, "the host is stopping");
}

void pl_shadow_destroy(struct pl_shadow *shadow)
{
    if (shadow == NULL)
        return;
    pl_shadow_stop(shadow);
    pl_reload_before_switch(shadow->o.reload, NULL, NULL);
    struct pl_generation *generation = shadow->generation;
    destroy_actors(shadow);
    if (shadow->state.at != PL_SHADOW_NONE)
        shadow_reset(shadow);
    pl_generation_destroy(generation);
    pl_free(shadow);
}
