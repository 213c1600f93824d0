#include "kube/resource.h"

int pl_resource_check_scope(const struct pl_resource *resource, struct pl_slice ns,
                            struct pl_slice name, struct pl_err *err)
{
    char text[PL_KIND_TEXT];
    if (!resource->namespaced && ns.len > 0)
        return pl_err_set(err, PL_EINVAL, "%s is cluster-scoped: leave the namespace \"%.*s\" out",
                          pl_kind_text(&resource->kind, text), PL_FMT(ns));
    if (resource->namespaced && ns.len == 0 && name.len > 0)
        return pl_err_set(err, PL_EINVAL, "%s is namespaced: \"%.*s\" needs a namespace",
                          pl_kind_text(&resource->kind, text), PL_FMT(name));
    return 0;
}
