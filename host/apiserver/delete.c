/* Deletes one object or many: preconditions, deletion marks, answers.
 *
 * An object with finalizers is marked and stays; one without finalizers is removed at once. The
 * write that removes the last finalizer removes the object (change.c). Foreground and orphan
 * deletion are finalizers, too; gc.c handles them. deletecollection selects its objects before it
 * deletes the first one, because deletions move the table. */
#include "apicall/admit.h"
#include "apicall/convert.h"
#include "apicall/select.h"
#include "apiserver/steps.h"
#include "apiserver/verbs.h"
#include "base/alloc.h"
#include "base/text.h"
#include "format/units.h"
#include "object/meta.h"
#include "schema/crd.h"

#include <inttypes.h>
#include <string.h>

#define FOREGROUND "foregroundDeletion"
#define ORPHAN     "orphan"

/* ---- preconditions ---- */

static int fail_precondition(struct pl_api_ctx *ctx, const struct pl_api_entry *entry,
                             struct pl_slice why)
{
    struct pl_scratch scratch;
    struct pl_slice name = pl_meta_name(pl_doc_root(entry->doc), &scratch);
    struct pl_slice group = pl_slice_z(pl_api_ctx_version(ctx)->group);
    pl_api_fail(&ctx->status, 409, "Conflict",
                "Operation cannot be fulfilled on %s%s%.*s \"%.*s\": %.*s", ctx->type->kind,
                group.len > 0 ? "." : "", PL_FMT(group), PL_FMT(name), PL_FMT(why));
    pl_api_fail_about(&ctx->status, group, pl_slice_z(ctx->type->kind), name);
    return -1;
}

static int check_preconditions(struct pl_api_ctx *ctx, const struct pl_api_entry *entry,
                               const struct pl_api_delete_options *options)
{
    struct pl_arena *arena = &ctx->arena;
    if (options->uid.len > 0 && !pl_slice_eqz(options->uid, entry->uid))
        return fail_precondition(
            ctx, entry,
            pl_arena_f(arena,
                       "the UID in the precondition (%.*s) does not match the UID in record (%s). "
                       "The object might have been deleted and then recreated",
                       PL_FMT(options->uid), entry->uid));
    struct pl_slice rv = pl_arena_f(arena, "%" PRIu64, entry->rv);
    if (options->rv.len > 0 && !pl_slice_eq(options->rv, rv))
        return fail_precondition(
            ctx, entry,
            pl_arena_f(arena,
                       "the ResourceVersion in the precondition (%.*s) does not match the "
                       "ResourceVersion in record (%.*s). The object might have been modified",
                       PL_FMT(options->rv), PL_FMT(rv)));
    return 0;
}

/* An unsafe deletion is only for objects that can't be read from storage. Here all can be read. */
static int check_unsafe(struct pl_api_ctx *ctx, const struct pl_api_entry *entry,
                        const struct pl_api_delete_options *options)
{
    if (!options->is_unsafe)
        return 0;
    return pl_api_fail_storage(
        ctx, ctx->request.name, entry,
        "unsafe deletion is not allowed because the object is decodable from storage");
}

static int check_immortal(struct pl_api_ctx *ctx, const struct pl_api_entry *entry)
{
    static const char immortal[][12] = {"default", "kube-system", "kube-public"};
    if (!pl_api_type_is_builtin(ctx->type, "Namespace"))
        return 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(immortal); i++) {
        if (strcmp(entry->key, immortal[i]) != 0)
            continue;
        pl_api_fail(&ctx->status, 403, "Forbidden",
                    "namespaces \"%s\" is forbidden: this namespace may not be deleted",
                    entry->key);
        pl_api_fail_about(&ctx->status, pl_slice_z(""), pl_slice_z("namespaces"),
                          pl_slice_z(entry->key));
        return -1;
    }
    return 0;
}

/* ---- deleting one ---- */

