#include "control/cluster.h"

#include "base/alloc.h"
#include "base/check.h"
#include "control/recorder.h"
#include "control/source.h"

#include <string.h>

struct pl_cluster {
    struct pl_cluster_options o; /* its namespaces are owned */
    struct pl_discovery *discovery;
    struct pl_gate *gate;
    struct pl_recorder *recorder;
    struct pl_history history;
    struct pl_reconnects *reconnects;
    struct pl_informer **informers; /* owned array; borrowed until pl_cluster_forget_informer */
    size_t informer_count;
    size_t held; /* informers, reads and writes that have not ended */
    void (*on_idle)(void *arg);
    void *on_idle_arg;
    struct pl_timer idle;
};

/* Two informers of a kind share its gauges. */
static void collect(void *arg)
{
    struct pl_cluster *cluster = arg;
    for (size_t i = 0; i < cluster->informer_count; i++)
        pl_informer_clear_gauges(cluster->informers[i]);
    for (size_t i = 0; i < cluster->informer_count; i++)
        pl_informer_add_gauges(cluster->informers[i]);
}

struct pl_cluster *pl_cluster_create(const struct pl_cluster_options *options)
{
    struct pl_cluster *cluster = PL_NEW(struct pl_cluster);
    cluster->o = *options;
    cluster->o.namespaces = pl_texts_sorted(options->namespaces);
    cluster->discovery = pl_discovery_create(options->client);
    cluster->reconnects = pl_reconnects_create(options->timers, options->rand);
    struct pl_gate_options gate = {.cluster = cluster, .dry_run = options->dry_run};
    cluster->gate = pl_gate_create(&gate);
    struct pl_recorder_options recorder = {.cluster = cluster,
                                           .instance = options->instance,
                                           .self = options->self,
                                           .dry_run = options->dry_run};
    cluster->recorder = pl_recorder_create(&recorder);
    cluster->o.instance = NULL;
    cluster->o.self = NULL;
    pl_history_init(&cluster->history, 0);
    if (options->metrics != NULL)
        pl_metrics_collect(options->metrics, collect, cluster);
    return cluster;
}

void pl_cluster_destroy(struct pl_cluster *cluster)
{
    if (cluster == NULL)
        return;
    PL_REQUIRE(cluster->informer_count == 0 && cluster->held == 0);
    pl_timer_stop(cluster->o.timers, &cluster->idle);
    if (cluster->o.metrics != NULL)
        pl_metrics_uncollect(cluster->o.metrics, collect, cluster);
    pl_recorder_destroy(cluster->recorder);
    pl_gate_destroy(cluster->gate);
    pl_reconnects_destroy(cluster->reconnects);
    pl_discovery_destroy(cluster->discovery);
    pl_history_deinit(&cluster->history);
    pl_texts_free(cluster->o.namespaces);
    pl_free(cluster->informers);
    pl_free(cluster);
}

/* ---- idle ---- */

bool pl_cluster_is_idle(const struct pl_cluster *cluster)
{
    return cluster->held == 0;
}

static void on_idle(struct pl_timer *timer)
{
    struct pl_cluster *cluster = PL_CONTAINER_OF(timer, struct pl_cluster, idle);
    void (*call)(void *arg) = cluster->on_idle;
    if (cluster->held > 0 || call == NULL)
        return;
    cluster->on_idle = NULL;
    call(cluster->on_idle_arg);
}

static void check_idle(struct pl_cluster *cluster)
{
    if (cluster->held == 0 && cluster->on_idle != NULL)
        pl_timer_start(cluster->o.timers, &cluster->idle, 0, on_idle);
}

void pl_cluster_on_idle(struct pl_cluster *cluster, void (*call)(void *arg), void *arg)
{
    PL_REQUIRE(call == NULL || cluster->on_idle == NULL);
    cluster->on_idle = call;
    cluster->on_idle_arg = arg;
    check_idle(cluster);
}

void pl_cluster_hold(struct pl_cluster *cluster)
{
    cluster->held++;
}

void pl_cluster_release(struct pl_cluster *cluster)
{
    PL_REQUIRE(cluster->held > 0);
    cluster->held--;
    check_idle(cluster);
}

