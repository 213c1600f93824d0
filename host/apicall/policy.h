/* ValidatingAdmissionPolicies. */
#pragma once

#include "apicall/admit.h"

/* True if a policy may match a request: there is a binding. */
bool pl_api_policies_any(struct pl_api_ctx *ctx);
/* Evaluates the policies that match. 0, or -1 with the status of the first denial. Adds warnings.
 */
int pl_api_policies_check(struct pl_api_ctx *ctx, const struct pl_api_admission *admission);
