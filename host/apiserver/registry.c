/* The kinds that are served: a list of types, each with its versions and its table of objects. A
 * custom kind's type stays the same object when its CRD changes, so that objects and watches keep
 * pointing at it; it is removed only when nothing does any more. Schemas and columns are nodes of
 * the CRD's document, which each version holds a reference to. */
#include "apiserver/registry.h"

#include "apiserver/builtin.h"
#include "base/alloc.h"
#include "object/meta.h"

#include <stdio.h>

struct pl_api_registry {
    struct pl_api_type *first, *last; /* owned list */
};

static char *dup_slice(struct pl_slice text)
{
    return pl_memdup0(text.ptr != NULL ? text.ptr : "", text.len);
}

/* ---- life of a type ---- */

static void version_deinit(struct pl_api_version *version)
{
    pl_free(version->group);
    pl_free(version->name);
    pl_schema_destroy(version->lists);
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

static void type_destroy(struct pl_api_type *type)
{
    pl_api_table_deinit(&type->table);
    versions_clear(type);
    names_clear(type);
    pl_free(type);
}

static void link_type(struct pl_api_registry *registry, struct pl_api_type *type)
{
    if (registry->last != NULL)
        registry->last->next = type;
    else
        registry->first = type;
    registry->last = type;
}

/* ---- the built-in kinds ---- */

static void builtin_version(struct pl_api_version *version, const struct pl_api_builtin *row,
                            bool second)
{
    version->group = pl_strdup(second ? row->also_group : row->group);
    version->name = pl_strdup(second ? row->also_version : row->version);
    version->served = true;
    version->has_status = row->flags & PL_API_STATUS;
    version->has_scale = row->flags & PL_API_SCALE;
    version->renames = second ? row->renames : NULL;
    if (version->has_scale) {
        version->scale_spec = pl_strdup(".spec.replicas");
        version->scale_status = pl_strdup(".status.replicas");
    }
}

static void add_builtin(struct pl_api_registry *registry, const struct pl_api_builtin *row)
{
    struct pl_api_type *type = PL_NEW(struct pl_api_type);
    type->plural = pl_strdup(row->plural);
    type->singular = pl_strdup(row->singular);
    type->kind = pl_strdup(row->kind);
    type->list_kind = pl_format("%sList", row->kind);
    type->short_names = pl_strdup(row->short_names);
    type->categories = pl_strdup(row->categories);
    type->flags = row->flags;
    type->selectable = row->selectable;
    type->version_count = row->also_group != NULL ? 2 : 1;
    type->versions = pl_calloc(type->version_count, sizeof(*type->versions));
    for (size_t i = 0; i < type->version_count; i++)
        builtin_version(&type->versions[i], row, i == 1);
    pl_api_table_init(&type->table);
    link_type(registry, type);
}

struct pl_api_registry *pl_api_registry_create(void)
{
    struct pl_api_registry *registry = PL_NEW(struct pl_api_registry);
    for (const struct pl_api_builtin *row = pl_api_builtins; row->plural != NULL; row++)
        add_builtin(registry, row);
    return registry;
}

void pl_api_registry_destroy(struct pl_api_registry *registry)
{
    while (registry->first != NULL) {
        struct pl_api_type *type = registry->first;
        registry->first = type->next;
        type_destroy(type);
    }
    pl_free(registry);
}

/* ---- finding ---- */

struct pl_api_type *pl_api_registry_first(const struct pl_api_registry *registry)
{
    return registry->first;
}

struct pl_api_type *pl_api_registry_find(const struct pl_api_registry *registry,
                                         struct pl_slice group, struct pl_slice version,
                                         struct pl_slice plural, size_t *index)
{
    for (struct pl_api_type *type = registry->first; type != NULL; type = type->next) {
        if (!pl_slice_eqz(plural, type->plural))
            continue;
        for (size_t i = 0; i < type->version_count; i++) {
            const struct pl_api_version *v = &type->versions[i];
            if (!v->served || !pl_slice_eqz(group, v->group) || !pl_slice_eqz(version, v->name))
                continue;
            if (index != NULL)
                *index = i;
            return type;
        }
    }
    return NULL;
}

static bool has_group(const struct pl_api_type *type, struct pl_slice group)
{
    for (size_t i = 0; i < type->version_count; i++)
        if (pl_slice_eqz(group, type->versions[i].group))
            return true;
    return false;
}

struct pl_api_type *pl_api_registry_find_group(const struct pl_api_registry *registry,
                                               struct pl_slice group, struct pl_slice plural)
{
    for (struct pl_api_type *type = registry->first; type != NULL; type = type->next)
        if (pl_slice_eqz(plural, type->plural) && has_group(type, group))
            return type;
    return NULL;
}

bool pl_api_registry_is_builtin(const struct pl_api_registry *registry, struct pl_slice group)
{
    for (const struct pl_api_type *type = registry->first; type != NULL; type = type->next)
        if (!type->is_custom && has_group(type, group))
            return true;
    return false;
}

/* ---- custom kinds ---- */

static char *join(struct pl_node array)
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
    return dup_slice(pl_node_str(pl_node_getz(node, key), &scratch));
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
    version->schema = pl_node_dig(node, "schema", "openAPIV3Schema");
    version->columns = pl_node_getz(node, "additionalPrinterColumns");
    version->selectable = pl_node_getz(node, "selectableFields");
    if (pl_node_is_missing(version->schema))
        return 0;
    version->lists = pl_schema_from_openapi(version->schema, err);
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
    type->short_names = join(pl_node_getz(names, "shortNames"));
    type->categories = join(pl_node_getz(names, "categories"));
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

int pl_api_registry_apply(struct pl_api_registry *registry, struct pl_doc *crd, struct pl_err *err)
{
    struct pl_scratch group, plural;
    struct pl_node spec = pl_node_getz(pl_doc_root(crd), "spec");
    struct pl_slice g = pl_node_str(pl_node_getz(spec, "group"), &group);
    struct pl_slice p = pl_node_str(pl_node_dig(spec, "names", "plural"), &plural);
    size_t count, storage;
    struct pl_api_version *versions = read_versions(crd, &count, &storage, err);
    if (versions == NULL)
        return PL_EINVAL;
    struct pl_api_type *type = pl_api_registry_find_group(registry, g, p);
    if (type == NULL) {
        type = PL_NEW(struct pl_api_type);
        type->is_custom = true;
        pl_api_table_init(&type->table);
        link_type(registry, type);
    }
    versions_clear(type);
    read_names(type, spec);
    type->versions = versions;
    type->version_count = count;
    type->storage_version = storage;
    return 0;
}

void pl_api_registry_remove(struct pl_api_registry *registry, struct pl_api_type *type)
{
    struct pl_api_type **at = &registry->first;
    struct pl_api_type *before = NULL;
    while (*at != type) {
        before = *at;
        at = &(*at)->next;
    }
    *at = type->next;
    if (registry->last == type)
        registry->last = before;
    type_destroy(type);
}

/* ---- about a type ---- */

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

const char *pl_api_type_group(const struct pl_api_type *type)
{
    return type->versions[type->storage_version].group;
}

struct pl_slice pl_api_version_text(const struct pl_api_version *version, char out[PL_KIND_TEXT])
{
    int len = snprintf(out, PL_KIND_TEXT, "%s%s%s", version->group,
                       version->group[0] != '\0' ? "/" : "", version->name);
    return pl_slice(out, (size_t)len);
}
