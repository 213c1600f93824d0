/* Making keys, requests and certificates. Names are inserted verbatim: OpenSSL's configuration
 * syntax reads only our own constants, so that it never splits a script's text. */
#include "base/base.h"
#include "base/text.h"
#include "crypto/x509_build.h"
#include "crypto/x509_context.h"
#include "crypto/x509_pem.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAMES_MAX 1000

static EVP_PKEY *generate(const char *kind)
{
    OSSL_LIB_CTX *context = pl_x509_context();
    if (strcmp(kind, "ecdsa-p256") == 0)
        return EVP_PKEY_Q_keygen(context, NULL, "EC", "P-256");
    if (strcmp(kind, "ecdsa-p384") == 0)
        return EVP_PKEY_Q_keygen(context, NULL, "EC", "P-384");
    if (strcmp(kind, "ed25519") == 0)
        return EVP_PKEY_Q_keygen(context, NULL, "ED25519");
    if (strncmp(kind, "rsa-", 4) == 0)
        return EVP_PKEY_Q_keygen(context, NULL, "RSA", (size_t)strtoul(kind + 4, NULL, 10));
    return NULL;
}

int pl_x509_make_key(const char *kind, struct pl_buf *pem, struct pl_err *err)
{
    static const char kinds[][12] = {"ecdsa-p256", "ecdsa-p384", "ed25519",
                                     "rsa-2048",   "rsa-3072",   "rsa-4096"};
    bool known = false;
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++)
        known = known || strcmp(kinds[i], kind) == 0;
    if (!known)
        return pl_err_set(err, PL_EINVAL, "\"%s\" is not a kind of key", kind);
    EVP_PKEY *key = generate(kind);
    BIO *bio = BIO_new(BIO_s_mem());
    bool made =
        key != NULL && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1;
    EVP_PKEY_free(key);
    pl_x509_take_text(bio, pem);
    return made ? 0 : pl_x509_fail(err, "no key can be made");
}

int pl_x509_public_key(struct pl_slice pem, struct pl_buf *out, struct pl_err *err)
{
    EVP_PKEY *key = pl_x509_subject_key(pem, err);
    if (key == NULL)
        return PL_EINVAL;
    BIO *bio = BIO_new(BIO_s_mem());
    bool made = PEM_write_bio_PUBKEY(bio, key) == 1;
    EVP_PKEY_free(key);
    pl_x509_take_text(bio, out);
    return made ? 0 : pl_x509_fail(err, "the public key can't be written");
}

/* ---- fields ---- */

/* The length of the part of a value that a message shows. */
static int x509_make_shown(struct pl_slice value)
{
    return value.len < 80 ? (int)value.len : 80;
}

static bool is_named(const struct pl_x509_field *field, const char *name)
{
    return strcmp(field->name, name) == 0;
}

static const struct pl_x509_field *x509_make_find(struct pl_x509_fields fields, const char *name)
{
    const struct pl_x509_field *list = fields.list;
    for (size_t i = 0; i < fields.count; i++)
        if (is_named(&list[i], name))
            return &list[i];
    return NULL;
}

/* Without control characters: a name that ends or begins anew for some readers is another name. */
static bool is_line(struct pl_slice value)
{
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.ptr[i] < ' ' || value.ptr[i] == 0x7f)
            return false;
    return true;
}

static int add_subject(X509_NAME *subject, struct pl_x509_fields fields, struct pl_err *err)
{
    for (size_t i = 0; i < fields.count; i++) {
        const struct pl_x509_field *field = &fields.list[i];
        if (strncmp(field->name, "subject.", 8) != 0)
            continue;
        if (!is_line(field->value))
            return pl_err_set(err, PL_EINVAL, "subject: %s must be a text of one line",
                              field->name + 8);
        if (X509_NAME_add_entry_by_txt(subject, field->name + 8, MBSTRING_UTF8,
                                       (const unsigned char *)field->value.ptr,
                                       (int)field->value.len, -1, 0) != 1) {
            char what[160];
            snprintf(what, sizeof what, "subject: %s can't be \"%.*s\"", field->name + 8,
                     x509_make_shown(field->value), field->value.ptr);
            return pl_x509_fail(err, what);
        }
    }
    return 0;
}

static GENERAL_NAME *text_name(int type, struct pl_slice value)
{
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_IA5STRING *text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, value.ptr, (int)value.len);
    GENERAL_NAME_set0_value(name, type, text);
    return name;
}

