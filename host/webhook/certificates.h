/* The certificates that a host makes for itself, and when they change. Pure: time is passed in, in
 * seconds since 1970; randomness is OpenSSL's.
 *
 * A long-lived authority signs a certificate with a shorter life; each is renewed after two thirds
 * of its life. A new authority is first added to the bundle for clients (`ca_pem`: the new one
 * first). The new authority signs the served certificate only when the bundle has had time to reach
 * all clients, and the old authority leaves the bundle when it has expired. So a client with any
 * bundle of that time can verify the served certificate. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* PEM texts, owned; all NULL: none yet. As in a Secret: tls.crt, tls.key, ca.crt, ca.key. */
struct pl_certificates {
    char *cert_pem, *key_pem;  /* the served certificate */
    char *ca_pem, *ca_key_pem; /* the bundle, and the key of its first certificate */
};

void pl_certificates_deinit(struct pl_certificates *certificates);
struct pl_certificates pl_certificates_copy(const struct pl_certificates *certificates);
bool pl_certificates_eq(const struct pl_certificates *a, const struct pl_certificates *b);

/* The step that is due now. */
enum pl_certificates_step {
    PL_CERTIFICATES_KEEP,
    PL_CERTIFICATES_ALL,       /* nothing usable: make everything */
    PL_CERTIFICATES_AUTHORITY, /* renew the authority */
    PL_CERTIFICATES_SERVED,    /* renew the certificate, or its names have changed */
    PL_CERTIFICATES_FORGET,    /* an old authority has expired */
};
/* names: NULL-terminated, the names that the certificate needs. *at_s: with KEEP, the latest time
 * to ask again. */
enum pl_certificates_step pl_certificates_plan(const struct pl_certificates *have,
                                               const char *const *names, int64_t now_s,
                                               int64_t *at_s);
/* Carries out the planned step: new certificates in `out`, which the caller frees. */
PL_MUST_USE int pl_certificates_renew(const struct pl_certificates *have,
                                      enum pl_certificates_step step, const char *const *names,
                                      int64_t now_s, struct pl_certificates *out,
                                      struct pl_err *err);
