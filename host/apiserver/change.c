/* Changes a stored object: the common part of PUT, PATCH and apply, after they have computed the
 * new object.
 *
 * The order of steps matters and is kube-apiserver's: place and uid, unknown fields, fields that
 * the writer may not change, defaults, managedFields, mutating admission, version, values that the
 * server assigns, generation, validation, size. The object is stored only after all steps, so a
 * failing step stores nothing. A write that changes nothing keeps the resourceVersion and sends no
 * event. An object that loses its last finalizer while it is being deleted is removed instead of
 * stored. */
#include "apicall/admit.h"
#include "apicall/body.h"
#include "admission/certificates.h"
#include "admission/classes.h"
#include "admission/pod_security.h"
#include "admission/prepare.h"
#include "admission/quota.h"
#include "apicall/rbac.h"
#include "apiserver/config.h"
#include "apiserver/steps.h"
#include "apiserver/verbs.h"
#include "gotype/typed.h"
#include "schema/crd.h"

static const char modified[] =
    "the object has been modified; please apply your changes to the latest version and try again";

struct change {
    struct pl_api_ctx *ctx;
    struct pl_api_entry *entry;
    struct pl_tree *old, *object; /* in the request's version */
    struct pl_tree *sent_managed;
    const struct pl_api_change_options *options;
};

/* ---- preconditions ---- */

static int check_version(struct change *c)
{
    struct pl_api_ctx *ctx = c->ctx;
    uint64_t want;
    if (!pl_api_version_of(c->object, &want))
        return pl_api_fail_version(ctx, c->object);
    if (want == 0) {
        if (!(ctx->type->flags & PL_API_NEEDS_VERSION))
            return 0;
        struct pl_api_faults faults = {.arena = &ctx->arena};
        pl_api_fault(&faults, "FieldValueInvalid", pl_slice_z("metadata.resourceVersion"),
                     "Invalid value: 0: must be specified for an update");
        return pl_api_fail_faults(&ctx->status, &faults, pl_slice_z(pl_api_ctx_version(ctx)->group),
                                  pl_slice_z(ctx->type->plural), ctx->request.name);
    }
    return want == c->entry->rv ? 0 : pl_api_fail_conflict(ctx, ctx->request.name, modified);
}

static int check_uid(struct change *c)
{
    struct pl_api_ctx *ctx = c->ctx;
    struct pl_slice uid = pl_tree_text_at(c->object, "metadata.uid");
    if (uid.len == 0 || pl_slice_eqz(uid, c->entry->uid) || c->options->is_patch ||
        c->options->by_apply)
        return 0;
    return pl_api_fail_uid(ctx, pl_api_name_of(c->object), c->entry, uid);
}

static int check_place(struct change *c)
{
    struct pl_api_ctx *ctx = c->ctx;
    if (pl_api_check_name(ctx, pl_api_name_of(c->object)) != 0)
        return -1;
    return pl_api_check_place(ctx, c->object);
}

/* ---- metadata and subresources ---- */

static void change_keep(struct change *c, const char *field)
{
    struct pl_tree *old = pl_tree_getz(pl_tree_getz(c->old, "metadata"), field);
    struct pl_tree *meta = pl_api_meta_of(c->ctx, c->object);
    if (old != NULL)
        pl_tree_setz(&c->ctx->arena, meta, field, pl_tree_copy(&c->ctx->arena, old));
    else
        pl_tree_removez(meta, field);
}

static void keep_if_absent(struct change *c, const char *field)
{
    if (pl_tree_getz(pl_tree_getz(c->object, "metadata"), field) == NULL)
        change_keep(c, field);
}

static void keep_metadata(struct change *c)
{
    change_keep(c, "creationTimestamp");
    change_keep(c, "generation");
    change_keep(c, "namespace");
    if (pl_tree_text_at(c->object, "metadata.uid").len == 0)
        change_keep(c, "uid");
    keep_if_absent(c, "generateName");
    if (pl_tree_text_at(c->old, "metadata.deletionTimestamp").len > 0)
        change_keep(c, "deletionTimestamp");
    keep_if_absent(c, "deletionGracePeriodSeconds");
}

/* Other members that a status write may change. Labels of Deployments and owners of Pods are kept.
 */
