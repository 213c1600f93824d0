/* The connections of a host: the API server, the other clusters, a collector of traces. They are
 * created here and send no request yet. The pod's environment says where we run. */
#include "cli/host_impl.h"

#include "serve/version.h"
#include "write/recorder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void defer(void *arg, struct pl_task *task, void (*run)(struct pl_task *task))
{
    pl_loop_defer(arg, task, run);
}

static struct pl_slice env_or(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return pl_slice_z(value != NULL && *value != '\0' ? value : otherwise);
}

static struct pl_client_options client_options(struct host *host)
{
    const struct pl_options *options = host->options;
    return (struct pl_client_options){
        .transport = pl_http_client_transport(host->http),
        .timers = pl_loop_timers(host->loop),
        .rand = &host->rand,
        .waits = &host->waits,
        .metrics = host->metrics,
        .loop = host->loop,
        .config = &host->config,
        .pool = host->pool,
        .decode_thread = host->decode_thread,
        .user_agent = pl_user_agent(),
        .request_timeout_ns = options->request_timeout_ns,
        .qps = options->qps,
        .burst = options->burst,
        .probe_ns = 30 * PL_SECOND,
    };
}

static struct pl_site_options site_options(struct host *host)
{
    return (struct pl_site_options){.client = host->client,
                                    .timers = pl_loop_timers(host->loop),
                                    .rand = &host->rand,
                                    .waits = &host->waits,
                                    .pool = host->pool,
                                    .metrics = host->metrics,
                                    .defer = defer,
                                    .defer_arg = host->loop,
                                    .shards = host->shards,
                                    .stream_lists = host->options->stream_lists};
}

static struct pl_object_ref own_pod(const struct host *host)
{
    return (struct pl_object_ref){.api_version = pl_slice_z("v1"),
                                  .kind = pl_slice_z("Pod"),
                                  .ns = env_or("POD_NAMESPACE", host->config.ns),
                                  .name = env_or("POD_NAME", getenv("HOSTNAME")),
                                  .uid = env_or("POD_UID", NULL)};
}

static void create_clusters(struct host *host, const struct pl_client_options *client)
{
    char instance[80] = "perilune-";
    if (gethostname(instance + strlen(instance), 64) != 0)
        strcpy(instance, "perilune");
    instance[sizeof(instance) - 1] = '\0';
    struct pl_object_ref self = own_pod(host);
    bool in_pod = getenv("KUBERNETES_SERVICE_HOST") != NULL && self.ns.len > 0 && self.name.len > 0;
    struct pl_cluster_options cluster = {
        .site = site_options(host),
        .namespaces = (char **)host->options->namespaces,
        .dry_run = host->options->dry_run,
        .instance = instance,
        .self = in_pod ? &self : NULL,
    };
    host->cluster = pl_cluster_create(&cluster);
    cluster.self = NULL; /* Events about us go to the home cluster */
    cluster.namespaces = NULL;
    const struct pl_remotes_options remotes = {.home = host->cluster,
                                               .client = *client,
                                               .cluster = cluster,
                                               .files = host->options->kubeconfig,
                                               .loop = host->loop};
    host->remotes = pl_remotes_create(&remotes);
}

int pl_host_connect(struct host *host, struct pl_err *err)
{
    pl_rand_init(&host->rand);
    host->decode_thread = pl_decode_thread_create(host->loop);
    struct pl_client_options client = client_options(host);
    host->client = pl_client_create(&client, err);
    if (host->client == NULL)
        return err->code;
    pl_view_set_client(host->view, host->client);
    create_clusters(host, &client);
    return 0;
}

static const char *environment(const char *name)
{
    return getenv(name);
}

int pl_host_trace(struct host *host, struct pl_err *err)
{
    struct pl_trace_env env;
    const struct pl_tracer_options options = {.transport = pl_http_client_transport(host->http),
                                              .timers = pl_loop_timers(host->loop),
                                              .rand = &host->rand,
                                              .metrics = host->metrics};
    int rc = pl_trace_env_read(&env, environment, err);
    if (rc == 0 && env.url != NULL) {
        host->tracer = pl_tracer_create(&options, &env);
        pl_cluster_set_tracer(host->cluster, host->tracer);
    }
    pl_trace_env_deinit(&env);
    return rc;
}
