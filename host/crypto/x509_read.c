/* Reading and verifying certificates. Names are shown as texts. A name with a NUL in it makes the
 * certificate an error, since programs that read texts up to a NUL would be deceived. */
#include "crypto/x509_pem.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

/* ---- fields ---- */

/* False for a text with a NUL. */
static bool x509_read_add(struct pl_buf *out, const char *prefix, const char *name,
                          const void *value, size_t len)
{
    if (len > 0 && memchr(value, '\0', len) != NULL)
        return false;
    pl_buf_add_z(out, prefix);
    pl_buf_add(out, name, strlen(name) + 1);
    pl_buf_add(out, value, len);
    pl_buf_add_char(out, '\0');
    return true;
}

static void add_z(struct pl_buf *out, const char *name, const char *value)
{
    x509_read_add(out, "", name, value, strlen(value));
}

static bool x509_read_add_name(struct pl_buf *out, const char *prefix, const X509_NAME *name)
{
    bool good = true;
    for (int i = 0; i < X509_NAME_entry_count(name) && good; i++) {
        const X509_NAME_ENTRY *entry = X509_NAME_get_entry(name, i);
        char field[80];
        int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
        if (nid != NID_undef)
            snprintf(field, sizeof field, "%s", OBJ_nid2sn(nid));
        else
            OBJ_obj2txt(field, sizeof field, X509_NAME_ENTRY_get_object(entry), 1);
        unsigned char *text = NULL;
        int len = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
        good = len >= 0 && x509_read_add(out, prefix, field, text, (size_t)len);
        OPENSSL_free(text);
    }
    return good;
}

static bool add_address(struct pl_buf *out, const ASN1_OCTET_STRING *address)
{
    char text[INET6_ADDRSTRLEN];
    int len = ASN1_STRING_length(address);
    if ((len != 4 && len != 16) ||
        inet_ntop(len == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(address), text,
                  sizeof text) == NULL)
        return false;
    add_z(out, "ip", text);
    return true;
}

static bool add_other_names(struct pl_buf *out, const GENERAL_NAMES *names)
{
    bool good = true;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && good; i++) {
        int type;
        const ASN1_STRING *value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &type);
        const char *name = type == GEN_DNS     ? "dns"
                           : type == GEN_URI   ? "uri"
                           : type == GEN_EMAIL ? "email"
                                               : NULL;
        if (type == GEN_IPADD)
            good = add_address(out, value);
        else if (name != NULL)
            good = x509_read_add(out, "", name, ASN1_STRING_get0_data(value),
                                 (size_t)ASN1_STRING_length(value));
    }
    return good;
}

static bool add_time(struct pl_buf *out, const char *name, const ASN1_TIME *time)
{
    struct tm tm;
    char text[32];
    if (ASN1_TIME_to_tm(time, &tm) != 1)
        return false;
    snprintf(text, sizeof text, "%lld", (long long)timegm(&tm));
    add_z(out, name, text);
    return true;
}

static void x509_read_add_key(struct pl_buf *out, EVP_PKEY *key)
{
    char text[80], group[40] = "";
    if (key == NULL) {
        add_z(out, "key", "unknown");
        return;
    }
    int id = EVP_PKEY_get_base_id(key);
    if (id == EVP_PKEY_RSA)
        snprintf(text, sizeof text, "rsa-%d", EVP_PKEY_get_bits(key));
    else if (id != EVP_PKEY_EC || EVP_PKEY_get_group_name(key, group, sizeof group, NULL) != 1)
        snprintf(text, sizeof text, "%s", id == EVP_PKEY_ED25519 ? "ed25519" : OBJ_nid2sn(id));
    else
        snprintf(text, sizeof text, "ecdsa-%s",
                 strcmp(group, "prime256v1") == 0  ? "p256"
                 : strcmp(group, "secp384r1") == 0 ? "p384"
                                                   : group);
    add_z(out, "key", text);
}

static void add_hex(struct pl_buf *out, const char *name, const unsigned char *bytes, size_t len)
{
    pl_buf_add(out, name, strlen(name) + 1);
    for (size_t i = 0; i < len; i++)
        pl_buf_add_f(out, "%02x", bytes[i]);
    pl_buf_add_char(out, '\0');
}

