/* PATCH in its four forms. Merge, JSON and strategic patches are applied to the object in the
 * request's version (object/patch.h), and the result is stored like an update. apply.c does apply.
 * Each form is refused where kube-apiserver refuses it, in its words: strategic patches of custom
 * kinds, force without apply, apply without a field manager. */
#include "object/patch.h"

#include "apicall/body.h"
#include "object/meta.h"
#include "schema/go_words.h"
#include "apiserver/config.h"
#include "apiserver/patch_operations.h"
#include "apiserver/steps.h"
#include "apiserver/verbs.h"
#include "base/text.h"
#include "format/yaml.h"
#include "gotype/typed.h"
#include "value/scan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 415, with the list of patch types that the kind supports. */
static int fail_unsupported(struct pl_api_ctx *ctx)
{
    if (ctx->request.body_form != PL_API_STRATEGIC) {
        pl_api_fail(&ctx->status, 415, "UnsupportedMediaType", "415: Unsupported Media Type");
        ctx->status.has_details = true;
        return -1;
    }
    return pl_api_fail(&ctx->status, 415, "UnsupportedMediaType",
                       "the body of the request was in an unknown format - accepted media types "
                       "include: application/json-patch+json, application/merge-patch+json, "
                       "application/apply-patch+yaml");
}

static int fail_option(struct pl_api_ctx *ctx, const char *reason, const char *field,
                       const char *message)
{
    struct pl_api_faults faults = {.arena = &ctx->arena};
    pl_api_fault(&faults, reason, pl_slice_z(field), "%s", message);
    return pl_api_fail_faults(&ctx->status, &faults, pl_slice_z("meta.k8s.io"),
                              pl_slice_z("PatchOptions"), pl_slice_z(""));
}

static int patch_check_options(struct pl_api_ctx *ctx)
{
    const struct pl_api_request *request = &ctx->request;
    switch (request->body_form) {
    case PL_API_APPLY:
        return request->field_manager.len > 0
                   ? 0
                   : fail_option(ctx, "FieldValueRequired", "fieldManager",
                                 "Required value: is required for apply patch");
    case PL_API_STRATEGIC:
        if (ctx->type->is_custom)
            return fail_unsupported(ctx);
        break;
    case PL_API_MERGE:
    case PL_API_JSON_PATCH:
        break;
    default:
        return fail_unsupported(ctx);
    }
    return request->has_force ? fail_option(ctx, "FieldValueForbidden", "force",
                                            "Forbidden: may not be specified for non-apply patch")
                              : 0;
}

static struct pl_doc *scan_patch(struct pl_api_ctx *ctx)
{
    struct pl_err err = {0};
    bool array = ctx->request.body_form == PL_API_JSON_PATCH;
    struct pl_doc *doc = pl_api_body_scan(ctx, array ? "json patch " : "", &err);
    if (doc == NULL) {
        bool empty = ctx->request.body_form == PL_API_STRATEGIC && ctx->request.call.body.len == 0;
        pl_api_bad_request(&ctx->status, empty
                                             ? "error decoding patch: unexpected end of JSON input"
                                             : "invalid JSON patch");
    } else if (pl_node_type(pl_doc_root(doc)) == PL_NULL) {
        pl_doc_unref(doc);
        if (array) /* no operations */
            return pl_scan_text(pl_slice_z("[]"), NULL, NULL);
        pl_api_bad_request(&ctx->status, "Invalid JSON Patch");
        return NULL;
    } else if (pl_node_type(pl_doc_root(doc)) != (array ? PL_ARRAY : PL_OBJECT)) {
        pl_api_bad_request(&ctx->status, "%sjson: cannot unmarshal %s into Go value of type %s",
                           ctx->request.body_form == PL_API_STRATEGIC ? ""
                                                                      : "error decoding patch: ",
                           pl_type_name(pl_node_type(pl_doc_root(doc))),
                           array ? "[]handlers.jsonPatchOp" : "map[string]interface {}");
        pl_doc_unref(doc);
        return NULL;
    }
    return doc;
}

