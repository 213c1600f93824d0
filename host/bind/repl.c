/* A session is a generation with one task, which asks for a line, evaluates it and reports the
 * answer. One line is under way at a time. The session ends when the task ends (a line exceeded a
 * limit), when it is closed, or with the host. It has no writer, so its code cannot change the
 * cluster. */
#include "bind/repl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"
#include "bind/generation.h"

struct pl_repl {
    struct pl_repl_options o;
    struct pl_dialog dialog;
    struct pl_generation *generation;
    struct pl_controller *controller; /* the task that evaluates; NULL until it was prepared */
    bool listening;                   /* the task waits for a line */
    bool ended, closing;
    char *line; /* owned: waiting to be handed over; NULL: none */
    size_t line_len;
    pl_repl_fn told; /* NULL: no line is under way */
    void *told_arg;
    struct pl_timer end; /* destroys the session, outside of callbacks */
    void (*closed)(void *arg);
    void *closed_arg;
};

static struct pl_timers *repl_timers_of(const struct pl_repl *repl)
{
    return pl_loop_timers(repl->o.loop);
}

/* ---- lines ---- */

static void repl_answer(struct pl_repl *repl, struct pl_slice text, bool failed)
{
    pl_repl_fn told = repl->told;
    repl->told = NULL;
    pl_free(repl->line);
    repl->line = NULL;
    if (told != NULL)
        told(repl->told_arg, text, failed, repl->ended);
}

static void repl_end(struct pl_repl *repl, const char *why)
{
    repl->ended = true;
    repl_answer(repl, pl_slice_z(why), true);
}

static void repl_hand_over(struct pl_repl *repl)
{
    if (repl->line == NULL || !repl->listening)
        return;
    repl->listening = false;
    struct pl_slice line = pl_slice(repl->line, repl->line_len);
    PL_REQUIRE(pl_dialog_say(&repl->dialog, line));
    pl_free(repl->line);
    repl->line = NULL;
}

/* The first message of the task only says that it is ready. */
static void heard(struct pl_dialog *dialog, struct pl_slice text, bool failed)
{
    struct pl_repl *repl = PL_CONTAINER_OF(dialog, struct pl_repl, dialog);
    repl->listening = true;
    if (repl->line == NULL)
        repl_answer(repl, text, failed);
    else
        repl_hand_over(repl);
}

int pl_repl_eval(struct pl_repl *repl, struct pl_slice text, pl_repl_fn told, void *arg)
{
    if (repl->ended || repl->closing)
        return PL_ECLOSED;
    if (repl->told != NULL)
        return PL_EAGAIN;
    repl->told = told;
    repl->told_arg = arg;
    repl->line = pl_text_copy(text);
    repl->line_len = text.len;
    repl_hand_over(repl);
    return 0;
}

/* ---- beginning ---- */

static bool reads_already(const struct pl_controller_spec *spec,
                          const struct pl_source_spec *source)
{
    for (size_t i = 0; i < spec->source_count; i++)
        if (pl_kind_eq(&spec->sources[i].kind, &source->kind) &&
            pl_source_options_eq(&spec->sources[i].options, &source->options))
            return true;
    return false;
}

static void add_read(struct pl_controller_spec *spec, const struct pl_source_spec *source)
{
    spec->sources =
        pl_reallocarray(spec->sources, spec->source_count + 1, sizeof(struct pl_source_spec));
    struct pl_source_spec *read = &spec->sources[spec->source_count++];
    *read = (struct pl_source_spec){.role = PL_SOURCE_READS, .kind = source->kind};
    pl_source_options_copy(&read->options, &source->options);
}

/* The task reads what the running scripts watch: equal sources share the informer. */
static void on_declared(void *arg, struct pl_declarations *declarations)
{
    struct pl_repl *repl = arg;
    struct pl_controller_spec *own = &declarations->controllers[0];
    for (size_t i = 0; i < pl_manager_count(repl->o.manager); i++) {
        const struct pl_controller *controller = pl_manager_at(repl->o.manager, i);
        const struct pl_controller_spec *spec = pl_controller_spec(controller);
        for (size_t j = 0; j < spec->source_count; j++) {
            const struct pl_informer *informer = pl_controller_informer(controller, j);
            if (informer != NULL && pl_informer_has_synced(informer) &&
                spec->sources[j].cluster == NULL && !reads_already(own, &spec->sources[j]))
                add_read(own, &spec->sources[j]);
        }
    }
}

