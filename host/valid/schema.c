/* Schemas of CRDs: they must be structural, their extensions consistent, their defaults valid. The
 * schema itself was checked against its type before, so its members have the types of
 * JSONSchemaProps. The depth is that of the document, which the parser has limited. */
#include "valid/kinds.h"

#include "format/regex.h"
#include "object/tree.h"
#include "schema/embedded.h"
#include "schema/rules.h"
#include "schema/structural.h"
#include "value/doc.h"

#include <string.h>

#define TYPES "array,boolean,integer,number,object,string"

enum level { AT_ROOT, IN_LIST, IN_FIELD };

/* Where a schema is. */
struct place {
    bool in_meta;           /* in that of metadata, apiVersion or kind */
    const char *no_default; /* why a default is forbidden; NULL: it is not */
    bool is_root;
};

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
    if (property == NULL && !pl_slice_eqz(pl_tree_text_at(items, "type"), "object"))
        return;
    if (property == NULL) {
        pl_bad_value(f, PL_MEMBER(at, "x-kubernetes-list-map-keys"),
                     pl_tree_getz(schema, "x-kubernetes-list-map-keys"),
                     "entries must all be names of item properties");
        return;
    }
    if (pl_slice_eqz(pl_tree_text_at(items, "type"), "object") &&
        pl_is_among(pl_tree_text_at(property, "type"), "array,object"))
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
    struct pl_map seen = PL_MAP_INIT;
    PL_EACH(item, keys)
    {
        check_key(f, at, schema, pl_tree_text(item->value));
        if (pl_comes_again(&seen, item->value, NULL))
            pl_bad_value(f, PL_MEMBER(at, "x-kubernetes-list-map-keys"), keys,
                         "must not contain duplicate entries");
    }
    pl_map_deinit(&seen);
}

/* Elements of sets are compared as a whole, and those of sets and maps are never null. */
static void check_elements(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *schema, struct pl_slice is)
{
    const struct pl_tree *items = pl_tree_getz(schema, "items");
    const struct pl_spot *spot = PL_MEMBER(at, "items");
    static const char why[] = "must be atomic as item of a list with x-kubernetes-list-type=set";
    const struct pl_tree *list = pl_tree_getz(items, "x-kubernetes-list-type");
    const struct pl_tree *shown = list != NULL ? list : pl_tree_literal(f->arena, "null");
    bool set = pl_slice_eqz(is, "set") && pl_slice_eqz(pl_tree_text_at(schema, "type"), "array");
    if (set && pl_slice_eqz(pl_tree_text_at(items, "type"), "array") && list != NULL &&
        !pl_slice_eqz(pl_tree_text(list), "atomic"))
        pl_bad_value(f, PL_MEMBER(spot, "x-kubernetes-list-type"), shown, "%s", why);
    if (set && pl_slice_eqz(pl_tree_text_at(items, "type"), "object") &&
        !pl_slice_eqz(pl_tree_text_at(items, "x-kubernetes-map-type"), "atomic"))
        pl_bad_value(f, PL_MEMBER(spot, "x-kubernetes-map-type"), shown, "%s", why);
    if (pl_is_among(is, "set,map") && flag(items, "nullable"))
        pl_bad_forbidden(f, PL_MEMBER(spot, "nullable"),
                         pl_arena_f(f->arena,
                                    "cannot be nullable when x-kubernetes-list-type is %.*s",
                                    PL_FMT(is))
                             .ptr);
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
    check_elements(f, at, schema, is);
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
    static const char empty[][48] = {
        [AT_ROOT] = "must not be empty at the root",
        [IN_LIST] = "must not be empty for specified array items",
        [IN_FIELD] = "must not be empty for specified object fields",
    };
    bool embedded = flag(schema, "x-kubernetes-embedded-resource");
    if (embedded && pl_is_empty(type))
        pl_bad_required(f, spot, "must be object if x-kubernetes-embedded-resource is true");
    else if (embedded && !pl_slice_eqz(pl_tree_text(type), "object"))
        pl_bad_value(f, spot, type, "must be object if x-kubernetes-embedded-resource is true");
    else if (pl_is_empty(type) && !flag(schema, "x-kubernetes-int-or-string") &&
             !flag(schema, "x-kubernetes-preserve-unknown-fields"))
        pl_bad_required(f, spot, empty[level]);
    if (level == AT_ROOT && !pl_is_empty(type) && !pl_slice_eqz(pl_tree_text(type), "object"))
        pl_bad_value(f, spot, type, "must be object at the root");
    if (flag(schema, "x-kubernetes-int-or-string") && embedded)
        pl_bad_value(f, PL_MEMBER(at, "x-kubernetes-embedded-resource"),
                     pl_tree_getz(schema, "x-kubernetes-embedded-resource"),
                     "must be false if x-kubernetes-int-or-string is true");
    if (embedded && pl_tree_getz(schema, "additionalProperties") != NULL)
        pl_bad_forbidden(f, PL_MEMBER(at, "additionalProperties"),
                         "must not be used if x-kubernetes-embedded-resource is set");
    if (embedded && pl_is_empty(pl_tree_getz(schema, "properties")) &&
        !flag(schema, "x-kubernetes-preserve-unknown-fields"))
        pl_bad_required(f, PL_MEMBER(at, "properties"),
                        "must not be empty if x-kubernetes-embedded-resource is true without "
                        "x-kubernetes-preserve-unknown-fields");
}

