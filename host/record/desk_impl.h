/* The state of a breakpoint. Private to host/record. */
#pragma once

#include "lane/lanes.h"
#include "lua/limit.h"
#include "record/desk.h"

struct pl_exec;

struct pl_desk {
    struct pl_line_watch watch; /* for the lanes; used only with a breakpoint */
    const struct pl_desk_options *o;
    struct pl_lanes *lanes;                                   /* set by the code that runs them */
    bool (*is_wanted)(void *arg, const struct pl_exec *exec); /* NULL: every run */
    void *arg;
    bool open; /* an expression is being evaluated */
    bool quit; /* the replay must end */
};

void pl_desk_init(struct pl_desk *desk, const struct pl_desk_options *options);
/* For the lanes' options: part of the desk. NULL without a breakpoint. */
const struct pl_line_watch *pl_desk_watch(const struct pl_desk *desk);
