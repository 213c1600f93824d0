/* The certificate is made with OpenSSL's extension syntax, so a name is checked first: a name that
 * this syntax would split is left out. Key and certificate are returned as texts. */
#include "crypto/self_signed.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#define DAY_S   (24L * 60 * 60)
#define VALID_S (3650 * DAY_S)

static bool self_signed_is_address(const char *host)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* A name that OpenSSL's configuration syntax would split is refused. */
static bool is_plain_name(const char *host)
{
    return *host != '\0' && strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789-._") == strlen(host);
}

static void self_signed_add_names(struct pl_buf *out, const char *host)
{
    pl_buf_add_z(out, "DNS:localhost,IP:127.0.0.1,IP:::1");
    if (host == NULL || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
        return;
    if (self_signed_is_address(host))
        pl_buf_add_f(out, ",IP:%s", host);
    else if (is_plain_name(host))
        pl_buf_add_f(out, ",DNS:%s", host);
}

static bool add_extension(X509 *cert, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool added = extension != NULL && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

static bool self_signed_fill(X509 *cert, EVP_PKEY *key, const char *names)
{
    unsigned char serial[8];
    if (RAND_bytes(serial, sizeof(serial)) != 1)
        return false;
    serial[0] &= 0x7f;
    BIGNUM *number = BN_bin2bn(serial, sizeof(serial), NULL);
    bool numbered =
        number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
    BN_free(number);
    X509_NAME *subject = X509_get_subject_name(cert);
    return numbered && X509_set_version(cert, X509_VERSION_3) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(cert), -DAY_S) != NULL &&
           X509_gmtime_adj(X509_getm_notAfter(cert), VALID_S) != NULL &&
           X509_set_pubkey(cert, key) == 1 &&
           X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                      (const unsigned char *)"perilune", -1, -1, 0) == 1 &&
           X509_set_issuer_name(cert, subject) == 1 &&
           add_extension(cert, NID_basic_constraints, "critical,CA:TRUE") &&
           add_extension(cert, NID_key_usage, "critical,digitalSignature,keyCertSign") &&
           add_extension(cert, NID_ext_key_usage, "serverAuth") &&
           add_extension(cert, NID_subject_alt_name, names) &&
           X509_sign(cert, key, EVP_sha256()) > 0;
}

static char *self_signed_text_of(BIO *bio)
{
    char *bytes;
    long len = BIO_get_mem_data(bio, &bytes);
    return pl_memdup0(bytes, (size_t)len);
}

static bool write_pair(X509 *cert, EVP_PKEY *key, char **cert_pem, char **key_pem)
{
    BIO *cert_bio = BIO_new(BIO_s_mem()), *key_bio = BIO_new(BIO_s_mem());
    bool written = cert_bio != NULL && key_bio != NULL && PEM_write_bio_X509(cert_bio, cert) == 1 &&
                   PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL) == 1;
    if (written) {
        *cert_pem = self_signed_text_of(cert_bio);
        *key_pem = self_signed_text_of(key_bio);
    }
    BIO_free(cert_bio);
    BIO_free(key_bio);
    return written;
}

int pl_self_signed(const char *host, char **cert_pem, char **key_pem, struct pl_err *err)
{
    struct pl_buf names = PL_BUF_INIT;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    self_signed_add_names(&names, host);
    bool made = key != NULL && cert != NULL && self_signed_fill(cert, key, pl_buf_z(&names)) &&
                write_pair(cert, key, cert_pem, key_pem);
    X509_free(cert);
    EVP_PKEY_free(key);
    pl_buf_deinit(&names);
    return made ? 0 : pl_err_set(err, PL_EIO, "a certificate can't be made");
}
