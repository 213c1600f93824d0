/* CustomResourceDefinitions: names, versions, columns, storage version, schemas. schema/crd checks
 * group, scope, immutable members and rules. */
#include "valid/kinds.h"

#include "base/text.h"
#include "object/tree.h"
#include "schema/crd.h"
#include "schema/crd_path.h"

#include <string.h>

#define SPEC            PL_MEMBER(NULL, "spec")
#define MOST_SELECTABLE 8

void pl_mixed_dns1035(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value)
{
    struct pl_api_faults found = {.arena = f->arena};
    if (pl_is_empty(value))
        return;
    pl_dns1035(&found, at, pl_tree_str(f->arena, pl_arena_lower(f->arena, pl_tree_text(value))),
               NULL);
    PL_TREE_FOR(item, found.causes)
    {
        struct pl_slice message = pl_tree_text_at(item->value, "message");
        const char *why = pl_text_find(message, "\": ");
        if (why != NULL)
            pl_bad_value(f, at, value, "may have mixed case, but should otherwise match: %.*s",
                         (int)(message.ptr + message.len - why - 3), why + 3);
    }
}

static void definition_check_names(struct pl_api_faults *f, const struct pl_tree *names)
{
    static const struct pl_rule rules[] = {
        {"plural", pl_dns1035, NULL},
        {"singular", pl_dns1035, NULL},
        {"shortNames[]", pl_dns1035, "need"},
        {"categories[]", pl_dns1035, "need"},
        {NULL, NULL, NULL},
    };
    const struct pl_spot *at = PL_MEMBER(SPEC, "names");
    pl_hold(f, at, names, rules);
    pl_mixed_dns1035(f, PL_MEMBER(at, "kind"), pl_tree_getz(names, "kind"));
    pl_mixed_dns1035(f, PL_MEMBER(at, "listKind"), pl_tree_getz(names, "listKind"));
    if (!pl_is_empty(pl_tree_getz(names, "kind")) &&
        pl_tree_equal(pl_tree_getz(names, "kind"), pl_tree_getz(names, "listKind")))
        pl_bad_value(f, PL_MEMBER(at, "listKind"), pl_tree_getz(names, "listKind"),
                     "kind and listKind may not be the same");
}

static void check_group(struct pl_api_faults *f, const struct pl_tree *crd)
{
    static const char key[] = "api-approved.kubernetes.io";
    const struct pl_tree *group = pl_tree_dig(crd, "spec.group");
    const struct pl_spot *at = PL_MEMBER(SPEC, "group");
    struct pl_slice text = pl_tree_text(group);
    if (text.len == 0)
        return;
    pl_subdomain(f, at, group, NULL);
    if (pl_text_is_subdomain(text) && pl_slice_chr(text, '.') == NULL)
        pl_bad_value(f, at, group, "should be a domain with at least one dot");
    bool guarded = pl_text_ends(text, ".k8s.io") || pl_text_ends(text, ".kubernetes.io") ||
                   pl_is_among(text, "k8s.io,kubernetes.io");
    const struct pl_tree *approved = pl_tree_getz(pl_tree_dig(crd, "metadata.annotations"), key);
    const struct pl_spot *spot =
        PL_OF_KEY(PL_MEMBER(PL_MEMBER(NULL, "metadata"), "annotations"), pl_slice_z(key));
    struct pl_slice is = pl_tree_text(approved);
    bool excused = pl_text_begins(is, "unapproved");
    const char *colon = pl_text_find(is, "://");
    bool url = colon != NULL && colon > is.ptr && colon + 3 < is.ptr + is.len;
    if (guarded && !pl_is_empty(approved) && !excused && !url)
        pl_bad_value(f, spot, approved,
                     "protected groups must have approval annotation "
                     "\"api-approved.kubernetes.io\" with either a URL or a reason starting with "
                     "\"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111");
    if (guarded && pl_is_empty(approved))
        pl_bad_required(f, spot,
                        "protected groups must have approval annotation "
                        "\"api-approved.kubernetes.io\", see "
                        "https://github.com/kubernetes/enhancements/pull/1111");
}

/* ---- versions ---- */

/* roots: the allowed prefixes; `why` is the message. */
static void simple_path(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *value, const char *roots, const char *why)
{
    struct pl_slice text = pl_tree_text(value);
    bool under = *roots == '\0';
    for (const char *root = roots; *root != '\0' && !under;
         root += strcspn(root, ","), root += *root == ',') {
        size_t len = strcspn(root, ",");
        under = text.len >= len && memcmp(text.ptr, root, len) == 0;
    }
    if (text.len == 0)
        pl_bad_required(f, at, "");
    else if (text.ptr[0] != '.')
        pl_bad_value(f, at, value, "must be a simple json path starting with .");
    else if (!under)
        pl_bad_value(f, at, value, "%s", why);
}

