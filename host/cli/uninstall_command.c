/* perilune uninstall PATH...: the tool removes what a host has put into a cluster. With --cleanup
 * the scripts clean up in between, in a host that does nothing else. Webhook registrations are
 * removed first, as no one would answer their reviews; each finalizer is removed when its cleanup
 * has succeeded. */
#include "cli/declared.h"
#include "cli/host.h"
#include "cli/load.h"
#include "cli/remote.h"
#include "cli/tool_command.h"

#include "base/log.h"

#include <stdio.h>

/* The part of the tool's work to do. */
enum part { ALL, BEFORE_CLEANUP, AFTER_CLEANUP };

/* The scripts, loaded once for both parts. */
struct loaded {
    struct pl_lanes *lanes;
    struct pl_declarations declarations;
};

static int run_tool(const struct pl_command *self, const struct pl_options *options,
                    const struct loaded *loaded, enum part part)
{
    static const char names[][16] = {
        [ALL] = "all", [BEFORE_CLEANUP] = "before cleanup", [AFTER_CLEANUP] = "after cleanup"};
    struct pl_tool_ask ask = {.options = options};
    struct pl_tool tool = {.module = "perilune.tool.uninstall", .ask = pl_tool_answer, .arg = &ask};
    struct pl_build *input = pl_tool_input_begin(self, &options->flags);
    pl_build_put_strz(input, "part", names[part]);
    pl_declared_build(loaded->lanes, &loaded->declarations, input);
    int exit_code = pl_tool_command(self, &tool, input);
    pl_remote_close(ask.remote);
    return exit_code;
}

static bool has_finalizers(const struct pl_declarations *declarations)
{
    for (size_t i = 0; i < declarations->controller_count; i++) {
        const struct pl_controller_spec *spec = &declarations->controllers[i];
        for (size_t j = 0; j < spec->source_count; j++)
            if (spec->sources[j].finalizers != NULL && spec->sources[j].finalizers[0] != NULL)
                return true;
    }
    return false;
}

/* Runs an invisible host until every key has had its run. */
static int clean_up(const struct pl_options *options)
{
    struct pl_options host = *options;
    host.lanes.leaving = true;
    host.once = true;
    host.reload = false;
    host.leader.elect = false;
    host.leader.shards = 0;
    host.admin_socket = "0";
    host.page_address.off = host.metrics_address.off = host.health_address.off = true;
    if (pl_log_get_level() == PL_LOG_INFO)
        pl_log_set_level(PL_LOG_WARN);
    return pl_host_run(&host, NULL);
}

static int uninstall_with_cleanup(const struct pl_command *self, const struct pl_options *options,
                                  const struct loaded *loaded)
{
    int exit_code = run_tool(self, options, loaded, BEFORE_CLEANUP);
    if (exit_code != PL_EXIT_OK)
        return exit_code;
    int cleaned = has_finalizers(&loaded->declarations) ? clean_up(options) : PL_EXIT_OK;
    exit_code = run_tool(self, options, loaded, AFTER_CLEANUP);
    return cleaned != PL_EXIT_OK ? cleaned : exit_code;
}

static int uninstall(const struct pl_command *self, const struct pl_options *options)
{
    bool cleanup = pl_flags_switch(&options->flags, "cleanup") && !options->dry_run;
    if (cleanup && !pl_flags_switch(&options->flags, "yes")) {
        fprintf(stderr,
                "perilune uninstall: --cleanup runs the scripts' cleanup for every object although "
                "none is deleted: confirm it with --yes, or try --dry-run first\n");
        return PL_EXIT_USAGE;
    }
    struct pl_lanes_options with = options->lanes;
    struct loaded loaded = {.lanes = NULL};
    int exit_code = PL_EXIT_FAILURE;
    with.count = 1;
    with.describe = true;
    loaded.lanes = pl_load(options, &with, &loaded.declarations);
    if (loaded.lanes != NULL)
        exit_code = cleanup ? uninstall_with_cleanup(self, options, &loaded)
                            : run_tool(self, options, &loaded, ALL);
    pl_declarations_deinit(&loaded.declarations);
    pl_lanes_destroy(loaded.lanes);
    return exit_code;
}

int pl_command_uninstall(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_options options;
    int exit_code = PL_EXIT_OK;
    if (pl_options_read(&options, self, argc, argv, &exit_code))
        exit_code = uninstall(self, &options);
    pl_options_deinit(&options);
    return exit_code;
}