static void add_purposes(struct pl_buf *out, X509 *cert)
{
    uint32_t usage = X509_get_extended_key_usage(cert);
    if (X509_check_ca(cert) == 1)
        add_z(out, "ca", "true");
    if (usage != UINT32_MAX && (usage & XKU_SSL_SERVER) != 0)
        add_z(out, "usage", "server");
    if (usage != UINT32_MAX && (usage & XKU_SSL_CLIENT) != 0)
        add_z(out, "usage", "client");
    if (X509_NAME_cmp(X509_get_subject_name(cert), X509_get_issuer_name(cert)) == 0 &&
        X509_verify(cert, X509_get0_pubkey(cert)) == 1)
        add_z(out, "self_signed", "true");
}

static bool add_certificate(struct pl_buf *out, X509 *cert)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    const ASN1_INTEGER *serial = X509_get0_serialNumber(cert);
    add_z(out, "kind", "certificate");
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    bool good = x509_read_add_name(out, "subject.", X509_get_subject_name(cert)) &&
                x509_read_add_name(out, "issuer.", X509_get_issuer_name(cert)) &&
                add_other_names(out, names) &&
                add_time(out, "not_before", X509_get0_notBefore(cert)) &&
                add_time(out, "not_after", X509_get0_notAfter(cert)) &&
                X509_digest(cert, EVP_sha256(), digest, &len) == 1;
    sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
    add_hex(out, "fingerprint", digest, len);
    add_hex(out, "serial", ASN1_STRING_get0_data(serial), (size_t)ASN1_STRING_length(serial));
    x509_read_add_key(out, X509_get0_pubkey(cert));
    add_z(out, "signature", OBJ_nid2ln(X509_get_signature_nid(cert)));
    add_purposes(out, cert);
    return good;
}

static bool add_request(struct pl_buf *out, X509_REQ *request)
{
    add_z(out, "kind", "request");
    STACK_OF(X509_EXTENSION) *extensions = X509_REQ_get_extensions(request);
    GENERAL_NAMES *names = X509V3_get_d2i(extensions, NID_subject_alt_name, NULL, NULL);
    bool good = x509_read_add_name(out, "subject.", X509_REQ_get_subject_name(request)) &&
                add_other_names(out, names);
    sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
    sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
    x509_read_add_key(out, X509_REQ_get0_pubkey(request));
    add_z(out, "signature", OBJ_nid2ln(X509_REQ_get_signature_nid(request)));
    return good;
}

/* ---- texts ---- */

/* 1: one was added; 0: the block is of another type; < 0: it is malformed. */
static int add_block(struct pl_buf *out, const char *label, const unsigned char *bytes, long len,
                     struct pl_err *err)
{
    bool good = false;
    const char *what = "a certificate";
    if (strcmp(label, PEM_STRING_X509) == 0 || strcmp(label, PEM_STRING_X509_OLD) == 0) {
        X509 *cert = d2i_X509(NULL, &bytes, len);
        good = cert != NULL && add_certificate(out, cert);
        X509_free(cert);
    } else if (strcmp(label, PEM_STRING_X509_REQ) == 0 ||
               strcmp(label, PEM_STRING_X509_REQ_OLD) == 0) {
        X509_REQ *request = d2i_X509_REQ(NULL, &bytes, len);
        what = "a certificate request";
        good = request != NULL && add_request(out, request);
        X509_REQ_free(request);
    } else {
        return 0;
    }
    char text[80];
    snprintf(text, sizeof text, "%s can't be read", what);
    return good ? 1 : pl_x509_fail(err, text);
}

