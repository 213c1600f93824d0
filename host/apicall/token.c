/* TokenRequest, and the check of such tokens.
 *
 * A token is a JSON Web Token (header.claims.signature, base64url) that is signed with HMAC-SHA-256
 * and the server's own key. A server with a data folder keeps the key there, so its tokens survive
 * a restart. The signature is compared first, in constant time; before that, nothing in a token is
 * trusted. A token ends at its expiry and with its account, whose uid it contains. Only this server
 * reads its tokens, so the algorithm is fixed and never read from the header. */
#include "apicall/token.h"

#include "apicall/body.h"
#include "apicall/core.h"
#include "base/base64.h"
#include "crypto/sha256.h"
#include "format/units.h"
#include "value/scan.h"

#include <inttypes.h>

#define ISSUER     "https://kubernetes.default.svc"
#define CREDENTIAL "authentication.kubernetes.io/credential-id"
#define HEADER     "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define BLOCK      64 /* block size of SHA-256 */
#define DEFAULT_S  3600
#define MIN_S      600
#define MAX_S      (INT64_C(1) << 32)
#define MAX_TOKEN  8192

/* ---- signing ---- */

/* RFC 2104. The key is shorter than a block. */
static void hmac(const uint8_t key[PL_API_TOKEN_KEY], struct pl_slice text,
                 uint8_t out[PL_SHA256_BYTES])
{
    struct pl_buf inner = PL_BUF_INIT, outer = PL_BUF_INIT;
    for (size_t i = 0; i < BLOCK; i++) {
        uint8_t byte = i < PL_API_TOKEN_KEY ? key[i] : 0;
        pl_buf_add_char(&inner, (char)(byte ^ 0x36));
        pl_buf_add_char(&outer, (char)(byte ^ 0x5c));
    }
    pl_buf_add_slice(&inner, text);
    pl_sha256(pl_buf_slice(&inner), out);
    pl_buf_add_slice(&outer, pl_slice((const char *)out, PL_SHA256_BYTES));
    pl_sha256(pl_buf_slice(&outer), out);
    pl_buf_deinit(&inner);
    pl_buf_deinit(&outer);
}

static void add_base64url(struct pl_buf *out, struct pl_slice bytes)
{
    size_t from = out->len;
    pl_base64_encode(bytes, out);
    while (out->len > from && out->ptr[out->len - 1] == '=')
        out->len--;
    for (size_t i = from; i < out->len; i++)
        out->ptr[i] = out->ptr[i] == '+' ? '-' : out->ptr[i] == '/' ? '_' : out->ptr[i];
}

static bool decode_base64url(struct pl_slice text, struct pl_buf *out)
{
    struct pl_buf plain = PL_BUF_INIT;
    for (size_t i = 0; i < text.len; i++)
        pl_buf_add_char(&plain, text.ptr[i] == '-' ? '+' : text.ptr[i] == '_' ? '/' : text.ptr[i]);
    while (plain.len % 4 != 0)
        pl_buf_add_char(&plain, '=');
    bool ok = pl_base64_decode(pl_buf_slice(&plain), out);
    pl_buf_deinit(&plain);
    return ok;
}

static struct pl_slice token_sign(struct pl_api_ctx *ctx, const struct pl_tree *claims)
{
    struct pl_buf token = PL_BUF_INIT, json = PL_BUF_INIT;
    uint8_t mac[PL_SHA256_BYTES];
    pl_tree_write(&json, claims);
    add_base64url(&token, pl_slice_z(HEADER));
    pl_buf_add_char(&token, '.');
    add_base64url(&token, pl_buf_slice(&json));
    hmac(ctx->api->token_key, pl_buf_slice(&token), mac);
    pl_buf_add_char(&token, '.');
    add_base64url(&token, pl_slice((const char *)mac, sizeof(mac)));
    struct pl_slice copy = pl_arena_copy(&ctx->arena, pl_buf_slice(&token));
    pl_buf_deinit(&token);
    pl_buf_deinit(&json);
    return copy;
}

/* ---- verifying ---- */