static void check_scale(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *scale)
{
    if (scale == NULL)
        return;
    simple_path(f, PL_MEMBER(at, "specReplicasPath"), pl_tree_getz(scale, "specReplicasPath"),
                ".spec.", "should be a json path under .spec");
    simple_path(f, PL_MEMBER(at, "statusReplicasPath"), pl_tree_getz(scale, "statusReplicasPath"),
                ".status.", "should be a json path under .status");
    if (!pl_is_empty(pl_tree_getz(scale, "labelSelectorPath")))
        simple_path(f, PL_MEMBER(at, "labelSelectorPath"), pl_tree_getz(scale, "labelSelectorPath"),
                    ".spec.,.status.", "should be a json path under either .spec or .status");
}

static void check_warning(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *version)
{
    const struct pl_tree *warning = pl_tree_getz(version, "deprecationWarning");
    if (warning == NULL)
        return;
    if (!pl_is_true(pl_tree_getz(version, "deprecated")))
        pl_bad_value(f, at, warning, "can only be set for deprecated versions");
    if (pl_is_empty(warning))
        pl_bad_value(f, at, warning, "must not be an empty string");
    else if (warning->text.len > 256)
        pl_bad_value(f, at, warning, "must be <= 256 characters long");
}

static void check_columns(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *list)
{
    static const char types[] = "boolean,date,integer,number,string";
    static const char formats[] = "byte,date,date-time,double,float,int32,int64,password";
    size_t i = 0;
    PL_EACH(item, list)
    {
        const struct pl_spot *spot = PL_INDEX(at, i++);
        const struct pl_tree *type = pl_tree_getz(item->value, "type");
        const struct pl_tree *format = pl_tree_getz(item->value, "format");
        pl_need(f, PL_MEMBER(spot, "name"), pl_tree_getz(item->value, "name"), NULL);
        if (pl_is_empty(type))
            pl_bad_required(f, PL_MEMBER(spot, "type"),
                            pl_arena_f(f->arena, "must be one of %s", types).ptr);
        else if (!pl_is_among(pl_tree_text(type), types))
            pl_bad_value(f, PL_MEMBER(spot, "type"), type, "must be one of %s", types);
        if (!pl_is_empty(format) && !pl_is_among(pl_tree_text(format), formats))
            pl_bad_value(f, PL_MEMBER(spot, "format"), format, "must be one of %s", formats);
        simple_path(f, PL_MEMBER(spot, "JSONPath"), pl_tree_getz(item->value, "jsonPath"), "", "");
    }
}

static bool are_alike(const struct pl_tree *versions, const char *member)
{
    const struct pl_tree *first = pl_tree_getz(pl_tree_at(versions, 0), member);
    PL_EACH(item, versions)
    if (!pl_tree_equal(pl_tree_getz(item->value, member), first))
        return false;
    return true;
}

/* A path such as .spec.color must lead to the schema of a scalar. */
static bool check_selectable_path(struct pl_api_faults *f, const struct pl_spot *spot,
                                  const struct pl_tree *path, struct pl_node schema)
{
    struct pl_slice text = pl_tree_text(path);
    struct pl_scratch scratch;
    const char *why = pl_api_field_path_fault(f->arena, schema, text, false, &schema);
    if (text.len == 0)
        pl_bad_required(f, spot, "");
    else if (why != NULL)
        pl_bad_value(f, spot, path, "is an invalid path: %s", why);
    else if (text.len > 9 && pl_text_begins(text, ".metadata"))
        pl_bad_value(f, spot, path, "must not point to fields in metadata");
    else if (!pl_is_among(pl_node_str(pl_node_getz(schema, "type"), &scratch),
                          "string,boolean,integer"))
        pl_bad_value(f, spot, path,
                     "must point to a field of type string, boolean or integer. Enum string "
                     "fields and strings with formats are allowed.");
    return text.len > 0 && why == NULL;
}

