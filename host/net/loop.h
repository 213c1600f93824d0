/* The event loop of one thread: libuv behind a small interface. All objects of a loop belong to its
 * thread. */
#pragma once

#include "base/list.h"
#include "base/task.h"
#include "base/timer.h"

#include <stdbool.h>

struct pl_loop;
struct uv_loop_s; /* for files of net alone */

/* Ends the process when the system has no file descriptors left for the loop. The caller owns the
 * loop and destroys it last of all its objects. The clock is borrowed for life. */
struct pl_loop *pl_loop_create(const struct pl_clock *clock);
/* A loop without connection to the system: its caller drives it with pl_loop_step, and its
 * behaviour depends only on the clock and on messages. Files of net that need libuv (connections,
 * processes, signals, work of other threads) do not work with it. */
struct pl_loop *pl_loop_create_stepped(const struct pl_clock *clock);
bool pl_loop_is_stepped(const struct pl_loop *loop);
/* For a stepped loop: does the next piece of work: mail, else a deferred task, else a due timer.
 * False: there was none, and the hooks of each turn have run. */
bool pl_loop_step(struct pl_loop *loop);
/* Everything on it must be closed. Accepts NULL. If work on another thread (net/blocking_work.h)
 * does not end soon, the loop's memory is not freed. */
void pl_loop_destroy(struct pl_loop *loop);

/* Runs until pl_loop_stop; the calling thread becomes the loop's. */
void pl_loop_run(struct pl_loop *loop);
/* One turn that waits at most timeout_ms (-1: for ever); for tests. */
void pl_loop_turn(struct pl_loop *loop, int timeout_ms);
/* From the loop's thread. The current turn is finished. */
void pl_loop_stop(struct pl_loop *loop);

/* The loop's own timers, for objects that live on its thread. */
struct pl_timers *pl_loop_timers(struct pl_loop *loop);
/* The clock that pl_loop_create was given. */
const struct pl_clock *pl_loop_clock(struct pl_loop *loop);
int64_t pl_loop_now(struct pl_loop *loop); /* a fresh monotonic reading */

/* Ends the process unless it is called on the loop's thread: the thread that created the loop,
 * until another one runs it. For functions whose header says "I/O thread" and that have the loop at
 * hand. Those that defer work, or start or stop a timer of the loop, are checked by that. */
void pl_loop_require(const struct pl_loop *loop);
bool pl_loop_is_current(const struct pl_loop *loop);

/* On the loop's thread: runs task->run later in this turn or the next, once, "after the current
 * callback". */
void pl_loop_defer(struct pl_loop *loop, struct pl_task *task, void (*run)(struct pl_task *task));
/* Another thread was asked for something that it will answer soon: the next wait for events begins
 * by spinning (net/awake.h). */
void pl_loop_expect(struct pl_loop *loop);
/* Does nothing when the task is not deferred. */
void pl_loop_undefer(struct pl_task *task);

/* Called at the end of every turn, e.g. to collect dropped documents. Registered on the loop's
 * thread. */
struct pl_idle {
    struct pl_link link;
    void (*run)(struct pl_idle *idle);
};
void pl_loop_each_turn(struct pl_loop *loop, struct pl_idle *idle,
                       void (*run)(struct pl_idle *idle));
void pl_loop_each_turn_stop(struct pl_idle *idle);

/* Calls on_turn at the end of every turn with its duration, without waiting: events had to wait
 * that long. NULL: stop. */
typedef void (*pl_turn_fn)(void *arg, int64_t took_ns);
void pl_loop_observe(struct pl_loop *loop, pl_turn_fn on_turn, void *arg);

/* A place where other threads leave messages for the loop; only for files of net. While the loop
 * spins it checks inboxes by itself and tells them so, so that no sender has to wake it. */
struct pl_inbox {
    struct pl_link link; /* private */
    /* A hint, without a lock. */
    bool (*has_some)(const struct pl_inbox *inbox);
    /* Whether the loop checks by itself from now on. Messages that came before it stopped are found
     * by has_some. */
    void (*watch)(struct pl_inbox *inbox, bool watched);
    /* Delivers the messages; may remove inboxes. */
    void (*deliver)(struct pl_inbox *inbox);
};
void pl_loop_add_inbox(struct pl_loop *loop, struct pl_inbox *inbox);
void pl_loop_remove_inbox(struct pl_inbox *inbox);

struct uv_loop_s *pl_loop_uv(struct pl_loop *loop); /* borrowed; for files of net alone */
