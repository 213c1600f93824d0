/* The resources of one group-version, and a helpful message for a kind that no group serves.
 *
 * Resources are interned and stay until the discovery ends: informers and requests borrow them, so
 * a resource must not be freed when the server drops or changes it. A group that failed to load
 * keeps its kinds; one that is missing (404) has none. The server's answer is limited, and odd
 * entries are skipped. */
#include "kube/api_group.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/nearest.h"
#include "base/text.h"
#include "kube/status.h"

#include <stdlib.h>

#define MAX_RESOURCES 5000 /* limit of one group-version */
#define MAX_PLACES    5    /* limit of names in a message */

struct pl_api_resource {
    struct pl_api_resource *next;
    struct pl_resource resource;
};

void pl_api_resources_deinit(struct pl_api_resources *all)
{
    while (all->first != NULL) {
        struct pl_api_resource *next = all->first->next;
        pl_free(all->first);
        all->first = next;
    }
}

static bool resource_eq(const struct pl_resource *a, const struct pl_resource *b)
{
    return pl_kind_eq(&a->kind, &b->kind) && strcmp(a->plural, b->plural) == 0 &&
           a->namespaced == b->namespaced && a->has_status == b->has_status &&
           a->can_watch == b->can_watch;
}

static const struct pl_resource *intern(struct pl_api_resources *all,
                                        const struct pl_resource *resource,
                                        const struct pl_resource *old)
{
    if (old != NULL && resource_eq(old, resource))
        return old;
    for (struct pl_api_resource *at = all->first; at != NULL; at = at->next) {
        if (resource_eq(&at->resource, resource))
            return &at->resource;
    }
    struct pl_api_resource *entry = PL_NEW(struct pl_api_resource);
    entry->resource = *resource;
    entry->next = all->first;
    all->first = entry;
    all->count++;
    return &entry->resource;
}

struct pl_api_group *pl_api_group_create(struct pl_slice name)
{
    struct pl_api_group *group = PL_NEW(struct pl_api_group);
    group->name = pl_text_copy(name);
    pl_err_clear(&group->err);
    return group;
}

void pl_api_group_destroy(struct pl_api_group *group)
{
    pl_map_deinit(&group->kinds);
    pl_free(group->name);
    pl_free(group);
}

bool pl_api_group_name_is_valid(struct pl_slice name)
{
    struct pl_kind kind;
    return pl_kind_from(name, pl_slice_z("Any"), &kind, NULL) == 0;
}

/* ---- loading ---- */

static bool has_verb(struct pl_node resource, const char *verb)
{
    struct pl_iter it = pl_iter(pl_node_getz(resource, "verbs"));
    while (pl_iter_next(&it)) {
        if (pl_node_str_eq(it.value, pl_slice_z(verb)))
            return true;
    }
    return false;
}

/* The plurals that have a status subresource: "deployments/status" without its end. */
static struct pl_map plurals_with_status(struct pl_node resources)
{
    struct pl_map plurals = PL_MAP_INIT;
    struct pl_iter it = pl_iter(resources);
    while (pl_iter_next(&it)) {
        struct pl_scratch scratch;
        struct pl_slice name = pl_node_str(pl_node_getz(it.value, "name"), &scratch);
        if (name.len > 7 && pl_text_ends(name, "/status"))
            pl_map_put(&plurals, pl_slice(name.ptr, name.len - 7), &plurals);
    }
    return plurals;
}

/* False for subresources and for invalid entries. */
static bool read_resource(struct pl_node node, const struct pl_api_group *group,
                          struct pl_resource *out)
{
    struct pl_scratch scratch[2];
    struct pl_slice name = pl_node_str(pl_node_getz(node, "name"), &scratch[0]);
    struct pl_slice kind = pl_node_str(pl_node_getz(node, "kind"), &scratch[1]);
    *out = (struct pl_resource){.namespaced = pl_node_bool(pl_node_getz(node, "namespaced"))};
    if (name.len == 0 || name.len >= sizeof out->plural || pl_slice_chr(name, '/') != NULL)
        return false;
    if (pl_kind_from(pl_slice_z(group->name), kind, &out->kind, NULL) != 0)
        return false;
    memcpy(out->plural, name.ptr, name.len);
    out->can_watch = has_verb(node, "watch");
    return true;
}

