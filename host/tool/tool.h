/* Commands whose work is text: `new`, `rbac`, `manifests`, `types`, `completion` and their like are
 * written in Lua (lua/perilune/tool/), on top of what the command has found out. A tool runs in a
 * Lua state of its own that has all of LuaJIT, since no script is ever loaded into it. The
 * command's thread; blocking. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct pl_tool {
    const char *module;    /* "perilune.tool.new": returns a function(tool, input) -> exit code */
    const char *command;   /* for messages: "new" */
    const char *version;   /* of perilune; borrowed */
    struct pl_slice input; /* JSON: what the command was told */
    /* What the module asks its command for: tool.ask(what, question). Both texts are JSON; the
     * answer is appended. NULL: the tool asks for nothing. */
    int (*ask)(void *arg, const char *what, struct pl_slice question, struct pl_buf *answer,
               struct pl_err *err);
    void *arg;
};

/* Runs it. The exit code; what went wrong has been said on stderr. */
int pl_tool_run(const struct pl_tool *tool);
