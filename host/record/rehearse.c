/* The runs of a record, one after the other: the writes of the recorded run and those of the other
 * scripts become effects of two captures (rehearse_write.c), which are compared. The answers to
 * calls of the scripts are in rehearse_call.c. */
#include "record/rehearse_impl.h"

#include "base/alloc.h"
#include "base/text.h"
#include "bind/bind.h"
#include "lane/co.h"
#include "record/exec.h"
#include "record/scripts.h"
#include "record/tape.h"
#include "write/compare.h"

#include <string.h>

#define MONO_NS   (1000 * PL_SECOND)
#define CPU_LIMIT (10 * PL_SECOND)
#define TURNS     10000 /* of one run */

/* ---- the recorded run ---- */

/* The request of a recorded write: its only argument. Returns a reference; NULL for other calls. */
static struct pl_doc *rehearse_request_of(struct pl_slice call)
{
    struct pl_bytes from = pl_bytes_of(call);
    struct pl_slice name = pl_bytes_text(&from);
    uint64_t count = pl_bytes_int(&from);
    if (!pl_slice_eqz(name, "write") || count != 1 || pl_bytes_char(&from) != 'j')
        return NULL;
    struct pl_slice json = pl_bytes_text(&from);
    return from.bad ? NULL : pl_rehearse_scan(json);
}

/* States that the run found after its own write to the object are not learned. */
static void note_recorded_call(struct record_rehearsal *rehearsal,
                               const struct pl_record_call *call)
{
    struct pl_err err;
    bool skipped;
    if (pl_rehearse_answer(rehearsal->recorded, call->call))
        return;
    struct pl_doc *request = rehearse_request_of(call->call), *object = NULL;
    pl_err_clear(&err);
    if (request != NULL && pl_rehearse_has_written(call->result))
        PL_IGNORE(pl_rehearse_write(rehearsal, PL_REHEARSED_RECORDED, pl_doc_root(request), &object,
                                    &skipped, &err));
    else
        pl_known_learn_all(&rehearsal->found, call->result);
    pl_doc_unref(object);
    pl_doc_unref(request);
}

static void note_recorded(struct record_rehearsal *rehearsal)
{
    const struct pl_record_run *run = rehearsal->run;
    for (size_t i = 0; i < run->count; i++)
        note_recorded_call(rehearsal, &run->calls[i]);
}

/* Scripts compute with the pseudonyms that they read. */
static void note_pseudonyms(struct record_rehearsal *rehearsal)
{
    const struct pl_record_run *run = rehearsal->run;
    for (size_t i = 0; rehearsal->veil != NULL && i < run->count && !rehearsal->out->veiled; i++)
        rehearsal->out->veiled = pl_veil_marks(run->calls[i].result);
}

static int64_t rehearsal_mono(void *arg)
{
    PL_UNUSED(arg);
    return MONO_NS;
}

/* True if the task has come to that time: past the call before it. */
static bool is_reached(const struct pl_record_run *run, const struct pl_record_time *one, int task)
{
    return !one->used && one->task == (uint64_t)task &&
           (one->after == 0 || run->calls[one->after - 1].used);
}

/* The time that the recorded run has read at this point. Scripts that read it more often see the
 * last one again. */
static int64_t rehearsal_wall(void *arg)
{
    struct record_rehearsal *rehearsal = arg;
    const struct pl_record_run *run = rehearsal->run;
    const struct pl_state *s = rehearsal->base.s;
    if (run == NULL || s == NULL || s->task == NULL || rehearsal->breakpoint.open)
        return rehearsal->wall_ns;
    while (rehearsal->next_time < run->time_count && run->times[rehearsal->next_time].used)
        rehearsal->next_time++;
    for (size_t i = rehearsal->next_time; i < run->time_count; i++) {
        if (!is_reached(run, &run->times[i], s->task->number))
            continue;
        run->times[i].used = true;
        rehearsal->wall_ns = run->times[i].wall_ns;
        break;
    }
    return rehearsal->wall_ns;
}

