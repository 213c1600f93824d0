/* The life of a kind that a CustomResourceDefinition declares.
 *
 * A kind is served as soon as its CRD is stored, unless another kind of the group has one of its
 * names. Then it waits until that kind is gone. When the spec changes, its watches end, because
 * the kind that they serve has a new definition. A deleted CRD stays, with a finalizer, until all
 * objects of its kind are gone. Only then is the kind removed from the registry, after the storage
 * has removed it from its history. */
#include "apiserver/crd_life.h"

#include "apiserver/persist.h"
#include "apiserver/watch.h"
#include "apiserver/write.h"
#include "object/meta.h"
#include "schema/crd.h"
#include "schema/managed.h"

static struct pl_api_type *type_of_crd(const struct pl_api *api, struct pl_node crd)
{
    struct pl_scratch group, plural;
    return pl_api_registry_find_group(
        api->registry, pl_node_str(pl_node_dig(crd, "spec", "group"), &group),
        pl_node_str(pl_node_dig(crd, "spec", "names", "plural"), &plural));
}

static bool is_crd(const struct pl_api_type *type)
{
    return !type->is_custom && strcmp(type->kind, "CustomResourceDefinition") == 0;
}

/* ---- names ---- */

/* The names of the other kinds in the group of the CRD. */
static struct pl_api_used_names names_beside(struct pl_api *api, struct pl_arena *arena,
                                             struct pl_node crd)
{
    struct pl_scratch scratch;
    const struct pl_api_type *own = type_of_crd(api, crd);
    struct pl_slice group = pl_node_str(pl_node_dig(crd, "spec", "group"), &scratch);
    struct pl_api_used_names used = {pl_tree_array(arena), pl_tree_array(arena)};
    for (const struct pl_api_type *type = pl_api_registry_first(api->registry); type != NULL;
         type = type->next) {
        if (!type->is_custom || type == own || type->version_count == 0 ||
            !pl_slice_eqz(group, type->versions[0].group))
            continue;
        pl_tree_push_texts(arena, used.resources, type->plural);
        pl_tree_push_texts(arena, used.resources, type->singular);
        pl_tree_push_texts(arena, used.resources, type->short_names);
        pl_tree_push_texts(arena, used.kinds, type->kind);
        pl_tree_push_texts(arena, used.kinds, type->list_kind);
    }
    return used;
}

static bool has_conflict(struct pl_api *api, struct pl_doc *crd)
{
    struct pl_arena arena = {0};
    struct pl_api_used_names used = names_beside(api, &arena, pl_doc_root(crd));
    bool conflict = !pl_api_crd_accept(&arena, pl_tree_from_node(&arena, pl_doc_root(crd)), &used,
                                       pl_tree_strz(&arena, ""));
    pl_arena_deinit(&arena);
    return conflict;
}

static int crd_life_serve(struct pl_api_ctx *ctx, struct pl_doc *crd)
{
    struct pl_err err = {0};
    if (!is_crd(ctx->type) || ctx->request.dry_run || pl_meta_is_deleting(pl_doc_root(crd)))
        return 0;
    struct pl_api_type *type = type_of_crd(ctx->api, pl_doc_root(crd));
    if (type != NULL && type->version_count > 0) {
        struct pl_node old = pl_doc_root(type->versions[0].definition);
        if (pl_node_equal(pl_node_getz(old, "spec"), pl_node_getz(pl_doc_root(crd), "spec")))
            return 0;
        pl_api_watch_end_all(type); /* the kind has a new definition */
    }
    if (has_conflict(ctx->api, crd))
        return 0;
    if (pl_api_registry_apply(ctx->api->registry, crd, &err) != 0)
        return pl_api_bad_request(&ctx->status, "%s", err.message);
    return 0;
}

static void note_acceptance(struct pl_api *api, struct pl_arena *arena, struct pl_api_type *type,
                            const struct pl_tree *before, struct pl_tree *crd)
{
    struct pl_api_writer writer = {
        .arena = arena,
        .manager = pl_slice_z("kube-apiserver"),
        .api_version = pl_slice_z("apiextensions.k8s.io/v1"),
        .subresource = pl_slice_z("status"),
        .now = pl_api_now(api, arena),
        .schema = pl_api_type_lists(type, 0),
    };
    struct pl_tree *entries = pl_tree_dig(crd, "metadata.managedFields");
    struct pl_tree *after = pl_api_managed_update(&writer, entries, before, crd);
    if (after != NULL)
        pl_tree_setz(arena, pl_tree_child(arena, crd, "metadata"), "managedFields", after);
}

