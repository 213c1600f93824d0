/* Keys, requests (CSRs) and certificates as PEM texts, made and read by OpenSSL. For scripts that
 * issue certificates and look after those of others: every text may come from a stranger.
 *
 * What a certificate says are fields, named texts, the same when it is written and read:
 *   subject.CN, .O, .OU, .C, .ST, .L, .serialNumber   each any number of times
 *   dns, ip, uri, email                               other names, any number of times
 *   not_before, not_after                             seconds since 1970
 *   ca                                                "true": may sign others
 *   usage                                             "server", "client"
 *   now                                               only for pl_x509_sign, see there
 *
 * Reading adds: kind ("certificate", "request"), issuer.*, serial, fingerprint (SHA-256), key,
 * signature, and self_signed ("true").
 *
 * Any thread; making an RSA key takes long (a second and more), all else is quick. Texts that are
 * returned belong to the caller. Errors are PL_EINVAL with the reason. Keys with a password are
 * refused: nobody is asked. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define PL_X509_TEXT_MAX  ((size_t)1 << 20) /* limit of a PEM text, in bytes */
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
/* The public key of a private key or a request. */
PL_MUST_USE int pl_x509_public_key(struct pl_slice pem, struct pl_buf *out, struct pl_err *err);
PL_MUST_USE int pl_x509_make_request(struct pl_slice key_pem, struct pl_x509_fields fields,
                                     struct pl_buf *pem, struct pl_err *err);

/* Issues a certificate for the key of subject_pem (a private or public key, or a request, which
 * must be signed by its key). The issuer is the text of its certificate, which must be a valid CA
 * certificate, and of its key. With an empty issuer it is self-signed. It does not outlive its
 * issuer, which must not have expired at the field `now` (seconds since 1970; absent: at the
 * system's time). */
PL_MUST_USE int pl_x509_sign(struct pl_slice subject_pem, struct pl_slice issuer_pem,
                             struct pl_slice issuer_key_pem, struct pl_x509_fields fields,
                             struct pl_buf *pem, struct pl_err *err);

/* Appends "name\0value\0" for each field of each certificate and request in the text, in order;
 * each begins with its kind. Other PEM blocks are skipped; a text without any block is an error. */
PL_MUST_USE int pl_x509_read(struct pl_slice pem, struct pl_buf *out, struct pl_err *err);

struct pl_x509_wish {
    struct pl_slice roots; /* trusted CAs; no other CA is trusted */
    struct pl_slice
        intermediates; /* in addition to those after the certificate itself; may be empty */
    struct pl_slice
        host; /* a DNS name or an address that the certificate must contain; may be empty */
    struct pl_slice usage; /* "server", "client", or empty for any */
    int64_t at;            /* seconds since 1970 */
};

/* 1: the first certificate of the text is valid; 0: it is not, and err says why; < 0: a text or
 * wish is invalid. */
PL_MUST_USE int pl_x509_verify(struct pl_slice pem, const struct pl_x509_wish *wish,
                               struct pl_err *err);
/* 1 when the first request of the text is signed by its own key, else 0; < 0: there is none. */
PL_MUST_USE int pl_x509_is_signed(struct pl_slice pem, struct pl_err *err);
/* 1 when the first certificate belongs to the key, else 0; < 0: a text is invalid. */
PL_MUST_USE int pl_x509_is_pair(struct pl_slice pem, struct pl_slice key_pem, struct pl_err *err);
/* 1 when the first certificate is for this public key, or the key of this request; else 0; < 0: a
 * text is invalid. */
PL_MUST_USE int pl_x509_is_for(struct pl_slice pem, struct pl_slice key_pem, struct pl_err *err);
