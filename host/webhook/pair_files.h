/* A certificate and its key in the files tls.crt and tls.key of a folder, read again when they
 * change: also in a Secret's volume, whose files change by a swap of ..data, and when the folder is
 * replaced. An invalid or incomplete pair, or an invalid ca.crt, is logged and changes nothing.
 * Loop's thread; the files are read on another thread, except the first time. */
#pragma once

#include "net/loop.h"
#include "base/err.h"

struct pl_pair_files;

/* Both are borrowed for the call. */
typedef void (*pl_pair_fn)(void *arg, const char *cert_pem, const char *key_pem);

/* Reads them now, and calls `changed` when they change later. NULL and err when they cannot be
 * read, or do not belong together. The caller owns the result. */
struct pl_pair_files *pl_pair_files_create(struct pl_loop *loop, const char *folder,
                                           pl_pair_fn changed, void *arg, struct pl_err *err);
void pl_pair_files_destroy(struct pl_pair_files *files); /* accepts NULL */
/* The last read certificate and its key; borrowed until they are read again. */
const char *pl_pair_files_cert(const struct pl_pair_files *files);
const char *pl_pair_files_key(const struct pl_pair_files *files);
/* The CA for clients: ca.crt in the folder, or a self-signed certificate. NULL: neither. Borrowed
 * until the files are read again. */
const char *pl_pair_files_ca(const struct pl_pair_files *files);
