/* The table of commands. --help, manual pages and completion come from it and from each command's
 * table of flags; there is no other list. */
#include "cli/commands.h"

#include "operate/operate.h"

#include "base/base.h"
#include "value/build.h"

static const struct pl_command commands[] = {
    {"run", "PATH...", "run the scripts' controllers against a cluster", pl_command_run, NULL,
     NULL},
    {"dev", "PATH...", "run the scripts' controllers on an embedded API server", pl_command_dev,
     NULL, NULL},
    {"check", "PATH...", "load the scripts without a cluster and print what they declare",
     pl_command_check, NULL, NULL},
    {"apiserver", "", "run the embedded API server alone", pl_command_apiserver, NULL, NULL},
    {"status", "", "show the state of a running host", pl_command_status, NULL, NULL},
    {"why", "KIND NAMESPACE/NAME", "show what happened to a key of a running host", pl_command_why,
     NULL, NULL},
    {"queue", "[list|requeue|drop [CONTROLLER [KEY]]]",
     "list or change the waiting keys of a running host", pl_command_queue, NULL, NULL},
    {"pause", "KIND NAMESPACE/NAME", "stop reconciling an object; its deletion is still handled",
     pl_command_pause, NULL, NULL},
    {"resume", "KIND NAMESPACE/NAME", "reconcile a paused object again", pl_command_pause, NULL,
     NULL},
    {"reload", "[--shadow PATH...]", "load the scripts of a running host again", pl_command_reload,
     NULL, NULL},
    {"profile", "",
     "show where the scripts of a running host compute: folded stacks, or a flame graph",
     pl_command_profile, NULL, NULL},
    {"tune", "",
     "change the log level or a controller's numbers in a running host for a limited time",
     pl_command_tune, NULL, NULL},
    {"repl", "",
     "evaluate Lua in a running host: it can read the caches and change nothing; Secrets are shown",
     pl_command_repl, NULL, NULL},
    {"new", "NAME", "write a working controller: script, CRD, sample, spec", pl_command_new, NULL,
     NULL},
    {"rbac", "PATH...", "print the minimal roles for what the scripts declare", pl_command_rbac,
     NULL, NULL},
    {"manifests", "PATH...",
     "print the objects that run the scripts in a cluster, for kubectl apply", pl_command_manifests,
     NULL, NULL},
    {"uninstall", "PATH...", "remove what the host has put into a cluster", pl_command_uninstall,
     NULL, NULL},
    {"types", "PATH...", "write type definitions for editors: the API and the kinds of the CRDs",
     pl_command_types, NULL, NULL},
    {"completion", "bash|zsh|fish|man COMMAND",
     "print a shell's completion of commands, flags and keys, or a manual page",
     pl_command_completion, NULL, NULL},
    {"test", "PATH...", "run specs of controllers, each on its own API server and clock",
     pl_command_test, NULL, NULL},
    {"replay", "FILE [PATH...]",
     "run again what a host has recorded with --record, or run other scripts on it",
     pl_command_replay, NULL, NULL},
    {"version", "", "print the versions of perilune and its libraries", pl_command_version, NULL,
     NULL},
};

const struct pl_command *pl_commands(size_t *count)
{
    *count = PL_ARRAY_LEN(commands);
    return commands;
}

struct pl_doc *pl_commands_describe(void)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_array(b);
    for (size_t i = 0; i < PL_ARRAY_LEN(commands); i++) {
        struct pl_command asked = commands[i];
        asked.describe = b;
        pl_build_object(b);
        pl_build_put_strz(b, "name", asked.name);
        pl_build_put_strz(b, "arguments", asked.arguments);
        pl_build_put_strz(b, "summary", asked.summary);
        pl_build_keyz(b, "flags");
        pl_build_array(b);
        asked.run(&asked, 0, NULL);
        pl_build_end(b);
        pl_build_end(b);
    }
    pl_build_end(b);
    return pl_build_close(b);
}