static bool is_unsupported(const struct pl_tree *schema, const char *keyword)
{
    const struct pl_tree *value = pl_tree_getz(schema, keyword);
    return strcmp(keyword, "additionalItems") == 0 ? value != NULL : !pl_is_empty(value);
}

static const char unsupported[][20] = {"id",          "additionalItems", "patternProperties",
                                       "definitions", "dependencies",    "$ref"};

/* Keywords are checked in all schemas, also in those of combinations. */
static void check_keywords(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *schema, const struct place *place)
{
    const struct pl_tree *type = pl_tree_getz(schema, "type");
    pl_one_of(f, PL_MEMBER(at, "type"), type, TYPES);
    if (pl_slice_eqz(pl_tree_text(type), "null"))
        pl_bad_forbidden(f, PL_MEMBER(at, "type"),
                         "type cannot be set to null, use nullable as an alternative");
    if (pl_tree_is(pl_tree_getz(schema, "items"), PL_ARRAY))
        pl_bad_forbidden(f, PL_MEMBER(at, "items"),
                         "items must be a schema object and not an array");
    if (place->no_default != NULL && pl_tree_getz(schema, "default") != NULL)
        pl_bad_forbidden(f, PL_MEMBER(at, "default"), place->no_default);
    if (place->in_meta && flag(schema, "x-kubernetes-embedded-resource"))
        pl_bad_forbidden(f, PL_MEMBER(at, "x-kubernetes-embedded-resource"),
                         "must not be used inside of resource meta");
    for (size_t i = 0; i < PL_ARRAY_LEN(unsupported); i++)
        if (is_unsupported(schema, unsupported[i]))
            pl_bad_forbidden(f, PL_MEMBER(at, unsupported[i]),
                             pl_arena_f(f->arena, "%s is not supported", unsupported[i]).ptr);
    if (flag(schema, "uniqueItems"))
        pl_bad_forbidden(f, PL_MEMBER(at, "uniqueItems"),
                         "uniqueItems cannot be set to true since the runtime complexity becomes "
                         "quadratic");
    const struct pl_tree *more = pl_tree_getz(schema, "additionalProperties");
    bool has_more = more != NULL && !pl_is_true(more);
    if (has_more && !pl_is_empty(pl_tree_getz(schema, "properties")))
        pl_bad_forbidden(f, PL_MEMBER(at, "additionalProperties"),
                         "additionalProperties and properties are mutual exclusive");
    const struct pl_tree *keep = pl_tree_getz(schema, "x-kubernetes-preserve-unknown-fields");
    if (pl_is_false(keep))
        pl_bad_value(f, PL_MEMBER(at, "x-kubernetes-preserve-unknown-fields"), keep,
                     "must be true or undefined");
    check_list_type(f, at, schema);
    check_map_type(f, at, schema);
}

/* The fault in the words of Go's parser, which shows the whole expression; in our words if they are
 * not known. */
