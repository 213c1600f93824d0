/* The schemas of kinds in OpenAPI documents: of built-in kinds from the packed table, of custom
 * kinds from their CRD. OpenAPI 2 cannot express some parts of CRD schemas; these are left out, as
 * in kube-apiserver. The CRD's document is only read. The depth of schemas was limited when the CRD
 * was accepted. */
#include "apiinfo/openapi_document.h"

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

struct pl_tree *pl_openapi_gvk(struct pl_openapi *doc, const char *group, const char *version,
                               const char *kind)
{
    struct pl_tree *gvk = pl_tree_object(doc->to.arena);
    pl_tree_set_strz(doc->to.arena, gvk, "group", group);
    pl_tree_set_strz(doc->to.arena, gvk, "kind", kind);
    pl_tree_set_strz(doc->to.arena, gvk, "version", version);
    return gvk;
}

static void openapi_mark(struct pl_openapi *doc, struct pl_tree *schema,
                         const struct pl_api_version *v, const char *kind)
{
    static const char key[] = "x-kubernetes-group-version-kind";
    struct pl_tree *kinds = pl_tree_getz(schema, key);
    if (kinds == NULL) {
        kinds = pl_tree_array(doc->to.arena);
        pl_tree_setz(doc->to.arena, schema, key, kinds);
    }
    pl_tree_push(doc->to.arena, kinds, pl_openapi_gvk(doc, v->group, v->name, kind));
}

/* "stable.example.com", "v1", "Widget" -> "com.example.stable.v1.Widget" */
static struct pl_slice openapi_custom_name(struct pl_arena *arena, const struct pl_api_version *v,
                                           const char *kind)
{
    struct pl_slice group = pl_slice_z(v->group), name = {"", 0};
    while (group.len > 0) {
        size_t len = 0;
        while (len < group.len && group.ptr[len] != '.')
            len++;
        name = pl_arena_f(arena, "%.*s.%.*s", (int)len, group.ptr, PL_FMT(name));
        len += len < group.len;
        group = pl_slice(group.ptr + len, group.len - len);
    }
    return pl_arena_f(arena, "%.*s%s.%s", PL_FMT(name), v->name, kind);
}

/* ---- CRD schemas in each version of OpenAPI ---- */

static bool openapi_says(const struct pl_tree *schema, const char *key)
{
    const struct pl_tree *value = pl_tree_getz(schema, key);
    return pl_tree_is(value, PL_BOOL) && value->boolean;
}

/* A value that may be null or of any type gets no schema of members: clients would refuse it. */
static void openapi_leave_out(struct pl_tree *schema)
{
    static const char unknown[][16] = {"nullable", "default", "oneOf",   "anyOf",
                                       "not",      "allOf",   "example", "externalDocs"};
    bool nullable = openapi_says(schema, "nullable");
    bool open = openapi_says(schema, "x-kubernetes-preserve-unknown-fields");
    if (nullable || open || openapi_says(schema, "x-kubernetes-int-or-string"))
        pl_tree_removez(schema, "type");
    if (nullable || open) {
        pl_tree_removez(schema, "items");
        pl_tree_removez(schema, "properties");
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(unknown); i++)
        pl_tree_removez(schema, unknown[i]);
}

static void openapi_adapt(const struct pl_openapi *doc, struct pl_tree *schema)
{
    if (!pl_tree_is(schema, PL_OBJECT))
        return;
    if (doc->to.is_swagger)
        openapi_leave_out(schema);
    else if (openapi_says(schema, "x-kubernetes-int-or-string"))
        pl_tree_default(
            doc->to.arena, schema, "anyOf",
            pl_tree_literal(doc->to.arena, "[{\"type\":\"integer\"},{\"type\":\"string\"}]"));
    PL_TREE_FOR(item, pl_tree_getz(schema, "properties"))
    openapi_adapt(doc, item->value);
    openapi_adapt(doc, pl_tree_getz(schema, "items"));
    openapi_adapt(doc, pl_tree_getz(schema, "additionalProperties"));
}

