/* OpenSSL reads requests and certificates. The requests of kubelets are DER in base64, which
 * becomes a PEM text first. */
#include "admission/pod_certificates.h"

#include "admission/certificates.h"
#include "base/text.h"
#include "crypto/x509.h"
#include "format/units.h"
#include "valid/check.h"

#include <stdlib.h>
#include <string.h>

#define STATUS       PL_MEMBER(NULL, "status")
#define CHAIN        PL_MEMBER(STATUS, "certificateChain")
#define SPEC_AT(m)   PL_MEMBER(PL_MEMBER(NULL, "spec"), m)
#define REQUEST      SPEC_AT("stubPKCS10Request")
#define REQUEST_TYPE "CERTIFICATE REQUEST-----"
#define MOST_DER     10240
#define MOST_CHAIN   102400
#define SECOND       1000000000LL
#define MINUTE       (60 * SECOND)
#define BEGIN        "-----BEGIN "
#define CERTIFICATE  "CERTIFICATE-----"

static void bad(struct pl_api_faults *f, const struct pl_spot *at, const char *why)
{
    pl_api_fault(f, "FieldValueInvalid", pl_spot_text(f, at), "Invalid value: %s", why);
}

/* The request as a PEM text. False after a fault: it is too long. */
static bool read_request(struct pl_api_faults *f, const struct pl_tree *spec, struct pl_buf *pem)
{
    struct pl_slice text = pl_tree_text_at(spec, "stubPKCS10Request");
    if (text.len / 4 * 3 > MOST_DER + 2) {
        pl_bad_long(f, REQUEST, "10240 bytes");
        return false;
    }
    pl_buf_add_z(pem, BEGIN REQUEST_TYPE);
    for (size_t at = 0; at < text.len; at += 64)
        pl_buf_add_f(pem, "\n%.*s", (int)(text.len - at < 64 ? text.len - at : 64), text.ptr + at);
    pl_buf_add_z(pem, "\n-----END " REQUEST_TYPE "\n");
    return true;
}

/* ---- the key ---- */

static bool check_kind(struct pl_api_faults *f, const char *kind)
{
    if (pl_is_among(pl_slice_z(kind),
                    "ed25519,ecdsa-p256,ecdsa-p384,ecdsa-secp521r1,rsa-3072,rsa-4096"))
        return true;
    if (strncmp(kind, "rsa-", 4) == 0)
        pl_bad_value(f, REQUEST,
                     pl_tree_str(f->arena, pl_arena_f(f->arena, "%s-bit modulus", kind + 4)),
                     "RSA keys must have modulus size 3072 or 4096");
    else if (strncmp(kind, "ecdsa-", 6) == 0)
        pl_bad_value(f, REQUEST, pl_tree_str(f->arena, pl_arena_f(f->arena, "curve %s", kind + 6)),
                     "elliptic public keys must use curve P256, P384, or P521");
    else
        bad(f, REQUEST, "unknown public key type; supported types are Ed25519, ECDSA, and RSA");
    return false;
}

/* An absent request was refused before. */
static void check_stub(struct pl_api_faults *f, const struct pl_tree *spec)
{
    struct pl_buf pem = PL_BUF_INIT, fields = PL_BUF_INIT;
    struct pl_slice key;
    struct pl_err err;
    if (!pl_is_empty(pl_tree_getz(spec, "stubPKCS10Request")) && read_request(f, spec, &pem)) {
        if (pl_x509_read(pl_buf_slice(&pem), &fields, &err) != 0 ||
            !pl_api_certificate_field(pl_buf_slice(&fields), "key", &key))
            bad(f, REQUEST, "must be a valid PKCS#10 CSR");
        else if (check_kind(f, key.ptr) && pl_x509_is_signed(pl_buf_slice(&pem), &err) != 1)
            bad(f, REQUEST, "invalid signature");
    }
    pl_buf_deinit(&fields);
    pl_buf_deinit(&pem);
}

/* ---- the certificates ---- */

static int64_t time_at(const struct pl_tree *status, const char *member)
{
    int64_t ns = 0;
    pl_time_parse(pl_tree_text_at(status, member), &ns);
    return ns;
}

static int64_t field_time(struct pl_slice fields, const char *name)
{
    struct pl_slice text;
    return pl_api_certificate_field(fields, name, &text) ? strtoll(text.ptr, NULL, 10) * SECOND : 0;
}

