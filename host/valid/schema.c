/* Schemas of CRDs: they must be structural, their extensions consistent, their defaults valid. The
 * schema itself was checked against its type before, so its members have the types of
 * JSONSchemaProps. The depth is that of the document, which the parser has limited. */
#include "valid/kinds.h"

#include "format/regex.h"
#include "object/tree.h"
#include "schema/structural.h"
#include "value/doc.h"

#include <string.h>

#define TYPES "array,boolean,integer,number,object,string"

enum level { AT_ROOT, IN_LIST, IN_FIELD };

static bool flag(const struct pl_tree *schema, const char *name)
{
    return pl_is_true(pl_tree_getz(schema, name));
}

static const struct pl_tree *shown_type(struct pl_api_faults *f, const struct pl_tree *schema)
{
    const struct pl_tree *type = pl_tree_getz(schema, "type");
    return pl_or_empty(f, type);
}

/* ---- lists ---- */

static void check_key(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *schema, struct pl_slice key)
{
    const struct pl_tree *items = pl_tree_getz(schema, "items");
    const struct pl_tree *property = pl_tree_get(pl_tree_getz(items, "properties"), key);
    const struct pl_spot *spot = PL_OF_KEY(PL_MEMBER(PL_MEMBER(at, "items"), "properties"), key);
    bool required = false;
    PL_EACH(item, pl_tree_getz(items, "required"))
    required = required || pl_slice_eq(pl_tree_text(item->value), key);
    if (property == NULL) {
        pl_bad_value(f, PL_MEMBER(at, "x-kubernetes-list-map-keys"),
                     pl_tree_getz(schema, "x-kubernetes-list-map-keys"),
                     "entries must all be names of item properties");
        return;
    }
    if (pl_is_among(pl_tree_text_at(property, "type"), "array,object"))
        pl_bad_value(f, PL_MEMBER(spot, "type"), shown_type(f, items),
                     "must be a scalar type if parent array's x-kubernetes-list-type is map");
    if (!required && pl_tree_getz(property, "default") == NULL)
        pl_bad_required(f, PL_MEMBER(spot, "default"),
                        "this property is in x-kubernetes-list-map-keys, so it must have a default "
                        "or be a required property");
    if (flag(property, "nullable"))
        pl_bad_forbidden(f, PL_MEMBER(spot, "nullable"),
                         "this property is in x-kubernetes-list-map-keys, so it cannot be "
                         "nullable");
}

static void check_map_list(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *schema)
{
    const struct pl_tree *keys = pl_tree_getz(schema, "x-kubernetes-list-map-keys");
    const struct pl_tree *items = pl_tree_getz(schema, "items");
    if (pl_is_empty(keys))
        pl_bad_required(f, PL_MEMBER(at, "x-kubernetes-list-map-keys"),
                        "must not be empty if x-kubernetes-list-type is map");
    if (items == NULL) {
        pl_bad_required(f, PL_MEMBER(at, "items"),
                        "must have a schema if x-kubernetes-list-type is map");
        return;
    }
    if (!pl_slice_eqz(pl_tree_text_at(items, "type"), "object"))
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(at, "items"), "type"), shown_type(f, items),
                     "must be object if parent array's x-kubernetes-list-type is map");
    PL_EACH(item, keys)
    {
        bool twice = false;
        for (const struct pl_tree_item *before = keys->first; before != item; before = before->next)
            twice = twice || pl_tree_equal(before->value, item->value);
        if (twice)
            pl_bad_value(f, PL_MEMBER(at, "x-kubernetes-list-map-keys"), keys,
                         "must not contain duplicate entries");
        else
            check_key(f, at, schema, pl_tree_text(item->value));
    }
}

