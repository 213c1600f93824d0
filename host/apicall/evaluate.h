/* Expressions about a request that is to be admitted: match conditions, and other expressions with
 * the variables of valid/conditions.h. */
#pragma once

#include "apicall/admit.h"
#include "cel/authz.h"
#include "valid/conditions.h"

#define PL_API_CONDITIONS_BUDGET                                                                   \
    2500000 /* cost of all match conditions of one webhook or policy                               \
             */

/* The evaluations of one request, while the request runs. Values live in its arena. */
struct pl_api_evaluation {
    struct pl_api_ctx *ctx; /* borrowed */
    struct pl_cel values[PL_VAR_COUNT];
    struct pl_cel_authorizer authorizer; /* asks RBAC about the request's user */
    uint64_t left;                       /* of the budget */
    bool is_over;                        /* the budget is used up: nothing more is evaluated */
};

/* version: the version in which `request` names the kind. The structure must not be moved
 * afterwards. */
void pl_api_evaluation_init(struct pl_api_evaluation *evaluation, struct pl_api_ctx *ctx,
                            const struct pl_api_admission *admission, size_t version,
                            uint64_t budget);
/* The value of the expression, or an error with kube-apiserver's message. */
struct pl_cel pl_api_evaluate(struct pl_api_evaluation *evaluation, struct pl_slice expression);
