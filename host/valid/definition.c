/* CustomResourceDefinitions: names, versions, columns, storage version, schemas. schema/crd checks
 * group, scope, immutable members and rules. */
#include "valid/kinds.h"

#include "object/tree.h"
#include "schema/crd.h"
#include "schema/validate.h"

#include <ctype.h>
#include <string.h>

#define SPEC PL_MEMBER(NULL, "spec")

/* Checks a kind's name; its message shows the name unchanged, while its lower-case form is checked.
 */
static void mixed(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value)
{
    struct pl_api_faults found = {.arena = f->arena};
    if (pl_is_empty(value))
        return;
    pl_dns1035(&found, at, pl_tree_str(f->arena, pl_arena_lower(f->arena, pl_tree_text(value))),
               NULL);
    PL_TREE_FOR(item, found.causes)
    {
        struct pl_slice message = pl_tree_text_at(item->value, "message");
        const char *why = memmem(message.ptr, message.len, "\": ", 3);
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
    mixed(f, PL_MEMBER(at, "kind"), pl_tree_getz(names, "kind"));
    mixed(f, PL_MEMBER(at, "listKind"), pl_tree_getz(names, "listKind"));
    if (!pl_is_empty(pl_tree_getz(names, "kind")) &&
        pl_tree_equal(pl_tree_getz(names, "kind"), pl_tree_getz(names, "listKind")))
        pl_bad_value(f, PL_MEMBER(at, "listKind"), pl_tree_getz(names, "listKind"),
                     "kind and listKind may not be the same");
}

static bool definition_ends_with(struct pl_slice text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.ptr + text.len - len, end, len) == 0;
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
    if (pl_api_is_subdomain(text) && pl_slice_chr(text, '.') == NULL)
        pl_bad_value(f, at, group, "should be a domain with at least one dot");
    bool guarded = definition_ends_with(text, ".k8s.io") ||
                   definition_ends_with(text, ".kubernetes.io") ||
                   pl_is_among(text, "k8s.io,kubernetes.io");
    const struct pl_tree *approved = pl_tree_getz(pl_tree_dig(crd, "metadata.annotations"), key);
    if (guarded && pl_is_empty(approved))
        pl_bad_required(
            f, PL_OF_KEY(PL_MEMBER(PL_MEMBER(NULL, "metadata"), "annotations"), pl_slice_z(key)),
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
        pl_bad_value(f, at, warning, "must be <= 256 characters in length");
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
static void check_selectable(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *version)
{
    size_t i = 0;
    if (pl_tree_dig(version, "schema.openAPIV3Schema") == NULL) {
        if (!pl_is_empty(pl_tree_getz(version, "selectableFields")))
            pl_bad_value(f, at, pl_tree_strz(f->arena, ""),
                         "may only be set when `version.schema.openAPIV3Schema` is not included");
        return;
    }
    pl_unique(f, at, pl_tree_getz(version, "selectableFields"), "jsonPath");
    PL_EACH(item, pl_tree_getz(version, "selectableFields"))
    {
        const struct pl_spot *spot = PL_MEMBER(PL_INDEX(at, i++), "jsonPath");
        const struct pl_tree *path = pl_tree_getz(item->value, "jsonPath");
        const struct pl_tree *schema = pl_tree_dig(version, "schema.openAPIV3Schema");
        struct pl_slice rest = pl_tree_text(path);
        if (rest.len == 0) {
            pl_bad_required(f, spot, "");
            continue;
        }
        bool good = rest.ptr[0] == '.';
        while (good && schema != NULL && rest.len > 1) {
            rest = pl_slice(rest.ptr + 1, rest.len - 1);
            size_t len = 0;
            while (len < rest.len && rest.ptr[len] != '.')
                len++;
            schema = pl_tree_get(pl_tree_getz(schema, "properties"), pl_slice(rest.ptr, len));
            rest = pl_slice(rest.ptr + len, rest.len - len);
        }
        if (!good || schema == NULL)
            pl_bad_value(f, spot, path, "is an invalid path: does not refer to a valid field");
        else if (!pl_is_among(pl_tree_text_at(schema, "type"), "string,boolean,integer"))
            pl_bad_value(f, spot, path,
                         "must point to a field of type string, boolean or integer. Enum string "
                         "fields and strings with formats are allowed.");
    }
}

static void check_version(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *version, bool shares_schema, bool shares_columns)
{
    const struct pl_spot *shared = PL_MEMBER(PL_MEMBER(SPEC, "validation"), "openAPIV3Schema");
    const struct pl_spot *own = PL_MEMBER(PL_MEMBER(at, "schema"), "openAPIV3Schema");
    const struct pl_tree *schema = pl_tree_dig(version, "schema.openAPIV3Schema");
    const struct pl_spot *spot = shares_schema ? shared : own;
    const struct pl_tree *type = pl_tree_getz(schema, "type");
    pl_dns1035(f, PL_MEMBER(at, "name"), pl_tree_getz(version, "name"), "need");
    check_scale(f, PL_MEMBER(PL_MEMBER(at, "subresources"), "scale"),
                pl_tree_dig(version, "subresources.scale"));
    check_warning(f, PL_MEMBER(at, "deprecationWarning"), version);
    if (pl_tree_is(schema, PL_OBJECT))
        pl_valid_schema(f, spot, schema);
    if (pl_tree_dig(version, "subresources.status") != NULL && !pl_is_empty(type) &&
        !pl_slice_eqz(pl_tree_text(type), "object"))
        pl_bad_value(f, PL_MEMBER(spot, "type"), type,
                     "only \"object\" is allowed as the type at the root of the schema if the "
                     "status subresource is enabled");
    check_columns(f,
                  shares_columns ? PL_MEMBER(SPEC, "additionalPrinterColumns")
                                 : PL_MEMBER(at, "additionalPrinterColumns"),
                  pl_tree_getz(version, "additionalPrinterColumns"));
    check_selectable(f, PL_MEMBER(at, "selectableFields"), version);
}

static void check_versions(struct pl_api_faults *f, const struct pl_tree *versions)
{
    bool schema = are_alike(versions, "schema");
    bool columns = are_alike(versions, "additionalPrinterColumns");
    const struct pl_spot *list = PL_MEMBER(SPEC, "versions");
    struct pl_api_faults twice = {.arena = f->arena};
    size_t i = 0;
    PL_EACH(item, versions)
    if (i++ == 0 || !schema)
        check_version(f, PL_INDEX(list, i - 1), item->value, schema, columns);
    pl_dns1035(f, PL_MEMBER(SPEC, "version"), pl_tree_getz(pl_tree_at(versions, 0), "name"), NULL);
    pl_unique(&twice, list, versions, "name");
    if (twice.causes != NULL)
        pl_bad_value(f, list, versions, "must contain unique version names");
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
    if (old != NULL)
        check_stored(f, object);
}