static void check_selectable(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *version)
{
    const struct pl_tree *fields = pl_tree_getz(version, "selectableFields");
    const struct pl_tree *schema = pl_tree_dig(version, "schema.openAPIV3Schema");
    size_t i = 0, good = 0;
    if (pl_is_empty(fields))
        return;
    if (schema == NULL) {
        pl_bad_value(f, at, pl_tree_strz(f->arena, ""),
                     "may only be set when `version.schema.openAPIV3Schema` is not included");
        return;
    }
    struct pl_doc *doc = pl_tree_doc(schema, NULL);
    pl_unique(f, at, fields, "jsonPath");
    PL_EACH(item, fields)
    {
        const struct pl_spot *spot = PL_MEMBER(PL_INDEX(at, i++), "jsonPath");
        good +=
            check_selectable_path(f, spot, pl_tree_getz(item->value, "jsonPath"), pl_doc_root(doc));
    }
    pl_doc_unref(doc);
    if (good > MOST_SELECTABLE)
        pl_at_most(f, at, fields, MOST_SELECTABLE);
}

/* If the status is a subresource, the root of the schema may have only some keywords. */
static void check_root(struct pl_api_faults *f, const struct pl_spot *spot,
                       const struct pl_tree *schema)
{
    static const char allowed[] =
        "description,type,format,title,maximum,exclusiveMaximum,minimum,exclusiveMinimum,maxLength,"
        "minLength,pattern,maxItems,minItems,uniqueItems,multipleOf,required,items,properties,"
        "externalDocs,example,x-kubernetes-preserve-unknown-fields,x-kubernetes-validations";
    const struct pl_tree *type = pl_tree_getz(schema, "type");
    if (!pl_is_empty(type) && !pl_slice_eqz(pl_tree_text(type), "object"))
        pl_bad_value(f, PL_MEMBER(spot, "type"), type,
                     "only \"object\" is allowed as the type at the root of the schema if the "
                     "status subresource is enabled");
    PL_TREE_FOR(item, schema)
    if (!pl_is_among(item->key, allowed) && !pl_is_empty(item->value)) {
        pl_bad_value(f, spot, schema,
                     "only [Description Type Format Title Maximum ExclusiveMaximum Minimum "
                     "ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems "
                     "MultipleOf Required Items Properties ExternalDocs Example "
                     "XPreserveUnknownFields XValidations] fields are allowed at the root of the "
                     "schema if the status subresource is enabled");
        return;
    }
}

static bool has_status(const struct pl_tree *version)
{
    return pl_tree_dig(version, "subresources.status") != NULL;
}

/* The members that kube-apiserver stores only once when all versions have the same. */
static const char shared_members[][28] = {"schema", "subresources", "additionalPrinterColumns",
                                          "selectableFields"};

struct shared {
    bool is[PL_ARRAY_LEN(shared_members)];
    bool status; /* some version has a status of its own */
};

static void check_schema_of(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *version, const struct shared *shared)
{
    const struct pl_tree *schema = pl_tree_dig(version, "schema.openAPIV3Schema");
    const struct pl_spot *spot =
        PL_MEMBER(PL_MEMBER(at, shared->is[0] ? "validation" : "schema"), "openAPIV3Schema");
    if (!pl_tree_is(schema, PL_OBJECT))
        return;
    if (shared->is[0] ? shared->status : has_status(version))
        check_root(f, spot, schema);
    pl_valid_schema(f, spot, schema);
}

/* at: the version, or the spec for what the versions share. first: it is the first version. */
static void check_version(struct pl_api_faults *f, const struct pl_spot *version_at,
                          const struct pl_tree *version, const struct shared *shared, bool first)
{
    const struct pl_spot *spec = SPEC, *at[PL_ARRAY_LEN(shared_members)];
    for (size_t i = 0; i < PL_ARRAY_LEN(shared_members); i++)
        at[i] = shared->is[i] ? spec : version_at;
    check_warning(f, PL_MEMBER(version_at, "deprecationWarning"), version);
    if (first || !shared->is[0])
        check_schema_of(f, at[0], version, shared);
    if (first || !shared->is[1])
        check_scale(f, PL_MEMBER(PL_MEMBER(at[1], "subresources"), "scale"),
                    pl_tree_dig(version, "subresources.scale"));
    if (first || !shared->is[2])
        check_columns(f, PL_MEMBER(at[2], "additionalPrinterColumns"),
                      pl_tree_getz(version, "additionalPrinterColumns"));
    if (first || !shared->is[3])
        check_selectable(f, PL_MEMBER(at[3], "selectableFields"), version);
}

