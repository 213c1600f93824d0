/* One session of `perilune repl`: Lua code that a person types is evaluated in a separate state and
 * thread. It may read the caches of the running scripts and change nothing. I/O thread. */
#pragma once

#include "control/manager.h"
#include "lane/lanes.h"

struct pl_repl;

struct pl_repl_options {
    struct pl_cluster *cluster; /* borrowed for life, like the following fields */
    struct pl_loop *loop;
    struct pl_manager *manager;    /* its controllers' synced caches can be read */
    struct pl_lanes_options lanes; /* limits and config of scripts */
};

/* Begins a session. The caller owns it until pl_repl_close. */
struct pl_repl *pl_repl_open(const struct pl_repl_options *options);

/* The result of a line. The session is over when `ended`: then it can only be closed. */
typedef void (*pl_repl_fn)(void *arg, struct pl_slice text, bool failed, bool ended);
/* Evaluates one or several lines; told is called exactly once, later. One call at a time. EAGAIN
 * while one is under way, ECLOSED when the session is over. */
int pl_repl_eval(struct pl_repl *repl, struct pl_slice text, pl_repl_fn told, void *arg);

/* Cancels work under way. When its thread has ended, it is freed and closed is called. A lane that
 * cannot be ended never closes. */
void pl_repl_close(struct pl_repl *repl, void (*closed)(void *arg), void *arg);
