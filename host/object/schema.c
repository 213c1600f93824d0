/* How lists and maps of a kind are merged, from tables (built-in kinds: schema_builtin.c) or from a
 * CRD's OpenAPI. A missing schema is allowed everywhere: fields of unknown kinds have none, and
 * then lists are replaced as a whole.
 *
 * The OpenAPI comes from outside: an invalid part is refused with its path. A tree made from it
 * owns everything that it points to, except rows: all objects' metadata share those of metadata.
 * Immutable once made. */
#include "object/schema.h"

#include "base/alloc.h"
#include "base/base.h"
#include "base/text.h"
#include "object/schema_table.h"
#include "value/write.h"

/* A schema from OpenAPI. */
struct made_schema {
    struct pl_schema schema;
    struct made_field {
        char *name; /* NULL ends the list */
        const struct pl_schema *schema;
    } * fields;                     /* an object's known members; NULL: none */
    const struct pl_schema *values; /* of every member that fields does not name */
    const struct pl_schema *items;  /* of a list: its elements */
    char **keys;                    /* of a PL_LIST_MAP, NULL-terminated */
    char *default_json;
};

static const struct made_schema *made(const struct pl_schema *schema)
{
    return schema != NULL && schema->is_made ? PL_CONTAINER_OF(schema, struct made_schema, schema)
                                             : NULL;
}

/* The row of a built-in kind. */
static const struct pl_schema_row *row_of(const struct pl_schema *schema)
{
    return schema != NULL && !schema->is_made
               ? PL_CONTAINER_OF(schema, struct pl_schema_row, schema)
               : NULL;
}

/* ---- members ---- */

static bool is_list(const struct pl_schema_row *row)
{
    return row->schema.list != PL_LIST_ATOMIC || row->merges;
}

/* The member in the rows below. */
static const struct pl_schema *row_member(const struct pl_schema_row *row, struct pl_slice name)
{
    for (const struct pl_schema_row *at = row + 1; at->level > row->level; at++)
        if (at->level == row->level + 1 && pl_slice_eqz(name, at->name))
            return at->type != 0 && !is_list(at) ? &pl_schema_rows(at->type)->schema : &at->schema;
    return NULL;
}

const struct pl_schema *pl_schema_field(const struct pl_schema *schema, struct pl_slice name)
{
    const struct made_schema *own = made(schema);
    if (own == NULL)
        return schema != NULL ? row_member(row_of(schema), name) : NULL;
    for (const struct made_field *field = own->fields; field && field->name; field++)
        if (pl_slice_eqz(name, field->name))
            return field->schema;
    return own->values;
}

const struct pl_schema *pl_schema_items(const struct pl_schema *schema)
{
    const struct pl_schema_row *row = row_of(schema);
    if (row != NULL)
        return row->type != 0 ? &pl_schema_rows(row->type)->schema : NULL;
    return schema != NULL ? made(schema)->items : NULL;
}

enum pl_list_type pl_schema_list_type(const struct pl_schema *schema)
{
    return schema != NULL ? schema->list : PL_LIST_ATOMIC;
}

/* The key at that place in a row's "a\0b"; NULL: there are fewer. */
static const char *row_key(const struct pl_schema_row *row, size_t i)
{
    const char *key = row->keys, *end = row->keys + sizeof(row->keys);
    for (; i > 0 && key < end && *key != '\0'; i--)
        key += strlen(key) + 1;
    return key < end && *key != '\0' ? key : NULL;
}

const char *pl_schema_list_key(const struct pl_schema *schema, size_t i)
{
    if (pl_schema_list_type(schema) != PL_LIST_MAP)
        return NULL;
    return schema->is_made ? made(schema)->keys[i] : row_key(row_of(schema), i);
}

const char *pl_schema_merge_key(const struct pl_schema *schema)
{
    const struct pl_schema_row *row = row_of(schema);
    return row != NULL && row->merges ? row->keys : NULL;
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
    const struct pl_schema_row *row = row_of(schema);
    if (row != NULL)
        return *row->default_json != '\0' ? row->default_json : NULL;
    return schema != NULL ? made(schema)->default_json : NULL;
}

/* ---- from OpenAPI ---- */

static const struct pl_schema *build(struct pl_node openapi, bool resource, struct pl_err *err);

/* Casts away const: build() made this schema, so it may be freed. */
static void schema_drop(const struct pl_schema *schema)
{
    struct made_schema *own = (struct made_schema *)(uintptr_t)made(schema);
    if (own == NULL)
        return;
    for (struct made_field *field = own->fields; field && field->name; field++) {
        pl_free(field->name);
        schema_drop(field->schema);
    }
    for (char **key = own->keys; key && *key; key++)
        pl_free(*key);
    pl_free(own->fields);
    pl_free(own->keys);
    pl_free(own->default_json);
    schema_drop(own->values);
    schema_drop(own->items);
    pl_free(own);
}

static int build_fields(struct made_schema *schema, struct pl_node properties, bool resource,
                        struct pl_err *err)
{
    struct pl_iter it = pl_iter(properties);
    size_t count = 0;
    if (pl_node_len(properties) == 0 && !resource)
        return 0;
    struct made_field *fields = pl_calloc(pl_node_len(properties) + 2, sizeof(*fields));
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
        fields[count] = (struct made_field){pl_strdup("metadata"), pl_schema_of_meta()};
    return 0;
}

static int build_keys(struct made_schema *schema, struct pl_node list, struct pl_err *err)
{
    struct pl_scratch scratch;
    char **keys = pl_calloc(pl_node_len(list) + 1, sizeof(*keys));
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

static int build_list(struct made_schema *schema, struct pl_node openapi, struct pl_err *err)
{
    struct pl_node type = pl_node_getz(openapi, "x-kubernetes-list-type");
    struct pl_node items = pl_node_getz(openapi, "items");
    if (pl_node_str_eq(type, pl_slice_z("set")))
        schema->schema.list = PL_LIST_SET;
    else if (pl_node_str_eq(type, pl_slice_z("map")))
        schema->schema.list = PL_LIST_MAP;
    else if (!pl_node_is_missing(type) && !pl_node_str_eq(type, pl_slice_z("atomic")))
        return pl_err_set(err, PL_EINVAL, "x-kubernetes-list-type is atomic, set or map");
    if (schema->schema.list == PL_LIST_MAP &&
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

static int build_into(struct made_schema *schema, struct pl_node openapi, bool resource,
                      struct pl_err *err)
{
    struct pl_node values = pl_node_getz(openapi, "additionalProperties");
    if (pl_node_type(openapi) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "a schema must be an object, not %s",
                          pl_type_name(pl_node_type(openapi)));
    resource = resource || pl_node_flagz(openapi, "x-kubernetes-embedded-resource");
    schema->schema.atomic =
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
    struct made_schema *schema = PL_NEW(struct made_schema);
    struct pl_node value = pl_node_getz(openapi, "default");
    struct pl_buf text = PL_BUF_INIT;
    schema->schema.is_made = true;
    if (pl_node_type(value) != PL_MISSING && pl_node_type(value) != PL_OBJECT &&
        pl_node_type(value) != PL_ARRAY) {
        pl_write(&text, value, PL_WRITE_COMPACT);
        schema->default_json = pl_buf_take(&text);
    }
    if (build_into(schema, openapi, resource, err) == 0)
        return &schema->schema;
    schema_drop(&schema->schema);
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
