/* The scale subresource: it makes a Scale from paths of an object, and turns a write of the
 * replicas into a change of the object. Built-in kinds have fixed paths; CRDs name those of custom
 * kinds. A write passes change.c like any other write. */
#include "apicall/admit.h"
#include "apicall/body.h"
#include "apiserver/steps.h"
#include "apiserver/verbs.h"
#include "apiserver/write.h"
#include "object/selector.h"
#include "schema/fieldset.h"
#include "schema/crd_path.h"
#include "schema/managed.h"

#include <inttypes.h>

static int fail_no_replicas(struct pl_api_ctx *ctx)
{
    return pl_api_fail_internal(&ctx->status, "the spec replicas field \"%s\" does not exist",
                                pl_api_ctx_version(ctx)->scale_spec);
}

/* "a=b,c=d", in the order of the names. */
static struct pl_slice labels_text(struct pl_api_ctx *ctx, struct pl_node labels)
{
    struct pl_buf buf = PL_BUF_INIT;
    struct pl_tree *tree = pl_tree_from_node(&ctx->arena, labels);
    pl_tree_sort(tree);
    PL_TREE_FOR(item, tree)
    pl_buf_add_f(&buf, "%s%.*s=%.*s", buf.len > 0 ? "," : "", PL_FMT(item->key),
                 PL_FMT(pl_tree_text(item->value)));
    struct pl_slice text = pl_arena_copy(&ctx->arena, pl_buf_slice(&buf));
    pl_buf_deinit(&buf);
    return text;
}

/* Built-in kinds have a selector object; custom kinds name a member with a text. */
static struct pl_slice selector_of(struct pl_api_ctx *ctx, struct pl_node object)
{
    const struct pl_api_version *v = pl_api_ctx_version(ctx);
    struct pl_scratch scratch;
    if (v->scale_selector != NULL)
        return pl_arena_copy(
            &ctx->arena,
            pl_node_str(pl_api_jsonpath(object, pl_slice_z(v->scale_selector)), &scratch));
    struct pl_slice text = {NULL, 0};
    if (!ctx->type->is_custom && strcmp(ctx->type->kind, "ReplicationController") == 0)
        return labels_text(ctx, pl_node_dig(object, "spec", "selector"));
    struct pl_selector *selector =
        ctx->type->is_custom ? NULL
                             : pl_selector_from_node(pl_node_dig(object, "spec", "selector"), NULL);
    if (selector != NULL) {
        struct pl_buf buf = PL_BUF_INIT;
        pl_selector_text(selector, &buf);
        text = pl_arena_copy(&ctx->arena, pl_buf_slice(&buf));
        pl_buf_deinit(&buf);
    }
    pl_selector_destroy(selector);
    return text;
}

static struct pl_tree *scale_of(struct pl_api_ctx *ctx, struct pl_node object)
{
    static const char copied[][20] = {"name", "namespace", "uid", "resourceVersion",
                                      "creationTimestamp"};
    const struct pl_api_version *v = pl_api_ctx_version(ctx);
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *scale =
        pl_tree_literal(arena, "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\","
                               "\"metadata\":{},\"spec\":{},\"status\":{\"replicas\":0}}");
    for (size_t i = 0; i < PL_ARRAY_LEN(copied); i++) {
        struct pl_node value = pl_node_dig(object, "metadata", copied[i]);
        if (!pl_node_is_missing(value))
            pl_tree_setz(arena, pl_tree_getz(scale, "metadata"), copied[i],
                         pl_tree_from_node(arena, value));
    }
    struct pl_node spec = pl_api_jsonpath(object, pl_slice_z(v->scale_spec));
    struct pl_node status = pl_api_jsonpath(object, pl_slice_z(v->scale_status));
    if (!pl_node_is_missing(spec))
        pl_tree_setz(arena, pl_tree_getz(scale, "spec"), "replicas",
                     pl_tree_from_node(arena, spec));
    if (!pl_node_is_missing(status))
        pl_tree_setz(arena, pl_tree_getz(scale, "status"), "replicas",
                     pl_tree_from_node(arena, status));
    struct pl_slice selector = selector_of(ctx, object);
    if (selector.len > 0)
        pl_tree_setz(arena, pl_tree_getz(scale, "status"), "selector",
                     pl_tree_str(arena, selector));
    return scale;
}

static struct pl_api_entry *scale_find(struct pl_api_ctx *ctx)
{
    struct pl_slice key = pl_api_key(&ctx->arena, ctx->request.ns, ctx->request.name);
    struct pl_api_entry *entry = pl_api_table_find(ctx->type->table, key);
    if (entry == NULL)
        pl_api_fail_not_found(ctx, ctx->request.name);
    return entry;
}

