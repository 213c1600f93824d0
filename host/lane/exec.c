/* One run on a lane, and its record on the I/O thread. The two halves communicate by mailbox; the
 * record is counted and outlives the half that ends first. A cancelled run still ends exactly once.
 */
#include "lane/lane.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "write/capture.h"
#include "control/hook_call.h"
#include "event/causes.h"
#include "lane/exec_memo.h"
#include "lane/context.h"
#include "lane/hook.h"
#include "lane/co.h"

#define REASON_MAX 512 /* bytes; the rest is cut off */

/* ---- the I/O thread's side ---- */

/* Appends a text with its NUL. Returns its offset. */
static size_t exec_put(struct pl_buf *to, struct pl_slice text)
{
    size_t at = to->len;
    pl_buf_add_slice(to, text);
    pl_buf_add_char(to, '\0');
    return at;
}

/* Type, kind, key, the changed paths, and an empty text: lane/context.c reads this. */
static void put_cause(struct pl_buf *to, const struct pl_cause *cause)
{
    exec_put(to, pl_slice_z(pl_cause_type_name(cause->type)));
    exec_put(to, pl_slice_z(cause->kind));
    exec_put(to, pl_slice_z(cause->key));
    for (char **path = cause->changed; path != NULL && *path != NULL; path++)
        exec_put(to, pl_slice_z(*path));
    exec_put(to, pl_slice(NULL, 0));
}

struct pl_exec *pl_exec_create_io(struct pl_lane *lane, struct pl_run *run, int controller)
{
    struct pl_buf *texts = &lane->io.texts;
    pl_buf_clear(texts);
    size_t key = exec_put(texts, run->key), ns = exec_put(texts, run->ns),
           name = exec_put(texts, run->name);
    size_t id = exec_put(texts, pl_slice_z(run->id));
    for (size_t i = 0; i < run->cause_count; i++)
        put_cause(texts, &run->causes[i]);
    struct pl_exec *exec = pl_calloc(1, sizeof *exec + texts->len);
    char *base = memcpy(exec + 1, texts->ptr, texts->len);
    exec->key = base + key;
    exec->ns = base + ns;
    exec->name = base + name;
    exec->id = base + id;
    exec->unread = pl_slice(base + id, texts->len - id); /* the id is its first text */
    exec->causes_dropped = run->causes_dropped;
    atomic_init(&exec->refs, 1);
    exec->run = run;
    exec->lane = lane;
    exec->controller = controller;
    exec->attempt = run->attempt;
    exec->shard = run->shard;
    exec->deadline_ns = run->deadline_ns;
    exec->capture = pl_capture_ref(run->capture);
    exec->hook = pl_hook_call_ref(run->hook);
    pl_list_init(&exec->tasks);
    exec->msg.kind = PL_LANE_RUN;
    run->self_data = exec;
    return exec;
}

void pl_exec_send_io(struct pl_exec *exec)
{
    pl_list_push(&exec->lane->io.execs, &exec->link);
    pl_mailbox_send(exec->lane->box, &exec->msg);
    pl_loop_expect(exec->lane->lanes->loop);
}

bool pl_exec_follow_io(struct pl_exec *exec, struct pl_exec *next)
{
    struct pl_exec *none = NULL;
    return atomic_compare_exchange_strong(&exec->next, &none, next);
}

bool pl_exec_unfollow_io(struct pl_exec *exec, struct pl_exec *next)
{
    struct pl_exec *it = next;
    bool in_time = atomic_compare_exchange_strong(&exec->next, &it, NULL);
    if (in_time)
        pl_exec_unref(next);
    else
        pl_list_push(&next->lane->io.execs, &next->link);
    return in_time;
}

struct pl_err *pl_exec_why(struct pl_exec *exec)
{
    if (exec->why == NULL)
        exec->why = PL_NEW(struct pl_err);
    return exec->why;
}

struct pl_exec *pl_exec_ref(struct pl_exec *exec)
{
    atomic_fetch_add(&exec->refs, 1);
    return exec;
}

