/* One lane: its thread, its mailbox, its states. Messages are handled one after the other; runs
 * continue between them. It touches only the read side of stores from the I/O thread's data. */
#include "lane/lane.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "lane/co.h"
#include "lua/state.h"
#include "net/fence.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define IDLE_NS (2 * PL_SECOND) /* time without work before a full collection */

/* Ends the critical section. When the lanes are over, the owners of what an abandoned thread has
 * may be gone, and nobody joins it: it goes no further, and waits for the process to end. */
static void go_on_unless_over(struct pl_lanes *lanes)
{
    bool over = lanes->over;
    pthread_mutex_unlock(&lanes->end_lock);
    while (over)
        pause();
}

void pl_lane_send_io(struct pl_lane *lane, struct pl_msg *msg, int kind)
{
    struct pl_lanes *lanes = lane->lanes;
    PL_REQUIRE(lanes->io_box != NULL);
    msg->kind = kind;
    if (!atomic_load(&lane->abandoned)) {
        pl_mailbox_send(lanes->io_box, msg);
        return;
    }
    pthread_mutex_lock(&lanes->end_lock);
    if (!lanes->over)
        pl_mailbox_send(lanes->io_box, msg);
    go_on_unless_over(lanes);
}

void pl_lane_tell_read(struct pl_state *s)
{
    struct pl_lane *lane = s->lane;
    if (lane == NULL)
        return;
    if (lane->lanes->io_box != NULL && !atomic_exchange(&lane->told_read, true))
        pl_lane_send_io(lane, &lane->read_msg, PL_IO_READ);
}

/* ---- messages ---- */

static void handle(struct pl_lane *lane, struct pl_msg *msg)
{
    switch ((enum pl_lane_msg)msg->kind) {
    case PL_LANE_LOAD:
        pl_lane_answer_load(lane, PL_CONTAINER_OF(msg, struct pl_load, msg));
        break;
    case PL_LANE_RUN:
        pl_exec_begin(lane, PL_CONTAINER_OF(msg, struct pl_exec, msg));
        break;
    case PL_LANE_CANCEL:
        pl_exec_cancel(lane, PL_CONTAINER_OF(msg, struct pl_cancel, msg));
        break;
    case PL_LANE_END:
        pl_exec_ask_end(lane, PL_CONTAINER_OF(msg, struct pl_cancel, msg));
        break;
    case PL_LANE_ASK:
        if (atomic_load(&lane->abandoned)) /* it was answered for the lane */
            pl_lane_send_io(lane, msg, PL_IO_ASK_DONE);
        else
            pl_ask_answer(lane, PL_CONTAINER_OF(msg, struct pl_ask, msg));
        break;
    case PL_LANE_OP_DONE:
        pl_co_op_done(lane, PL_CONTAINER_OF(msg, struct pl_lop, msg));
        break;
    case PL_LANE_STOP:
        lane->stop = true;
        break;
    default:
        PL_UNREACHABLE();
    }
}

static void lane_work(struct pl_lane *lane)
{
    struct pl_list messages;
    pl_list_init(&messages);
    int64_t wait = !pl_list_empty(&lane->ready) ? 0 : lane->worked ? IDLE_NS : -1;
    bool some = wait == 0 ? pl_mailbox_take(lane->box, &messages)
                          : pl_mailbox_wait(lane->box, &messages, wait);
    if (!some && wait == IDLE_NS) {
        pl_state_collect(lane->s);
        lane->worked = false;
        return;
    }
    struct pl_link *link;
    int64_t began = pl_clock_mono(pl_clock_system());
    atomic_store(&lane->busy_since_ns, began);
    while ((link = pl_list_pop(&messages)) != NULL)
        handle(lane, PL_CONTAINER_OF(link, struct pl_msg, link));
    pl_co_run_ready(lane);
    /* In this order a concurrent reader may see too little for a moment, but never too much. */
    atomic_store(&lane->busy_since_ns, 0);
    atomic_fetch_add(&lane->busy_ns, pl_clock_mono(pl_clock_system()) - began);
}