static void set_finalizer(struct pl_arena *arena, struct pl_tree *meta, const char *name, bool on)
{
    struct pl_tree *list = pl_tree_getz(meta, "finalizers");
    bool has = false;
    PL_TREE_FOR(item, list)
    {
        if (!pl_slice_eqz(pl_tree_text(item->value), name))
            continue;
        has = true;
        if (!on)
            pl_tree_unlink(list, item);
    }
    if (on && !has) {
        if (list == NULL) {
            list = pl_tree_array(arena);
            pl_tree_setz(arena, meta, "finalizers", list);
        }
        pl_tree_push(arena, list, pl_tree_strz(arena, name));
    }
    if (list != NULL && list->count == 0)
        pl_tree_removez(meta, "finalizers");
}

/* ---- the grace period of Pods ---- */

/* Only a Pod on a node that has not ended waits; other Pods are removed at once. */
static int64_t grace_of(const struct pl_api_ctx *ctx, const struct pl_tree *object,
                        const struct pl_api_delete_options *options)
{
    struct pl_slice phase = pl_tree_text_at(object, "status.phase");
    int64_t seconds = 0;
    if (!options->is_graceful || !pl_api_type_is_builtin(ctx->type, "Pod") ||
        pl_tree_text_at(object, "spec.nodeName").len == 0 || pl_slice_eqz(phase, "Succeeded") ||
        pl_slice_eqz(phase, "Failed"))
        return 0;
    if (options->has_grace)
        seconds = options->grace_s;
    else
        pl_tree_integer(pl_tree_dig(object, "spec.terminationGracePeriodSeconds"), &seconds);
    return seconds < 0 ? 1 : seconds;
}

static void set_times(struct pl_api_ctx *ctx, struct pl_tree *meta, int64_t ends_ns,
                      int64_t seconds)
{
    char text[40];
    pl_time_text(ends_ns, 0, text);
    pl_tree_set_strz(&ctx->arena, meta, "deletionTimestamp", text);
    pl_tree_setz(&ctx->arena, meta, "deletionGracePeriodSeconds",
                 pl_tree_int(&ctx->arena, seconds));
}

/* A running grace period can only get shorter. True if it does. */
static bool shorten(struct pl_api_ctx *ctx, struct pl_tree *object,
                    const struct pl_api_delete_options *options)
{
    struct pl_tree *meta = pl_tree_getz(object, "metadata");
    int64_t left = 0;
    if (!pl_api_type_is_builtin(ctx->type, "Pod") ||
        !pl_tree_integer(pl_tree_getz(meta, "deletionGracePeriodSeconds"), &left))
        return false;
    bool wants = !options->is_graceful || (options->has_grace && options->grace_s < left);
    int64_t seconds = options->is_graceful && options->grace_s > 0 ? options->grace_s : 0;
    if (!wants || left == 0)
        return false;
    set_times(ctx, meta, pl_clock_wall(ctx->api->timers->clock) + seconds * PL_SECOND, seconds);
    return true;
}

static void mark(struct pl_api_ctx *ctx, struct pl_tree *object, int64_t grace_s)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *meta = pl_tree_child(arena, object, "metadata");
    int64_t generation = 0;
    bool ns = pl_api_type_is_builtin(ctx->type, "Namespace");
    set_times(ctx, meta, pl_clock_wall(ctx->api->timers->clock) + grace_s * PL_SECOND, grace_s);
    bool crd = pl_api_type_is_builtin(ctx->type, "CustomResourceDefinition");
    if (ns || crd)
        pl_tree_removez(meta, "deletionGracePeriodSeconds");
    if (!crd && pl_tree_integer(pl_tree_getz(meta, "generation"), &generation) && generation > 0)
        pl_tree_setz(arena, meta, "generation", pl_tree_int(arena, generation + 1));
    if (ns)
        pl_tree_set_strz(arena, pl_tree_child(arena, object, "status"), "phase", "Terminating");
}

/* An object without finalizers is removed without a mark; only Pods had a grace period. */
static struct pl_doc *remove_now(struct pl_api_ctx *ctx, struct pl_api_entry *entry,
                                 struct pl_tree *marked)
{
    struct pl_api_storage *storage = ctx->api->storage;
    struct pl_tree *last = pl_api_type_is_builtin(ctx->type, "Pod")
                               ? marked
                               : pl_tree_from_node(&ctx->arena, pl_doc_root(entry->doc));
    struct pl_slice rv = pl_arena_f(&ctx->arena, "%" PRIu64, pl_api_storage_rv(storage) + 1);
    pl_api_storage_remove(storage, entry);
    pl_tree_setz(&ctx->arena, pl_tree_child(&ctx->arena, last, "metadata"), "resourceVersion",
                 pl_tree_str(&ctx->arena, rv));
    return pl_tree_doc(last, NULL);
}

