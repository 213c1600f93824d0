/* Applied configurations of custom kinds are compared with their schema before they are merged.
 * gotype/typed_apply does the same for built-in kinds. */
#include "schema/config_check.h"

#include "gotype/typed.h"
#include "schema/structural.h"

static const char *config_value(struct pl_arena *arena, const struct pl_tree *value,
                                struct pl_node schema, struct pl_slice path);

static bool is_type(struct pl_node schema, const char *type)
{
    return pl_node_str_eq(pl_node_getz(schema, "type"), pl_slice_z(type));
}

static bool keeps_unknown(struct pl_node schema)
{
    return pl_node_bool(pl_node_getz(schema, "x-kubernetes-preserve-unknown-fields"));
}

static const char *config_members(struct pl_arena *arena, const struct pl_tree *value,
                                  struct pl_node schema, struct pl_slice path)
{
    struct pl_node others = pl_node_getz(schema, "additionalProperties");
    bool embedded =
        path.len == 0 || pl_node_bool(pl_node_getz(schema, "x-kubernetes-embedded-resource"));
    PL_TREE_FOR(item, value)
    {
        struct pl_slice inner = pl_arena_f(arena, "%.*s.%.*s", PL_FMT(path), PL_FMT(item->key));
        struct pl_node member = pl_node_get(pl_node_getz(schema, "properties"), item->key);
        bool known = !pl_node_is_missing(member) || !pl_node_is_missing(others);
        const char *fault = NULL;
        if (embedded && pl_api_is_envelope(item->key))
            continue;
        if (known)
            fault = config_value(arena, item->value, pl_node_is_missing(member) ? others : member,
                                 inner);
        else if (!keeps_unknown(schema))
            fault = pl_arena_f(arena, "%.*s: field not declared in schema", PL_FMT(inner)).ptr;
        if (fault != NULL)
            return fault;
    }
    return NULL;
}

static const char *config_elements(struct pl_arena *arena, const struct pl_tree *value,
                                   struct pl_node schema, struct pl_slice path)
{
    size_t i = 0;
    PL_TREE_FOR(item, value)
    {
        const char *fault = config_value(arena, item->value, pl_node_getz(schema, "items"),
                                         pl_arena_f(arena, "%.*s[%zu]", PL_FMT(path), i++));
        if (fault != NULL)
            return fault;
    }
    return NULL;
}

static const char *config_value(struct pl_arena *arena, const struct pl_tree *value,
                                struct pl_node schema, struct pl_slice path)
{
    enum pl_type type = pl_tree_type(value);
    bool number = is_type(schema, "integer") || is_type(schema, "number");
    if (type == PL_NULL || pl_node_type(schema) != PL_OBJECT)
        return NULL;
    if (is_type(schema, "object"))
        return type == PL_OBJECT ? config_members(arena, value, schema, path)
                                 : pl_typed_apply_wrong(arena, path, "map", value);
    if (is_type(schema, "array"))
        return type == PL_ARRAY ? config_elements(arena, value, schema, path)
                                : pl_typed_apply_wrong(arena, path, "list", value);
    if (is_type(schema, "string") && type != PL_STRING)
        return pl_typed_apply_wrong(arena, path, "string", value);
    if (is_type(schema, "boolean") && type != PL_BOOL)
        return pl_typed_apply_wrong(arena, path, "boolean", value);
    return number && type != PL_NUMBER ? pl_typed_apply_wrong(arena, path, "number", value) : NULL;
}

const char *pl_api_config_fault(struct pl_arena *arena, const struct pl_tree *config,
                                struct pl_node schema)
{
    if (pl_node_type(schema) != PL_OBJECT)
        return NULL;
    return config_members(arena, config, schema, pl_slice("", 0));
}
