/* The commands that query or change a running host through its admin socket. Each takes its
 * arguments without its own name and returns the exit code. */
#pragma once

#include "command/command.h"

int pl_command_status(const struct pl_command *self, int argc, char *const *argv);
int pl_command_why(const struct pl_command *self, int argc, char *const *argv);
int pl_command_queue(const struct pl_command *self, int argc, char *const *argv);
int pl_command_pause(const struct pl_command *self, int argc, char *const *argv); /* and resume */
int pl_command_reload(const struct pl_command *self, int argc, char *const *argv);
int pl_command_tune(const struct pl_command *self, int argc, char *const *argv);
int pl_command_profile(const struct pl_command *self, int argc, char *const *argv);
int pl_command_repl(const struct pl_command *self, int argc, char *const *argv);
