/* Admission plug-ins that add values to a new object or refuse it. */
#pragma once

#include "apicall/core.h"

/* Sets priority and overhead from the classes that the Pod names. -1 and 403 if a class does not
 * exist. */
int pl_api_admit_pod(struct pl_api_ctx *ctx, struct pl_tree *pod);
/* Refuses to resize a Pod on a node that is not there, or too small: -1 and 403. */
int pl_api_admit_resize(struct pl_api_ctx *ctx, const struct pl_tree *pod,
                        const struct pl_tree *old);
/* Gives claims and Ingresses that name no class the class that is marked as default: the newest one
 * if several are marked. */
void pl_api_admit_claim(struct pl_api_ctx *ctx, struct pl_tree *claim);
void pl_api_admit_ingress(struct pl_api_ctx *ctx, struct pl_tree *ingress);
/* True for an update of a claim by a server without volumes (api.h, `unprotected`): nothing binds
 * claims there, so the rules that only bound claims may grow do not apply. */
bool pl_api_claim_grows_freely(const struct pl_api_ctx *ctx, const struct pl_tree *old);
/* A claim grows only if it is bound and its class allows it: else -1 and 403. */
int pl_api_admit_growth(struct pl_api_ctx *ctx, const struct pl_tree *claim,
                        const struct pl_tree *old);