static void take_metadata(struct change *c, const struct pl_tree *sent, struct pl_tree *meta)
{
    static const char fields[][16] = {"annotations", "labels", "finalizers", "ownerReferences"};
    const char *kind = c->ctx->type->kind;
    for (size_t i = 0; i < PL_ARRAY_LEN(fields); i++) {
        struct pl_tree *value = pl_tree_getz(sent, fields[i]);
        if ((strcmp(fields[i], "labels") == 0 && strcmp(kind, "Deployment") == 0) ||
            (strcmp(fields[i], "ownerReferences") == 0 && strcmp(kind, "Pod") == 0))
            continue;
        if (value != NULL)
            pl_tree_setz(&c->ctx->arena, meta, fields[i], value);
        else
            pl_tree_removez(meta, fields[i]);
    }
}

/* Takes resources of containers from the sent object. Containers are matched by their position:
 * this subresource cannot move them. */
static void take_resources(struct pl_arena *arena, struct pl_tree *spec, const struct pl_tree *sent,
                           const char *list)
{
    static const char members[][16] = {"resources", "resizePolicy"};
    const struct pl_tree *from = pl_tree_getz(sent, list);
    size_t i = 0;
    PL_TREE_FOR(item, pl_tree_getz(spec, list))
    {
        const struct pl_tree *container = pl_tree_at(from, i++);
        if (!pl_slice_eq(pl_tree_text_at(container, "name"), pl_tree_text_at(item->value, "name")))
            continue;
        for (size_t k = 0; k < PL_ARRAY_LEN(members); k++) {
            struct pl_tree *value = pl_tree_getz(container, members[k]);
            if (value != NULL)
                pl_tree_setz(arena, item->value, members[k], value);
            else
                pl_tree_removez(item->value, members[k]);
        }
    }
}

/* The resources of the Pod as a whole; prepare.c fills in what is left out. */
static void take_whole(struct pl_arena *arena, struct pl_tree *spec, const struct pl_tree *sent)
{
    struct pl_tree *whole = pl_tree_getz(sent, "resources");
    if (pl_tree_is(whole, PL_OBJECT))
        pl_tree_setz(arena, spec, "resources", whole);
    else
        pl_tree_removez(spec, "resources");
}

/* For a Pod's subresource: takes its part of the sent spec, and keeps everything else of the stored
 * Pod. */
static void keep_other_parts(struct change *c)
{
    struct pl_arena *arena = &c->ctx->arena;
    struct pl_tree *sent = pl_tree_getz(c->object, "spec");
    struct pl_tree *managed = pl_tree_dig(c->object, "metadata.managedFields");
    struct pl_tree *containers = pl_tree_getz(sent, "ephemeralContainers");
    c->object = pl_tree_copy(arena, c->old);
    struct pl_tree *spec = pl_tree_child(arena, c->object, "spec");
    if (managed != NULL)
        pl_tree_setz(arena, pl_api_meta_of(c->ctx, c->object), "managedFields", managed);
    if (pl_slice_eqz(c->ctx->request.subresource, "resize")) {
        take_resources(arena, spec, sent, "containers");
        take_resources(arena, spec, sent, "initContainers");
        take_whole(arena, spec, sent);
    } else if (containers != NULL) {
        pl_tree_setz(arena, spec, "ephemeralContainers", containers);
    } else {
        pl_tree_removez(spec, "ephemeralContainers");
    }
}

/* An approval is nothing but conditions. */
static void take_conditions(struct change *c, const struct pl_tree *sent)
{
    struct pl_tree *status = pl_tree_child(&c->ctx->arena, c->object, "status");
    struct pl_tree *conditions = pl_tree_getz(sent, "conditions");
    if (conditions != NULL)
        pl_tree_setz(&c->ctx->arena, status, "conditions", conditions);
    else
        pl_tree_removez(status, "conditions");
}

/* A write of the main resource keeps the status. A write of the status subresource keeps everything
 * else. */