/* Kinds whose dependents stay by default. */
static bool orphans(const struct pl_api_type *type)
{
    return pl_api_type_is_builtin(type, "Job") ||
           pl_api_type_is_builtin(type, "ReplicationController");
}

int pl_api_delete_entry(struct pl_api_ctx *ctx, struct pl_api_entry *entry,
                        const struct pl_api_delete_options *options, struct pl_doc **left,
                        bool *gone)
{
    if (check_unsafe(ctx, entry, options) != 0 || check_immortal(ctx, entry) != 0 ||
        check_preconditions(ctx, entry, options) != 0)
        return -1;
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *object = pl_tree_from_node(arena, pl_doc_root(entry->doc));
    struct pl_tree *meta = pl_tree_child(arena, object, "metadata");
    bool deleting = pl_tree_text_at(meta, "deletionTimestamp").len > 0;
    struct pl_tree *before = pl_tree_copy(arena, pl_tree_getz(meta, "finalizers"));
    struct pl_slice policy = options->policy;
    if (policy.len == 0 && options->is_asked && !deleting && orphans(ctx->type))
        policy = pl_slice_z("Orphan");
    if (policy.len > 0) {
        set_finalizer(arena, meta, FOREGROUND, pl_slice_eqz(policy, "Foreground"));
        set_finalizer(arena, meta, ORPHAN, pl_slice_eqz(policy, "Orphan"));
    }
    if (pl_api_type_is_builtin(ctx->type, "CustomResourceDefinition") && !deleting)
        pl_api_crd_mark(arena, object, pl_api_ctx_now(ctx));
    bool changed = deleting && shorten(ctx, object, options);
    if (!deleting)
        mark(ctx, object, grace_of(ctx, object, options));
    *gone = pl_api_is_finished(object);
    if (options->dry_run) {
        bool as_it_is = *gone && !pl_api_type_is_builtin(ctx->type, "Pod");
        *left = as_it_is ? pl_doc_ref(entry->doc) : pl_tree_doc(object, NULL);
    } else if (*gone) {
        *left = remove_now(ctx, entry, object);
    } else if (deleting && !changed && pl_tree_equal(before, pl_tree_getz(meta, "finalizers"))) {
        *left = pl_doc_ref(entry->doc);
    } else {
        entry =
            pl_api_storage_put(ctx->api->storage, arena, ctx->type, pl_slice_z(entry->key), object);
        *left = pl_doc_ref(entry->doc);
    }
    return 0;
}

static void answer_gone(struct pl_api_ctx *ctx, struct pl_slice name, struct pl_slice uid)
{
    struct pl_arena *arena = &ctx->arena;
    struct pl_tree *root = pl_tree_literal(
        arena,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\"}");
    struct pl_tree *details = pl_tree_child(arena, root, "details");
    const char *group = pl_api_ctx_version(ctx)->group;
    pl_tree_setz(arena, details, "name", pl_tree_str(arena, name));
    if (*group != '\0')
        pl_tree_set_strz(arena, details, "group", group);
    pl_tree_set_strz(arena, details, "kind", ctx->type->plural);
    pl_tree_setz(arena, details, "uid", pl_tree_str(arena, uid));
    pl_api_answer_tree(ctx, 200, root);
}

static void warn_of_orphans(struct pl_api_ctx *ctx, const struct pl_api_delete_options *options)
{
    if (options->policy.len == 0 && pl_api_type_is_builtin(ctx->type, "Job"))
        pl_api_warn(ctx,
                    pl_slice_z("child pods are preserved by default when jobs are deleted; set "
                               "propagationPolicy=Background to remove them or set "
                               "propagationPolicy=Orphan to suppress this warning"));
}

