#include "net/http_trust.h"

#include "base/base.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

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

CURLcode pl_http_trust(CURL *easy, void *ssl_ctx, void *arg)
{
    PL_UNUSED(easy);
    PL_UNUSED(arg);
    SSL_CTX_set_verify(ssl_ctx, SSL_CTX_get_verify_mode(ssl_ctx), on_certificate);
    return CURLE_OK;
}