void pl_exec_unref(struct pl_exec *exec)
{
    if (exec == NULL || atomic_fetch_sub(&exec->refs, 1) != 1)
        return;
    pl_capture_unref(exec->capture);
    pl_hook_call_unref(exec->hook);
    pl_secrets_clear(&exec->secrets);
    pl_doc_unref(exec->memo_before);
    pl_doc_unref(exec->memo_after);
    pl_fault_deinit(&exec->fault);
    pl_free(exec->why);
    pl_free(exec);
}

void pl_exec_cancel_io(struct pl_exec *exec, const struct pl_err *why)
{
    struct pl_cancel *cancel = PL_NEW(struct pl_cancel);
    cancel->exec = exec;
    cancel->why = *why;
    cancel->msg.kind = PL_LANE_CANCEL;
    atomic_fetch_add(&exec->refs, 1);
    pl_mailbox_send(exec->lane->box, &cancel->msg);
}

/* Only for tasks: asks the run to end. */
void pl_exec_end_io(struct pl_exec *exec)
{
    struct pl_cancel *ask = PL_NEW(struct pl_cancel);
    ask->exec = exec;
    ask->msg.kind = PL_LANE_END;
    atomic_fetch_add(&exec->refs, 1);
    pl_mailbox_send(exec->lane->box, &ask->msg);
}

static void finish_run(struct pl_exec *exec, const struct pl_outcome_of_run *outcome)
{
    struct pl_run *run = exec->run;
    exec->run = NULL;
    pl_link_unlink(&exec->link);
    if (run == NULL)
        return;
    pl_run_finish(run, outcome);
}

static void capture_memo(struct pl_exec *exec)
{
    if (exec->capture == NULL ||
        pl_node_equal(pl_doc_root(exec->memo_before), pl_doc_root(exec->memo_after)))
        return;
    struct pl_effect effect = {.name = (char *)"memo",
                               .verb = exec->memo_after != NULL ? "set" : "clear",
                               .before = pl_doc_ref(exec->memo_before),
                               .after = pl_doc_ref(exec->memo_after),
                               .sent = pl_doc_ref(exec->memo_after)};
    pl_capture_add(exec->capture, &effect);
}

void pl_exec_done_io(struct pl_exec *exec)
{
    capture_memo(exec);
    if (exec->capture != NULL)
        pl_capture_hide(exec->capture, &exec->secrets);
    exec->result.ago_ns = pl_clock_mono(pl_lanes_clock(exec->lane->lanes)) - exec->ended_ns;
    finish_run(exec, &exec->result);
    pl_exec_unref(exec);
}

void pl_exec_abandon_io(struct pl_exec *exec, bool guilty)
{
    /* The lane may still be using the exec: its reference is dropped with the lane. */
    static const struct pl_outcome_of_run own = {
        .outcome = PL_OUTCOME_TERMINAL,
        .barred = true,
        .by_script = true,
        .message =
            "the script could not be interrupted: the run is abandoned and its lane replaced",
    };
    static const struct pl_outcome_of_run neighbours = {
        .outcome = PL_OUTCOME_ERROR,
        .message = "another run on its lane could not be interrupted: this one is abandoned, too",
    };
    finish_run(exec, guilty ? &own : &neighbours);
}

void pl_exec_refuse_io(struct pl_exec *exec)
{
    exec->ended = true;              /* for a cancellation that is still on its way to the lane */
    atomic_store(&exec->next, exec); /* no run follows one that does not reach its lane */
    exec->result = (struct pl_outcome_of_run){
        .outcome = PL_OUTCOME_TERMINAL,
        .barred = true,
        .by_script = true,
        .message = "not run: the script could not be interrupted the last time, and its code is "
                   "still the same",
    };
    exec->ended_ns = pl_clock_mono(pl_lanes_clock(exec->lane->lanes));
    exec->msg.kind = PL_IO_RUN_DONE;
    pl_list_push(&exec->lane->io.execs, &exec->link);
    pl_mailbox_send(exec->lane->lanes->io_box, &exec->msg);
}

