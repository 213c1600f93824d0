/* Counts quotas again when they have changed and when objects of their namespace were deleted, as
 * kube-controller-manager does. One thread. */
#pragma once

#include "apicall/core.h"

/* The caller owns the result. */
struct pl_api_quotas *pl_api_quotas_create(struct pl_api *api);
void pl_api_quotas_destroy(struct pl_api_quotas *quotas);
/* The monotonic instant of the next count; INT64_MAX: nothing is to be counted. */
int64_t pl_api_quotas_due(const struct pl_api_quotas *quotas);
/* Called for every event; writes nothing itself. */
void pl_api_quotas_note(struct pl_api_quotas *quotas, const struct pl_api_event *event);