static GENERAL_NAME *address_name(struct pl_slice value)
{
    char text[64];
    unsigned char bytes[16];
    if (value.len >= sizeof text)
        return NULL;
    memcpy(text, value.ptr, value.len);
    text[value.len] = '\0';
    if (strlen(text) != value.len)
        return NULL;
    int len = inet_pton(AF_INET, text, bytes) == 1 ? 4 : inet_pton(AF_INET6, text, bytes) * 16;
    if (len != 4 && len != 16)
        return NULL;
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_OCTET_STRING *address = ASN1_OCTET_STRING_new();
    ASN1_OCTET_STRING_set(address, bytes, len);
    GENERAL_NAME_set0_value(name, GEN_IPADD, address);
    return name;
}

static bool is_ascii(struct pl_slice value)
{
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.ptr[i] <= ' ' || (unsigned char)value.ptr[i] > '~')
            return false;
    return value.len > 0 && value.len <= 2048;
}

/* Also of internationalised names in their ASCII form, of names with "_", and of "*.example.com".
 */
static bool is_dns(struct pl_slice value)
{
    size_t first = value.len > 2 && pl_text_begins(value, "*.") ? 2 : 0;
    for (size_t i = first; i < value.len; i++) {
        bool begins = i == first || value.ptr[i - 1] == '.'; /* a label */
        if (begins && value.ptr[i] == '.')
            return false;
        if (!pl_is_alnum(value.ptr[i]) && strchr("-._", value.ptr[i]) == NULL)
            return false;
    }
    return value.len <= 253;
}

static bool is_uri(struct pl_slice value)
{
    const char *colon = pl_slice_chr(value, ':');
    if (colon == NULL || !pl_is_letter(value.ptr[0]) || colon + 1 == value.ptr + value.len)
        return false;
    for (const char *c = value.ptr; c < colon; c++)
        if (!pl_is_alnum(*c) && strchr("+-.", *c) == NULL)
            return false;
    return true;
}

static bool is_email(struct pl_slice value)
{
    const char *at = pl_slice_chr(value, '@');
    return at != NULL && at > value.ptr && at + 1 < value.ptr + value.len &&
           memchr(at + 1, '@', value.len - (size_t)(at + 1 - value.ptr)) == NULL;
}

static GENERAL_NAME *other_name(const struct pl_x509_field *field)
{
    if (is_named(field, "ip"))
        return address_name(field->value);
    static const struct {
        const char *name;
        bool (*is)(struct pl_slice value);
        int type;
    } forms[] = {
        {"dns", is_dns, GEN_DNS}, {"uri", is_uri, GEN_URI}, {"email", is_email, GEN_EMAIL}};
    for (size_t i = 0; i < PL_ARRAY_LEN(forms); i++)
        if (is_named(field, forms[i].name) && is_ascii(field->value) && forms[i].is(field->value))
            return text_name(forms[i].type, field->value);
    return NULL;
}

static bool is_other_name(const struct pl_x509_field *field)
{
    return is_named(field, "dns") || is_named(field, "ip") || is_named(field, "uri") ||
           is_named(field, "email");
}

/* By the names that scripts use. */
static int refuse_name(const struct pl_x509_field *field, bool has_room, struct pl_err *err)
{
    static const char *const forms[][3] = {
        {"dns", "dns", "a DNS name such as web.default.svc"},
        {"ip", "ips", "an IP address such as 10.0.0.1"},
        {"uri", "uris", "a URI such as spiffe://example.com/web"},
        {"email", "emails", "an address such as a@example.com"},
    };
    size_t i = 0;
    while (!is_named(field, forms[i][0])) /* every other name is one of them */
        i++;
    if (!has_room)
        return pl_err_set(err, PL_EINVAL, "%s: more than %d names", forms[i][1], NAMES_MAX);
    return pl_err_set(err, PL_EINVAL, "%s: \"%.*s\" is not %s", forms[i][1],
                      x509_make_shown(field->value), field->value.ptr, forms[i][2]);
}

/* NULL and 0 when there are none. */
static int other_names(struct pl_x509_fields fields, GENERAL_NAMES **out, struct pl_err *err)
{
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    int rc = 0;
    for (size_t i = 0; i < fields.count && rc == 0; i++) {
        const struct pl_x509_field *field = &fields.list[i];
        if (!is_other_name(field))
            continue;
        GENERAL_NAME *name = sk_GENERAL_NAME_num(names) < NAMES_MAX ? other_name(field) : NULL;
        if (name == NULL)
            rc = refuse_name(field, sk_GENERAL_NAME_num(names) < NAMES_MAX, err);
        else
            sk_GENERAL_NAME_push(names, name);
    }
    if (rc == 0 && sk_GENERAL_NAME_num(names) > 0) {
        *out = names;
        return 0;
    }
    sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
    *out = NULL;
    return rc;
}

