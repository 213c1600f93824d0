/* perilune test PATH...: specs of scripts, in worlds of their own (world/specs.h). */
#include "base/log.h"
#include "cli/tool_command.h"
#include "world/specs.h"

#include "base/base.h"
#include "value/write.h"

#include <stdio.h>
#include <unistd.h>

static const struct pl_flag test_flags[] = {
    {.name = "filter",
     .metavar = "PATTERN",
     .help = "only tests whose name matches this Lua pattern"},
    {.name = "output",
     .letter = 'o',
     .type = PL_FLAG_CHOICE,
     .choices = "text|tap|json|junit",
     .fallback = "text",
     .help = "how results are printed"},
    {.name = "seed",
     .type = PL_FLAG_INTEGER,
     .fallback = "1",
     .least = 1,
     .metavar = "N",
     .help = "of all that is left to chance in worlds"},
    {.name = "log-level",
     .type = PL_FLAG_CHOICE,
     .choices = "debug|info|warn|error",
     .fallback = "error",
     .help = "what hosts in worlds log on stderr"},
};

static int run(const struct pl_command *self, const struct pl_flags *flags)
{
    if (flags->path_count == 0) {
        fprintf(stderr, "perilune test: PATH... is missing: where the specs are, such as .\n");
        return PL_EXIT_USAGE;
    }
    enum pl_log_level level = PL_LOG_ERROR;
    pl_log_parse_level(pl_flags_text(flags, "log-level"), &level);
    pl_log_configure(level, false, STDERR_FILENO);
    struct pl_build *b = pl_tool_input_begin(self, flags);
    pl_build_end(b);
    struct pl_doc *doc = pl_build_finish(b);
    pl_build_destroy(b);
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, pl_doc_root(doc), PL_WRITE_COMPACT);
    pl_doc_unref(doc);
    int exit_code = pl_specs_run(pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return exit_code;
}

int pl_command_test(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    int exit_code = PL_EXIT_OK;
    if (pl_command_flags(self, &flags, test_flags, PL_ARRAY_LEN(test_flags), argc, argv,
                         &exit_code))
        exit_code = run(self, &flags);
    pl_flags_deinit(&flags);
    return exit_code;
}
