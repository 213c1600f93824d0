#include "crypto/tls.h"

#include "base/alloc.h"
#include "crypto/tls_prepare.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "support/http_answer.h"
#include "support/proxy.h"
#include "support/tls.h"
#include "support/turn.h"

/* The client and the server over TLS, and through proxies. */
struct world {
    struct pl_loop *loop;
    struct pl_server *server;
    struct pl_http_client *client;
    struct pl_transport transport;
    struct test_ca *ca;
    struct test_cert cert;
    struct pl_tls_options tls;
    int port, requests, closed;
    struct pl_exchange *watch;
    char host[64]; /* the last request's Host */
};

static void on_close(void *arg)
{
    ((struct world *)arg)->closed++;
}

static void on_request(void *arg, struct pl_exchange *exchange)
{
    struct world *world = arg;
    const char *host = pl_exchange_header(exchange, "host");
    snprintf(world->host, sizeof world->host, "%s", host != NULL ? host : "");
    world->requests++;
    if (pl_slice_eqz(pl_exchange_path(exchange), "/watch")) {
        world->watch = exchange;
        pl_exchange_begin(exchange, 200, "application/json", on_close, world);
    } else if (pl_slice_eqz(pl_exchange_path(exchange), "/big")) {
        char *big = pl_calloc(1, 5000000);
        pl_exchange_reply(exchange, 200, "text/plain", pl_slice(big, 5000000));
        pl_free(big);
    } else {
        pl_exchange_reply(exchange, 200, "text/plain", pl_exchange_body(exchange));
    }
}

static const struct pl_server_ops ops = {on_request};

static void set_up_named(struct world *world, const char *common_name, const char *alt_names,
                         long valid_s, bool client_certs)
{
    struct pl_err err = {0};
    memset(world, 0, sizeof *world);
    world->loop = pl_loop_create(pl_clock_system());
    world->ca = test_ca_create("test CA");
    world->cert = test_ca_issue(world->ca, common_name, alt_names, valid_s);
    world->tls.ca_pem = test_ca_pem(world->ca);
    struct pl_server_options options = {.host = "127.0.0.1",
                                        .cert_pem = world->cert.cert_pem,
                                        .key_pem = world->cert.key_pem,
                                        .client_ca_pem =
                                            client_certs ? test_ca_pem(world->ca) : NULL};
    world->server = pl_server_create(world->loop, &options, &ops, world, &err);
    CHECK_STR(err.message, "");
    REQUIRE(world->server != NULL);
    world->port = pl_server_port(world->server);
    world->client = pl_http_client_create(world->loop);
    world->transport = pl_http_client_transport(world->client);
}

static void set_up_with(struct world *world, const char *alt_names, long valid_s, bool client_certs)
{
    set_up_named(world, "server", alt_names, valid_s, client_certs);
}

static void set_up(struct world *world)
{
    set_up_with(world, "IP:127.0.0.1", 3600, false);
}

static void tear_down(struct world *world)
{
    pl_http_client_destroy(world->client);
    pl_server_destroy(world->server);
    pl_loop_destroy(world->loop);
    test_cert_deinit(&world->cert);
    test_ca_destroy(world->ca);
}

static struct pl_http_call *start(struct world *world, struct pl_http_request request,
                                  const char *host, const char *path, struct http_answer *answer)
{
    char *url = pl_format("https://%s:%d%s", host, world->port, path);
    request.url = url;
    if (request.method == NULL)
        request.method = "GET";
    if (request.tls == NULL)
        request.tls = &world->tls;
    struct pl_http_call *call =
        world->transport.ops->start(world->transport.self, &request, &http_answer_ops, answer);
    pl_free(url);
    return call;
}

/* Sends one GET to that host; its error must have that reason (NULL: success). */
static void check_get(struct world *world, const char *host, const char *reason, const char *words)
{
    struct http_answer answer = {0};
    start(world, (struct pl_http_request){.fresh_connection = true}, host, "/", &answer);
    TURN_UNTIL(world->loop, answer.done);
    CHECK_INT(answer.code, reason != NULL ? PL_ENETWORK : 0);
    CHECK_STR(answer.err.reason, reason != NULL ? reason : "");
    if (words != NULL && strstr(answer.err.message, words) == NULL)
        TEST_FAIL("\"%s\" is not in \"%s\"", words, answer.err.message);
    http_answer_deinit(&answer);
}

