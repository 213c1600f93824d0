/* The API behind a socket: it passes requests from the HTTP server to the API, passes answers back,
 * and frees memory between turns. It makes no decisions. Unless an option says otherwise,
 * resourceVersions begin at the current time in microseconds, so that a restarted server is ahead
 * of its predecessor. */
#include "apiserver/apiserver.h"

#include "apicall/caller.h"
#include "apiserver/api.h"
#include "base/alloc.h"
#include "net/http_client.h"
#include "net/http_server.h"

#define MAX_BODY ((size_t)4 << 20) /* the API itself refuses more than 3 MiB */

struct pl_apiserver {
    struct pl_loop *loop;            /* borrowed */
    struct pl_api *api;              /* owned */
    struct pl_server *server;        /* owned */
    struct pl_http_client *webhooks; /* owned */
    struct pl_idle idle;
};

static void apiserver_reply(void *self, int status, const struct pl_http_header *headers,
                            size_t count, struct pl_slice body)
{
    pl_exchange_reply_with(self, status, headers, count, body);
}

static void apiserver_begin(void *self, int status, const char *content_type,
                            void (*on_close)(void *arg), void *arg)
{
    pl_exchange_begin(self, status, content_type, on_close, arg);
}

static void apiserver_write_piece(void *self, struct pl_slice piece)
{
    pl_exchange_write(self, piece);
}

static void apiserver_end(void *self)
{
    pl_exchange_end(self);
}

static void apiserver_upgrade(void *self, const struct pl_http_header *headers, size_t count,
                              void (*on_bytes)(void *arg, struct pl_slice bytes),
                              void (*on_close)(void *arg), void *arg)
{
    pl_exchange_upgrade(self, headers, count, on_bytes, on_close, arg);
}

static size_t unread(void *self)
{
    return pl_exchange_unread(self);
}

static void on_apiserver_drained(void *self, void (*then)(void *arg))
{
    pl_exchange_on_drained(self, then);
}

static void apiserver_cut(void *self)
{
    pl_exchange_abort(self);
}

static const struct pl_api_responder_ops responder_ops = {
    apiserver_reply,   apiserver_begin, apiserver_write_piece, apiserver_end,
    apiserver_upgrade, unread,          on_apiserver_drained,  apiserver_cut};

/* The impersonation headers. The caller frees them with pl_free; NULL: none. */
static struct pl_http_header *impersonation(const struct pl_exchange *exchange, size_t *count)
{
    static const char prefix[] = "impersonate-";
    struct pl_http_header header, *found = NULL;
    *count = 0;
    for (size_t i = 0; pl_exchange_header_at(exchange, i, &header); i++) {
        if (strncmp(header.name, prefix, strlen(prefix)) != 0)
            continue;
        found = pl_reallocarray(found, *count + 1, sizeof(*found));
        found[(*count)++] = header;
    }
    return found;
}

static void on_request(void *arg, struct pl_exchange *exchange)
{
    struct pl_apiserver *server = arg;
    struct pl_api_call call = {
        .method = pl_exchange_method(exchange),
        .path = pl_exchange_path(exchange),
        .query = pl_exchange_query(exchange),
        .accept = pl_exchange_header(exchange, "accept"),
        .content_type = pl_exchange_header(exchange, "content-type"),
        .user_agent = pl_exchange_header(exchange, "user-agent"),
        .authorization = pl_exchange_header(exchange, "authorization"),
        .host = pl_exchange_header(exchange, "host"),
        .origin = pl_exchange_header(exchange, "origin"),
        .upgrade = pl_exchange_header(exchange, "upgrade"),
        .ws_key = pl_exchange_header(exchange, "sec-websocket-key"),
        .ws_protocol = pl_exchange_header(exchange, "sec-websocket-protocol"),
        .if_none_match = pl_exchange_header(exchange, "if-none-match"),
        .body = pl_exchange_body(exchange),
    };
    struct pl_http_header *impersonate = impersonation(exchange, &call.impersonate_count);
    call.impersonate = impersonate;
    pl_api_handle(server->api, &call, (struct pl_api_responder){&responder_ops, exchange});
    pl_free(impersonate);
}

static const struct pl_server_ops server_ops = {.on_request = on_request};

static void on_apiserver_turn(struct pl_idle *idle)
{
    pl_api_collect(PL_CONTAINER_OF(idle, struct pl_apiserver, idle)->api);
}

struct pl_apiserver *pl_apiserver_create(struct pl_loop *loop,
                                         const struct pl_apiserver_options *options,
                                         struct pl_err *err)
{
    struct pl_server_options http = {
        .host = options->host != NULL ? options->host : "127.0.0.1",
        .port = options->port,
        .cert_pem = options->cert_pem,
        .key_pem = options->key_pem,
        .plain_too = true,
        .max_body = MAX_BODY,
    };
    struct pl_apiserver *server = PL_NEW(struct pl_apiserver);
    server->loop = loop;
    server->server = pl_server_create(loop, &http, &server_ops, server, err);
    if (server->server == NULL) {
        pl_free(server);
        return NULL;
    }
    server->webhooks = pl_http_client_create(loop);
    int64_t now_us = pl_clock_wall(pl_loop_timers(loop)->clock) / (PL_MS / 1000);
    struct pl_api_options api = {
        .token = options->token,
        .host = http.host,
        .history = options->history,
        .bookmark_ns = options->bookmark_ns,
        .rand_seed = options->rand_seed,
        .transport = pl_http_client_transport(server->webhooks),
        .no_shard_selector = options->no_shard_selector,
        .simulate = options->simulate,
        .services = options->services,
        .first_version = options->first_version > 0 ? options->first_version : (uint64_t)now_us,
        .empty = options->data_dir != NULL,
    };
    server->api = pl_api_create(pl_loop_timers(loop), &api);
    if (options->data_dir != NULL && pl_api_persist_in(server->api, options->data_dir, err) != 0) {
        pl_api_destroy(server->api);
        pl_server_destroy(server->server);
        pl_free(server);
        return NULL;
    }
    pl_loop_each_turn(loop, &server->idle, on_apiserver_turn);
    return server;
}

void pl_apiserver_destroy(struct pl_apiserver *server)
{
    if (server == NULL)
        return;
    pl_loop_each_turn_stop(&server->idle);
    pl_api_hang_up(server->api);
    pl_http_client_destroy(server->webhooks); /* waiting requests run again and are answered */
    pl_timers_run(pl_loop_timers(server->loop));
    pl_api_destroy(server->api);
    pl_server_destroy(server->server);
    pl_free(server);
}

int pl_apiserver_port(const struct pl_apiserver *server)
{
    return pl_server_port(server->server);
}

bool pl_apiserver_is_loopback(const char *host)
{
    return pl_api_host_is_loopback(pl_slice_z(host));
}
