/* Admission webhooks: which configurations match a request, in which order their webhooks are
 * called, and what follows from their answers. May have to wait: -1 with ctx->is_waiting, see
 * ask.h. */
#pragma once

#include "apicall/core.h"

/* What is to happen, in the request's version. The server's own writes are not asked about. */
struct pl_api_admission {
    const char *operation;     /* "CREATE", "UPDATE", "DELETE" */
    struct pl_tree *object;    /* NULL: a deletion */
    const struct pl_tree *old; /* NULL: a creation */
    bool is_scale;             /* both are Scales of the request's kind */
};

/* Is there any webhook that requests like this one may go to? */
bool pl_api_admit_any(struct pl_api_ctx *ctx);
/* Calls mutating webhooks; the object may be another one afterwards. */
int pl_api_admit(struct pl_api_ctx *ctx, struct pl_api_admission *admission);
/* Calls validating ones, all at once. */
int pl_api_admit_check(struct pl_api_ctx *ctx, struct pl_api_admission *admission);

/* ---- admit_match.c: does a webhook match? ---- */

enum pl_api_match { PL_API_MATCHES_NOT, PL_API_MATCHES, PL_API_MATCH_FAILED };

/* version: in which it wants the object. why: with FAILED, appended. */
enum pl_api_match pl_api_admit_match(struct pl_api_ctx *ctx, struct pl_node webhook,
                                     const struct pl_api_admission *admission, size_t *version,
                                     struct pl_buf *why);
/* ---- admit_request.c ---- */

/* The review's request, without uid, object and oldObject. */
struct pl_tree *pl_api_admit_request(struct pl_api_ctx *ctx,
                                     const struct pl_api_admission *admission, size_t version);
