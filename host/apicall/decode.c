/* Reading an object from a request's body: JSON, YAML or protobuf, and whether it is of the kind
 * that the path says. */
#include "apicall/body.h"

#include "format/yaml.h"
#include "value/build.h"
#include "value/scan.h"

#include <string.h>

static struct pl_doc *scan_body(struct pl_api_ctx *ctx, struct pl_err *err)
{
    struct pl_slice body = ctx->request.call.body;
    if (ctx->request.body_form != PL_API_YAML) {
        struct pl_scan_options options = {.keep_managed_fields = true};
        return pl_scan_text(body, &options, err);
    }
    struct pl_docs docs = {0};
    struct pl_doc *doc = NULL;
    if (pl_yaml_decode(body, &docs, err) == 0 && docs.count > 0)
        doc = pl_doc_ref(docs.items[0]);
    pl_docs_deinit(&docs);
    return doc;
}

static int fail_type(struct pl_api_ctx *ctx, struct pl_slice api_version, struct pl_slice kind,
                     struct pl_slice name)
{
    const struct pl_api_version *v = pl_api_ctx_version(ctx);
    char text[PL_KIND_TEXT];
    struct pl_slice want = pl_api_version_text(v, text);
    if (ctx->type->is_custom && kind.len == 0) {
        struct pl_slice body = ctx->request.call.body;
        return pl_api_bad_request(
            &ctx->status,
            "the object provided is unrecognized (must be of type %s): Object '%s' is missing in "
            "'%.*s' (%.*s ...)",
            ctx->type->kind, "Kind", PL_FMT(body), body.len < 30 ? (int)body.len : 30, body.ptr);
    }
    if (!pl_slice_eq(api_version, want))
        return pl_api_bad_request(&ctx->status,
                                  "the API version in the data (%.*s) does not match the expected "
                                  "API version (%.*s)",
                                  PL_FMT(api_version), PL_FMT(want));
    if (!ctx->type->is_custom)
        return pl_api_bad_request(&ctx->status,
                                  "%.*s in version \"%s\" cannot be handled as a %s: converting "
                                  "(%s.%.*s) to (%s.%s): unknown conversion",
                                  PL_FMT(kind), v->name, ctx->type->kind, v->name, PL_FMT(kind),
                                  *v->group == '\0' ? "core" : v->group, ctx->type->kind);
    struct pl_api_faults faults = {.arena = &ctx->arena};
    pl_api_fault(&faults, "FieldValueInvalid", pl_slice_z("kind"),
                 "Invalid value: \"%.*s\": must be %s", PL_FMT(kind), ctx->type->kind);
    return pl_api_fail_faults(&ctx->status, &faults, pl_slice_z(v->group), kind, name);
}

/* Built-in kinds may leave out what the path says anyway. */
static int decode_check_type(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    char text[PL_KIND_TEXT];
    struct pl_slice want = pl_api_version_text(pl_api_ctx_version(ctx), text);
    struct pl_slice api_version = pl_tree_text_at(object, "apiVersion");
    struct pl_slice kind = pl_tree_text_at(object, "kind");
    if (!ctx->type->is_custom && api_version.len == 0)
        api_version = want;
    if (!ctx->type->is_custom && kind.len == 0)
        kind = pl_slice_z(ctx->type->kind);
    if (!pl_slice_eq(api_version, want) || !pl_slice_eqz(kind, ctx->type->kind))
        return fail_type(ctx, api_version, kind, pl_tree_text_at(object, "metadata.name"));
    pl_tree_setz(&ctx->arena, object, "apiVersion", pl_tree_str(&ctx->arena, api_version));
    pl_tree_setz(&ctx->arena, object, "kind", pl_tree_str(&ctx->arena, kind));
    return 0;
}

static int fail_parse(struct pl_api_ctx *ctx, const char *kind, const struct pl_err *err)
{
    struct pl_slice body = ctx->request.call.body;
    return pl_api_bad_request(
        &ctx->status,
        "the object provided is unrecognized (must be of type %s): couldn't get version/kind; "
        "json parse error: %s (%.*s)",
        kind,
        body.len == 0 || err->offset == (int64_t)body.len ? "unexpected end of JSON input"
        : err->code != 0                                  ? err->message
                                                          : "not an object",
        body.len == 0 ? 7 : (body.len < 25 ? (int)body.len : 25),
        body.len == 0 ? "<empty>" : body.ptr);
}

static struct pl_tree *decode_parse(struct pl_api_ctx *ctx, const char *kind)
{
    struct pl_err err = {0};
    bool has_type = !ctx->type->is_custom || strcmp(kind, ctx->type->kind) != 0;
    if (ctx->request.body_form == PL_API_PROTOBUF && has_type)
        return pl_api_body_protobuf(ctx, kind);
    if (ctx->request.body_form != PL_API_JSON && ctx->request.body_form != PL_API_YAML) {
        pl_api_fail(&ctx->status, 415, "UnsupportedMediaType",
                    "the body of the request was in an unknown format - accepted media types "
                    "include: application/json, application/yaml, "
                    "application/vnd.kubernetes.protobuf");
        return NULL;
    }
    struct pl_doc *doc = scan_body(ctx, &err);
    struct pl_tree *object = NULL;
    if (pl_node_type(pl_doc_root(doc)) == PL_OBJECT)
        object = pl_api_body_json(ctx, doc);
    else
        fail_parse(ctx, kind, &err);
    pl_doc_unref(doc);
    return object;
}

struct pl_tree *pl_api_decode(struct pl_api_ctx *ctx)
{
    struct pl_tree *object = decode_parse(ctx, ctx->type->kind);
    if (object == NULL)
        return NULL;
    if (decode_check_type(ctx, object) != 0 || pl_api_body_read(ctx, object) != 0)
        return NULL;
    pl_tree_child(&ctx->arena, object, "metadata");
    return object;
}

struct pl_tree *pl_api_decode_as(struct pl_api_ctx *ctx, const char *api_version, const char *kind)
{
    struct pl_tree *object = decode_parse(ctx, kind);
    if (object == NULL)
        return NULL;
    struct pl_slice version = pl_tree_text_at(object, "apiVersion");
    struct pl_slice given = pl_tree_text_at(object, "kind");
    if ((version.len == 0 || pl_slice_eqz(version, api_version)) &&
        (given.len == 0 || pl_slice_eqz(given, kind)))
        return object;
    pl_api_bad_request(&ctx->status, "the body is %.*s %.*s, where %s %s is taken", PL_FMT(version),
                       PL_FMT(given), api_version, kind);
    return NULL;
}