/* ---- requests ---- */

static const EVP_MD *digest_for(EVP_PKEY *key)
{
    return EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 ? NULL : EVP_sha256();
}

static int fill_request(X509_REQ *request, EVP_PKEY *key, struct pl_x509_fields fields,
                        struct pl_err *err)
{
    GENERAL_NAMES *names;
    int rc = add_subject(X509_REQ_get_subject_name(request), fields, err);
    if (rc != 0 || (rc = other_names(fields, &names, err)) != 0)
        return rc;
    STACK_OF(X509_EXTENSION) *extensions = NULL;
    bool made = names == NULL || (X509V3_add1_i2d(&extensions, NID_subject_alt_name, names, 0,
                                                  X509V3_ADD_DEFAULT) == 1 &&
                                  X509_REQ_add_extensions(request, extensions) == 1);
    sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
    sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
    made = made && X509_REQ_set_pubkey(request, key) == 1 &&
           X509_REQ_sign(request, key, digest_for(key)) > 0;
    return made ? 0 : pl_x509_fail(err, "the request can't be made");
}

int pl_x509_make_request(struct pl_slice key_pem, struct pl_x509_fields fields, struct pl_buf *pem,
                         struct pl_err *err)
{
    EVP_PKEY *key = pl_x509_private_key(key_pem, err);
    if (key == NULL)
        return PL_EINVAL;
    X509_REQ *request = X509_REQ_new_ex(pl_x509_context(), NULL);
    int rc = fill_request(request, key, fields, err);
    if (rc == 0) {
        BIO *bio = BIO_new(BIO_s_mem());
        PEM_write_bio_X509_REQ(bio, request);
        pl_x509_take_text(bio, pem);
    }
    X509_REQ_free(request);
    EVP_PKEY_free(key);
    return rc;
}

/* ---- certificates ---- */

static bool seconds_of(struct pl_x509_fields fields, const char *name, time_t *out)
{
    const struct pl_x509_field *field = x509_make_find(fields, name);
    char text[32], *end;
    if (field == NULL || field->value.len == 0 || field->value.len >= sizeof text)
        return false;
    memcpy(text, field->value.ptr, field->value.len);
    text[field->value.len] = '\0';
    *out = (time_t)strtoll(text, &end, 10);
    return *end == '\0' && *out > -2208988800 && *out < 253402300800; /* 1900 to 9999 */
}

static int add_validity(X509 *cert, X509 *issuer, struct pl_x509_fields fields, struct pl_err *err)
{
    time_t from, to;
    if (!seconds_of(fields, "not_before", &from) || !seconds_of(fields, "not_after", &to) ||
        to <= from)
        return pl_err_set(err, PL_EINVAL,
                          "not_before and not_after must be seconds since 1970, in order");
    if (issuer != NULL && X509_cmp_time(X509_get0_notAfter(issuer), &to) < 0) {
        struct tm end;
        ASN1_TIME_to_tm(X509_get0_notAfter(issuer), &end);
        to = timegm(&end);
        if (to <= from)
            return pl_err_set(err, PL_EINVAL, "the issuer's certificate expires before not_before");
    }
    ASN1_TIME_set(X509_getm_notBefore(cert), from);
    ASN1_TIME_set(X509_getm_notAfter(cert), to);
    return 0;
}

static bool has_usage(struct pl_x509_fields fields, const char *usage)
{
    for (size_t i = 0; i < fields.count; i++)
        if (is_named(&fields.list[i], "usage") && pl_slice_eqz(fields.list[i].value, usage))
            return true;
    return false;
}