/* Scripts that are loaded again draw other numbers than those before them. */
static uint64_t seed_of(const struct pl_lanes_options *options)
{
    return options->rand_seed == 0
               ? 0
               : options->rand_seed ^ (options->generation * 0xd1342543de82ef95ULL);
}

static struct pl_state *make_state(struct pl_lane *lane, struct pl_err *err)
{
    const struct pl_lanes_options *options = &lane->lanes->options;
    return pl_state_create(
        &(struct pl_sandbox_options){
            .hooks = options->hooks,
            .memory = options->memory_limit,
            .jit = options->jit,
            .unsafe = options->unsafe_stdlib,
            .in_dialog = options->dialog != NULL,
            .dog = lane->lanes->dog,
            .lane = lane,
            .config = options->config,
            .version = options->version,
            .metrics = lane->lanes->metrics,
            .generation = options->generation,
            .origin = lane->lanes->origin,
            .clock = lane->tape != NULL ? &lane->tape->clock : options->clock,
            .rand_seed = seed_of(options),
            .math_seed = lane->tape != NULL ? lane->tape->seed : 0,
            .short_lived = options->stepped != NULL,
            .lines = options->lines,
        },
        err);
}

/* Without a state the lane answers its loading with the reason and does nothing else. */
static void refuse_all(struct pl_lane *lane, const struct pl_err *why)
{
    while (!lane->stop) {
        struct pl_list messages;
        pl_list_init(&messages);
        pl_mailbox_wait(lane->box, &messages, -1);
        struct pl_link *link;
        while ((link = pl_list_pop(&messages)) != NULL) {
            struct pl_msg *msg = PL_CONTAINER_OF(link, struct pl_msg, link);
            if (msg->kind == PL_LANE_LOAD) {
                struct pl_load *load = PL_CONTAINER_OF(msg, struct pl_load, msg);
                load->failed = why->code;
                load->message = pl_strdup(why->message);
            }
            if (msg->kind == PL_LANE_LOAD || msg->kind == PL_LANE_STOP)
                handle(lane, msg);
        }
    }
}

/* Watchdog's thread: the slice cannot be ended. The I/O thread, or the thread that waits for the
 * loading, decides. */
static void on_stuck(void *arg)
{
    struct pl_lane *lane = arg;
    if (atomic_load(&lane->told_stuck))
        return;
    lane->stuck_msg.kind = PL_IO_STUCK;
    if (lane->lanes->io_box != NULL)
        pl_mailbox_send(lane->lanes->io_box, &lane->stuck_msg);
    /* Last, since the reader of this flag may destroy the box. */
    atomic_store(&lane->told_stuck, true);
}

/* A slice that could not be ended has ended after all: its memory is freed. */
static void end_abandoned(struct pl_lane *lane)
{
    struct pl_lanes *lanes = lane->lanes;
    pthread_mutex_lock(&lanes->end_lock);
    if (!lanes->over) {
        atomic_store(&lane->limits, NULL);
        pl_state_destroy(lane->s);
        lane->s = NULL;
        lane->end_msg.kind = PL_IO_ENDED;
        if (lanes->io_box != NULL)
            pl_mailbox_send(lanes->io_box, &lane->end_msg);
    }
    go_on_unless_over(lanes);
}

/* False: there is no memory or no file for it. */
static bool open_state(struct pl_lane *lane, struct pl_err *err)
{
    const struct pl_taping *taping = lane->lanes->options.taping;
    pl_err_clear(err);
    if (taping != NULL && !lane->lanes->options.shadow && lane->lanes->options.dialog == NULL)
        lane->tape = taping->open(taping->arg, lane->lanes, lane->number);
    lane->s = make_state(lane, err);
    if (lane->s == NULL)
        return false;
    if (lane->tape != NULL)
        lane->tape->s = lane->s;
    lane->s->limits.on_stuck = on_stuck;
    lane->s->limits.stuck_arg = lane;
    atomic_store(&lane->limits, &lane->s->limits);
    return true;
}

