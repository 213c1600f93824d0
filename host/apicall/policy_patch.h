/* One mutation of a MutatingAdmissionPolicy. Private to policy*.c. */
#pragma once

#include "apicall/evaluate.h"

/* Evaluates the mutation and applies its result to admission->object, which does not change:
 * *object is the new one, with its defaults. If that fails, *why has the reason. -1 with the status
 * if the result is no object of the kind. */
int pl_policy_patch(struct pl_api_ctx *ctx, struct pl_api_evaluation *e,
                    const struct pl_api_admission *admission, struct pl_node mutation,
                    struct pl_tree **object, struct pl_slice *why);