int pl_api_get_scale(struct pl_api_ctx *ctx)
{
    const struct pl_api_entry *entry = scale_find(ctx);
    if (entry == NULL)
        return -1;
    struct pl_tree *scale = scale_of(ctx, pl_doc_root(entry->doc));
    if (pl_tree_dig(scale, "spec.replicas") == NULL)
        return fail_no_replicas(ctx);
    pl_api_answer_tree(ctx, 200, scale);
    return 0;
}

/* The requested scale: the body, or a patch of the current scale. */
static struct pl_tree *wanted(struct pl_api_ctx *ctx, const struct pl_api_entry *entry)
{
    struct pl_tree *scale = scale_of(ctx, pl_doc_root(entry->doc));
    bool patch = ctx->request.body_form == PL_API_MERGE ||
                 ctx->request.body_form == PL_API_JSON_PATCH ||
                 ctx->request.body_form == PL_API_STRATEGIC;
    if (ctx->request.body_form == PL_API_APPLY)
        return pl_api_read_config(ctx);
    if (!patch)
        return pl_api_decode_as(ctx, "autoscaling/v1", "Scale");
    struct pl_doc *target = pl_tree_doc(scale, NULL);
    struct pl_doc *result = pl_api_patched(ctx, pl_doc_root(target));
    pl_doc_unref(target);
    struct pl_tree *tree =
        result != NULL ? pl_tree_from_node(&ctx->arena, pl_doc_root(result)) : NULL;
    pl_doc_unref(result);
    struct pl_slice shown = tree != NULL ? pl_api_body_shown(ctx, tree) : pl_slice("", 0);
    struct pl_slice what =
        tree != NULL ? pl_api_body_mistake(ctx, tree, "autoscaling/v1", "Scale") : pl_slice("", 0);
    if (what.len == 0)
        return tree;
    pl_api_body_fail_patched(ctx, shown, what);
    return NULL;
}

/* Answers with a Scale instead of the changed object. */
struct capture {
    int status;
};

static void keep_status(void *self, int status, const struct pl_http_header *headers, size_t count,
                        struct pl_slice body)
{
    struct capture *capture = self;
    capture->status = status;
    PL_UNUSED(headers);
    PL_UNUSED(count);
    PL_UNUSED(body);
}

/* Webhooks of the subresource see Scales. Mutating webhooks may change the requested one. */
static int admit(struct pl_api_ctx *ctx, const struct pl_api_entry *entry, struct pl_tree **scale)
{
    if (!pl_api_admit_any(ctx))
        return 0;
    struct pl_api_admission admission = {.operation = "UPDATE",
                                         .object = *scale,
                                         .old = scale_of(ctx, pl_doc_root(entry->doc)),
                                         .as = "{\"group\":\"autoscaling\",\"version\":\"v1\","
                                               "\"kind\":\"Scale\"}"};
    if (pl_api_admit(ctx, &admission) != 0 || pl_api_admit_check(ctx, &admission) != 0)
        return -1;
    *scale = admission.object;
    return 0;
}

/* Gives replicas that nobody owns to the manager "before-first-apply". */
static void own_before_apply(struct pl_api_ctx *ctx, struct pl_api_writer writer,
                             struct pl_tree *live)
{
    struct pl_arena *arena = &ctx->arena;
    const char *path = pl_api_ctx_version(ctx)->scale_spec;
    struct pl_tree *meta = pl_api_meta_of(ctx, live), *value = pl_tree_object(arena);
    struct pl_tree *entries = pl_tree_getz(meta, "managedFields");
    struct pl_tree *nothing = pl_tree_object(arena);
    struct pl_api_difference diff;
    pl_api_jsonpath_set(arena, value, path, pl_tree_int(arena, 1));
    pl_api_fields_compare(arena, nothing, value, writer.schema, &diff);
    if (entries == NULL) {
        entries = pl_tree_array(arena);
        pl_tree_setz(arena, meta, "managedFields", entries);
    }
    PL_TREE_FOR(item, entries)
    if (!pl_api_fields_empty(
            pl_api_fields_intersection(arena, pl_tree_getz(item->value, "fieldsV1"), diff.added)))
        return;
    writer.manager = pl_slice_z("before-first-apply");
    pl_tree_push(arena, entries, pl_api_managed_entry(&writer, "Update", diff.added, true));
}