/* The first list that a strategic patch orders and the type does not have; false: there is none. */
static bool find_unknown_list(struct pl_node patch, struct pl_message type, struct pl_slice *name,
                              struct pl_message *owner)
{
    static const char mark[] = "$setElementOrder/";
    struct pl_message_field field;
    struct pl_iter it = pl_iter(patch);
    bool found = false;
    while (!found && pl_node_type(patch) == PL_OBJECT && pl_iter_next(&it)) {
        bool orders = pl_text_begins(it.key, mark);
        struct pl_slice key =
            orders ? pl_slice(it.key.ptr + sizeof(mark) - 1, it.key.len - sizeof(mark) + 1)
                   : it.key;
        bool known = pl_message_get(type, key, &field);
        found = orders && !known;
        if (found)
            *name = key, *owner = type;
        else if (known && !orders && field.form == PL_FORM_MESSAGE && field.many == PL_MANY_ONE)
            found = find_unknown_list(it.value, field.message, name, owner);
    }
    return found;
}

static int check_orders(struct pl_api_ctx *ctx, struct pl_node patch)
{
    struct pl_message type = pl_api_body_type(ctx), owner;
    struct pl_slice name;
    if (ctx->request.body_form != PL_API_STRATEGIC || pl_message_is_none(type) ||
        !find_unknown_list(patch, type, &name, &owner))
        return 0;
    return pl_api_fail(&ctx->status, 500, "",
                       "unable to find api field in struct %s for the json field \"%.*s\"",
                       pl_message_go(owner), PL_FMT(name));
}

static struct pl_doc *patched(struct pl_api_ctx *ctx, struct pl_node target, struct pl_node root)
{
    struct pl_err err = {0};
    struct pl_doc *result = NULL;
    if (check_orders(ctx, root) != 0 || pl_api_operations_check(ctx, root) != 0)
        return NULL;
    if (ctx->request.body_form == PL_API_JSON_PATCH)
        result = pl_api_operations_apply(target, root, &err);
    else if (ctx->request.body_form == PL_API_STRATEGIC)
        result = pl_patch_strategic(target, root, pl_api_type_lists(ctx->type, ctx->version), &err);
    else
        result = pl_patch_merge(target, root, &err);
    if (result == NULL && ctx->request.body_form == PL_API_JSON_PATCH) {
        pl_api_fail(&ctx->status, 422, "Invalid",
                    "the server rejected our request due to an error in our request");
        ctx->status.has_details = true;
    } else if (result == NULL && err.code == PL_EINVAL &&
               ctx->request.body_form == PL_API_STRATEGIC) {
        pl_api_fail(&ctx->status, 500, "", "%s", err.message);
    } else if (result == NULL) {
        pl_api_bad_request(&ctx->status, "%s", err.message);
    }
    return result;
}

struct pl_doc *pl_api_patched(struct pl_api_ctx *ctx, struct pl_node target)
{
    struct pl_doc *patch = scan_patch(ctx);
    struct pl_doc *result = patch != NULL ? patched(ctx, target, pl_doc_root(patch)) : NULL;
    pl_doc_unref(patch);
    return result;
}

/* Go keeps patched parts as maps, which it writes in the order of keys; all other parts keep their
 * order. */
static void sort_merged(struct pl_tree *object, const struct pl_tree *patch)
{
    if (!pl_tree_is(object, PL_OBJECT) || !pl_tree_is(patch, PL_OBJECT))
        return;
    pl_tree_sort_members(object);
    PL_TREE_FOR(item, patch)
    sort_merged(pl_tree_get(object, item->key), item->value);
}

/* Adds the words of a path to a tree of paths. */
static void add_path(struct pl_arena *arena, struct pl_tree *paths, struct pl_slice path)
{
    for (size_t at = 0; at < path.len;) {
        const char *begin = path.ptr + at + 1;
        const char *end = memchr(begin, '/', path.len - at - 1);
        struct pl_slice word =
            pl_slice(begin, end != NULL ? (size_t)(end - begin) : path.len - at - 1);
        struct pl_tree *below = pl_tree_get(paths, word);
        if (below == NULL) {
            below = pl_tree_object(arena);
            pl_tree_set(arena, paths, word, below);
        }
        paths = below;
        at += word.len + 1;
    }
}

