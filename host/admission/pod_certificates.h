/* PodCertificateRequests: the key that is to be certified, the issued certificates, and the right
 * to issue them. */
#pragma once

#include "apicall/core.h"

/* Adds the faults that valid/pod_certificate.c cannot find; other kinds have none. */
void pl_api_pod_certificates_validate(struct pl_api_ctx *ctx, struct pl_api_faults *faults,
                                      const struct pl_tree *object, const struct pl_tree *old);
