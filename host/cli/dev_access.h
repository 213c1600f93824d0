/* What gives access to an embedded server: a token and a certificate of its own, made anew at each
 * start, and the kubeconfig that hands both on. */
#pragma once

#include "base/err.h"

#define PL_DEV_TOKEN 64 /* letters */

struct pl_dev_access {
    char token[PL_DEV_TOKEN + 1];
    char *cert_pem, *key_pem; /* owned */
};

/* host: what the server is told to listen on. EIO when there is no randomness. */
PL_MUST_USE int pl_dev_access_make(struct pl_dev_access *access, const char *host,
                                   struct pl_err *err);
/* Takes over the token of the kubeconfig that an earlier server left at path, if it is one of ours
 * and nobody else could read it: who used that server goes on with this one. */
void pl_dev_access_keep_token(struct pl_dev_access *access, const char *path);
/* Safe after a failed make, and on zeroes. */
void pl_dev_access_deinit(struct pl_dev_access *access);

/* Writes a kubeconfig, mode 0600 also where the file was there before. The certificate goes beside
 * it, as PATH.crt, or into it where PATH is no regular file. access NULL: plain http without
 * credentials. */
PL_MUST_USE int pl_dev_kubeconfig(const char *path, const char *host, int port,
                                  const struct pl_dev_access *access, struct pl_err *err);

/* A place for a kubeconfig in a folder of its own among the temporary ones: its path, the caller's
 * to free with pl_dev_temporary_remove, which removes folder and files. They go also when a signal
 * ends the process. One at a time. NULL and err otherwise. */
char *pl_dev_temporary_kubeconfig(struct pl_err *err);
/* Accepts NULL. */
void pl_dev_temporary_remove(char *path);