static void *lane_run(void *arg)
{
    struct pl_lane *lane = arg;
    struct pl_err err;
    pl_fence_leave_to_others();
    char name[16];
    snprintf(name, sizeof name, "lane-%d", lane->number);
    pthread_setname_np(pthread_self(), name);
    if (!open_state(lane, &err)) {
        refuse_all(lane, &err);
        return NULL;
    }
    while (!lane->stop && !atomic_load(&lane->abandoned))
        lane_work(lane);
    if (atomic_load(&lane->abandoned)) {
        end_abandoned(lane);
        return NULL;
    }
    pl_state_destroy(lane->s);
    lane->s = NULL;
    return NULL;
}

/* ---- stepped: no thread ---- */

static void on_step(void *arg, struct pl_list *messages);

static void lane_go_on(struct pl_task *task)
{
    struct pl_list none;
    pl_list_init(&none);
    on_step(PL_CONTAINER_OF(task, struct pl_lane, again), &none);
}

/* The state's slices run on this thread, so a lane whose slice does not end cannot be replaced: the
 * process reports it and ends (stuck_here). */
static void on_step(void *arg, struct pl_list *messages)
{
    struct pl_lane *lane = arg;
    struct pl_link *link;
    while ((link = pl_list_pop(messages)) != NULL)
        handle(lane, PL_CONTAINER_OF(link, struct pl_msg, link));
    pl_co_run_ready(lane);
    if (!pl_list_empty(&lane->ready))
        pl_loop_defer(lane->lanes->options.stepped, &lane->again, lane_go_on);
}

/* Watchdog's thread. */
static void stuck_here(void *arg)
{
    const struct pl_lane *lane = arg;
    pl_log(PL_LOG_ERROR,
           "a script can't be interrupted, and its thread is the only one: the process ends",
           pl_str("script", lane->s->script != NULL ? lane->s->script : "?"));
    _exit(1);
}

static void start_here(struct pl_lane *lane)
{
    struct pl_err err;
    lane->started = true;
    if (!open_state(lane, &err))
        pl_log(PL_LOG_ERROR, "a Lua state cannot be made", pl_str("error", err.message));
    else
        lane->s->limits.on_stuck = stuck_here;
}

void pl_lane_load_here(struct pl_lane *lane, struct pl_load *load)
{
    if (lane->s == NULL) {
        load->failed = PL_EIO;
        load->message = pl_strdup("a Lua state cannot be made");
    }
    pl_lane_answer_load(lane, load);
}

/* Earlier messages are processed first, as a thread does before it ends. */
static void end_here(struct pl_lane *lane)
{
    struct pl_list messages;
    pl_list_init(&messages);
    pl_loop_undefer(&lane->again);
    do {
        pl_mailbox_take(lane->box, &messages);
        on_step(lane, &messages);
        pl_loop_undefer(&lane->again);
    } while (!pl_list_empty(&lane->ready));
    atomic_store(&lane->limits, NULL);
    if (lane->s != NULL)
        pl_state_destroy(lane->s);
    lane->s = NULL;
    lane->started = false;
}

/* ---- from outside ---- */

/* Whether there is a thread to wait for. A lane without a thread has ended then. */
static bool has_thread(struct pl_lane *lane)
{
    if (lane->started && lane->lanes->options.stepped != NULL)
        end_here(lane);
    return lane->started;
}

struct pl_lane *pl_lane_create(struct pl_lanes *lanes, int number)
{
    struct pl_lane *lane = PL_NEW(struct pl_lane);
    struct pl_loop *stepped = lanes->options.stepped;
    lane->lanes = lanes;
    lane->number = number;
    lane->box =
        stepped != NULL ? pl_mailbox_create_for_loop(stepped, on_step, lane) : pl_mailbox_create();
    pl_list_init(&lane->execs);
    pl_list_init(&lane->ready);
    pl_list_init(&lane->io.execs);
    pl_list_init(&lane->io.ops);
    pl_list_init(&lane->io.asks);
    pl_list_init(&lane->io.asks_waiting);
    return lane;
}

void pl_lane_start(struct pl_lane *lane)
{
    if (lane->lanes->options.stepped != NULL) {
        start_here(lane);
        return;
    }
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, PL_LANE_STACK);
    PL_REQUIRE(pthread_create(&lane->thread, &attr, lane_run, lane) == 0);
    pthread_attr_destroy(&attr);
    lane->started = true;
}

