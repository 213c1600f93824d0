#include "cli/shadow.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "cli/options.h"
#include "cli/shadow_report.h"
#include "control/manager.h"

#include <string.h>

#define QUIET_NS (10 * PL_MS)    /* between looks at whether its runs have ended */
#define TELL_NS  (2 * PL_SECOND) /* whoever asked is told then, also if its lanes have not ended */

enum stage {
    NONE,
    LOADING,
    PREPARING,
    RUNNING,
    ENDING,  /* its runs end, */
    CLOSING, /* and then its generation */
};

struct actor {
    char *name; /* owned: the controller's */
    struct pl_shadow *shadow;
    struct pl_rehearsal *rehearsal; /* owned */
};

struct pl_shadow {
    struct pl_shadow_options o;
    enum stage stage;
    bool stopped, told;
    struct pl_shadow_request request; /* paths: owned */
    char **paths;
    struct pl_generation *generation; /* NULL: none */
    struct actor *actors;             /* owned array */
    size_t actor_count;
    struct pl_shadow_report report;
    struct pl_err err;  /* why it ended; code 0: as it should */
    const char *reason; /* literal, of an end as it should be */
    int64_t began_ns, ended_ns;
    struct pl_timer limit, poll;
};

static struct pl_timers *timers_of(const struct pl_shadow *shadow)
{
    return pl_loop_timers(shadow->o.loop);
}

/* ---- telling ---- */

static void say(struct pl_shadow *shadow, struct pl_build *b)
{
    pl_build_end(b);
    struct pl_doc *line = pl_build_finish(b);
    pl_build_destroy(b);
    shadow->request.line(shadow->request.arg, line);
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
    say(shadow, b);
}

static void on_key_line(void *arg, struct pl_doc *line)
{
    struct pl_shadow *shadow = arg;
    shadow->request.line(shadow->request.arg, line);
}

static void tell(struct pl_shadow *shadow)
{
    if (shadow->told)
        return;
    shadow->told = true;
    pl_shadow_report_deinit(&shadow->report);
    shadow->request.ended(shadow->request.arg, shadow->err.code != 0 ? &shadow->err : NULL);
}

/* ---- ending ---- */

static void reset(struct pl_shadow *shadow)
{
    tell(shadow);
    for (char **path = shadow->paths; path != NULL && *path != NULL; path++)
        pl_free(*path);
    pl_free(shadow->paths);
    shadow->paths = NULL;
    shadow->generation = NULL;
    shadow->stage = NONE;
    pl_timer_stop(timers_of(shadow), &shadow->limit);
    pl_timer_stop(timers_of(shadow), &shadow->poll);
}

