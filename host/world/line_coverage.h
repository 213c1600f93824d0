/* Which lines of scripts a world has run. One thread. */
#pragma once

#include "base/map.h"
#include "lua/limit.h"

struct pl_lines {
    struct pl_line_watch watch; /* for the lanes of hosts */
    struct pl_map files;        /* path -> struct pl_lines_of */
    const char *path;           /* the one that was seen last, and its lines */
    struct pl_lines_of *last;
};

void pl_lines_init(struct pl_lines *lines);
void pl_lines_deinit(struct pl_lines *lines);
/* Pushes a table: path -> array of the numbers of lines. */
void pl_lines_push(const struct pl_lines *lines, lua_State *L);
