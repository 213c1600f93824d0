/* A served kind, made from a row of the built-in kinds or from a CRD. When a CRD changes, its type
 * stays the same object, because objects and watches point at it. Schemas and columns are nodes of
 * the CRD's document; each version holds a reference to it. */
#include "schema/type.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/text.h"
#include "schema/builtin.h"
#include "schema/embedded.h"
#include "schema/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life of a type ---- */

static void version_deinit(struct pl_api_version *version)
{
    pl_free(version->group);
    pl_free(version->name);
    pl_schema_destroy(version->lists);
    pl_api_rules_destroy(version->rules);
    pl_doc_unref(version->definition);
    pl_free(version->scale_spec);
    pl_free(version->scale_status);
    pl_free(version->scale_selector);
}

static void versions_clear(struct pl_api_type *type)
{
    for (size_t i = 0; i < type->version_count; i++)
        version_deinit(&type->versions[i]);
    pl_free(type->versions);
    type->versions = NULL;
    type->version_count = 0;
}

static void names_clear(struct pl_api_type *type)
{
    pl_free(type->plural);
    pl_free(type->singular);
    pl_free(type->kind);
    pl_free(type->list_kind);
    pl_free(type->short_names);
    pl_free(type->categories);
}

void pl_api_type_destroy(struct pl_api_type *type)
{
    versions_clear(type);
    names_clear(type);
    pl_free(type);
}

/* ---- the built-in kinds ---- */

static void builtin_version(struct pl_api_version *version, const struct pl_api_builtin *row,
                            const struct pl_api_second *second)
{
    version->group = pl_strdup(second != NULL ? second->group : row->group);
    version->name = pl_strdup(second != NULL ? second->version : row->version);
    version->served = true;
    version->has_status = row->flags & PL_API_STATUS;
    version->has_scale = row->flags & PL_API_SCALE;
    version->renames = second != NULL ? second->renames : NULL;
    if (version->has_scale) {
        version->scale_spec = pl_strdup(".spec.replicas");
        version->scale_status = pl_strdup(".status.replicas");
    }
}

struct pl_api_type *pl_api_type_of_builtin(const struct pl_api_builtin *row)
{
    const struct pl_api_second *second = pl_api_builtin_second(row);
    struct pl_api_type *type = PL_NEW(struct pl_api_type);
    type->plural = pl_strdup(row->plural);
    type->singular = pl_strdup(row->singular);
    type->kind = pl_strdup(row->kind);
    type->list_kind = pl_format("%sList", row->kind);
    type->short_names = pl_strdup(row->short_names);
    type->categories = pl_strdup(row->categories);
    type->flags = row->flags;
    type->selectable = pl_api_builtin_selectable(row);
    type->convert = second != NULL ? second->convert : NULL;
    type->version_count = second != NULL ? 2 : 1;
    type->versions = pl_calloc(type->version_count, sizeof(*type->versions));
    for (size_t i = 0; i < type->version_count; i++)
        builtin_version(&type->versions[i], row, i == 1 ? second : NULL);
    return type;
}

/* ---- custom kinds ---- */

static char *type_join(struct pl_node array)
{
    struct pl_buf buf = PL_BUF_INIT;
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(array);
    while (pl_iter_next(&it)) {
        if (buf.len > 0)
            pl_buf_add_char(&buf, ',');
        pl_buf_add_slice(&buf, pl_node_str(it.value, &scratch));
    }
    return pl_buf_take(&buf);
}

static char *text_at(struct pl_node node, const char *key)
{
    struct pl_scratch scratch;
    return pl_text_copy(pl_node_str(pl_node_getz(node, key), &scratch));
}

static char *path_at(struct pl_node node, const char *key)
{
    return pl_node_is_missing(pl_node_getz(node, key)) ? NULL : text_at(node, key);
}

static int read_version(struct pl_api_version *version, struct pl_doc *crd, struct pl_node node,
                        struct pl_err *err)
{
    struct pl_node sub = pl_node_getz(node, "subresources");
    struct pl_node scale = pl_node_getz(sub, "scale");
    version->group = text_at(pl_node_getz(pl_doc_root(crd), "spec"), "group");
    version->name = text_at(node, "name");
    version->served = pl_node_bool(pl_node_getz(node, "served"));
    version->has_status = pl_node_type(pl_node_getz(sub, "status")) == PL_OBJECT;
    version->has_scale = pl_node_type(scale) == PL_OBJECT;
    version->scale_spec = path_at(scale, "specReplicasPath");
    version->scale_status = path_at(scale, "statusReplicasPath");
    version->scale_selector = path_at(scale, "labelSelectorPath");
    version->definition = pl_doc_ref(crd);
    version->node = node;
    version->schema = pl_node_dig(node, "schema", "openAPIV3Schema");
    version->columns = pl_node_getz(node, "additionalPrinterColumns");
    version->selectable = pl_node_getz(node, "selectableFields");
    if (pl_node_is_missing(version->schema))
        return 0;
    version->lists = pl_schema_from_openapi(version->schema, err);
    version->rules = pl_api_rules_create(version->schema);
    version->has_embedded = pl_api_has_embedded(version->schema);
    return version->lists != NULL ? 0 : PL_EINVAL;
}

