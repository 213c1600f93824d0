#include "crypto/self_signed.h"

#include "base/alloc.h"
#include "crypto/pem.h"

#include "support/test.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

static X509 *make(const char *host)
{
    struct pl_err err;
    char *cert_pem = NULL, *key_pem = NULL;
    REQUIRE(pl_self_signed(host, &cert_pem, &key_pem, &err) == 0);
    CHECK(pl_pem_is_pair(cert_pem, key_pem));
    BIO *bio = BIO_new_mem_buf(cert_pem, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    REQUIRE(cert != NULL);
    BIO_free(bio);
    pl_free(cert_pem);
    pl_free(key_pem);
    return cert;
}

TEST(a_certificate_is_for_loopback_and_for_its_host)
{
    static const struct {
        const char *host, *name, *address;
    } cases[] = {
        {NULL, "localhost", "127.0.0.1"},
        {"0.0.0.0", "localhost", "::1"},
        {"10.1.2.3", "localhost", "10.1.2.3"},
        {"fd00::1", "localhost", "fd00::1"},
        {"dev.example.com", "dev.example.com", "127.0.0.1"},
        {"a,DNS:evil.example.com", "localhost", "127.0.0.1"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        X509 *cert = make(cases[i].host);
        CHECK_INT(X509_check_host(cert, cases[i].name, 0, 0, NULL), 1);
        CHECK_INT(X509_check_ip_asc(cert, cases[i].address, 0), 1);
        CHECK_INT(X509_check_host(cert, "evil.example.com", 0, 0, NULL), 0);
        CHECK_INT(X509_verify(cert, X509_get0_pubkey(cert)), 1);
        X509_free(cert);
    }
}

TEST(no_two_are_the_same)
{
    X509 *a = make(NULL), *b = make(NULL);
    CHECK(X509_cmp(a, b) != 0);
    X509_free(a);
    X509_free(b);
}

TEST_MAIN()
