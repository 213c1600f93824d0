/* perilune run PATH... */
#include "cli/host.h"

int pl_command_run(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_options options;
    int exit_code = PL_EXIT_OK;
    if (pl_options_read(&options, self, argc, argv, &exit_code))
        exit_code = pl_host_run(&options, NULL);
    pl_options_deinit(&options);
    return exit_code;
}
