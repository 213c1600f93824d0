/* What a cluster adds to a new Pod, or refuses it for, besides its own values. */
#pragma once

#include "apicall/core.h"

/* Priority and overhead by the classes that it names; -1 and 403 when there is no such class. */
int pl_api_admit_pod(struct pl_api_ctx *ctx, struct pl_tree *pod);
/* The class that is marked as the default one, of claims and of Ingresses that name none; the
 * newest where several are marked. */
void pl_api_admit_claim(struct pl_api_ctx *ctx, struct pl_tree *claim);
void pl_api_admit_ingress(struct pl_api_ctx *ctx, struct pl_tree *ingress);
