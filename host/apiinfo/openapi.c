/* /openapi/v2 and /openapi/v3. Clients read schemas, list types and patch strategies there.
 *
 * A document is made for each request and freed with it; nothing is cached. Hashes keep such
 * requests rare: a hash covers the input of a document (the release, and the CRDs of its version),
 * so clients that have the document get 304 or do not ask. The hash changes whenever the document
 * could change. */
#include "apiinfo/openapi.h"

#include "apiinfo/openapi_document.h"
#include "crypto/sha256.h"
#include "gotype/swagger.h"
#include "net/http_server.h"
#include "object/meta.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#define V2_PROTOBUF "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#define V3_PREFIX   "/openapi/v3/"
#define YEAR_S      (365 * 24 * 3600)

/* ---- which versions, and their hashes ---- */

/* "api/v1" or "apis/GROUP/VERSION" */
static struct pl_slice openapi_base(struct pl_arena *arena, const struct pl_api_version *v)
{
    char text[PL_KIND_TEXT];
    return pl_arena_f(arena, "%s%.*s", *v->group == '\0' ? "api/" : "apis/",
                      PL_FMT(pl_api_version_text(v, text)));
}

/* Adds the input of a kind's part of a document to the hash. */
static void openapi_fingerprint(struct pl_buf *out, const struct pl_api_type *type,
                                const struct pl_api_version *v)
{
    struct pl_scratch uid, rv;
    pl_buf_add_f(out, "%s/%s/%s;", v->group, v->name, type->kind);
    if (v->definition == NULL)
        return;
    struct pl_node crd = pl_doc_root(v->definition);
    struct pl_slice text = pl_meta_uid(crd, &uid);
    pl_buf_add_f(out, "%.*s;", PL_FMT(text));
    text = pl_meta_rv(crd, &rv);
    pl_buf_add_f(out, "%.*s;", PL_FMT(text));
}

/* Visits all kinds that are served at base; NULL: at every base. */
typedef void (*openapi_visit)(void *arg, const struct pl_api_type *type,
                              const struct pl_api_version *v);

static size_t openapi_each(struct pl_api_ctx *ctx, const struct pl_slice *base, openapi_visit visit,
                           void *arg)
{
    size_t found = 0;
    for (const struct pl_api_type *type = pl_api_registry_first(ctx->api->registry); type != NULL;
         type = type->next)
        for (size_t i = 0; i < type->version_count; i++) {
            const struct pl_api_version *v = &type->versions[i];
            if (!v->served || (base != NULL && !pl_slice_eq(openapi_base(&ctx->arena, v), *base)))
                continue;
            visit(arg, type, v);
            found++;
        }
    return found;
}

static void openapi_hash_kind(void *arg, const struct pl_api_type *type,
                              const struct pl_api_version *v)
{
    openapi_fingerprint(arg, type, v);
}

