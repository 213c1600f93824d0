/* The least of OpenAPI that kubectl needs to work: that PATCH takes dryRun, fieldManager,
 * fieldValidation and force, and custom kinds' own schemas. Computed for each request. The old
 * protobuf form is a constant that describes nothing. */
#include "apiserver/openapi.h"

#include "value/write.h"

#include <stdio.h>

#define V2_PROTOBUF "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

/* {swagger: "2.0", info: {title: "Kubernetes", version: "v1.37.0"}, paths: {}} */
static const char v2_bytes[] = "\x0a\x03"
                               "2.0"
                               "\x12\x15\x0a\x0a"
                               "Kubernetes"
                               "\x12\x07"
                               "v1.37.0"
                               "\x42\x00";

static void answer_v2(struct pl_api_ctx *ctx)
{
    const char *accept = ctx->request.call.accept;
    if (accept != NULL && strstr(accept, "proto-openapi.spec.v2") != NULL) {
        struct pl_http_header header = {"Content-Type", V2_PROTOBUF};
        ctx->responder.ops->reply(ctx->responder.self, 200, &header, 1,
                                  pl_slice(v2_bytes, sizeof(v2_bytes) - 1));
        return;
    }
    pl_api_answer(ctx, 200,
                  pl_slice_z("{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":"
                             "\"v1.37.0\"},\"paths\":{},\"definitions\":{}}\n"));
}

static void openapi_add_path(struct pl_arena *arena, struct pl_tree *paths,
                             const struct pl_api_version *v)
{
    char text[PL_KIND_TEXT];
    struct pl_slice name = pl_arena_f(arena, "%s%.*s", *v->group == '\0' ? "api/" : "apis/",
                                      PL_FMT(pl_api_version_text(v, text)));
    if (!v->served || pl_tree_get(paths, name) != NULL)
        return;
    struct pl_tree *entry = pl_tree_object(arena);
    pl_tree_setz(arena, entry, "serverRelativeURL",
                 pl_tree_str(arena, pl_arena_f(arena, "/openapi/v3/%.*s", PL_FMT(name))));
    pl_tree_set(arena, paths, name, entry);
}

static void answer_index(struct pl_api_ctx *ctx)
{
    struct pl_tree *root = pl_tree_object(&ctx->arena);
    struct pl_tree *paths = pl_tree_child(&ctx->arena, root, "paths");
    for (const struct pl_api_type *type = pl_api_registry_first(ctx->api->registry); type != NULL;
         type = type->next)
        for (size_t i = 0; i < type->version_count; i++)
            openapi_add_path(&ctx->arena, paths, &type->versions[i]);
    pl_api_answer_tree(ctx, 200, root);
}

/* The parameters that kubectl looks for before it uses them. */
static const char parameters[] =
    "[{\"name\":\"dryRun\",\"in\":\"query\",\"schema\":{\"type\":\"string\"}},"
    "{\"name\":\"fieldManager\",\"in\":\"query\",\"schema\":{\"type\":\"string\"}},"
    "{\"name\":\"fieldValidation\",\"in\":\"query\",\"schema\":{\"type\":\"string\"}},"
    "{\"name\":\"force\",\"in\":\"query\",\"schema\":{\"type\":\"boolean\"}}]";

static void openapi_add_type(struct pl_arena *arena, struct pl_tree *root,
                             const struct pl_api_type *type, const struct pl_api_version *v,
                             struct pl_slice base)
{
    struct pl_tree *kind = pl_tree_object(arena);
    pl_tree_set_strz(arena, kind, "group", v->group);
    pl_tree_set_strz(arena, kind, "version", v->name);
    pl_tree_set_strz(arena, kind, "kind", type->kind);
    const char *scope = type->flags & PL_API_NAMESPACED ? "namespaces/{namespace}/" : "";
    struct pl_slice path =
        pl_arena_f(arena, "/%.*s/%s%s/{name}", PL_FMT(base), scope, type->plural);
    struct pl_tree *item = pl_tree_object(arena);
    struct pl_tree *patch = pl_tree_child(arena, item, "patch");
    pl_tree_setz(arena, patch, "parameters", pl_tree_literal(arena, parameters));
    pl_tree_setz(arena, patch, "x-kubernetes-group-version-kind", kind);
    pl_tree_set(arena, pl_tree_child(arena, root, "paths"), path, item);
    if (pl_node_is_missing(v->schema))
        return;
    struct pl_tree *schema = pl_tree_from_node(arena, v->schema);
    struct pl_tree *kinds = pl_tree_array(arena);
    pl_tree_push(arena, kinds, kind);
    pl_tree_setz(arena, schema, "x-kubernetes-group-version-kind", kinds);
    struct pl_tree *schemas =
        pl_tree_child(arena, pl_tree_child(arena, root, "components"), "schemas");
    pl_tree_set(arena, schemas, pl_arena_f(arena, "%s.%s.%s", v->group, v->name, type->kind),
                schema);
}

/* base: "api/v1" or "apis/GROUP/VERSION" */
static int answer_version(struct pl_api_ctx *ctx, struct pl_slice base)
{
    struct pl_arena *arena = &ctx->arena;
    char text[PL_KIND_TEXT];
    bool found = false;
    struct pl_tree *root = pl_tree_literal(
        arena, "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"v1.37.0\"},"
               "\"paths\":{},\"components\":{\"schemas\":{}}}");
    for (const struct pl_api_type *type = pl_api_registry_first(ctx->api->registry); type != NULL;
         type = type->next)
        for (size_t i = 0; i < type->version_count; i++) {
            const struct pl_api_version *v = &type->versions[i];
            struct pl_slice name = pl_arena_f(arena, "%s%.*s", *v->group == '\0' ? "api/" : "apis/",
                                              PL_FMT(pl_api_version_text(v, text)));
            if (!v->served || !pl_slice_eq(name, base))
                continue;
            openapi_add_type(arena, root, type, v, base);
            found = true;
        }
    if (!found)
        return pl_api_no_page(&ctx->status);
    pl_api_answer_tree(ctx, 200, root);
    return 0;
}

int pl_api_openapi(struct pl_api_ctx *ctx, struct pl_slice path)
{
    static const char prefix[] = "/openapi/v3/";
    size_t len = strlen(prefix);
    if (pl_slice_eqz(path, "/openapi/v2"))
        answer_v2(ctx);
    else if (pl_slice_eqz(path, "/openapi/v3"))
        answer_index(ctx);
    else if (path.len > len && memcmp(path.ptr, prefix, len) == 0)
        return answer_version(ctx, pl_slice(path.ptr + len, path.len - len));
    else
        return pl_api_no_page(&ctx->status);
    return 0;
}