/* The first fault of the times. */
static void check_times(struct pl_api_ctx *ctx, struct pl_api_faults *f,
                        const struct pl_tree *object, struct pl_slice fields)
{
    const struct pl_tree *status = pl_tree_getz(object, "status");
    int64_t from = field_time(fields, "not_before"), to = field_time(fields, "not_after"), most = 0;
    int64_t begin = time_at(status, "notBefore"), refresh = time_at(status, "beginRefreshAt");
    int64_t now = 0;
    pl_time_parse(pl_tree_text(pl_api_ctx_now(ctx)), &now);
    pl_tree_integer(pl_tree_dig(object, "spec.maxExpirationSeconds"), &most);
    const struct {
        bool is;
        const char *member, *why;
    } faults[] = {
        {begin != from, "notBefore",
         "must be set to the NotBefore time encoded in the leaf "
         "certificate"},
        {begin - now > 5 * MINUTE || now - begin > 5 * MINUTE, "notBefore",
         "must be set to within 5 minutes of kube-apiserver's current time"},
        {time_at(status, "notAfter") != to, "notAfter",
         "must be set to the NotAfter time encoded in the leaf certificate"},
        {to - from < 60 * MINUTE, "certificateChain",
         "leaf certificate lifetime must be >= 1 hour"},
        {to - from > most * SECOND, "certificateChain",
         pl_arena_f(&ctx->arena,
                    "leaf certificate lifetime must be <= spec.maxExpirationSeconds (%lld)",
                    (long long)most)
             .ptr},
        {refresh < begin + 10 * MINUTE, "beginRefreshAt",
         "must be at least 10 minutes after status.notBefore"},
        {refresh > to - 10 * MINUTE, "beginRefreshAt",
         "must be at least 10 minutes before status.notAfter"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(faults); i++)
        if (faults[i].is) {
            pl_bad_value(f, PL_MEMBER(STATUS, faults[i].member),
                         pl_tree_getz(status, faults[i].member), "%s", faults[i].why);
            return;
        }
}

static bool has_times(struct pl_api_faults *f, const struct pl_tree *status)
{
    static const char members[][2][68] = {
        {"notBefore", "must be present and consistent with the issued certificate"},
        {"notAfter", "must be present and consistent with the issued certificate"},
        {"beginRefreshAt", "must be present and in the range [notbefore+10min, notafter-10min]"}};
    size_t before = pl_api_fault_count(f);
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        if (pl_is_empty(pl_tree_getz(status, members[i][0])))
            pl_bad_required(f, PL_MEMBER(STATUS, members[i][0]), members[i][1]);
    return pl_api_fault_count(f) == before;
}

/* 1: issued for the key of the request; 0: for another one; -1: the certificate is no certificate.
 */
static int is_for_request(struct pl_api_faults *f, const struct pl_tree *spec,
                          struct pl_slice chain)
{
    struct pl_buf pem = PL_BUF_INIT;
    struct pl_err err;
    int is = read_request(f, spec, &pem) ? pl_x509_is_for(chain, pl_buf_slice(&pem), &err) : -1;
    pl_buf_deinit(&pem);
    return is;
}

/* What is wrong with the chain; NULL: nothing. */
static const char *fault_of_chain(struct pl_api_faults *f, const struct pl_tree *spec,
                                  struct pl_slice chain)
{
    const char *end = chain.ptr + chain.len;
    struct pl_slice rest = chain;
    const char *at = pl_text_find(rest, BEGIN);
    if (at == NULL)
        return "issued certificate chain must contain at least one certificate";
    for (; at != NULL; at = pl_text_find(rest, BEGIN)) {
        if (!pl_text_begins(pl_slice(at, (size_t)(end - at)), BEGIN CERTIFICATE))
            return "issued certificate chain must consist entirely of CERTIFICATE PEM blocks";
        rest = pl_slice(at + 1, (size_t)(end - at - 1));
    }
    int is = is_for_request(f, spec, chain);
    if (is < 0)
        return "leaf certificate does not parse as valid X.509";
    return is == 0 ? "leaf certificate was not issued to the requested public key" : NULL;
}

static void check_issued(struct pl_api_ctx *ctx, struct pl_api_faults *f,
                         const struct pl_tree *object)
{
    const struct pl_tree *chain = pl_tree_dig(object, "status.certificateChain");
    struct pl_slice text = pl_tree_text(chain);
    struct pl_buf fields = PL_BUF_INIT;
    struct pl_err err;
    if (text.len > MOST_CHAIN) {
        pl_bad_long(f, CHAIN, "102400 bytes");
        return;
    }
    const char *why = fault_of_chain(f, pl_tree_getz(object, "spec"), text);
    if (why != NULL) {
        pl_bad_value(f, CHAIN, pl_or_empty(f, chain), "%s", why);
        return;
    }
    if (!has_times(f, pl_tree_getz(object, "status")))
        return;
    if (pl_x509_read(text, &fields, &err) != 0)
        pl_bad_value(f, CHAIN, chain, "intermediate certificate does not parse as valid X.509");
    else
        check_times(ctx, f, object, pl_buf_slice(&fields));
    pl_buf_deinit(&fields);
}

static void check_answer(struct pl_api_ctx *ctx, struct pl_api_faults *f,
                         const struct pl_tree *object, const struct pl_tree *old)
{
    struct pl_slice signer = pl_tree_text_at(old, "spec.signerName");
    if (pl_api_fault_count(f) > 0 ||
        pl_tree_equal(pl_tree_getz(object, "status"), pl_tree_getz(old, "status")))
        return;
    PL_EACH(item, pl_tree_dig(object, "status.conditions"))
    if (pl_slice_eqz(pl_tree_text_at(item->value, "type"), "Issued"))
        check_issued(ctx, f, object);
    if (pl_api_fault_count(f) == 0 && !pl_api_may_for_signer(ctx, "sign", signer))
        pl_bad_forbidden(f, SPEC_AT("signerName"),
                         pl_arena_f(&ctx->arena,
                                    "User \"%.*s\" is not permitted to \"sign\" for signer "
                                    "\"%.*s\"",
                                    PL_FMT(ctx->user.name), PL_FMT(signer))
                             .ptr);
}

void pl_api_pod_certificates_validate(struct pl_api_ctx *ctx, struct pl_api_faults *faults,
                                      const struct pl_tree *object, const struct pl_tree *old)
{
    if (!pl_api_type_is_builtin(ctx->type, "PodCertificateRequest"))
        return;
    if (old == NULL)
        check_stub(faults, pl_tree_getz(object, "spec"));
    else if (pl_slice_eqz(ctx->request.subresource, "status"))
        check_answer(ctx, faults, object, old);
}