static void keep_other_half(struct change *c)
{
    struct pl_api_ctx *ctx = c->ctx;
    struct pl_tree *status = pl_tree_getz(c->object, "status");
    if (pl_api_is_pod_part(ctx)) {
        keep_other_parts(c);
        return;
    }
    if (pl_slice_eqz(ctx->request.subresource, "status") || pl_api_is_approval(ctx)) {
        const struct pl_tree *sent = pl_tree_getz(c->object, "metadata");
        struct pl_tree *managed = pl_tree_dig(c->object, "metadata.managedFields");
        c->object = pl_tree_copy(&ctx->arena, c->old);
        struct pl_tree *meta = pl_api_meta_of(ctx, c->object);
        if (pl_api_is_approval(ctx))
            take_conditions(c, status);
        else if (status != NULL)
            pl_tree_setz(&ctx->arena, c->object, "status", status);
        else
            pl_tree_removez(c->object, "status");
        if (pl_api_type_status_has_meta(ctx->type))
            take_metadata(c, sent, meta);
        if (managed != NULL)
            pl_tree_setz(&ctx->arena, meta, "managedFields", managed);
        return;
    }
    if (!pl_api_ctx_version(ctx)->has_status)
        return;
    struct pl_tree *old = pl_tree_getz(c->old, "status");
    if (old != NULL)
        pl_tree_setz(&ctx->arena, c->object, "status", pl_tree_copy(&ctx->arena, old));
    else
        pl_tree_removez(c->object, "status");
}

/* The same, with the version that was sent: it is compared after mutating admission. */
static void keep_sent_part(struct change *c)
{
    struct pl_tree *sent = pl_tree_dig(c->object, "metadata.resourceVersion");
    keep_other_half(c);
    struct pl_tree *meta = pl_api_meta_of(c->ctx, c->object);
    if (sent != NULL)
        pl_tree_setz(&c->ctx->arena, meta, "resourceVersion", sent);
    else
        pl_tree_removez(meta, "resourceVersion");
}

/* True if the change increments metadata.generation. */
static bool needs_generation(const struct change *c)
{
    const struct pl_api_ctx *ctx = c->ctx;
    bool deployment = pl_api_type_is_builtin(ctx->type, "Deployment") &&
                      !pl_slice_eqz(ctx->request.subresource, "status");
    bool slice = pl_api_type_is_builtin(ctx->type, "EndpointSlice");
    if (pl_api_type_is_builtin(ctx->type, "PriorityClass"))
        return false;
    if (slice && !pl_tree_equal(pl_tree_dig(c->old, "metadata.labels"),
                                pl_tree_dig(c->object, "metadata.labels")))
        return true;
    if (deployment && !pl_tree_equal(pl_tree_dig(c->old, "metadata.annotations"),
                                     pl_tree_dig(c->object, "metadata.annotations")))
        return true;
    PL_TREE_FOR(item, c->object)
    {
        bool skip = pl_slice_eqz(item->key, "metadata") || pl_slice_eqz(item->key, "apiVersion") ||
                    (pl_slice_eqz(item->key, "status") && pl_api_ctx_version(ctx)->has_status);
        if (!skip && !pl_tree_equal(item->value, pl_tree_get(c->old, item->key)))
            return true;
    }
    PL_TREE_FOR(item, c->old)
    if (!pl_slice_eqz(item->key, "status") && pl_tree_get(c->object, item->key) == NULL)
        return true;
    return false;
}

static void count_generation(struct change *c)
{
    int64_t generation = 0;
    if (!(c->ctx->type->flags & PL_API_GENERATION) || !needs_generation(c))
        return;
    pl_tree_integer(pl_tree_dig(c->old, "metadata.generation"), &generation);
    pl_tree_setz(&c->ctx->arena, pl_api_meta_of(c->ctx, c->object), "generation",
                 pl_tree_int(&c->ctx->arena, generation + 1));
}

/* ---- storing ---- */

/* True if the objects differ only in resourceVersion and in the times of managedFields. */
static bool change_is_unchanged(struct change *c)
{
    struct pl_arena *arena = &c->ctx->arena;
    struct pl_tree *a = pl_tree_copy(arena, c->old), *b = pl_tree_copy(arena, c->object);
    struct pl_tree *am = pl_tree_getz(a, "metadata"), *bm = pl_tree_getz(b, "metadata");
    bool managed =
        pl_api_managed_same(pl_tree_getz(am, "managedFields"), pl_tree_getz(bm, "managedFields"));
    pl_tree_removez(am, "managedFields");
    pl_tree_removez(bm, "managedFields");
    pl_tree_removez(am, "resourceVersion");
    pl_tree_removez(bm, "resourceVersion");
    return managed && pl_tree_equal(a, b);
}