/* Waits at most a second, by a clock that does not jump; ThreadSanitizer does not support that
 * function. */
static bool join_soon(struct pl_lane *lane)
{
    struct timespec until;
#if defined(__SANITIZE_THREAD__)
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    return pthread_timedjoin_np(lane->thread, NULL, &until) == 0;
#else
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    return pthread_clockjoin_np(lane->thread, NULL, CLOCK_MONOTONIC, &until) == 0;
#endif
}

/* False when the thread is in a slice that cannot be ended: it is left alone. */
static bool join_thread(struct pl_lane *lane)
{
    for (;;) {
        if (join_soon(lane))
            return true;
        if (atomic_load(&lane->told_stuck))
            return false;
    }
}

static void ask_to_stop(struct pl_lane *lane)
{
    if (lane->stopping)
        return;
    lane->stopping = true;
    lane->stop_msg.kind = PL_LANE_STOP;
    pl_mailbox_send(lane->box, &lane->stop_msg);
}

bool pl_lane_try_join(struct pl_lane *lane)
{
    if (!has_thread(lane))
        return true;
    ask_to_stop(lane);
    if (pthread_tryjoin_np(lane->thread, NULL) != 0)
        return false;
    lane->started = false;
    return true;
}

void pl_lane_abandon(struct pl_lane *lane)
{
    atomic_store(&lane->abandoned, true);
    ask_to_stop(lane); /* by now it may be waiting for messages */
}

static void on_reap(struct pl_task *task)
{
    struct pl_lane *lane = PL_CONTAINER_OF(task, struct pl_lane, io.reap);
    pthread_join(lane->thread, NULL); /* it has sent its last message */
    lane->started = false;
    pl_lanes_reap(lane);
}

void pl_lane_check_ended(struct pl_lane *lane)
{
    if (lane->io.ended && pl_list_empty(&lane->io.ops))
        pl_loop_defer(lane->lanes->loop, &lane->io.reap, on_reap);
}

/* Frees messages that an abandoned lane did not process. An operation that was answered belongs to
 * the task that waits for it. */
static void drop_message(struct pl_msg *msg)
{
    switch ((enum pl_lane_msg)msg->kind) {
    case PL_LANE_LOAD: {
        struct pl_load *load = PL_CONTAINER_OF(msg, struct pl_load, msg);
        pl_free(load->message);
        pl_free(load);
        break;
    }
    case PL_LANE_RUN:
        pl_exec_drop(PL_CONTAINER_OF(msg, struct pl_exec, msg));
        break;
    case PL_LANE_CANCEL:
    case PL_LANE_END: {
        struct pl_cancel *cancel = PL_CONTAINER_OF(msg, struct pl_cancel, msg);
        pl_exec_unref(cancel->exec);
        pl_free(cancel);
        break;
    }
    case PL_LANE_ASK:
        pl_ask_drop(PL_CONTAINER_OF(msg, struct pl_ask, msg));
        break;
    case PL_LANE_OP_DONE: {
        struct pl_lop *op = PL_CONTAINER_OF(msg, struct pl_lop, msg);
        if (op->task == NULL)
            pl_lop_unref(op);
        break;
    }
    default:
        break;
    }
}

void pl_lane_free(struct pl_lane *lane)
{
    if (lane == NULL)
        return;
    pl_mailbox_destroy(lane->box, lane->io.ended ? drop_message : NULL);
    struct pl_link *link;
    while (lane->io.ended && (link = pl_list_pop(&lane->execs)) != NULL)
        pl_exec_drop(PL_CONTAINER_OF(link, struct pl_exec, active));
    pl_buf_deinit(&lane->io.texts);
    if (PL_TAPE_WANTS(lane, close))
        lane->tape->ops->close(lane->tape);
    pl_free(lane->pool);
    pl_free(lane);
}

bool pl_lane_end(struct pl_lane *lane)
{
    if (!has_thread(lane))
        return true;
    ask_to_stop(lane);
    if (!join_thread(lane)) {
        pl_lane_abandon(lane);
        pl_list_push(&lane->lanes->abandoned, &lane->io.link);
        return false;
    }
    lane->started = false;
    return true;
}
