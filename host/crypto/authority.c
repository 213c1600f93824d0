/* Makes a host's own authorities and the certificates that they sign, and reads certificates. A
 * part of an authority's name is random, so that clients can tell two authorities of the same time
 * apart. An encrypted key counts as unreadable: nobody could type its passphrase. */
#include "crypto/authority.h"

#include "base/buf.h"
#include "crypto/x509_build.h"
#include "crypto/x509_pem.h"

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- reading ---- */

/* The i-th certificate of the text; NULL: there is none, or an earlier one is malformed. */
static X509 *read_cert(const char *pem, size_t i)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = bio != NULL ? PEM_read_bio_X509(bio, NULL, pl_x509_no_password, NULL) : NULL;
    for (; cert != NULL && i > 0; i--) {
        X509_free(cert);
        cert = PEM_read_bio_X509(bio, NULL, pl_x509_no_password, NULL);
    }
    BIO_free(bio);
    return cert;
}

static EVP_PKEY *authority_read_key(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key =
        bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, pl_x509_no_password, NULL) : NULL;
    BIO_free(bio);
    return key;
}

size_t pl_certificates_count(const char *pem)
{
    size_t count = 0;
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert;
    while (bio != NULL &&
           (cert = PEM_read_bio_X509(bio, NULL, pl_x509_no_password, NULL)) != NULL) {
        X509_free(cert);
        count++;
    }
    BIO_free(bio);
    const char *begin = pem;
    size_t begins = 0;
    while ((begin = strstr(begin, "-----BEGIN CERTIFICATE-----")) != NULL) {
        begin++;
        begins++;
    }
    return begins == count ? count : 0;
}

char *pl_certificates_at(const char *pem, size_t i)
{
    X509 *cert = read_cert(pem, i);
    char *text = cert != NULL ? pl_x509_text(cert) : NULL;
    X509_free(cert);
    return text;
}

static bool seconds_of(const ASN1_TIME *time, int64_t *out)
{
    struct tm parts;
    if (time == NULL || ASN1_TIME_to_tm(time, &parts) != 1)
        return false;
    *out = (int64_t)timegm(&parts);
    return true;
}

bool pl_certificate_validity(const char *pem, struct pl_validity *out)
{
    X509 *cert = read_cert(pem, 0);
    bool read = cert != NULL && seconds_of(X509_get0_notBefore(cert), &out->from_s) &&
                seconds_of(X509_get0_notAfter(cert), &out->until_s);
    X509_free(cert);
    return read;
}

bool pl_certificate_has_key(const char *pem, const char *key_pem)
{
    X509 *cert = read_cert(pem, 0);
    EVP_PKEY *key = authority_read_key(key_pem);
    bool same = cert != NULL && key != NULL && X509_check_private_key(cert, key) == 1;
    X509_free(cert);
    EVP_PKEY_free(key);
    return same;
}

static bool is_signed_by(X509 *cert, X509 *ca)
{
    EVP_PKEY *key = X509_get0_pubkey(ca);
    return key != NULL && X509_check_issued(ca, cert) == X509_V_OK && X509_verify(cert, key) == 1;
}

int pl_certificate_issuer(const char *pem, const char *ca_pem)
{
    X509 *cert = read_cert(pem, 0), *ca;
    int found = -1;
    for (int i = 0; cert != NULL && found < 0 && (ca = read_cert(ca_pem, (size_t)i)) != NULL; i++) {
        if (is_signed_by(cert, ca))
            found = i;
        X509_free(ca);
    }
    X509_free(cert);
    return found;
}

bool pl_certificate_is_for(const char *pem, const char *const *names)
{
    X509 *cert = read_cert(pem, 0);
    bool all = cert != NULL;
    for (size_t i = 0; all && names[i] != NULL; i++)
        all = pl_x509_is_address(names[i]) ? X509_check_ip_asc(cert, names[i], 0) == 1
                                           : X509_check_host(cert, names[i], 0, 0, NULL) == 1;
    X509_free(cert);
    return all;
}

/* ---- making ---- */

int pl_authority_make(const struct pl_validity *validity, char **cert_pem, char **key_pem,
                      struct pl_err *err)
{
    static const struct pl_x509_extension extensions[] = {
        {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
        {NID_key_usage, "critical,keyCertSign,cRLSign"},
        {NID_subject_key_identifier, "hash"},
        {0, NULL},
    };
    unsigned char own[4];
    char name[40];
    if (RAND_bytes(own, sizeof own) != 1)
        return pl_err_set(err, PL_EIO, "a certificate can't be made");
    snprintf(name, sizeof name, "perilune webhooks %02x%02x%02x%02x", own[0], own[1], own[2],
             own[3]);
    const struct pl_x509_plan plan = {.name = name,
                                      .from_s = validity->from_s,
                                      .until_s = validity->until_s,
                                      .extensions = extensions};
    return pl_x509_build(&plan, cert_pem, key_pem, err);
}

static int authority_add_names(struct pl_buf *out, const char *const *names, struct pl_err *err)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (!pl_x509_add_name(out, names[i]))
            return pl_err_set(err, PL_EINVAL, "\"%.100s\" cannot be a name in a certificate",
                              names[i]);
    return 0;
}

static int issue(X509 *ca, EVP_PKEY *ca_key, const char *names, const struct pl_validity *validity,
                 char **cert_pem, char **key_pem, struct pl_err *err)
{
    const struct pl_x509_extension extensions[] = {
        {NID_basic_constraints, "critical,CA:FALSE"},
        {NID_key_usage, "critical,digitalSignature"},
        {NID_ext_key_usage, "serverAuth"},
        {NID_subject_key_identifier, "hash"},
        {NID_authority_key_identifier, "keyid"},
        {NID_subject_alt_name, names},
        {0, NULL},
    };
    const struct pl_x509_plan plan = {.name = "perilune webhook",
                                      .from_s = validity->from_s,
                                      .until_s = validity->until_s,
                                      .issuer = ca,
                                      .issuer_key = ca_key,
                                      .extensions = extensions};
    return pl_x509_build(&plan, cert_pem, key_pem, err);
}

int pl_authority_issue(const char *ca_pem, const char *ca_key_pem, const char *const *names,
                       const struct pl_validity *validity, char **cert_pem, char **key_pem,
                       struct pl_err *err)
{
    struct pl_buf list = PL_BUF_INIT;
    int rc = authority_add_names(&list, names, err);
    X509 *ca = rc == 0 ? read_cert(ca_pem, 0) : NULL;
    EVP_PKEY *ca_key = rc == 0 ? authority_read_key(ca_key_pem) : NULL;
    if (rc == 0 && (ca == NULL || ca_key == NULL || X509_check_private_key(ca, ca_key) != 1))
        rc = pl_err_set(err, PL_EINVAL, "the authority's certificate and key can't be used");
    if (rc == 0)
        rc = issue(ca, ca_key, pl_buf_z(&list), validity, cert_pem, key_pem, err);
    X509_free(ca);
    EVP_PKEY_free(ca_key);
    pl_buf_deinit(&list);
    return rc;
}
