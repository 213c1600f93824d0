/* A call belongs to the task that was resumed last on its lane. A result for a waiting task arrives
 * when the task is woken. */
#include "record/runs.h"

#include "base/alloc.h"
#include "base/map.h"
#include "control/reconciler.h"
#include "record/tape.h"

struct finding {
    struct pl_record_runs *runs;
    struct pl_map by_number; /* stream and number -> struct pl_record_run, borrowed */
    struct {
        struct pl_record_run *run; /* NULL: no known run */
        uint64_t task;
    } * now; /* one for each stream */
};

static struct pl_record_run *run_of(const struct finding *finding, size_t stream, uint64_t number)
{
    const uint64_t key[2] = {stream, number};
    return pl_map_get(&finding->by_number, pl_slice((const char *)key, sizeof key));
}

static void find_begin(struct finding *finding, size_t stream, size_t index, struct pl_bytes from,
                       bool review)
{
    struct pl_record_runs *runs = finding->runs;
    struct pl_record_run *run = PL_NEW(struct pl_record_run);
    const uint64_t key[2] = {stream, pl_bytes_int(&from)};
    run->begins = index;
    run->controller = pl_bytes_text(&from);
    for (int i = 0; i < 4; i++)
        run->texts[i] = pl_bytes_text(&from);
    run->attempt = (int)pl_bytes_int(&from);
    run->causes_dropped = (size_t)pl_bytes_int(&from);
    run->wall_ns = (int64_t)pl_bytes_int(&from);
    run->left_ns = (int64_t)pl_bytes_int(&from);
    if (review)
        run->arguments = pl_slice(from.at, (size_t)(from.end - from.at));
    if (from.bad) {
        pl_free(run);
        return;
    }
    if (runs->count == runs->cap) {
        runs->cap = runs->cap > 0 ? 2 * runs->cap : 64;
        runs->items = pl_reallocarray(runs->items, runs->cap, sizeof(struct pl_record_run *));
    }
    runs->items[runs->count++] = run;
    pl_map_put(&finding->by_number, pl_slice((const char *)key, sizeof key), run);
}

static void find_call(struct pl_record_run *run, uint64_t task, struct pl_slice call)
{
    if (run->count == run->cap) {
        run->cap = run->cap > 0 ? 2 * run->cap : 8;
        run->calls = pl_reallocarray(run->calls, run->cap, sizeof *run->calls);
    }
    size_t read = run->time_count;
    run->calls[run->count++] = (struct pl_record_call){
        .call = call,
        .task = task,
        .wall_ns = read > 0 ? run->times[read - 1].wall_ns : run->wall_ns,
    };
}

static void find_time(struct pl_record_run *run, uint64_t task, struct pl_bytes from)
{
    int64_t wall_ns = (int64_t)pl_bytes_int(&from);
    size_t after = run->count;
    if (from.bad)
        return;
    while (after > 0 && run->calls[after - 1].task != task)
        after--;
    if (run->time_count == run->time_cap) {
        run->time_cap = run->time_cap > 0 ? 2 * run->time_cap : 8;
        run->times = pl_reallocarray(run->times, run->time_cap, sizeof *run->times);
    }
    run->times[run->time_count++] =
        (struct pl_record_time){.wall_ns = wall_ns, .task = task, .after = after};
}

/* Sets the result of the task's last call. */
static void find_result(struct pl_record_run *run, uint64_t task, struct pl_slice result)
{
    for (size_t i = run->count; i > 0; i--) {
        if (run->calls[i - 1].task != task)
            continue;
        if (run->calls[i - 1].result.ptr == NULL)
            run->calls[i - 1].result = result;
        return;
    }
}

static void find_end(struct pl_record_run *run, struct pl_bytes from)
{
    uint64_t outcome = pl_bytes_int(&from);
    if (run == NULL)
        return;
    run->ended = true;
    run->failed = outcome == PL_OUTCOME_ERROR || outcome == PL_OUTCOME_TERMINAL;
}

static void runs_find_entry(struct finding *finding, size_t index,
                            const struct pl_reader_entry *entry)
{
    size_t stream = entry->stream;
    struct pl_slice rest = pl_slice(entry->text.ptr + 1, entry->text.len - 1);
    struct pl_bytes from = pl_bytes_of(rest);
    struct pl_record_run *run = finding->now[stream].run;
    uint64_t task = finding->now[stream].task;
    switch (*entry->text.ptr) {
    case PL_ENTRY_BEGIN:
    case PL_ENTRY_REVIEW:
        find_begin(finding, stream, index, from, *entry->text.ptr == PL_ENTRY_REVIEW);
        return;
    case PL_ENTRY_ASK: /* its calls belong to no run */
        finding->now[stream].run = NULL;
        return;
    case PL_ENTRY_RESUME:
        finding->now[stream].run = run_of(finding, stream, pl_bytes_int(&from));
        finding->now[stream].task = pl_bytes_int(&from);
        return;
    case PL_ENTRY_WOKEN:
        run = run_of(finding, stream, pl_bytes_int(&from));
        task = pl_bytes_int(&from);
        if (run != NULL && !from.bad)
            find_result(run, task, pl_slice(from.at, (size_t)(from.end - from.at)));
        return;
    case PL_ENTRY_CALL:
        if (run != NULL)
            find_call(run, task, rest);
        return;
    case PL_ENTRY_RETURN:
        if (run != NULL)
            find_result(run, task, rest);
        return;
    case PL_ENTRY_WALL:
        if (run != NULL)
            find_time(run, task, from);
        return;
    case PL_ENTRY_ENDED:
        run = run_of(finding, stream, pl_bytes_int(&from));
        find_end(run, from);
        return;
    default:
        return;
    }
}

void pl_record_runs_find(struct pl_record_runs *runs, const struct pl_reader *reader)
{
    struct finding finding = {.runs = runs};
    *runs = (struct pl_record_runs){.items = NULL};
    finding.now = pl_calloc(reader->stream_count + 1, sizeof *finding.now);
    for (size_t i = 0; i < reader->entry_count; i++)
        runs_find_entry(&finding, i, &reader->entries[i]);
    pl_map_deinit(&finding.by_number);
    pl_free(finding.now);
}

void pl_record_runs_deinit(struct pl_record_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        pl_free(runs->items[i]->calls);
        pl_free(runs->items[i]->times);
        pl_free(runs->items[i]);
    }
    pl_free(runs->items);
}