void pl_api_group_load(struct pl_api_group *group, struct pl_api_resources *all,
                       struct pl_node list)
{
    struct pl_node resources = pl_node_getz(list, "resources");
    struct pl_map status = plurals_with_status(resources), kinds = PL_MAP_INIT;
    struct pl_iter it = pl_iter(resources);
    while (pl_iter_next(&it) && kinds.count < MAX_RESOURCES) {
        struct pl_resource resource;
        if (!read_resource(it.value, group, &resource))
            continue;
        struct pl_slice key = pl_slice_z(resource.kind.kind);
        if (pl_map_has(&kinds, key)) /* of several resources of one kind the first counts */
            continue;
        resource.has_status = pl_map_has(&status, pl_slice_z(resource.plural));
        pl_map_put(&kinds, key, (void *)intern(all, &resource, pl_map_get(&group->kinds, key)));
    }
    pl_map_deinit(&status);
    pl_map_deinit(&group->kinds);
    group->kinds = kinds;
    group->state = PL_API_GROUP_LOADED;
    group->stale = false;
}

void pl_api_group_fail(struct pl_api_group *group, const struct pl_err *err)
{
    if (!pl_err_is_not_found(err)) {
        group->state = PL_API_GROUP_FAILED;
        group->err = *err;
        return;
    }
    pl_map_deinit(&group->kinds);
    group->kinds = PL_MAP_INIT;
    group->state = PL_API_GROUP_MISSING;
    group->stale = false;
}

/* ---- the message for an unknown kind ---- */

static bool add_places(struct pl_buf *text, const struct pl_kind *kind, const struct pl_map *groups)
{
    const char **names = pl_calloc(groups->count + 1, sizeof *names);
    size_t at = 0, count = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(groups, &at, &key, &value)) {
        struct pl_api_group *group = value;
        if (!group->stale && pl_map_has(&group->kinds, pl_slice_z(kind->kind)))
            names[count++] = group->name;
    }
    if (count > 1)
        qsort(names, count, sizeof *names, pl_text_order);
    for (size_t i = 0; i < count && i < MAX_PLACES; i++)
        pl_buf_add_f(text, "%s%s/%s", i == 0 ? "; it serves that kind as " : ", ", names[i],
                     kind->kind);
    pl_free(names);
    return count > 0;
}

/* The nearest kind in one group-version, or in all when only is NULL. */
static const struct pl_resource *nearest(const struct pl_kind *kind, const struct pl_map *groups,
                                         const char *only)
{
    size_t at = 0, count = 0, cap = 0;
    const char **words = NULL;
    const struct pl_resource *best = NULL;
    struct pl_slice key;
    void *value;
    while (pl_map_next(groups, &at, &key, &value)) {
        struct pl_api_group *group = value;
        size_t in = 0;
        if (group->stale || (only != NULL && strcmp(group->name, only) != 0))
            continue;
        while (pl_map_next(&group->kinds, &in, &key, &value)) {
            if (count == cap)
                words = pl_reallocarray(words, cap = cap ? cap * 2 : 64, sizeof *words);
            words[count++] = ((const struct pl_resource *)value)->kind.kind;
        }
    }
    const char *word = words != NULL ? pl_nearest(pl_slice_z(kind->kind), words, count) : NULL;
    if (word != NULL) /* the name is a member of its resource */
        best = PL_CONTAINER_OF(word, struct pl_resource, kind.kind);
    pl_free(words);
    return best;
}

static bool group_exists(const struct pl_kind *kind, const struct pl_map *groups)
{
    struct pl_slice name = pl_slice_z(kind->group);
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(groups, &at, &key, &value)) {
        struct pl_api_group *group = value;
        bool same = key.len > name.len && key.ptr[name.len] == '/' &&
                    pl_slice_eq(pl_slice(key.ptr, name.len), name);
        if (same && (group->exists || (group->state == PL_API_GROUP_LOADED && !group->stale)))
            return true;
    }
    return name.len == 0;
}

void pl_api_not_found(struct pl_err *err, const struct pl_kind *kind, const struct pl_map *groups)
{
    char text[PL_KIND_TEXT], api_version[PL_KIND_TEXT];
    struct pl_buf hint = PL_BUF_INIT;
    pl_kind_api_version(kind, api_version);
    const struct pl_resource *meant = NULL;
    if (!add_places(&hint, kind, groups)) {
        meant = nearest(kind, groups, api_version);
        if (meant == NULL)
            meant = nearest(kind, groups, NULL);
    }
    if (meant != NULL)
        pl_buf_add_f(&hint, "; did you mean %s?", pl_kind_text(&meant->kind, text));
    else if (hint.len == 0 && !group_exists(kind, groups))
        pl_buf_add_f(&hint,
                     "; there is no API group %s: is its CustomResourceDefinition installed?",
                     kind->group);
    pl_err_set(err, PL_ENOTFOUND, "the server does not serve %s%s", pl_kind_text(kind, text),
               pl_buf_z(&hint));
    pl_buf_deinit(&hint);
}
