/* The loop of a thread: libuv, with timers by an injected clock, deferred tasks, hooks of each turn
 * and mailboxes.
 *
 * The order within a turn matters: mail that was found, deferred tasks, then timers, then hooks.
 * Deferred tasks come first, so that their requests are sent before other work here. A task that is
 * deferred by a task runs in the next turn, so that no chain of tasks starves the poll.
 *
 * Before it sleeps the loop may spin for a moment (net/awake.h). While it spins, senders do not
 * wake it, so it must check every mailbox again before it sleeps. */
#include "net/loop.h"

#include "base/alloc.h"
#include "net/awake.h"
#include "base/check.h"
#include "base/log.h"
#include "net/loop_work.h"

#include <uv.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#define CHILDREN_MS    5000 /* time for killed children to die */
#define WORK_MS        100  /* time for work on other threads to end */
#define PIPES_AT_START 5    /* a loop needs three */

/* A turn of libuv is: callbacks of the poll, then our check handle, which delivers mail, runs
 * deferred tasks, fires timers and calls the hooks. The uv timer only ends the poll in time; the
 * injected clock decides which timers are due. */

struct pl_loop {
    bool stepped; /* it uses no libuv */
    uv_loop_t uv;
    uv_prepare_t prepare; /* arms the timer; referenced, so that an empty loop waits */
    uv_check_t check;
    uv_idle_t idle; /* active while a task is deferred: the poll must not wait */
    uv_timer_t timer;
    struct pl_awake awake;
    int64_t armed_ns;      /* the due time for which the timer was started */
    uv_timer_t turn_limit; /* pl_loop_turn's time-out */
    struct pl_timers timers;
    const struct pl_clock *clock; /* borrowed for life */
    struct pl_list deferred;      /* struct pl_task */
    struct pl_list each_turn;     /* struct pl_idle */
    struct pl_list inboxes;       /* struct pl_inbox */
    bool watches;                 /* it spins: senders need not wake it */
    bool has_mail;                /* some inbox has mail to deliver in this turn */
    pl_turn_fn on_turn;           /* NULL: none */
    void *on_turn_arg;
    uint64_t turn_ns, turn_idle_ns; /* start of this turn, and libuv's idle time until then */
    _Atomic pthread_t thread;
    struct pl_list works; /* on other threads (net/blocking_work) */
};

static void claim(struct pl_loop *loop)
{
    atomic_store_explicit(&loop->thread, pthread_self(), memory_order_relaxed);
}

static void on_timer_cb(uv_timer_t *timer)
{
    PL_UNUSED(timer); /* it only ends the poll: the check handle does the work */
}

static void on_idle_cb(uv_idle_t *idle)
{
    PL_UNUSED(idle); /* being active makes the poll return at once */
}

void pl_loop_expect(struct pl_loop *loop)
{
    pl_awake_expect(&loop->awake);
}

static bool has_mail(struct pl_loop *loop)
{
    PL_LIST_FOR (link, &loop->inboxes) {
        struct pl_inbox *inbox = PL_CONTAINER_OF(link, struct pl_inbox, link);
        if (inbox->has_some(inbox))
            return true;
    }
    return false;
}

static void watch_inboxes(struct pl_loop *loop, bool watched)
{
    loop->watches = watched;
    PL_LIST_FOR (link, &loop->inboxes) {
        struct pl_inbox *inbox = PL_CONTAINER_OF(link, struct pl_inbox, link);
        inbox->watch(inbox, watched);
    }
}

static bool has_event(void *arg)
{
    struct pl_loop *loop = arg;
    struct pollfd events = {.fd = uv_backend_fd(&loop->uv), .events = POLLIN};
    if (has_mail(loop) || uv_backend_timeout(&loop->uv) == 0 || poll(&events, 1, 0) != 0)
        return true;
    if (!loop->watches)
        watch_inboxes(loop, true);
    return false;
}

/* The time between the last poll and the next one; libuv measures the waiting of a poll separately.
 */
static void end_turn(struct pl_loop *loop)
{
    if (loop->on_turn == NULL || loop->turn_ns == 0)
        return;
    uint64_t waited = uv_metrics_idle_time(&loop->uv) - loop->turn_idle_ns;
    loop->on_turn(loop->on_turn_arg, (int64_t)(uv_hrtime() - loop->turn_ns - waited));
}

