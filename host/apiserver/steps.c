/* Common steps of creation and change: unknown fields, the writer, size, validation. Each works on
 * the tree in the request's version and fails with the status filled in. */
#include "apiserver/steps.h"

#include "admission/certificates.h"
#include "admission/classes.h"
#include "admission/devices.h"
#include "admission/pod_certificates.h"
#include "apicall/body.h"
#include "apicall/convert.h"
#include "apiserver/config.h"
#include "base/text.h"
#include "schema/rules.h"

#include "schema/config_check.h"
#include "schema/embedded.h"
#include "schema/list_keys.h"
#include "schema/structural.h"
#include "schema/validate.h"
#include "valid/subresource.h"
#include "valid/valid.h"
#include "warnings/warn.h"
#include "valid/webhook_config.h"

#define MAX_OWNERS 500 /* in longer lists, duplicates are not searched */

struct pl_slice pl_api_name_of(const struct pl_tree *object)
{
    return pl_tree_text_at(object, "metadata.name");
}

struct pl_tree *pl_api_meta_of(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    return pl_tree_child(&ctx->arena, object, "metadata");
}

static size_t count_digits(struct pl_slice text)
{
    size_t count = 0;
    while (count < text.len && pl_is_digit(text.ptr[count]))
        count++;
    return count;
}

bool pl_api_parse_version(struct pl_slice text, uint64_t *version)
{
    *version = 0;
    if (count_digits(text) < text.len || text.len >= 20) /* longer ones are beyond 64 bits */
        return false;
    for (size_t i = 0; i < text.len; i++)
        *version = *version * 10 + (uint64_t)(text.ptr[i] - '0');
    return true;
}

bool pl_api_version_of(const struct pl_tree *object, uint64_t *version)
{
    return pl_api_parse_version(pl_tree_text_at(object, "metadata.resourceVersion"), version);
}

int pl_api_asked_version(struct pl_api_ctx *ctx, uint64_t *version)
{
    struct pl_slice text = ctx->request.resource_version;
    if (pl_api_parse_version(text, version))
        return 0;
    return pl_api_fail(&ctx->status, 500, "",
                       "resourceVersion: Invalid value: \"%.*s\": strconv.ParseUint: parsing "
                       "\"%.*s\": invalid syntax",
                       PL_FMT(text), PL_FMT(text));
}

int pl_api_fail_version(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    struct pl_slice text = pl_tree_text_at(object, "metadata.resourceVersion");
    return pl_api_fail(&ctx->status, 500, "", "strconv.ParseUint: parsing \"%.*s\": %s",
                       PL_FMT(text),
                       count_digits(text) == text.len ? "value out of range" : "invalid syntax");
}

int pl_api_check_place(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    struct pl_slice ns = pl_tree_text_at(object, "metadata.namespace");
    bool is_placed = ctx->type->flags & PL_API_NAMESPACED; /* others lose their namespace */
    if (is_placed && ns.len > 0 && !pl_slice_eq(ns, ctx->request.ns))
        return pl_api_bad_request(&ctx->status, "the namespace of the provided object does not "
                                                "match the namespace sent on the request");
    return 0;
}

int pl_api_check_name(struct pl_api_ctx *ctx, struct pl_slice name)
{
    struct pl_slice want = ctx->request.name;
    if (name.len == 0)
        return pl_api_bad_request(&ctx->status,
                                  "the name of the object (%.*s based on URL) was undeterminable: "
                                  "name must be provided",
                                  PL_FMT(want));
    return pl_slice_eq(name, want)
               ? 0
               : pl_api_bad_request(
                     &ctx->status,
                     "the name of the object (%.*s) does not match the name on the URL (%.*s)",
                     PL_FMT(name), PL_FMT(want));
}

static int fail_strict(struct pl_api_ctx *ctx, const struct pl_tree *texts, struct pl_slice patched)
{
    struct pl_buf list = PL_BUF_INIT;
    PL_TREE_FOR(item, texts)
    pl_buf_add_f(&list, "%s%.*s", list.len > 0 ? ", " : "", PL_FMT(item->value->text));
    struct pl_slice what =
        pl_arena_f(&ctx->arena, "strict decoding error: %.*s", PL_FMT(pl_buf_slice(&list)));
    pl_buf_deinit(&list);
    if (patched.ptr != NULL)
        return pl_api_body_fail_patched(ctx, patched, what);
    return pl_api_bad_request(&ctx->status, "%s in version \"%s\" cannot be handled as a %s: %.*s",
                              ctx->type->kind, pl_api_ctx_version(ctx)->name, ctx->type->kind,
                              PL_FMT(what));
}