/* Server-side apply of a Scale is one of the object's replicas. */
static struct pl_tree *applied(struct pl_api_ctx *ctx, struct pl_tree *live,
                               const struct pl_tree *scale, int64_t replicas)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_api_writer writer = pl_api_writer_of(ctx);
    struct pl_tree *config = pl_tree_object(arena);
    if (!pl_slice_eqz(pl_tree_text_at(scale, "kind"), "Scale") ||
        !pl_slice_eqz(pl_tree_text_at(scale, "apiVersion"), "autoscaling/v1")) {
        pl_api_bad_request(&ctx->status, "invalid object type: %.*s, Kind=%.*s",
                           PL_FMT(pl_tree_text_at(scale, "apiVersion")),
                           PL_FMT(pl_tree_text_at(scale, "kind")));
        return NULL;
    }
    if (ctx->request.field_manager.len == 0) {
        pl_api_bad_request(&ctx->status, "fieldManager is required for apply patch");
        return NULL;
    }
    writer.seen_version = "autoscaling/v1";
    writer.is_silent = false;
    own_before_apply(ctx, writer, live);
    if (pl_tree_dig(scale, "spec.replicas") != NULL)
        pl_api_jsonpath_set(arena, config, pl_api_ctx_version(ctx)->scale_spec,
                            pl_tree_int(arena, replicas));
    return pl_api_managed_apply(&writer, live, config, ctx->request.force, &ctx->status);
}

static int fail_negative(struct pl_api_ctx *ctx, int64_t replicas)
{
    struct pl_api_faults faults = {.arena = &ctx->arena};
    bool custom = ctx->type->is_custom;
    pl_api_fault(&faults, "FieldValueInvalid",
                 pl_slice_z(custom ? pl_api_ctx_version(ctx)->scale_spec : "spec.replicas"),
                 "Invalid value: %" PRId64 ": %s", replicas,
                 custom ? "should be a non-negative integer"
                        : "must be greater than or equal to 0");
    return pl_api_fail_faults(&ctx->status, &faults,
                              pl_slice_z(custom ? pl_api_ctx_version(ctx)->group : "autoscaling"),
                              pl_slice_z(custom ? ctx->type->kind : "Scale"), ctx->request.name);
}

/* kube-apiserver cannot convert a custom object to the group of scales. */
static int refuse_custom_apply(struct pl_api_ctx *ctx, const struct pl_tree *scale)
{
    if (!ctx->type->is_custom || ctx->request.body_form != PL_API_APPLY)
        return 0;
    struct pl_slice version = pl_tree_text_at(scale, "apiVersion");
    return pl_api_fail(&ctx->status, 500, "",
                       "failed to convert new object (%.*s/%.*s; %.*s, Kind=%.*s) to proper "
                       "version: request to convert CR to an invalid group/version: %.*s",
                       PL_FMT(pl_tree_text_at(scale, "metadata.namespace")),
                       PL_FMT(pl_api_name_of(scale)), PL_FMT(version),
                       PL_FMT(pl_tree_text_at(scale, "kind")), PL_FMT(version));
}

int pl_api_write_scale(struct pl_api_ctx *ctx)
{
    static const struct pl_api_responder_ops quiet = {.reply = keep_status};
    struct pl_api_entry *entry = scale_find(ctx);
    struct pl_tree *scale = entry != NULL ? wanted(ctx, entry) : NULL;
    int64_t replicas = 0;
    if (scale == NULL || refuse_custom_apply(ctx, scale) != 0 ||
        pl_api_check_name(ctx, pl_api_name_of(scale)) != 0 || admit(ctx, entry, &scale) != 0)
        return -1;
    pl_tree_integer(pl_tree_dig(scale, "spec.replicas"), &replicas);
    if (replicas < 0)
        return fail_negative(ctx, replicas);
    struct pl_slice rv = pl_tree_text_at(scale, "metadata.resourceVersion");
    bool applies = ctx->request.body_form == PL_API_APPLY;
    struct pl_tree *object = pl_api_load(ctx, entry->doc);
    if (object != NULL && applies)
        object = applied(ctx, object, scale, replicas);
    if (object == NULL)
        return -1;
    struct pl_tree *meta = pl_api_meta_of(ctx, object);
    if (!applies)
        pl_api_jsonpath_set(&ctx->arena, object, pl_api_ctx_version(ctx)->scale_spec,
                            pl_tree_int(&ctx->arena, replicas));
    if (rv.len > 0)
        pl_tree_setz(&ctx->arena, meta, "resourceVersion", pl_tree_str(&ctx->arena, rv));
    struct capture capture = {0};
    struct pl_api_responder out = ctx->responder;
    ctx->responder = (struct pl_api_responder){&quiet, &capture};
    struct pl_api_change_options options = {.is_patch = !applies, .by_apply = applies};
    int code = pl_api_store_change(ctx, entry, object, &options);
    ctx->responder = out;
    entry = code == 0 ? scale_find(ctx) : NULL;
    if (entry == NULL)
        return -1;
    struct pl_tree *answer = scale_of(ctx, pl_doc_root(entry->doc));
    if (ctx->request.dry_run)
        pl_tree_setz(&ctx->arena, pl_tree_child(&ctx->arena, answer, "spec"), "replicas",
                     pl_tree_int(&ctx->arena, replicas));
    pl_api_answer_tree(ctx, 200, answer);
    return 0;
}