/* ---- kinds ---- */

static struct pl_tree *openapi_of_meta(struct pl_openapi *doc, const char *name)
{
    pl_describe_message(&doc->to, pl_message_find(pl_slice_z(name)));
    return pl_describe_member(&doc->to, pl_slice_z(name), !doc->to.is_swagger);
}

/* A custom kind's schema with the members that every object has. */
static struct pl_tree *openapi_of_custom(struct pl_openapi *doc, const struct pl_api_version *v)
{
    struct pl_arena *arena = doc->to.arena;
    struct pl_tree *schema = pl_node_is_missing(v->schema) ? pl_describe_scalar(arena, "object", "")
                                                           : pl_tree_from_node(arena, v->schema);
    openapi_adapt(doc, schema);
    pl_tree_set_strz(arena, schema, "type", "object");
    struct pl_tree *properties = pl_tree_child(arena, schema, "properties");
    pl_tree_setz(arena, properties, "apiVersion", pl_describe_scalar(arena, "string", ""));
    pl_tree_setz(arena, properties, "kind", pl_describe_scalar(arena, "string", ""));
    struct pl_tree *meta = openapi_of_meta(doc, META "ObjectMeta");
    pl_tree_removez(meta, "default");
    pl_tree_setz(arena, properties, "metadata", meta);
    return schema;
}

static void openapi_add_list(struct pl_openapi *doc, const struct pl_api_type *type,
                             const struct pl_api_version *v, struct pl_slice name)
{
    struct pl_arena *arena = doc->to.arena;
    struct pl_slice list_name = pl_arena_f(arena, "%.*sList", PL_FMT(name));
    if (pl_tree_get(doc->to.schemas, list_name) != NULL)
        return;
    struct pl_tree *schema = pl_describe_scalar(arena, "object", "");
    struct pl_tree *required = pl_tree_array(arena), *properties = pl_tree_object(arena);
    struct pl_tree *items = pl_describe_scalar(arena, "array", "");
    pl_tree_push(arena, required, pl_tree_strz(arena, "items"));
    pl_tree_setz(arena, schema, "required", required);
    pl_tree_setz(arena, schema, "properties", properties);
    pl_tree_setz(arena, items, "items", pl_describe_ref(&doc->to, name));
    pl_tree_setz(arena, properties, "apiVersion", pl_describe_scalar(arena, "string", ""));
    pl_tree_setz(arena, properties, "items", items);
    pl_tree_setz(arena, properties, "kind", pl_describe_scalar(arena, "string", ""));
    struct pl_tree *meta = openapi_of_meta(doc, META "ListMeta");
    if (type->is_custom)
        pl_tree_removez(meta, "default");
    pl_tree_setz(arena, properties, "metadata", meta);
    openapi_mark(doc, schema, v, type->list_kind);
    pl_tree_set(arena, doc->to.schemas, list_name, schema);
}

struct pl_slice pl_openapi_add_kind(struct pl_openapi *doc, const struct pl_api_type *type,
                                    const struct pl_api_version *v)
{
    struct pl_message message = {NULL};
    if (!type->is_custom)
        message =
            pl_message_of_kind(pl_slice_z(v->group), pl_slice_z(v->name), pl_slice_z(type->kind));
    struct pl_slice name;
    struct pl_tree *schema;
    if (!pl_message_is_none(message)) {
        name = pl_slice_z(pl_message_name(message));
        schema = pl_describe_message(&doc->to, message);
    } else {
        name = openapi_custom_name(doc->to.arena, v, type->kind);
        schema = openapi_of_custom(doc, v);
        pl_tree_set(doc->to.arena, doc->to.schemas, name, schema);
    }
    openapi_mark(doc, schema, v, type->kind);
    if (!(type->flags & PL_API_REVIEW))
        openapi_add_list(doc, type, v, name);
    return name;
}
