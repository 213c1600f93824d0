/* Making a key and a certificate for it, as a plan says. Names are checked before they come near
 * OpenSSL's configuration syntax, in which a comma would begin another one. Serial numbers are
 * random. A certificate that cannot be made completely is not made. */
#include "crypto/x509_build.h"

#include "base/alloc.h"
#include "crypto/x509_context.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

/* ---- names ---- */

bool pl_x509_is_address(const char *name)
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

bool pl_x509_add_name(struct pl_buf *out, const char *name)
{
    bool address = pl_x509_is_address(name);
    if (!address && !is_dns_name(name))
        return false;
    pl_buf_add_f(out, "%s%s:%s", out->len > 0 ? "," : "", address ? "IP" : "DNS", name);
    return true;
}

/* ---- fields ---- */

bool pl_x509_add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool added = extension != NULL && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

bool pl_x509_add_serial(X509 *cert)
{
    unsigned char serial[16];
    if (RAND_bytes_ex(pl_x509_context(), serial, sizeof serial, 0) != 1)
        return false;
    serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40);
    BIGNUM *number = BN_bin2bn(serial, sizeof serial, NULL);
    bool added = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
    BN_free(number);
    return added;
}

/* The names of both, once the subject has its own. */
static bool set_names(X509 *cert, X509 *issuer, const char *name)
{
    return X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                                      (const unsigned char *)name, -1, -1, 0) == 1 &&
           X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1;
}

static bool x509_fill(X509 *cert, EVP_PKEY *key, const struct pl_x509_plan *plan)
{
    X509 *issuer = plan->issuer != NULL ? plan->issuer : cert;
    bool filled = pl_x509_add_serial(cert) && X509_set_version(cert, X509_VERSION_3) == 1 &&
                  ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)plan->from_s) != NULL &&
                  ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)plan->until_s) != NULL &&
                  X509_set_pubkey(cert, key) == 1 && set_names(cert, issuer, plan->name);
    for (const struct pl_x509_extension *e = plan->extensions; filled && e->nid != 0; e++)
        filled = pl_x509_add_extension(cert, issuer, e->nid, e->value);
    EVP_PKEY *signer = plan->issuer != NULL ? plan->issuer_key : key;
    return filled && X509_sign(cert, signer, EVP_sha256()) > 0;
}

/* ---- texts ---- */

static char *take_text(BIO *bio, bool written)
{
    char *bytes;
    long len = written ? BIO_get_mem_data(bio, &bytes) : 0;
    char *text = written ? pl_memdup0(bytes, (size_t)len) : NULL;
    BIO_free(bio);
    return text;
}

char *pl_x509_text(X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());
    return take_text(bio, bio != NULL && PEM_write_bio_X509(bio, cert) == 1);
}

static char *key_text(EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    return take_text(bio, bio != NULL &&
                              PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1);
}

int pl_x509_build(const struct pl_x509_plan *plan, char **cert_pem, char **key_pem,
                  struct pl_err *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    bool filled = key != NULL && cert != NULL && x509_fill(cert, key, plan);
    *cert_pem = filled ? pl_x509_text(cert) : NULL;
    *key_pem = filled ? key_text(key) : NULL;
    X509_free(cert);
    EVP_PKEY_free(key);
    if (*cert_pem != NULL && *key_pem != NULL)
        return 0;
    ERR_clear_error();
    pl_free(*cert_pem);
    pl_free(*key_pem);
    *cert_pem = *key_pem = NULL;
    return pl_err_set(err, PL_EIO, "a certificate can't be made");
}
