/* Reads an object from a request's body (JSON, YAML or protobuf) and checks that it has the kind of
 * the path. */
#include "apicall/body.h"
#include "schema/go_words.h"

#include "apicall/protobuf.h"
#include "format/yaml.h"
#include "schema/embedded.h"
#include "value/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SHOWN 30 /* bytes of a malformed body in the message */

static struct pl_doc *scan_body(struct pl_api_ctx *ctx, struct pl_err *err)
{
    struct pl_slice body = ctx->request.call.body;
    if (ctx->request.body_form != PL_API_YAML) {
        struct pl_scan_options options = {.keep_managed_fields = true, .replace_surrogates = true};
        return ctx->type->is_custom ? pl_api_body_scan(ctx, "", err)
                                    : pl_scan_text(body, &options, err);
    }
    struct pl_docs docs = {0};
    struct pl_doc *doc = NULL;
    if (pl_yaml_decode(body, &docs, err) == 0 && docs.count > 0)
        doc = pl_doc_ref(docs.items[0]);
    pl_docs_deinit(&docs);
    return doc;
}

const char *pl_api_no_object(struct pl_api_ctx *ctx, struct pl_node root)
{
    return pl_arena_f(&ctx->arena,
                      "json: cannot unmarshal %s into Go value of type struct { APIVersion string "
                      "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                      "\"json:\\\"kind,omitempty\\\"\" }",
                      pl_node_type(root) == PL_BOOL ? "bool" : pl_type_name(pl_node_type(root)))
        .ptr;
}

/* The beginning of the body. A body that can't be an object is shown as bytes. */
static struct pl_slice shown_body(struct pl_api_ctx *ctx)
{
    struct pl_slice body = ctx->request.call.body;
    const char *more = body.len > MAX_SHOWN ? " ..." : "";
    struct pl_buf hex = PL_BUF_INIT;
    if (body.len == 0)
        return pl_slice_z("<empty>");
    if (body.ptr[0] == '{')
        return pl_arena_f(&ctx->arena, "%.*s%s", body.len > MAX_SHOWN ? MAX_SHOWN : (int)body.len,
                          body.ptr, more);
    for (size_t i = 0; i < body.len && i < MAX_SHOWN; i++)
        pl_buf_add_f(&hex, "%02x", (unsigned char)body.ptr[i]);
    struct pl_slice shown = pl_arena_f(&ctx->arena, "%s%s", pl_buf_z(&hex), more);
    pl_buf_deinit(&hex);
    return shown;
}

