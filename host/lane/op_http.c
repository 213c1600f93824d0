/* Requests of scripts to external servers. */
#include "lane/op_impl.h"

#include "base/alloc.h"
#include "crypto/sha256.h"
#include "lane/lane.h"
#include "net/http_client.h"
#include "net/http_server.h"

#include <string.h>

#define HTTP_BLOB_LIMIT (256u << 10) /* limit of an answer's headers in bytes */

static void on_http_response(void *arg, const struct pl_http_response *response)
{
    struct pl_lop *op = arg;
    op->out.status = response->status;
    for (size_t i = 0; i < response->header_count && op->out.blob.len < HTTP_BLOB_LIMIT; i++) {
        const struct pl_http_header *header = &response->headers[i];
        pl_buf_add(&op->out.blob, header->name, strlen(header->name) + 1);
        pl_buf_add(&op->out.blob, header->value, strlen(header->value) + 1);
    }
}

static int on_http_body(void *arg, struct pl_slice piece)
{
    struct pl_lop *op = arg;
    pl_buf_add_slice(&op->out.body, piece);
    return 0;
}

static void on_http_done(void *arg, const struct pl_err *err)
{
    struct pl_lop *op = arg;
    op->io.work = NULL;
    if (err != NULL)
        pl_lop_fail(op, err);
    else
        pl_lop_complete(op);
}

static const char *text_or_null(struct pl_slice text)
{
    return text.len > 0 ? text.ptr : NULL; /* copies of the operation end with NUL */
}

/* The body may contain secrets: its digest identifies it. */
static bool keeps_http(struct pl_lop *op)
{
    struct pl_slice url = op->in.http.url, body = op->in.http.body;
    uint8_t digest[PL_SHA256_BYTES];
    pl_sha256(body.ptr != NULL ? body : pl_slice("", 0), digest);
    char *sent = pl_format("%zu bytes, sha256 %02x%02x%02x%02x", body.len, digest[0], digest[1],
                           digest[2], digest[3]);
    struct pl_buf name = PL_BUF_INIT;
    pl_buf_add_f(&name, "http %.*s ", PL_FMT(op->in.http.method));
    pl_url_add_public(&name, url);
    bool kept = pl_lop_keeps(op, pl_buf_z(&name), pl_slice_z(sent));
    pl_buf_deinit(&name);
    pl_free(sent);
    return kept;
}

static struct pl_transport transport_of(struct pl_lanes *lanes)
{
    if (lanes->options.http.ops != NULL)
        return lanes->options.http;
    if (lanes->http == NULL)
        lanes->http = pl_http_client_create(lanes->loop);
    return pl_http_client_transport(lanes->http);
}

void pl_lop_start_http(struct pl_lop *op)
{
    static const struct pl_http_ops ops = {
        .on_response = on_http_response, .on_body = on_http_body, .on_done = on_http_done};
    struct pl_lanes *lanes = op->lane->lanes;
    if (keeps_http(op)) {
        op->out.status = 204; /* nothing was sent: there is no content */
        pl_lop_complete(op);
        return;
    }
    op->io.tls = (struct pl_tls_options){
        .ca_pem = text_or_null(op->in.http.ca),
        .cert_pem = text_or_null(op->in.http.cert),
        .key_pem = text_or_null(op->in.http.key),
        .server_name = text_or_null(op->in.http.server_name),
        .insecure = op->in.http.insecure,
    };
    struct pl_http_request request = {
        .method = op->in.http.method.ptr,
        .url = op->in.http.url.ptr,
        .headers = op->in.http.headers,
        .header_count = op->in.http.header_count,
        .body = op->in.http.body,
        .tls = strncmp(op->in.http.url.ptr, "https:", 6) == 0 ? &op->io.tls : NULL,
        .timeout_ms = op->in.http.timeout_ms,
        .max_response = op->in.http.max_response,
    };
    struct pl_transport transport = transport_of(lanes);
    op->io.work = transport.ops->start(transport.self, &request, &ops, op);
}

void pl_lop_cancel_http(struct pl_lop *op)
{
    struct pl_transport transport = transport_of(op->lane->lanes);
    transport.ops->cancel(transport.self, op->io.work);
}
