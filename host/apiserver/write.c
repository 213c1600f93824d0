/* Creates an object. The order of steps is kube-apiserver's: namespace, unknown fields, values that
 * the server sets, defaults, managedFields, assigned values, validation, size, and last whether the
 * name is taken. Nothing is stored before all steps have succeeded. */
#include "apiserver/write.h"

#include "apicall/admit.h"
#include "apicall/body.h"
#include "admission/certificates.h"
#include "admission/pod_security.h"
#include "admission/prepare.h"
#include "admission/quota.h"
#include "apicall/rbac.h"
#include "apiserver/steps.h"
#include "apiserver/verbs.h"
#include "base/hash.h"
#include "gotype/typed.h"
#include "object/meta.h"

#include <stdlib.h>

#define GENERATED_LETTERS 5
#define MAX_GENERATED     58 /* characters of generateName, so that the name is a label */

static int check_namespace(struct pl_api_ctx *ctx, struct pl_slice ns, struct pl_slice name)
{
    if (!(ctx->type->flags & PL_API_NAMESPACED))
        return 0;
    const struct pl_api_entry *entry =
        pl_api_table_find(pl_api_builtin_table(ctx->api->registry, "", "namespaces"), ns);
    if (entry == NULL) {
        pl_api_fail(&ctx->status, 404, "NotFound", "namespaces \"%.*s\" not found", PL_FMT(ns));
        pl_api_fail_about(&ctx->status, pl_slice_z(""), pl_slice_z("namespaces"), ns);
        return -1;
    }
    if (!pl_meta_is_deleting(pl_doc_root(entry->doc)))
        return 0;
    PL_IGNORE(pl_api_forbid(
        ctx, name,
        pl_arena_f(&ctx->arena,
                   "unable to create new content in namespace %.*s because it is being terminated",
                   PL_FMT(ns))));
    pl_api_fail_cause(&ctx->status, "NamespaceTerminating", pl_slice_z("metadata.namespace"),
                      pl_arena_f(&ctx->arena, "namespace %.*s is being terminated", PL_FMT(ns)));
    return -1;
}

static void generate_name(struct pl_api_ctx *ctx, struct pl_tree *meta)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    struct pl_slice base = pl_tree_text_at(meta, "generateName");
    char tail[GENERATED_LETTERS + 1] = {0};
    if (pl_tree_text_at(meta, "name").len > 0)
        return;
    if (pl_api_type_is_builtin(ctx->type, "LimitRange") && base.len == 0) {
        char uid[37];
        pl_rand_uuid(&ctx->rand, uid);
        pl_tree_set_strz(&ctx->arena, meta, "name", uid);
    }
    if (base.len == 0)
        return;
    for (size_t i = 0; i < GENERATED_LETTERS; i++)
        tail[i] = letters[pl_rand_u64(&ctx->rand) % (sizeof(letters) - 1)];
    if (base.len > MAX_GENERATED)
        base.len = MAX_GENERATED;
    struct pl_slice name = pl_arena_f(&ctx->arena, "%.*s%s", PL_FMT(base), tail);
    pl_tree_setz(&ctx->arena, meta, "name", pl_tree_str(&ctx->arena, name));
}

/* With a seed, names and uids depend only on the seed, the object and the number of similar objects
 * made before: other requests do not change them. A request that waits for a webhook runs again
 * with the same seed. */
static void seed_made(struct pl_api_ctx *ctx, const struct pl_tree *meta)
{
    struct pl_api *api = ctx->api;
    if (api->made_seed == 0)
        return;
    if (ctx->job == NULL) {
        struct pl_slice name = pl_tree_text_at(meta, "name");
        if (name.len == 0)
            name = pl_tree_text_at(meta, "generateName");
        struct pl_slice text = pl_arena_f(&ctx->arena, "%s %.*s/%.*s", ctx->type->plural,
                                          PL_FMT(ctx->request.ns), PL_FMT(name));
        uint64_t place = pl_hash(text.ptr, text.len, api->made_seed);
        ctx->seed = place + ++api->made[place % PL_API_MADE_PLACES];
    }
    pl_rand_seed(&ctx->rand, ctx->seed);
}