static int fail_no_object(struct pl_api_ctx *ctx, const char *kind, struct pl_node root)
{
    return pl_api_bad_request(&ctx->status,
                              "the object provided is unrecognized (must be of type %s): "
                              "couldn't get version/kind; json parse error: %s (%.*s)",
                              kind, pl_api_no_object(ctx, root), PL_FMT(shown_body(ctx)));
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
    const char *lacking = ctx->type->is_custom ? NULL : pl_api_no_kind(ctx, api_version, kind);
    if (lacking != NULL) {
        const char *slash = pl_slice_chr(api_version, '/');
        size_t skip = slash != NULL ? (size_t)(slash + 1 - api_version.ptr) : 0;
        return pl_api_bad_request(
            &ctx->status, "%.*s in version \"%.*s\" cannot be handled as a %s: %s", PL_FMT(kind),
            (int)(api_version.len - skip), api_version.ptr + skip, ctx->type->kind, lacking);
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

/* A custom object of a version that its kind does not have: such a version has no schema, so it
 * knows no member. */
static void warn_of_members(struct pl_api_ctx *ctx, const struct pl_tree *object,
                            struct pl_slice api_version)
{
    struct pl_slice mode = ctx->request.field_validation;
    char text[PL_KIND_TEXT];
    if (!ctx->type->is_custom || pl_slice_eqz(mode, "Ignore") || pl_slice_eqz(mode, "Strict"))
        return;
    for (size_t i = 0; i < ctx->type->version_count; i++)
        if (pl_slice_eq(api_version, pl_api_version_text(&ctx->type->versions[i], text)))
            return;
    const char *slash = pl_slice_chr(api_version, '/');
    if (slash == NULL || !pl_slice_eqz(pl_slice(api_version.ptr, (size_t)(slash - api_version.ptr)),
                                       pl_api_type_group(ctx->type)))
        return;
    PL_TREE_FOR(item, object)
    if (!pl_slice_eqz(item->key, "apiVersion") && !pl_slice_eqz(item->key, "kind") &&
        !pl_slice_eqz(item->key, "metadata"))
        pl_api_warn(ctx, pl_arena_f(&ctx->arena, "unknown field \"%.*s\"", PL_FMT(item->key)));
}

/* Objects of built-in kinds may leave out values that the path has. */
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
    bool is_kind = pl_slice_eqz(kind, ctx->type->kind);
    if (!pl_slice_eq(api_version, want) || !is_kind) {
        if (is_kind)
            warn_of_members(ctx, object, api_version);
        return fail_type(ctx, api_version, kind, pl_tree_text_at(object, "metadata.name"));
    }
    pl_tree_setz(&ctx->arena, object, "apiVersion", pl_tree_str(&ctx->arena, api_version));
    pl_tree_setz(&ctx->arena, object, "kind", pl_tree_str(&ctx->arena, kind));
    return 0;
}

static int fail_parse(struct pl_api_ctx *ctx, const char *kind, const struct pl_err *err)
{
    struct pl_slice body = ctx->request.call.body;
    bool yaml = ctx->request.body_form == PL_API_YAML && err->code != 0;
    const char *why =
        yaml ? pl_go_yaml_fault(&ctx->arena, err) : pl_go_json_fault(&ctx->arena, body);
    return pl_api_bad_request(
        &ctx->status, "the object provided is unrecognized (must be of type %s): %s%s (%.*s)", kind,
        yaml ? "" : "couldn't get version/kind; json parse error: ",
        why != NULL      ? why
        : err->code != 0 ? err->message
                         : "not an object",
        PL_FMT(shown_body(ctx)));
}

/* A version is "v1" or "group/v1". */
static int check_version_form(struct pl_api_ctx *ctx, const char *kind, struct pl_node root)
{
    struct pl_scratch scratch;
    struct pl_slice version = pl_node_str(pl_node_getz(root, "apiVersion"), &scratch);
    size_t slashes = 0;
    for (size_t i = 0; i < version.len; i++)
        slashes += version.ptr[i] == '/';
    return slashes < 2 ? 0
                       : pl_api_bad_request(&ctx->status,
                                            "the object provided is unrecognized (must be of type "
                                            "%s): unexpected GroupVersion string: %.*s (%.*s)",
                                            kind, PL_FMT(version), PL_FMT(shown_body(ctx)));
}

/* Version and kind are read before anything else. */
static int check_texts(struct pl_api_ctx *ctx, const char *kind, struct pl_node root)
{
    static const char fields[][12] = {"apiVersion", "kind"};
    for (size_t i = 0; i < PL_ARRAY_LEN(fields); i++) {
        enum pl_type type = pl_node_type(pl_node_getz(root, fields[i]));
        if (type == PL_MISSING || type == PL_STRING || type == PL_NULL)
            continue;
        return pl_api_bad_request(&ctx->status,
                                  "the object provided is unrecognized (must be of type %s): "
                                  "couldn't get version/kind; json parse error: json: cannot "
                                  "unmarshal %s into Go struct field .%s of type string (%.*s)",
                                  kind, type == PL_BOOL ? "bool" : pl_type_name(type), fields[i],
                                  PL_FMT(shown_body(ctx)));
    }
    return check_version_form(ctx, kind, root);
}

int pl_api_fail_body_form(struct pl_api_status *status)
{
    return pl_api_fail(status, 415, "UnsupportedMediaType",
                       "the body of the request was in an unknown format - accepted media types "
                       "include: application/json, application/yaml, "
                       "application/vnd.kubernetes.protobuf");
}

static struct pl_tree *decode_parse(struct pl_api_ctx *ctx, const char *kind)
{
    struct pl_err err = {0};
    bool has_type = !ctx->type->is_custom || strcmp(kind, ctx->type->kind) != 0;
    if (ctx->request.body_form == PL_API_PROTOBUF && has_type)
        return pl_api_body_protobuf(ctx, kind);
    if (ctx->request.body_form != PL_API_JSON && ctx->request.body_form != PL_API_YAML) {
        pl_api_fail_body_form(&ctx->status);
        return NULL;
    }
    struct pl_doc *doc = scan_body(ctx, &err);
    struct pl_tree *object = NULL;
    if (!ctx->type->is_custom && check_texts(ctx, kind, pl_doc_root(doc)) != 0) {
        pl_doc_unref(doc);
        return NULL;
    }
    if (pl_node_type(pl_doc_root(doc)) == PL_OBJECT)
        object = pl_api_body_json(ctx, doc);
    else if (doc != NULL && pl_node_type(pl_doc_root(doc)) == PL_NULL && !ctx->type->is_custom)
        object = pl_tree_object(&ctx->arena);
    else if (doc != NULL && pl_node_type(pl_doc_root(doc)) != PL_NULL)
        PL_IGNORE(fail_no_object(ctx, kind, pl_doc_root(doc)));
    else
        fail_parse(ctx, kind, &err);
    if (object != NULL && ctx->request.body_form == PL_API_YAML)
        pl_tree_sort(object); /* Go reads YAML as maps */
    pl_doc_unref(doc);
    return object;
}

/* The first number that is too large for a double; NULL: there is none. */
static const struct pl_tree *too_large(const struct pl_tree *value)
{
    if (pl_tree_is(value, PL_NUMBER)) {
        char text[64];
        if (value->text.len >= sizeof(text))
            return NULL;
        memcpy(text, value->text.ptr, value->text.len);
        text[value->text.len] = '\0';
        return isinf(strtod(text, NULL)) ? value : NULL;
    }
    const struct pl_tree *found = NULL;
    PL_TREE_FOR(item, pl_tree_is(value, PL_OBJECT) || pl_tree_is(value, PL_ARRAY) ? value : NULL)
    if ((found = too_large(item->value)) != NULL)
        return found;
    return NULL;
}

/* Metadata has a Go type in custom kinds, too, and numbers are read as Go reads them. */
static int read_custom(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    struct pl_tree *metadata = pl_tree_getz(object, "metadata");
    if (!ctx->type->is_custom)
        return 0;
    const struct pl_tree *number = too_large(object);
    const char *why = NULL;
    if (number != NULL)
        why = pl_arena_f(&ctx->arena,
                         "json: cannot unmarshal number %.*s into Go value of type float64",
                         PL_FMT(number->text))
                  .ptr;
    else if (metadata != NULL && metadata->type != PL_NULL)
        why = pl_api_metadata_read(&ctx->arena, metadata);
    return why == NULL ? 0
                       : pl_api_bad_request(
                             &ctx->status, "%s in version \"%s\" cannot be handled as a %s: %s",
                             ctx->type->kind, pl_api_ctx_version(ctx)->name, ctx->type->kind, why);
}

struct pl_tree *pl_api_decode(struct pl_api_ctx *ctx)
{
    struct pl_tree *object = decode_parse(ctx, ctx->type->kind);
    if (object == NULL)
        return NULL;
    if (decode_check_type(ctx, object) != 0 || read_custom(ctx, object) != 0 ||
        pl_api_body_read(ctx, object) != 0)
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
    bool older = strcmp(kind, "Eviction") == 0 && pl_slice_eqz(version, "policy/v1beta1");
    if ((version.len == 0 || older || pl_slice_eqz(version, api_version)) &&
        (given.len == 0 || pl_slice_eqz(given, kind))) {
        const char *number = strchr(api_version, '/');
        struct pl_slice what = pl_api_body_mistake(ctx, object, api_version, kind);
        if (what.len == 0)
            return object;
        pl_api_bad_request(&ctx->status, "%s in version \"%s\" cannot be handled as a %s: %.*s",
                           kind, number != NULL ? number + 1 : api_version, kind, PL_FMT(what));
        return NULL;
    }
    const char *slash = pl_slice_chr(version, '/');
    size_t skip = slash != NULL ? (size_t)(slash + 1 - version.ptr) : 0;
    size_t group = strchr(api_version, '/') != NULL ? strcspn(api_version, "./") : 0;
    const char *lacking = pl_api_no_kind(ctx, version, given);
    struct pl_slice why =
        lacking != NULL
            ? pl_slice_z(lacking)
            : pl_arena_f(&ctx->arena, "converting (%.*s.%.*s) to (%.*s.%s): unknown conversion",
                         (int)(version.len - skip), version.ptr + skip, PL_FMT(given),
                         group > 0 ? (int)group : 4, group > 0 ? api_version : "core", kind);
    pl_api_bad_request(&ctx->status, "%.*s in version \"%.*s\" cannot be handled as a %s: %.*s",
                       PL_FMT(given), (int)(version.len - skip), version.ptr + skip, kind,
                       PL_FMT(why));
    return NULL;
}