/* Warns about members that come twice and unknown fields or refuses them, as fieldValidation says.
 * patched: the result of a patch, before its unknown fields were dropped. */
static int report_unknown(struct pl_api_ctx *ctx, const struct pl_tree *unknown,
                          struct pl_slice patched)
{
    struct pl_slice mode = ctx->request.field_validation;
    struct pl_tree *texts = ctx->strict;
    ctx->strict = NULL;
    if ((unknown->count == 0 && texts == NULL) || pl_slice_eqz(mode, "Ignore"))
        return 0;
    if (texts == NULL)
        texts = pl_tree_array(&ctx->arena);
    PL_TREE_FOR(item, unknown)
    pl_tree_push(&ctx->arena, texts,
                 pl_tree_str(&ctx->arena, pl_arena_f(&ctx->arena, "unknown field \"%.*s\"",
                                                     PL_FMT(item->value->text))));
    if (pl_slice_eqz(mode, "Strict"))
        return fail_strict(ctx, texts, patched);
    PL_TREE_FOR(item, texts)
    pl_api_warn(ctx, item->value->text);
    return 0;
}

/* A configuration that does not fit the schema of its custom kind. */
static int fail_config(struct pl_api_ctx *ctx, const struct pl_tree *config, const char *why)
{
    char text[PL_KIND_TEXT];
    return pl_api_fail(
        &ctx->status, 500, "", "failed to create typed patch object (%.*s/%.*s; %.*s, Kind=%s): %s",
        PL_FMT(pl_tree_text_at(config, "metadata.namespace")),
        PL_FMT(pl_tree_text_at(config, "metadata.name")),
        PL_FMT(pl_api_version_text(pl_api_ctx_version(ctx), text)), ctx->type->kind, why);
}

/* Go reads a null in a map of texts as an empty one. */
static void empty_nulls(struct pl_arena *arena, struct pl_tree *texts)
{
    PL_TREE_FOR(item, pl_tree_is(texts, PL_OBJECT) ? texts : NULL)
    if (item->value->type == PL_NULL)
        item->value = pl_tree_strz(arena, "");
}

int pl_api_shape_config(struct pl_api_ctx *ctx, struct pl_tree *config)
{
    struct pl_tree *unknown = pl_tree_array(&ctx->arena);
    pl_api_prune_metadata(&ctx->arena, config, true, unknown);
    if (!ctx->type->is_custom)
        return report_unknown(ctx, unknown, pl_slice(NULL, 0));
    empty_nulls(&ctx->arena, pl_tree_dig(config, "metadata.labels"));
    empty_nulls(&ctx->arena, pl_tree_dig(config, "metadata.annotations"));
    pl_api_structural_prune_applied(&ctx->arena, config, pl_api_ctx_version(ctx)->schema, unknown);
    if (unknown->count == 0) {
        const char *fault =
            pl_api_config_fault(&ctx->arena, config, pl_api_ctx_version(ctx)->schema);
        return fault != NULL ? fail_config(ctx, config, fault)
                             : report_unknown(ctx, unknown, pl_slice(NULL, 0));
    }
    return fail_config(ctx, config, pl_api_undeclared(ctx, unknown).ptr);
}

/* Drops duplicate owner references, with a warning. A very long list stays as it is. */
static void drop_twins(struct pl_api_ctx *ctx, struct pl_tree *owners, bool is_admitted)
{
    struct pl_buf uids = PL_BUF_INIT;
    bool patches =
        is_admitted ||
        strcmp(ctx->request.call.method != NULL ? ctx->request.call.method : "", "PATCH") == 0;
    PL_TREE_FOR(item, owners != NULL && owners->count <= MAX_OWNERS ? owners : NULL)
    {
        const struct pl_tree_item *twin = owners->first;
        while (twin != item && !pl_tree_equal(twin->value, item->value))
            twin = twin->next;
        if (twin == item)
            continue;
        pl_buf_add_f(&uids, "%s%.*s", uids.len > 0 ? ", " : "",
                     PL_FMT(pl_tree_text_at(item->value, "uid")));
        pl_tree_unlink(owners, item);
    }
    if (uids.len > 0)
        pl_api_warn(
            ctx, pl_arena_f(&ctx->arena,
                            ".metadata.ownerReferences contains duplicate entries%s; API "
                            "server dedups owner references in 1.20+, and may reject such "
                            "requests as early as 1.24; please fix your requests; duplicate "
                            "UID(s) observed: %s",
                            patches ? " after mutating admission happens" : "", pl_buf_z(&uids)));
    pl_buf_deinit(&uids);
}

