/* Objects of built-in kinds that clients send are checked against the kinds' types before any other
 * code reads them. Wrong types are refused in kube-apiserver's words. Unknown and duplicate fields
 * are refused, warned about or ignored, as fieldValidation says. Custom kinds have their schemas
 * (steps.c). */
#include "apicall/body.h"

#include "apicall/protobuf.h"
#include "object/go_map.h"
#include "gotype/proto.h"
#include "gotype/typed.h"
#include "schema/defaults.h"
#include "schema/embedded.h"
#include "schema/empties.h"
#include "value/scan.h"

#include <string.h>

struct pl_message pl_api_body_type(const struct pl_api_ctx *ctx)
{
    const struct pl_api_version *v = pl_api_ctx_version(ctx);
    if (ctx->type->is_custom)
        return (struct pl_message){NULL};
    return pl_message_of_kind(pl_slice_z(v->group), pl_slice_z(v->name),
                              pl_slice_z(ctx->type->kind));
}

static void note_twins(struct pl_api_ctx *ctx, const char *prefix)
{
    struct pl_tree *found = pl_tree_array(&ctx->arena);
    if (pl_slice_eqz(ctx->request.field_validation, "Ignore"))
        return;
    pl_typed_drop_twins(&ctx->arena, pl_typed_parse(&ctx->arena, ctx->request.call.body), found);
    if (ctx->strict == NULL)
        ctx->strict = pl_tree_array(&ctx->arena);
    PL_TREE_FOR(item, found)
    {
        struct pl_slice text = pl_arena_f(&ctx->arena, "%s%.*s", prefix, PL_FMT(item->value->text));
        pl_tree_push(&ctx->arena, ctx->strict, pl_tree_str(&ctx->arena, text));
    }
}

struct pl_doc *pl_api_body_scan(struct pl_api_ctx *ctx, const char *prefix, struct pl_err *err)
{
    struct pl_scan_options options = {
        .keep_managed_fields = true, .refuse_duplicates = true, .replace_surrogates = true};
    struct pl_doc *doc = pl_scan_text(ctx->request.call.body, &options, err);
    if (doc != NULL)
        return doc;
    *err = (struct pl_err){0};
    options.refuse_duplicates = false;
    doc = pl_scan_text(ctx->request.call.body, &options, err);
    if (doc != NULL)
        note_twins(ctx, prefix);
    return doc;
}

struct pl_tree *pl_api_body_json(struct pl_api_ctx *ctx, const struct pl_doc *doc)
{
    if (ctx->type == NULL || ctx->type->is_custom || ctx->request.body_form != PL_API_JSON)
        return pl_tree_from_node(&ctx->arena, pl_doc_root(doc));
    return pl_typed_parse(&ctx->arena, ctx->request.call.body);
}

static void time_taint(struct pl_api_ctx *ctx, struct pl_tree *taint)
{
    if (pl_tree_is(taint, PL_OBJECT) && pl_tree_text_at(taint, "timeAdded").len == 0)
        pl_tree_setz(&ctx->arena, taint, "timeAdded", pl_api_ctx_now(ctx));
}

/* The taints of devices have the time of the request. */
static void time_taints(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    if (pl_api_type_is_builtin(ctx->type, "DeviceTaintRule"))
        time_taint(ctx, pl_tree_dig(object, "spec.taint"));
    if (!pl_api_type_is_builtin(ctx->type, "ResourceSlice"))
        return;
    PL_TREE_FOR(device, pl_tree_dig(object, "spec.devices"))
    PL_TREE_FOR(taint, pl_tree_getz(device->value, "taints"))
    time_taint(ctx, taint->value);
}

