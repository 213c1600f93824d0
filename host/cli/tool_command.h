/* What the commands that are tools (tool/tool.h) have in common. */
#pragma once

#include "cli/command.h"
#include "tool/tool.h"
#include "value/build.h"

/* {command, flags: {...}, paths: [...]}: what a tool is told, still open. */
struct pl_build *pl_tool_input_begin(const struct pl_command *self, const struct pl_flags *flags);
/* Adds "commands": every command with its flags. */
void pl_tool_add_commands(struct pl_build *input);
/* Ends and takes the input; fills the rest of tool (ask and arg are the caller's) and runs it. The
 * exit code. */
int pl_tool_command(const struct pl_command *self, struct pl_tool *tool, struct pl_build *input);