/* ---- the tape ---- */

static const struct pl_tape_ops ops = {.call = pl_rehearse_call};

static struct pl_tape *open_tape(void *arg, struct pl_lanes *lanes, int lane)
{
    struct record_rehearsal *rehearsal = arg;
    PL_UNUSED(lanes);
    PL_UNUSED(lane);
    return &rehearsal->base;
}

/* ---- one run ---- */

static void rehearse_tell(struct record_rehearsal *rehearsal, struct pl_node difference,
                          const char *error)
{
    const struct pl_record_run *run = rehearsal->run;
    char *controller = pl_text_copy(run->controller);
    char *key = pl_memdup0(run->texts[0].ptr, run->texts[0].len);
    rehearsal->differs = true;
    rehearsal->o->differs(rehearsal->o->arg, controller, key, run->wall_ns, difference, error);
    pl_free(controller);
    pl_free(key);
}

static void differs(void *arg, const struct pl_effect *running, const struct pl_effect *candidate)
{
    struct pl_build *b = pl_build_create(NULL);
    static const struct pl_secrets none;
    pl_difference_build(b, running, candidate, &none);
    struct pl_doc *doc = pl_build_close(b);
    rehearse_tell(arg, pl_doc_root(doc), NULL);
    pl_doc_unref(doc);
}

static void agrees(void *arg, const struct pl_effect *running, const struct pl_effect *candidate)
{
    PL_UNUSED(arg);
    PL_UNUSED(running);
    PL_UNUSED(candidate);
}

static void run_exec(struct record_rehearsal *rehearsal, struct pl_exec *exec)
{
    struct pl_lane *lane = rehearsal->lanes->lanes[0];
    struct pl_bytes arguments = pl_bytes_of(rehearsal->run->arguments);
    if (rehearsal->run->arguments.ptr != NULL)
        pl_record_begin_review(lane, exec, &arguments, rehearsal->veil);
    else
        pl_exec_begin(lane, exec);
    for (int i = 0; i < TURNS && !exec->ended && !pl_list_empty(&lane->ready); i++) {
        pl_co_run_ready(lane);
        pl_record_take_messages(rehearsal->lanes);
    }
}

static bool has_failed(const struct pl_exec *exec)
{
    enum pl_outcome outcome = exec->result.outcome;
    return outcome == PL_OUTCOME_ERROR || outcome == PL_OUTCOME_TERMINAL;
}

/* The recorded deadline; if the run had none, that of the scripts. 0: none. */
static int64_t deadline_of(const struct record_rehearsal *rehearsal)
{
    const struct pl_record_run *run = rehearsal->run;
    const struct pl_declarations *declared = rehearsal->declared;
    int64_t left_ns = run->left_ns;
    for (size_t i = 0; left_ns == 0 && i < declared->controller_count; i++)
        if (pl_slice_eqz(run->controller, declared->controllers[i].name))
            left_ns = declared->controllers[i].reconcile_timeout_ns;
    return left_ns > 0 ? MONO_NS + left_ns : 0;
}

static void compare_run(struct record_rehearsal *rehearsal, int controller)
{
    const struct pl_record_run *run = rehearsal->run;
    struct pl_exec *exec = pl_record_exec(rehearsal->lanes->lanes[0], controller, run->texts);
    exec->attempt = run->attempt;
    exec->causes_dropped = run->causes_dropped;
    exec->deadline_ns = deadline_of(rehearsal);
    rehearsal->recorded = pl_capture_create();
    rehearsal->candidate = pl_capture_create();
    rehearsal->differs = false;
    note_recorded(rehearsal);
    note_pseudonyms(rehearsal);
    run_exec(rehearsal, exec);
    if (exec->ended && has_failed(exec) && exec->result.by_script && !run->failed)
        rehearse_tell(rehearsal, PL_NODE_MISSING, exec->result.message);
    pl_compare(rehearsal->recorded, rehearsal->candidate, differs, agrees, rehearsal);
    rehearsal->out->runs++;
    rehearsal->out->different += rehearsal->differs;
    pl_capture_unref(rehearsal->recorded);
    pl_capture_unref(rehearsal->candidate);
    pl_known_deinit(&rehearsal->found);
    pl_map_deinit(&rehearsal->apart);
    rehearsal->found = (struct pl_known){.objects = PL_MAP_INIT};
    rehearsal->apart = PL_MAP_INIT;
    if (exec->ended)
        pl_exec_unref(exec);
}