/* Sorts the objects in which a path goes on. */
static void sort_paths(struct pl_arena *arena, struct pl_tree *value, const struct pl_tree *paths)
{
    if (value == NULL || paths->count == 0)
        return;
    if (value->type == PL_OBJECT) {
        pl_tree_sort_members(value);
        PL_TREE_FOR(item, paths)
        sort_paths(arena, pl_tree_get(value, item->key), item->value);
    } else if (value->type == PL_ARRAY) {
        struct pl_tree **elements = pl_arena_alloc(arena, value->count * sizeof(*elements));
        size_t i = 0;
        PL_TREE_FOR(item, value)
        elements[i++] = item->value;
        PL_TREE_FOR(item, paths)
        {
            size_t index = strtoul(item->key.ptr, NULL, 10);
            if (index < value->count)
                sort_paths(arena, elements[index], item->value);
        }
    }
}

static void sort_touched(struct pl_api_ctx *ctx, struct pl_tree *object, struct pl_node patch)
{
    struct pl_tree *tree = pl_tree_from_node(&ctx->arena, patch);
    if (ctx->request.body_form == PL_API_MERGE) {
        sort_merged(object, tree);
    } else if (ctx->request.body_form == PL_API_STRATEGIC) {
        pl_tree_sort(object);
    } else {
        struct pl_tree *paths = pl_tree_object(&ctx->arena);
        PL_TREE_FOR(item, tree)
        add_path(&ctx->arena, paths, pl_tree_text_at(item->value, "path"));
        sort_paths(&ctx->arena, object, paths);
    }
}

static int patch_existing(struct pl_api_ctx *ctx, struct pl_api_entry *entry)
{
    struct pl_tree *live = pl_api_load(ctx, entry->doc);
    if (live == NULL)
        return -1;
    pl_typed_order(&ctx->arena, live, pl_api_body_type(ctx));
    struct pl_doc *patch = scan_patch(ctx);
    if (patch == NULL)
        return -1;
    struct pl_doc *target = pl_tree_doc(live, NULL);
    struct pl_doc *result = patched(ctx, pl_doc_root(target), pl_doc_root(patch));
    int code = -1;
    if (result != NULL && pl_node_type(pl_doc_root(result)) != PL_OBJECT) {
        pl_api_bad_request(&ctx->status, "the patch does not leave an object");
    } else if (result != NULL) {
        struct pl_tree *object = pl_tree_from_node(&ctx->arena, pl_doc_root(result));
        sort_touched(ctx, object, pl_doc_root(patch));
        code = pl_api_body_read_patched(ctx, object);
        if (code == 0)
            code = pl_api_store_change(ctx, entry, object,
                                       &(struct pl_api_change_options){.is_patch = true});
    }
    pl_doc_unref(result);
    pl_doc_unref(target);
    pl_doc_unref(patch);
    return code;
}

/* ---- server-side apply ---- */

/* kube-apiserver reads a body that begins like JSON in a later step than other bodies, so the
 * message is another one. */
static bool is_like_json(struct pl_slice body)
{
    size_t at = 0;
    while (at < body.len && isspace((unsigned char)body.ptr[at]))
        at++;
    return at < body.len && body.ptr[at] == '{';
}

static void fail_config(struct pl_api_ctx *ctx, const struct pl_err *err)
{
    unsigned line;
    int key = 0;
    sscanf(err->message, "line %u: the key %n", &line, &key);
    const char *end = key > 0 ? strstr(err->message, " exists already") : NULL;
    if (end != NULL)
        pl_api_bad_request(&ctx->status,
                           "error strict decoding patch: error converting YAML to JSON: yaml: "
                           "unmarshal errors:\n  line %u: key %.*s already set in map",
                           line, (int)(end - err->message - key), err->message + key);
    else
        pl_api_bad_request(&ctx->status, "%s: %s",
                           is_like_json(ctx->request.call.body)
                               ? "error decoding patch: error converting YAML to JSON"
                               : "error encoding patch",
                           pl_go_yaml_fault(&ctx->arena, err));
}

