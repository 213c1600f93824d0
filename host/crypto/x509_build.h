/* Functions that all makers of certificates share, with types of OpenSSL. Private to this
 * folder. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <openssl/x509.h>
#include <stdbool.h>
#include <stdint.h>

/* nid 0 ends a list of them. The value is in the syntax of OpenSSL's configuration: check values
 * from outside before. */
struct pl_x509_extension {
    int nid;
    const char *value;
};

/* A certificate for a fresh P-256 key. Everything is borrowed for the call. */
struct pl_x509_plan {
    const char *name; /* the subject's CN */
    int64_t from_s, until_s;
    X509 *issuer; /* NULL: it is its own authority */
    EVP_PKEY *issuer_key;
    const struct pl_x509_extension *extensions;
};

/* PEM texts, owned: free with pl_free. EIO when OpenSSL fails; both are NULL then. */
PL_MUST_USE int pl_x509_build(const struct pl_x509_plan *plan, char **cert_pem, char **key_pem,
                              struct pl_err *err);

/* 16 random bytes, positive, and never short. */
bool pl_x509_add_serial(X509 *cert);
bool pl_x509_add_extension(X509 *cert, X509 *issuer, int nid, const char *value);
/* The certificate as PEM, owned: free with pl_free; NULL when OpenSSL fails. */
char *pl_x509_text(X509 *cert);

bool pl_x509_is_address(const char *name); /* of IP */
/* Appends "IP:name" or "DNS:name", after a comma where there is something before. False, and
 * nothing is appended: it is no name for a certificate. */
bool pl_x509_add_name(struct pl_buf *out, const char *name);
