/* How lists and maps of a kind are merged, from tables (built-in kinds: schema_builtin.c) or from a
 * CRD's OpenAPI. A missing schema is allowed everywhere: fields of unknown kinds have none, and
 * then lists are replaced as a whole.
 *
 * The OpenAPI comes from outside: an invalid part is refused with its path. A tree made from it
 * owns everything that it points to, except pl_schema_meta, which all objects' metadata share.
 * Immutable once made. */
#include "object/schema.h"

#include "base/alloc.h"
#include "base/base.h"
#include "base/text.h"
#include "object/schema_table.h"
#include "value/write.h"

const struct pl_schema *pl_schema_field(const struct pl_schema *schema, struct pl_slice name)
{
    if (schema == NULL)
        return NULL;
    for (const struct pl_schema_field *field = schema->fields; field && field->name; field++)
        if (pl_slice_eqz(name, field->name))
            return field->schema;
    return schema->values;
}

const struct pl_schema *pl_schema_items(const struct pl_schema *schema)
{
    return schema != NULL ? schema->items : NULL;
}

enum pl_list_type pl_schema_list_type(const struct pl_schema *schema)
{
    return schema != NULL ? schema->list : PL_LIST_ATOMIC;
}

const char *const *pl_schema_list_keys(const struct pl_schema *schema)
{
    static const char *const none[] = {NULL};
    return schema != NULL && schema->keys != NULL ? schema->keys : none;
}

const char *pl_schema_merge_key(const struct pl_schema *schema)
{
    return schema != NULL ? schema->merge_key : NULL;
}

bool pl_schema_merges_set(const struct pl_schema *schema)
{
    return schema != NULL && schema->merge_set;
}

bool pl_schema_is_atomic(const struct pl_schema *schema)
{
    return schema != NULL && schema->atomic;
}

bool pl_schema_is_replaced(const struct pl_schema *schema)
{
    return schema != NULL && schema->replaced;
}

const char *pl_schema_default(const struct pl_schema *schema)
{
    return schema != NULL ? schema->default_json : NULL;
}

/* ---- from OpenAPI ---- */

static const struct pl_schema *build(struct pl_node openapi, bool resource, struct pl_err *err);

/* Casts away const: build() made this schema, so it may be freed. */
static void schema_drop(const struct pl_schema *schema)
{
    if (schema == NULL || schema == &pl_schema_meta)
        return;
    for (const struct pl_schema_field *field = schema->fields; field && field->name; field++) {
        pl_free((char *)(uintptr_t)field->name);
        schema_drop(field->schema);
    }
    for (const char *const *key = schema->keys; key && *key; key++)
        pl_free((char *)(uintptr_t)*key);
    pl_free((void *)(uintptr_t)schema->fields);
    pl_free((void *)(uintptr_t)schema->keys);
    pl_free((char *)(uintptr_t)schema->default_json);
    schema_drop(schema->values);
    schema_drop(schema->items);
    pl_free((void *)(uintptr_t)schema);
}

static int build_fields(struct pl_schema *schema, struct pl_node properties, bool resource,
                        struct pl_err *err)
{
    struct pl_iter it = pl_iter(properties);
    size_t count = 0;
    if (pl_node_len(properties) == 0 && !resource)
        return 0;
    struct pl_schema_field *fields = pl_calloc(pl_node_len(properties) + 2, sizeof(*fields));
    schema->fields = fields;
    while (pl_iter_next(&it)) {
        if (resource && pl_slice_eqz(it.key, "metadata"))
            continue;
        fields[count].name = pl_text_copy(it.key);
        fields[count].schema = build(it.value, false, err);
        if (fields[count++].schema != NULL)
            continue;
        pl_err_prefix(err, "properties[%.*s]", PL_FMT(it.key));
        return PL_EINVAL;
    }
    if (resource)
        fields[count] = (struct pl_schema_field){pl_strdup("metadata"), &pl_schema_meta};
    return 0;
}