static bool is_signed(const struct pl_api *api, struct pl_slice head, struct pl_slice signature)
{
    uint8_t mac[PL_SHA256_BYTES];
    struct pl_buf given = PL_BUF_INIT;
    unsigned char differ = 1;
    if (decode_base64url(signature, &given) && given.len == sizeof(mac)) {
        hmac(api->token_key, head, mac);
        differ = 0;
        for (size_t i = 0; i < sizeof(mac); i++)
            differ |= (unsigned char)((uint8_t)given.ptr[i] ^ mac[i]);
    }
    pl_buf_deinit(&given);
    return differ == 0;
}

static struct pl_tree *claims_of(struct pl_api_ctx *ctx, struct pl_slice token)
{
    const char *end = token.ptr + token.len;
    const char *first = pl_slice_chr(token, '.');
    const char *second = first != NULL ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
    if (token.len > MAX_TOKEN || second == NULL ||
        !is_signed(ctx->api, pl_slice(token.ptr, (size_t)(second - token.ptr)),
                   pl_slice(second + 1, (size_t)(end - second - 1))))
        return NULL;
    struct pl_buf json = PL_BUF_INIT;
    struct pl_doc *doc = NULL;
    if (decode_base64url(pl_slice(first + 1, (size_t)(second - first - 1)), &json))
        doc = pl_scan_text(pl_buf_slice(&json), &(struct pl_scan_options){0}, NULL);
    struct pl_tree *claims = doc != NULL ? pl_tree_from_node(&ctx->arena, pl_doc_root(doc)) : NULL;
    pl_doc_unref(doc);
    pl_buf_deinit(&json);
    return claims;
}

static int64_t now_s(const struct pl_api *api)
{
    return pl_clock_wall(api->timers->clock) / PL_SECOND;
}

static const struct pl_api_entry *account_of(struct pl_api_ctx *ctx, struct pl_slice ns,
                                             struct pl_slice name)
{
    return pl_api_table_find(pl_api_builtin_table(ctx->api->registry, "", "serviceaccounts"),
                             pl_api_key(&ctx->arena, ns, name));
}

bool pl_api_token_verify(struct pl_api_ctx *ctx, struct pl_slice token, struct pl_api_user *user)
{
    struct pl_arena *arena = &ctx->arena;
    const struct pl_tree *claims = claims_of(ctx, token);
    struct pl_tree *about = claims != NULL ? pl_tree_getz(claims, "kubernetes.io") : NULL;
    struct pl_slice ns = pl_tree_text_at(about, "namespace");
    struct pl_slice name = pl_tree_text_at(about, "serviceaccount.name");
    struct pl_slice uid = pl_tree_text_at(about, "serviceaccount.uid");
    int64_t ends = 0;
    if (claims == NULL || !pl_tree_integer(pl_tree_getz(claims, "exp"), &ends) ||
        now_s(ctx->api) >= ends)
        return false;
    const struct pl_api_entry *entry = account_of(ctx, ns, name);
    if (entry == NULL || !pl_slice_eqz(uid, entry->uid))
        return false;
    *user = pl_api_user_of_account(arena, ns, name);
    user->uid = uid;
    user->extra = pl_tree_object(arena);
    struct pl_tree *ids = pl_tree_array(arena);
    pl_tree_push(
        arena, ids,
        pl_tree_str(arena, pl_arena_f(arena, "JTI=%.*s", PL_FMT(pl_tree_text_at(claims, "jti")))));
    pl_tree_setz(arena, user->extra, CREDENTIAL, ids);
    return true;
}

/* ---- the request ---- */