int pl_x509_read(struct pl_slice pem, struct pl_buf *out, struct pl_err *err)
{
    BIO *bio = pl_x509_open(pem, err);
    if (bio == NULL)
        return PL_ELIMIT;
    char *label, *header;
    unsigned char *bytes;
    long len;
    int rc = 0, count = 0;
    while (rc >= 0 && count < PL_X509_CERTS_MAX &&
           PEM_read_bio(bio, &label, &header, &bytes, &len) == 1) {
        rc = add_block(out, label, bytes, len, err);
        count += rc > 0;
        OPENSSL_free(label);
        OPENSSL_free(header);
        OPENSSL_free(bytes);
    }
    BIO_free(bio);
    if (rc >= 0 && count == 0)
        rc = pl_x509_fail(err, "this is neither a PEM certificate nor a PEM certificate request");
    else if (rc >= 0 && count == PL_X509_CERTS_MAX)
        rc = pl_err_set(err, PL_ELIMIT, "more than %d certificates", PL_X509_CERTS_MAX - 1);
    else if (rc >= 0 && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        rc = pl_x509_fail(err, "a PEM block can't be read");
    ERR_clear_error();
    return rc < 0 ? rc : 0;
}

/* ---- verifying ---- */

static bool set_host(X509_VERIFY_PARAM *param, struct pl_slice host)
{
    char text[256];
    if (host.len == 0)
        return true;
    if (host.len >= sizeof text || pl_slice_chr(host, '\0') != NULL)
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    if (X509_VERIFY_PARAM_set1_ip_asc(param, text) == 1)
        return true;
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(param, text, host.len) == 1;
}

static int x509_read_judge(X509_STORE_CTX *context, const struct pl_x509_wish *wish,
                           struct pl_err *err)
{
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_time(param, (time_t)wish->at);
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
    if (pl_slice_eqz(wish->usage, "server"))
        X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER);
    else if (pl_slice_eqz(wish->usage, "client"))
        X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_CLIENT);
    if (!set_host(param, wish->host))
        return pl_err_set(err, PL_EINVAL, "the host is neither a name nor an address");
    if (X509_verify_cert(context) == 1)
        return 1;
    int why = X509_STORE_CTX_get_error(context);
    pl_err_set(err, PL_EINVAL, "%s", X509_verify_cert_error_string(why));
    return 0;
}

int pl_x509_verify(struct pl_slice pem, const struct pl_x509_wish *wish, struct pl_err *err)
{
    STACK_OF(X509) *roots = NULL, *more = NULL, *chain = NULL;
    int rc = PL_EINVAL;
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    chain = pl_x509_bundle(pem, "the certificate", err);
    if (chain != NULL)
        roots = pl_x509_bundle(wish->roots, "the CA", err);
    if (roots != NULL && wish->intermediates.len > 0)
        more = pl_x509_bundle(wish->intermediates, "the intermediates", err);
    if (roots != NULL && (wish->intermediates.len == 0 || more != NULL)) {
        X509 *leaf = sk_X509_shift(chain);
        while (sk_X509_num(more) > 0)
            sk_X509_push(chain, sk_X509_shift(more));
        for (int i = 0; i < sk_X509_num(roots); i++)
            X509_STORE_add_cert(store, sk_X509_value(roots, i));
        if (X509_STORE_CTX_init(context, store, leaf, chain) == 1)
            rc = x509_read_judge(context, wish, err);
        X509_STORE_CTX_cleanup(context);
        X509_free(leaf);
    }
    sk_X509_pop_free(chain, X509_free);
    sk_X509_pop_free(roots, X509_free);
    sk_X509_pop_free(more, X509_free);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    ERR_clear_error();
    return rc;
}

int pl_x509_is_pair(struct pl_slice pem, struct pl_slice key_pem, struct pl_err *err)
{
    X509 *cert = pl_x509_certificate(pem, err);
    EVP_PKEY *key = cert != NULL ? pl_x509_private_key(key_pem, err) : NULL;
    int rc = PL_EINVAL;
    if (key != NULL)
        rc = X509_check_private_key(cert, key) == 1;
    EVP_PKEY_free(key);
    X509_free(cert);
    ERR_clear_error();
    return rc;
}

int pl_x509_is_for(struct pl_slice pem, struct pl_slice key_pem, struct pl_err *err)
{
    X509 *cert = pl_x509_certificate(pem, err);
    EVP_PKEY *key = cert != NULL ? pl_x509_subject_key(key_pem, err) : NULL;
    int rc = PL_EINVAL;
    if (key != NULL)
        rc = X509_get0_pubkey(cert) != NULL && EVP_PKEY_eq(X509_get0_pubkey(cert), key) == 1;
    EVP_PKEY_free(key);
    X509_free(cert);
    ERR_clear_error();
    return rc;
}
