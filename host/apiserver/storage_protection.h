/* Keeps claims and volumes that are being deleted while they are in use, and removes their
 * protection finalizers afterwards, as kube-controller-manager does. One thread. */
#pragma once

#include "apicall/core.h"

/* The caller owns the result. */
struct pl_api_protection *pl_api_protection_create(struct pl_api *api);
void pl_api_protection_destroy(struct pl_api_protection *protect);
/* Called for every event; writes nothing itself. */
void pl_api_protection_note(struct pl_api_protection *protect, const struct pl_api_event *event);
