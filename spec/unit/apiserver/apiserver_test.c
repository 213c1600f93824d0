#include "apiserver/apiserver.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "crypto/self_signed.h"
#include "net/http_client.h"

#include "support/test.h"

/* Over a real socket: what a client on the same loop gets. */

struct exchange {
    int status;
    struct pl_buf body;
    bool done;
};

static void on_response(void *arg, const struct pl_http_response *response)
{
    ((struct exchange *)arg)->status = response->status;
}

static int on_body(void *arg, struct pl_slice piece)
{
    pl_buf_add_slice(&((struct exchange *)arg)->body, piece);
    return 0;
}

static void on_done(void *arg, const struct pl_err *err)
{
    PL_UNUSED(err);
    ((struct exchange *)arg)->done = true;
}

static const struct pl_http_ops http_ops = {on_response, on_body, on_done};

struct served {
    struct pl_loop *loop;
    struct pl_apiserver *server;
    struct pl_http_client *client;
    const struct pl_tls_options *tls; /* of the next requests; NULL: plain http */
    struct pl_http_header headers[2]; /* the same */
    size_t header_count;
};

static void open_with(struct served *t, const struct pl_apiserver_options *options)
{
    struct pl_err err;
    *t = (struct served){.headers = {{"Content-Type", "application/json"}}, .header_count = 1};
    t->loop = pl_loop_create(pl_clock_system());
    t->server = pl_apiserver_create(t->loop, options, &err);
    REQUIRE(t->server != NULL);
    t->client = pl_http_client_create(t->loop);
}

static void open_test(struct served *t)
{
    open_with(t, &(struct pl_apiserver_options){0});
}

static void close_test(struct served *t)
{
    pl_http_client_destroy(t->client);
    pl_apiserver_destroy(t->server);
    for (int i = 0; i < 10; i++)
        pl_loop_turn(t->loop, 0);
    pl_loop_destroy(t->loop);
}

static void start(struct served *t, const char *method, const char *path, const char *body,
                  struct exchange *exchange)
{
    char url[256];
    struct pl_transport transport = pl_http_client_transport(t->client);
    snprintf(url, sizeof(url), "%s://127.0.0.1:%d%s", t->tls != NULL ? "https" : "http",
             pl_apiserver_port(t->server), path);
    *exchange = (struct exchange){.body = PL_BUF_INIT};
    struct pl_http_request request = {.method = method,
                                      .url = url,
                                      .headers = t->headers,
                                      .header_count = t->header_count,
                                      .tls = t->tls,
                                      .body = pl_slice_z(body)};
    transport.ops->start(transport.self, &request, &http_ops, exchange);
}

TEST(objects_and_watches_go_over_the_wire)
{
    struct served t;
    struct exchange watch, create;
    open_test(&t);
    start(&t, "GET", "/api/v1/namespaces/default/configmaps?watch=1", NULL, &watch);
    start(&t, "POST", "/api/v1/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"a\"}}",
          &create);
    while (!create.done || watch.body.len == 0)
        pl_loop_turn(t.loop, 100);
    CHECK_INT(create.status, 201);
    CHECK_INT(watch.status, 200);
    CHECK(strstr(pl_buf_z(&watch.body), "{\"type\":\"ADDED\"") != NULL);
    CHECK(!watch.done);
    close_test(&t); /* ends the watch */
    CHECK(watch.done);
    pl_buf_deinit(&watch.body);
    pl_buf_deinit(&create.body);
}

TEST(an_address_that_is_taken_is_an_error)
{
    struct served t;
    struct pl_err err = {0};
    open_test(&t);
    struct pl_apiserver_options options = {.port = pl_apiserver_port(t.server)};
    CHECK(pl_apiserver_create(t.loop, &options, &err) == NULL);
    CHECK(err.code != 0);
    close_test(&t);
}

static int status_of(struct served *t)
{
    struct exchange exchange;
    start(t, "GET", "/api/v1/namespaces/default/configmaps", NULL, &exchange);
    while (!exchange.done)
        pl_loop_turn(t->loop, 100);
    pl_buf_deinit(&exchange.body);
    return exchange.status;
}

/* Both on one port, and neither without the token. */
TEST(tls_and_plain_http_are_answered_to_whoever_has_the_token)
{
    struct served t;
    struct pl_err err;
    struct pl_apiserver_options options = {.token = "secret"};
    char *cert_pem = NULL, *key_pem = NULL;
    REQUIRE(pl_self_signed(NULL, &cert_pem, &key_pem, &err) == 0);
    options.cert_pem = cert_pem;
    options.key_pem = key_pem;
    struct pl_tls_options tls = {.ca_pem = cert_pem};
    open_with(&t, &options);
    for (int i = 0; i < 2; i++) {
        t.tls = i == 0 ? &tls : NULL;
        t.header_count = 1;
        CHECK_INT(status_of(&t), 401);
        t.headers[1] = (struct pl_http_header){"Authorization", "Bearer secret"};
        t.header_count = 2;
        CHECK_INT(status_of(&t), 200);
        t.headers[0] = (struct pl_http_header){"Origin", "https://evil.example.com"};
        CHECK_INT(status_of(&t), 403);
        t.headers[0] = (struct pl_http_header){"Host", "evil.example.com"};
        CHECK_INT(status_of(&t), 403);
        t.headers[0] = (struct pl_http_header){"Content-Type", "application/json"};
    }
    close_test(&t);
    pl_free(cert_pem);
    pl_free(key_pem);
}

TEST_MAIN()