static struct pl_tree *claims_for(struct pl_api_ctx *ctx, const struct pl_api_entry *account,
                                  struct pl_tree *audiences, int64_t seconds)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *claims = pl_tree_object(arena);
    char id[37];
    pl_rand_uuid(&ctx->api->rand, id);
    int64_t now = now_s(ctx->api);
    pl_tree_setz(arena, claims, "aud", audiences);
    pl_tree_setz(arena, claims, "exp", pl_tree_int(arena, now + seconds));
    pl_tree_setz(arena, claims, "iat", pl_tree_int(arena, now));
    pl_tree_set_strz(arena, claims, "iss", ISSUER);
    pl_tree_set_strz(arena, claims, "jti", id);
    struct pl_tree *about = pl_tree_child(arena, claims, "kubernetes.io");
    pl_tree_setz(arena, about, "namespace", pl_tree_str(arena, ctx->request.ns));
    struct pl_tree *who = pl_tree_child(arena, about, "serviceaccount");
    pl_tree_setz(arena, who, "name", pl_tree_str(arena, ctx->request.name));
    pl_tree_set_strz(arena, who, "uid", account->uid);
    pl_tree_setz(arena, claims, "nbf", pl_tree_int(arena, now));
    pl_tree_setz(
        arena, claims, "sub",
        pl_tree_str(arena, pl_api_user_of_account(arena, ctx->request.ns, ctx->request.name).name));
    return claims;
}

static int check_seconds(struct pl_api_ctx *ctx, int64_t seconds)
{
    struct pl_api_faults faults = {.arena = &ctx->arena};
    struct pl_slice field = pl_slice_z("spec.expirationSeconds");
    if (seconds < MIN_S)
        pl_api_fault(&faults, "FieldValueInvalid", field,
                     "Invalid value: %" PRId64 ": may not specify a duration less than 10 minutes",
                     seconds);
    else if (seconds > MAX_S)
        pl_api_fault(&faults, "FieldValueInvalid", field,
                     "Invalid value: %" PRId64 ": may not specify a duration larger than 2^32 "
                     "seconds",
                     seconds);
    return pl_api_fail_faults(&ctx->status, &faults, pl_slice_z("authentication.k8s.io"),
                              pl_slice_z("TokenRequest"), pl_slice("", 0));
}

static int check_token_name(struct pl_api_ctx *ctx, struct pl_slice name)
{
    struct pl_api_faults faults = {.arena = &ctx->arena};
    if (name.len > 0 && !pl_slice_eq(name, ctx->request.name))
        pl_api_fault(&faults, "FieldValueInvalid", pl_slice_z("metadata.name"),
                     "Invalid value: \"%.*s\": must match the service account name if specified",
                     PL_FMT(name));
    return pl_api_fail_faults(&ctx->status, &faults, pl_slice_z("authentication.k8s.io"),
                              pl_slice_z("TokenRequest"), ctx->request.name);
}

static struct pl_tree *answer_of(struct pl_api_ctx *ctx, const struct pl_api_entry *account,
                                 struct pl_tree *audiences, int64_t seconds, struct pl_tree *bound)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *root = pl_tree_literal(arena, "{\"kind\":\"TokenRequest\",\"apiVersion\":"
                                                  "\"authentication.k8s.io/v1\"}");
    struct pl_tree *meta = pl_tree_child(arena, root, "metadata");
    pl_tree_setz(arena, meta, "name", pl_tree_str(arena, ctx->request.name));
    pl_tree_setz(arena, meta, "namespace", pl_tree_str(arena, ctx->request.ns));
    pl_tree_set_strz(arena, meta, "uid", account->uid);
    pl_tree_setz(arena, meta, "creationTimestamp", pl_api_ctx_now(ctx));
    struct pl_tree *spec = pl_tree_child(arena, root, "spec");
    pl_tree_setz(arena, spec, "audiences", pl_tree_copy(arena, audiences));
    pl_tree_setz(arena, spec, "expirationSeconds", pl_tree_int(arena, seconds));
    pl_tree_setz(arena, spec, "boundObjectRef",
                 bound != NULL ? bound : pl_tree_literal(arena, "null"));
    char ends[40];
    pl_time_text((now_s(ctx->api) + seconds) * PL_SECOND, 0, ends);
    struct pl_tree *status = pl_tree_child(arena, root, "status");
    pl_tree_setz(arena, status, "token",
                 pl_tree_str(arena, token_sign(ctx, claims_for(ctx, account, audiences, seconds))));
    pl_tree_set_strz(arena, status, "expirationTimestamp", ends);
    return root;
}

