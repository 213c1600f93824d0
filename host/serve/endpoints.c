/* The servers of /metrics and of the probes: addresses, methods, headers. metrics.c and health.c
 * make the pages. Requests have a deadline and no body, and the number of connections is limited,
 * since any client may reach the port. A requested address must be available; a default one that is
 * taken gives a warning. */
#include "serve/endpoints.h"

#include "base/alloc.h"
#include "base/log.h"
#include "crypto/self_signed.h"
#include "net/http_server.h"
#include "serve/metrics_guard.h"
#include "webhook/pair_files.h"

#include <string.h>

#define MAX_BODY        4096 /* no client needs one */
#define MAX_CONNECTIONS 128
#define DEADLINE_MS     10000
#define IDLE_MS         75000 /* longer than the usual time between two scrapes */

struct pl_endpoints {
    struct pl_endpoints_options o;
    struct pl_server *metrics, *health; /* owned; NULL: off */
    struct pl_metrics_guard *guard;     /* owned; NULL: everybody may see them */
    struct pl_pair_files *files;        /* owned; NULL: no folder */
};

static void endpoints_reply(struct pl_exchange *exchange, int status, const char *type,
                            struct pl_buf *body)
{
    const struct pl_http_header headers[] = {{"Content-Type", type},
                                             {"Cache-Control", "no-cache, no-store"},
                                             {"X-Content-Type-Options", "nosniff"}};
    pl_exchange_reply_with(exchange, status, headers, PL_ARRAY_LEN(headers), pl_buf_slice(body));
    pl_buf_deinit(body);
}

#define TEXT "text/plain; charset=utf-8"

/* True when the method was neither GET nor HEAD and the request is answered. */
static bool refuse_method(struct pl_exchange *exchange)
{
    const char *method = pl_exchange_method(exchange);
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return false;
    const struct pl_http_header headers[] = {{"Content-Type", TEXT}, {"Allow", "GET, HEAD"}};
    pl_exchange_reply_with(exchange, 405, headers, PL_ARRAY_LEN(headers),
                           pl_slice_z("use GET or HEAD\n"));
    return true;
}