static void begin_turn(struct pl_loop *loop)
{
    if (loop->on_turn == NULL)
        return;
    loop->turn_ns = uv_hrtime();
    loop->turn_idle_ns = uv_metrics_idle_time(&loop->uv);
}

/* No sender has woken the loop for messages that came while it watched. */
static void stop_watching(struct pl_loop *loop)
{
    if (!loop->watches)
        return;
    watch_inboxes(loop, false);
    loop->has_mail = has_mail(loop);
    if (loop->has_mail)
        uv_idle_start(&loop->idle, on_idle_cb);
}

/* Callbacks may remove themselves and others. */
static void call_each(struct pl_list *list, void (*call)(struct pl_link *link))
{
    struct pl_list due;
    pl_list_init(&due);
    pl_list_splice(&due, list);
    struct pl_link *link;
    while ((link = pl_list_pop(&due)) != NULL) {
        pl_list_push(list, link);
        call(link);
    }
}

static void loop_deliver(struct pl_link *link)
{
    struct pl_inbox *inbox = PL_CONTAINER_OF(link, struct pl_inbox, link);
    inbox->deliver(inbox);
}

static void deliver_mail(struct pl_loop *loop)
{
    bool some = loop->has_mail;
    loop->has_mail = false;
    if (some)
        call_each(&loop->inboxes, loop_deliver);
}

static void on_prepare_cb(uv_prepare_t *prepare)
{
    struct pl_loop *loop = prepare->data;
    end_turn(loop);
    pl_awake_begin(&loop->awake, has_event, loop);
    begin_turn(loop);
    stop_watching(loop);
    int64_t due;
    if (!pl_timers_next(&loop->timers, &due)) {
        uv_timer_stop(&loop->timer);
        return;
    }
    if (due == loop->armed_ns && uv_is_active((uv_handle_t *)&loop->timer))
        return;
    int64_t wait = due - pl_loop_now(loop);
    uint64_t ms = wait <= 0 ? 0 : (uint64_t)(wait - 1) / PL_MS + 1;
    uv_update_time(&loop->uv);
    uv_timer_start(&loop->timer, on_timer_cb, ms, 0);
    loop->armed_ns = due;
}

static void run_deferred(struct pl_loop *loop)
{
    struct pl_list due; /* tasks that these tasks defer run in the next turn */
    pl_list_init(&due);
    pl_list_splice(&due, &loop->deferred);
    struct pl_link *link;
    while ((link = pl_list_pop(&due)) != NULL) {
        struct pl_task *task = PL_CONTAINER_OF(link, struct pl_task, link);
        task->run(task);
    }
    if (pl_list_empty(&loop->deferred) && !loop->stepped)
        uv_idle_stop(&loop->idle);
}

static void run_hook(struct pl_link *link)
{
    struct pl_idle *idle = PL_CONTAINER_OF(link, struct pl_idle, link);
    idle->run(idle);
}

static void on_check_cb(uv_check_t *check)
{
    struct pl_loop *loop = check->data;
    pl_awake_end(&loop->awake);
    deliver_mail(loop);
    run_deferred(loop); /* first, so that requests are sent before other work here */
    pl_timers_run(&loop->timers);
    call_each(&loop->each_turn, run_hook);
}

/* libuv aborts when its first loop cannot get a pipe for signals. So there must be enough
 * descriptors for a whole loop and for other threads. */
static int look_for_room(void)
{
    int fds[PIPES_AT_START][2], count = 0, failed = 0;
    while (count < PIPES_AT_START && failed == 0) {
        if (pipe2(fds[count], O_CLOEXEC) == 0)
            count++;
        else
            failed = uv_translate_sys_error(errno);
    }
    while (count-- > 0) {
        close(fds[count][0]);
        close(fds[count][1]);
    }
    return failed;
}

static void require_loop_of(const struct pl_timers *timers)
{
    pl_loop_require(PL_CONTAINER_OF(timers, struct pl_loop, timers));
}

static struct pl_loop *loop_create(const struct pl_clock *clock)
{
    struct pl_loop *loop = PL_NEW(struct pl_loop);
    loop->clock = clock;
    pl_awake_init(&loop->awake, pl_clock_system());
    pl_timers_init(&loop->timers, clock);
    loop->timers.require = require_loop_of;
    pl_list_init(&loop->inboxes);
    pl_list_init(&loop->deferred);
    pl_list_init(&loop->each_turn);
    pl_list_init(&loop->works);
    claim(loop);
    return loop;
}