/* ---- its parts ---- */

struct pl_client *pl_cluster_client(struct pl_cluster *cluster)
{
    return cluster->o.client;
}

struct pl_discovery *pl_cluster_discovery(struct pl_cluster *cluster)
{
    return cluster->discovery;
}

struct pl_gate *pl_cluster_gate(struct pl_cluster *cluster)
{
    return cluster->gate;
}

struct pl_recorder *pl_cluster_recorder(struct pl_cluster *cluster)
{
    return cluster->recorder;
}

struct pl_timers *pl_cluster_timers(struct pl_cluster *cluster)
{
    return cluster->o.timers;
}

struct pl_rand *pl_cluster_rand(struct pl_cluster *cluster)
{
    return cluster->o.rand;
}

struct pl_waits *pl_cluster_waits(struct pl_cluster *cluster)
{
    return cluster->o.waits;
}

struct pl_history *pl_cluster_history(struct pl_cluster *cluster)
{
    return &cluster->history;
}

struct pl_pool *pl_cluster_pool(struct pl_cluster *cluster)
{
    return cluster->o.pool;
}

struct pl_metrics *pl_cluster_metrics(struct pl_cluster *cluster)
{
    return cluster->o.metrics;
}

struct pl_reconnects *pl_cluster_reconnects(struct pl_cluster *cluster)
{
    return cluster->reconnects;
}

bool pl_cluster_streams_lists(const struct pl_cluster *cluster)
{
    return cluster->o.stream_lists;
}

void pl_cluster_defer(struct pl_cluster *cluster, struct pl_task *task,
                      void (*run)(struct pl_task *task))
{
    cluster->o.defer(cluster->o.defer_arg, task, run);
}

/* ---- informers ---- */

struct pl_informer *pl_cluster_informer(struct pl_cluster *cluster, const struct pl_kind *kind,
                                        const struct pl_source_options *options)
{
    struct pl_source_options wanted;
    pl_source_options_copy(&wanted, options);
    struct pl_informer *found = NULL;
    for (size_t i = 0; i < cluster->informer_count && found == NULL; i++) {
        struct pl_informer *informer = cluster->informers[i];
        if (pl_kind_eq(pl_informer_kind(informer), kind) &&
            pl_source_options_eq(pl_informer_options(informer), &wanted))
            found = pl_informer_ref(informer);
    }
    if (found == NULL) {
        found = pl_informer_create(cluster, kind, &wanted, cluster->o.namespaces);
        cluster->informers = pl_reallocarray(cluster->informers, cluster->informer_count + 1,
                                             sizeof(struct pl_informer *));
        cluster->informers[cluster->informer_count++] = found;
        pl_informer_start(found);
    }
    pl_source_options_deinit(&wanted);
    return found;
}

void pl_cluster_stop_informers(struct pl_cluster *cluster)
{
    for (size_t i = cluster->informer_count; i-- > 0;)
        pl_informer_stop(cluster->informers[i]);
    pl_recorder_drain(cluster->recorder);
}

void pl_cluster_forget_informer(struct pl_cluster *cluster, const struct pl_informer *informer)
{
    size_t kept = 0;
    for (size_t i = 0; i < cluster->informer_count; i++)
        if (cluster->informers[i] != informer)
            cluster->informers[kept++] = cluster->informers[i];
    cluster->informer_count = kept;
}

size_t pl_cluster_informer_count(const struct pl_cluster *cluster)
{
    return cluster->informer_count;
}

struct pl_informer *pl_cluster_informer_at(const struct pl_cluster *cluster, size_t i)
{
    return cluster->informers[i];
}

void pl_cluster_each_informer(struct pl_cluster *cluster, const struct pl_kind *kind,
                              void (*visit)(void *arg, struct pl_informer *informer), void *arg)
{
    for (size_t i = cluster->informer_count; i-- > 0;)
        if (pl_kind_eq(pl_informer_kind(cluster->informers[i]), kind))
            visit(arg, cluster->informers[i]);
}

int pl_scope_check(const struct pl_resource *resource, struct pl_slice ns, struct pl_slice name,
                   struct pl_err *err)
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
