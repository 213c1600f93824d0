/* The plug-in ResourceQuota, as in kube-apiserver. The usage of an object is added to the used
 * amounts in the quota's status, and an object that would exceed a limit is refused. A quota
 * without a counted status is counted here, so it holds from the beginning. The new amounts are
 * written when the object is stored. apiserver/quotas.c counts again after deletions. */
#include "admission/quota.h"

#include "admission/quota_usage.h"

#include <string.h>

#define QUOTAS_MAX 100 /* limit of a namespace's quotas that are checked */

static struct pl_api_table *quota_table(const struct pl_api *api)
{
    return pl_api_builtin_table(api->registry, "", "resourcequotas");
}

/* ---- counting a namespace ---- */

/* True when the object is in all scopes of the quota. */
static bool is_in_scopes(const struct pl_api_type *type, const struct pl_tree *object,
                         const struct pl_tree *quota)
{
    PL_TREE_FOR(item, pl_tree_dig(quota, "spec.scopes"))
    if (!pl_usage_in_scope(type, object, pl_tree_text(item->value), pl_slice("", 0), NULL))
        return false;
    PL_TREE_FOR(item, pl_tree_dig(quota, "spec.scopeSelector.matchExpressions"))
    if (!pl_usage_in_scope(type, object, pl_tree_text_at(item->value, "scopeName"),
                           pl_tree_text_at(item->value, "operator"),
                           pl_tree_getz(item->value, "values")))
        return false;
    return true;
}

static bool covers_any(const struct pl_usage *usage, const struct pl_api_type *type,
                       const struct pl_tree *hard)
{
    PL_TREE_FOR(item, hard)
    if (pl_usage_covers(usage, type, item->key))
        return true;
    return false;
}

/* Adds the usage of all objects of one kind in the namespace. */
static void count_kind(struct pl_arena *arena, struct pl_usage *used,
                       const struct pl_api_type *type, const struct pl_tree *quota)
{
    const struct pl_tree *hard = pl_tree_dig(quota, "spec.hard");
    struct pl_usage *one = pl_arena_alloc(arena, sizeof *one);
    pl_usage_of(arena, one, type, pl_tree_object(arena));
    struct pl_slice first = one->list[0].name; /* "count/..." */
    bool special = !type->is_custom && *pl_api_type_group(type) == '\0';
    if (!special && pl_tree_get(hard, first) == NULL)
        return;
    struct pl_api_span span =
        pl_api_table_span(type->table, pl_tree_text_at(quota, "metadata.namespace"));
    for (size_t i = span.first; i < span.end; i++) {
        struct pl_tree *object =
            pl_tree_from_node(arena, pl_doc_root(type->table->entries[i]->doc));
        pl_usage_of(arena, one, type, object);
        if (!covers_any(one, type, hard))
            return; /* then it covers no object of the kind */
        if (!is_in_scopes(type, object, quota))
            continue;
        for (size_t k = 0; k < one->count; k++)
            if (pl_tree_get(hard, one->list[k].name) != NULL)
                pl_usage_add(used, one->list[k].name, one->list[k].amount);
    }
}

/* The quota's status.used, counted from the stored objects. */
static struct pl_tree *count_all(struct pl_api *api, struct pl_arena *arena,
                                 const struct pl_tree *quota)
{
    struct pl_usage *used = pl_arena_alloc(arena, sizeof *used);
    struct pl_tree *out = pl_tree_object(arena);
    used->count = 0;
    PL_TREE_FOR(item, pl_tree_dig(quota, "spec.hard"))
    pl_usage_add(used, item->key, (struct pl_amount){0, false});
    for (const struct pl_api_type *type = pl_api_registry_first(api->registry); type != NULL;
         type = type->next)
        if ((type->flags & PL_API_NAMESPACED) && !(type->flags & PL_API_REVIEW) &&
            type->table->count > 0)
            count_kind(arena, used, type, quota);
    for (size_t i = 0; i < used->count; i++)
        pl_tree_set(arena, out, used->list[i].name,
                    pl_tree_str(arena, pl_amount_text(arena, used->list[i].amount)));
    return out;
}

static void write_status(struct pl_api *api, struct pl_arena *arena, struct pl_api_entry *entry,
                         const struct pl_tree *hard, struct pl_tree *used)
{
    if (hard == NULL)
        return; /* it limits nothing */
    struct pl_tree *quota = pl_tree_from_node(arena, pl_doc_root(entry->doc));
    struct pl_tree *status = pl_tree_child(arena, quota, "status");
    if (pl_tree_equal(pl_tree_getz(status, "hard"), hard) &&
        pl_tree_equal(pl_tree_getz(status, "used"), used))
        return;
    pl_tree_setz(arena, status, "hard", pl_tree_copy(arena, hard));
    pl_tree_setz(arena, status, "used", used);
    pl_api_storage_put(api->storage, arena, entry->type, pl_slice_z(entry->key), quota);
}