struct pl_loop *pl_loop_create_stepped(const struct pl_clock *clock)
{
    struct pl_loop *loop = loop_create(clock);
    loop->stepped = true;
    return loop;
}

bool pl_loop_is_stepped(const struct pl_loop *loop)
{
    return loop->stepped;
}

struct pl_loop *pl_loop_create(const struct pl_clock *clock)
{
    struct pl_loop *loop = loop_create(clock);
    /* A peer that went away is an error of the write, not the end of the process;
     * libuv writes with plain write(). */
    signal(SIGPIPE, SIG_IGN);
    int failed = look_for_room();
    if (failed == 0)
        failed = uv_loop_init(&loop->uv);
    if (failed != 0) { /* out of file descriptors: the process cannot work at all */
        pl_log(PL_LOG_ERROR, "an event loop cannot be made", pl_str("error", uv_strerror(failed)));
        _exit(1);
    }
    uv_loop_configure(&loop->uv, UV_METRICS_IDLE_TIME);
    uv_prepare_init(&loop->uv, &loop->prepare);
    uv_check_init(&loop->uv, &loop->check);
    uv_idle_init(&loop->uv, &loop->idle);
    uv_timer_init(&loop->uv, &loop->timer);
    uv_timer_init(&loop->uv, &loop->turn_limit);
    loop->prepare.data = loop->check.data = loop;
    uv_prepare_start(&loop->prepare, on_prepare_cb);
    uv_check_start(&loop->check, on_check_cb);
    return loop;
}

static void report_open_handle_cb(uv_handle_t *handle, void *arg)
{
    PL_UNUSED(arg);
    pl_log(PL_LOG_ERROR, "the event loop is destroyed while a handle is open",
           pl_str("type", uv_handle_type_name(uv_handle_get_type(handle))));
}

static void find_child_cb(uv_handle_t *handle, void *arg)
{
    if (uv_handle_get_type(handle) == UV_PROCESS && !uv_is_closing(handle))
        *(bool *)arg = true;
}