static int read_embedded(struct pl_api_ctx *ctx, struct pl_tree *object, struct pl_tree *unknown)
{
    const struct pl_api_version *version = pl_api_ctx_version(ctx);
    const char *why = pl_api_embedded_read(&ctx->arena, object, version->schema, unknown);
    return why == NULL ? 0
                       : pl_api_bad_request(&ctx->status,
                                            "%s in version \"%s\" cannot be handled as a %s: %s",
                                            ctx->type->kind, version->name, ctx->type->kind, why);
}

int pl_api_shape(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    struct pl_tree *unknown = pl_tree_array(&ctx->arena);
    struct pl_slice patched = {NULL, 0};
    enum pl_api_body form = ctx->request.body_form;
    if ((form == PL_API_MERGE || form == PL_API_JSON_PATCH) && ctx->type->is_custom &&
        pl_slice_eqz(ctx->request.field_validation, "Strict"))
        patched = pl_api_body_shown_sorted(ctx, object);
    drop_twins(ctx, pl_tree_dig(object, "metadata.ownerReferences"), false);
    pl_api_prune_metadata(&ctx->arena, object, false, unknown);
    if (ctx->type->is_custom) {
        struct pl_node schema = pl_api_ctx_version(ctx)->schema;
        struct pl_tree *inner = pl_tree_array(&ctx->arena); /* they are told last */
        if (pl_api_ctx_version(ctx)->has_embedded && read_embedded(ctx, object, inner) != 0)
            return -1;
        if (form == PL_API_APPLY)
            pl_api_structural_prune_applied(&ctx->arena, object, schema, unknown);
        else
            pl_api_structural_prune(&ctx->arena, object, schema, unknown);
        PL_TREE_FOR(item, inner)
        pl_tree_push(&ctx->arena, unknown, item->value);
        pl_api_structural_default(&ctx->arena, object, schema);
    }
    return report_unknown(ctx, unknown, patched);
}

void pl_api_shape_admitted(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    struct pl_node schema = pl_api_ctx_version(ctx)->schema;
    drop_twins(ctx, pl_tree_dig(object, "metadata.ownerReferences"), true);
    pl_api_prune_metadata(&ctx->arena, object, false, NULL);
    if (!ctx->type->is_custom)
        return;
    if (pl_api_ctx_version(ctx)->has_embedded)
        PL_UNUSED(pl_api_embedded_read(&ctx->arena, object, schema, pl_tree_array(&ctx->arena)));
    pl_api_structural_prune_applied(&ctx->arena, object, schema, NULL);
    pl_api_structural_default(&ctx->arena, object, schema);
}

struct pl_api_writer pl_api_writer_of(struct pl_api_ctx *ctx)
{
    char text[PL_KIND_TEXT];
    struct pl_slice sub = ctx->request.subresource;
    return (struct pl_api_writer){
        .arena = &ctx->arena,
        .manager = pl_api_request_manager(&ctx->request),
        .api_version =
            pl_arena_copy(&ctx->arena, pl_api_version_text(pl_api_ctx_version(ctx), text)),
        .subresource = sub,
        .now = pl_api_ctx_now(ctx),
        .schema = pl_api_type_lists(ctx->type, ctx->version),
        .status_has_meta = pl_api_type_status_has_meta(ctx->type),
        .makes_status = pl_api_type_is_builtin(ctx->type, "Node"),
        .owns_status = !pl_api_ctx_version(ctx)->has_status,
        .is_silent = ctx->type->is_custom && pl_slice_eqz(sub, "scale"),
    };
}

void pl_api_to_stored_form(struct pl_api_ctx *ctx, struct pl_tree **object)
{
    const struct pl_api_type *type = ctx->type;
    if (type->convert == NULL || ctx->version == type->storage_version)
        return;
    PL_IGNORE(pl_api_convert(ctx, object, ctx->version, type->storage_version));
    ctx->version = type->storage_version;
    pl_api_body_default(ctx, *object);
}

