/* The table of commands, and the commands of this folder. Main thread. */
#pragma once

#include "command/command.h"

/* Every command, in the order of --help; constants. Usage, manual pages and completion come from
 * this table. */
const struct pl_command *pl_commands(size_t *count);
/* [{name, arguments, summary, flags: [{name, letter, metavar, choices, default, help, repeatable,
 * switch}]}]. The caller owns a reference. */
struct pl_doc *pl_commands_describe(void);

int pl_command_run(const struct pl_command *self, int argc, char *const *argv);
int pl_command_dev(const struct pl_command *self, int argc, char *const *argv);
int pl_command_check(const struct pl_command *self, int argc, char *const *argv);
int pl_command_apiserver(const struct pl_command *self, int argc, char *const *argv);
int pl_command_completion(const struct pl_command *self, int argc, char *const *argv);
int pl_command_rbac(const struct pl_command *self, int argc, char *const *argv);
int pl_command_manifests(const struct pl_command *self, int argc, char *const *argv);
int pl_command_uninstall(const struct pl_command *self, int argc, char *const *argv);
int pl_command_types(const struct pl_command *self, int argc, char *const *argv);
int pl_command_new(const struct pl_command *self, int argc, char *const *argv);
int pl_command_test(const struct pl_command *self, int argc, char *const *argv);
int pl_command_replay(const struct pl_command *self, int argc, char *const *argv);
int pl_command_version(const struct pl_command *self, int argc, char *const *argv);
