/* The state of a breakpoint. Private to host/record. The replay's thread. */
#pragma once

#include "lane/lanes.h"
#include "lua/limit.h"
#include "record/breakpoint.h"

struct pl_exec;

struct pl_breakpoint {
    struct pl_line_watch watch; /* for the lanes; used only with a breakpoint */
    const struct pl_breakpoint_options *o;
    struct pl_lanes *lanes; /* set by the code that runs them */
    /* exec: NULL in a function that is called for events. NULL: it stops everywhere. */
    bool (*is_wanted)(void *arg, const struct pl_exec *exec);
    void *arg;
    size_t stops; /* so far */
    bool open;    /* an expression is being evaluated */
    bool quit;    /* the replay must end */
};

void pl_breakpoint_init(struct pl_breakpoint *breakpoint,
                        const struct pl_breakpoint_options *options);
/* For the lanes' options: part of the breakpoint. NULL without a breakpoint. */
const struct pl_line_watch *pl_breakpoint_watch(const struct pl_breakpoint *breakpoint);