/* Its coroutines were freed with their state. */
void pl_exec_drop(struct pl_exec *exec)
{
    struct pl_link *link;
    while ((link = pl_list_pop(&exec->tasks)) != NULL)
        pl_co_free(PL_CONTAINER_OF(link, struct pl_co, link));
    pl_exec_unref(exec);
}

/* ---- the lane's side ---- */

void pl_exec_begin(struct pl_lane *lane, struct pl_exec *exec)
{
    struct pl_state *s = lane->s;
    int arguments = 2;
    pl_declare_push_reconcile(s->L, s, exec->controller);
    if (exec->hook != NULL)
        arguments = pl_hook_push_arguments(s->L, s, exec);
    else
        pl_context_push(s->L, s, exec);
    pl_exec_begin_pushed(lane, exec, arguments);
}

void pl_exec_begin_pushed(struct pl_lane *lane, struct pl_exec *exec, int arguments)
{
    lua_State *L = lane->s->L;
    pl_list_push(&lane->execs, &exec->active);
    if (PL_TAPE_WANTS(lane, begin))
        lane->tape->ops->begin(lane->tape, exec, L, arguments);
    pl_co_create(lane, exec, L, arguments)->is_main = true;
}

static void cancel_tasks(struct pl_lane *lane, struct pl_exec *exec)
{
    PL_LIST_FOR (link, &exec->tasks) {
        struct pl_co *task = PL_CONTAINER_OF(link, struct pl_co, link);
        struct pl_lop *op = task->op;
        if (op == NULL || !task->submitted || op->cancel_sent)
            continue;
        op->cancel_sent = true;
        atomic_fetch_add(&op->refs, 1);
        pl_lane_send_io(lane, &op->cancel, PL_IO_OP_CANCEL);
    }
}

void pl_exec_overrun(struct pl_lane *lane, struct pl_exec *exec)
{
    exec->over = true;
    cancel_tasks(lane, exec);
}

void pl_exec_cancel(struct pl_lane *lane, struct pl_cancel *cancel)
{
    struct pl_exec *exec = cancel->exec;
    if (!exec->ended && !exec->canceled) {
        exec->canceled = true;
        *pl_exec_why(exec) = cancel->why;
        if (PL_TAPE_WANTS(lane, cancel))
            lane->tape->ops->cancel(lane->tape, exec, &cancel->why);
        cancel_tasks(lane, exec);
    }
    pl_exec_unref(exec);
    pl_free(cancel);
}

/* Wakes a sleeping task once, so that its loop can check stopping(). */
void pl_exec_ask_end(struct pl_lane *lane, struct pl_cancel *ask)
{
    struct pl_exec *exec = ask->exec;
    if (!exec->ended) {
        exec->stopping = true;
        if (PL_TAPE_WANTS(lane, cancel))
            lane->tape->ops->cancel(lane->tape, exec, NULL);
        PL_LIST_FOR (link, &exec->tasks) {
            struct pl_co *task = PL_CONTAINER_OF(link, struct pl_co, link);
            struct pl_lop *op = task->op;
            if (op == NULL || op->type != PL_LOP_SLEEP || !task->submitted || op->cancel_sent)
                continue;
            exec->woken = op->woken = op->cancel_sent = true;
            atomic_fetch_add(&op->refs, 1);
            pl_lane_send_io(lane, &op->cancel, PL_IO_OP_CANCEL);
        }
    }
    pl_exec_unref(exec);
    pl_free(ask);
}

static enum pl_outcome outcome_of_fault(const struct pl_exec *exec)
{
    bool stopping = exec->canceled && exec->why->code == PL_ECANCELED;
    switch (exec->fault.type) {
    case PL_FAULT_TERMINAL:
        return PL_OUTCOME_TERMINAL;
    case PL_FAULT_CONFLICT:
    case PL_FAULT_GONE:
        return PL_OUTCOME_CONFLICT;
    case PL_FAULT_TIMEOUT:
        return exec->canceled && !stopping ? PL_OUTCOME_TIMEOUT : PL_OUTCOME_ERROR;
    case PL_FAULT_CANCELED:
        return stopping ? PL_OUTCOME_CANCELED : PL_OUTCOME_ERROR;
    case PL_FAULT_SCRIPT:
        break;
    }
    return stopping ? PL_OUTCOME_CANCELED : PL_OUTCOME_ERROR;
}

