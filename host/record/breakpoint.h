/* A breakpoint in a replay: the user can inspect the run at a line of a script. Expressions see the
 * locals of that line and cannot change them. They can't call functions of the host that answer
 * from the record, because the record has no answer for these calls. The replay's thread. */
#pragma once

#include "base/err.h"

struct pl_breakpoint_options {
    const char *file;        /* "main.lua", or a longer end of the path; NULL: any */
    int line;                /* 0: no breakpoint */
    char *(*ask)(void *arg); /* the next input line, owned by the caller of `ask`: free with
                                pl_free; NULL: end of input */
    void (*say)(void *arg, const char *text);
    void *arg;
};

/* Parses "44" or "main.lua:44". EINVAL for anything else. file: owned, NULL for a number alone. */
PL_MUST_USE int pl_breakpoint_parse(const char *text, char **file, int *line, struct pl_err *err);