int pl_api_delete(struct pl_api_ctx *ctx)
{
    struct pl_api_delete_options options;
    struct pl_slice key = pl_api_key(&ctx->arena, ctx->request.ns, ctx->request.name);
    struct pl_api_entry *entry = pl_api_table_find(ctx->type->table, key);
    struct pl_doc *left;
    bool gone;
    if (pl_api_delete_options_read(ctx, &options) != 0)
        return -1;
    warn_of_orphans(ctx, &options);
    if (entry == NULL)
        return pl_api_fail_not_found(ctx, ctx->request.name);
    if (pl_api_type_is_builtin(ctx->type, "PriorityClass") && ctx->request.name.len > 7 &&
        pl_text_begins(ctx->request.name, "system-"))
        return pl_api_forbid(ctx, ctx->request.name,
                             pl_slice_z("this is a system priority class and cannot be deleted"));
    if (check_preconditions(ctx, entry, &options) != 0) /* before webhooks are called */
        return -1;
    struct pl_slice uid = pl_arena_copy(&ctx->arena, pl_slice_z(entry->uid));
    struct pl_api_admission admission = {.operation = "DELETE",
                                         .old = pl_api_load(ctx, entry->doc)};
    if (admission.old == NULL || pl_api_admit(ctx, &admission) != 0 ||
        pl_api_admit_check(ctx, &admission) != 0)
        return -1;
    if (pl_api_delete_entry(ctx, entry, &options, &left, &gone) != 0)
        return -1;
    if (gone && !(ctx->type->flags & PL_API_RETURNS_DELETED))
        answer_gone(ctx, ctx->request.name, uid);
    else
        pl_api_answer_stored(ctx, !gone && options.says_no_orphans ? 202 : 200, left,
                             pl_tree_copy(&ctx->arena, admission.old));
    pl_doc_unref(left);
    return 0;
}

/* ---- deleting many ---- */

/* The objects of a collection before the first deletion, and their state afterwards. */
struct many {
    struct pl_api_entry **entries;
    struct pl_node *nodes; /* in the request's version */
    struct pl_doc **docs;  /* references; NULL: not deleted */
    size_t count;
    size_t remaining; /* beyond the limit of the request */
};

/* remaining: text of members of the list's metadata, or "". */
static void answer_list(struct pl_api_ctx *ctx, const struct many *many, struct pl_slice remaining)
{
    struct pl_buf out = PL_BUF_INIT;
    char text[PL_KIND_TEXT];
    pl_buf_add_f(&out,
                 "{\"kind\":\"%s\",\"apiVersion\":\"%.*s\",\"metadata\":{%.*s\"resourceVersion\":"
                 "\"%" PRIu64 "\"},\"items\":[",
                 ctx->type->list_kind, PL_FMT(pl_api_version_text(pl_api_ctx_version(ctx), text)),
                 PL_FMT(remaining), pl_api_storage_rv(ctx->api->storage));
    for (size_t i = 0; i < many->count; i++) {
        if (i > 0)
            pl_buf_add_char(&out, ',');
        pl_api_object_write(&out, ctx->type, ctx->version, pl_doc_root(many->docs[i]), true);
    }
    pl_buf_add_z(&out, "]}\n");
    pl_api_answer(ctx, 200, pl_buf_slice(&out));
    pl_buf_deinit(&out);
}

static void delete_choose(struct many *many, struct pl_api_ctx *ctx, const struct pl_api_plan *plan,
                          const struct pl_api_select *select)
{
    const struct pl_api_table *table = ctx->type->table;
    many->entries = pl_calloc(table->count + 1, sizeof(struct pl_api_entry *));
    many->nodes = pl_calloc(table->count + 1, sizeof(struct pl_node));
    many->docs = pl_calloc(table->count + 1, sizeof(struct pl_doc *));
    for (size_t i = 0; i < table->count; i++) {
        struct pl_node root = pl_doc_root(table->entries[i]->doc);
        if (pl_slice_cmp(pl_slice_z(table->entries[i]->key), plan->from) < 0)
            continue;
        if (plan->limit > 0 && many->count == (size_t)plan->limit) {
            many->remaining +=
                select->ns == NULL ||
                pl_node_str_eq(pl_node_dig(root, "metadata", "namespace"), pl_slice_z(select->ns));
            continue;
        }
        if (!pl_api_select_matches(select, root))
            continue;
        many->nodes[many->count] = root;
        many->entries[many->count++] = table->entries[i];
    }
}