/* The values that only the server sets in a new object. */
static void stamp_new(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *meta = pl_api_meta_of(ctx, object);
    char uid[37];
    seed_made(ctx, meta);
    generate_name(ctx, meta);
    pl_rand_uuid(&ctx->rand, uid);
    pl_tree_set_strz(arena, meta, "uid", uid);
    pl_tree_setz(arena, meta, "creationTimestamp", pl_api_ctx_now(ctx));
    if (ctx->type->flags & PL_API_GENERATION)
        pl_tree_setz(arena, meta, "generation", pl_tree_int(arena, 1));
    if (ctx->type->flags & PL_API_NAMESPACED)
        pl_tree_setz(arena, meta, "namespace", pl_tree_str(arena, ctx->request.ns));
    else
        pl_tree_removez(meta, "namespace");
    bool is_own = ctx->outside.ops == NULL; /* the server's own object, with its status */
    if (pl_api_ctx_version(ctx)->has_status && !pl_api_type_is_builtin(ctx->type, "Node") &&
        !is_own)
        pl_tree_removez(object, "status"); /* a Node keeps the status that its kubelet sends */
}

static int fail_exists(struct pl_api_ctx *ctx, struct pl_slice name, bool going)
{
    struct pl_slice group = pl_slice_z(pl_api_ctx_version(ctx)->group);
    pl_api_fail(&ctx->status, 409, "AlreadyExists", "%s%s%s%.*s \"%.*s\" already exists",
                going ? "object is being deleted: " : "", ctx->type->plural,
                group.len > 0 ? "." : "", PL_FMT(group), PL_FMT(name));
    pl_api_fail_about(&ctx->status, group, pl_slice_z(ctx->type->plural), name);
    return -1;
}

/* managedFields of a built-in object are compared with an empty object of its kind, because Go
 * always writes some members: nobody added these. */
static struct pl_tree *blank(struct pl_api_ctx *ctx)
{
    struct pl_tree *nothing = pl_tree_object(&ctx->arena);
    if (!ctx->type->is_custom)
        pl_typed_fill_nulls(&ctx->arena, nothing, pl_api_body_type(ctx));
    return nothing;
}

static int store_first(struct pl_api_ctx *ctx, struct pl_tree *object, struct pl_slice key)
{
    struct pl_tree *shown;
    if (pl_api_store_and_back(ctx, &object, &shown) != 0)
        return -1;
    if (ctx->request.dry_run)
        return pl_api_answer_dry(ctx, 201, shown);
    struct pl_api_entry *entry =
        pl_api_storage_put(ctx->api->storage, &ctx->arena, ctx->type, key, object);
    struct pl_doc *doc = pl_doc_ref(entry->doc);
    pl_api_quota_charge(ctx);
    int code = ctx->api->stored(ctx, doc);
    if (code == 0)
        pl_api_answer_stored(ctx, 201, doc, shown);
    pl_doc_unref(doc);
    return code;
}

/* False: the object is made by an apply, a PUT or the server itself. */
static bool is_post(const struct pl_api_ctx *ctx)
{
    const char *method = ctx->request.call.method;
    return method != NULL && strcmp(method, "POST") == 0;
}

/* Calls mutating webhooks. */
static int admit_new(struct pl_api_ctx *ctx, struct pl_tree **object)
{
    struct pl_api_admission admission = {.operation = "CREATE", .object = *object};
    uint64_t version;
    if (pl_api_admit(ctx, &admission) != 0)
        return -1;
    if (admission.object == *object)
        return 0;
    *object = admission.object;
    pl_api_shape_admitted(ctx, *object);
    if (!is_post(ctx)) { /* it goes the way of a change */
        pl_tree_removez(pl_api_meta_of(ctx, *object), "deletionTimestamp");
        pl_tree_removez(pl_api_meta_of(ctx, *object), "deletionGracePeriodSeconds");
        if (!pl_api_version_of(*object, &version))
            return pl_api_fail_version(ctx, *object);
    }
    return pl_api_check_place(ctx, *object);
}

static int fail_has_version(struct pl_api_ctx *ctx)
{
    return pl_api_fail(&ctx->status, 500, "",
                       "resourceVersion should not be set on objects to be created");
}

/* A webhook may have set a version. */
static int refuse_version(struct pl_api_ctx *ctx, const struct pl_tree *object)
{
    uint64_t version;
    bool has_one = pl_api_version_of(object, &version) && version != 0;
    return has_one && is_post(ctx) && !ctx->request.dry_run ? fail_has_version(ctx) : 0;
}