TEST(a_request_over_tls_falls_back_to_http_1_1_and_works_both_ways)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    size_t size = 3000000;
    char *body = pl_malloc(size);
    memset(body, 'x', size);
    start(&world, (struct pl_http_request){.method = "POST", .body = pl_slice(body, size)},
          "127.0.0.1", "/", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, 0);
    CHECK_INT(answer.body.len, size);
    CHECK(answer.body.len == size && memcmp(answer.body.ptr, body, size) == 0);
    pl_free(body);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(preparing_leaves_nothing_behind_that_a_connection_would_notice)
{
    static const char *const bad[] = {NULL, "", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n"};
    struct world world;
    set_up(&world);
    pl_tls_prepare(world.tls.ca_pem);
    check_get(&world, "127.0.0.1", NULL, NULL);
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++) {
        pl_tls_prepare(bad[i]);
        check_get(&world, "127.0.0.1", NULL, NULL);
    }
    world.tls.ca_pem = bad[2];
    check_get(&world, "127.0.0.1", "TLS", NULL);
    tear_down(&world);
}

TEST(a_large_reply_over_tls_arrives_whole)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    start(&world, (struct pl_http_request){0}, "127.0.0.1", "/big", &answer);
    TURN_UNTIL(world.loop, answer.done);
    CHECK_INT(answer.code, 0);
    CHECK_INT(answer.body.len, 5000000);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_watch_over_tls_gets_each_piece_and_its_leaving_is_noticed)
{
    struct world world;
    struct http_answer answer = {0};
    set_up(&world);
    struct pl_http_call *call =
        start(&world, (struct pl_http_request){0}, "127.0.0.1", "/watch", &answer);
    TURN_UNTIL(world.loop, answer.responses);
    for (int i = 1; i <= 3; i++) {
        pl_exchange_write(world.watch, pl_slice_z("event\n"));
        TURN_UNTIL(world.loop, answer.body.len == 6 * (size_t)i);
    }
    world.transport.ops->cancel(world.transport.self, call);
    TURN_UNTIL(world.loop, world.closed == 1);
    CHECK_INT(answer.code, PL_ECANCELED);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_server_of_another_ca_is_not_trusted)
{
    struct world world;
    set_up(&world);
    struct test_ca *other = test_ca_create("other CA");
    world.tls.ca_pem = test_ca_pem(other);
    check_get(&world, "127.0.0.1", "TLS", "certificate");
    CHECK_INT(world.requests, 0);
    world.tls.insecure = true;
    check_get(&world, "127.0.0.1", NULL, NULL);
    test_ca_destroy(other);
    tear_down(&world);
}

TEST(without_a_ca_the_systems_are_used_which_do_not_know_ours)
{
    struct world world;
    set_up(&world);
    world.tls.ca_pem = NULL;
    check_get(&world, "127.0.0.1", "TLS", "certificate");
    tear_down(&world);
}

TEST(an_expired_certificate_is_not_trusted)
{
    struct world world;
    set_up_with(&world, "IP:127.0.0.1", -60, false);
    check_get(&world, "127.0.0.1", "TLS", "expired");
    tear_down(&world);
}

TEST(a_wrong_name_is_refused_unless_the_server_name_says_what_to_expect)
{
    struct world world;
    set_up_with(&world, "DNS:api.example.org", 3600, false);
    check_get(&world, "127.0.0.1", "TLS", "127.0.0.1");
    world.tls.server_name = "api.example.org";
    check_get(&world, "127.0.0.1", NULL, NULL);
    char *host = pl_format("127.0.0.1:%d", world.port);
    CHECK_STR(world.host, host); /* the Host header and the connection are those of the URL */
    pl_free(host);
    world.tls.server_name = "other.example.org";
    check_get(&world, "127.0.0.1", "TLS", "other.example.org");
    tear_down(&world);
}