static bool is_wanted(const struct pl_rehearse_options *o, const struct pl_declarations *declared,
                      const struct pl_record_run *run)
{
    return run->ended && (o->key == NULL || pl_slice_eqz(run->texts[0], o->key)) &&
           pl_record_is_meant(declared, run->controller, o->controller) &&
           (o->until_ns == 0 || run->wall_ns <= o->until_ns);
}

static void rehearse_one(struct record_rehearsal *rehearsal, struct pl_record_run *run)
{
    int controller = pl_record_controller(rehearsal->lanes, run->controller);
    if (rehearsal->breakpoint.quit || !is_wanted(rehearsal->o, rehearsal->declared, run))
        return;
    if (controller < 0) {
        rehearsal->out->missing++;
        return;
    }
    rehearsal->run = run;
    rehearsal->wall_ns = run->wall_ns;
    rehearsal->next_time = 0;
    compare_run(rehearsal, controller);
    rehearsal->run = NULL;
}

/* ---- all of them ---- */

static void learn_entry(struct pl_known *known, struct pl_slice entry)
{
    struct pl_bytes from = pl_bytes_of(pl_slice(entry.ptr + 1, entry.len - 1));
    if (*entry.ptr != PL_ENTRY_RETURN && *entry.ptr != PL_ENTRY_WOKEN)
        return;
    if (*entry.ptr == PL_ENTRY_WOKEN) {
        pl_bytes_int(&from);
        pl_bytes_int(&from);
    }
    pl_known_learn_all(known, pl_slice(from.at, (size_t)(from.end - from.at)));
}

/* What the recorded scripts have read of the environment. */
static void learn_environment(struct record_rehearsal *rehearsal,
                              const struct pl_reader_stream *stream)
{
    for (size_t i = 0; i + 1 < stream->count; i++) {
        struct pl_slice entry = stream->items[i];
        struct pl_bytes from = pl_bytes_of(pl_slice(entry.ptr + 1, entry.len - 1));
        if (*entry.ptr == PL_ENTRY_CALL && *stream->items[i + 1].ptr == PL_ENTRY_RETURN &&
            pl_slice_eqz(pl_bytes_text(&from), "getenv"))
            pl_map_put(&rehearsal->environment, pl_slice(entry.ptr + 1, entry.len - 1),
                       &stream->items[i + 1]);
    }
}

static void rehearse_all(struct record_rehearsal *rehearsal, const struct pl_reader *reader,
                         const struct pl_record_runs *runs)
{
    size_t next = 0;
    rehearsal->lanes->io_box = pl_mailbox_create();
    for (size_t i = 0; i < reader->entry_count; i++) {
        if (next < runs->count && runs->items[next]->begins == i)
            rehearse_one(rehearsal, runs->items[next++]);
        learn_entry(&rehearsal->known, reader->entries[i].text);
    }
    struct pl_lane *lane = rehearsal->lanes->lanes[0];
    while (pl_list_pop(&lane->ready) != NULL)
        continue;
    lane->io.ended = true; /* unfinished runs are freed with it */
}

/* The newest scripts of the compared runs, for the configuration that they had. NULL: the record
 * has no runs of scripts that it knows. */