/* Records the owner of all fields. Fields that admission changes later have no owner. */
static void record_creator(struct pl_api_ctx *ctx, struct pl_tree **object)
{
    struct pl_tree *sent = pl_tree_getz(pl_api_meta_of(ctx, *object), "managedFields");
    pl_api_to_stored_form_and_back(ctx, object);
    struct pl_tree *whole = pl_tree_copy(&ctx->arena, *object);
    pl_typed_fill_absent(&ctx->arena, whole, pl_api_body_type(ctx));
    struct pl_api_writer writer = pl_api_writer_of(ctx);
    struct pl_tree *entries = pl_api_managed_base(&ctx->arena, NULL, sent);
    pl_api_set_managed(ctx, *object, pl_api_managed_update(&writer, entries, blank(ctx), whole));
}

/* The object that webhooks see: as sent, without uid and creation time. */
static void stamp_before(struct pl_api_ctx *ctx, struct pl_tree *object)
{
    static const char gone[][28] = {"deletionTimestamp", "deletionGracePeriodSeconds",
                                    "resourceVersion"};
    struct pl_tree *meta = pl_api_meta_of(ctx, object);
    for (size_t i = 0; i < PL_ARRAY_LEN(gone); i++)
        pl_tree_removez(meta, gone[i]);
    if (ctx->type->flags & PL_API_NAMESPACED)
        pl_tree_setz(&ctx->arena, meta, "namespace", pl_tree_str(&ctx->arena, ctx->request.ns));
    pl_api_body_default(ctx, object);
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
        pl_api_shape(ctx, object) != 0)
        return -1;
    stamp_before(ctx, object);
    if (!by_apply)
        record_creator(ctx, &object);
    if (admit_new(ctx, &object) != 0)
        return -1;
    stamp_new(ctx, object);
    pl_api_body_default(ctx, object);
    size_t asked = ctx->version;
    pl_api_to_stored_form(ctx, &object);
    if (pl_api_prepare_builtin(ctx, object, NULL) != 0 ||
        pl_api_rbac_check_write(ctx, object, NULL) != 0 ||
        pl_api_validate(ctx, object, NULL) != 0 || pl_api_check_size(ctx, object) != 0 ||
        pl_api_certificates_check(ctx, object, NULL) != 0 ||
        pl_api_pod_security(ctx, object, NULL) != 0 || check_new(ctx, object) != 0 ||
        pl_api_quota_check(ctx, object, NULL) != 0)
        return -1;
    if (refuse_version(ctx, object) != 0)
        return -1;
    pl_typed_fill_nulls(&ctx->arena, object, pl_api_body_type(ctx));
    ctx->version = asked;
    struct pl_slice key = pl_api_key(&ctx->arena, pl_tree_text_at(object, "metadata.namespace"),
                                     pl_api_name_of(object));
    const struct pl_api_entry *there = pl_api_table_find(ctx->type->table, key);
    if (there != NULL)
        return fail_exists(ctx, pl_api_name_of(object),
                           pl_meta_is_deleting(pl_doc_root(there->doc)));
    return store_first(ctx, object, key);
}

int pl_api_create_object(struct pl_api_ctx *ctx)
{
    struct pl_tree *object =
        pl_api_check_options(ctx, "CreateOptions") == 0 ? pl_api_decode(ctx) : NULL;
    if (object == NULL || pl_api_check_place(ctx, object) != 0)
        return -1;
    uint64_t version; /* a malformed one is ignored */
    if (pl_api_version_of(object, &version) && version != 0)
        return fail_has_version(ctx);
    if (ctx->type->is_going)
        return pl_api_forbid(
            ctx, pl_api_name_of(object),
            pl_slice_z("create not allowed while custom resource definition is terminating"));
    return pl_api_store_new(ctx, object, false);
}

void pl_api_store_own(struct pl_api *api, const char *group, const char *plural,
                      const struct pl_tree *object)
{
    struct pl_api_ctx ctx;
    pl_api_ctx_init(
        &ctx, api,
        pl_api_registry_find_group(api->registry, pl_slice_z(group), pl_slice_z(plural)));
    ctx.responder.ops = &pl_api_no_client;
    ctx.request.call.user_agent = "kube-apiserver";
    ctx.request.ns = pl_tree_text_at(object, "metadata.namespace");
    pl_api_store_new(&ctx, pl_tree_copy(&ctx.arena, object), false);
    pl_api_ctx_deinit(&ctx);
}
