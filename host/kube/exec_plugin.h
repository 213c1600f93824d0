/* The protocol of exec plugins, client.authentication.k8s.io/v1 and v1beta1: their input in
 * KUBERNETES_EXEC_INFO and their answer. Pure. */
#pragma once

#include "base/buf.h"
#include "base/secrets.h"
#include "kube/kubeconfig.h"

#include <stdint.h>

struct pl_exec_answer {
    char *token;              /* owned; NULL: none */
    char *cert_pem, *key_pem; /* owned; both or neither */
    int64_t expires_ns;       /* wall clock; INT64_MAX: never */
};

/* Appends the ExecCredential for the plugin's environment. */
void pl_exec_info(const struct pl_kubeconfig *config, struct pl_buf *out);
/* EINVAL with the reason. The caller deinits in any case. */
PL_MUST_USE int pl_exec_answer_parse(struct pl_slice output, const char *api_version,
                                     struct pl_exec_answer *answer, struct pl_err *err);
/* Adds the secrets of the answer, valid or not, and of the plugin's input: variables and arguments
 * whose names indicate a secret. */
void pl_exec_add_secrets(const struct pl_exec_plugin *plugin, struct pl_slice output,
                         struct pl_secrets *secrets);
void pl_exec_answer_deinit(struct pl_exec_answer *answer);
