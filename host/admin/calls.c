/* The admin command "calls": the sorts of API calls of each controller since the start of the
 * process, for `perilune rbac --recorded`. */
#include "admin/admin.h"

#include "cluster/history.h"

void pl_admin_build_calls(const struct pl_admin_call *call, struct pl_build *b)
{
    const struct pl_history *history = pl_cluster_history(pl_admin_host(call)->cluster);
    pl_build_keyz(b, "calls");
    pl_build_array(b);
    size_t at = 0;
    struct pl_slice name;
    void *value;
    while (pl_map_next(&history->calls, &at, &name, &value))
        pl_build_str(b, name);
    pl_build_end(b);
}

void pl_admin_calls(void *arg, struct pl_admin_call *call)
{
    PL_UNUSED(arg);
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_admin_build_calls(call, b);
    pl_build_end(b);
    struct pl_doc *result = pl_build_close(b);
    pl_admin_reply(call, result);
}
