/* Certificate authorities that a host makes for itself, certificates that they sign, and what
 * certificates say. PEM texts in and out; what is returned is the caller's to free. P-256 keys.
 * Times are seconds since 1970, passed in. Any thread. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_validity {
    int64_t from_s, until_s;
};

/* A fresh key, and a certificate that says so of itself. EIO when OpenSSL fails. */
PL_MUST_USE int pl_authority_make(const struct pl_validity *validity, char **cert_pem,
                                  char **key_pem, struct pl_err *err);
/* A fresh key and a server's certificate for these names, which are DNS names or addresses,
 * NULL-terminated and at least one, signed by the authority; ca_pem's first certificate counts.
 * EINVAL for a name that is none, or an authority that cannot be read. */
PL_MUST_USE int pl_authority_issue(const char *ca_pem, const char *ca_key_pem,
                                   const char *const *names, const struct pl_validity *validity,
                                   char **cert_pem, char **key_pem, struct pl_err *err);

/* How many certificates the text holds; 0 also when one is malformed. */
size_t pl_certificates_count(const char *pem);
/* The i-th alone. NULL: there is none. */
char *pl_certificates_at(const char *pem, size_t i);
/* Of the first. False: there is none, or it can't be read. */
bool pl_certificate_validity(const char *pem, struct pl_validity *out);
/* The key is the first certificate's. */
bool pl_certificate_has_key(const char *pem, const char *key_pem);
/* The first certificate of `pem` was signed by the i-th of `ca_pem`; -1: by none. */
int pl_certificate_issuer(const char *pem, const char *ca_pem);
/* The first certificate is good for all of these names. */
bool pl_certificate_is_for(const char *pem, const char *const *names);
