/* The service account of `perilune dev --as-serviceaccount`. Main thread. */
#pragma once

#include "cli/tool_command.h"
#include "kube/client.h"

struct pl_dev_account {
    struct pl_kubeconfig config; /* owned; borrowed by the client */
    char *user, *token;          /* owned; NULL: none yet */
};

/* Applies the account and its roles with the kubeconfig of the options, and makes the client send
 * its token from now on. The scripts load once more for it. Blocking; the server must be on another
 * thread. On failure, the tool's messages were printed. The account must live as long as the
 * client. */
PL_MUST_USE int pl_dev_account_use(struct pl_dev_account *account, const struct pl_command *self,
                                   const struct pl_options *options, struct pl_client *client,
                                   struct pl_err *err);
/* Safe on zeroes. */
void pl_dev_account_deinit(struct pl_dev_account *account);