static void on_repl_prepared(void *arg, struct pl_generation *generation, const struct pl_err *err)
{
    struct pl_repl *repl = arg;
    if (repl->closing)
        return;
    if (err != NULL) {
        repl_end(repl, err->message);
        return;
    }
    repl->controller = pl_controller_create_with(pl_generation_edition(generation, 0));
    pl_lanes_add_controller(pl_generation_lanes(generation), repl->controller);
    pl_controller_start(repl->controller);
}

static void on_repl_loaded(void *arg, struct pl_generation *generation, const struct pl_err *err)
{
    struct pl_repl *repl = arg;
    if (err != NULL)
        repl_end(repl, err->message);
    else if (!repl->closing)
        pl_generation_prepare(generation, NULL, on_repl_prepared, repl);
}

/* The task never returns: it exceeded a limit, or is closed. */
static void on_repl_ran(void *arg, struct pl_generation *generation, const struct pl_ran *ran)
{
    PL_UNUSED(generation);
    const char *message = ran->outcome->message;
    repl_end(arg, message != NULL ? message : "the session has ended");
}

struct pl_repl *pl_repl_open(const struct pl_repl_options *options)
{
    struct pl_repl *repl = PL_NEW(struct pl_repl);
    repl->o = *options;
    repl->dialog = (struct pl_dialog){.module = "perilune.repl", .heard = heard};
    struct pl_lanes_options lanes = options->lanes;
    lanes.count = 1;
    lanes.dialog = &repl->dialog;
    lanes.memos = NULL; /* a controller of the scripts may have the name of the session's task */
    struct pl_generation_options generation = {.cluster = options->cluster,
                                               .loop = options->loop,
                                               .ran = on_repl_ran,
                                               .declared = on_declared,
                                               .arg = repl,
                                               .unmeasured = true};
    repl->generation = pl_generation_load(&generation, &lanes, NULL, 0, on_repl_loaded, repl);
    return repl;
}

/* ---- end ---- */

static void on_repl_closed(void *arg, struct pl_generation *generation, const struct pl_err *err)
{
    struct pl_repl *repl = arg;
    PL_UNUSED(generation), PL_UNUSED(err);
    void (*closed)(void *closed_arg) = repl->closed;
    void *closed_arg = repl->closed_arg;
    pl_timer_stop(repl_timers_of(repl), &repl->end);
    pl_free(repl->line);
    pl_free(repl);
    closed(closed_arg);
}

static void on_repl_end(struct pl_timer *timer)
{
    struct pl_repl *repl = PL_CONTAINER_OF(timer, struct pl_repl, end);
    if (repl->controller != NULL) {
        if (!pl_controller_is_quiet(repl->controller)) {
            pl_timer_start(repl_timers_of(repl), timer, PL_MS, on_repl_end);
            return;
        }
        pl_controller_release_sources(repl->controller);
        pl_generation_forget(repl->generation, repl->controller);
        pl_controller_destroy(repl->controller);
        repl->controller = NULL;
    }
    pl_generation_close(repl->generation, 0, on_repl_closed, repl);
}

static void on_repl_stopped(void *arg)
{
    struct pl_repl *repl = arg;
    pl_timer_start(repl_timers_of(repl), &repl->end, 0, on_repl_end);
}

void pl_repl_close(struct pl_repl *repl, void (*closed)(void *arg), void *arg)
{
    PL_REQUIRE(!repl->closing);
    repl->closing = true;
    repl->closed = closed;
    repl->closed_arg = arg;
    repl_end(repl, "the session is closed");
    if (repl->controller == NULL) {
        on_repl_stopped(repl);
        return;
    }
    pl_controller_stop(repl->controller, on_repl_stopped, repl);
    pl_controller_cancel_runs(repl->controller);
}