static int build_keys(struct pl_schema *schema, struct pl_node list, struct pl_err *err)
{
    struct pl_scratch scratch;
    const char **keys = pl_calloc(pl_node_len(list) + 1, sizeof(*keys));
    struct pl_iter it = pl_iter(list);
    schema->keys = keys;
    while (pl_iter_next(&it)) {
        struct pl_slice key = pl_node_str(it.value, &scratch);
        if (key.len == 0)
            return pl_err_set(err, PL_EINVAL, "x-kubernetes-list-map-keys must be names");
        keys[it.index] = pl_text_copy(key);
    }
    if (keys[0] == NULL)
        return pl_err_set(err, PL_EINVAL, "a list of type map needs x-kubernetes-list-map-keys");
    return 0;
}

static int build_list(struct pl_schema *schema, struct pl_node openapi, struct pl_err *err)
{
    struct pl_node type = pl_node_getz(openapi, "x-kubernetes-list-type");
    struct pl_node items = pl_node_getz(openapi, "items");
    if (pl_node_str_eq(type, pl_slice_z("set")))
        schema->list = PL_LIST_SET;
    else if (pl_node_str_eq(type, pl_slice_z("map")))
        schema->list = PL_LIST_MAP;
    else if (!pl_node_is_missing(type) && !pl_node_str_eq(type, pl_slice_z("atomic")))
        return pl_err_set(err, PL_EINVAL, "x-kubernetes-list-type is atomic, set or map");
    if (schema->list == PL_LIST_MAP &&
        build_keys(schema, pl_node_getz(openapi, "x-kubernetes-list-map-keys"), err) != 0)
        return PL_EINVAL;
    if (pl_node_is_missing(items))
        return 0;
    schema->items = build(items, false, err);
    if (schema->items != NULL)
        return 0;
    pl_err_prefix(err, "items");
    return PL_EINVAL;
}

static int build_into(struct pl_schema *schema, struct pl_node openapi, bool resource,
                      struct pl_err *err)
{
    struct pl_node values = pl_node_getz(openapi, "additionalProperties");
    if (pl_node_type(openapi) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "a schema must be an object, not %s",
                          pl_type_name(pl_node_type(openapi)));
    resource = resource || pl_node_flagz(openapi, "x-kubernetes-embedded-resource");
    schema->atomic =
        pl_node_str_eq(pl_node_getz(openapi, "x-kubernetes-map-type"), pl_slice_z("atomic"));
    if (build_fields(schema, pl_node_getz(openapi, "properties"), resource, err) != 0 ||
        build_list(schema, openapi, err) != 0)
        return PL_EINVAL;
    if (pl_node_type(values) == PL_OBJECT && (schema->values = build(values, false, err)) == NULL) {
        pl_err_prefix(err, "additionalProperties");
        return PL_EINVAL;
    }
    return 0;
}

static const struct pl_schema *build(struct pl_node openapi, bool resource, struct pl_err *err)
{
    struct pl_schema *schema = PL_NEW(struct pl_schema);
    struct pl_node value = pl_node_getz(openapi, "default");
    struct pl_buf text = PL_BUF_INIT;
    if (pl_node_type(value) != PL_MISSING && pl_node_type(value) != PL_OBJECT &&
        pl_node_type(value) != PL_ARRAY) {
        pl_write(&text, value, PL_WRITE_COMPACT);
        schema->default_json = pl_buf_take(&text);
    }
    if (build_into(schema, openapi, resource, err) == 0)
        return schema;
    schema_drop(schema);
    return NULL;
}

struct pl_schema *pl_schema_from_openapi(struct pl_node openapi, struct pl_err *err)
{
    const struct pl_schema *schema = build(openapi, true, err);
    if (schema == NULL)
        pl_err_prefix(err, "openAPIV3Schema");
    return (struct pl_schema *)(uintptr_t)schema;
}

void pl_schema_destroy(struct pl_schema *schema)
{
    schema_drop(schema);
}