void pl_api_to_stored_form_and_back(struct pl_api_ctx *ctx, struct pl_tree **object)
{
    size_t asked = ctx->version;
    pl_api_to_stored_form(ctx, object);
    if (ctx->version == asked)
        return;
    PL_IGNORE(pl_api_convert(ctx, object, ctx->version, asked));
    ctx->version = asked;
    pl_api_body_default(ctx, *object);
}

static struct pl_tree *steps_in_version(struct pl_api_ctx *ctx, const struct pl_tree *object,
                                        size_t version)
{
    struct pl_tree *copy = pl_tree_copy(&ctx->arena, object);
    size_t asked = ctx->version;
    PL_IGNORE(pl_api_convert(ctx, &copy, asked, version));
    ctx->version = version;
    pl_api_body_default(ctx, copy);
    ctx->version = asked;
    return copy;
}

bool pl_api_other_form(struct pl_api_ctx *ctx, const struct pl_tree *live,
                       const struct pl_tree *object, struct pl_api_other_form *out)
{
    char text[PL_KIND_TEXT];
    if (ctx->type->convert == NULL)
        return false;
    size_t version = ctx->version == 0 ? 1 : 0;
    struct pl_slice name = pl_api_version_text(&ctx->type->versions[version], text);
    *out = (struct pl_api_other_form){.api_version = pl_arena_copy(&ctx->arena, name),
                                      .schema = pl_api_type_lists(ctx->type, version),
                                      .live = steps_in_version(ctx, live, version),
                                      .object = steps_in_version(ctx, object, version)};
    return true;
}

void pl_api_set_managed(struct pl_api_ctx *ctx, struct pl_tree *object, struct pl_tree *entries)
{
    bool applied = false; /* kube-apiserver cannot record updates of this kind */
    PL_TREE_FOR(item, entries)
    applied = applied || pl_slice_eqz(pl_tree_text_at(item->value, "operation"), "Apply");
    if (pl_api_type_is_builtin(ctx->type, "CertificateSigningRequest") && !applied)
        entries = NULL;
    if (entries != NULL && entries->count > 0)
        pl_tree_setz(&ctx->arena, pl_api_meta_of(ctx, object), "managedFields", entries);
    else
        pl_tree_removez(pl_api_meta_of(ctx, object), "managedFields");
}

int pl_api_check_size(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    struct pl_buf text = PL_BUF_INIT;
    if (pl_tree_bytes_at_most(object) <= PL_API_MAX_OBJECT)
        return 0;
    pl_tree_write(&text, object);
    size_t size = text.len;
    pl_buf_deinit(&text);
    return size <= PL_API_MAX_OBJECT
               ? 0
               : pl_api_fail(&ctx->status, 500, "", "etcdserver: request is too large");
}

/* The document of a dry run's answer. */
int pl_api_answer_dry(struct pl_api_ctx *ctx, int code, const struct pl_tree *object)
{
    struct pl_doc *doc = pl_tree_doc(object, NULL);
    pl_api_answer_object(ctx, code, doc);
    pl_doc_unref(doc);
    return 0;
}

bool pl_api_is_finished(const struct pl_tree *object)
{
    const struct pl_tree *finalizers = pl_tree_dig(object, "metadata.finalizers");
    const struct pl_tree *more = pl_slice_eqz(pl_tree_text_at(object, "kind"), "Namespace")
                                     ? pl_tree_dig(object, "spec.finalizers")
                                     : NULL;
    int64_t grace_s = 0;
    if (pl_slice_eqz(pl_tree_text_at(object, "kind"), "Pod"))
        pl_tree_integer(pl_tree_dig(object, "metadata.deletionGracePeriodSeconds"), &grace_s);
    return grace_s == 0 && pl_tree_text_at(object, "metadata.deletionTimestamp").len > 0 &&
           (finalizers == NULL || finalizers->count == 0) && (more == NULL || more->count == 0);
}