void pl_api_body_default(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    struct pl_message type = pl_api_body_type(ctx);
    const char *method = ctx->request.call.method;
    bool is_new = method != NULL && strcmp(method, "POST") == 0;
    struct pl_api_empties empties = {.count = 0};
    if (!ctx->type->is_custom)
        empties = pl_api_empties_find(ctx->type->kind, object, is_new);
    pl_typed_fill(&ctx->arena, object,
                  type); /* "" does not count as a value if there is a default */
    pl_api_empties_restore(&ctx->arena, object, &empties);
    pl_api_default_builtin(&ctx->arena, ctx->type, object);
    time_taints(ctx, object);
    pl_typed_fill(&ctx->arena, object, type);
    pl_api_empties_restore(&ctx->arena, object, &empties);
}

/* ---- protobuf ---- */

/* The options are the same in every group. */
static struct pl_message body_message_of(struct pl_slice api_version, const char *kind)
{
    if (strcmp(kind, "DeleteOptions") == 0)
        api_version = pl_slice_z("v1");
    return pl_api_proto_type(api_version, pl_slice_z(kind));
}

struct pl_tree *pl_api_body_protobuf(struct pl_api_ctx *ctx, const char *kind)
{
    struct pl_proto_envelope envelope;
    const char *why = "it does not begin with the envelope of Kubernetes' protobuf";
    struct pl_tree *object = NULL;
    if (pl_proto_open(ctx->request.call.body, &envelope)) {
        bool same = pl_slice_eqz(envelope.kind, kind);
        struct pl_message type = body_message_of(envelope.api_version, kind);
        why = "the envelope has another type";
        if (same && !pl_message_is_none(type))
            object = pl_proto_decode(&ctx->arena, type, envelope.raw, &why);
        if (object != NULL) /* Go also sends empty fields */
            pl_typed_fill(&ctx->arena, object, type);
    }
    if (object == NULL) {
        pl_api_bad_request(&ctx->status, "the body is not a protobuf %s: %s", kind, why);
        return NULL;
    }
    pl_tree_setz(&ctx->arena, object, "apiVersion", pl_tree_str(&ctx->arena, envelope.api_version));
    pl_tree_setz(&ctx->arena, object, "kind", pl_tree_str(&ctx->arena, envelope.kind));
    return object;
}

/* ---- types ---- */

static struct pl_slice joined(struct pl_arena *arena, const struct pl_tree *texts)
{
    struct pl_buf list = PL_BUF_INIT;
    PL_TREE_FOR(item, texts)
    pl_buf_add_f(&list, "%s%.*s", list.len > 0 ? ", " : "", PL_FMT(item->value->text));
    struct pl_slice out = pl_arena_copy(arena, pl_buf_slice(&list));
    pl_buf_deinit(&list);
    return out;
}

/* The error, or nothing. Warnings are added. */
static struct pl_slice mistake(struct pl_api_ctx *ctx, struct pl_tree *object,
                               struct pl_message type)
{
    struct pl_typed t = {.arena = &ctx->arena,
                         .strict = ctx->strict,
                         .of_map = ctx->request.body_form == PL_API_STRATEGIC};
    struct pl_slice mode = ctx->request.field_validation;
    if (pl_message_is_none(type))
        return pl_slice("", 0);
    if (pl_typed_read(&t, object, type) != 0)
        return t.error;
    ctx->strict = NULL; /* they are reported here, and only once */
    if (t.strict == NULL || pl_slice_eqz(mode, "Ignore"))
        return pl_slice("", 0);
    if (pl_slice_eqz(mode, "Strict"))
        return pl_arena_f(&ctx->arena, "strict decoding error: %.*s",
                          PL_FMT(joined(&ctx->arena, t.strict)));
    PL_TREE_FOR(item, t.strict)
    pl_api_warn(ctx, pl_tree_text(item->value));
    return pl_slice("", 0);
}

int pl_api_body_read(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    struct pl_slice what = mistake(ctx, object, pl_api_body_type(ctx));
    if (what.len == 0)
        return 0;
    return pl_api_bad_request(&ctx->status, "%s in version \"%s\" cannot be handled as a %s: %.*s",
                              ctx->type->kind, pl_api_ctx_version(ctx)->name, ctx->type->kind,
                              PL_FMT(what));
}