/* The versions as Go's structure shows them. */
static const struct pl_tree *shown_versions(struct pl_api_faults *f, const struct pl_tree *versions)
{
    static const char *const members[][2] = {
        {"Name", "name"},
        {"Served", "served"},
        {"Storage", "storage"},
        {"Deprecated", "deprecated"},
        {"DeprecationWarning", "deprecationWarning"},
        {"Schema", NULL},
        {"Subresources", NULL},
        {"AdditionalPrinterColumns", NULL},
        {"SelectableFields", NULL},
    };
    struct pl_tree *list = pl_tree_array(f->arena);
    if (versions == NULL)
        return pl_tree_literal(f->arena, "null");
    PL_EACH(item, versions)
    {
        struct pl_tree *one = pl_tree_literal(
            f->arena, "{\"Name\":\"\",\"Served\":false,\"Storage\":false,\"Deprecated\":false,"
                      "\"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,"
                      "\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}");
        for (size_t i = 0; i < 5; i++)
            if (pl_tree_getz(item->value, members[i][1]) != NULL)
                pl_tree_setz(f->arena, one, members[i][0],
                             pl_tree_copy(f->arena, pl_tree_getz(item->value, members[i][1])));
        pl_tree_push(f->arena, list, one);
    }
    return list;
}

static void check_versions(struct pl_api_faults *f, const struct pl_tree *versions)
{
    const struct pl_spot *list = PL_MEMBER(SPEC, "versions");
    struct pl_api_faults twice = {.arena = f->arena};
    struct shared shared = {.status = false};
    size_t i = 0, storage = 0;
    for (size_t k = 0; k < PL_ARRAY_LEN(shared_members); k++)
        shared.is[k] = are_alike(versions, shared_members[k]);
    PL_EACH(item, versions)
    shared.status = shared.status || has_status(item->value);
    PL_EACH(item, versions)
    {
        const struct pl_tree *name = pl_tree_getz(item->value, "name");
        storage += pl_is_true(pl_tree_getz(item->value, "storage"));
        pl_dns1035(f, PL_MEMBER(PL_INDEX(list, i), "name"),
                   name != NULL ? name : pl_or_empty(f, name), "need");
        check_version(f, PL_INDEX(list, i), item->value, &shared, i == 0);
        i++;
    }
    pl_dns1035(f, PL_MEMBER(SPEC, "version"), pl_tree_getz(pl_tree_at(versions, 0), "name"), NULL);
    pl_unique(&twice, list, versions, "name");
    if (twice.causes != NULL)
        pl_bad_value(f, list, shown_versions(f, versions), "must contain unique version names");
    if (storage != 1)
        pl_bad_value(f, list, shown_versions(f, versions),
                     "must have exactly one version marked as storage version");
}

static bool has_version(const struct pl_tree *versions, const struct pl_tree *name)
{
    PL_EACH(item, versions)
    if (pl_tree_equal(pl_tree_getz(item->value, "name"), name))
        return true;
    return false;
}

static void check_stored(struct pl_api_faults *f, const struct pl_tree *crd)
{
    const struct pl_tree *versions = pl_tree_dig(crd, "spec.versions");
    const struct pl_tree *stored = pl_tree_dig(crd, "status.storedVersions");
    const struct pl_spot *list = PL_MEMBER(PL_MEMBER(NULL, "status"), "storedVersions");
    size_t i = 0;
    if (pl_is_empty(stored)) {
        pl_bad_value(f, list, pl_tree_literal(f->arena, "null"),
                     "must have at least one stored version");
        return;
    }
    PL_EACH(item, versions)
    {
        bool known = !pl_is_true(pl_tree_getz(item->value, "storage"));
        PL_EACH(one, stored)
        known = known || pl_tree_equal(one->value, pl_tree_getz(item->value, "name"));
        if (!known)
            pl_bad_value(f, list, stored, "must have the storage version %.*s",
                         PL_FMT(pl_tree_text_at(item->value, "name")));
    }
    PL_EACH(item, stored)
    {
        struct pl_slice text = pl_tree_text(item->value);
        if (!has_version(versions, item->value))
            pl_bad_value(f, PL_INDEX(list, i), item->value,
                         "missing from spec.versions; %.*s was previously a storage version, and "
                         "must remain in spec.versions until a storage migration ensures no data "
                         "remains persisted in %.*s and removes %.*s from status.storedVersions",
                         PL_FMT(text), PL_FMT(text), PL_FMT(text));
        i++;
    }
}

void pl_valid_definition(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    pl_api_crd_validate(f, object, old);
    check_group(f, object);
    definition_check_names(f, pl_tree_dig(object, "spec.names"));
    check_versions(f, pl_tree_dig(object, "spec.versions"));
    if (old == NULL || !pl_tree_equal(pl_tree_getz(object, "spec"), pl_tree_getz(old, "spec")))
        check_stored(f, object); /* a write of the status alone may take versions off the list */
}