/* Elements that come twice are faults unless the old object had some. */
static void check_twins(struct pl_api_faults *faults, struct pl_node schema,
                        const struct pl_tree *object, const struct pl_tree *old)
{
    struct pl_api_faults found = {.arena = faults->arena}, before = {.arena = faults->arena};
    pl_api_list_twins(&found, schema, object, pl_slice("", 0));
    if (found.causes != NULL && old != NULL)
        pl_api_list_twins(&before, schema, old, pl_slice("", 0));
    PL_TREE_FOR(item, before.causes == NULL ? found.causes : NULL)
    {
        if (faults->causes == NULL)
            faults->causes = pl_tree_array(faults->arena);
        pl_tree_push(faults->arena, faults->causes, item->value);
    }
}

/* Rules are not evaluated for an object whose shape is wrong. */
static bool blocks_rules(const struct pl_api_faults *faults)
{
    static const char reasons[][24] = {"FieldValueNotSupported", "FieldValueRequired",
                                       "FieldValueTooLong", "FieldValueTooMany",
                                       "FieldValueTypeInvalid"};
    PL_TREE_FOR(item, faults->causes)
    for (size_t i = 0; i < PL_ARRAY_LEN(reasons); i++)
        if (pl_slice_eqz(pl_tree_text_at(item->value, "reason"), reasons[i]))
            return true;
    return false;
}

/* A violated rule about an unchanged part is only a warning. */
static void apply_rules(struct pl_api_ctx *ctx, struct pl_api_faults *faults,
                        const struct pl_tree *object, const struct pl_tree *old)
{
    struct pl_api_faults passed = {.arena = &ctx->arena};
    pl_api_rules_apply(pl_api_ctx_version(ctx)->rules, faults, &passed, object, old);
    PL_TREE_FOR(item, passed.causes)
    pl_api_warn(ctx,
                pl_arena_f(&ctx->arena, "%.*s: %.*s", PL_FMT(pl_tree_text_at(item->value, "field")),
                           PL_FMT(pl_tree_text_at(item->value, "message"))));
}

/* A write of the status checks only the status. */
static void validate_custom(struct pl_api_ctx *ctx, struct pl_api_faults *faults,
                            const struct pl_tree *object, const struct pl_tree *old)
{
    struct pl_api_version *version = pl_api_ctx_version(ctx);
    struct pl_node schema = version->schema;
    if (old != NULL && pl_slice_eqz(ctx->request.subresource, "status")) {
        struct pl_node inner = pl_node_getz(pl_node_getz(schema, "properties"), "status");
        const struct pl_tree *status = pl_tree_getz(object, "status");
        if (status != NULL)
            pl_api_structural_validate(faults, status, pl_tree_getz(old, "status"), inner,
                                       pl_slice_z("status"), &ctx->api->patterns);
    } else {
        pl_api_structural_validate(faults, object, old, schema, pl_slice("", 0),
                                   &ctx->api->patterns);
        if (version->has_embedded)
            pl_api_embedded_validate(faults, object, schema, pl_slice("", 0));
    }
    check_twins(faults, schema, object, old);
    if (version->rules == NULL)
        return;
    if (blocks_rules(faults))
        pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("<nil>"),
                     "Invalid value: null: some validation rules were not checked because the "
                     "object was invalid; correct the existing errors to complete validation");
    else
        apply_rules(ctx, faults, object, old);
}

/* Writes of a Pod's subresource have their own rules about changes. */
static void validate_part(struct pl_api_ctx *ctx, struct pl_api_faults *faults,
                          const struct pl_tree *object, const struct pl_tree *old)
{
    if (pl_slice_eqz(ctx->request.subresource, "resize"))
        pl_valid_pod_resize(faults, object, old);
    else
        pl_valid_pod_ephemeral(faults, object, old);
}

/* A copy of a claim that is validated as a bound one. */
static const struct pl_tree *as_bound(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    struct pl_tree *copy = pl_tree_copy(&ctx->arena, object);
    pl_tree_set_strz(&ctx->arena, pl_tree_child(&ctx->arena, copy, "status"), "phase", "Bound");
    return copy;
}

