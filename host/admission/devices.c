/* Claims with adminAccess see devices that others use. Only a namespace with a label may have them.
 */
#include "admission/devices.h"

#define ADMIN_LABEL "resource.kubernetes.io/admin-access"

/* The index of the first element that asks for it; -1: there is none. */
static int admin_index(const struct pl_tree *list, const char *path)
{
    int i = 0;
    PL_TREE_FOR(item, pl_tree_is(list, PL_ARRAY) ? list : NULL)
    {
        const struct pl_tree *value = pl_tree_dig(item->value, path);
        if (pl_tree_is(value, PL_BOOL) && value->boolean)
            return i;
        i++;
    }
    return -1;
}

static bool is_allowed(struct pl_api_ctx *ctx)
{
    struct pl_scratch scratch;
    const struct pl_api_entry *ns = pl_api_table_find(
        pl_api_builtin_table(ctx->api->registry, "", "namespaces"), ctx->request.ns);
    return ns != NULL && pl_slice_eqz(pl_node_str(pl_node_dig(pl_doc_root(ns->doc), "metadata",
                                                              "labels", ADMIN_LABEL),
                                                  &scratch),
                                      "true");
}

static void forbid_admin(struct pl_api_ctx *ctx, struct pl_api_faults *faults, const char *list,
                         int index)
{
    if (index < 0 || is_allowed(ctx))
        return;
    pl_api_fault(faults, "FieldValueForbidden",
                 pl_arena_f(faults->arena, "%s[%d].adminAccess", list, index),
                 "Forbidden: admin access to devices requires the `" ADMIN_LABEL ": true` label on "
                 "the containing namespace");
}

void pl_api_devices_validate(struct pl_api_ctx *ctx, struct pl_api_faults *faults,
                             const struct pl_tree *object, const struct pl_tree *old)
{
    static const char results[] = "status.allocation.devices.results";
    bool is_template = pl_api_type_is_builtin(ctx->type, "ResourceClaimTemplate");
    const char *requests = is_template ? "spec.spec.devices.requests" : "spec.devices.requests";
    if (!is_template && !pl_api_type_is_builtin(ctx->type, "ResourceClaim"))
        return;
    if (old == NULL)
        forbid_admin(ctx, faults, "spec.devices.requests",
                     admin_index(pl_tree_dig(object, requests), "exactly.adminAccess"));
    else if (admin_index(pl_tree_dig(old, results), "adminAccess") < 0)
        forbid_admin(ctx, faults, results,
                     admin_index(pl_tree_dig(object, results), "adminAccess"));
}
