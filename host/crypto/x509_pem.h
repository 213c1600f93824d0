/* PEM texts as OpenSSL's objects, for the files of crypto/x509.h. Each returns NULL with err when
 * the text holds no such thing; the caller frees what it gets. */
#pragma once

#include "crypto/x509.h"

#include <openssl/x509.h>

/* A BIO that reads the text, or NULL with err when it is too long. */
BIO *pl_x509_open(struct pl_slice pem, struct pl_err *err);
EVP_PKEY *pl_x509_private_key(struct pl_slice pem, struct pl_err *err);
/* Of a private or public key or a request, whose signature is checked. */
EVP_PKEY *pl_x509_subject_key(struct pl_slice pem, struct pl_err *err);
/* The first certificate of the text. */
X509 *pl_x509_certificate(struct pl_slice pem, struct pl_err *err);
/* All of them, at least one. */
STACK_OF(X509) * pl_x509_bundle(struct pl_slice pem, const char *what, struct pl_err *err);
/* Frees the BIO, and appends what was written to it. */
void pl_x509_take_text(BIO *bio, struct pl_buf *out);
/* "what: the library's reason", and empties the library's queue of errors. */
int pl_x509_fail(struct pl_err *err, const char *what);
/* Asks nobody for a password. */
int pl_x509_no_password(char *out, int size, int writing, void *arg);