static void validate_builtin(struct pl_api_ctx *ctx, struct pl_api_faults *faults,
                             const struct pl_tree *object, const struct pl_tree *old)
{
    const struct pl_api_type *type = ctx->type;
    if (pl_api_claim_grows_freely(ctx, old))
        object = as_bound(ctx, object);
    pl_valid_builtin(faults, type, object, old);
    pl_api_certificates_validate(ctx, faults, object);
    pl_api_devices_validate(ctx, faults, object, old);
    if (old != NULL && pl_slice_eqz(ctx->request.subresource, "status"))
        pl_valid_state(faults, type->kind, object, old);
    pl_api_pod_certificates_validate(ctx, faults, object, old);
    if (strcmp(type->kind, "ValidatingWebhookConfiguration") == 0 ||
        strcmp(type->kind, "MutatingWebhookConfiguration") == 0)
        pl_webhook_config_validate(faults, object, old);
    else if (strcmp(type->kind, "CustomResourceDefinition") == 0)
        pl_webhook_conversion_validate(faults, object, old);
}

/* New finalizers of custom objects should have a domain. */
static void warn_of_finalizers(struct pl_api_ctx *ctx, const struct pl_tree *object,
                               const struct pl_tree *old)
{
    const struct pl_tree *before = pl_tree_dig(old, "metadata.finalizers");
    PL_TREE_FOR(item, pl_tree_dig(object, "metadata.finalizers"))
    {
        struct pl_slice text = pl_tree_text(item->value);
        bool known = before != NULL && pl_tree_has_text(before, text);
        if (known || pl_slice_chr(text, '/') != NULL || pl_slice_eqz(text, "orphan") ||
            pl_slice_eqz(text, "foregroundDeletion"))
            continue;
        pl_api_warn(ctx,
                    pl_arena_f(&ctx->arena,
                               "metadata.finalizers: \"%.*s\": prefer a domain-qualified finalizer "
                               "name to avoid accidental conflicts with other finalizer writers",
                               PL_FMT(text)));
    }
}

/* Writes of subresources get no warnings. */
static void warn_of_values(struct pl_api_ctx *ctx, const struct pl_tree *object,
                           const struct pl_tree *old)
{
    if (ctx->request.subresource.len > 0)
        return;
    if (ctx->type->is_custom) {
        warn_of_finalizers(ctx, object, old);
        return;
    }
    PL_TREE_FOR(item, pl_valid_warnings(&ctx->arena, ctx->type, object, old))
    pl_api_warn(ctx, pl_tree_text(item->value));
}

/* A webhook can have changed the kind of a custom object. */
static int refuse_kind(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    struct pl_api_faults faults = {.arena = &ctx->arena};
    struct pl_slice kind = pl_tree_text_at(object, "kind");
    if (!ctx->type->is_custom || pl_slice_eqz(kind, ctx->type->kind))
        return 0;
    pl_api_fault(&faults, "FieldValueInvalid", pl_slice_z("kind"),
                 "Invalid value: \"%.*s\": must be %s", PL_FMT(kind), ctx->type->kind);
    return pl_api_fail_faults(&ctx->status, &faults, pl_slice_z(pl_api_ctx_version(ctx)->group),
                              kind, pl_api_name_of(object));
}

int pl_api_validate(struct pl_api_ctx *ctx, struct pl_tree *object, const struct pl_tree *old)
{
    struct pl_api_faults faults = {.arena = &ctx->arena};
    if (refuse_kind(ctx, object) != 0)
        return -1;
    pl_api_validate_meta(&faults, ctx->type, object, old);
    if (ctx->type->is_custom)
        validate_custom(ctx, &faults, object, old);
    else if (pl_api_is_pod_part(ctx) && old != NULL)
        validate_part(ctx, &faults, object, old);
    else
        validate_builtin(ctx, &faults, object, old);
    if (faults.causes == NULL)
        warn_of_values(ctx, object, old);
    bool event = pl_api_type_is_builtin(ctx->type, "Event"); /* both groups serve the same kind */
    return pl_api_fail_faults(&ctx->status, &faults,
                              pl_slice_z(event ? "" : pl_api_ctx_version(ctx)->group),
                              pl_slice_z(ctx->type->kind), pl_api_name_of(object));
}

bool pl_api_is_approval(const struct pl_api_ctx *ctx)
{
    return pl_api_type_is_builtin(ctx->type, "CertificateSigningRequest") &&
           pl_slice_eqz(ctx->request.subresource, "approval");
}

bool pl_api_is_pod_part(const struct pl_api_ctx *ctx)
{
    return pl_api_type_is_builtin(ctx->type, "Pod") &&
           (pl_slice_eqz(ctx->request.subresource, "ephemeralcontainers") ||
            pl_slice_eqz(ctx->request.subresource, "resize"));
}
