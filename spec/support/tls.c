#include "support/tls.h"

#include "base/alloc.h"
#include "base/check.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

struct test_ca {
    EVP_PKEY *key;
    X509 *cert;
    char *pem;
};

static char *bio_text(BIO *bio)
{
    char *bytes;
    long len = BIO_get_mem_data(bio, &bytes);
    char *text = pl_memdup0(bytes, (size_t)len);
    BIO_free(bio);
    return text;
}

static char *cert_text(X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());
    PL_REQUIRE(PEM_write_bio_X509(bio, cert) == 1);
    return bio_text(bio);
}

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    PL_REQUIRE(extension != NULL && X509_add_ext(cert, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static X509 *new_cert(const char *common_name, EVP_PKEY *key, long valid_s)
{
    X509 *cert = X509_new();
    unsigned char serial[8];
    X509_set_version(cert, X509_VERSION_3);
    PL_REQUIRE(RAND_bytes(serial, sizeof serial) == 1);
    serial[0] &= 0x7f;
    BIGNUM *number = BN_bin2bn(serial, sizeof serial, NULL);
    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), valid_s);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                               (const unsigned char *)common_name, -1, -1, 0);
    return cert;
}

struct test_ca *test_ca_create(const char *common_name)
{
    struct test_ca *ca = PL_NEW(struct test_ca);
    ca->key = EVP_EC_gen("P-256");
    ca->cert = new_cert(common_name, ca->key, 3600);
    X509_set_issuer_name(ca->cert, X509_get_subject_name(ca->cert));
    add_extension(ca->cert, ca->cert, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(ca->cert, ca->cert, NID_key_usage, "critical,keyCertSign,cRLSign");
    PL_REQUIRE(X509_sign(ca->cert, ca->key, EVP_sha256()) > 0);
    ca->pem = cert_text(ca->cert);
    return ca;
}

void test_ca_destroy(struct test_ca *ca)
{
    EVP_PKEY_free(ca->key);
    X509_free(ca->cert);
    pl_free(ca->pem);
    pl_free(ca);
}

const char *test_ca_pem(const struct test_ca *ca)
{
    return ca->pem;
}

struct test_cert test_ca_issue(struct test_ca *ca, const char *common_name, const char *alt_names,
                               long valid_s)
{
    struct test_cert made;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = new_cert(common_name, key, valid_s);
    X509_set_issuer_name(cert, X509_get_subject_name(ca->cert));
    add_extension(cert, ca->cert, NID_ext_key_usage, alt_names ? "serverAuth" : "clientAuth");
    if (alt_names != NULL && alt_names[0] != '\0')
        add_extension(cert, ca->cert, NID_subject_alt_name, alt_names);
    PL_REQUIRE(X509_sign(cert, ca->key, EVP_sha256()) > 0);
    made.cert_pem = cert_text(cert);
    BIO *bio = BIO_new(BIO_s_mem());
    PL_REQUIRE(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1);
    made.key_pem = bio_text(bio);
    X509_free(cert);
    EVP_PKEY_free(key);
    return made;
}

void test_cert_deinit(struct test_cert *cert)
{
    pl_free(cert->cert_pem);
    pl_free(cert->key_pem);
}
