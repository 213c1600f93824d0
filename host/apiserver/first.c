/* What every cluster has before its first request: namespaces, and the default roles unless the
 * server is bare. A server that keeps its objects in a folder makes them only once. */
#include "apiserver/admission.h"
#include "apiserver/rbac.h"
#include "apiserver/write.h"

/* The namespaces that every cluster has. */
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

void pl_api_make_first(struct pl_api *api)
{
    make_namespaces(api);
    if (api->bare)
        return;
    pl_api_rbac_make_defaults(api);
    pl_api_make_priorities(api);
}
