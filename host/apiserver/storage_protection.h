/* Keeps claims and volumes that are being deleted while they are in use, and removes their
 * protection finalizers afterwards, as kube-controller-manager does. One thread. */
#pragma once

#include "apicall/core.h"

/* The caller owns the result. */
struct pl_api_protect *pl_api_protect_create(struct pl_api *api);
void pl_api_protect_destroy(struct pl_api_protect *protect);
/* Called for every event; writes nothing itself. */
void pl_api_protect_note(struct pl_api_protect *protect, const struct pl_api_event *event);
