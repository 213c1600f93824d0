/* perilune run PATH... */
#include "cli/host.h"

#include <stdio.h>

int pl_command_run(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_options options;
    int exit_code = PL_EXIT_OK;
    if (pl_options_read(&options, self, argc, argv, &exit_code)) {
        struct pl_kubeconfig config = {0};
        struct pl_err err;
        pl_err_clear(&err);
        if (options.manifests != NULL) {
            fprintf(stderr, "perilune run: -f belongs to `perilune dev`\n");
            exit_code = PL_EXIT_USAGE;
        } else if (pl_kubeconfig_load(&options.kubeconfig, &config, &err) != 0) {
            fprintf(stderr, "perilune run: %s\n", err.message);
            exit_code = PL_EXIT_FAILURE;
        } else {
            exit_code = pl_host_run(&options, &config, NULL);
        }
        pl_kubeconfig_deinit(&config);
    }
    pl_options_deinit(&options);
    return exit_code;
}