static void delete_forget(struct many *many)
{
    for (size_t i = 0; i < many->count; i++)
        pl_doc_unref(many->docs[i]);
    pl_free(many->docs);
    pl_free(many->nodes);
    pl_free(many->entries);
}

/* How many objects may be deleted before the first refused one, with its status. A waiting request
 * runs again, so webhooks are asked about all objects before the first deletion. */
static size_t admit_many(struct pl_api_ctx *ctx, const struct many *many)
{
    size_t i = 0;
    for (; i < many->count && pl_api_admit_any(ctx); i++) {
        struct pl_api_admission admission = {.operation = "DELETE",
                                             .old = pl_tree_from_node(&ctx->arena, many->nodes[i])};
        bool admitted =
            pl_api_admit(ctx, &admission) == 0 && pl_api_admit_check(ctx, &admission) == 0;
        if (!admitted && !ctx->is_waiting)
            return i;
    }
    return many->count;
}

/* The object in the request's version, with the metadata of its last state. */
static void delete_show(struct pl_api_ctx *ctx, struct many *many, size_t i)
{
    if (!pl_api_reshapes(ctx->type, ctx->version))
        return;
    struct pl_tree *shown = pl_tree_from_node(&ctx->arena, many->nodes[i]);
    struct pl_node meta = pl_node_getz(pl_doc_root(many->docs[i]), "metadata");
    if (ctx->type->convert != NULL) {
        struct pl_node root = pl_doc_root(many->docs[i]);
        PL_IGNORE(pl_api_convert_nodes(ctx, &root, 1));
        shown = pl_tree_from_node(&ctx->arena, root);
    } else
        pl_tree_setz(&ctx->arena, shown, "metadata", pl_tree_from_node(&ctx->arena, meta));
    pl_doc_unref(many->docs[i]);
    many->docs[i] = pl_tree_doc(shown, NULL);
}

/* The members of the answer's metadata that tell what is left. */
static struct pl_slice tell_remaining(struct pl_api_ctx *ctx, const struct pl_api_plan *plan,
                                      const struct pl_api_select *select, const struct many *many)
{
    bool is_part = many->remaining > 0;
    bool counts = is_part && select->labels == NULL && select->fields == NULL;
    struct pl_slice none = pl_slice("", 0);
    struct pl_slice next =
        is_part ? pl_api_list_token(ctx, plan, many->nodes[many->count - 1]) : none;
    struct pl_slice count =
        counts ? pl_arena_f(&ctx->arena, "\"remainingItemCount\":%zu,", many->remaining) : none;
    if (!is_part && !ctx->type->is_custom)
        return none;
    return pl_arena_f(&ctx->arena, "\"continue\":\"%.*s\",%.*s", PL_FMT(next), PL_FMT(count));
}

int pl_api_delete_collection(struct pl_api_ctx *ctx)
{
    struct pl_api_delete_options options;
    struct pl_api_plan plan;
    struct pl_api_select select;
    struct many many = {.count = 0};
    if (pl_api_delete_options_read(ctx, &options) != 0 || pl_api_list_plan(ctx, &plan) != 0 ||
        pl_api_select_init(&select, ctx) != 0)
        return -1;
    warn_of_orphans(ctx, &options);
    delete_choose(&many, ctx, &plan, &select);
    struct pl_slice remaining = tell_remaining(ctx, &plan, &select, &many);
    int code = pl_api_convert_nodes(ctx, many.nodes, many.count);
    size_t most = code == 0 ? admit_many(ctx, &many) : 0;
    if (ctx->is_waiting)
        code = -1;
    for (size_t i = 0; i < most && code == 0; i++) {
        bool gone;
        struct pl_doc *before = pl_doc_ref(many.entries[i]->doc);
        code = pl_api_delete_entry(ctx, many.entries[i], &options, &many.docs[i], &gone);
        if (code == 0)
            pl_doc_unref(many.docs[i]);
        many.docs[i] = before;
        if (code == 0)
            delete_show(ctx, &many, i);
    }
    if (most < many.count)
        code = -1; /* the objects before it are deleted, as in a cluster */
    if (code == 0)
        answer_list(ctx, &many, remaining);
    delete_forget(&many);
    pl_api_select_deinit(&select);
    return code;
}
