/* The initial objects of every cluster: namespaces and, unless the server is bare, the default
 * roles and priority classes. A server with a data folder makes them only once. */
#include "apicall/rbac.h"
#include "apiserver/verbs.h"
#include "apiserver/write.h"

/* The initial namespaces. */
static void make_namespaces(struct pl_api *api)
{
    static const char *const names[] = {"default", "kube-node-lease", "kube-public", "kube-system"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        struct pl_arena arena = {0};
        struct pl_tree *object =
            pl_tree_literal(&arena, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\"}");
        pl_tree_set_strz(&arena, pl_tree_child(&arena, object, "metadata"), "name", names[i]);
        pl_api_store_own(api, "", "namespaces", object);
        pl_arena_deinit(&arena);
    }
}

/* The initial priority classes. */
static void make_priorities(struct pl_api *api)
{
    static const char *const classes[] = {
        "{\"apiVersion\":\"scheduling.k8s.io/"
        "v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":"
        "\"system-cluster-critical\"},\"value\":2000000000,\"description\":\"Used for system "
        "critical pods that must run in the cluster, but can be moved to another node if "
        "necessary.\"}",
        "{\"apiVersion\":\"scheduling.k8s.io/"
        "v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":"
        "\"system-node-critical\"},\"value\":2000001000,\"description\":\"Used for system critical "
        "pods that must not be moved from their current node.\"}",
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(classes); i++) {
        struct pl_arena arena = {0};
        pl_api_store_own(api, "scheduling.k8s.io", "priorityclasses",
                         pl_tree_literal(&arena, classes[i]));
        pl_arena_deinit(&arena);
    }
}

void pl_api_make_first(struct pl_api *api)
{
    make_namespaces(api);
    if (api->bare)
        return;
    pl_api_rbac_make_defaults(api);
    make_priorities(api);
}
