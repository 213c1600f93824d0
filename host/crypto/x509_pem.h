/* PEM texts as OpenSSL's objects, for the files of crypto/x509.h. Each function returns NULL with
 * err when the text contains no such object; the caller frees the result. It is freed with
 * OpenSSL's function for its type. */
#pragma once

#include "crypto/x509.h"

#include <openssl/x509.h>

/* A BIO that reads the text, or NULL with err when it is too long. */
BIO *pl_x509_open(struct pl_slice pem, struct pl_err *err);
EVP_PKEY *pl_x509_private_key(struct pl_slice pem, struct pl_err *err);
/* The key of a private or public key or of a request, whose signature is checked. */
EVP_PKEY *pl_x509_subject_key(struct pl_slice pem, struct pl_err *err);
/* The first certificate of the text. */
X509 *pl_x509_certificate(struct pl_slice pem, struct pl_err *err);
/* All certificates, at least one. */
STACK_OF(X509) * pl_x509_bundle(struct pl_slice pem, const char *what, struct pl_err *err);
/* Appends the BIO's text and frees the BIO. */
void pl_x509_take_text(BIO *bio, struct pl_buf *out);
/* Sets "what: the library's reason", and empties the library's error queue. */
int pl_x509_fail(struct pl_err *err, const char *what);
/* A password callback that never asks. */
int pl_x509_no_password(char *out, int size, int writing, void *arg);
