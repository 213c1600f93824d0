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

/* True when the user has that right ("sign", "approve") for the signer or for all of its domain. */
bool pl_api_may_for_signer(struct pl_api_ctx *ctx, const char *verb, struct pl_slice signer);
/* The first value of that name among the fields of pl_x509_read, with a NUL after it; it lies in
 * the fields. False: there is none. */
bool pl_api_certificate_field(struct pl_slice fields, const char *name, struct pl_slice *value);
