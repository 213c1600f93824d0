/* Checks that claims of devices share with their statuses. Private to this folder. */
#pragma once

#include "valid/check.h"

/* The names of requests in one.requests; requests: those of the claim. */
void pl_valid_device_references(struct pl_api_faults *f, const struct pl_spot *owner,
                                const struct pl_tree *one, const struct pl_tree *requests);
/* One name, "request" or "request/choice". */
void pl_valid_device_reference(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *name, const struct pl_tree *requests);
void pl_valid_device_configuration(struct pl_api_faults *f, const struct pl_spot *at,
                                   const struct pl_tree *config);
void pl_valid_device_toleration(struct pl_api_faults *f, const struct pl_spot *at,
                                const struct pl_tree *one);
/* bindingConditions and bindingFailureConditions (slice.c). */
void pl_valid_device_conditions(struct pl_api_faults *f, const struct pl_spot *at,
                                const struct pl_tree *device);
