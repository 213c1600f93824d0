/* Which certificates a host that makes them itself should have, and when that changes. Pure: time
 * is passed in, in seconds since 1970; randomness is OpenSSL's.
 *
 * An authority lives long and signs a certificate that lives shorter; either is renewed when two
 * thirds of its life are over. A new authority first stands beside the old one in the bundle that
 * clients are given (`ca_pem`: the new one first); the certificate that is served is signed by the
 * new one only when the bundle has had time to reach everybody, and the old authority leaves the
 * bundle when it has expired. So whoever has any bundle of that time can verify what is served. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* PEM texts, owned; all NULL: none yet. As in a Secret: tls.crt, tls.key, ca.crt, ca.key. */
struct pl_certificates {
    char *cert_pem, *key_pem;  /* that is served */
    char *ca_pem, *ca_key_pem; /* the bundle, and the key of its first certificate */
};

void pl_certificates_deinit(struct pl_certificates *certificates);
struct pl_certificates pl_certificates_copy(const struct pl_certificates *certificates);
bool pl_certificates_eq(const struct pl_certificates *a, const struct pl_certificates *b);

/* What has to be done now. */
enum pl_certificates_step {
    PL_CERTIFICATES_KEEP,
    PL_CERTIFICATES_ALL,       /* nothing of it can be used */
    PL_CERTIFICATES_AUTHORITY, /* the authority is to be renewed */
    PL_CERTIFICATES_SERVED,    /* the certificate is to be renewed, or has other names */
    PL_CERTIFICATES_FORGET,    /* an old authority has expired */
};
/* names: NULL-terminated, what the certificate has to be good for. *at_s: with KEEP, when to ask
 * again at the latest. */
enum pl_certificates_step pl_certificates_plan(const struct pl_certificates *have,
                                               const char *const *names, int64_t now_s,
                                               int64_t *at_s);
/* Carries out the step that was planned: other certificates in `out`, the caller's. */
PL_MUST_USE int pl_certificates_renew(const struct pl_certificates *have,
                                      enum pl_certificates_step step, const char *const *names,
                                      int64_t now_s, struct pl_certificates *out,
                                      struct pl_err *err);