static bool add_purposes(X509 *cert, X509 *issuer, EVP_PKEY *key, struct pl_x509_fields fields)
{
    bool ca = x509_make_find(fields, "ca") != NULL, rsa = EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA;
    bool server = has_usage(fields, "server"), client = has_usage(fields, "client");
    const char *usage = ca    ? "critical,digitalSignature,keyCertSign,cRLSign"
                        : rsa ? "critical,digitalSignature,keyEncipherment"
                              : "critical,digitalSignature";
    const char *extended = server && client ? "serverAuth,clientAuth"
                           : server         ? "serverAuth"
                                            : "clientAuth";
    return pl_x509_add_extension(cert, issuer, NID_basic_constraints,
                                 ca ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
           pl_x509_add_extension(cert, issuer, NID_key_usage, usage) &&
           (!(server || client) ||
            pl_x509_add_extension(cert, issuer, NID_ext_key_usage, extended)) &&
           pl_x509_add_extension(cert, issuer, NID_subject_key_identifier, "hash") &&
           (issuer == cert ||
            pl_x509_add_extension(cert, issuer, NID_authority_key_identifier, "keyid:always"));
}

/* Without a subject the certificate is identified only by the other names, so they are critical
 * (RFC 5280). */
static int add_other_names(X509 *cert, struct pl_x509_fields fields, struct pl_err *err)
{
    GENERAL_NAMES *names;
    int rc = other_names(fields, &names, err);
    if (names == NULL)
        return rc;
    bool nameless = X509_NAME_entry_count(X509_get_subject_name(cert)) == 0;
    if (X509_add1_ext_i2d(cert, NID_subject_alt_name, names, nameless, X509V3_ADD_DEFAULT) != 1)
        rc = pl_x509_fail(err, "the other names can't be written");
    sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
    return rc;
}

/* issuer: NULL for self-signed. */
static int x509_make_fill(X509 *cert, EVP_PKEY *key, X509 *issuer, struct pl_x509_fields fields,
                          struct pl_err *err)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    int rc = add_subject(subject, fields, err);
    if (rc != 0 || (rc = add_validity(cert, issuer, fields, err)) != 0)
        return rc;
    X509_NAME *from = issuer != NULL ? X509_get_subject_name(issuer) : subject;
    X509 *signer = issuer != NULL ? issuer : cert;
    if (!pl_x509_add_serial(cert) || X509_set_version(cert, X509_VERSION_3) != 1 ||
        X509_set_pubkey(cert, key) != 1 || X509_set_issuer_name(cert, from) != 1 ||
        !add_purposes(cert, signer, key, fields))
        return pl_x509_fail(err, "the certificate can't be made");
    return add_other_names(cert, fields, err);
}

static int check_issuer(X509 *issuer, EVP_PKEY *key, struct pl_x509_fields fields,
                        struct pl_err *err)
{
    int rc = 0;
    time_t now;
    bool has_time = seconds_of(fields, "now", &now);
    if (X509_check_private_key(issuer, key) != 1)
        rc = pl_err_set(err, PL_EINVAL, "the issuer's key is not its certificate's");
    else if (X509_check_ca(issuer) != 1)
        rc = pl_err_set(err, PL_EINVAL, "the issuer's certificate is not that of a CA");
    else if (X509_cmp_time(X509_get0_notAfter(issuer), has_time ? &now : NULL) < 0)
        rc = pl_err_set(err, PL_EINVAL, "the issuer's certificate has expired");
    ERR_clear_error();
    return rc;
}

static int x509_make_sign(EVP_PKEY *subject, X509 *issuer, EVP_PKEY *key,
                          struct pl_x509_fields fields, struct pl_buf *pem, struct pl_err *err)
{
    X509 *cert = X509_new_ex(pl_x509_context(), NULL);
    int rc = issuer != NULL ? check_issuer(issuer, key, fields, err) : 0;
    if (rc == 0)
        rc = x509_make_fill(cert, subject, issuer, fields, err);
    if (rc == 0 && X509_sign(cert, key, digest_for(key)) <= 0)
        rc = pl_x509_fail(err, "the certificate can't be signed");
    if (rc == 0) {
        BIO *bio = BIO_new(BIO_s_mem());
        PEM_write_bio_X509(bio, cert);
        pl_x509_take_text(bio, pem);
    }
    X509_free(cert);
    return rc;
}

int pl_x509_sign(struct pl_slice subject_pem, struct pl_slice issuer_pem,
                 struct pl_slice issuer_key_pem, struct pl_x509_fields fields, struct pl_buf *pem,
                 struct pl_err *err)
{
    bool by_itself = issuer_pem.len == 0;
    EVP_PKEY *subject =
        by_itself ? pl_x509_private_key(subject_pem, err) : pl_x509_subject_key(subject_pem, err);
    EVP_PKEY *key = by_itself || subject == NULL ? NULL : pl_x509_private_key(issuer_key_pem, err);
    X509 *issuer = key == NULL ? NULL : pl_x509_certificate(issuer_pem, err);
    int rc = PL_EINVAL;
    if (subject != NULL && (by_itself || issuer != NULL))
        rc = x509_make_sign(subject, issuer, by_itself ? subject : key, fields, pem, err);
    X509_free(issuer);
    EVP_PKEY_free(key);
    EVP_PKEY_free(subject);
    return rc;
}
