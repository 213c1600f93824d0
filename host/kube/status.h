/* The API server's failures: turns Status documents and HTTP codes into errors, and has the
 * predicates for decisions (which never look at the text). Pure. */
#pragma once

#include "base/err.h"
#include "value/doc.h"

#include <stdbool.h>

/* Fills err (EAPI) from an HTTP status and its body: a Status document, or any text of a proxy
 * (HTML is named as such, and cut). */
void pl_status_to_err(int status, struct pl_node body, struct pl_slice raw, struct pl_err *err);
/* From the Status object of a watch's ERROR event. */
void pl_status_event_to_err(struct pl_node status, struct pl_err *err);

bool pl_err_is_not_found(const struct pl_err *err);
bool pl_err_is_conflict(const struct pl_err *err);       /* 409 Conflict */
bool pl_err_is_already_exists(const struct pl_err *err); /* 409 AlreadyExists */
bool pl_err_is_forbidden(const struct pl_err *err);
bool pl_err_is_unauthorized(const struct pl_err *err);
bool pl_err_is_invalid(const struct pl_err *err);
bool pl_err_is_too_many_requests(const struct pl_err *err);
bool pl_err_is_expired(const struct pl_err *err);      /* 410 Expired or Gone (rule 58) */
bool pl_err_is_too_large_rv(const struct pl_err *err); /* rule 57 */
/* The answer to a request with a shardSelector by a server that does not filter: 400, or
 * kube-apiserver's 500, which only its text tells apart. */
bool pl_err_is_no_shard_selector(const struct pl_err *err);
