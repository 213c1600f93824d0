/* Makes certificate authorities for the host, certificates that they sign, and reads certificates.
 * Input and output are PEM texts; the caller frees returned texts. P-256 keys. Times are seconds
 * since 1970, passed in. Any thread. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_validity {
    int64_t from_s, until_s;
};

/* Makes a new key and a self-signed CA certificate. EIO when OpenSSL fails. */
PL_MUST_USE int pl_authority_make(const struct pl_validity *validity, char **cert_pem,
                                  char **key_pem, struct pl_err *err);
/* Makes a new key and a server certificate for these names (DNS names or addresses,
 * NULL-terminated, at least one), signed by the authority; of ca_pem only the first certificate
 * counts. EINVAL for an invalid name, or an authority that cannot be read. */
PL_MUST_USE int pl_authority_issue(const char *ca_pem, const char *ca_key_pem,
                                   const char *const *names, const struct pl_validity *validity,
                                   char **cert_pem, char **key_pem, struct pl_err *err);

/* The number of certificates in the text; also 0 when one is malformed. */
size_t pl_certificates_count(const char *pem);
/* The i-th certificate as a text, which the caller frees. NULL: there is none. */
char *pl_certificates_at(const char *pem, size_t i);
/* The validity of the first certificate. False: there is none, or it cannot be read. */
bool pl_certificate_validity(const char *pem, struct pl_validity *out);
/* True when the key belongs to the first certificate. */
bool pl_certificate_has_key(const char *pem, const char *key_pem);
/* The index of the certificate of `ca_pem` that signed the first one of `pem`; -1: none. */
int pl_certificate_issuer(const char *pem, const char *ca_pem);
/* True when the first certificate is valid for all of these names. */
bool pl_certificate_is_for(const char *pem, const char *const *names);
