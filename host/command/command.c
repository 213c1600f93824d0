/* The common part of all commands: flags and --help, mistakes in the arguments, and the end of the
 * output. */
#include "command/command.h"

#include "base/buf.h"
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *pl_command_flush_output(void)
{
    if (fflush(stdout) != 0)
        return strerror(errno);
    if (!ferror(stdout))
        return NULL;
    /* An earlier write failed, and its reason is lost; another write may reveal it. */
    clearerr(stdout);
    if (fputc('\n', stdout) == EOF || fflush(stdout) != 0)
        return strerror(errno);
    return "a part of it is lost";
}

void pl_command_flush(void)
{
    const char *failed = pl_command_flush_output();
    if (failed == NULL)
        return;
    pl_log(PL_LOG_WARN, "standard output cannot be written", pl_str("error", failed));
    clearerr(stdout);
}

/* With --config, flags are complete, and can be checked, only after the file was read. */
static bool has_config(const struct pl_flag *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, "config") == 0)
            return true;
    return false;
}

static void print_usage(FILE *out, const struct pl_command *self)
{
    fprintf(out, "usage: perilune %s [FLAGS]%s%s\n", self->name,
            *self->arguments != '\0' ? " " : "", self->arguments);
}

int pl_command_misuse(const struct pl_command *self, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "perilune %s: ", self->name);
    vfprintf(stderr, fmt, args);
    fputs("; ", stderr);
    print_usage(stderr, self);
    va_end(args);
    return PL_EXIT_USAGE;
}

bool pl_command_flags(const struct pl_command *self, struct pl_flags *flags,
                      const struct pl_flag *table, size_t count, int argc, char *const *argv,
                      int *exit_code)
{
    if (self->describe != NULL) {
        *flags = (struct pl_flags){.table = NULL};
        pl_flags_describe(self->describe, &(const struct pl_flag_table){table, count, self->name});
        return false;
    }
    struct pl_err err;
    pl_err_clear(&err);
    const struct pl_flag_table own = {table, count, self->name};
    int rc = pl_flags_parse(flags, &own, argc, argv, (const char *const *)environ, &err);
    if (rc == 0 && !flags->help && !has_config(table, count))
        rc = pl_flags_check(flags, &err);
    if (rc != 0) {
        fprintf(stderr, "perilune %s: %s\n", self->name, err.message);
        *exit_code = PL_EXIT_USAGE;
        return false;
    }
    if (!flags->help && flags->path_count > 0 && *self->arguments == '\0') {
        fprintf(stderr, "perilune %s: it takes no arguments: %s\n", self->name, flags->paths[0]);
        *exit_code = PL_EXIT_USAGE;
        return false;
    }
    if (!flags->help)
        return true;
    struct pl_buf text = PL_BUF_INIT;
    print_usage(stdout, self);
    pl_buf_add_f(&text, "\n%s\n", self->summary);
    if (count > 0) {
        pl_buf_add_z(&text, "\nflags (also as PERILUNE_NAME in the environment):\n");
        pl_flags_help(&text, &own);
    }
    fputs(pl_buf_z(&text), stdout);
    pl_buf_deinit(&text);
    *exit_code = PL_EXIT_OK;
    return false;
}
