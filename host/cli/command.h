/* The commands of the binary. Each takes its arguments without its own name and returns the
 * exit code: 0 clean, 1 a mistake or failure, 2 usage, 3 leadership lost, 4 not synced.
 */
#pragma once

#include "base/err.h"
#include "cli/flags.h"

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
    /* Not NULL: the command is asked for its flags, which pl_command_flags adds to the array that
     * is being built. It does nothing else. */
    struct pl_build *describe;
    /* pl_commands_describe, for commands that tell of all: set when a command is run. */
    struct pl_doc *(*all)(void);
};

/* Every command, in the order of --help: the one table that usage, manual pages and completion come
 * from. */
const struct pl_command *pl_commands(size_t *count);
/* [{name, arguments, summary, flags: [{name, letter, metavar, choices, default, help, repeatable,
 * switch}]}] */
struct pl_doc *pl_commands_describe(void);

int pl_command_run(const struct pl_command *self, int argc, char *const *argv);
int pl_command_dev(const struct pl_command *self, int argc, char *const *argv);
int pl_command_check(const struct pl_command *self, int argc, char *const *argv);
int pl_command_apiserver(const struct pl_command *self, int argc, char *const *argv);
int pl_command_status(const struct pl_command *self, int argc, char *const *argv);
int pl_command_why(const struct pl_command *self, int argc, char *const *argv);
int pl_command_queue(const struct pl_command *self, int argc, char *const *argv);
int pl_command_pause(const struct pl_command *self, int argc, char *const *argv); /* and resume */
int pl_command_reload(const struct pl_command *self, int argc, char *const *argv);
int pl_command_tune(const struct pl_command *self, int argc, char *const *argv);
int pl_command_repl(const struct pl_command *self, int argc, char *const *argv);
int pl_command_completion(const struct pl_command *self, int argc, char *const *argv);
int pl_command_rbac(const struct pl_command *self, int argc, char *const *argv);
int pl_command_manifests(const struct pl_command *self, int argc, char *const *argv);
int pl_command_uninstall(const struct pl_command *self, int argc, char *const *argv);
int pl_command_types(const struct pl_command *self, int argc, char *const *argv);
int pl_command_new(const struct pl_command *self, int argc, char *const *argv);
int pl_command_test(const struct pl_command *self, int argc, char *const *argv);
int pl_command_version(const struct pl_command *self, int argc, char *const *argv);

/* Parses flags; on --help or a usage error prints and stores the exit code. True: go on. */
bool pl_command_flags(const struct pl_command *self, struct pl_flags *flags,
                      const struct pl_flag *table, size_t count, int argc, char *const *argv,
                      int *exit_code);

/* Writes what was printed; NULL, or why it could not be. Borrowed, until the next call. */
const char *pl_command_flush_output(void);
/* What was printed, now. A standard output that is full or gone is a warning: the command goes on.
 */
void pl_command_flush(void);
