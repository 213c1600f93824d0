/* ValidatingAdmissionPolicies and MutatingAdmissionPolicies. */
#pragma once

#include "apicall/admit.h"

/* Which mutating policies run once more, after something has changed the object. Zeroed first. */
struct pl_api_policies_again {
    bool is_again;              /* this is the second time */
    bool wanted;                /* set: a policy has changed the object */
    struct pl_tree *invoked;    /* keys of those with IfNeeded that ran since the last change */
    struct pl_tree *due;        /* keys of those to run once more */
    const struct pl_tree *left; /* the object as the policies left it */
};

/* True if a policy may match a request: there is a binding. */
bool pl_api_policies_any(struct pl_api_ctx *ctx);
/* Evaluates the validating policies that match. 0, or -1 with the status of the first denial. Adds
 * warnings. */
int pl_api_policies_check(struct pl_api_ctx *ctx, const struct pl_api_admission *admission);
/* Evaluates the mutating policies that match. They may replace admission->object. 0, or -1 with the
 * status, or while it waits for a conversion. */
int pl_api_policies_mutate(struct pl_api_ctx *ctx, struct pl_api_admission *admission,
                           struct pl_api_policies_again *again);