static const char *go_regex_fault(struct pl_api_faults *f, struct pl_slice pattern,
                                  const char *message)
{
    static const char words[][2][20] = {
        {"a ) is missing", "missing closing )"},
        {"a ) without a (", "unexpected )"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(words); i++)
        if (strstr(message, words[i][0]) != NULL)
            return pl_arena_f(f->arena, "error parsing regexp: %s: `%.*s`", words[i][1],
                              PL_FMT(pattern))
                .ptr;
    return message;
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
                     go_regex_fault(f, pl_tree_text(pattern), err.message));
    pl_regex_destroy(regex);
}

/* ---- defaults ---- */

/* Faults of a default are reported at the default. */
static void check_default(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *schema, enum level level)
{
    const struct pl_tree *value = pl_tree_getz(schema, "default");
    if (value == NULL)
        return;
    struct pl_api_faults found = {.arena = f->arena};
    struct pl_tree *unknown = pl_tree_array(f->arena);
    struct pl_tree *whole = pl_tree_copy(f->arena, schema);
    if (level == AT_ROOT)
        pl_tree_setz(f->arena, whole, "x-kubernetes-embedded-resource",
                     pl_tree_bool(f->arena, true));
    struct pl_doc *doc = pl_tree_doc(whole, NULL);
    struct pl_regex_cache patterns = {.search = NULL};
    const struct pl_spot *spot = PL_MEMBER(at, "default");
    struct pl_slice base = pl_spot_text(f, spot);
    if (pl_tree_is(value, PL_OBJECT))
        pl_api_structural_prune(f->arena, pl_tree_copy(f->arena, value), pl_doc_root(doc), unknown);
    if (unknown->count > 0)
        pl_bad_value(f, spot, value, "must not have unknown fields");
    pl_api_embedded_validate(&found, value, pl_doc_root(doc), pl_slice("", 0));
    if (found.causes == NULL)
        pl_api_structural_validate(&found, value, NULL, pl_doc_root(doc), pl_slice("", 0),
                                   &patterns);
    pl_regex_cache_deinit(&patterns);
    pl_doc_unref(doc);
    PL_TREE_FOR(item, found.causes)
    {
        struct pl_slice below = pl_tree_text_at(item->value, "field");
        const char *reason = pl_arena_copy(f->arena, pl_tree_text_at(item->value, "reason")).ptr;
        if (below.len > 0 && !pl_slice_eqz(below, "<nil>"))
            base = pl_arena_f(f->arena, "%.*s.%.*s", PL_FMT(pl_spot_text(f, spot)), PL_FMT(below));
        pl_api_fault(f, reason, base, "%.*s", PL_FMT(pl_tree_text_at(item->value, "message")));
        base = pl_spot_text(f, spot);
    }
}

static void check_defaults(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *schema, enum level level)
{
    const struct pl_tree *items = pl_tree_getz(schema, "items");
    check_default(f, at, schema, level);
    if (pl_tree_is(items, PL_OBJECT))
        check_defaults(f, PL_MEMBER(at, "items"), items, IN_LIST);
    PL_TREE_FOR(item, pl_tree_getz(schema, "properties"))
    if (level != AT_ROOT || !pl_is_among(item->key, "metadata,kind,apiVersion"))
        check_defaults(f, PL_OF_KEY(PL_MEMBER(at, "properties"), item->key), item->value, IN_FIELD);
}

/* ---- allOf and similar members may only restrict what the schema around them declares ---- */

static void check_combinations(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *schema, bool no_any);