static void check_list_type(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *schema)
{
    const struct pl_tree *kind = pl_tree_getz(schema, "x-kubernetes-list-type");
    const struct pl_tree *keys = pl_tree_getz(schema, "x-kubernetes-list-map-keys");
    const struct pl_tree *type = pl_tree_getz(schema, "type");
    struct pl_slice is = pl_tree_text(kind);
    if (kind != NULL && pl_is_empty(type))
        pl_bad_required(f, PL_MEMBER(at, "type"),
                        "must be array if x-kubernetes-list-type is specified");
    else if (kind != NULL && !pl_slice_eqz(pl_tree_text(type), "array"))
        pl_bad_value(f, PL_MEMBER(at, "type"), type,
                     "must be array if x-kubernetes-list-type is specified");
    if (kind != NULL && !pl_is_among(is, "atomic,set,map"))
        pl_bad_unsupported(f, PL_MEMBER(at, "x-kubernetes-list-type"), kind, "atomic,set,map");
    if (!pl_is_empty(keys) && kind == NULL)
        pl_bad_required(f, PL_MEMBER(at, "x-kubernetes-list-type"),
                        "must be map if x-kubernetes-list-map-keys is non-empty");
    else if (!pl_is_empty(keys) && !pl_slice_eqz(is, "map"))
        pl_bad_value(f, PL_MEMBER(at, "x-kubernetes-list-type"), kind,
                     "must be map if x-kubernetes-list-map-keys is non-empty");
    if (pl_slice_eqz(is, "map"))
        check_map_list(f, at, schema);
}

/* ---- single schemas ---- */

static void check_map_type(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *schema)
{
    const struct pl_tree *kind = pl_tree_getz(schema, "x-kubernetes-map-type");
    const struct pl_tree *type = pl_tree_getz(schema, "type");
    static const char why[] = "must be object if x-kubernetes-map-type is specified";
    if (kind == NULL)
        return;
    if (pl_is_empty(type))
        pl_bad_required(f, PL_MEMBER(at, "type"), why);
    else if (!pl_slice_eqz(pl_tree_text(type), "object"))
        pl_bad_value(f, PL_MEMBER(at, "type"), type, "%s", why);
    pl_must_be(f, PL_MEMBER(at, "x-kubernetes-map-type"), kind, "atomic,granular");
}

static void schema_check_type(struct pl_api_faults *f, const struct pl_spot *at,
                              const struct pl_tree *schema, enum level level)
{
    const struct pl_tree *type = pl_tree_getz(schema, "type");
    const struct pl_spot *spot = PL_MEMBER(at, "type");
    static const char *const empty[] = {
        [AT_ROOT] = "must not be empty at the root",
        [IN_LIST] = "must not be empty for specified array items",
        [IN_FIELD] = "must not be empty for specified object fields",
    };
    bool embedded = flag(schema, "x-kubernetes-embedded-resource");
    pl_one_of(f, spot, type, TYPES);
    if (embedded && pl_is_empty(type))
        pl_bad_required(f, spot, "must be object if x-kubernetes-embedded-resource is true");
    else if (embedded && !pl_slice_eqz(pl_tree_text(type), "object"))
        pl_bad_value(f, spot, type, "must be object if x-kubernetes-embedded-resource is true");
    else if (pl_is_empty(type) && !flag(schema, "x-kubernetes-int-or-string") &&
             !flag(schema, "x-kubernetes-preserve-unknown-fields"))
        pl_bad_required(f, spot, empty[level]);
    if (level == AT_ROOT && !pl_is_empty(type) && !pl_slice_eqz(pl_tree_text(type), "object"))
        pl_bad_value(f, spot, type, "must be object at the root");
    if (embedded && pl_is_empty(pl_tree_getz(schema, "properties")) &&
        !flag(schema, "x-kubernetes-preserve-unknown-fields"))
        pl_bad_required(f, PL_MEMBER(at, "properties"),
                        "must not be empty if x-kubernetes-embedded-resource is true without "
                        "x-kubernetes-preserve-unknown-fields");
}

