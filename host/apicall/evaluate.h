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
    struct pl_api_ctx *ctx;        /* borrowed */
    const struct pl_cel_var *vars; /* PL_VAR_COUNT; borrowed */
    struct pl_cel values[PL_VAR_COUNT];
    struct pl_cel_authorizer authorizer; /* asks RBAC about the request's user */
    uint64_t left;                       /* of the budget */
    bool makes_patches;                  /* expressions may make objects and JSON patches */
    bool is_over;                        /* the budget is used up: nothing more is evaluated */
};

/* version: the version in which `request` names the kind. The variables are those of webhooks; a
 * policy sets others. The structure must not be moved afterwards. */
void pl_api_evaluation_init(struct pl_api_evaluation *evaluation, struct pl_api_ctx *ctx,
                            const struct pl_api_admission *admission, size_t version,
                            uint64_t budget);
/* The value of the expression, or an error with kube-apiserver's message. */
struct pl_cel pl_api_evaluate(struct pl_api_evaluation *evaluation, struct pl_slice expression);
/* The same; the value may point into the program, which is returned (owned). NULL if the expression
 * does not compile. */
struct pl_cel_program *pl_api_evaluate_held(struct pl_api_evaluation *evaluation,
                                            struct pl_slice expression, struct pl_cel *value);
/* The same for an expression whose type is needed later: returns its program (owned), or NULL if it
 * does not compile. The error of *value is that of the evaluation alone. */
struct pl_cel_program *pl_api_evaluate_kept(struct pl_api_evaluation *evaluation,
                                            struct pl_slice expression, struct pl_cel *value);

/* ---- admit_match.c ---- */

/* Do all conditions hold? With FAILED the errors are appended to why. */
enum pl_api_match pl_api_match_conditions(struct pl_api_evaluation *evaluation,
                                          struct pl_node conditions, struct pl_buf *why);
