/* A stop at a line of a script that runs again: whoever sits at the desk may look at the run there.
 * What is typed sees the locals of that place and changes none of them; the host's functions that
 * answer from the record can't be called, as the record has no answer for them. */
#pragma once

#include "base/err.h"

struct pl_desk_options {
    const char *file;        /* "main.lua", or as much of the path's end; NULL: any */
    int line;                /* 0: no stop */
    char *(*ask)(void *arg); /* the next line that is typed; NULL: there is none. To free. */
    void (*say)(void *arg, const char *text);
    void *arg;
};

/* "44" or "main.lua:44". EINVAL: it is neither. file: owned, NULL for a number alone. */
PL_MUST_USE int pl_desk_parse(const char *text, char **file, int *line, struct pl_err *err);
