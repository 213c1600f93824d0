/* perilune rbac PATH...: prints the minimal roles for the scripts' declarations. The scripts load
 * here, without a cluster. A tool computes the roles; it may ask a cluster for plurals and a
 * running host for its recorded calls. */
#include "base/base.h"
#include "cli/declared.h"
#include "cli/remote.h"
#include "cli/tool_command.h"
#include "operate/admin_client.h"
#include "value/scan.h"

#include <string.h>

#define CLUSTER_TIMEOUT (10 * PL_SECOND)

static int ask_cluster(struct pl_tool_ask *ask, struct pl_slice question, struct pl_buf *answer,
                       struct pl_err *err)
{
    if (ask->remote == NULL)
        ask->remote = pl_remote_open(&ask->options->kubeconfig, CLUSTER_TIMEOUT, err);
    if (ask->remote == NULL)
        return err->code;
    struct pl_doc *doc = pl_scan_text(question, NULL, err);
    if (doc == NULL)
        return err->code;
    int rc = pl_remote_ask(ask->remote, pl_doc_root(doc), answer, err);
    if (rc != 0)
        pl_err_prefix(err, "%s", pl_remote_server(ask->remote));
    pl_doc_unref(doc);
    return rc;
}

int pl_tool_answer(void *arg, const char *what, struct pl_slice question, struct pl_buf *answer,
                   struct pl_err *err)
{
    struct pl_tool_ask *ask = arg;
    return strcmp(what, "cluster") == 0
               ? ask_cluster(ask, question, answer, err)
               : pl_admin_ask_json(&ask->options->flags, what, answer, err);
}

/* Reads the flags, loads the scripts (declared.h) and runs the tool on them. Returns the exit code.
 */
static int tool_on_scripts(const struct pl_command *self, const char *module, int argc,
                           char *const *argv)
{
    struct pl_options options;
    struct pl_tool_ask ask = {.options = &options};
    struct pl_tool tool = {.module = module, .ask = pl_tool_answer, .arg = &ask};
    int exit_code = PL_EXIT_OK;
    if (pl_options_read(&options, self, argc, argv, &exit_code)) {
        struct pl_build *input = pl_tool_input_begin(self, &options.flags);
        if (pl_declared_add(&options, input)) {
            exit_code = pl_tool_command(self, &tool, input);
        } else {
            pl_build_destroy(input);
            exit_code = PL_EXIT_FAILURE;
        }
    }
    pl_remote_close(ask.remote);
    pl_options_deinit(&options);
    return exit_code;
}

int pl_command_rbac(const struct pl_command *self, int argc, char *const *argv)
{
    return tool_on_scripts(self, "perilune.tool.rbac", argc, argv);
}

int pl_command_manifests(const struct pl_command *self, int argc, char *const *argv)
{
    return tool_on_scripts(self, "perilune.tool.manifests", argc, argv);
}
