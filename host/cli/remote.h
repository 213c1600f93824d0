/* An API server for commands that send a few requests and end: `rbac --cluster`, `check --cluster`,
 * `uninstall`. Blocking, one request at a time, on the command's thread. */
#pragma once

#include "base/buf.h"
#include "kube/kubeconfig.h"
#include "value/doc.h"

struct pl_remote;

/* Does not connect yet. timeout_ns: of each request. NULL and err: there is no kubeconfig, or it is
 * invalid. The caller closes the result. */
struct pl_remote *pl_remote_open(const struct pl_kubeconfig_options *options, int64_t timeout_ns,
                                 struct pl_err *err);
/* Accepts NULL. */
void pl_remote_close(struct pl_remote *remote);
/* The URL of the server; borrowed. */
const char *pl_remote_server(const struct pl_remote *remote);
/* question: {path} for a GET of it; or {verb: get|list|create|update|patch|delete, group, version,
 * kind, plural, namespaced, namespace, name, subresource, body, patch: merge|json|apply, uid,
 * resource_version, limit, continue}. answer, appended: {status, reason, message, object, items,
 * text}; a refusal of the server is an answer, too. ETIMEOUT, ENETWORK: there was no answer. */
PL_MUST_USE int pl_remote_ask(struct pl_remote *remote, struct pl_node question,
                              struct pl_buf *answer, struct pl_err *err);
