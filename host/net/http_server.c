/* The listening socket of a server, its options and its end. Connections are in http_conn.c.
 *
 * The server lives until its last handle is closed: pl_server_destroy closes all of them, and the
 * memory is freed after the last one. A Unix socket gets its mode between bind and listen, when
 * nobody can connect yet. A new certificate applies to new connections; open ones keep theirs. */
#include "net/http_server.h"

#include "base/alloc.h"
#include "base/check.h"
#include "net/http_conn.h"

#include <netdb.h>
#include <stdio.h>
#include <sys/stat.h>

#define BACKLOG 511

static void on_connection_cb(uv_stream_t *listener, int status)
{
    if (status == 0)
        pl_conn_accept(listener->data);
}

static int cannot_listen(struct pl_err *err, const char *where, int port, int why)
{
    return port < 0 ? pl_err_set(err, PL_EIO, "cannot listen on %s: %s", where, uv_strerror(why))
                    : pl_err_set(err, PL_EIO, "cannot listen on %s:%d: %s", where, port,
                                 uv_strerror(why));
}

static int bind_address(struct pl_server *server, const char *host, int port)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(host, service, &hints, &found) != 0)
        return UV_EAI_NONAME;
    int rc = uv_tcp_bind(&server->listener.tcp, found->ai_addr, 0);
    freeaddrinfo(found);
    if (rc == 0)
        rc = uv_listen(&server->listener.stream, BACKLOG, on_connection_cb);
    return rc;
}

static int find_port(struct pl_server *server)
{
    struct sockaddr_storage name;
    int len = sizeof name;
    PL_REQUIRE(uv_tcp_getsockname(&server->listener.tcp, (struct sockaddr *)&name, &len) == 0);
    if (name.ss_family == AF_INET6)
        return ntohs(((struct sockaddr_in6 *)&name)->sin6_port);
    return ntohs(((struct sockaddr_in *)&name)->sin_port);
}

static int listen_tcp(struct pl_server *server, struct pl_err *err)
{
    const char *host = server->options.host;
    int port = server->options.port;
    uv_tcp_init(pl_loop_uv(server->loop), &server->listener.tcp);
    /* "::" also accepts IPv4; a machine without IPv6 does not have it. */
    int rc = bind_address(server, host != NULL ? host : "::", port);
    if (rc == UV_EAFNOSUPPORT || (rc != 0 && host == NULL && rc != UV_EADDRINUSE))
        rc = bind_address(server, host != NULL ? host : "0.0.0.0", port);
    if (rc != 0)
        return cannot_listen(err, host != NULL ? host : "*", port, rc);
    server->port = find_port(server);
    return 0;
}

static int listen_unix(struct pl_server *server, struct pl_err *err)
{
    const char *path = server->options.unix_path;
    server->port = -1;
    uv_pipe_init(pl_loop_uv(server->loop), &server->listener.pipe, 0);
    int rc = uv_pipe_bind(&server->listener.pipe, path);
    /* Nobody can connect between bind and listen, so the mode is set here. */
    if (rc == 0 && chmod(path, S_IRUSR | S_IWUSR) != 0)
        rc = UV_EPERM;
    if (rc == 0)
        rc = uv_listen(&server->listener.stream, BACKLOG, on_connection_cb);
    return rc == 0 ? 0 : cannot_listen(err, path, -1, rc);
}

static void apply_defaults(struct pl_server_options *options)
{
    if (options->max_body == 0)
        options->max_body = (size_t)4 * 1024 * 1024;
    if (options->request_deadline_ms == 0)
        options->request_deadline_ms = 30000;
    if (options->idle_ms == 0)
        options->idle_ms = 120000;
    if (options->max_unread == 0)
        options->max_unread = (size_t)16 * 1024 * 1024;
    if (options->max_connections == 0)
        options->max_connections = 4096;
}

static void http_server_release(struct pl_server *server)
{
    pl_tls_context_destroy(server->tls);
    pl_buf_deinit(&server->scratch);
    pl_free(server->client_ca_pem);
    pl_free(server);
}

struct pl_server *pl_server_create(struct pl_loop *loop, const struct pl_server_options *options,
                                   const struct pl_server_ops *ops, void *arg, struct pl_err *err)
{
    struct pl_server *server = PL_NEW(struct pl_server);
    server->loop = loop;
    server->options = *options;
    server->ops = ops;
    server->arg = arg;
    pl_list_init(&server->conns);
    apply_defaults(&server->options);
    server->client_ca_pem = options->client_ca_pem ? pl_strdup(options->client_ca_pem) : NULL;
    if (options->cert_pem != NULL &&
        pl_server_set_certificate(server, options->cert_pem, options->key_pem, err) != 0) {
        http_server_release(server);
        return NULL;
    }
    int rc = options->unix_path != NULL ? listen_unix(server, err) : listen_tcp(server, err);
    server->listener.handle.data = server;
    server->open_handles = 1;
    server->options.host = server->options.unix_path = NULL;
    server->options.cert_pem = server->options.key_pem = server->options.client_ca_pem = NULL;
    if (rc != 0) {
        pl_server_destroy(server);
        return NULL;
    }
    return server;
}

int pl_server_port(const struct pl_server *server)
{
    return server->port > 0 ? server->port : 0;
}

int pl_server_set_certificate(struct pl_server *server, const char *cert_pem, const char *key_pem,
                              struct pl_err *err)
{
    if (key_pem == NULL)
        return pl_err_set(err, PL_EINVAL, "the TLS certificate has no key");
    struct pl_tls_context *context =
        pl_tls_context_create(cert_pem, key_pem, server->client_ca_pem, err);
    if (context == NULL)
        return PL_EINVAL;
    pl_tls_context_destroy(server->tls);
    server->tls = context;
    return 0;
}

void pl_server_release_handle(struct pl_server *server)
{
    if (--server->open_handles == 0)
        http_server_release(server);
}

static void on_listener_closed_cb(uv_handle_t *handle)
{
    pl_server_release_handle(handle->data);
}

void pl_server_close_after(struct pl_server *server)
{
    server->close_after = true;
}

void pl_server_destroy(struct pl_server *server)
{
    if (server == NULL || server->closing)
        return;
    server->closing = true;
    struct pl_link *link;
    while ((link = pl_list_first(&server->conns)) != NULL)
        pl_conn_reap(PL_CONTAINER_OF(link, struct pl_conn, link));
    uv_close(&server->listener.handle, on_listener_closed_cb);
}