struct pl_tree *pl_api_read_config(struct pl_api_ctx *ctx)
{
    struct pl_docs docs = {0};
    struct pl_err err = {0};
    struct pl_tree *config = NULL;
    if (pl_yaml_decode(ctx->request.call.body, &docs, &err) != 0)
        fail_config(ctx, &err);
    else if (docs.count == 1 && pl_node_type(pl_doc_root(docs.items[0])) == PL_NULL)
        config = pl_tree_object(&ctx->arena);
    else if (docs.count != 1 || pl_node_type(pl_doc_root(docs.items[0])) != PL_OBJECT)
        pl_api_bad_request(&ctx->status,
                           "error decoding patch: error unmarshaling JSON: while decoding JSON: "
                           "json: cannot unmarshal %s into Go value of type map[string]interface "
                           "{}",
                           docs.count == 1 ? pl_type_name(pl_node_type(pl_doc_root(docs.items[0])))
                                           : "null");
    else
        config = pl_tree_from_node(&ctx->arena, pl_doc_root(docs.items[0]));
    pl_docs_deinit(&docs);
    return config;
}

static int check_config(struct pl_api_ctx *ctx, const struct pl_tree *config)
{
    char text[PL_KIND_TEXT];
    struct pl_slice want = pl_api_version_text(pl_api_ctx_version(ctx), text);
    struct pl_slice api_version = pl_tree_text_at(config, "apiVersion");
    struct pl_slice kind = pl_tree_text_at(config, "kind");
    struct pl_slice name = pl_api_name_of(config);
    if (!pl_slice_eq(api_version, want) || !pl_slice_eqz(kind, ctx->type->kind))
        return pl_api_bad_request(&ctx->status, "invalid object type: %s%.*s, Kind=%.*s",
                                  pl_slice_chr(api_version, '/') != NULL ? "" : "/",
                                  PL_FMT(api_version), PL_FMT(kind));
    if (pl_tree_dig(config, "metadata.managedFields") != NULL)
        return pl_api_bad_request(&ctx->status, "metadata.managedFields must be nil");
    return name.len > 0 ? pl_api_check_name(ctx, name) : 0;
}

/* Stated identity fields must equal those of the stored object. */
static void carry_identity(struct pl_api_ctx *ctx, const struct pl_tree *config,
                           struct pl_tree *object)
{
    static const char fields[][16] = {"uid", "resourceVersion", "namespace", "name"};
    struct pl_tree *from = pl_tree_getz(config, "metadata");
    struct pl_tree *to = pl_api_meta_of(ctx, object);
    for (size_t i = 0; i < PL_ARRAY_LEN(fields); i++) {
        struct pl_tree *value = pl_tree_getz(from, fields[i]);
        if (pl_tree_text(value).len > 0)
            pl_tree_setz(&ctx->arena, to, fields[i], value);
    }
}

/* kubectl's annotation about its client-side apply gets what kubectl applies here. */
static void note_last_applied(struct pl_api_ctx *ctx, const struct pl_tree *config,
                              struct pl_tree *object)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *there = pl_tree_dig(object, "metadata.annotations");
    if (!pl_slice_eqz(ctx->request.field_manager, "kubectl") ||
        pl_tree_getz(there, PL_META_APPLIED) == NULL)
        return;
    struct pl_tree *copy = pl_tree_copy(arena, config);
    struct pl_buf text = PL_BUF_INIT;
    pl_tree_removez(pl_tree_dig(copy, "metadata.annotations"), PL_META_APPLIED);
    pl_tree_sort(copy);
    pl_tree_write(&text, copy);
    pl_buf_add_char(&text, '\n');
    pl_tree_setz(arena, there, PL_META_APPLIED,
                 pl_tree_str(arena, pl_arena_copy(arena, pl_buf_slice(&text))));
    pl_buf_deinit(&text);
}

