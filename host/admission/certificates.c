/* Requests of certificates. OpenSSL reads them, and the messages have Go's words for the usual
 * faults. The rights of a signer are those of the virtual resource `signers`, whose names are
 * signers or all of a domain ("example.com/" and an asterisk). */
#include "admission/certificates.h"

#include "apicall/rbac.h"
#include "base/base64.h"
#include "base/text.h"
#include "crypto/x509.h"
#include "valid/check.h"

#include <string.h>

#define CLIENT_SIGNER "kubernetes.io/kube-apiserver-client"

/* ---- texts ---- */

/* The fields of pl_x509_read are names and values, each with a NUL after it. */
static const char *next_field(struct pl_slice fields, const char *at, const char *name)
{
    const char *end = fields.ptr + fields.len;
    while (at < end && strcmp(at, name) != 0) {
        at += strlen(at) + 1;
        at += strlen(at) + 1;
    }
    return at < end ? at + strlen(at) + 1 : NULL;
}

static bool has_field(struct pl_slice fields, const char *name, const char *value)
{
    const char *is = next_field(fields, fields.ptr, name);
    while (is != NULL && strcmp(is, value) != 0)
        is = next_field(fields, is + strlen(is) + 1, name);
    return is != NULL;
}

bool pl_api_certificate_field(struct pl_slice fields, const char *name, struct pl_slice *value)
{
    const char *is = next_field(fields, fields.ptr, name);
    *value = pl_slice_z(is != NULL ? is : "");
    return is != NULL;
}

/* The text at the path, decoded, if it has a block of that type. */
static bool has_block(const struct pl_tree *object, const char *path, const char *begin,
                      struct pl_buf *pem)
{
    pl_base64_decode(pl_tree_text_at(object, path), pem);
    struct pl_slice text = pl_buf_slice(pem);
    return pl_text_find(text, begin) != NULL;
}

static const char *fault_of_request(struct pl_slice pem)
{
    struct pl_buf fields = PL_BUF_INIT;
    struct pl_err err;
    const char *why = NULL;
    if (pl_x509_read(pem, &fields, &err) != 0)
        why = "asn1: syntax error: data truncated";
    else if (pl_x509_is_signed(pem, &err) != 1)
        why = has_field(pl_buf_slice(&fields), "signature", "sha256WithRSAEncryption")
                  ? "crypto/rsa: verification error"
                  : "x509: ECDSA verification failure";
    pl_buf_deinit(&fields);
    return why;
}

void pl_api_certificates_validate(struct pl_api_ctx *ctx, struct pl_api_faults *faults,
                                  const struct pl_tree *object)
{
    struct pl_buf pem = PL_BUF_INIT, issued = PL_BUF_INIT, fields = PL_BUF_INIT;
    struct pl_err err;
    if (!pl_api_type_is_builtin(ctx->type, "CertificateSigningRequest"))
        return;
    const char *why = NULL;
    if (has_block(object, "spec.request", "-----BEGIN CERTIFICATE REQUEST-----", &pem))
        why = fault_of_request(pl_buf_slice(&pem));
    if (why != NULL)
        pl_bad_value(faults, PL_MEMBER(PL_MEMBER(NULL, "spec"), "request"),
                     pl_tree_dig(object, "spec.request"), "%s", why);
    if (has_block(object, "status.certificate", "-----BEGIN CERTIFICATE-----", &issued) &&
        pl_x509_read(pl_buf_slice(&issued), &fields, &err) != 0)
        pl_bad_value(faults, PL_MEMBER(PL_MEMBER(NULL, "status"), "certificate"),
                     pl_tree_strz(&ctx->arena, "<certificate data>"),
                     "x509: malformed certificate");
    pl_buf_deinit(&fields);
    pl_buf_deinit(&issued);
    pl_buf_deinit(&pem);
}

/* ---- rights ---- */

bool pl_api_may_for_signer(struct pl_api_ctx *ctx, const char *verb, struct pl_slice signer)
{
    struct pl_api_attributes asked = {.verb = pl_slice_z(verb),
                                      .is_resource = true,
                                      .group = pl_slice_z("certificates.k8s.io"),
                                      .resource = pl_slice_z("signers"),
                                      .name = signer};
    if (pl_api_rbac_allows(ctx, &ctx->user, &asked, NULL))
        return true;
    const char *slash = pl_slice_chr(signer, '/');
    size_t domain = slash != NULL ? (size_t)(slash - signer.ptr) : signer.len;
    asked.name = pl_arena_f(&ctx->arena, "%.*s/*", (int)domain, signer.ptr);
    return pl_api_rbac_allows(ctx, &ctx->user, &asked, NULL);
}

static bool differs(const struct pl_tree *a, const struct pl_tree *b, const char *path)
{
    return !pl_tree_equal(pl_tree_dig(a, path), pl_tree_dig(b, path));
}

static int check_right(struct pl_api_ctx *ctx, const struct pl_tree *object,
                       const struct pl_tree *old)
{
    struct pl_slice sub = ctx->request.subresource;
    struct pl_slice signer = pl_tree_text_at(old, "spec.signerName");
    const char *verb =
        pl_slice_eqz(sub, "approval") ? "approve"
        : pl_slice_eqz(sub, "status") && (differs(object, old, "status.certificate") ||
                                          differs(object, old, "status.conditions"))
            ? "sign"
            : NULL;
    if (verb == NULL || pl_api_may_for_signer(ctx, verb, signer))
        return 0;
    return pl_api_forbid(ctx, ctx->request.name,
                         pl_arena_f(&ctx->arena,
                                    "user not permitted to %s requests with signerName \"%.*s\"",
                                    verb, PL_FMT(signer)));
}

/* Nobody becomes a member of the group of all rights by a certificate. */
static int refuse_masters(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    struct pl_buf pem = PL_BUF_INIT, fields = PL_BUF_INIT;
    struct pl_err err;
    if (!pl_slice_eqz(pl_tree_text_at(object, "spec.signerName"), CLIENT_SIGNER))
        return 0;
    pl_base64_decode(pl_tree_text_at(object, "spec.request"), &pem);
    bool bad = pl_x509_read(pl_buf_slice(&pem), &fields, &err) != 0 ||
               has_field(pl_buf_slice(&fields), "subject.O", "system:masters");
    pl_buf_deinit(&fields);
    pl_buf_deinit(&pem);
    if (!bad)
        return 0;
    return pl_api_forbid(
        ctx, pl_tree_text_at(object, "metadata.name"),
        pl_slice_z("use of " CLIENT_SIGNER " signer with system:masters group is not allowed"));
}

int pl_api_certificates_check(struct pl_api_ctx *ctx, const struct pl_tree *object,
                              const struct pl_tree *old)
{
    if (!pl_api_type_is_builtin(ctx->type, "CertificateSigningRequest"))
        return 0;
    return old == NULL ? refuse_masters(ctx, object) : check_right(ctx, object, old);
}