static int store(struct change *c)
{
    struct pl_api_ctx *ctx = c->ctx;
    struct pl_tree *object = c->object;
    if (change_is_unchanged(c)) {
        pl_api_answer_stored(ctx, 200, c->entry->doc, c->old);
        return 0;
    }
    struct pl_tree *sent = pl_api_is_finished(object) ? pl_tree_copy(&ctx->arena, object) : NULL;
    struct pl_tree *shown;
    if (pl_api_store_and_back(ctx, &object, &shown) != 0)
        return -1;
    c->object = shown;
    if (ctx->request.dry_run) {
        change_keep(c, "resourceVersion");
        return pl_api_answer_dry(ctx, 200, shown);
    }
    if (sent != NULL) {
        /* The object is removed with its last finalizer: this state is never stored. */
        c->object = sent;
        change_keep(c, "resourceVersion");
        pl_api_storage_remove(ctx->api->storage, c->entry);
        return pl_api_answer_dry(ctx, 200, sent);
    }
    struct pl_api_entry *entry = pl_api_storage_put(ctx->api->storage, &ctx->arena, ctx->type,
                                                    pl_slice_z(c->entry->key), object);
    struct pl_doc *doc = pl_doc_ref(entry->doc);
    pl_api_quota_charge(ctx);
    int code = ctx->api->stored(ctx, doc);
    if (code == 0)
        pl_api_answer_stored(ctx, 200, doc, shown);
    pl_doc_unref(doc);
    return code;
}

static int admit(struct change *c)
{
    struct pl_api_admission admission = {.operation = "UPDATE", .object = c->object, .old = c->old};
    if (pl_api_admit(c->ctx, &admission) != 0)
        return -1;
    bool same = admission.object == c->object;
    c->object = admission.object;
    if (!same)
        pl_api_shape_admitted(c->ctx, c->object);
    if (check_version(c) != 0 || pl_api_check_place(c->ctx, c->object) != 0)
        return -1;
    if (same)
        return 0;
    keep_metadata(c);
    keep_other_half(c);
    return 0;
}

static int admit_check(struct change *c)
{
    struct pl_api_admission admission = {.operation = "UPDATE", .object = c->object, .old = c->old};
    return pl_api_admit_check(c->ctx, &admission);
}

static void record_writer(struct change *c)
{
    struct pl_api_ctx *ctx = c->ctx;
    struct pl_api_writer writer = pl_api_writer_of(ctx);
    struct pl_tree *entries = pl_api_managed_base(&ctx->arena, c->old, c->sent_managed);
    /* An object without managedFields gets an entry for its previous fields first. */
    if (entries->count == 0) {
        pl_api_set_managed(ctx, c->object, NULL);
        return;
    }
    if (pl_api_manager_fault(ctx, c->old, entries) != NULL ||
        pl_api_manager_fault(ctx, c->object, entries) != NULL) {
        pl_api_set_managed(ctx, c->object, pl_api_managed_base(&ctx->arena, c->old, NULL));
        return;
    }
    pl_api_to_stored_form_and_back(ctx, &c->object);
    bool counted = false; /* a new size gets an owner if the old one had some */
    PL_TREE_FOR(item, entries)
    counted = counted || pl_tree_dig(item->value, "fieldsV1.f:spec.f:replicas") != NULL;
    if (pl_slice_eqz(ctx->request.subresource, "scale") && !counted)
        writer.is_silent = true;
    struct pl_tree *whole = pl_tree_copy(&ctx->arena, c->object);
    pl_typed_fill_absent(&ctx->arena, whole, pl_api_body_type(ctx));
    struct pl_api_other_form other;
    if (pl_api_other_form(ctx, c->old, c->object, &other))
        writer.other = &other;
    pl_api_set_managed(ctx, c->object, pl_api_managed_update(&writer, entries, c->old, whole));
}