void pl_api_quota_count(struct pl_api *api, struct pl_slice ns)
{
    const struct pl_api_table *table = quota_table(api);
    struct pl_arena arena = {0};
    struct pl_api_span span = pl_api_table_span(table, ns);
    for (size_t i = span.first; i < span.end; i++) {
        struct pl_tree *quota = pl_tree_from_node(&arena, pl_doc_root(table->entries[i]->doc));
        write_status(api, &arena, table->entries[i], pl_tree_dig(quota, "spec.hard"),
                     count_all(api, &arena, quota));
    }
    pl_arena_deinit(&arena);
}

/* ---- one request ---- */

/* A request, checked against one quota. */
struct asked {
    struct pl_api_ctx *ctx;
    const struct pl_tree *object, *old; /* old NULL: the object is new */
    struct pl_usage *usage;             /* usage that the request adds */
    struct pl_tree *quota;
    const struct pl_tree *hard;
    struct pl_tree *used; /* the quota's used amounts: before the request, then with it */
    struct pl_slice name; /* of the quota */
};

static int quota_refuse(struct asked *a, struct pl_slice why)
{
    return pl_api_forbid(a->ctx, pl_tree_text_at(a->object, "metadata.name"), why);
}

/* Appends to a list such as "pods=1,requests.cpu=2". */
static void add_pair(struct pl_buf *list, struct pl_slice name, struct pl_slice text)
{
    pl_buf_add_f(list, "%s%.*s=%.*s", list->len > 0 ? "," : "", PL_FMT(name), PL_FMT(text));
}

static int refuse_exceeded(struct asked *a, const struct pl_buf lists[3])
{
    return quota_refuse(a, pl_arena_f(&a->ctx->arena,
                                      "exceeded quota: %.*s, requested: %.*s, used: %.*s, limited: "
                                      "%.*s",
                                      PL_FMT(a->name), PL_FMT(pl_buf_slice(&lists[0])),
                                      PL_FMT(pl_buf_slice(&lists[1])),
                                      PL_FMT(pl_buf_slice(&lists[2]))));
}

/* Adds the usage of the request to the used amounts; refuses it with -1 when that exceeds a limit.
 */
static int add_usage(struct asked *a)
{
    struct pl_arena *arena = &a->ctx->arena;
    struct pl_buf lists[3] = {PL_BUF_INIT, PL_BUF_INIT, PL_BUF_INIT};
    struct pl_tree *limits = pl_tree_copy(arena, a->hard), *sums = pl_tree_copy(arena, a->used);
    pl_tree_sort(limits); /* the message lists resources by name */
    PL_TREE_FOR(item, limits)
    {
        const struct pl_amount *more = pl_usage_get(a->usage, item->key);
        struct pl_amount limit, before = {0, false};
        if (more == NULL || more->milli == 0 || !pl_amount_read(item->value, &limit))
            continue;
        pl_amount_read(pl_tree_get(a->used, item->key), &before);
        struct pl_usage sum = {.count = 0};
        pl_usage_add(&sum, item->key, before);
        pl_usage_add(&sum, item->key, *more);
        pl_tree_set(arena, sums, item->key,
                    pl_tree_str(arena, pl_amount_text(arena, sum.list[0].amount)));
        if (sum.list[0].amount.milli <= limit.milli || more->milli < 0)
            continue;
        add_pair(&lists[0], item->key, pl_amount_text(arena, *more));
        add_pair(&lists[1], item->key, pl_amount_text(arena, before));
        add_pair(&lists[2], item->key, pl_amount_text(arena, limit));
    }
    int code = lists[0].len > 0 ? refuse_exceeded(a, lists) : 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        pl_buf_deinit(&lists[i]);
    a->used = sums;
    return code;
}

