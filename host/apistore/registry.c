/* The served kinds: a list of types, each with its table of objects. When a CRD changes, its type
 * stays the same object, because objects and watches point at it. It is removed only when nothing
 * points at it any more. */
#include "apistore/registry.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "schema/builtin.h"

#define PLACES 128 /* a power of two, about twice the number of built-in kinds */

struct pl_api_registry {
    struct pl_api_type *first, *last;      /* owned list */
    struct pl_api_type *by_plural[PLACES]; /* lists, linked by `next_alike` */
    uint64_t changes;
};

static size_t place_of(struct pl_slice plural)
{
    return pl_hash(plural.ptr, plural.len, 0) % PLACES;
}

static void registry_add_type(struct pl_api_registry *registry, struct pl_api_type *type)
{
    type->table = pl_api_table_create();
    if (registry->last != NULL)
        registry->last->next = type;
    else
        registry->first = type;
    registry->last = type;
    struct pl_api_type **alike = &registry->by_plural[place_of(pl_slice_z(type->plural))];
    type->next_alike = *alike;
    *alike = type;
}

static void destroy_type(struct pl_api_type *type)
{
    pl_api_table_destroy(type->table);
    pl_api_type_destroy(type);
}

struct pl_api_registry *pl_api_registry_create(void)
{
    struct pl_api_registry *registry = PL_NEW(struct pl_api_registry);
    for (const struct pl_api_builtin *row = pl_api_builtins; *row->plural != '\0'; row++)
        registry_add_type(registry, pl_api_type_of_builtin(row));
    return registry;
}

void pl_api_registry_destroy(struct pl_api_registry *registry)
{
    while (registry->first != NULL) {
        struct pl_api_type *type = registry->first;
        registry->first = type->next;
        destroy_type(type);
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
    struct pl_api_type *type = registry->by_plural[place_of(plural)];
    for (; type != NULL; type = type->next_alike) {
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

struct pl_api_type *pl_api_registry_find_group(const struct pl_api_registry *registry,
                                               struct pl_slice group, struct pl_slice plural)
{
    struct pl_api_type *type = registry->by_plural[place_of(plural)];
    for (; type != NULL; type = type->next_alike)
        if (pl_slice_eqz(plural, type->plural) && pl_api_type_has_group(type, group))
            return type;
    return NULL;
}

struct pl_api_type *pl_api_registry_find_kind(const struct pl_api_registry *registry,
                                              struct pl_slice api_version, struct pl_slice kind)
{
    char text[PL_KIND_TEXT];
    for (struct pl_api_type *type = registry->first; type != NULL; type = type->next)
        for (size_t i = 0; pl_slice_eqz(kind, type->kind) && i < type->version_count; i++)
            if (type->versions[i].served &&
                pl_slice_eq(api_version, pl_api_version_text(&type->versions[i], text)))
                return type;
    return NULL;
}

struct pl_api_table *pl_api_builtin_table(const struct pl_api_registry *registry, const char *group,
                                          const char *plural)
{
    return pl_api_registry_find_group(registry, pl_slice_z(group), pl_slice_z(plural))->table;
}

bool pl_api_registry_is_builtin(const struct pl_api_registry *registry, struct pl_slice group)
{
    for (const struct pl_api_type *type = registry->first; type != NULL; type = type->next)
        if (!type->is_custom && pl_api_type_has_group(type, group))
            return true;
    return false;
}

uint64_t pl_api_registry_changes(const struct pl_api_registry *registry)
{
    return registry->changes;
}

/* ---- custom kinds ---- */

int pl_api_registry_apply(struct pl_api_registry *registry, struct pl_doc *crd, struct pl_err *err)
{
    struct pl_scratch group, plural;
    struct pl_node spec = pl_node_getz(pl_doc_root(crd), "spec");
    struct pl_slice g = pl_node_str(pl_node_getz(spec, "group"), &group);
    struct pl_slice p = pl_node_str(pl_node_dig(spec, "names", "plural"), &plural);
    struct pl_api_type *known = pl_api_registry_find_group(registry, g, p);
    struct pl_api_type *type = pl_api_type_of_crd(known, crd, err);
    if (type == NULL)
        return PL_EINVAL;
    if (known == NULL)
        registry_add_type(registry, type);
    else
        type->is_changed = type->is_changed || type->table->count > 0;
    registry->changes++;
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
    at = &registry->by_plural[place_of(pl_slice_z(type->plural))];
    while (*at != type)
        at = &(*at)->next_alike;
    *at = type->next_alike;
    registry->changes++;
    destroy_type(type);
}