/* no_any: its anyOf is the form of "integer or string". */
static void check_nested(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *schema, bool no_any)
{
    static const char no[][2][40] = {
        {"type", "empty"},
        {"title", "empty"},
        {"description", "empty"},
        {"default", "undefined"},
        {"nullable", "false"},
        {"x-kubernetes-preserve-unknown-fields", "false"},
        {"x-kubernetes-embedded-resource", "false"},
        {"x-kubernetes-int-or-string", "false"},
        {"x-kubernetes-list-type", "undefined"},
        {"x-kubernetes-map-type", "undefined"},
        {"x-kubernetes-list-map-keys", "empty"},
        {"x-kubernetes-validations", "empty"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(no); i++)
        if (!pl_is_empty(pl_tree_getz(schema, no[i][0])))
            pl_bad_forbidden(f, PL_MEMBER(at, no[i][0]),
                             pl_arena_f(f->arena, "must be %s to be structural", no[i][1]).ptr);
    const struct pl_tree *more = pl_tree_getz(schema, "additionalProperties");
    if (pl_tree_is(more, PL_OBJECT) || pl_is_true(more))
        pl_bad_forbidden(f, PL_MEMBER(at, "additionalProperties"),
                         "must be undefined to be structural");
    const struct pl_spot *all = PL_MEMBER(at, "properties");
    PL_TREE_FOR(item, pl_tree_getz(schema, "properties"))
    {
        check_nested(f, PL_OF_KEY(all, item->key), item->value, false);
        if (pl_slice_eqz(item->key, "metadata"))
            pl_bad_forbidden(f, PL_OF_KEY(all, item->key),
                             "must not be specified in a nested context");
    }
    if (pl_tree_is(pl_tree_getz(schema, "items"), PL_OBJECT))
        check_nested(f, PL_MEMBER(at, "items"), pl_tree_getz(schema, "items"), false);
    check_pattern(f, PL_MEMBER(at, "pattern"), pl_tree_getz(schema, "pattern"));
    check_combinations(f, at, schema, no_any);
}

/* The schemas of anyOf say "integer or string". */
static bool is_either(const struct pl_tree *list)
{
    const struct pl_tree *a = pl_tree_at(list, 0), *b = pl_tree_at(list, 1);
    return list != NULL && list->count == 2 && a->count == 1 && b->count == 1 &&
           pl_slice_eqz(pl_tree_text_at(a, "type"), "integer") &&
           pl_slice_eqz(pl_tree_text_at(b, "type"), "string");
}

static void check_combinations(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *schema, bool no_any)
{
    static const char lists[][8] = {"allOf", "anyOf", "oneOf"};
    for (size_t k = 0; k < PL_ARRAY_LEN(lists); k++) {
        const struct pl_spot *spot = PL_MEMBER(at, lists[k]);
        size_t i = 0;
        PL_EACH(item, pl_tree_getz(schema, lists[k]))
        if (k != 1 || !no_any)
            check_nested(f, PL_INDEX(spot, i), item->value,
                         k == 0 && i == 0 && is_either(pl_tree_getz(item->value, "anyOf"))),
                i++;
    }
    if (pl_tree_getz(schema, "not") != NULL)
        check_nested(f, PL_MEMBER(at, "not"), pl_tree_getz(schema, "not"), false);
}

/* What combinations name must exist in the schema around them. */
static void check_complete(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *schema, const struct pl_spot *nested_at,
                           const struct pl_tree *nested, bool is_list)
{
    static const char lists[][8] = {"allOf", "anyOf", "oneOf"};
    if (schema == NULL) {
        pl_bad_required(f, at,
                        pl_arena_f(f->arena, "because it is defined in %.*s",
                                   PL_FMT(pl_spot_text(f, nested_at)))
                            .ptr);
        return;
    }
    for (size_t k = 0; k < PL_ARRAY_LEN(lists); k++) {
        const struct pl_spot *spot = PL_MEMBER(nested_at, lists[k]);
        size_t i = 0;
        PL_EACH(item, pl_tree_getz(nested, lists[k]))
        check_complete(f, at, schema, PL_INDEX(spot, i++), item->value, true);
    }
    if (pl_tree_getz(nested, "not") != NULL)
        check_complete(f, at, schema, PL_MEMBER(nested_at, "not"), pl_tree_getz(nested, "not"),
                       true);
    if (!is_list)
        return;
    if (pl_tree_is(pl_tree_getz(nested, "items"), PL_OBJECT))
        check_complete(f, PL_MEMBER(at, "items"), pl_tree_getz(schema, "items"),
                       PL_MEMBER(nested_at, "items"), pl_tree_getz(nested, "items"), true);
    PL_TREE_FOR(item, pl_tree_getz(nested, "properties"))
    check_complete(f, PL_OF_KEY(PL_MEMBER(at, "properties"), item->key),
                   pl_tree_get(pl_tree_getz(schema, "properties"), item->key),
                   PL_OF_KEY(PL_MEMBER(nested_at, "properties"), item->key), item->value, true);
}

/* ---- the members of every object ---- */

/* Only the names in metadata may be restricted: it is declared elsewhere. */
static bool restricts_names(const struct pl_tree *metadata)
{
    PL_TREE_FOR(item, pl_tree_getz(metadata, "properties"))
    if (!pl_is_among(item->key, "name,generateName"))
        return false;
    PL_TREE_FOR(item, metadata)
    if (!pl_is_among(item->key, "type,properties,default"))
        return false;
    return true;
}

static void check_meta(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *schema, enum level level)
{
    static const char texts[][12] = {"apiVersion", "kind"};
    const struct pl_tree *all = pl_tree_getz(schema, "properties");
    const struct pl_tree *metadata = pl_tree_getz(all, "metadata");
    const struct pl_spot *spot = PL_MEMBER(at, "properties");
    if (level != AT_ROOT && !flag(schema, "x-kubernetes-embedded-resource"))
        return;
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++) {
        const struct pl_tree *one = pl_tree_getz(all, texts[i]);
        if (one != NULL && !pl_slice_eqz(pl_tree_text_at(one, "type"), "string"))
            pl_bad_value(f, PL_MEMBER(PL_OF_KEY(spot, pl_slice_z(texts[i])), "type"),
                         shown_type(f, one), "must be string");
    }
    if (metadata != NULL && !pl_slice_eqz(pl_tree_text_at(metadata, "type"), "object"))
        pl_bad_value(f, PL_MEMBER(PL_OF_KEY(spot, pl_slice_z("metadata")), "type"),
                     shown_type(f, metadata), "must be object");
    if (metadata != NULL && level == AT_ROOT && !restricts_names(metadata))
        pl_bad_forbidden(f, PL_OF_KEY(spot, pl_slice_z("metadata")),
                         "must not specify anything other than name and generateName, but "
                         "metadata is implicitly specified");
}