/* Resources of the quota that cover the object but have no amount in the quota's status. */
static struct pl_slice uncounted(struct asked *a)
{
    struct pl_buf text = PL_BUF_INIT;
    struct pl_tree *limits = pl_tree_copy(&a->ctx->arena, a->hard);
    pl_tree_sort(limits);
    PL_TREE_FOR(item, limits)
    if (pl_usage_covers(a->usage, a->ctx->type, item->key) &&
        pl_tree_get(a->used, item->key) == NULL)
        pl_buf_add_f(&text, "%s%.*s", text.len > 0 ? "," : "", PL_FMT(item->key));
    struct pl_slice out = pl_arena_copy(&a->ctx->arena, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return out;
}

static int check_quota(struct asked *a, struct pl_api_entry *entry)
{
    struct pl_api_ctx *ctx = a->ctx;
    struct pl_arena *arena = &ctx->arena;
    a->quota = pl_tree_from_node(arena, pl_doc_root(entry->doc));
    a->name = pl_tree_text_at(a->quota, "metadata.name");
    a->hard = pl_tree_dig(a->quota, "status.hard");
    a->used = pl_tree_dig(a->quota, "status.used");
    bool counted = a->hard != NULL && a->hard->count > 0;
    if (!counted)
        a->hard = pl_tree_dig(a->quota, "spec.hard");
    if (!covers_any(a->usage, ctx->type, a->hard) || !is_in_scopes(ctx->type, a->object, a->quota))
        return 0;
    if (!counted)
        a->used = count_all(ctx->api, arena, a->quota);
    struct pl_slice missing = pl_api_type_is_builtin(ctx->type, "Pod")
                                  ? pl_usage_missing(arena, a->object, a->hard)
                                  : pl_slice("", 0);
    if (missing.len > 0)
        return quota_refuse(a, pl_arena_f(arena, "failed quota: %.*s: must specify %.*s",
                                          PL_FMT(a->name), PL_FMT(missing)));
    struct pl_slice unknown = uncounted(a);
    if (unknown.len > 0)
        return quota_refuse(a, pl_arena_f(arena, "status unknown for quota: %.*s, resources: %.*s",
                                          PL_FMT(a->name), PL_FMT(unknown)));
    if (a->used == NULL)
        a->used = pl_tree_object(arena);
    if (add_usage(a) != 0)
        return -1;
    if (ctx->charges == NULL)
        ctx->charges = pl_tree_object(arena);
    struct pl_tree *charge = pl_tree_object(arena);
    pl_tree_setz(arena, charge, "hard", pl_tree_copy(arena, a->hard));
    pl_tree_setz(arena, charge, "used", a->used);
    pl_tree_set(arena, ctx->charges, pl_slice_z(entry->key), charge);
    return 0;
}

/* True for requests that can raise the usage. */
static bool is_handled(const struct pl_api_ctx *ctx, const struct pl_tree *object,
                       const struct pl_tree *old)
{
    struct pl_slice sub = ctx->request.subresource;
    bool pod = pl_api_type_is_builtin(ctx->type, "Pod");
    if (sub.len > 0)
        return pod && pl_slice_eqz(sub, "resize");
    if (old == NULL)
        return true;
    if (pod)
        return (pl_tree_dig(object, "spec.activeDeadlineSeconds") == NULL) !=
               (pl_tree_dig(old, "spec.activeDeadlineSeconds") == NULL);
    return pl_api_type_is_builtin(ctx->type, "Service") ||
           pl_api_type_is_builtin(ctx->type, "PersistentVolumeClaim");
}

/* Subtracts the usage of the old object; a negative result becomes 0. */
static void subtract(struct pl_usage *usage, const struct pl_usage *was)
{
    for (size_t i = 0; i < usage->count; i++) {
        const struct pl_amount *before = pl_usage_get(was, usage->list[i].name);
        int64_t *milli = &usage->list[i].amount.milli;
        if (before != NULL)
            *milli = *milli > before->milli ? *milli - before->milli : 0;
    }
}

int pl_api_quota_check(struct pl_api_ctx *ctx, const struct pl_tree *object,
                       const struct pl_tree *old)
{
    const struct pl_api_table *table = quota_table(ctx->api);
    if (table->count == 0 || !(ctx->type->flags & PL_API_NAMESPACED) ||
        !is_handled(ctx, object, old))
        return 0;
    struct pl_arena *arena = &ctx->arena;
    struct asked a = {.ctx = ctx, .object = object, .old = old};
    struct pl_api_span span = pl_api_table_span(table, ctx->request.ns);
    a.usage = pl_arena_alloc(arena, sizeof *a.usage);
    pl_usage_of(arena, a.usage, ctx->type, object);
    if (old != NULL) {
        struct pl_usage *was = pl_arena_alloc(arena, sizeof *was);
        pl_usage_of(arena, was, ctx->type, old);
        subtract(a.usage, was);
    }
    for (size_t i = span.first; i < span.end && i - span.first < QUOTAS_MAX; i++)
        if (check_quota(&a, table->entries[i]) != 0)
            return -1;
    return 0;
}

void pl_api_quota_charge(struct pl_api_ctx *ctx)
{
    const struct pl_api_table *table = quota_table(ctx->api);
    PL_TREE_FOR(item, ctx->request.dry_run ? NULL : ctx->charges)
    {
        struct pl_api_entry *entry = pl_api_table_find(table, item->key);
        if (entry != NULL)
            write_status(ctx->api, &ctx->arena, entry, pl_tree_getz(item->value, "hard"),
                         pl_tree_getz(item->value, "used"));
    }
    ctx->charges = NULL;
}