TEST(a_common_name_is_no_name_of_a_host)
{
    static const char *const alt_names[] = {"", "URI:spiffe://example.org/x", "email:a@b.example"};
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    for (size_t i = 0; i < PL_ARRAY_LEN(alt_names) * PL_ARRAY_LEN(hosts); i++) {
        struct world world;
        const char *host = hosts[i % PL_ARRAY_LEN(hosts)];
        set_up_named(&world, host, alt_names[i / PL_ARRAY_LEN(hosts)], 3600, false);
        check_get(&world, host, "TLS", "only a common name");
        world.tls.server_name = host;
        check_get(&world, "127.0.0.1", "TLS", "only a common name");
        CHECK_INT(world.requests, 0);
        world.tls = (struct pl_tls_options){.insecure = true};
        check_get(&world, host, NULL, NULL);
        tear_down(&world);
    }
}

TEST(a_ca_that_is_no_pem_is_a_tls_error)
{
    struct world world;
    set_up(&world);
    world.tls.ca_pem = "nonsense";
    check_get(&world, "127.0.0.1", "TLS", NULL);
    CHECK_INT(world.requests, 0);
    tear_down(&world);
}

TEST(client_certificates_are_shown_and_missing_ones_are_a_tls_error)
{
    struct world world;
    set_up_with(&world, "IP:127.0.0.1", 3600, true);
    check_get(&world, "127.0.0.1", "TLS", NULL);
    CHECK_INT(world.requests, 0);
    struct test_cert mine = test_ca_issue(world.ca, "joe", NULL, 3600);
    world.tls.cert_pem = mine.cert_pem;
    world.tls.key_pem = mine.key_pem;
    check_get(&world, "127.0.0.1", NULL, NULL);
    struct test_ca *other = test_ca_create("other CA");
    struct test_cert foreign = test_ca_issue(other, "joe", NULL, 3600);
    world.tls.cert_pem = foreign.cert_pem;
    world.tls.key_pem = foreign.key_pem;
    check_get(&world, "127.0.0.1", "TLS", NULL);
    test_cert_deinit(&mine);
    test_cert_deinit(&foreign);
    test_ca_destroy(other);
    tear_down(&world);
}

TEST(a_key_of_another_certificate_is_a_tls_error)
{
    struct world world;
    set_up(&world);
    struct test_cert a = test_ca_issue(world.ca, "a", NULL, 3600);
    struct test_cert b = test_ca_issue(world.ca, "b", NULL, 3600);
    world.tls.cert_pem = a.cert_pem;
    world.tls.key_pem = b.key_pem;
    check_get(&world, "127.0.0.1", "TLS", NULL);
    test_cert_deinit(&a);
    test_cert_deinit(&b);
    tear_down(&world);
}

TEST(a_new_certificate_is_served_from_the_next_connection_on)
{
    struct world world;
    struct pl_err err;
    set_up(&world);
    struct test_ca *next_ca = test_ca_create("next CA");
    struct test_cert next = test_ca_issue(next_ca, "server", "IP:127.0.0.1", 3600);
    check_get(&world, "127.0.0.1", NULL, NULL);
    CHECK(pl_server_set_certificate(world.server, next.cert_pem, world.cert.key_pem, &err) < 0);
    CHECK(strstr(err.message, "key") != NULL);
    check_get(&world, "127.0.0.1", NULL, NULL); /* a bad pair changes nothing */
    CHECK_INT(pl_server_set_certificate(world.server, next.cert_pem, next.key_pem, &err), 0);
    check_get(&world, "127.0.0.1", "TLS", NULL);
    world.tls.ca_pem = test_ca_pem(next_ca);
    check_get(&world, "127.0.0.1", NULL, NULL);
    test_cert_deinit(&next);
    test_ca_destroy(next_ca);
    tear_down(&world);
}

TEST(a_plain_client_of_a_tls_server_gets_nothing_and_does_no_harm)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    raw_connect(&peer, world.port);
    raw_send(&peer, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    TURN_UNTIL(world.loop, raw_ended(&peer));
    CHECK(strstr(pl_buf_z(&peer.got), "HTTP") == NULL);
    CHECK_INT(world.requests, 0);
    check_get(&world, "127.0.0.1", NULL, NULL);
    raw_close(&peer);
    tear_down(&world);
}