static void fail_result(struct pl_exec *exec, const char *message)
{
    exec->failed = true;
    exec->fault = (struct pl_fault){
        .type = PL_FAULT_SCRIPT, .by_script = true, .message = pl_strdup(message)};
}

/* The reason as it is shown: without secrets, cut between characters. */
static void take_reason(struct pl_exec *exec, struct pl_slice text)
{
    char *masked = pl_secrets_mask(&exec->lane->s->secrets, text);
    if (masked != NULL)
        text = pl_slice_z(masked);
    exec->fault.message = pl_memdup0(text.ptr, pl_utf8_cut(text, REASON_MAX));
    exec->result.outcome = PL_OUTCOME_WAITING;
    exec->result.message = exec->fault.message;
    pl_free(masked);
}

/* The main task's results: "done" | "requeue" | "requeue_after", seconds | "waiting", reason. */
static void read_result(struct pl_exec *exec, lua_State *co)
{
    struct pl_slice word = lua_type(co, 1) == LUA_TSTRING ? pl_lua_slice(co, 1) : pl_slice("", 0);
    if (pl_slice_eqz(word, "done")) {
        exec->result.outcome = PL_OUTCOME_DONE;
    } else if (pl_slice_eqz(word, "requeue")) {
        exec->result.outcome = PL_OUTCOME_REQUEUE;
    } else if (pl_slice_eqz(word, "requeue_after")) {
        double seconds = lua_tonumber(co, 2);
        bool sane = seconds >= 0 && seconds < 1e9;
        exec->result.outcome = PL_OUTCOME_REQUEUE_AFTER;
        exec->result.after_ns = (int64_t)((sane ? seconds : 1e9) * (double)PL_SECOND);
    } else if (pl_slice_eqz(word, "waiting") && lua_type(co, 2) == LUA_TSTRING) {
        take_reason(exec, pl_lua_slice(co, 2));
    } else {
        fail_result(exec, "a reconcile ended without an outcome");
    }
}

/* When the run's end has been sent, since it may take a while. */
static void collect_garbage(struct pl_lane *lane)
{
    lane->worked = true;
    if (lane->collect)
        pl_state_collect(lane->s);
    else
        pl_state_pay(lane->s);
    lane->collect = false;
}

void pl_exec_task_ended(struct pl_lane *lane, struct pl_exec *exec)
{
    if (exec->live > 0)
        return;
    pl_memo_keep(lane, exec);
    struct pl_link *link;
    while ((link = pl_list_first(&exec->tasks)) != NULL) {
        struct pl_co *task = PL_CONTAINER_OF(link, struct pl_co, link);
        if (task->is_main && !task->failed && !exec->failed)
            read_result(exec, task->thread);
        pl_co_destroy(lane, task);
    }
    if (exec->failed) {
        exec->result.outcome = outcome_of_fault(exec);
        exec->result.message = exec->fault.message;
        exec->result.traceback = exec->fault.traceback;
        exec->result.by_script = exec->fault.by_script;
        exec->result.gone = exec->fault.type == PL_FAULT_GONE;
    }
    if (exec->capture != NULL)
        pl_secrets_add_all(&exec->secrets, &lane->s->secrets);
    exec->ended = true;
    if (PL_TAPE_WANTS(lane, ended))
        lane->tape->ops->ended(lane->tape, exec);
    pl_link_unlink(&exec->active);
    if (pl_list_empty(&lane->execs))
        pl_secrets_clear(&lane->s->secrets);
    exec->ended_ns = pl_clock_mono(pl_lanes_clock(exec->lane->lanes));
    struct pl_exec *next = atomic_exchange(&exec->next, exec);
    pl_lane_send_io(lane, &exec->msg, PL_IO_RUN_DONE); /* before next can send a message */
    if (next != NULL)
        pl_mailbox_send(next->lane->box, &next->msg);
    collect_garbage(lane);
}
