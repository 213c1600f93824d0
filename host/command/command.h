/* The commands of the binary. Each takes its arguments without its own name and returns the exit
 * code: 0 clean, 1 an error or failure, 2 usage, 3 leadership lost, 4 not synced. */
#pragma once

#include "base/err.h"
#include "command/flags.h"

enum pl_exit {
    PL_EXIT_OK = 0,
    PL_EXIT_FAILURE = 1,
    PL_EXIT_USAGE = 2,
    PL_EXIT_LEADERSHIP_LOST = 3,
    PL_EXIT_NOT_SYNCED = 4,
};

struct pl_build;
struct pl_doc;

struct pl_command {
    const char *name;
    const char *arguments; /* "PATH..." */
    const char *summary;   /* one line */
    int (*run)(const struct pl_command *self, int argc, char *const *argv);
    /* Not NULL: the command only adds its flags to this array (by pl_command_flags) and does
     * nothing else. */
    struct pl_build *describe;
    /* pl_commands_describe, for commands that describe all others: set when a command is run. */
    struct pl_doc *(*all)(void);
};

/* Parses flags; on --help or a usage error it prints and stores the exit code. True: continue. */
bool pl_command_flags(const struct pl_command *self, struct pl_flags *flags,
                      const struct pl_flag *table, size_t count, int argc, char *const *argv,
                      int *exit_code);

/* Prints "perilune NAME: MESSAGE; usage: perilune NAME [FLAGS] ARGUMENTS"; returns PL_EXIT_USAGE.
 */
PL_MUST_USE int pl_command_misuse(const struct pl_command *self, const char *fmt, ...)
    PL_PRINTF(2, 3);

/* Writes the buffered output; returns NULL, or the reason why it failed. Borrowed until the next
 * call. */
const char *pl_command_flush_output(void);
/* Writes the buffered output now. If standard output is full or closed, it prints a warning and the
 * command continues. */
void pl_command_flush(void);
