/* Validation of webhook configurations. */
#pragma once

#include "schema/status.h"

/* A ValidatingWebhookConfiguration or MutatingWebhookConfiguration, after defaulting. old: NULL for
 * a new one. */
void pl_webhook_config_validate(struct pl_api_faults *faults, const struct pl_tree *object,
                                const struct pl_tree *old);
/* The conversion of a CustomResourceDefinition. */
void pl_webhook_conversion_validate(struct pl_api_faults *faults, const struct pl_tree *crd,
                                    const struct pl_tree *old);