/* ---- walking through the schema ---- */

/* False for what cannot be read as a structural schema; the keywords' faults say why. */
static bool is_readable(const struct pl_tree *schema)
{
    static const char lists[][8] = {"allOf", "anyOf", "oneOf"};
    static const char single[][24] = {"not", "items", "additionalProperties"};
    for (size_t i = 0; i < PL_ARRAY_LEN(unsupported); i++)
        if (is_unsupported(schema, unsupported[i]))
            return false;
    if (pl_is_false(pl_tree_getz(schema, "x-kubernetes-preserve-unknown-fields")) ||
        pl_tree_is(pl_tree_getz(schema, "items"), PL_ARRAY))
        return false;
    for (size_t k = 0; k < PL_ARRAY_LEN(lists); k++)
        PL_EACH(item, pl_tree_getz(schema, lists[k]))
    if (!is_readable(item->value))
        return false;
    for (size_t k = 0; k < PL_ARRAY_LEN(single); k++)
        if (pl_tree_is(pl_tree_getz(schema, single[k]), PL_OBJECT) &&
            !is_readable(pl_tree_getz(schema, single[k])))
            return false;
    PL_TREE_FOR(item, pl_tree_getz(schema, "properties"))
    if (!is_readable(item->value))
        return false;
    return true;
}

