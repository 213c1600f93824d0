/* The tool account.lua computes the roles as `perilune rbac` does and applies them as the cluster
 * administrator that the kubeconfig names. The host's client is then configured anew with the
 * account's token, before any controller starts. The roles are those of the declarations at the
 * start: if a saved script declares more rights, the API server refuses their use, as a cluster
 * does. */
#include "cli/dev_account.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/declared.h"
#include "cli/remote.h"
#include "value/scan.h"

#include <string.h>

struct ask {
    struct pl_tool_ask scripts; /* the questions that other tools have, too */
    struct pl_dev_account *account;
};

static char *given_text(struct pl_node node, const char *key)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(pl_node_getz(node, key), &scratch);
    return pl_text_copy(text);
}

static int take_token(struct pl_dev_account *account, struct pl_slice given, struct pl_buf *answer,
                      struct pl_err *err)
{
    struct pl_doc *doc = pl_scan_text(given, NULL, err);
    if (doc == NULL)
        return err->code;
    account->user = given_text(pl_doc_root(doc), "user");
    account->token = given_text(pl_doc_root(doc), "token");
    pl_doc_unref(doc);
    pl_buf_add_z(answer, "{}");
    return 0;
}

static int answer_tool(void *arg, const char *what, struct pl_slice question, struct pl_buf *answer,
                       struct pl_err *err)
{
    struct ask *ask = arg;
    return strcmp(what, "token") == 0 ? take_token(ask->account, question, answer, err)
                                      : pl_tool_answer(&ask->scripts, what, question, answer, err);
}

static int run_tool(struct pl_dev_account *account, const struct pl_command *self,
                    const struct pl_options *options)
{
    struct ask ask = {.scripts = {.options = options}, .account = account};
    struct pl_tool tool = {.module = "perilune.tool.account", .ask = answer_tool, .arg = &ask};
    struct pl_build *input = pl_tool_input_begin(self, &options->flags);
    int exit_code = PL_EXIT_FAILURE;
    if (pl_declared_add(options, input))
        exit_code = pl_tool_command(self, &tool, input);
    else
        pl_build_destroy(input);
    pl_remote_close(ask.scripts.remote);
    return exit_code;
}

int pl_dev_account_use(struct pl_dev_account *account, const struct pl_command *self,
                       const struct pl_options *options, struct pl_client *client,
                       struct pl_err *err)
{
    if (run_tool(account, self, options) != PL_EXIT_OK || account->token == NULL)
        return pl_err_set(err, PL_EINVAL, "--as-serviceaccount: there is no account to run as");
    int rc = pl_kubeconfig_load(&options->kubeconfig, &account->config, err);
    if (rc != 0)
        return rc;
    pl_text_wipe(account->config.token);
    account->config.token = pl_strdup(account->token);
    rc = pl_client_configure(client, &account->config, err);
    if (rc == 0)
        pl_log(PL_LOG_INFO, "the scripts run as a service account", pl_str("user", account->user));
    return rc;
}

void pl_dev_account_deinit(struct pl_dev_account *account)
{
    pl_kubeconfig_deinit(&account->config);
    pl_text_wipe(account->token);
    pl_free(account->user);
}
