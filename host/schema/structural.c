/* Applies a structural schema to a custom object: prunes unknown fields and fills in defaults.
 * Unknown fields are kept only where the schema says so (x-kubernetes-preserve-unknown-fields).
 * schema_check.c validates. */
#include "schema/structural.h"

#include <stdlib.h>

static void structural_report(struct pl_arena *arena, struct pl_tree *unknown, struct pl_slice path,
                              struct pl_slice key)
{
    if (unknown != NULL)
        pl_tree_push(arena, unknown, pl_tree_str(arena, pl_arena_path(arena, path, key)));
}

/* ---- metadata ---- */

void pl_api_prune_metadata(struct pl_arena *arena, struct pl_tree *object, bool keep_empty,
                           struct pl_tree *unknown)
{
    static const char known[][28] = {
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "labels",
        "annotations",
        "deletionGracePeriodSeconds",
        "finalizers",
        "ownerReferences",
        "managedFields",
    };
    struct pl_tree *meta = pl_tree_getz(object, "metadata");
    PL_TREE_FOR(item, meta)
    {
        bool keep = false;
        for (size_t i = 0; i < PL_ARRAY_LEN(known) && !keep; i++)
            keep = pl_slice_eqz(item->key, known[i]);
        bool empty = item->value->type == PL_NULL ||
                     (item->value->count == 0 &&
                      (item->value->type == PL_OBJECT || item->value->type == PL_ARRAY));
        if (!keep)
            structural_report(arena, unknown, pl_slice_z("metadata"), item->key);
        if (!keep || (empty && !keep_empty))
            pl_tree_unlink(meta, item);
    }
    if (meta != NULL)
        pl_tree_removez(meta, "selfLink");
}

/* ---- pruning ---- */

struct pruning {
    struct pl_arena *arena;
    struct pl_tree *unknown;
    bool keeps_nulls;
};

static void prune(struct pruning *p, struct pl_tree *value, struct pl_node schema,
                  struct pl_slice path);

static bool is_bad_null(const struct pruning *p, const struct pl_tree *value, struct pl_node schema)
{
    return !p->keeps_nulls && value->type == PL_NULL && !pl_node_flagz(schema, "nullable");
}

bool pl_api_is_envelope(struct pl_slice member)
{
    return pl_slice_eqz(member, "apiVersion") || pl_slice_eqz(member, "kind") ||
           pl_slice_eqz(member, "metadata");
}

static void prune_object(struct pruning *p, struct pl_tree *value, struct pl_node schema,
                         struct pl_slice path, bool is_resource)
{
    bool preserve = pl_node_flagz(schema, "x-kubernetes-preserve-unknown-fields");
    struct pl_node properties = pl_node_getz(schema, "properties");
    struct pl_node additional = pl_node_getz(schema, "additionalProperties");
    bool any = pl_node_type(additional) == PL_OBJECT || pl_node_bool(additional);
    PL_TREE_FOR(item, value)
    {
        if (is_resource && pl_api_is_envelope(item->key))
            continue;
        struct pl_node inner = pl_node_get(properties, item->key);
        if (pl_node_is_missing(inner) && any) {
            bool typed = pl_node_type(additional) == PL_OBJECT;
            if (typed && is_bad_null(p, item->value, additional))
                pl_tree_unlink(value, item);
            else if (typed)
                prune(p, item->value, additional, pl_arena_path(p->arena, path, item->key));
        } else if (pl_node_is_missing(inner)) {
            if (preserve)
                continue;
            structural_report(p->arena, p->unknown, path, item->key);
            pl_tree_unlink(value, item);
        } else if (is_bad_null(p, item->value, inner)) {
            pl_tree_unlink(value, item);
        } else {
            prune(p, item->value, inner, pl_arena_path(p->arena, path, item->key));
        }
    }
}

static void prune(struct pruning *p, struct pl_tree *value, struct pl_node schema,
                  struct pl_slice path)
{
    if (value->type == PL_OBJECT) {
        prune_object(p, value, schema, path,
                     pl_node_flagz(schema, "x-kubernetes-embedded-resource"));
    } else if (value->type == PL_ARRAY) {
        struct pl_node items = pl_node_getz(schema, "items");
        size_t i = 0;
        if (pl_node_is_missing(items))
            return;
        PL_TREE_FOR(item, value)
        prune(p, item->value, items, pl_arena_f(p->arena, "%.*s[%zu]", PL_FMT(path), i++));
    }
}

static int compare_texts(const void *a, const void *b)
{
    const struct pl_tree *const *left = a, *const *right = b;
    return pl_slice_cmp((*left)->text, (*right)->text);
}

/* Fields are listed in the order of their paths. */
static void add_sorted(struct pl_arena *arena, struct pl_tree *to, const struct pl_tree *texts)
{
    struct pl_tree **sorted = pl_arena_alloc(arena, (texts->count + 1) * sizeof(*sorted));
    size_t count = 0;
    PL_TREE_FOR(item, texts)
    sorted[count++] = item->value;
    qsort(sorted, count, sizeof(*sorted), compare_texts);
    for (size_t i = 0; i < count; i++)
        pl_tree_push(arena, to, sorted[i]);
}

static void prune_all(struct pruning *p, struct pl_tree *object, struct pl_node schema,
                      struct pl_tree *unknown)
{
    if (pl_node_is_missing(schema))
        return;
    if (unknown != NULL)
        p->unknown = pl_tree_array(p->arena);
    prune_object(p, object, schema, pl_slice("", 0), true);
    if (unknown != NULL && p->unknown->count > 0)
        add_sorted(p->arena, unknown, p->unknown);
}

void pl_api_structural_prune(struct pl_arena *arena, struct pl_tree *object, struct pl_node schema,
                             struct pl_tree *unknown)
{
    prune_all(&(struct pruning){.arena = arena}, object, schema, unknown);
}

void pl_api_structural_prune_applied(struct pl_arena *arena, struct pl_tree *object,
                                     struct pl_node schema, struct pl_tree *unknown)
{
    prune_all(&(struct pruning){.arena = arena, .keeps_nulls = true}, object, schema, unknown);
}

/* ---- defaults ---- */

void pl_api_structural_default(struct pl_arena *arena, struct pl_tree *object,
                               struct pl_node schema)
{
    struct pl_node additional = pl_node_getz(schema, "additionalProperties");
    struct pl_node properties = pl_node_getz(schema, "properties");
    if (pl_tree_is(object, PL_ARRAY)) {
        PL_TREE_FOR(item, object)
        pl_api_structural_default(arena, item->value, pl_node_getz(schema, "items"));
        return;
    }
    if (!pl_tree_is(object, PL_OBJECT))
        return;
    struct pl_iter it = pl_iter(properties);
    while (pl_iter_next(&it)) {
        struct pl_node value = pl_node_getz(it.value, "default");
        struct pl_tree *old = pl_tree_get(object, it.key);
        if (!pl_node_is_missing(value) &&
            (old == NULL || (old->type == PL_NULL && !pl_node_flagz(it.value, "nullable"))))
            pl_tree_set(arena, object, it.key, pl_tree_from_node(arena, value));
    }
    PL_TREE_FOR(item, object)
    {
        struct pl_node inner = pl_node_get(properties, item->key);
        if (pl_node_is_missing(inner) && pl_node_type(additional) == PL_OBJECT)
            inner = additional;
        if (!pl_node_is_missing(inner))
            pl_api_structural_default(arena, item->value, inner);
    }
}
