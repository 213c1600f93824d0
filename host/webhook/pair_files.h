/* A certificate and its key in the files tls.crt and tls.key of a folder, taken anew when they
 * change: also when the folder is a Secret's volume, whose files change by a swap of ..data. What
 * is broken, or only half there, is logged and changes nothing. Loop's thread; the files are read
 * on another one, but for the first time. */
#pragma once

#include "net/loop.h"
#include "base/err.h"

struct pl_pair_files;

/* Both are borrowed for the call. */
typedef void (*pl_pair_fn)(void *arg, const char *cert_pem, const char *key_pem);

/* Reads them now, and tells `changed` of what they are later. NULL and err when they can't be read,
 * or do not belong together. */
struct pl_pair_files *pl_pair_files_create(struct pl_loop *loop, const char *folder,
                                           pl_pair_fn changed, void *arg, struct pl_err *err);
void pl_pair_files_destroy(struct pl_pair_files *files); /* accepts NULL */
/* What was read last. */
const char *pl_pair_files_cert(const struct pl_pair_files *files);
const char *pl_pair_files_key(const struct pl_pair_files *files);
/* What clients can verify it with: ca.crt beside them, or a certificate that signed itself. NULL:
 * neither. */
const char *pl_pair_files_ca(const struct pl_pair_files *files);
