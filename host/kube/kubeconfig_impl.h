/* Private to kube: shared by the files that read kubeconfigs. Any thread; see kubeconfig.h. */
#pragma once

#include "kube/kubeconfig.h"
#include "value/doc.h"

#define PL_KUBECONFIG_BYTES ((size_t)4 << 20) /* of one file, also of a certificate or token */

/* One entry (a cluster, a user, ...) and its place, for messages. */
struct pl_config_entry {
    const char *file; /* borrowed: the path as it was given */
    const char *list; /* "users" */
    char name[256];   /* cut */
    const char *part; /* "user" */
    struct pl_node node;
};

/* EINVAL "FILE: users["x"].user.FIELD: MESSAGE". */
int pl_config_bad(const struct pl_config_entry *entry, const char *field, struct pl_err *err,
                  const char *message);
/* A copy of a string member; NULL when absent, null or empty. */
PL_MUST_USE int pl_config_str(const struct pl_config_entry *entry, const char *field, char **out,
                              struct pl_err *err);
PL_MUST_USE int pl_config_bool(const struct pl_config_entry *entry, const char *field, bool *out,
                               struct pl_err *err);
/* FIELD-data (base64), or the file that FIELD names. *file stays NULL with data. */
PL_MUST_USE int pl_config_pem(const struct pl_config_entry *entry, const char *field, char **pem,
                              char **file, struct pl_err *err);

/* All members of `user:`. */
PL_MUST_USE int pl_config_user(const struct pl_config_entry *entry, const char *const *environ,
                               struct pl_kubeconfig *config, struct pl_err *err);

/* The value of NAME, or NULL when absent or empty. Borrowed from the environment. */
const char *pl_env_get(const char *const *environ, const char *name);
void pl_strs_free(char **strs);