static const struct pl_reader_scripts *
newest_scripts(const struct pl_reader *reader, const struct pl_record_runs *runs, int64_t until_ns)
{
    const struct pl_reader_scripts *newest = NULL;
    for (size_t i = 0; i < runs->count; i++) {
        const struct pl_record_run *run = runs->items[i];
        size_t stream = reader->entries[run->begins].stream;
        const struct pl_reader_scripts *scripts =
            pl_reader_scripts_of(reader, reader->streams[stream].generation);
        if (scripts != NULL && (until_ns == 0 || run->wall_ns <= until_ns) &&
            (newest == NULL || scripts->generation > newest->generation))
            newest = scripts;
    }
    return newest;
}

/* What the host gave to its scripts. *out: to be freed with pl_scripts_deinit. */
static int read_given(const struct pl_reader *reader, const struct pl_record_runs *runs,
                      int64_t until_ns, struct pl_scripts *out, struct pl_err *err)
{
    const struct pl_reader_scripts *text = newest_scripts(reader, runs, until_ns);
    *out = (struct pl_scripts){.origin = NULL};
    return text != NULL ? pl_scripts_read(out, pl_slice(text->json, text->len), err) : 0;
}

static struct pl_lanes *rehearse_lanes(struct record_rehearsal *rehearsal,
                                       const struct pl_scripts *given,
                                       const struct pl_taping *taping, struct pl_loop *loop)
{
    const struct pl_lanes_options with = {.hooks = &pl_bind_state_hooks,
                                          .count = 1,
                                          .cpu_limit_ns = CPU_LIMIT,
                                          .config = given->config,
                                          .version = given->version,
                                          .stepped = loop,
                                          .clock = &rehearsal->base.clock,
                                          .taping = taping,
                                          .lines = pl_breakpoint_watch(&rehearsal->breakpoint)};
    return pl_lanes_create(&with);
}

int pl_rehearse_run(const struct pl_reader *reader, const struct pl_rehearse_options *options,
                    struct pl_rehearsed_record *out, struct pl_err *err)
{
    static const unsigned char key[PL_VEIL_KEY];
    struct record_rehearsal rehearsal = {.o = options, .out = out};
    pl_breakpoint_init(&rehearsal.breakpoint, &options->breakpoint);
    *out = (struct pl_rehearsed_record){.runs = 0};
    rehearsal.base =
        (struct pl_tape){.ops = &ops,
                         .clock = {rehearsal_mono, rehearsal_mono, rehearsal_wall, &rehearsal},
                         .seed = 1};
    rehearsal.veil = reader->secrets ? NULL : pl_veil_create(key);
    const struct pl_taping taping = {open_tape, &rehearsal};
    struct pl_loop *loop = pl_loop_create_stepped(&rehearsal.base.clock);
    struct pl_declarations declared = {.controllers = NULL};
    struct pl_record_runs runs;
    struct pl_scripts given;
    pl_record_runs_find(&runs, reader);
    for (size_t i = 0; i < reader->stream_count; i++)
        learn_environment(&rehearsal, &reader->streams[i]);
    int rc = read_given(reader, &runs, options->until_ns, &given, err);
    rehearsal.wall_ns = runs.count > 0 ? runs.items[0]->wall_ns : 0; /* the time of loading */
    rehearsal.declared = &declared;
    rehearsal.lanes = rehearse_lanes(&rehearsal, &given, &taping, loop);
    rehearsal.breakpoint.lanes = rehearsal.lanes;
    if (rc == 0)
        rc = pl_lanes_load(rehearsal.lanes, options->paths, options->path_count, &declared, err);
    if (rc == 0)
        rehearse_all(&rehearsal, reader, &runs);
    out->stops = rehearsal.breakpoint.stops;
    pl_declarations_deinit(&declared);
    pl_lanes_destroy(rehearsal.lanes);
    pl_loop_destroy(loop);
    pl_scripts_deinit(&given);
    pl_record_runs_deinit(&runs);
    pl_known_deinit(&rehearsal.known);
    pl_map_deinit(&rehearsal.environment);
    pl_veil_destroy(rehearsal.veil);
    return rc;
}
