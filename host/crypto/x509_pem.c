/* The input is hostile: texts have a limit, keys with a password are refused, and OpenSSL's error
 * queue, which belongs to the thread, is left empty. */
#include "crypto/x509_pem.h"
#include "crypto/x509_context.h"

#include "base/base.h"

#include <openssl/err.h>
#include <openssl/pem.h>

int pl_x509_no_password(char *out, int size, int writing, void *arg)
{
    PL_UNUSED(out), PL_UNUSED(size), PL_UNUSED(writing), PL_UNUSED(arg);
    return -1;
}

int pl_x509_fail(struct pl_err *err, const char *what)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    if (reason == NULL)
        return pl_err_set(err, PL_EINVAL, "%s", what);
    return pl_err_set(err, PL_EINVAL, "%s (%s)", what, reason);
}

BIO *pl_x509_open(struct pl_slice pem, struct pl_err *err)
{
    ERR_clear_error();
    if (pem.len > PL_X509_TEXT_MAX) {
        pl_err_set(err, PL_ELIMIT, "a PEM text of more than 1 MiB");
        return NULL;
    }
    return BIO_new_mem_buf(pem.len > 0 ? pem.ptr : "", (int)pem.len);
}

void pl_x509_take_text(BIO *bio, struct pl_buf *out)
{
    char *bytes;
    long len = BIO_get_mem_data(bio, &bytes);
    pl_buf_add(out, bytes, (size_t)len);
    BIO_free(bio);
}

EVP_PKEY *pl_x509_private_key(struct pl_slice pem, struct pl_err *err)
{
    BIO *bio = pl_x509_open(pem, err);
    if (bio == NULL)
        return NULL;
    EVP_PKEY *key =
        PEM_read_bio_PrivateKey_ex(bio, NULL, pl_x509_no_password, NULL, pl_x509_context(), NULL);
    BIO_free(bio);
    if (key == NULL)
        pl_x509_fail(err, "this is not a PEM private key without a password");
    ERR_clear_error();
    return key;
}

static X509_REQ *request_of(struct pl_slice pem, const char *otherwise, struct pl_err *err)
{
    BIO *bio = pl_x509_open(pem, err);
    if (bio == NULL)
        return NULL;
    X509_REQ *request = PEM_read_bio_X509_REQ(bio, NULL, pl_x509_no_password, NULL);
    BIO_free(bio);
    if (request == NULL)
        pl_x509_fail(err, otherwise);
    return request;
}

int pl_x509_is_signed(struct pl_slice pem, struct pl_err *err)
{
    X509_REQ *request = request_of(pem, "this is not a PEM certificate request", err);
    if (request == NULL)
        return PL_EINVAL;
    EVP_PKEY *key = X509_REQ_get0_pubkey(request);
    int is = key != NULL && X509_REQ_verify(request, key) == 1;
    X509_REQ_free(request);
    ERR_clear_error();
    return is;
}

/* The request's key, after checking by its signature that the sender has the private key. */
static EVP_PKEY *request_key(struct pl_slice pem, struct pl_err *err)
{
    X509_REQ *request =
        request_of(pem, "this is neither a PEM key nor a PEM certificate request", err);
    if (request == NULL)
        return NULL;
    EVP_PKEY *key = X509_REQ_get_pubkey(request);
    if (key == NULL || X509_REQ_verify(request, key) != 1) {
        pl_x509_fail(err, "the request is not signed by its own key");
        EVP_PKEY_free(key);
        key = NULL;
    }
    X509_REQ_free(request);
    return key;
}

EVP_PKEY *pl_x509_subject_key(struct pl_slice pem, struct pl_err *err)
{
    BIO *bio = pl_x509_open(pem, err);
    if (bio == NULL)
        return NULL;
    EVP_PKEY *key = PEM_read_bio_PUBKEY(bio, NULL, pl_x509_no_password, NULL);
    BIO_free(bio);
    if (key != NULL)
        return key;
    struct pl_err not_private;
    key = pl_x509_private_key(pem, &not_private);
    return key != NULL ? key : request_key(pem, err);
}

STACK_OF(X509) * pl_x509_bundle(struct pl_slice pem, const char *what, struct pl_err *err)
{
    BIO *bio = pl_x509_open(pem, err);
    if (bio == NULL)
        return NULL;
    STACK_OF(X509) *all = sk_X509_new_null();
    X509 *one;
    while (sk_X509_num(all) < PL_X509_CERTS_MAX &&
           (one = PEM_read_bio_X509(bio, NULL, pl_x509_no_password, NULL)) != NULL)
        sk_X509_push(all, one);
    BIO_free(bio);
    unsigned long code = ERR_peek_last_error();
    bool at_end = code == 0 || ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
    if (sk_X509_num(all) > 0 && at_end) {
        ERR_clear_error();
        return all;
    }
    char text[120];
    snprintf(text, sizeof text, "%s: it has no PEM certificate", what);
    pl_x509_fail(err, text);
    sk_X509_pop_free(all, X509_free);
    return NULL;
}

X509 *pl_x509_certificate(struct pl_slice pem, struct pl_err *err)
{
    STACK_OF(X509) *all = pl_x509_bundle(pem, "the certificate", err);
    X509 *first = all != NULL ? sk_X509_shift(all) : NULL;
    sk_X509_pop_free(all, X509_free);
    return first;
}
