/* One session of `perilune repl`: Lua that a person types is evaluated in a state and a thread of
 * its own, with the caches of the running scripts to read and nothing to change. I/O thread. */
#pragma once

#include "control/manager.h"
#include "lane/lanes.h"

struct pl_repl;

struct pl_repl_options {
    struct pl_cluster *cluster; /* borrowed for life, as is what follows */
    struct pl_loop *loop;
    struct pl_manager *manager;    /* whose controllers' caches can be read: those synced by now */
    struct pl_lanes_options lanes; /* limits and config, as scripts have them */
};

struct pl_repl *pl_repl_open(const struct pl_repl_options *options);

/* What came of a line. The session is over when `ended`: it can only be closed. */
typedef void (*pl_repl_fn)(void *arg, struct pl_slice text, bool failed, bool ended);
/* One line, or several; told exactly once, later. One at a time. EAGAIN while one is under way,
 * ECLOSED when the session is over. */
int pl_repl_eval(struct pl_repl *repl, struct pl_slice text, pl_repl_fn told, void *arg);

/* Ends what is under way; closed is called once its thread has ended, and frees it before. A lane
 * that can't be ended never closes. */
void pl_repl_close(struct pl_repl *repl, void (*closed)(void *arg), void *arg);