static void check_keywords(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *schema, enum level level)
{
    static const char *const unsupported[] = {"id",          "additionalItems", "patternProperties",
                                              "definitions", "dependencies",    "$ref"};
    for (size_t i = 0; i < PL_ARRAY_LEN(unsupported); i++)
        if (!pl_is_empty(pl_tree_getz(schema, unsupported[i])))
            pl_bad_forbidden(f, PL_MEMBER(at, unsupported[i]),
                             pl_arena_f(f->arena, "%s is not supported", unsupported[i]).ptr);
    if (flag(schema, "uniqueItems"))
        pl_bad_forbidden(f, PL_MEMBER(at, "uniqueItems"),
                         "uniqueItems cannot be set to true since the runtime complexity becomes "
                         "quadratic");
    const struct pl_tree *more = pl_tree_getz(schema, "additionalProperties");
    bool has_more = more != NULL && !pl_is_false(more);
    if (has_more && !pl_is_empty(pl_tree_getz(schema, "properties")))
        pl_bad_forbidden(f, PL_MEMBER(at, "additionalProperties"),
                         "additionalProperties and properties are mutual exclusive");
    if (more != NULL && level == AT_ROOT)
        pl_bad_forbidden(f, PL_MEMBER(at, "additionalProperties"), "must not be used at the root");
    const struct pl_tree *keep = pl_tree_getz(schema, "x-kubernetes-preserve-unknown-fields");
    if (pl_is_false(keep))
        pl_bad_value(f, PL_MEMBER(at, "x-kubernetes-preserve-unknown-fields"), keep,
                     "must be true or undefined");
    if (flag(schema, "x-kubernetes-int-or-string") &&
        flag(schema, "x-kubernetes-preserve-unknown-fields"))
        pl_bad_value(f, PL_MEMBER(at, "x-kubernetes-preserve-unknown-fields"), keep,
                     "must be false if x-kubernetes-int-or-string is true");
    if (level == AT_ROOT && flag(schema, "nullable"))
        pl_bad_forbidden(f, PL_MEMBER(at, "nullable"), "nullable cannot be true at the root");
}

static void check_pattern(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *pattern)
{
    struct pl_err err = {0};
    if (pl_is_empty(pattern))
        return;
    struct pl_regex *regex = pl_regex_compile(pl_tree_text(pattern), &err);
    if (regex == NULL)
        pl_bad_value(f, at, pattern, "must be a valid regular expression, but isn't: %s",
                     err.message);
    pl_regex_destroy(regex);
}

/* Faults of a default are reported at the default. */
static void check_default(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *schema)
{
    const struct pl_tree *value = pl_tree_getz(schema, "default");
    if (value == NULL)
        return;
    struct pl_api_faults found = {.arena = f->arena};
    struct pl_doc *doc = pl_tree_doc(schema, NULL);
    pl_api_structural_validate(&found, value, NULL, pl_doc_root(doc), pl_slice("", 0));
    pl_doc_unref(doc);
    struct pl_slice base = pl_spot_text(f, PL_MEMBER(at, "default"));
    PL_TREE_FOR(item, found.causes)
    {
        struct pl_slice below = pl_tree_text_at(item->value, "field");
        const char *reason = pl_arena_copy(f->arena, pl_tree_text_at(item->value, "reason")).ptr;
        bool dot = below.len > 0 && below.ptr[0] != '[';
        pl_api_fault(
            f, reason,
            pl_arena_f(f->arena, "%.*s%s%.*s", PL_FMT(base), dot ? "." : "", PL_FMT(below)), "%.*s",
            PL_FMT(pl_tree_text_at(item->value, "message")));
    }
}

/* ---- allOf and similar members may only restrict what the schema around them declares ---- */

