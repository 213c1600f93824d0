/* What the commands that are tools (tool/tool.h) have in common. */
#pragma once

#include "cli/options.h"
#include "tool/tool.h"
#include "value/build.h"

/* {command, flags: {...}, paths: [...]}: what a tool is told, still open. */
struct pl_build *pl_tool_input_begin(const struct pl_command *self, const struct pl_flags *flags);
/* Ends and takes the input; fills the rest of tool (ask and arg are the caller's) and runs it. The
 * exit code. */
int pl_tool_command(const struct pl_command *self, struct pl_tool *tool, struct pl_build *input);

/* ---- tools that look at scripts ---- */

struct pl_remote;
struct pl_tool_ask {
    const struct pl_options *options;
    struct pl_remote *remote; /* NULL: no cluster was asked; the caller's to close */
};
/* tool.ask("cluster", see pl_remote_ask), or a command of a running host's admin socket. arg:
 * struct pl_tool_ask. */
PL_MUST_USE int pl_tool_answer(void *arg, const char *what, struct pl_slice question,
                               struct pl_buf *answer, struct pl_err *err);
/* Reads the flags, loads the scripts (declared.h) and runs the tool on them. The exit code. */
int pl_tool_on_scripts(const struct pl_command *self, const char *module, int argc,
                       char *const *argv);
