/* The stop itself. Private to host/record. */
#pragma once

#include "lane/lanes.h"
#include "lua/limit.h"
#include "record/desk.h"

struct pl_exec;

struct pl_desk {
    struct pl_line_watch watch; /* for the lanes; only when there is a line to stop at */
    const struct pl_desk_options *o;
    struct pl_lanes *lanes;                                   /* set by whoever runs them */
    bool (*is_wanted)(void *arg, const struct pl_exec *exec); /* NULL: every run */
    void *arg;
    bool open; /* something is being evaluated */
    bool quit; /* nothing is to run on */
};

void pl_desk_init(struct pl_desk *desk, const struct pl_desk_options *options);
/* For the lanes' options: NULL when there is no line. */
const struct pl_line_watch *pl_desk_watch(const struct pl_desk *desk);