static void check_nested(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *schema)
{
    static const char *const no[][2] = {
        {"type", "empty"},
        {"title", "empty"},
        {"description", "empty"},
        {"default", "undefined"},
        {"nullable", "false"},
        {"additionalProperties", "undefined"},
        {"x-kubernetes-preserve-unknown-fields", "false"},
        {"x-kubernetes-embedded-resource", "false"},
        {"x-kubernetes-int-or-string", "false"},
        {"x-kubernetes-list-type", "undefined"},
        {"x-kubernetes-map-type", "undefined"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(no); i++)
        if (!pl_is_empty(pl_tree_getz(schema, no[i][0])))
            pl_bad_forbidden(f, PL_MEMBER(at, no[i][0]),
                             pl_arena_f(f->arena, "must be %s to be structural", no[i][1]).ptr);
    const struct pl_spot *all = PL_MEMBER(at, "properties");
    PL_TREE_FOR(item, pl_tree_getz(schema, "properties"))
    check_nested(f, PL_OF_KEY(all, item->key), item->value);
    if (pl_tree_getz(schema, "items") != NULL)
        check_nested(f, PL_MEMBER(at, "items"), pl_tree_getz(schema, "items"));
    check_pattern(f, PL_MEMBER(at, "pattern"), pl_tree_getz(schema, "pattern"));
}

static void check_combinations(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *schema)
{
    static const char *const lists[] = {"allOf", "anyOf", "oneOf"};
    bool either = flag(schema, "x-kubernetes-int-or-string");
    for (size_t k = 0; k < PL_ARRAY_LEN(lists); k++) {
        const struct pl_spot *spot = PL_MEMBER(at, lists[k]);
        size_t i = 0;
        /* only then may they contain types, which check_nested refuses */
        if (either)
            continue;
        PL_EACH(item, pl_tree_getz(schema, lists[k]))
        check_nested(f, PL_INDEX(spot, i++), item->value);
    }
    if (pl_tree_getz(schema, "not") != NULL)
        check_nested(f, PL_MEMBER(at, "not"), pl_tree_getz(schema, "not"));
}

/* ---- walking through the schema ---- */

static void check_schema(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *schema, enum level level)
{
    const struct pl_tree *items = pl_tree_getz(schema, "items");
    const struct pl_tree *more = pl_tree_getz(schema, "additionalProperties");
    const struct pl_spot *all = PL_MEMBER(at, "properties");
    schema_check_type(f, at, schema, level);
    check_keywords(f, at, schema, level);
    check_list_type(f, at, schema);
    check_map_type(f, at, schema);
    check_pattern(f, PL_MEMBER(at, "pattern"), pl_tree_getz(schema, "pattern"));
    check_combinations(f, at, schema);
    check_default(f, at, schema);
    if (pl_slice_eqz(pl_tree_text_at(schema, "type"), "array") && items == NULL)
        pl_bad_required(f, PL_MEMBER(at, "items"), "must be specified");
    if (pl_tree_is(items, PL_OBJECT))
        check_schema(f, PL_MEMBER(at, "items"), items, IN_LIST);
    if (pl_tree_is(more, PL_OBJECT))
        check_schema(f, PL_MEMBER(at, "additionalProperties"), more, IN_FIELD);
    PL_TREE_FOR(item, pl_tree_getz(schema, "properties"))
    if (level != AT_ROOT || !pl_slice_eqz(item->key, "metadata"))
        check_schema(f, PL_OF_KEY(all, item->key), item->value, IN_FIELD);
}

void pl_valid_schema(struct pl_api_faults *f, const struct pl_spot *at,
                     const struct pl_tree *schema)
{
    const struct pl_tree *metadata = pl_tree_dig(schema, "properties.metadata");
    if (metadata != NULL && !pl_slice_eqz(pl_tree_text_at(metadata, "type"), "object"))
        pl_bad_value(
            f, PL_MEMBER(PL_OF_KEY(PL_MEMBER(at, "properties"), pl_slice_z("metadata")), "type"),
            shown_type(f, metadata), "must be object");
    check_schema(f, at, schema, AT_ROOT);
}
