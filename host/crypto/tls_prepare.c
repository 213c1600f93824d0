#include "crypto/tls_prepare.h"

#include "base/check.h"
#include "crypto/pem.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

/* Does the part of a handshake that needs no peer. */
static void say_hello(SSL_CTX *ctx)
{
    SSL *ssl = SSL_new(ctx);
    PL_REQUIRE(ssl != NULL);
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    (void)SSL_connect(ssl); /* waits for an answer that never comes */
    SSL_free(ssl);
}

void pl_tls_prepare(const char *ca_pem)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    PL_REQUIRE(ctx != NULL);
    if (ca_pem != NULL)
        (void)pl_pem_is_bundle(ca_pem);
    say_hello(ctx);
    SSL_CTX_free(ctx);
    ERR_clear_error();
}

void pl_tls_spare_names(void)
{
    PL_REQUIRE(OPENSSL_init_crypto(OPENSSL_INIT_NO_ADD_ALL_CIPHERS, NULL) == 1);
}
