/* perilune version */
#include "cli/commands.h"
#include "lane/lanes.h"
#include "net/http_client.h"
#include "serve/version.h"

#include <stdio.h>

int pl_command_version(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    int exit_code = PL_EXIT_OK;
    if (pl_command_flags(self, &flags, NULL, 0, argc, argv, &exit_code)) {
        printf("perilune %s\ncommit %s\n%s\n%s\n", pl_version(), pl_version_commit(),
               pl_lanes_lua_version(), pl_http_client_version());
    }
    pl_flags_deinit(&flags);
    return exit_code;
}
