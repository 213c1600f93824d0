/* perilune test PATH...: runs specs of scripts in worlds (world/specs.h). */
#include "cli/tool_command.h"
#include "world/specs.h"

#include "base/base.h"
#include "value/write.h"

#include <stdio.h>

static const struct pl_flag test_flags[] = {
    {.name = "filter",
     .metavar = "PATTERN",
     .help = "only tests whose name matches this Lua pattern"},
    {.name = "output",
     .letter = 'o',
     .type = PL_FLAG_CHOICE,
     .choices = "text|tap|json|junit",
     .fallback = "text",
     .help = "format of the results"},
    {.name = "seed",
     .type = PL_FLAG_INTEGER,
     .fallback = "1",
     .least = 1,
     .metavar = "N",
     .help = "seed of all random choices in worlds"},
    {.name = "explore",
     .type = PL_FLAG_SWITCH,
     .help = "run each test.explore many times, with crashes, lag and lost answers"},
    {.name = "filename",
     .with = "explore",
     .letter = 'f',
     .metavar = "FILE",
     .repeatable = true,
     .help = "with --explore, without specs: PATH is scripts; this sample is applied, changed, "
             "deleted and created again"},
    {.name = "plan",
     .with = "explore",
     .metavar = "TEXT",
     .may_be_empty = true,
     .help = "with --explore: run only this plan, as a report prints it; '': undisturbed"},
    {.name = "budget",
     .with = "explore",
     .type = PL_FLAG_DURATION,
     .metavar = "DURATION",
     .fallback = "30s",
     .help = "with --explore: time for each scenario"},
    {.name = "executions",
     .with = "explore",
     .type = PL_FLAG_INTEGER,
     .metavar = "N",
     .fallback = "0",
     .help = "with --explore: number of executions instead of a time (0: use --budget)"},
    {.name = "jobs",
     .with = "explore",
     .type = PL_FLAG_INTEGER,
     .metavar = "N",
     .fallback = "0",
     .help = "with --explore: number of processes at a time, one for each scenario, or all for the "
             "only one (0: one scenario, with all processors)"},
    {.name = "no-stale",
     .with = "explore",
     .type = PL_FLAG_SWITCH,
     .help = "with --explore: no restart onto an API server that lags (for clusters with one API "
             "server)"},
    {.name = "allow",
     .with = "explore",
     .metavar = "FILE",
     .help = "with --explore: file of accepted findings"},
    {.name = "write-spec",
     .with = "explore",
     .metavar = "FILE",
     .help = "with --explore: add findings to this file as specs"},
    {.name = "log-level",
     .type = PL_FLAG_CHOICE,
     .choices = "debug|info|warn|error|off",
     .help = "log level of hosts in worlds, for world:logs (default info; off while --explore "
             "explores)"},
};

static int test_run(const struct pl_command *self, const struct pl_flags *flags)
{
    if (flags->path_count == 0)
        return pl_command_misuse(self, "no PATH given");
    enum pl_log_level level = PL_LOG_INFO;
    const char *wanted = pl_flags_text(flags, "log-level");
    if (wanted != NULL)
        pl_log_parse_level(wanted, &level);
    struct pl_build *b = pl_tool_input_begin(self, flags);
    pl_build_end(b);
    struct pl_buf text = PL_BUF_INIT;
    pl_build_write(&text, b, PL_WRITE_COMPACT);
    int exit_code = pl_specs_run(pl_buf_slice(&text), level);
    pl_buf_deinit(&text);
    return exit_code;
}

int pl_command_test(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    int exit_code = PL_EXIT_OK;
    if (pl_command_flags(self, &flags, test_flags, PL_ARRAY_LEN(test_flags), argc, argv,
                         &exit_code))
        exit_code = test_run(self, &flags);
    pl_flags_deinit(&flags);
    return exit_code;
}
