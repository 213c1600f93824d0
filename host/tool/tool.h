/* Commands that produce text: `new`, `rbac`, `manifests`, `types`, `completion` and others are
 * written in Lua (lua/perilune/tool/) and get their data from the command. A tool runs in a
 * separate Lua state that has all libraries of LuaJIT, since no script is ever loaded into it. The
 * command's thread; blocking. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct pl_tool {
    const char *module;    /* "perilune.tool.new": returns a function(tool, input) -> exit code */
    const char *command;   /* for messages: "new" */
    const char *version;   /* of perilune; borrowed */
    struct pl_slice input; /* JSON: the command's flags and arguments */
    /* Questions of the module to its command: tool.ask(what, question). Both texts are JSON; the
     * answer is appended. NULL: the tool asks nothing. */
    int (*ask)(void *arg, const char *what, struct pl_slice question, struct pl_buf *answer,
               struct pl_err *err);
    void *arg;
};

/* Runs it and returns the exit code; errors were printed on stderr. */
int pl_tool_run(const struct pl_tool *tool);