static void check_structure(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *schema, enum level level)
{
    const struct pl_tree *items = pl_tree_getz(schema, "items");
    const struct pl_tree *more = pl_tree_getz(schema, "additionalProperties");
    const struct pl_spot *all = PL_MEMBER(at, "properties");
    schema_check_type(f, at, schema, level);
    check_meta(f, at, schema, level);
    check_pattern(f, PL_MEMBER(at, "pattern"), pl_tree_getz(schema, "pattern"));
    check_combinations(f, at, schema, is_either(pl_tree_getz(schema, "anyOf")));
    if (flag(schema, "x-kubernetes-int-or-string") &&
        flag(schema, "x-kubernetes-preserve-unknown-fields"))
        pl_bad_value(f, PL_MEMBER(at, "x-kubernetes-preserve-unknown-fields"),
                     pl_tree_getz(schema, "x-kubernetes-preserve-unknown-fields"),
                     "must be false if x-kubernetes-int-or-string is true");
    if (more != NULL && level == AT_ROOT)
        pl_bad_forbidden(f, PL_MEMBER(at, "additionalProperties"), "must not be used at the root");
    if (pl_slice_eqz(pl_tree_text_at(schema, "type"), "array") && items == NULL)
        pl_bad_required(f, PL_MEMBER(at, "items"), "must be specified");
    if (pl_tree_is(items, PL_OBJECT))
        check_structure(f, PL_MEMBER(at, "items"), items, IN_LIST);
    if (pl_tree_is(more, PL_OBJECT))
        check_structure(f, PL_MEMBER(at, "additionalProperties"), more, IN_FIELD);
    PL_TREE_FOR(item, pl_tree_getz(schema, "properties"))
    check_structure(f, PL_OF_KEY(all, item->key), item->value, IN_FIELD);
}

static void check_schema(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *schema, const struct place *place)
{
    static const char lists[][8] = {"allOf", "anyOf", "oneOf"};
    const struct pl_tree *items = pl_tree_getz(schema, "items");
    const struct pl_tree *more = pl_tree_getz(schema, "additionalProperties");
    struct place below = {place->in_meta, place->no_default, false};
    if (schema == NULL)
        return;
    check_keywords(f, at, schema, place);
    for (size_t k = 0; k < PL_ARRAY_LEN(lists); k++) {
        const struct pl_spot *spot = PL_MEMBER(at, lists[k]);
        size_t i = 0;
        PL_EACH(item, pl_tree_getz(schema, lists[k]))
        check_schema(f, PL_INDEX(spot, i++), item->value, &below);
    }
    check_schema(f, PL_MEMBER(at, "not"), pl_tree_getz(schema, "not"), &below);
    if (pl_tree_is(items, PL_OBJECT))
        check_schema(f, PL_MEMBER(at, "items"), items, &below);
    if (pl_tree_is(more, PL_OBJECT)) {
        struct place in = below;
        if (in.in_meta)
            in.no_default =
                "must not be set inside additionalProperties applying to object metadata";
        check_schema(f, PL_MEMBER(at, "additionalProperties"), more, &in);
    }
    PL_TREE_FOR(item, pl_tree_getz(schema, "properties"))
    {
        struct place in = below;
        bool meta = pl_is_among(item->key, "metadata,kind,apiVersion");
        if (meta && (place->is_root || flag(schema, "x-kubernetes-embedded-resource")))
            in.in_meta = true;
        if (meta && place->is_root)
            in.no_default =
                pl_arena_f(f->arena, "must not be set in top-level %.*s", PL_FMT(item->key)).ptr;
        check_schema(f, PL_OF_KEY(PL_MEMBER(at, "properties"), item->key), item->value, &in);
    }
}

void pl_valid_schema(struct pl_api_faults *f, const struct pl_spot *at,
                     const struct pl_tree *schema)
{
    struct pl_api_faults structure = {.arena = f->arena};
    size_t before = pl_api_fault_count(f);
    if (flag(schema, "nullable"))
        pl_bad_forbidden(f, PL_MEMBER(at, "nullable"), "nullable cannot be true at the root");
    if (is_readable(schema)) {
        check_structure(&structure, at, schema, AT_ROOT);
        check_complete(&structure, at, schema, at, schema, false);
        if (structure.causes == NULL)
            check_defaults(&structure, at, schema, AT_ROOT);
    }
    if (f->causes == NULL)
        f->causes = structure.causes;
    else
        PL_TREE_FOR(item, structure.causes)
    pl_tree_push(f->arena, f->causes, item->value);
    check_schema(f, at, schema, &(struct place){.is_root = true});
    struct pl_doc *doc = pl_tree_doc(schema, NULL);
    pl_api_rules_check(f, pl_doc_root(doc), pl_spot_text(f, at), pl_api_fault_count(f) == before);
    pl_doc_unref(doc);
}