/* A separate write accepts the names. The writer of the CRD does not see it in the answer. */
static void accept_names(struct pl_api *api, struct pl_doc *crd)
{
    struct pl_arena arena = {0};
    struct pl_tree *object = pl_tree_from_node(&arena, pl_doc_root(crd));
    struct pl_api_entry *entry = pl_api_table_find(
        pl_api_builtin_table(api->registry, "apiextensions.k8s.io", "customresourcedefinitions"),
        pl_tree_text_at(object, "metadata.name"));
    if (entry != NULL && !pl_api_crd_is_accepted(object)) {
        struct pl_tree *before = pl_tree_copy(&arena, object);
        struct pl_api_used_names used = names_beside(api, &arena, pl_doc_root(crd));
        pl_api_crd_accept(&arena, object, &used, pl_api_now(api, &arena));
        note_acceptance(api, &arena, entry->type, before, object);
        pl_api_store_raw(api, &arena, entry, object);
    }
    pl_arena_deinit(&arena);
}

int pl_api_crd_changed(struct pl_api_ctx *ctx, struct pl_doc *crd)
{
    int code = crd_life_serve(ctx, crd);
    if (code == 0 && is_crd(ctx->type) && !ctx->request.dry_run &&
        !pl_meta_is_deleting(pl_doc_root(crd)))
        accept_names(ctx->api, crd);
    return code;
}

/* CRDs that were waiting for names of that group. */
static void accept_waiting(struct pl_api *api, struct pl_slice group)
{
    struct pl_api_table *table =
        pl_api_builtin_table(api->registry, "apiextensions.k8s.io", "customresourcedefinitions");
    for (size_t i = 0; i < table->count; i++) {
        struct pl_doc *crd = pl_doc_ref(table->entries[i]->doc);
        struct pl_err err;
        struct pl_node root = pl_doc_root(crd);
        bool waits = type_of_crd(api, root) == NULL && !pl_meta_is_deleting(root) &&
                     pl_node_str_eq(pl_node_dig(root, "spec", "group"), group) &&
                     !has_conflict(api, crd);
        if (waits && pl_api_registry_apply(api->registry, crd, &err) == 0)
            accept_names(api, crd);
        pl_doc_unref(crd);
    }
}

/* ---- deletion ---- */

static void delete_objects(struct pl_api *api, struct pl_api_type *type)
{
    for (size_t i = type->table->count; i > 0; i--) {
        struct pl_api_entry *entry = type->table->entries[i - 1];
        struct pl_api_delete_options options = {0};
        struct pl_api_ctx ctx;
        struct pl_doc *left;
        bool gone;
        if (pl_meta_is_deleting(pl_doc_root(entry->doc)))
            continue;
        pl_api_ctx_init(&ctx, api, type);
        if (pl_api_delete_entry(&ctx, entry, &options, &left, &gone) == 0)
            pl_doc_unref(left);
        pl_api_ctx_deinit(&ctx);
    }
}

void pl_api_crd_finish(struct pl_api *api, struct pl_api_entry *crd)
{
    struct pl_api_type *type = type_of_crd(api, pl_doc_root(crd->doc));
    if (type != NULL && type->is_custom) {
        type->is_going = true;
        delete_objects(api, type);
        if (type->table->count > 0)
            return; /* finalizers hold some of them */
        pl_api_watch_end_all(type);
        pl_api_storage_forget_type(api->storage, type);
        pl_api_persist_forget(api, type);
        pl_api_registry_remove(api->registry, type);
    }
    struct pl_arena arena = {0};
    struct pl_tree *object = pl_tree_from_node(&arena, pl_doc_root(crd->doc));
    struct pl_slice group = pl_arena_copy(&arena, pl_tree_text_at(object, "spec.group"));
    if (pl_api_crd_unmark(object))
        pl_api_store_raw(api, &arena, crd, object);
    accept_waiting(api, group);
    pl_arena_deinit(&arena);
}