/* A token may be bound to an object, which must be there. */
static int check_bound(struct pl_api_ctx *ctx, const struct pl_tree *ref)
{
    static const char kinds[][2][8] = {{"Pod", "pods"}, {"Secret", "secrets"}, {"Node", "nodes"}};
    struct pl_slice kind = pl_tree_text_at(ref, "kind"), name = pl_tree_text_at(ref, "name");
    struct pl_slice version = pl_tree_text_at(ref, "apiVersion"), uid = pl_tree_text_at(ref, "uid");
    if (!pl_tree_is(ref, PL_OBJECT))
        return 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++) {
        if (!pl_slice_eqz(version, "v1") || !pl_slice_eqz(kind, kinds[i][0]))
            continue;
        struct pl_slice ns = i == 2 ? pl_slice("", 0) : ctx->request.ns;
        const struct pl_api_entry *entry =
            pl_api_table_find(pl_api_builtin_table(ctx->api->registry, "", kinds[i][1]),
                              pl_api_key(&ctx->arena, ns, name));
        if (entry != NULL && (uid.len == 0 || pl_slice_eqz(uid, entry->uid)))
            return 0;
        if (entry == NULL)
            pl_api_fail(&ctx->status, 404, "NotFound", "%s \"%.*s\" not found", kinds[i][1],
                        PL_FMT(name));
        else
            pl_api_fail(&ctx->status, 409, "Conflict",
                        "Operation cannot be fulfilled on %s \"%.*s\": the UID in the bound object "
                        "reference (%.*s) does not match the UID in record. The object might have "
                        "been deleted and then recreated",
                        kinds[i][1], PL_FMT(name), PL_FMT(uid));
        pl_api_fail_about(&ctx->status, pl_slice("", 0), pl_slice_z(kinds[i][1]), name);
        return -1;
    }
    const char *slash = pl_slice_chr(version, '/');
    return pl_api_bad_request(&ctx->status, "cannot bind token to object of type %s%.*s, Kind=%.*s",
                              slash == NULL ? "/" : "", PL_FMT(version), PL_FMT(kind));
}

struct pl_tree *pl_api_token_read(struct pl_api_ctx *ctx)
{
    struct pl_tree *object = pl_api_decode_as(ctx, "authentication.k8s.io/v1", "TokenRequest");
    if (object == NULL)
        return NULL;
    struct pl_slice ns = pl_tree_text_at(object, "metadata.namespace");
    if (ns.len > 0 && !pl_slice_eq(ns, ctx->request.ns)) {
        pl_api_bad_request(&ctx->status, "the namespace of the provided object does not match the "
                                         "namespace sent on the request");
        return NULL;
    }
    if (account_of(ctx, ctx->request.ns, ctx->request.name) == NULL) {
        pl_api_fail_not_found(ctx, ctx->request.name);
        return NULL;
    }
    int64_t seconds = DEFAULT_S;
    pl_tree_integer(pl_tree_dig(object, "spec.expirationSeconds"), &seconds);
    bool good = check_token_name(ctx, pl_tree_text_at(object, "metadata.name")) == 0 &&
                check_seconds(ctx, seconds) == 0 &&
                check_bound(ctx, pl_tree_dig(object, "spec.boundObjectRef")) == 0;
    return good ? object : NULL;
}

struct pl_tree *pl_api_token_make(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    const struct pl_api_entry *account = account_of(ctx, ctx->request.ns, ctx->request.name);
    struct pl_tree *audiences = pl_tree_dig(object, "spec.audiences");
    int64_t seconds = DEFAULT_S;
    pl_tree_integer(pl_tree_dig(object, "spec.expirationSeconds"), &seconds);
    if (audiences == NULL || audiences->count == 0)
        audiences = pl_tree_literal(&ctx->arena, "[\"" ISSUER "\"]");
    return answer_of(ctx, account, audiences, seconds, pl_tree_dig(object, "spec.boundObjectRef"));
}
