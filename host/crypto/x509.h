/* Keys, requests (CSRs) and certificates as PEM texts, made and read by OpenSSL. For scripts that
 * issue certificates and look after those of others: every text may come from a stranger.
 *
 * What a certificate says are fields, named texts, the same when it is written and read:
 *   subject.CN, .O, .OU, .C, .ST, .L, .serialNumber   each any number of times
 *   dns, ip, uri, email                               other names, any number of times
 *   not_before, not_after                             seconds since 1970
 *   ca                                                "true": may sign others
 *   usage                                             "server", "client"
 * Reading adds: kind ("certificate", "request"), issuer.*, serial, fingerprint (SHA-256), key,
 * signature, and self_signed ("true").
 *
 * Any thread; making an RSA key takes long (a second and more), all else is quick. Texts that are
 * returned belong to the caller. Errors are PL_EINVAL with the reason. Keys with a password are
 * refused: nobody is asked. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define PL_X509_TEXT_MAX  ((size_t)1 << 20) /* bytes of a PEM text */
#define PL_X509_CERTS_MAX 200               /* certificates in one text */

struct pl_x509_field {
    const char *name;
    struct pl_slice value;
};

struct pl_x509_fields {
    const struct pl_x509_field *list;
    size_t count;
};

/* kind: ecdsa-p256, ecdsa-p384, ed25519, rsa-2048, rsa-3072 or rsa-4096. PKCS #8. */
PL_MUST_USE int pl_x509_make_key(const char *kind, struct pl_buf *pem, struct pl_err *err);
/* Of a private key or a request. */
PL_MUST_USE int pl_x509_public_key(struct pl_slice pem, struct pl_buf *out, struct pl_err *err);
PL_MUST_USE int pl_x509_make_request(struct pl_slice key_pem, struct pl_x509_fields fields,
                                     struct pl_buf *pem, struct pl_err *err);

/* For the key of subject_pem (a private or public key, or a request, which must be signed by its
 * key), signed by the issuer: its certificate, which must be a CA's in force, and its key. An empty
 * issuer: by its own key. It does not outlive its issuer. */
PL_MUST_USE int pl_x509_sign(struct pl_slice subject_pem, struct pl_slice issuer_pem,
                             struct pl_slice issuer_key_pem, struct pl_x509_fields fields,
                             struct pl_buf *pem, struct pl_err *err);

/* Appends "name\0value\0" for each field of each certificate and request in the text, in order;
 * each begins with its kind. Other PEM blocks are passed over; no block at all is an error. */
PL_MUST_USE int pl_x509_read(struct pl_slice pem, struct pl_buf *out, struct pl_err *err);

struct pl_x509_wish {
    struct pl_slice roots;         /* trusted CAs; nothing else is trusted */
    struct pl_slice intermediates; /* besides those behind the certificate itself; may be empty */
    struct pl_slice host;          /* a DNS name or an address that must be named; may be empty */
    struct pl_slice usage;         /* "server", "client", or empty for any */
    int64_t at;                    /* seconds since 1970 */
};

/* 1: the first certificate of the text holds; 0: it does not, and err says why; < 0: a text or wish
 * is wrong. */
PL_MUST_USE int pl_x509_verify(struct pl_slice pem, const struct pl_x509_wish *wish,
                               struct pl_err *err);
/* Whether the first certificate is the key's; < 0: a text is wrong. */
PL_MUST_USE int pl_x509_is_pair(struct pl_slice pem, struct pl_slice key_pem, struct pl_err *err);