static void show_metrics(void *arg, struct pl_exchange *exchange)
{
    struct pl_endpoints *endpoints = arg;
    struct pl_buf body = PL_BUF_INIT;
    if (!pl_slice_eqz(pl_exchange_path(exchange), "/metrics")) {
        pl_buf_add_z(&body, "try /metrics\n");
        endpoints_reply(exchange, 404, TEXT, &body);
        return;
    }
    pl_metrics_write(endpoints->o.metrics, &body);
    endpoints_reply(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", &body);
}

static void on_metrics(void *arg, struct pl_exchange *exchange)
{
    struct pl_endpoints *endpoints = arg;
    if (refuse_method(exchange))
        return;
    if (endpoints->guard != NULL)
        pl_metrics_guard_check(endpoints->guard, exchange, show_metrics, endpoints);
    else
        show_metrics(endpoints, exchange);
}

static void on_probe(void *arg, struct pl_exchange *exchange)
{
    struct pl_endpoints *endpoints = arg;
    if (refuse_method(exchange))
        return;
    struct pl_buf body = PL_BUF_INIT;
    int status = pl_health_answer(endpoints->o.health, pl_exchange_path(exchange),
                                  pl_exchange_query(exchange), &body);
    endpoints_reply(exchange, status, TEXT, &body);
}

static const struct pl_server_ops metrics_ops = {on_metrics}, health_ops = {on_probe};

/* A certificate and its key; NULL: no TLS. */
struct pair {
    const char *cert, *key;
    char *own_cert, *own_key; /* owned */
};

static void on_pair(void *arg, const char *cert_pem, const char *key_pem)
{
    struct pl_endpoints *endpoints = arg;
    struct pl_err err;
    pl_err_clear(&err);
    if (endpoints->metrics != NULL &&
        pl_server_set_certificate(endpoints->metrics, cert_pem, key_pem, &err) != 0)
        pl_log(PL_LOG_ERROR, "metrics: the certificate cannot be used",
               pl_str("error", err.message));
}

static int find_pair(struct pl_endpoints *endpoints, struct pair *pair, struct pl_err *err)
{
    const struct pl_endpoints_options *o = &endpoints->o;
    if (!o->metrics_secure || o->metrics_address.off)
        return 0;
    endpoints->guard = pl_metrics_guard_create(pl_loop_timers(o->loop));
    if (o->metrics_cert == NULL) {
        int code = pl_self_signed(o->metrics_address.host, &pair->own_cert, &pair->own_key, err);
        pair->cert = pair->own_cert;
        pair->key = pair->own_key;
        return code;
    }
    endpoints->files = pl_pair_files_create(o->loop, o->metrics_cert, on_pair, endpoints, err);
    if (endpoints->files == NULL)
        return err->code;
    pair->cert = pl_pair_files_cert(endpoints->files);
    pair->key = pl_pair_files_key(endpoints->files);
    return 0;
}

/* 0 with *server NULL when it is off, or not available and not required. */
static int endpoints_listen_at(struct pl_endpoints *endpoints,
                               const struct pl_bind_address *address,
                               const struct pl_server_ops *ops, const char *flag, const char *what,
                               const struct pair *pair, struct pl_server **server,
                               struct pl_err *err)
{
    if (address->off)
        return 0;
    const struct pl_server_options options = {
        .host = address->host[0] != '\0' ? address->host : NULL,
        .port = address->port,
        .max_body = MAX_BODY,
        .request_deadline_ms = DEADLINE_MS,
        .idle_ms = IDLE_MS,
        .max_connections = MAX_CONNECTIONS,
        .cert_pem = pair->cert,
        .key_pem = pair->key,
    };
    struct pl_err why;
    pl_err_clear(&why);
    char where[300];
    *server = pl_server_create(endpoints->o.loop, &options, ops, endpoints, &why);
    if (*server != NULL) {
        pl_bind_address_text(address, pl_server_port(*server), where, sizeof(where));
        pl_log(PL_LOG_INFO, what, pl_str("address", where));
        return 0;
    }
    if (!address->is_default)
        return pl_err_set(err, why.code, "%s: %s", flag, why.message);
    pl_log(PL_LOG_WARN, "an endpoint is off: its default address is not available",
           pl_str("flag", flag), pl_str("error", why.message));
    return 0;
}

struct pl_endpoints *pl_endpoints_create(const struct pl_endpoints_options *options,
                                         struct pl_err *err)
{
    struct pl_endpoints *endpoints = PL_NEW(struct pl_endpoints);
    endpoints->o = *options;
    const struct pair plain = {.cert = NULL};
    struct pair pair = {.cert = NULL};
    bool fine = find_pair(endpoints, &pair, err) == 0 &&
                endpoints_listen_at(endpoints, &options->metrics_address, &metrics_ops,
                                    "--metrics-bind-address", "serving metrics", &pair,
                                    &endpoints->metrics, err) == 0 &&
                endpoints_listen_at(endpoints, &options->health_address, &health_ops,
                                    "--health-probe-bind-address", "serving health probes", &plain,
                                    &endpoints->health, err) == 0;
    pl_free(pair.own_cert);
    pl_free(pair.own_key);
    if (fine)
        return endpoints;
    pl_endpoints_destroy(endpoints);
    return NULL;
}

void pl_endpoints_ask(struct pl_endpoints *endpoints, struct pl_client *client)
{
    if (endpoints->guard != NULL)
        pl_metrics_guard_use(endpoints->guard, client);
}

void pl_endpoints_destroy(struct pl_endpoints *endpoints)
{
    if (endpoints == NULL)
        return;
    pl_server_destroy(endpoints->metrics);
    pl_server_destroy(endpoints->health);
    pl_pair_files_destroy(endpoints->files);
    pl_metrics_guard_destroy(endpoints->guard);
    pl_free(endpoints);
}
