/* An object that a webhook has patched, read as kube-apiserver reads it: a value of a wrong type is
 * an error, unknown fields of built-in kinds are dropped without a warning, and defaults are filled
 * in, so that the next webhook sees them. A patch that changes the kind or the version is refused,
 * unless the object can be converted. The kind of a custom object is checked later (steps.c). */
#include "apicall/admit_call.h"

#include "apicall/body.h"
#include "apicall/convert.h"
#include "apicall/protobuf.h"
#include "gotype/typed.h"
#include "schema/structural.h"

#include <string.h>

struct identity {
    struct pl_slice version, kind; /* of the object: "group/version" */
};

static struct identity identity_of(const struct pl_tree *object)
{
    return (struct identity){pl_tree_text_at(object, "apiVersion"),
                             pl_tree_text_at(object, "kind")};
}

/* NULL: apiVersion and kind are texts, and the version has the form of one. */
static const char *identity_fault(struct pl_arena *arena, const struct pl_tree *object)
{
    static const char fields[][12] = {"apiVersion", "kind"};
    for (size_t i = 0; i < PL_ARRAY_LEN(fields); i++) {
        const struct pl_tree *value = pl_tree_getz(object, fields[i]);
        if (value != NULL && value->type != PL_STRING && value->type != PL_NULL)
            return pl_arena_f(arena,
                              "couldn't get version/kind; json parse error: json: cannot unmarshal "
                              "%s into Go struct field .%s of type string",
                              value->type == PL_BOOL ? "bool" : pl_type_name(value->type),
                              fields[i])
                .ptr;
    }
    struct pl_slice version = pl_tree_text_at(object, "apiVersion");
    size_t slashes = 0;
    for (size_t i = 0; i < version.len; i++)
        slashes += version.ptr[i] == '/';
    return slashes < 2
               ? NULL
               : pl_arena_f(arena, "unexpected GroupVersion string: %.*s", PL_FMT(version)).ptr;
}

/* The group's part of "group/version"; empty for the core group. */
static struct pl_slice group_of(struct pl_slice version)
{
    const char *slash = pl_slice_chr(version, '/');
    return pl_slice(version.ptr, slash != NULL ? (size_t)(slash - version.ptr) : 0);
}

/* Go names a package after the first word of its group. */
static int fail_conversion(struct pl_api_ctx *ctx, struct identity is, struct identity want)
{
    struct pl_slice from = group_of(is.version), to = group_of(want.version);
    size_t skip = from.len > 0 ? from.len + 1 : 0;
    const char *dot = pl_slice_chr(to, '.');
    struct pl_slice package = to.len == 0   ? pl_slice_z("core")
                              : dot != NULL ? pl_slice(to.ptr, (size_t)(dot - to.ptr))
                                            : to;
    return pl_api_fail(&ctx->status, 500, "",
                       "converting (%.*s.%.*s) to (%.*s.%.*s): unknown conversion",
                       (int)(is.version.len - skip), is.version.ptr + skip, PL_FMT(is.kind),
                       PL_FMT(package), PL_FMT(want.kind));
}

static void set_identity(struct pl_arena *arena, struct pl_tree *object, struct identity want)
{
    pl_tree_setz(arena, object, "apiVersion", pl_tree_str(arena, want.version));
    pl_tree_setz(arena, object, "kind", pl_tree_str(arena, want.kind));
}

static int read_typed(struct pl_api_ctx *ctx, struct pl_tree *object, struct identity want)
{
    struct pl_typed typed = {.arena = &ctx->arena};
    struct identity is = identity_of(object);
    if (is.kind.len == 0)
        is.kind = want.kind;
    if (is.version.len == 0)
        is.version = want.version;
    const char *lacking = pl_api_no_kind(ctx, is.version, is.kind);
    if (lacking != NULL)
        return pl_api_fail_internal(&ctx->status, "%s", lacking);
    struct pl_message type = pl_api_proto_type(is.version, is.kind);
    if (pl_message_is_none(type)) /* a version that is not served any more */
        type = pl_api_proto_type(want.version, want.kind);
    if (!pl_message_is_none(type) && pl_typed_read(&typed, object, type) != 0)
        return pl_api_fail_internal(&ctx->status, "%.*s", PL_FMT(typed.error));
    if (!pl_slice_eq(is.kind, want.kind))
        return fail_conversion(ctx, is, want);
    set_identity(&ctx->arena, object, want);
    return 0;
}

/* The version of the kind with that apiVersion; -1 and the status if there is none. */
static int custom_version(struct pl_api_ctx *ctx, struct identity is, struct identity want,
                          size_t *version)
{
    char text[PL_KIND_TEXT];
    for (size_t i = 0; i < ctx->type->version_count; i++)
        if (pl_slice_eq(is.version, pl_api_version_text(&ctx->type->versions[i], text))) {
            *version = i;
            return 0;
        }
    if (pl_slice_eq(group_of(is.version), group_of(want.version)))
        return pl_api_fail(&ctx->status, 500, "",
                           "request to convert CR from an invalid group/version: %.*s",
                           PL_FMT(is.version));
    return pl_api_fail(&ctx->status, 500, "",
                       "%s%.*s, Kind=%.*s is unstructured and is not suitable for converting to "
                       "\"%.*s\"",
                       pl_slice_chr(is.version, '/') != NULL ? "" : "/", PL_FMT(is.version),
                       PL_FMT(is.kind), PL_FMT(want.version));
}

static int read_custom_patched(struct pl_api_ctx *ctx, struct pl_tree **object,
                               struct identity want)
{
    struct identity is = identity_of(*object);
    size_t version = ctx->version;
    if (is.kind.len == 0)
        return pl_api_fail_internal(&ctx->status, "Object 'Kind' is missing in '%.*s'",
                                    PL_FMT(pl_api_body_shown_sorted(ctx, *object)));
    if (custom_version(ctx, is, want, &version) != 0)
        return -1;
    pl_api_structural_default(&ctx->arena, *object, ctx->type->versions[version].schema);
    return version == ctx->version ? 0 : pl_api_convert(ctx, object, version, ctx->version);
}

int pl_api_admit_read(struct pl_api_hook *hook, const struct pl_api_admission *sent,
                      struct pl_tree **object)
{
    struct pl_api_ctx *ctx = hook->ctx;
    struct identity want = identity_of(sent->object);
    const char *fault = identity_fault(&ctx->arena, *object);
    if (fault != NULL)
        return pl_api_fail_internal(&ctx->status, "%s", fault);
    size_t asked = ctx->version;
    ctx->version = hook->version;
    bool is_custom = ctx->type->is_custom && sent->as == NULL;
    int code = is_custom ? read_custom_patched(ctx, object, want) : read_typed(ctx, *object, want);
    hook->changed = code == 0 && !pl_tree_equal(*object, sent->object);
    if (code == 0 && !is_custom && sent->as == NULL)
        pl_api_body_default(ctx, *object);
    ctx->version = asked;
    return code;
}
