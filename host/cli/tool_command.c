/* Commands that run a tool: `new`, `completion` and others. Each reads its flags here, and passes
 * them as a document. */
#include "serve/version.h"
#include "cli/tool_command.h"

#include "base/base.h"
#include "value/write.h"

struct pl_build *pl_tool_input_begin(const struct pl_command *self, const struct pl_flags *flags)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_put_strz(b, "command", self->name);
    pl_build_keyz(b, "flags");
    pl_build_object(b);
    pl_flags_build(b, flags);
    pl_build_end(b);
    pl_build_keyz(b, "paths");
    pl_build_array(b);
    for (size_t i = 0; i < flags->path_count; i++)
        pl_build_strz(b, flags->paths[i]);
    pl_build_end(b);
    return b;
}

int pl_tool_command(const struct pl_command *self, struct pl_tool *tool, struct pl_build *input)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_build_end(input);
    pl_build_write(&text, input, PL_WRITE_COMPACT);
    tool->command = self->name;
    tool->version = pl_version();
    tool->input = pl_buf_slice(&text);
    int exit_code = pl_tool_run(tool);
    pl_buf_deinit(&text);
    return exit_code;
}

/* ---- new ---- */

static const struct pl_flag new_flags[] = {
    {.name = "group",
     .metavar = "GROUP",
     .fallback = "example.com",
     .help = "API group of the kind"},
    {.name = "kind", .metavar = "KIND", .help = "the kind (default NAME in CamelCase)"},
    {.name = "webhook",
     .type = PL_FLAG_SWITCH,
     .help = "add an admission webhook that refuses what the schema cannot"},
    {.name = "dir", .metavar = "DIR", .help = "folder for the files (default ./NAME)"},
};

int pl_command_new(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    int exit_code = PL_EXIT_OK;
    struct pl_tool tool = {.module = "perilune.tool.new"};
    if (pl_command_flags(self, &flags, new_flags, PL_ARRAY_LEN(new_flags), argc, argv, &exit_code))
        exit_code = pl_tool_command(self, &tool, pl_tool_input_begin(self, &flags));
    pl_flags_deinit(&flags);
    return exit_code;
}

/* ---- types ---- */

static const struct pl_flag types_flags[] = {
    {.name = "out",
     .metavar = "DIR",
     .help = "folder for perilune.lua (default: types beside PATH)"},
};

int pl_command_types(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    int exit_code = PL_EXIT_OK;
    struct pl_tool tool = {.module = "perilune.tool.types"};
    if (pl_command_flags(self, &flags, types_flags, PL_ARRAY_LEN(types_flags), argc, argv,
                         &exit_code))
        exit_code = pl_tool_command(self, &tool, pl_tool_input_begin(self, &flags));
    pl_flags_deinit(&flags);
    return exit_code;
}
