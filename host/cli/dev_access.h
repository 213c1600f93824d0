/* Access to an embedded server: a token and a certificate, made anew at each start, and the
 * kubeconfig with both. Main thread, before the server starts or after it has stopped. */
#pragma once

#include "base/err.h"

#define PL_DEV_TOKEN 64 /* letters */

struct pl_dev_access {
    char token[PL_DEV_TOKEN + 1];
    char *cert_pem, *key_pem; /* owned */
};

/* host: the server's address. EIO when there is no randomness. */
PL_MUST_USE int pl_dev_access_make(struct pl_dev_access *access, const char *host,
                                   struct pl_err *err);
/* Keeps the token of the kubeconfig that an earlier server left at path, if it is one of ours and
 * no one else could read it: so users of that server can continue. */
void pl_dev_access_keep_token(struct pl_dev_access *access, const char *path);
/* Safe after a failed make, and on zeroes. */
void pl_dev_access_deinit(struct pl_dev_access *access);

/* Writes a kubeconfig, with mode 0600 even if the file existed. The certificate goes to PATH.crt,
 * or into the kubeconfig if PATH is not a regular file. access NULL: plain http without
 * credentials. */
PL_MUST_USE int pl_dev_kubeconfig(const char *path, const char *host, int port,
                                  const struct pl_dev_access *access, struct pl_err *err);

/* A path for a kubeconfig in a new temporary folder; the caller frees it with
 * pl_dev_temporary_remove, which removes folder and files. They are also removed when a signal ends
 * the process. One at a time. NULL and err on failure. */
char *pl_dev_temporary_kubeconfig(struct pl_err *err);
/* Accepts NULL. */
void pl_dev_temporary_remove(char *path);
