/* Defaults of a pod's containers and volumes that depend on other members: pull policies, requests,
 * ports of the host, volumes without a source. */
#include "schema/defaults_pod.h"

#include "base/text.h"

#include <string.h>

/* True if a registry would accept the image's name; other names have no tag. */
static bool is_reference(struct pl_slice image)
{
    size_t slash = image.len;
    for (size_t i = 0; i < image.len; i++) {
        char c = image.ptr[i];
        bool good = pl_is_lower_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '/' ||
                    c == ':' || c == '@' || (c >= 'A' && c <= 'Z');
        if (!good)
            return false;
        slash = c == '/' ? i : slash;
    }
    size_t start = slash < image.len ? slash + 1 : 0, end = start;
    for (; end < image.len && image.ptr[end] != ':' && image.ptr[end] != '@'; end++)
        if (image.ptr[end] >= 'A' && image.ptr[end] <= 'Z')
            return false;
    return end > start && end <= 255 && image.ptr[start] != '-' && image.ptr[start] != '_' &&
           image.ptr[start] != '.' && image.ptr[end - 1] != '-';
}

/* Always for :latest and no tag, else IfNotPresent. */
static void pull_policies(struct pl_arena *arena, struct pl_tree *containers)
{
    if (!pl_tree_is(containers, PL_ARRAY))
        return;
    PL_TREE_FOR(item, containers)
    {
        struct pl_slice image = pl_tree_text_at(item->value, "image");
        size_t i = image.len;
        while (i > 0 && image.ptr[i - 1] != ':' && image.ptr[i - 1] != '/' &&
               image.ptr[i - 1] != '@')
            i--;
        bool tagged = i > 0 && image.ptr[i - 1] == ':';
        bool digest = pl_slice_chr(image, '@') != NULL;
        bool latest = is_reference(image) && !digest &&
                      (!tagged || pl_slice_eqz(pl_slice(image.ptr + i, image.len - i), "latest"));
        if (pl_tree_is(item->value, PL_OBJECT))
            pl_tree_default(arena, item->value, "imagePullPolicy",
                            pl_tree_strz(arena, latest ? "Always" : "IfNotPresent"));
    }
}

/* Requests follow limits. */
static void resource_requests(struct pl_arena *arena, struct pl_tree *containers)
{
    if (!pl_tree_is(containers, PL_ARRAY))
        return;
    PL_TREE_FOR(item, containers)
    {
        struct pl_tree *resources = pl_tree_getz(item->value, "resources");
        struct pl_tree *limits = pl_tree_getz(resources, "limits");
        if (limits == NULL || limits->count == 0)
            continue;
        struct pl_tree *requests = pl_tree_child(arena, resources, "requests");
        PL_TREE_FOR(limit, limits)
        if (pl_tree_get(requests, limit->key) == NULL)
            pl_tree_set(arena, requests, limit->key, pl_tree_copy(arena, limit->value));
    }
}

/* A volume without a source is an emptyDir. */
void pl_api_default_volumes(struct pl_arena *arena, struct pl_tree *volumes)
{
    if (!pl_tree_is(volumes, PL_ARRAY))
        return;
    PL_TREE_FOR(item, volumes)
    {
        bool any = false;
        PL_TREE_FOR(member, pl_tree_is(item->value, PL_OBJECT) ? item->value : NULL)
        any = any || !pl_slice_eqz(member->key, "name");
        if (!any && pl_tree_is(item->value, PL_OBJECT))
            pl_tree_setz(arena, item->value, "emptyDir", pl_tree_object(arena));
    }
}

/* In the host's network, the port of the host is that of the container. */
static void host_ports(struct pl_arena *arena, struct pl_tree *containers)
{
    PL_TREE_FOR(container, containers)
    PL_TREE_FOR(port, pl_tree_getz(container->value, "ports"))
    {
        struct pl_tree *number = pl_tree_getz(port->value, "containerPort");
        if (number != NULL && pl_tree_is(port->value, PL_OBJECT))
            pl_tree_default(arena, port->value, "hostPort", pl_tree_copy(arena, number));
    }
}

void pl_api_default_containers(struct pl_arena *arena, struct pl_tree *spec, bool is_pod)
{
    static const char lists[][20] = {"containers", "initContainers", "ephemeralContainers"};
    const struct pl_tree *host = pl_tree_getz(spec, "hostNetwork");
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++) {
        struct pl_tree *list = pl_tree_getz(spec, lists[i]);
        pull_policies(arena, list);
        if (is_pod)
            resource_requests(arena, list);
        if (is_pod && pl_tree_is(host, PL_BOOL) && host->boolean && i < 2)
            host_ports(arena, list);
    }
}