TEST(many_requests_over_tls_at_once_are_all_answered)
{
    struct world world;
    struct http_answer answers[40] = {0};
    set_up(&world);
    for (int i = 0; i < 40; i++)
        start(&world, (struct pl_http_request){.lane = i % 2}, "127.0.0.1", "/", &answers[i]);
    for (int i = 0; i < 40; i++) {
        TURN_UNTIL(world.loop, answers[i].done);
        CHECK_INT(answers[i].code, 0);
        http_answer_deinit(&answers[i]);
    }
    CHECK_INT(world.requests, 40);
    tear_down(&world);
}

/* ---- proxies ---- */

static struct http_answer get_through(struct world *world, struct proxy *proxy, const char *scheme,
                                      const char *host)
{
    struct http_answer answer = {0};
    char *url = pl_format("%s127.0.0.1:%d", scheme, proxy_port(proxy));
    start(world, (struct pl_http_request){.proxy = url, .fresh_connection = true}, host, "/",
          &answer);
    pl_free(url);
    TURN_UNTIL(world->loop, answer.done);
    pl_http_client_forget_connections(world->client);
    pl_loop_turn(world->loop, 0);
    proxy_stop(proxy);
    return answer;
}

TEST(a_request_through_a_connect_proxy_is_verified_end_to_end)
{
    struct world world;
    set_up_with(&world, "DNS:api.example.org", 3600, false);
    struct proxy *proxy = proxy_start(PROXY_CONNECT, world.port);
    struct http_answer answer =
        get_through(&world, proxy, "http://joe:pass%21@", "api.example.org");
    CHECK_INT(answer.code, 0);
    CHECK(strstr(pl_buf_z(&answer.headers), "x-proxy") == NULL);
    char *connect = pl_format("CONNECT api.example.org:%d HTTP/1.1\r\n", world.port);
    CHECK(strncmp(proxy_heard(proxy), connect, strlen(connect)) == 0);
    CHECK(strstr(proxy_heard(proxy), "Proxy-Authorization: Basic am9lOnBhc3Mh\r\n") != NULL);
    pl_free(connect);
    proxy_destroy(proxy);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_proxy_that_refuses_is_named_as_the_reason)
{
    struct world world;
    set_up(&world);
    struct proxy *proxy = proxy_start(PROXY_REFUSE, world.port);
    struct http_answer answer = get_through(&world, proxy, "http://", "127.0.0.1");
    CHECK_INT(answer.code, PL_ENETWORK);
    CHECK_STR(answer.err.reason, "Proxy");
    CHECK(strstr(answer.err.message, "403") != NULL);
    CHECK_INT(answer.responses, 0);
    proxy_destroy(proxy);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_socks_proxy_is_asked_for_the_name)
{
    struct world world;
    set_up_with(&world, "DNS:only.known.there", 3600, false);
    struct proxy *proxy = proxy_start(PROXY_SOCKS5, world.port);
    struct http_answer answer = get_through(&world, proxy, "socks5://", "only.known.there");
    CHECK_INT(answer.code, 0);
    char *want = pl_format("only.known.there:%d", world.port);
    CHECK_STR(proxy_heard(proxy), want);
    pl_free(want);
    proxy_destroy(proxy);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST(a_server_name_works_through_a_proxy_too)
{
    struct world world;
    set_up_with(&world, "DNS:api.example.org", 3600, false);
    world.tls.server_name = "api.example.org";
    struct proxy *proxy = proxy_start(PROXY_CONNECT, world.port);
    struct http_answer answer = get_through(&world, proxy, "http://", "10.1.2.3");
    CHECK_INT(answer.code, 0);
    char *connect = pl_format("CONNECT 10.1.2.3:%d HTTP/1.1\r\n", world.port);
    CHECK(strncmp(proxy_heard(proxy), connect, strlen(connect)) == 0);
    pl_free(connect);
    proxy_destroy(proxy);
    http_answer_deinit(&answer);
    tear_down(&world);
}

TEST_MAIN()
