/* The client of one API server: the state that its requests and watches share, and the limit on
 * requests. Requests are in op.c, watches in watch.c, attempts in attempt.c.
 *
 * Destroying it ends all of them before it returns; their owners get ECANCELED. The bucket lends
 * tokens, so that requests are spaced in the order of their arrival. A request that would have to
 * wait past its deadline fails at once. */
#include "kube/client_impl.h"

#include "base/alloc.h"

#define DEFAULT_TIMEOUT (30 * PL_SECOND)

static struct pl_metric *add_metric(struct pl_metrics *metrics)
{
    if (metrics == NULL)
        return NULL;
    return pl_metrics_add(metrics, &(struct pl_metric_spec){
                                       .name = "rest_client_requests_total",
                                       .help = "HTTP requests by code, method and host",
                                       .type = PL_METRIC_COUNTER,
                                       .labels = {"code", "method", "host"},
                                   });
}

/* "host:port" of the server, for the metric's label. */
static char *host_of(const char *server)
{
    const char *host = strstr(server, "://");
    host = host != NULL ? host + 3 : server;
    return pl_memdup0(host, strcspn(host, "/"));
}

int pl_client_configure(struct pl_client *client, const struct pl_kubeconfig *config,
                        struct pl_err *err)
{
    const struct pl_credentials_options options = {.config = config,
                                                   .clock = client->timers->clock,
                                                   .loop = client->loop,
                                                   .waits = client->waits};
    struct pl_credentials *credentials = pl_credentials_create(&options, err);
    if (credentials == NULL)
        return err->code;
    pl_credentials_destroy(client->credentials);
    pl_free(client->host);
    pl_free(client->held);
    client->credentials = credentials;
    client->config = config;
    client->host = host_of(config->server);
    client->held = NULL;
    client->awaited = false;
    pl_ops_go_on(client);
    client->counted.series = NULL;
    return 0;
}

static void client_hold(struct pl_client *client, const struct pl_err *why, bool awaited)
{
    if (client->held == NULL)
        client->held = PL_NEW(struct pl_err);
    *client->held = *why;
    client->awaited = awaited;
}

void pl_client_await(struct pl_client *client, const struct pl_err *why)
{
    client_hold(client, why, true);
}

void pl_client_hold(struct pl_client *client, const struct pl_err *why)
{
    client_hold(client, why, false);
    pl_ops_go_on(client);
}

struct pl_client *pl_client_create(const struct pl_client_options *options, struct pl_err *err)
{
    struct pl_client *client = PL_NEW(struct pl_client);
    client->timers = options->timers;
    client->rand = options->rand;
    client->waits = options->waits;
    client->loop = options->loop;
    pl_list_init(&client->ops);
    pl_list_init(&client->watches);
    if (pl_client_configure(client, options->config, err) != 0) {
        pl_free(client);
        return NULL;
    }
    client->transport = options->transport;
    client->pool = options->pool;
    client->decode_thread = options->decode_thread;
    client->user_agent = pl_strdup(options->user_agent ? options->user_agent : "perilune");
    client->request_timeout_ns =
        options->request_timeout_ns > 0 ? options->request_timeout_ns : DEFAULT_TIMEOUT;
    client->requests = add_metric(options->metrics);
    double burst = options->burst > 0 ? options->burst : 1;
    client->bucket = (struct pl_bucket){options->qps, burst, burst, pl_client_now(client)};
    client->probe_ns = options->probe_ns;
    return client;
}

void pl_client_destroy(struct pl_client *client)
{
    struct pl_link *link;
    if (client == NULL)
        return;
    pl_probe_stop(client);
    while ((link = pl_list_first(&client->watches)) != NULL)
        pl_watch_abort((struct pl_watch *)link);
    while ((link = pl_list_first(&client->ops)) != NULL)
        pl_op_abort((struct pl_op *)link);
    pl_credentials_destroy(client->credentials);
    pl_free(client->user_agent);
    pl_free(client->host);
    pl_free(client->held);
    pl_free(client);
}

void pl_client_wait(struct pl_client *client, struct pl_wait *wait, const char *name,
                    const char *owner, int64_t timeout_ns)
{
    if (client->waits != NULL)
        pl_wait_begin(client->waits, wait, name, owner, timeout_ns);
}

int64_t pl_client_limit(struct pl_client *client)
{
    struct pl_bucket *bucket = &client->bucket;
    int64_t now = pl_client_now(client);
    if (bucket->qps <= 0)
        return 0;
    bucket->tokens += (double)(now - bucket->filled_ns) / (double)PL_SECOND * bucket->qps;
    if (bucket->tokens > bucket->burst)
        bucket->tokens = bucket->burst;
    bucket->filled_ns = now;
    bucket->tokens -= 1;
    /* Rounding errors of summed fractions must not cause a wait. */
    return bucket->tokens > -1e-6 ? 0 : (int64_t)(-bucket->tokens / bucket->qps * PL_SECOND);
}
