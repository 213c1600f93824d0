/* Requests of certificates: their content, the plug-ins CertificateApproval, CertificateSigning and
 * CertificateSubjectRestriction. */
#pragma once

#include "apicall/core.h"

/* Adds the faults of the PEM texts in a CertificateSigningRequest; other kinds have none. */
void pl_api_certificates_validate(struct pl_api_ctx *ctx, struct pl_api_faults *faults,
                                  const struct pl_tree *object);

/* Call it with a valid object. Refuses an approval or a signature without the right to do so for
 * the signer, and requests of client certificates for system:masters. 0, or -1 with the status. */
int pl_api_certificates_check(struct pl_api_ctx *ctx, const struct pl_tree *object,
                              const struct pl_tree *old);