static void leave_child_cb(uv_handle_t *handle, void *arg)
{
    PL_UNUSED(arg);
    if (uv_handle_get_type(handle) == UV_PROCESS && !uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Reaps killed programs when they are dead, which takes a while on a busy machine. A program that a
 * dead disk blocks is left to its new parent. */
static void await_children(struct pl_loop *loop)
{
    for (int ms = 0; ms < CHILDREN_MS; ms++) {
        bool found = false;
        uv_walk(&loop->uv, find_child_cb, &found);
        if (!found)
            return;
        if (ms > 0)
            poll(NULL, 0, 1);
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    }
    uv_walk(&loop->uv, leave_child_cb, NULL);
}

struct pl_list *pl_loop_works(struct pl_loop *loop)
{
    return &loop->works;
}

/* False: some work has not ended, and will write to the loop when it does. */
static bool await_work(struct pl_loop *loop)
{
    for (int ms = 0; ms < WORK_MS && !pl_list_empty(&loop->works); ms++) {
        if (ms > 0)
            poll(NULL, 0, 1);
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    }
    return pl_list_empty(&loop->works);
}

void pl_loop_destroy(struct pl_loop *loop)
{
    if (loop == NULL)
        return;
    claim(loop);
    while (!pl_list_empty(&loop->deferred))
        run_deferred(loop);
    if (loop->stepped) {
        pl_timers_deinit(&loop->timers);
        pl_free(loop);
        return;
    }
    uv_close((uv_handle_t *)&loop->prepare, NULL);
    uv_close((uv_handle_t *)&loop->check, NULL);
    uv_close((uv_handle_t *)&loop->idle, NULL);
    uv_close((uv_handle_t *)&loop->timer, NULL);
    uv_close((uv_handle_t *)&loop->turn_limit, NULL);
    await_children(loop);
    /* Close callbacks may close more handles; few turns are enough. */
    for (int i = 0; i < 16 && uv_run(&loop->uv, UV_RUN_NOWAIT) != 0; i++)
        continue;
    if (!await_work(loop)) {
        pl_blocking_work_leave(&loop->works);
        return;
    }
    if (uv_loop_close(&loop->uv) != 0) {
        uv_walk(&loop->uv, report_open_handle_cb, NULL);
        PL_UNREACHABLE();
    }
    pl_timers_deinit(&loop->timers);
    pl_free(loop);
}

void pl_loop_run(struct pl_loop *loop)
{
    PL_REQUIRE(!loop->stepped);
    claim(loop);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

/* Delivers one inbox with messages; others follow in later steps. */
static bool deliver_one(struct pl_loop *loop)
{
    PL_LIST_FOR (link, &loop->inboxes) {
        struct pl_inbox *inbox = PL_CONTAINER_OF(link, struct pl_inbox, link);
        if (!inbox->has_some(inbox))
            continue;
        inbox->deliver(inbox);
        return true;
    }
    return false;
}

bool pl_loop_step(struct pl_loop *loop)
{
    PL_REQUIRE(loop->stepped);
    claim(loop);
    if (deliver_one(loop))
        return true;
    struct pl_link *link = pl_list_pop(&loop->deferred);
    if (link != NULL) {
        struct pl_task *task = PL_CONTAINER_OF(link, struct pl_task, link);
        task->run(task);
        return true;
    }
    if (pl_timers_run_one(&loop->timers))
        return true;
    call_each(&loop->each_turn, run_hook);
    return !pl_list_empty(&loop->deferred) || has_mail(loop);
}

void pl_loop_turn(struct pl_loop *loop, int timeout_ms)
{
    claim(loop);
    if (loop->stepped) {
        pl_loop_step(loop);
        return;
    }
    if (timeout_ms > 0) {
        uv_update_time(&loop->uv);
        /* Repeated: libuv also checks its timers before it polls, and a time-out that has expired
         * by then would not end the poll. */
        uv_timer_start(&loop->turn_limit, on_timer_cb, (uint64_t)timeout_ms, (uint64_t)timeout_ms);
    }
    uv_run(&loop->uv, timeout_ms == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    uv_timer_stop(&loop->turn_limit);
}

void pl_loop_stop(struct pl_loop *loop)
{
    pl_loop_require(loop);
    if (!loop->stepped)
        uv_stop(&loop->uv);
}

struct pl_timers *pl_loop_timers(struct pl_loop *loop)
{
    return &loop->timers;
}

const struct pl_clock *pl_loop_clock(struct pl_loop *loop)
{
    return loop->clock;
}

int64_t pl_loop_now(struct pl_loop *loop)
{
    return pl_clock_mono(loop->clock);
}

bool pl_loop_is_current(const struct pl_loop *loop)
{
    return pthread_equal(atomic_load_explicit(&loop->thread, memory_order_relaxed), pthread_self());
}

void pl_loop_require(const struct pl_loop *loop)
{
    PL_REQUIRE(pl_loop_is_current(loop));
}

void pl_loop_defer(struct pl_loop *loop, struct pl_task *task, void (*run)(struct pl_task *task))
{
    pl_loop_require(loop);
    task->run = run;
    if (pl_link_is_linked(&task->link))
        return;
    pl_list_push(&loop->deferred, &task->link);
    if (!loop->stepped)
        uv_idle_start(&loop->idle, on_idle_cb);
}

void pl_loop_undefer(struct pl_task *task)
{
    pl_link_unlink(&task->link);
}

void pl_loop_add_inbox(struct pl_loop *loop, struct pl_inbox *inbox)
{
    pl_list_push(&loop->inboxes, &inbox->link);
}

void pl_loop_remove_inbox(struct pl_inbox *inbox)
{
    pl_link_unlink(&inbox->link);
}

void pl_loop_each_turn(struct pl_loop *loop, struct pl_idle *idle,
                       void (*run)(struct pl_idle *idle))
{
    pl_loop_require(loop);
    idle->run = run;
    if (!pl_link_is_linked(&idle->link))
        pl_list_push(&loop->each_turn, &idle->link);
}

void pl_loop_each_turn_stop(struct pl_idle *idle)
{
    pl_link_unlink(&idle->link);
}

void pl_loop_observe(struct pl_loop *loop, pl_turn_fn on_turn, void *arg)
{
    loop->on_turn = on_turn;
    loop->on_turn_arg = arg;
    loop->turn_ns = 0;
}

struct uv_loop_s *pl_loop_uv(struct pl_loop *loop)
{
    PL_REQUIRE(!loop->stepped);
    return &loop->uv;
}
