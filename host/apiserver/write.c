/* Reading an object from a request, and creating one. The order of steps of a creation is kube-
 * apiserver's: namespace, unknown fields, what the server stamps, defaults, managedFields, assigned
 * values, validation, size, and last whether the name is taken. Nothing is stored before all of it
 * succeeded. */
#include "apiserver/write.h"

#include "apiserver/admit.h"
#include "apiserver/crd_life.h"
#include "apiserver/prepare.h"
#include "apiserver/rbac.h"
#include "apiserver/steps.h"
#include "object/meta.h"
#include "object/yaml.h"
#include "schema/defaults.h"
#include "schema/protobuf.h"
#include "value/build.h"
#include "value/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define GENERATED_LETTERS 5
#define MAX_GENERATED     58 /* of generateName, so that the name is a label */

/* ---- decoding ---- */

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
    if (ctx->type->is_custom && (api_version.len == 0 || kind.len == 0)) {
        struct pl_slice body = ctx->request.call.body;
        return pl_api_bad_request(
            &ctx->status,
            "the object provided is unrecognized (must be of type %s): Object '%s' is missing in "
            "'%.*s' (%.*s ...)",
            ctx->type->kind, kind.len == 0 ? "Kind" : "apiVersion", PL_FMT(body),
            body.len < 25 ? (int)body.len : 25, body.ptr);
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
static int check_type(struct pl_api_ctx *ctx, struct pl_tree *object)
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

static struct pl_tree *parse_protobuf(struct pl_api_ctx *ctx, const char *kind)
{
    struct pl_tree *object = pl_api_protobuf_decode(&ctx->arena, kind, ctx->request.call.body);
    if (object == NULL)
        pl_api_bad_request(&ctx->status, "the body is no %s in protobuf", kind);
    return object;
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

static struct pl_tree *parse(struct pl_api_ctx *ctx, const char *kind)
{
    struct pl_err err = {0};
    if (ctx->request.body_form == PL_API_PROTOBUF && pl_api_protobuf_knows(kind))
        return parse_protobuf(ctx, kind);
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
        object = pl_tree_from_node(&ctx->arena, pl_doc_root(doc));
    else
        fail_parse(ctx, kind, &err);
    pl_doc_unref(doc);
    return object;
}

struct pl_tree *pl_api_decode(struct pl_api_ctx *ctx)
{
    struct pl_tree *object = parse(ctx, ctx->type->kind);
    if (object == NULL)
        return NULL;
    pl_tree_child(&ctx->arena, object, "metadata");
    return check_type(ctx, object) == 0 ? object : NULL;
}

struct pl_tree *pl_api_decode_as(struct pl_api_ctx *ctx, const char *api_version, const char *kind)
{
    struct pl_tree *object = parse(ctx, kind);
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

/* ---- create ---- */

static int check_namespace(struct pl_api_ctx *ctx, struct pl_slice ns, struct pl_slice name)
{
    if (!(ctx->type->flags & PL_API_NAMESPACED))
        return 0;
    struct pl_api_type *type =
        pl_api_registry_find_group(ctx->api->registry, pl_slice_z(""), pl_slice_z("namespaces"));
    const struct pl_api_entry *entry = pl_api_table_find(type->table, ns);
    if (entry == NULL) {
        pl_api_fail(&ctx->status, 404, "NotFound", "namespaces \"%.*s\" not found", PL_FMT(ns));
        pl_api_fail_about(&ctx->status, pl_slice_z(""), pl_slice_z("namespaces"), ns);
        return -1;
    }
    if (!pl_meta_is_deleting(pl_doc_root(entry->doc)))
        return 0;
    struct pl_slice group = pl_slice_z(pl_api_ctx_version(ctx)->group);
    pl_api_fail(&ctx->status, 403, "Forbidden",
                "%s%s%.*s \"%.*s\" is forbidden: unable to create new content in namespace %.*s "
                "because it is being terminated",
                ctx->type->plural, group.len > 0 ? "." : "", PL_FMT(group), PL_FMT(name),
                PL_FMT(ns));
    pl_api_fail_about(&ctx->status, group, pl_slice_z(ctx->type->plural), name);
    pl_api_fail_cause(&ctx->status, "NamespaceTerminating", pl_slice_z("metadata.namespace"),
                      pl_arena_f(&ctx->arena, "namespace %.*s is being terminated", PL_FMT(ns)));
    return -1;
}

static void generate_name(struct pl_api_ctx *ctx, struct pl_tree *meta)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    struct pl_slice base = pl_tree_text_at(meta, "generateName");
    char tail[GENERATED_LETTERS + 1] = {0};
    if (pl_tree_text_at(meta, "name").len > 0 || base.len == 0)
        return;
    for (size_t i = 0; i < GENERATED_LETTERS; i++)
        tail[i] = letters[pl_rand_u64(&ctx->rand) % (sizeof(letters) - 1)];
    if (base.len > MAX_GENERATED)
        base.len = MAX_GENERATED;
    struct pl_slice name = pl_arena_f(&ctx->arena, "%.*s%s", PL_FMT(base), tail);
    pl_tree_setz(&ctx->arena, meta, "name", pl_tree_str(&ctx->arena, name));
}

/* What the server alone says about a new object. */
static void stamp_new(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *meta = pl_api_meta_of(ctx, object);
    char uid[37];
    generate_name(ctx, meta);
    pl_rand_uuid(&ctx->rand, uid);
    pl_tree_set_strz(arena, meta, "uid", uid);
    pl_tree_setz(arena, meta, "creationTimestamp", pl_api_now(ctx->api, arena));
    static const char *const gone[] = {"deletionTimestamp", "deletionGracePeriodSeconds",
                                       "generation", "resourceVersion"};
    for (size_t i = 0; i < PL_ARRAY_LEN(gone); i++)
        pl_tree_removez(meta, gone[i]);
    if (ctx->type->flags & PL_API_GENERATION)
        pl_tree_setz(arena, meta, "generation", pl_tree_int(arena, 1));
    if (ctx->type->flags & PL_API_NAMESPACED)
        pl_tree_setz(arena, meta, "namespace", pl_tree_str(arena, ctx->request.ns));
    else
        pl_tree_removez(meta, "namespace");
    if (pl_api_ctx_version(ctx)->has_status)
        pl_tree_removez(object, "status");
}

static int fail_exists(struct pl_api_ctx *ctx, struct pl_slice name)
{
    struct pl_slice group = pl_slice_z(pl_api_ctx_version(ctx)->group);
    pl_api_fail(&ctx->status, 409, "AlreadyExists", "%s%s%.*s \"%.*s\" already exists",
                ctx->type->plural, group.len > 0 ? "." : "", PL_FMT(group), PL_FMT(name));
    pl_api_fail_about(&ctx->status, group, pl_slice_z(ctx->type->plural), name);
    return -1;
}

/* A built-in object starts from one that is all defaults, whose containers nobody added. */
static struct pl_tree *blank(struct pl_api_ctx *ctx)
{
    if (ctx->type->is_custom)
        return pl_tree_object(&ctx->arena);
    return pl_tree_literal(
        &ctx->arena,
        "{\"metadata\":{},\"spec\":{\"strategy\":{},\"updateStrategy\":{},\"names\":{},"
        "\"scaleTargetRef\":{},\"resources\":{},\"podSelector\":{},\"jobTemplate\":{\"metadata\":{}"
        ",\"spec\":{\"template\":{"
        "\"metadata\":{},\"spec\":{\"containers\":null}}}},\"containers\":null,"
        "\"template\":{\"metadata\":{},\"spec\":{\"containers\":null}}},\"status\":{}}");
}

static int store_first(struct pl_api_ctx *ctx, struct pl_tree *object, struct pl_slice key)
{
    struct pl_tree *shown = pl_tree_copy(&ctx->arena, object);
    if (pl_api_to_storage(ctx, &object) != 0)
        return -1;
    if (ctx->request.dry_run)
        return pl_api_answer_dry(ctx, 201, shown);
    struct pl_api_entry *entry =
        pl_api_storage_put(ctx->api->storage, &ctx->arena, ctx->type, key, object);
    struct pl_doc *doc = pl_doc_ref(entry->doc);
    int code = pl_api_crd_changed(ctx, doc);
    if (code == 0)
        pl_api_answer_stored(ctx, 201, doc, shown);
    pl_doc_unref(doc);
    return code;
}

/* What mutating webhooks make of it; fields are looked at again when they changed any. */
static int admit_new(struct pl_api_ctx *ctx, struct pl_tree **object)
{
    struct pl_api_admission admission = {.operation = "CREATE", .object = *object};
    if (pl_api_admit(ctx, &admission) != 0)
        return -1;
    bool same = admission.object == *object;
    *object = admission.object;
    return same ? 0 : pl_api_shape(ctx, *object);
}

static int check_new(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    struct pl_api_admission admission = {.operation = "CREATE", .object = object};
    return pl_api_admit_check(ctx, &admission);
}

int pl_api_store_new(struct pl_api_ctx *ctx, struct pl_tree *object, bool by_apply)
{
    bool by_change = ctx->user.name.len > 0 && strcmp(pl_api_verb(&ctx->request), "create") != 0;
    if ((by_change && pl_api_authorize_verb(ctx, "create") != 0) ||
        check_namespace(ctx, ctx->request.ns, pl_api_name_of(object)) != 0 ||
        pl_api_shape(ctx, object) != 0 || admit_new(ctx, &object) != 0)
        return -1;
    struct pl_tree *meta = pl_api_meta_of(ctx, object);
    struct pl_tree *sent = by_apply ? NULL : pl_tree_getz(meta, "managedFields");
    stamp_new(ctx, object);
    pl_api_default_builtin(&ctx->arena, ctx->type, object);
    if (!by_apply) {
        struct pl_api_writer writer = pl_api_writer_of(ctx);
        struct pl_tree *entries = pl_api_managed_base(&ctx->arena, NULL, sent);
        pl_api_set_managed(ctx, object,
                           pl_api_managed_update(&writer, entries, blank(ctx), object));
    }
    if (pl_api_prepare_builtin(ctx, object, NULL) != 0 || pl_api_validate(ctx, object, NULL) != 0 ||
        pl_api_check_size(ctx, object) != 0 || pl_api_rbac_check_write(ctx, object, NULL) != 0 ||
        check_new(ctx, object) != 0)
        return -1;
    struct pl_slice key = pl_api_key(&ctx->arena, pl_tree_text_at(object, "metadata.namespace"),
                                     pl_api_name_of(object));
    if (pl_api_table_find(ctx->type->table, key) != NULL)
        return fail_exists(ctx, pl_api_name_of(object));
    return store_first(ctx, object, key);
}

int pl_api_create_object(struct pl_api_ctx *ctx)
{
    struct pl_tree *object = pl_api_decode(ctx);
    if (object == NULL || pl_api_check_place(ctx, object) != 0)
        return -1;
    if (pl_tree_text_at(object, "metadata.resourceVersion").len > 0)
        return pl_api_fail(&ctx->status, 500, "",
                           "resourceVersion should not be set on objects to be created");
    if (ctx->type->is_going)
        return pl_api_fail(&ctx->status, 405, "MethodNotAllowed",
                           "create not allowed while custom resource definition is terminating");
    return pl_api_store_new(ctx, object, false);
}
