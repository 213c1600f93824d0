/* Which lines of scripts a world has run. One thread. */
#pragma once

#include "base/map.h"
#include "lua/limit.h"

struct pl_line_coverage {
    struct pl_line_watch watch; /* for the lanes of hosts */
    struct pl_map files;        /* path -> struct pl_line_coverage_of */
    const char *path;           /* the one that was seen last, and its lines */
    struct pl_line_coverage_of *last;
};

void pl_line_coverage_init(struct pl_line_coverage *lines);
void pl_line_coverage_deinit(struct pl_line_coverage *lines);
/* Pushes a table: path -> array of the numbers of lines. */
void pl_line_coverage_push(const struct pl_line_coverage *lines, lua_State *L);