static void read_names(struct pl_api_type *type, struct pl_node spec)
{
    struct pl_node names = pl_node_getz(spec, "names");
    names_clear(type);
    type->plural = text_at(names, "plural");
    type->singular = text_at(names, "singular");
    type->kind = text_at(names, "kind");
    type->list_kind = text_at(names, "listKind");
    type->short_names = type_join(pl_node_getz(names, "shortNames"));
    type->categories = type_join(pl_node_getz(names, "categories"));
    bool namespaced = pl_node_str_eq(pl_node_getz(spec, "scope"), pl_slice_z("Namespaced"));
    type->flags = (namespaced ? PL_API_NAMESPACED : 0u) | PL_API_GENERATION | PL_API_NEEDS_VERSION;
}

static struct pl_api_version *read_versions(struct pl_doc *crd, size_t *count, size_t *storage,
                                            struct pl_err *err)
{
    struct pl_node list = pl_node_dig(pl_doc_root(crd), "spec", "versions");
    struct pl_api_version *versions = pl_calloc(pl_node_len(list) + 1, sizeof(*versions));
    int code = 0;
    *count = *storage = 0;
    struct pl_iter it = pl_iter(list);
    while (code == 0 && pl_iter_next(&it)) {
        if (pl_node_bool(pl_node_getz(it.value, "storage")))
            *storage = *count;
        code = read_version(&versions[(*count)++], crd, it.value, err);
    }
    if (code == 0)
        return versions;
    for (size_t i = 0; i < *count; i++)
        version_deinit(&versions[i]);
    pl_free(versions);
    return NULL;
}

struct pl_api_type *pl_api_type_of_crd(struct pl_api_type *type, struct pl_doc *crd,
                                       struct pl_err *err)
{
    size_t count, storage;
    struct pl_api_version *versions = read_versions(crd, &count, &storage, err);
    if (versions == NULL)
        return NULL;
    if (type == NULL) {
        type = PL_NEW(struct pl_api_type);
        type->is_custom = true;
    }
    versions_clear(type);
    read_names(type, pl_node_getz(pl_doc_root(crd), "spec"));
    type->versions = versions;
    type->version_count = count;
    type->storage_version = storage;
    return type;
}

/* ---- about a type ---- */

bool pl_api_type_has_group(const struct pl_api_type *type, struct pl_slice group)
{
    for (size_t i = 0; i < type->version_count; i++)
        if (pl_slice_eqz(group, type->versions[i].group))
            return true;
    return false;
}

const struct pl_schema *pl_api_type_lists(const struct pl_api_type *type, size_t version)
{
    const struct pl_api_version *v = &type->versions[version];
    if (type->is_custom)
        return v->lists;
    struct pl_kind kind;
    snprintf(kind.group, sizeof(kind.group), "%s", v->group);
    snprintf(kind.version, sizeof(kind.version), "%s", v->name);
    snprintf(kind.kind, sizeof(kind.kind), "%s", type->kind);
    return pl_schema_builtin(&kind);
}

bool pl_api_type_status_has_meta(const struct pl_api_type *type)
{
    static const char without[][28] = {
        "APIService", "VolumeAttachment",           "ValidatingAdmissionPolicy",
        "FlowSchema", "PriorityLevelConfiguration", "ResourceClaim"};
    for (size_t i = 0; i < PL_ARRAY_LEN(without); i++)
        if (strcmp(type->kind, without[i]) == 0)
            return false;
    return !type->is_custom;
}

const char *pl_api_type_group(const struct pl_api_type *type)
{
    return type->versions[type->storage_version].group;
}

struct pl_slice pl_api_version_text(const struct pl_api_version *version, char out[PL_KIND_TEXT])
{
    size_t group = strlen(version->group), name = strlen(version->name);
    PL_REQUIRE(group + name + 2 <= PL_KIND_TEXT); /* as names of DNS they are shorter */
    memcpy(out, version->group, group);
    if (group > 0)
        out[group++] = '/';
    memcpy(out + group, version->name, name + 1);
    return pl_slice(out, group + name);
}

bool pl_api_type_is_builtin(const struct pl_api_type *type, const char *kind)
{
    return !type->is_custom && strcmp(type->kind, kind) == 0;
}

/* The parts of a version's name: v1, v1beta1, v1alpha1. */
struct priority {
    int stage; /* 2: general, 1: beta, 0: alpha, -1: none of these */
    long major, minor;
};

static struct priority priority_of(const char *name)
{
    char *end;
    struct priority p = {.stage = -1};
    if (name[0] != 'v' || name[1] < '1' || name[1] > '9')
        return p;
    p.major = strtol(name + 1, &end, 10);
    if (*end == '\0')
        p.stage = 2;
    else if (strncmp(end, "beta", 4) == 0 && end[4] >= '1' && end[4] <= '9')
        p = (struct priority){1, p.major, strtol(end + 4, &end, 10)};
    else if (strncmp(end, "alpha", 5) == 0 && end[5] >= '1' && end[5] <= '9')
        p = (struct priority){0, p.major, strtol(end + 5, &end, 10)};
    return *end == '\0' ? p : (struct priority){.stage = -1};
}

bool pl_api_version_comes_before(const char *a, const char *b)
{
    struct priority left = priority_of(a), right = priority_of(b);
    if (left.stage != right.stage)
        return left.stage > right.stage;
    if (left.stage < 0)
        return strcmp(a, b) < 0;
    return left.major != right.major ? left.major > right.major : left.minor > right.minor;
}
