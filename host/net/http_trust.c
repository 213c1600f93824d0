/* curl and OpenSSL check the chain. This file adds: a server's certificate must have a name among
 * its alternative names, whatever its common name is, and one turn of the loop takes a limited
 * number of TLS records. The callbacks run inside of curl on the loop's thread and must not start a
 * request. */
#include "net/http_trust.h"

#include "base/base.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static bool names_a_host(const X509 *cert)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    bool found = false;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && !found; i++) {
        int type = sk_GENERAL_NAME_value(names, i)->type;
        found = type == GEN_DNS || type == GEN_IPADD;
    }
    GENERAL_NAMES_free(names);
    return found;
}

/* Called for each certificate of the chain, the server's own last (depth 0). */
static int on_certificate(int ok, X509_STORE_CTX *store)
{
    const X509 *cert = X509_STORE_CTX_get_current_cert(store);
    if (ok != 1 || X509_STORE_CTX_get_error_depth(store) > 0 || cert == NULL || names_a_host(cert))
        return ok;
    X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}

/* OpenSSL calls it also for the header of each received record. */
static void on_record(int sent, int version, int type, const void *bytes, size_t len, SSL *ssl,
                      void *arg)
{
    struct pl_http_turn *turn = arg;
    PL_UNUSED(version), PL_UNUSED(bytes), PL_UNUSED(len);
    if (sent || type != SSL3_RT_HEADER || ++turn->records <= PL_HTTP_TURN_RECORDS)
        return;
    turn->flooded = true;
    SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
}

CURLcode pl_http_trust(CURL *easy, void *ssl_ctx, void *turn)
{
    PL_UNUSED(easy);
    if (SSL_CTX_get_verify_mode(ssl_ctx) != SSL_VERIFY_NONE)
        SSL_CTX_set_verify(ssl_ctx, SSL_CTX_get_verify_mode(ssl_ctx), on_certificate);
    if (turn != NULL) {
        SSL_CTX_set_msg_callback(ssl_ctx, on_record);
        SSL_CTX_set_msg_callback_arg(ssl_ctx, turn);
    }
    return CURLE_OK;
}

const char *pl_http_ca_file(void)
{
    static const char places[][52] = {
        "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Alpine, Arch */
        "/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, RHEL */
        "/etc/ssl/ca-bundle.pem",                            /* SUSE */
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* RHEL */
        "/etc/ssl/cert.pem", /* Alpine without the package ca-certificates */
    };
    const char *named = getenv("SSL_CERT_FILE");
    if (named != NULL && *named != '\0')
        return named;
    for (size_t i = 0; i < PL_ARRAY_LEN(places); i++)
        if (access(places[i], R_OK) == 0)
            return places[i];
    return NULL;
}