/* In the arena; empty if nothing is served there. */
static struct pl_slice openapi_hash(struct pl_api_ctx *ctx, const struct pl_slice *base)
{
    char hex[2 * PL_SHA256_BYTES + 1];
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_f(&text, "%s;", pl_message_release());
    size_t found = openapi_each(ctx, base, openapi_hash_kind, &text);
    pl_sha256_hex(pl_buf_slice(&text), hex);
    pl_buf_deinit(&text);
    for (char *c = hex; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    return found > 0 ? pl_arena_copy(&ctx->arena, pl_slice_z(hex)) : pl_slice("", 0);
}

/* ---- documents ---- */

static void openapi_add_version(void *arg, const struct pl_api_type *type,
                                const struct pl_api_version *v)
{
    struct pl_openapi *doc = arg;
    pl_openapi_add_paths(doc, type, v, pl_openapi_add_kind(doc, type, v));
}

static struct pl_tree *openapi_make(struct pl_api_ctx *ctx, const struct pl_slice *base)
{
    struct pl_arena *arena = &ctx->arena;
    bool swagger = base == NULL;
    struct pl_openapi doc = {
        .ctx = ctx,
        .to = {.arena = arena, .schemas = pl_tree_object(arena), .is_swagger = swagger},
        .paths = pl_tree_object(arena),
    };
    struct pl_tree *root = pl_tree_object(arena);
    pl_tree_set_strz(arena, root, swagger ? "swagger" : "openapi", swagger ? "2.0" : "3.0.0");
    struct pl_tree *info = pl_tree_child(arena, root, "info");
    pl_tree_set_strz(arena, info, "title", "Kubernetes");
    pl_tree_set_strz(arena, info, "version", pl_message_release());
    openapi_each(ctx, base, openapi_add_version, &doc);
    pl_tree_sort(doc.to.schemas);
    pl_tree_setz(arena, root, "paths", doc.paths);
    if (swagger)
        pl_tree_setz(arena, root, "definitions", doc.to.schemas);
    else
        pl_tree_setz(arena, pl_tree_child(arena, root, "components"), "schemas", doc.to.schemas);
    return root;
}

/* ---- answers ---- */

struct headers {
    struct pl_http_header list[6];
    size_t count;
};

static void openapi_add_header(struct headers *headers, const char *name, const char *value)
{
    headers->list[headers->count++] = (struct pl_http_header){name, value};
}

static void openapi_reply(struct pl_api_ctx *ctx, int code, const struct headers *headers,
                          struct pl_slice body)
{
    ctx->responder.ops->reply(ctx->responder.self, code, headers->list, headers->count, body);
}

static void add_etag(struct pl_api_ctx *ctx, struct headers *headers, struct pl_slice hash)
{
    openapi_add_header(headers, "Etag", pl_arena_f(&ctx->arena, "\"%.*s\"", PL_FMT(hash)).ptr);
    openapi_add_header(headers, "Vary", "Accept");
}

/* Answers 304 if the client has this document already. */
static bool answer_unchanged(struct pl_api_ctx *ctx, struct headers *headers, struct pl_slice hash)
{
    const char *known = ctx->request.call.if_none_match;
    if (known == NULL || strstr(known, pl_arena_copy(&ctx->arena, hash).ptr) == NULL)
        return false;
    openapi_reply(ctx, 304, headers, pl_slice("", 0));
    return true;
}

static void answer_document(struct pl_api_ctx *ctx, struct headers *headers, struct pl_slice hash,
                            const struct pl_slice *base, bool protobuf)
{
    add_etag(ctx, headers, hash);
    if (answer_unchanged(ctx, headers, hash))
        return;
    struct pl_buf out = PL_BUF_INIT;
    struct pl_tree *root = openapi_make(ctx, base);
    openapi_add_header(headers, "Content-Type", protobuf ? V2_PROTOBUF : "application/json");
    if (protobuf)
        pl_swagger_write(&out, root);
    else
        pl_tree_write(&out, root);
    openapi_reply(ctx, 200, headers, pl_buf_slice(&out));
    pl_buf_deinit(&out);
}

static bool openapi_accepts(struct pl_api_ctx *ctx, const char *part)
{
    const char *accept = ctx->request.call.accept;
    return accept != NULL && strstr(accept, part) != NULL;
}

static void answer_v2(struct pl_api_ctx *ctx)
{
    struct headers headers = {.count = 0};
    if (ctx->request.takes_nothing_else && !openapi_accepts(ctx, "proto-openapi.spec.v2") &&
        !openapi_accepts(ctx, "application/*")) {
        openapi_reply(ctx, 406, &headers, pl_slice("", 0));
        return;
    }
    answer_document(ctx, &headers, openapi_hash(ctx, NULL), NULL,
                    openapi_accepts(ctx, "proto-openapi.spec.v2"));
}

static void openapi_add_entry(void *arg, const struct pl_api_type *type,
                              const struct pl_api_version *v)
{
    struct pl_openapi *doc = arg;
    struct pl_arena *arena = doc->to.arena;
    struct pl_slice base = openapi_base(arena, v);
    (void)type;
    if (pl_tree_get(doc->paths, base) != NULL)
        return;
    struct pl_tree *entry = pl_tree_object(arena);
    struct pl_slice hash = openapi_hash(doc->ctx, &base);
    pl_tree_setz(arena, entry, "serverRelativeURL",
                 pl_tree_str(arena, pl_arena_f(arena, V3_PREFIX "%.*s?hash=%.*s", PL_FMT(base),
                                               PL_FMT(hash))));
    pl_tree_set(arena, doc->paths, base, entry);
}

static void answer_index(struct pl_api_ctx *ctx)
{
    struct pl_tree *root = pl_tree_object(&ctx->arena);
    struct pl_openapi doc = {.ctx = ctx, .to = {.arena = &ctx->arena}};
    doc.paths = pl_tree_child(&ctx->arena, root, "paths");
    openapi_each(ctx, NULL, openapi_add_entry, &doc);
    pl_tree_sort(doc.paths);
    pl_api_answer_tree(ctx, 200, root);
}

/* "Wed, 25 Nov 2026 06:00:00 GMT" */
static const char *http_date(struct pl_api_ctx *ctx, int64_t ns)
{
    char text[40];
    time_t seconds = (time_t)(ns / PL_SECOND);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    return pl_arena_copy(&ctx->arena, pl_slice_z(text)).ptr;
}

/* An answer to a request with the document's hash may be cached for long. A request with another
 * hash is redirected. */
static int answer_version(struct pl_api_ctx *ctx, struct pl_slice base)
{
    struct headers headers = {.count = 0};
    struct pl_slice hash = openapi_hash(ctx, &base);
    if (hash.len == 0)
        return pl_api_no_page(&ctx->status);
    if (openapi_accepts(ctx, "spec.v3") && !openapi_accepts(ctx, "json") &&
        !openapi_accepts(ctx, "*/*"))
        return pl_api_fail_media_type(&ctx->request, &ctx->status);
    struct pl_buf asked = PL_BUF_INIT;
    bool has_hash = pl_query_get(ctx->request.call.query, "hash", &asked);
    bool is_same = pl_slice_eq(pl_buf_slice(&asked), hash);
    pl_buf_deinit(&asked);
    if (has_hash && !is_same) {
        openapi_add_header(
            &headers, "Location",
            pl_arena_f(&ctx->arena, V3_PREFIX "%.*s?hash=%.*s", PL_FMT(base), PL_FMT(hash)).ptr);
        openapi_reply(ctx, 301, &headers, pl_slice("", 0));
        return 0;
    }
    if (has_hash) {
        int64_t now = pl_clock_wall(ctx->api->timers->clock);
        openapi_add_header(&headers, "Cache-Control", "public, immutable");
        openapi_add_header(&headers, "Expires", http_date(ctx, now + YEAR_S * PL_SECOND));
    }
    answer_document(ctx, &headers, hash, &base, false);
    return 0;
}

int pl_api_openapi(struct pl_api_ctx *ctx, struct pl_slice path)
{
    size_t len = strlen(V3_PREFIX);
    if (pl_slice_eqz(path, "/openapi/v2"))
        answer_v2(ctx);
    else if (pl_slice_eqz(path, "/openapi/v3"))
        answer_index(ctx);
    else if (path.len > len && memcmp(path.ptr, V3_PREFIX, len) == 0)
        return answer_version(ctx, pl_slice(path.ptr + len, path.len - len));
    else
        return pl_api_no_page(&ctx->status);
    return 0;
}