struct pl_slice pl_api_body_mistake(struct pl_api_ctx *ctx, struct pl_tree *object,
                                    const char *api_version, const char *kind)
{
    return mistake(ctx, object, pl_api_proto_type(pl_slice_z(api_version), pl_slice_z(kind)));
}

/* A patch may not change the kind of a built-in object. */
static struct pl_slice other_kind(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    char text[PL_KIND_TEXT];
    const struct pl_api_version *v = pl_api_ctx_version(ctx);
    struct pl_slice version = pl_tree_text_at(object, "apiVersion");
    struct pl_slice kind = pl_tree_text_at(object, "kind");
    if (ctx->type->is_custom || kind.len == 0 || version.len == 0 ||
        (pl_slice_eq(version, pl_api_version_text(v, text)) && pl_slice_eqz(kind, ctx->type->kind)))
        return pl_slice("", 0);
    const char *lacking = pl_api_no_kind(ctx, version, kind);
    if (lacking != NULL)
        return pl_slice_z(lacking);
    struct pl_slice what = mistake(ctx, object, pl_api_proto_type(version, kind));
    return what.len > 0
               ? what
               : pl_arena_f(&ctx->arena, "converting (%s.%.*s) to (%s.%s): unknown conversion",
                            v->name, PL_FMT(kind), *v->group == '\0' ? "core" : v->group,
                            ctx->type->kind);
}