/* Refuses what cannot be compared in the versions of other managers. */
static int check_managers(struct pl_api_ctx *ctx, const struct pl_api_writer *writer,
                          const struct pl_tree *live, const struct pl_tree *stated)
{
    if (live == NULL || !ctx->type->is_custom)
        return 0;
    struct pl_tree *entries = pl_api_managed_base(&ctx->arena, live, NULL);
    if (!pl_api_has_other_versions(ctx, entries)) /* the usual case needs no merged copy */
        return 0;
    const char *fault = pl_api_manager_fault(ctx, live, entries);
    if (fault != NULL)
        return pl_api_fail(&ctx->status, 500, "", "%s", fault);
    fault = pl_api_manager_fault(
        ctx, pl_api_managed_merge(&ctx->arena, live, stated, writer->schema), entries);
    return fault == NULL
               ? 0
               : pl_api_fail(&ctx->status, 500, "", "failed to convert new object: %s", fault);
}

/* The applied object keeps the name and kind of the request, whatever the merge has made of them. A
 * new one has no version yet. */
static void name_applied(struct pl_api_ctx *ctx, const struct pl_tree *config,
                         struct pl_tree *object, bool is_new)
{
    struct pl_tree *meta = pl_api_meta_of(ctx, object);
    struct pl_tree *prefix = pl_tree_dig(config, "metadata.generateName");
    pl_tree_setz(&ctx->arena, object, "apiVersion", pl_tree_getz(config, "apiVersion"));
    pl_tree_setz(&ctx->arena, object, "kind", pl_tree_getz(config, "kind"));
    pl_tree_setz(&ctx->arena, meta, "name", pl_tree_str(&ctx->arena, ctx->request.name));
    if (!is_new)
        return;
    if (pl_tree_text(prefix).len > 0)
        pl_tree_setz(&ctx->arena, meta, "generateName", prefix);
    pl_tree_removez(meta, "resourceVersion");
}

static int patch_apply(struct pl_api_ctx *ctx, struct pl_api_entry *entry)
{
    struct pl_tree *config = pl_api_read_config(ctx);
    if (config == NULL || check_config(ctx, config) != 0 || pl_api_check_place(ctx, config) != 0)
        return -1;
    struct pl_slice uid = pl_tree_text_at(config, "metadata.uid");
    if (entry == NULL && uid.len > 0)
        return pl_api_fail_conflict(ctx, ctx->request.name,
                                    pl_arena_f(&ctx->arena,
                                               "uid mismatch: the provided object specified uid "
                                               "%.*s, and no existing object was found",
                                               PL_FMT(uid))
                                        .ptr);
    if (entry == NULL && ctx->request.subresource.len > 0)
        return pl_api_fail_not_found(ctx, ctx->request.name);
    struct pl_api_writer writer = pl_api_writer_of(ctx);
    struct pl_tree *live = entry != NULL ? pl_api_load(ctx, entry->doc) : NULL;
    if (entry != NULL && live == NULL)
        return -1;
    struct pl_tree *stated = pl_tree_copy(&ctx->arena, config);
    if (pl_api_body_read_applied(ctx, stated) != 0 || pl_api_shape_config(ctx, stated) != 0 ||
        check_managers(ctx, &writer, live, stated) != 0)
        return -1;
    struct pl_tree *object =
        pl_api_managed_apply(&writer, live, stated, ctx->request.force, &ctx->status);
    if (object == NULL || (entry == NULL && pl_api_check_name(ctx, pl_api_name_of(config)) != 0))
        return -1;
    pl_api_body_drop_nulls(ctx, object);
    note_last_applied(ctx, config, object);
    carry_identity(ctx, config, object);
    name_applied(ctx, config, object, entry == NULL);
    if (entry == NULL)
        return pl_api_store_new(ctx, object, true);
    return pl_api_store_change(ctx, entry, object,
                               &(struct pl_api_change_options){.by_apply = true});
}

int pl_api_patch(struct pl_api_ctx *ctx)
{
    if (patch_check_options(ctx) != 0 || pl_api_check_options(ctx, "PatchOptions") != 0)
        return -1;
    struct pl_slice key = pl_api_key(&ctx->arena, ctx->request.ns, ctx->request.name);
    struct pl_api_entry *entry = pl_api_table_find(ctx->type->table, key);
    if (ctx->request.body_form == PL_API_APPLY)
        return patch_apply(ctx, entry);
    if (entry == NULL)
        return pl_api_fail_not_found(ctx, ctx->request.name);
    return patch_existing(ctx, entry);
}
