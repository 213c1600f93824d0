/* Admission webhooks: which configurations match a request, in which order their webhooks are
 * called, and how their answers are applied. A function that has to wait returns -1 with
 * ctx->is_waiting, see ask.h. */
#pragma once

#include "apicall/core.h"

/* The operation, in the request's version. Webhooks are not called for the server's own writes. */
struct pl_api_admission {
    const char *operation;     /* "CREATE", "UPDATE", "DELETE" */
    struct pl_tree *object;    /* NULL: a deletion */
    const struct pl_tree *old; /* NULL: a creation */
    /* For subresources whose body has another kind than their object: that kind, as JSON
     * ({"group":...,"version":...,"kind":...}). NULL: the request's kind. */
    const char *as;
    bool is_final; /* set by pl_api_admit_check: a generated name is known */
};

/* True if any webhook or policy may match a request like this one. */
bool pl_api_admit_any(struct pl_api_ctx *ctx);
/* Calls mutating webhooks. They may replace admission->object. */
int pl_api_admit(struct pl_api_ctx *ctx, struct pl_api_admission *admission);
/* Evaluates policies (policy.h), then calls validating webhooks, all at once. */
int pl_api_admit_check(struct pl_api_ctx *ctx, struct pl_api_admission *admission);

/* ---- admit_match.c: does a webhook match? ---- */

enum pl_api_match { PL_API_MATCHES_NOT, PL_API_MATCHES, PL_API_MATCH_FAILED };

/* version: the version in which the webhook wants the object. With FAILED the reason is appended to
 * why. */
enum pl_api_match pl_api_admit_match(struct pl_api_ctx *ctx, struct pl_node webhook,
                                     const struct pl_api_admission *admission, size_t *version,
                                     struct pl_buf *why);
/* The same for a policy's matchConstraints or a binding's matchResources, without conditions. */
enum pl_api_match pl_api_admit_match_policy(struct pl_api_ctx *ctx, struct pl_node match,
                                            const struct pl_api_admission *admission,
                                            size_t *version, struct pl_buf *why);
/* ---- evaluate.c ---- */

/* The review's request, without uid, object and oldObject. In the request's arena. */
struct pl_tree *pl_api_admit_request(struct pl_api_ctx *ctx,
                                     const struct pl_api_admission *admission, size_t version);