/* A strategic patch, as Go shows a map. */
static struct pl_slice strategic_shown(struct pl_api_ctx *ctx)
{
    struct pl_buf text = PL_BUF_INIT;
    struct pl_tree *patch = pl_typed_parse(&ctx->arena, ctx->request.call.body);
    pl_typed_drop_twins(&ctx->arena, patch, NULL);
    pl_tree_sort(patch);
    pl_go_map_write(&text, patch);
    struct pl_slice shown = pl_arena_copy(&ctx->arena, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return shown;
}

struct pl_slice pl_api_body_shown(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_tree_write(&text, object);
    struct pl_slice shown = pl_arena_copy(&ctx->arena, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return shown;
}

struct pl_slice pl_api_body_shown_sorted(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    struct pl_tree *sorted = pl_tree_copy(&ctx->arena, object);
    pl_tree_sort(sorted);
    return pl_api_body_shown(ctx, sorted);
}

int pl_api_body_fail_patched(struct pl_api_ctx *ctx, struct pl_slice shown, struct pl_slice what)
{
    struct pl_api_faults faults = {.arena = &ctx->arena};
    struct pl_buf text = PL_BUF_INIT;
    pl_tree_write(&text, pl_tree_str(&ctx->arena, shown));
    pl_api_fault(&faults, "FieldValueInvalid", pl_slice_z("patch"), "Invalid value: %s: %.*s",
                 pl_buf_z(&text), PL_FMT(what));
    pl_buf_deinit(&text);
    return pl_api_fail_faults(&ctx->status, &faults, pl_slice("", 0), pl_slice("", 0),
                              pl_slice("", 0));
}

static int fail_identity(struct pl_api_ctx *ctx, const struct pl_tree *object, const char *member,
                         struct pl_slice is, struct pl_slice want)
{
    struct pl_api_faults faults = {.arena = &ctx->arena};
    pl_api_fault(&faults, "FieldValueInvalid", pl_slice_z(member),
                 "Invalid value: \"%.*s\": must be %.*s", PL_FMT(is), PL_FMT(want));
    return pl_api_fail_faults(&ctx->status, &faults, pl_slice_z(pl_api_ctx_version(ctx)->group),
                              pl_tree_text_at(object, "kind"), ctx->request.name);
}

/* A custom object keeps its kind and version, and its metadata has a Go type. */
static int read_patched_custom(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    char text[PL_KIND_TEXT];
    struct pl_slice want = pl_api_version_text(pl_api_ctx_version(ctx), text);
    struct pl_slice version = pl_tree_text_at(object, "apiVersion");
    struct pl_slice kind = pl_tree_text_at(object, "kind");
    struct pl_tree *metadata = pl_tree_getz(object, "metadata");
    const char *why = NULL;
    if (kind.len > 0 && !pl_slice_eqz(kind, ctx->type->kind))
        return fail_identity(ctx, object, "kind", kind, pl_slice_z(ctx->type->kind));
    if (kind.len > 0 && !pl_slice_eq(version, want))
        return fail_identity(ctx, object, "apiVersion", version, want);
    struct pl_slice shown = pl_api_body_shown_sorted(ctx, object);
    if (kind.len == 0)
        why = pl_arena_f(&ctx->arena, "Object 'Kind' is missing in '%.*s'", PL_FMT(shown)).ptr;
    else if (metadata != NULL && metadata->type != PL_NULL)
        why = pl_api_metadata_read(&ctx->arena, metadata);
    return why == NULL ? 0 : pl_api_body_fail_patched(ctx, shown, pl_slice_z(why));
}

/* A patch that removes the kind or the version changes nothing. */
static void keep_kind(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    char text[PL_KIND_TEXT];
    struct pl_slice version = pl_api_version_text(pl_api_ctx_version(ctx), text);
    pl_tree_set_strz(&ctx->arena, object, "kind", ctx->type->kind);
    pl_tree_setz(&ctx->arena, object, "apiVersion", pl_tree_str(&ctx->arena, version));
}

int pl_api_body_read_patched(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    bool is_strategic = ctx->request.body_form == PL_API_STRATEGIC;
    struct pl_slice shown = {NULL, 0};
    if (ctx->type->is_custom)
        return read_patched_custom(ctx, object);
    if (!is_strategic) /* the result; reading it drops what it must not have */
        shown = pl_api_body_shown(ctx, object);
    struct pl_slice what = other_kind(ctx, object);
    if (what.len == 0)
        what = mistake(ctx, object, pl_api_body_type(ctx));
    if (what.len == 0) {
        keep_kind(ctx, object);
        return 0;
    }
    return pl_api_body_fail_patched(ctx, is_strategic ? strategic_shown(ctx) : shown, what);
}

void pl_api_body_drop_nulls(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    struct pl_typed t = {.arena = &ctx->arena};
    struct pl_message type = pl_api_body_type(ctx);
    if (!pl_message_is_none(type))
        pl_typed_read(&t, object, type);
}

int pl_api_body_read_applied(struct pl_api_ctx *ctx, struct pl_tree *config)
{
    char text[PL_KIND_TEXT];
    struct pl_message type = pl_api_body_type(ctx);
    if (pl_message_is_none(type))
        return 0;
    struct pl_slice version =
        pl_arena_f(&ctx->arena, "%s%.*s", *pl_api_ctx_version(ctx)->group == '\0' ? "/" : "",
                   PL_FMT(pl_api_version_text(pl_api_ctx_version(ctx), text)));
    struct pl_slice ns = pl_tree_text_at(config, "metadata.namespace");
    struct pl_slice name = pl_tree_text_at(config, "metadata.name");
    const char *why = pl_typed_apply_error(&ctx->arena, config, type);
    if (why != NULL)
        return pl_api_fail(&ctx->status, 500, "",
                           "failed to create typed patch object (%.*s/%.*s; %.*s, Kind=%s): %s",
                           PL_FMT(ns), PL_FMT(name), PL_FMT(version), ctx->type->kind, why);
    struct pl_typed t = {.arena = &ctx->arena, .keeps_nulls = true};
    if (pl_typed_read(&t, config, type) == 0)
        return 0;
    return pl_api_fail(&ctx->status, 500, "",
                       "failed to convert new object (%.*s/%.*s; %.*s, Kind=%s) to proper version: "
                       "unable to convert unstructured object to %.*s, Kind=%s: %.*s",
                       PL_FMT(ns), PL_FMT(name), PL_FMT(version), ctx->type->kind, PL_FMT(version),
                       ctx->type->kind, PL_FMT(t.error));
}
