#include "crypto/pem.h"

#include "crypto/x509_pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

bool pl_pem_is_pair(const char *cert_pem, const char *key_pem)
{
    BIO *cert_bio = BIO_new_mem_buf(cert_pem, -1), *key_bio = BIO_new_mem_buf(key_pem, -1);
    X509 *cert = PEM_read_bio_X509(cert_bio, NULL, pl_x509_no_password, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, pl_x509_no_password, NULL);
    bool is_pair = cert != NULL && key != NULL && X509_check_private_key(cert, key) == 1;
    EVP_PKEY_free(key);
    X509_free(cert);
    BIO_free(key_bio);
    BIO_free(cert_bio);
    ERR_clear_error();
    return is_pair && pl_pem_is_bundle(cert_pem);
}

bool pl_pem_is_bundle(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert;
    int count = 0;
    ERR_clear_error();
    while ((cert = PEM_read_bio_X509(bio, NULL, pl_x509_no_password, NULL)) != NULL) {
        X509_free(cert);
        count++;
    }
    /* OpenSSL's code for "no further block begins". */
    bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    BIO_free(bio);
    ERR_clear_error();
    return count > 0 && at_end;
}
