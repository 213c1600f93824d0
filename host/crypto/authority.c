/* Making and reading certificates, with OpenSSL. Names are checked before they get into OpenSSL's
 * configuration syntax, where a comma would begin another name. Serial numbers are random, and so
 * is a part of an authority's name: two authorities that overlap in time have different names. */
#include "crypto/authority.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SERIAL_BYTES 8

/* ---- reading ---- */

/* An encrypted key is refused: nobody could type its passphrase. */
static int no_passphrase(char *buf, int size, int writing, void *arg)
{
    PL_UNUSED(buf);
    PL_UNUSED(size);
    PL_UNUSED(writing);
    PL_UNUSED(arg);
    return 0;
}

/* The i-th certificate of the text; NULL: there is none, or an earlier one is malformed. */
static X509 *read_cert(const char *pem, size_t i)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = bio != NULL ? PEM_read_bio_X509(bio, NULL, no_passphrase, NULL) : NULL;
    for (; cert != NULL && i > 0; i--) {
        X509_free(cert);
        cert = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
    }
    BIO_free(bio);
    return cert;
}

static EVP_PKEY *read_key(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
    BIO_free(bio);
    return key;
}

static char *authority_text_of(BIO *bio)
{
    char *bytes;
    long len = BIO_get_mem_data(bio, &bytes);
    return pl_memdup0(bytes, (size_t)len);
}

static char *cert_text(X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = bio != NULL && PEM_write_bio_X509(bio, cert) == 1 ? authority_text_of(bio) : NULL;
    BIO_free(bio);
    return text;
}

static char *key_text(EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    bool written =
        bio != NULL && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1;
    char *text = written ? authority_text_of(bio) : NULL;
    BIO_free(bio);
    return text;
}

size_t pl_certificates_count(const char *pem)
{
    size_t count = 0;
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert;
    while (bio != NULL && (cert = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL)) != NULL) {
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
    char *text = cert != NULL ? cert_text(cert) : NULL;
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
    EVP_PKEY *key = read_key(key_pem);
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

/* ---- names ---- */

static bool authority_is_address(const char *name)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

static bool is_dns_name(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len < 254 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-._") == len;
}

bool pl_certificate_is_for(const char *pem, const char *const *names)
{
    X509 *cert = read_cert(pem, 0);
    bool all = cert != NULL;
    for (size_t i = 0; all && names[i] != NULL; i++)
        all = authority_is_address(names[i]) ? X509_check_ip_asc(cert, names[i], 0) == 1
                                             : X509_check_host(cert, names[i], 0, 0, NULL) == 1;
    X509_free(cert);
    return all;
}

static int authority_add_names(struct pl_buf *out, const char *const *names, struct pl_err *err)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        bool address = authority_is_address(names[i]);
        if (!address && !is_dns_name(names[i]))
            return pl_err_set(err, PL_EINVAL, "\"%.100s\" is no name for a certificate", names[i]);
        pl_buf_add_f(out, "%s%s:%s", i > 0 ? "," : "", address ? "IP" : "DNS", names[i]);
    }
    return 0;
}

/* ---- making ---- */

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool added = extension != NULL && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

static bool set_serial(X509 *cert, unsigned char serial[SERIAL_BYTES])
{
    if (RAND_bytes(serial, SERIAL_BYTES) != 1)
        return false;
    serial[0] &= 0x7f;
    BIGNUM *number = BN_bin2bn(serial, SERIAL_BYTES, NULL);
    bool set = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
    BN_free(number);
    return set;
}

static bool set_subject(X509 *cert, const char *name)
{
    return X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                                      (const unsigned char *)name, -1, -1, 0) == 1;
}

static bool set_times(X509 *cert, const struct pl_validity *validity)
{
    return ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)validity->from_s) != NULL &&
           ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)validity->until_s) != NULL;
}

static bool fill_authority(X509 *cert, EVP_PKEY *key, const struct pl_validity *validity)
{
    unsigned char serial[SERIAL_BYTES];
    char name[40];
    if (!set_serial(cert, serial))
        return false;
    snprintf(name, sizeof name, "perilune webhooks %02x%02x%02x%02x", serial[4], serial[5],
             serial[6], serial[7]);
    return X509_set_version(cert, X509_VERSION_3) == 1 && set_times(cert, validity) &&
           X509_set_pubkey(cert, key) == 1 && set_subject(cert, name) &&
           X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1 &&
           add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           add_extension(cert, cert, NID_subject_key_identifier, "hash") &&
           X509_sign(cert, key, EVP_sha256()) > 0;
}

static bool fill_server(X509 *cert, EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key, const char *names,
                        const struct pl_validity *validity)
{
    unsigned char serial[SERIAL_BYTES];
    return set_serial(cert, serial) && X509_set_version(cert, X509_VERSION_3) == 1 &&
           set_times(cert, validity) && X509_set_pubkey(cert, key) == 1 &&
           set_subject(cert, "perilune webhook") &&
           X509_set_issuer_name(cert, X509_get_subject_name(ca)) == 1 &&
           add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, ca, NID_key_usage, "critical,digitalSignature") &&
           add_extension(cert, ca, NID_ext_key_usage, "serverAuth") &&
           add_extension(cert, ca, NID_subject_key_identifier, "hash") &&
           add_extension(cert, ca, NID_authority_key_identifier, "keyid") &&
           add_extension(cert, ca, NID_subject_alt_name, names) &&
           X509_sign(cert, ca_key, EVP_sha256()) > 0;
}

/* Writes both texts if filled, and frees both objects. */
static int authority_finish(bool filled, X509 *cert, EVP_PKEY *key, char **cert_pem, char **key_pem,
                            struct pl_err *err)
{
    *cert_pem = filled ? cert_text(cert) : NULL;
    *key_pem = filled ? key_text(key) : NULL;
    X509_free(cert);
    EVP_PKEY_free(key);
    if (*cert_pem != NULL && *key_pem != NULL)
        return 0;
    pl_free(*cert_pem);
    pl_free(*key_pem);
    *cert_pem = *key_pem = NULL;
    return pl_err_set(err, PL_EIO, "a certificate can't be made");
}

int pl_authority_make(const struct pl_validity *validity, char **cert_pem, char **key_pem,
                      struct pl_err *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    bool filled = key != NULL && cert != NULL && fill_authority(cert, key, validity);
    return authority_finish(filled, cert, key, cert_pem, key_pem, err);
}

int pl_authority_issue(const char *ca_pem, const char *ca_key_pem, const char *const *names,
                       const struct pl_validity *validity, char **cert_pem, char **key_pem,
                       struct pl_err *err)
{
    struct pl_buf list = PL_BUF_INIT;
    int rc = authority_add_names(&list, names, err);
    X509 *ca = rc == 0 ? read_cert(ca_pem, 0) : NULL;
    EVP_PKEY *ca_key = rc == 0 ? read_key(ca_key_pem) : NULL;
    if (rc == 0 && (ca == NULL || ca_key == NULL || X509_check_private_key(ca, ca_key) != 1))
        rc = pl_err_set(err, PL_EINVAL, "the authority's certificate and key can't be used");
    if (rc == 0) {
        EVP_PKEY *key = EVP_EC_gen("P-256");
        X509 *cert = X509_new();
        bool filled = key != NULL && cert != NULL &&
                      fill_server(cert, key, ca, ca_key, pl_buf_z(&list), validity);
        rc = authority_finish(filled, cert, key, cert_pem, key_pem, err);
    }
    X509_free(ca);
    EVP_PKEY_free(ca_key);
    pl_buf_deinit(&list);
    return rc;
}
