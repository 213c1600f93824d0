/* Shared by the commands that are tools (tool/tool.h). Main thread. */
#pragma once

#include "cli/options.h"
#include "tool/tool.h"
#include "value/build.h"

/* {command, flags: {...}, paths: [...]}: the input of a tool, still open. The caller owns the
 * builder. */
struct pl_build *pl_tool_input_begin(const struct pl_command *self, const struct pl_flags *flags);
/* Ends and takes the input; fills the other fields of tool (the caller sets ask and arg) and runs
 * it. Returns the exit code. */
int pl_tool_command(const struct pl_command *self, struct pl_tool *tool, struct pl_build *input);

/* ---- tools that look at scripts ---- */

struct pl_remote;
struct pl_tool_ask {
    const struct pl_options *options;
    struct pl_remote *remote; /* NULL: no cluster was asked; the caller closes it */
};
/* tool.ask("cluster", see pl_remote_ask), or a command of a running host's admin socket. arg:
 * struct pl_tool_ask. */
PL_MUST_USE int pl_tool_answer(void *arg, const char *what, struct pl_slice question,
                               struct pl_buf *answer, struct pl_err *err);