/* Converts both objects to the stored form, which can have more members than the request's version.
 * Members that the request does not write are taken from the old object. */
static void change_to_stored_form(struct change *c)
{
    struct pl_api_ctx *ctx = c->ctx;
    size_t asked = ctx->version;
    pl_api_to_stored_form(ctx, &c->object);
    if (ctx->version == asked)
        return;
    c->old = pl_api_load(ctx, c->entry->doc);
    const char *other = pl_slice_eqz(ctx->request.subresource, "status") ? "spec" : "status";
    struct pl_tree *kept = pl_tree_getz(c->old, other);
    if (kept != NULL)
        pl_tree_setz(&ctx->arena, c->object, other, pl_tree_copy(&ctx->arena, kept));
    else
        pl_tree_removez(c->object, other);
}

int pl_api_store_change(struct pl_api_ctx *ctx, struct pl_api_entry *entry, struct pl_tree *object,
                        const struct pl_api_change_options *options)
{
    struct change c = {.ctx = ctx, .entry = entry, .object = object, .options = options};
    c.old = pl_api_load(ctx, entry->doc);
    if (c.old == NULL)
        return -1;
    c.sent_managed = options->by_apply ? NULL : pl_tree_dig(object, "metadata.managedFields");
    if (check_place(&c) != 0 || check_uid(&c) != 0 || pl_api_shape(ctx, object) != 0)
        return -1;
    keep_metadata(&c);
    keep_sent_part(&c);
    if (options->by_apply && pl_api_type_is_builtin(ctx->type, "CustomResourceDefinition"))
        pl_api_crd_drop_released(c.object);
    pl_api_body_default(ctx, c.object);
    if (!options->by_apply)
        record_writer(&c);
    if (admit(&c) != 0)
        return -1;
    size_t asked = ctx->version;
    change_to_stored_form(&c);
    if (pl_api_prepare_builtin(ctx, c.object, c.old) != 0)
        return -1;
    count_generation(&c);
    if (pl_api_rbac_check_write(ctx, c.object, c.old) != 0 ||
        pl_api_validate(ctx, c.object, c.old) != 0 || pl_api_check_size(ctx, c.object) != 0 ||
        pl_api_certificates_check(ctx, c.object, c.old) != 0 ||
        pl_api_pod_security(ctx, c.object, c.old) != 0 ||
        pl_api_admit_growth(ctx, c.object, c.old) != 0 ||
        (pl_slice_eqz(ctx->request.subresource, "resize") &&
         pl_api_admit_resize(ctx, c.object, c.old) != 0) ||
        admit_check(&c) != 0 || pl_api_quota_check(ctx, c.object, c.old) != 0)
        return -1;
    pl_typed_fill_nulls(&ctx->arena, c.object, pl_api_body_type(ctx));
    ctx->version = asked;
    return store(&c);
}

void pl_api_store_raw(struct pl_api *api, struct pl_arena *arena, struct pl_api_entry *entry,
                      struct pl_tree *object)
{
    if (pl_api_is_finished(object))
        pl_api_storage_remove(api->storage, entry);
    else
        pl_api_storage_put(api->storage, arena, entry->type, pl_slice_z(entry->key), object);
}

int pl_api_update(struct pl_api_ctx *ctx)
{
    struct pl_tree *object =
        pl_api_check_options(ctx, "UpdateOptions") == 0 ? pl_api_decode(ctx) : NULL;
    if (object == NULL)
        return -1;
    struct pl_slice key = pl_api_key(&ctx->arena, ctx->request.ns, ctx->request.name);
    struct pl_api_entry *entry = pl_api_table_find(ctx->type->table, key);
    struct pl_slice name = pl_api_name_of(object);
    if (pl_api_check_name(ctx, name) != 0)
        return -1;
    if (entry == NULL && (ctx->type->flags & PL_API_CREATE_ON_UPDATE) &&
        ctx->request.subresource.len == 0) {
        pl_tree_removez(pl_tree_getz(object, "metadata"), "resourceVersion");
        return pl_api_store_new(ctx, object, false);
    }
    if (entry == NULL)
        return pl_api_fail_not_found(ctx, ctx->request.name);
    return pl_api_store_change(ctx, entry, object, &(struct pl_api_change_options){0});
}
