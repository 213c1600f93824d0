/* Collects the namespaces whose quotas must be counted, and counts them on a timer a moment later.
 * So a burst of deletions causes one count. Without a quota in the server nothing is collected. A
 * count that changes nothing writes nothing, so it does not cause another one. */
#include "apiserver/quotas.h"

#include "admission/quota.h"
#include "base/alloc.h"
#include "object/meta.h"

#define DELAY PL_SECOND

struct pl_api_quotas {
    struct pl_api *api; /* back-pointer */
    struct pl_timer timer;
    struct pl_map namespaces; /* to be counted */
};

struct pl_api_quotas *pl_api_quotas_create(struct pl_api *api)
{
    struct pl_api_quotas *quotas = PL_NEW(struct pl_api_quotas);
    quotas->api = api;
    return quotas;
}

void pl_api_quotas_destroy(struct pl_api_quotas *quotas)
{
    pl_timer_stop(quotas->api->timers, &quotas->timer);
    pl_map_deinit(&quotas->namespaces);
    pl_free(quotas);
}

int64_t pl_api_quotas_due(const struct pl_api_quotas *quotas)
{
    return pl_timer_is_active(&quotas->timer) ? quotas->timer.due_ns : INT64_MAX;
}

static void quotas_run(struct pl_timer *timer)
{
    struct pl_api_quotas *quotas = PL_CONTAINER_OF(timer, struct pl_api_quotas, timer);
    struct pl_map due = quotas->namespaces;
    size_t at = 0;
    struct pl_slice ns;
    void *value;
    quotas->namespaces = PL_MAP_INIT;
    while (pl_map_next(&due, &at, &ns, &value))
        pl_api_quota_count(quotas->api, ns);
    pl_map_deinit(&due);
}

void pl_api_quotas_note(struct pl_api_quotas *quotas, const struct pl_api_event *event)
{
    struct pl_node object = pl_doc_root(event->doc);
    bool quota = pl_api_type_is_builtin(event->type, "ResourceQuota");
    bool pod = pl_api_type_is_builtin(event->type, "Pod");
    struct pl_scratch scratch;
    struct pl_slice ns = pl_meta_namespace(object, &scratch);
    if ((event->change != PL_API_DELETED && !quota && !pod) || ns.len == 0 ||
        pl_api_builtin_table(quotas->api->registry, "", "resourcequotas")->count == 0)
        return;
    pl_map_put(&quotas->namespaces, ns, quotas);
    if (!pl_timer_is_active(&quotas->timer))
        pl_timer_start(quotas->api->timers, &quotas->timer, DELAY, quotas_run);
}
