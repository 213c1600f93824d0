/* The server's side of TLS by OpenSSL on memory buffers: http_conn.c moves the bytes. OpenSSL's
 * error queue belongs to the thread, and stale entries change the meaning of later results, so it
 * is cleared before and after calls that may fail.
 *
 * Only TLS 1.2 and later, no renegotiation, no compression. With a CA for clients, a connection
 * without a certificate of that CA fails. Idle connections keep no record buffers. */
#include "crypto/tls.h"

#include "base/alloc.h"
#include "base/check.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <limits.h>

struct pl_tls_context {
    SSL_CTX *ssl_ctx; /* counted */
};

struct pl_tls {
    SSL *ssl;            /* owned */
    BIO *input, *output; /* owned by ssl */
};

static int bad(struct pl_err *err, const char *what)
{
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    pl_err_set(err, PL_EINVAL, "%s: %s", what, why != NULL ? why : "nothing usable in it");
    ERR_clear_error();
    return PL_EINVAL;
}

static int use_certificate(SSL_CTX *ctx, const char *pem, struct pl_err *err)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL);
    int rc = cert != NULL && SSL_CTX_use_certificate(ctx, cert) == 1
                 ? 0
                 : bad(err, "the TLS certificate can't be used");
    X509_free(cert);
    while (rc == 0 && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        if (SSL_CTX_add0_chain_cert(ctx, cert) != 1) {
            X509_free(cert);
            rc = bad(err, "the TLS certificate's chain can't be used");
        }
    }
    ERR_clear_error(); /* for the PEM reader the end of the text is an error */
    BIO_free(bio);
    return rc;
}

static int use_key(SSL_CTX *ctx, const char *pem, struct pl_err *err)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    int rc = 0;
    if (key == NULL || SSL_CTX_use_PrivateKey(ctx, key) != 1)
        rc = bad(err, "the TLS key can't be used");
    else if (SSL_CTX_check_private_key(ctx) != 1)
        rc = bad(err, "the TLS key does not belong to the certificate");
    EVP_PKEY_free(key);
    BIO_free(bio);
    return rc;
}

static int use_client_ca(SSL_CTX *ctx, const char *pem, struct pl_err *err)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    X509 *cert;
    int count = 0;
    while ((cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        count += X509_STORE_add_cert(store, cert) == 1;
        X509_free(cert);
    }
    BIO_free(bio);
    if (count == 0)
        return bad(err, "the clients' CA can't be used");
    ERR_clear_error();
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    /* A session of another server must not be resumed here. */
    static const unsigned char id[] = "perilune";
    SSL_CTX_set_session_id_context(ctx, id, sizeof id - 1);
    return 0;
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *offered, unsigned offered_len, void *arg)
{
    PL_UNUSED(ssl), PL_UNUSED(arg);
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof ours - 1, offered, offered_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

struct pl_tls_context *pl_tls_context_create(const char *cert_pem, const char *key_pem,
                                             const char *client_ca_pem, struct pl_err *err)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    PL_REQUIRE(ctx != NULL);
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    /* A thousand idle watches should not hold a thousand record buffers. */
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    if (use_certificate(ctx, cert_pem, err) != 0 || use_key(ctx, key_pem, err) != 0 ||
        (client_ca_pem != NULL && use_client_ca(ctx, client_ca_pem, err) != 0)) {
        SSL_CTX_free(ctx);
        return NULL;
    }
    struct pl_tls_context *context = PL_NEW(struct pl_tls_context);
    context->ssl_ctx = ctx;
    return context;
}

void pl_tls_context_destroy(struct pl_tls_context *context)
{
    if (context == NULL)
        return;
    SSL_CTX_free(context->ssl_ctx);
    pl_free(context);
}

struct pl_tls *pl_tls_create(struct pl_tls_context *context)
{
    struct pl_tls *tls = PL_NEW(struct pl_tls);
    tls->ssl = SSL_new(context->ssl_ctx);
    tls->input = BIO_new(BIO_s_mem());
    tls->output = BIO_new(BIO_s_mem());
    PL_REQUIRE(tls->ssl != NULL && tls->input != NULL && tls->output != NULL);
    SSL_set_bio(tls->ssl, tls->input, tls->output);
    SSL_set_accept_state(tls->ssl);
    return tls;
}

void pl_tls_destroy(struct pl_tls *tls)
{
    if (tls == NULL)
        return;
    SSL_free(tls->ssl);
    pl_free(tls);
}

void pl_tls_feed(struct pl_tls *tls, struct pl_slice bytes)
{
    PL_REQUIRE(bytes.len <= INT_MAX);
    if (bytes.len > 0)
        PL_REQUIRE(BIO_write(tls->input, bytes.ptr, (int)bytes.len) == (int)bytes.len);
}

/* Looking is much cheaper than clearing, which goes through all of the queue. */
static void forget_errors(void)
{
    if (ERR_peek_error() != 0)
        ERR_clear_error();
}

int pl_tls_read(struct pl_tls *tls, char *out, int cap)
{
    forget_errors();
    int n = SSL_read(tls->ssl, out, cap);
    if (n > 0)
        return n;
    switch (SSL_get_error(tls->ssl, n)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        return PL_ECLOSED;
    default:
        ERR_clear_error();
        return PL_ENETWORK;
    }
}

bool pl_tls_has_more(struct pl_tls *tls)
{
    return BIO_pending(tls->input) > 0 || SSL_has_pending(tls->ssl) == 1;
}

int pl_tls_write(struct pl_tls *tls, struct pl_slice plain)
{
    forget_errors();
    while (plain.len > 0) {
        int n = SSL_write(tls->ssl, plain.ptr, plain.len > INT_MAX ? INT_MAX : (int)plain.len);
        if (n <= 0) {
            ERR_clear_error();
            return PL_ENETWORK;
        }
        plain = pl_slice(plain.ptr + n, plain.len - (size_t)n);
    }
    return 0;
}

void pl_tls_close(struct pl_tls *tls)
{
    ERR_clear_error();
    if (SSL_is_init_finished(tls->ssl))
        SSL_shutdown(tls->ssl);
    ERR_clear_error();
}

struct pl_slice pl_tls_output(struct pl_tls *tls)
{
    char *bytes;
    long len = BIO_get_mem_data(tls->output, &bytes);
    return pl_slice(bytes, len > 0 ? (size_t)len : 0);
}

void pl_tls_output_taken(struct pl_tls *tls)
{
    (void)BIO_reset(tls->output);
}