static void on_closed(void *arg, struct pl_generation *generation, const struct pl_err *err)
{
    PL_UNUSED(generation);
    PL_UNUSED(err);
    reset(arg);
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

static bool is_quiet(const struct pl_shadow *shadow)
{
    for (size_t i = 0; i < shadow->actor_count; i++)
        if (!pl_rehearsal_is_quiet(shadow->actors[i].rehearsal))
            return false;
    return true;
}

static void on_poll(struct pl_timer *timer)
{
    struct pl_shadow *shadow = PL_CONTAINER_OF(timer, struct pl_shadow, poll);
    if (shadow->stage == ENDING && is_quiet(shadow)) {
        destroy_actors(shadow);
        shadow->stage = CLOSING;
        pl_generation_close(shadow->generation, 0, on_closed, shadow);
        return;
    }
    pl_timer_start(timers_of(shadow), timer, QUIET_NS, on_poll);
}

static void on_tell(struct pl_timer *timer)
{
    tell(PL_CONTAINER_OF(timer, struct pl_shadow, limit));
}

/* From wherever it is. */
static void end(struct pl_shadow *shadow)
{
    enum stage from = shadow->stage;
    if (from == NONE || from >= ENDING)
        return;
    shadow->ended_ns = pl_loop_now(shadow->o.loop);
    for (size_t i = 0; i < shadow->actor_count; i++)
        pl_rehearsal_stop(shadow->actors[i].rehearsal);
    shadow->stage = ENDING;
    pl_log(PL_LOG_INFO, "shadow ended", pl_int("keys", (int64_t)shadow->report.keys),
           pl_int("different", (int64_t)pl_shadow_report_count(&shadow->report)),
           pl_str("error", shadow->err.code != 0 ? shadow->err.message : ""));
    if (from == RUNNING) {
        pl_shadow_report_each(&shadow->report, on_key_line, shadow);
        say_summary(shadow);
    }
    pl_timer_start(timers_of(shadow), &shadow->limit, TELL_NS, on_tell);
    if (from != LOADING) /* else when it has loaded */
        pl_timer_start(timers_of(shadow), &shadow->poll, 0, on_poll);
}

bool pl_shadow_finish(struct pl_shadow *shadow)
{
    if (shadow->stage == NONE || shadow->stage >= ENDING)
        return false;
    shadow->reason = "asked to";
    if (shadow->stage != RUNNING)
        pl_err_set(&shadow->err, PL_ECANCELED, "the shadow was ended before it had begun");
    end(shadow);
    return true;
}

void pl_shadow_abort(struct pl_shadow *shadow, const char *why)
{
    if (shadow->stage == NONE || shadow->stage >= ENDING)
        return;
    shadow->reason = "ended early";
    pl_err_set(&shadow->err, PL_ECANCELED, "%s", why);
    end(shadow);
}

static void on_limit(struct pl_timer *timer)
{
    struct pl_shadow *shadow = PL_CONTAINER_OF(timer, struct pl_shadow, limit);
    shadow->reason = "duration";
    end(shadow);
}

/* ---- running ---- */

static void on_enough(struct pl_timer *timer)
{
    struct pl_shadow *shadow = PL_CONTAINER_OF(timer, struct pl_shadow, poll);
    shadow->reason = "keys";
    end(shadow);
}

static void on_compared(void *arg, const struct pl_rehearsed *rehearsed)
{
    struct actor *actor = arg;
    struct pl_shadow *shadow = actor->shadow;
    if (shadow->stage != RUNNING)
        return;
    pl_shadow_report_add(&shadow->report, actor->name, rehearsed);
    bool enough = shadow->request.keys > 0 && shadow->report.keys >= (uint64_t)shadow->request.keys;
    if (enough && !pl_timer_is_active(&shadow->poll)) /* not from inside the end of a run */
        pl_timer_start(timers_of(shadow), &shadow->poll, 0, on_enough);
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
    static const char *const lists[] = {"controllers", "added", "removed"};
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
    say(shadow, b);
}

static void begin_runs(struct pl_shadow *shadow)
{
    struct pl_generation *generation = shadow->generation;
    size_t editions = pl_generation_controllers(generation);
    size_t running = pl_manager_count(shadow->o.manager);
    shadow->stage = RUNNING;
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
        pl_timer_start(timers_of(shadow), &shadow->limit, shadow->request.duration_ns, on_limit);
    pl_log(PL_LOG_INFO, "shadow began", pl_int("controllers", (int64_t)shadow->actor_count));
    say_begun(shadow);
}

/* ---- beginning ---- */

static void refuse(struct pl_shadow *shadow, const struct pl_err *err)
{
    shadow->err = *err;
    end(shadow);
}

static void on_prepared(void *arg, struct pl_generation *generation, const struct pl_err *err)
{
    struct pl_shadow *shadow = arg;
    PL_UNUSED(generation);
    if (shadow->stage != PREPARING)
        return;
    if (err != NULL)
        refuse(shadow, err);
    else
        begin_runs(shadow);
}

static void on_loaded(void *arg, struct pl_generation *generation, const struct pl_err *failed)
{
    struct pl_shadow *shadow = arg;
    struct pl_err err;
    pl_err_clear(&err);
    if (shadow->stage != LOADING) { /* ended meanwhile */
        pl_timer_start(timers_of(shadow), &shadow->poll, 0, on_poll);
        return;
    }
    shadow->stage = PREPARING;
    if (failed != NULL) {
        refuse(shadow, failed);
    } else if (pl_generation_controllers(generation) == 0) {
        pl_err_set(&err, PL_EINVAL, "%s: the scripts declare nothing; call perilune.controller",
                   shadow->paths[0]);
        refuse(shadow, &err);
    } else {
        pl_generation_prepare(generation, pl_reload_current(shadow->o.reload), on_prepared, shadow);
    }
}

static int load(struct pl_shadow *shadow, struct pl_err *err)
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
        lanes.metrics = NULL; /* what its scripts count is not what the host does */
        lanes.config = config;
        lanes.config_path = shadow->o.config;
        lanes.config_text = pl_buf_slice(&text);
        lanes.generation = pl_generation_number(pl_reload_current(shadow->o.reload)) + 1;
        shadow->stage = LOADING;
        shadow->generation =
            pl_generation_load(&options, &lanes, (const char *const *)shadow->paths,
                               shadow->request.path_count, on_loaded, shadow);
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
    if (shadow->stage != NONE)
        return pl_err_set(err, PL_EEXIST,
                          shadow->stage >= ENDING ? "the last shadow is ending still; try again"
                                                  : "there is a shadow already; one at a time");
    shadow->request = *request;
    shadow->told = false;
    shadow->reason = "";
    pl_err_clear(&shadow->err);
    copy_paths(shadow);
    int rc = load(shadow, err);
    if (rc != 0) {
        shadow->told = true; /* the caller knows */
        reset(shadow);
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
    if (shadow->stage != NONE)
        reset(shadow);
    pl_generation_destroy(generation);
    pl_free(shadow);
}
