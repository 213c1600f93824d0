#include "webhook/shared_secret.h"

#include "base/log.h"
#include "support/fake_transport.h"
#include "support/json.h"
#include "support/virtual_clock.h"

#define PATH "/api/v1/namespaces/team/secrets"
#define NOW  (INT64_C(1800000000) * PL_SECOND)
#define DAY  (INT64_C(86400) * PL_SECOND)

static const char *const names[] = {"hooks.team.svc", NULL};

/* One replica, and the server, which is the test: its Secret is `stored`. */
struct bed {
    struct virtual_clock clock;
    struct pl_timers timers;
    struct pl_rand rand;
    struct fake_transport net;
    struct pl_kubeconfig config;
    struct pl_client *client;
    struct pl_shared_secret *secret;
    int changes;
    struct pl_certificates now;
};

static void on_changed(void *arg, const struct pl_certificates *now)
{
    struct bed *bed = arg;
    bed->changes++;
    pl_certificates_deinit(&bed->now);
    bed->now = pl_certificates_copy(now);
}

static void run(struct bed *bed, int64_t ns)
{
    int64_t until = bed->clock.now_ns + ns, due;
    while (pl_timers_next(&bed->timers, &due) && due <= until) {
        bed->clock.now_ns = due > bed->clock.now_ns ? due : bed->clock.now_ns;
        pl_timers_run(&bed->timers);
    }
    bed->clock.now_ns = until;
    pl_timers_run(&bed->timers);
}

static void bed_init(struct bed *bed)
{
    *bed = (struct bed){.changes = 0};
    pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    virtual_clock_init(&bed->clock, NOW);
    pl_timers_init(&bed->timers, &bed->clock.clock);
    pl_rand_seed(&bed->rand, 3);
    fake_transport_init(&bed->net, &bed->timers);
    bed->config = (struct pl_kubeconfig){.source = (char *)"test", .server = (char *)"http://k8s"};
    struct pl_client_options client = {.transport = fake_transport(&bed->net),
                                       .timers = &bed->timers,
                                       .rand = &bed->rand,
                                       .config = &bed->config,
                                       .user_agent = "test"};
    bed->client = pl_client_create(&client, NULL);
    bed->secret = pl_shared_secret_create(&(struct pl_shared_secret_options){.client = bed->client,
                                                                             .timers = &bed->timers,
                                                                             .ns = "team",
                                                                             .name = "certs",
                                                                             .names = names,
                                                                             .changed = on_changed,
                                                                             .arg = bed});
    run(bed, PL_MS);
}

static void bed_deinit(struct bed *bed)
{
    pl_shared_secret_close(bed->secret);
    run(bed, PL_MS);
    pl_client_destroy(bed->client);
    CHECK_INT(bed->net.open_count, 0);
    pl_certificates_deinit(&bed->now);
    pl_timers_deinit(&bed->timers);
    fake_transport_deinit(&bed->net);
}

static const char not_found[] =
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"NotFound\",\"code\":404}";
static const char exists[] =
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"AlreadyExists\",\"code\":409}";

/* Stores it like the server. */
static char *stored(const struct pl_certificates *certificates)
{
    char *head = json_text("{'apiVersion':'v1','kind':'Secret','metadata':{'name':'certs'}}");
    struct pl_doc *before = pl_scan_text(pl_slice_z(head), NULL, NULL);
    struct pl_doc *doc = pl_shared_secret_make(pl_doc_root(before), "team", "certs", certificates);
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, pl_doc_root(doc), PL_WRITE_COMPACT);
    pl_doc_unref(doc);
    pl_doc_unref(before);
    free(head);
    return pl_buf_take(&text);
}

static struct pl_certificates body_of(const struct fake_request *request)
{
    struct pl_doc *doc = pl_scan_text(pl_buf_slice(&request->body), NULL, NULL);
    REQUIRE(doc != NULL);
    struct pl_certificates read = pl_shared_secret_read(pl_doc_root(doc));
    pl_doc_unref(doc);
    return read;
}

static void reply_stored(struct bed *bed, struct fake_request *request,
                         const struct pl_certificates *certificates)
{
    char *text = stored(certificates);
    fake_reply(request, 200, text);
    run(bed, PL_MS);
    free(text);
}

TEST(who_finds_none_makes_them_and_uses_them_once_they_are_stored)
{
    struct bed bed;
    bed_init(&bed);
    fake_reply(FAKE_EXPECT(&bed.net, "GET", PATH "/certs"), 404, not_found);
    run(&bed, PL_MS);
    struct fake_request *create = FAKE_EXPECT(&bed.net, "POST", PATH);
    CHECK_INT(bed.changes, 0);
    struct pl_certificates made = body_of(create);
    fake_reply(create, 201, pl_buf_z(&create->body));
    run(&bed, PL_MS);
    CHECK_INT(bed.changes, 1);
    CHECK(pl_certificates_eq(&bed.now, &made));
    pl_certificates_deinit(&made);
    bed_deinit(&bed);
}

TEST(who_is_second_takes_what_is_there)
{
    struct bed bed, other;
    bed_init(&other);
    fake_reply(FAKE_EXPECT(&other.net, "GET", PATH "/certs"), 404, not_found);
    run(&other, PL_MS);
    struct pl_certificates theirs = body_of(FAKE_EXPECT(&other.net, "POST", PATH));
    bed_init(&bed);
    fake_reply(FAKE_EXPECT(&bed.net, "GET", PATH "/certs"), 404, not_found);
    run(&bed, PL_MS);
    fake_reply(FAKE_EXPECT(&bed.net, "POST", PATH), 409, exists);
    run(&bed, PL_SECOND);
    CHECK_INT(bed.changes, 0);
    reply_stored(&bed, FAKE_EXPECT(&bed.net, "GET", PATH "/certs"), &theirs);
    CHECK_INT(bed.changes, 1);
    CHECK(pl_certificates_eq(&bed.now, &theirs));
    pl_certificates_deinit(&theirs);
    bed_deinit(&bed);
    bed_deinit(&other);
}

/* Time passes without any work, as while a machine sleeps. Then each read is answered with the
 * stored Secret, for a few minutes. Returns the next request that changes it. */
static struct fake_request *play(struct bed *bed, const struct pl_certificates *there, int64_t ns)
{
    bed->clock.now_ns += ns;
    for (int minutes = 0; minutes < 3; minutes++) {
        struct fake_request *request;
        run(bed, 60 * PL_SECOND);
        while ((request = fake_next(&bed->net)) != NULL) {
            if (strcmp(request->method, "GET") != 0)
                return request;
            if (strstr(request->path, "watch=") != NULL)
                fake_reply(request, 403, "{\"kind\":\"Status\",\"code\":403}");
            else
                reply_stored(bed, request, there);
            run(bed, PL_MS);
        }
    }
    return NULL;
}

TEST(what_is_due_is_renewed_by_update)
{
    struct bed bed;
    bed_init(&bed);
    fake_reply(FAKE_EXPECT(&bed.net, "GET", PATH "/certs"), 404, not_found);
    run(&bed, PL_MS);
    struct fake_request *create = FAKE_EXPECT(&bed.net, "POST", PATH);
    struct pl_certificates first = body_of(create);
    fake_reply(create, 201, pl_buf_z(&create->body));
    CHECK(play(&bed, &first, 243 * DAY) == NULL);
    struct fake_request *update = play(&bed, &first, 3 * DAY);
    REQUIRE(update != NULL);
    CHECK_STR(update->method, "PUT");
    struct pl_certificates second = body_of(update);
    CHECK_STR(second.ca_pem, first.ca_pem);
    CHECK(strcmp(second.cert_pem, first.cert_pem) != 0);
    CHECK(pl_certificates_eq(&bed.now, &first));
    reply_stored(&bed, update, &second);
    CHECK(pl_certificates_eq(&bed.now, &second));
    pl_certificates_deinit(&first);
    pl_certificates_deinit(&second);
    bed_deinit(&bed);
}

#define SECRET(rest)                                                                               \
    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"certs\","                 \
    "\"resourceVersion\":\"7\"}" rest "}"

/* The update that follows when that Secret is there. */
static struct fake_request *update_of(struct bed *bed, const char *there)
{
    bed_init(bed);
    fake_reply(FAKE_EXPECT(&bed->net, "GET", PATH "/certs"), 200, there);
    run(bed, PL_MS);
    struct fake_request *update = FAKE_EXPECT(&bed->net, "PUT", PATH "/certs");
    CHECK(strstr(pl_buf_z(&update->body), "\"resourceVersion\":\"7\"") != NULL);
    struct pl_certificates made = body_of(update);
    CHECK(made.ca_key_pem != NULL);
    pl_certificates_deinit(&made);
    return update;
}

TEST(one_that_somebody_broke_is_made_anew)
{
    struct bed bed;
    update_of(&bed, SECRET(",\"data\":{\"tls.crt\":\"bm9uc2Vuc2U=\"}"));
    bed_deinit(&bed);
}

TEST(one_without_keys_is_filled)
{
    struct bed bed;
    update_of(&bed, SECRET(",\"type\":\"Opaque\""));
    bed_deinit(&bed);
    update_of(&bed, SECRET(",\"type\":\"Opaque\",\"data\":null"));
    bed_deinit(&bed);
    update_of(&bed, SECRET(",\"data\":{}"));
    bed_deinit(&bed);
}

TEST(other_keys_stay)
{
    struct bed bed;
    struct fake_request *update = update_of(
        &bed, SECRET(",\"data\":{\"aa\":\"MQ==\",\"tls.crt\":\"bm9uc2Vuc2U=\",\"zz\":\"Mg==\"}"));
    const char *body = pl_buf_z(&update->body);
    CHECK(strstr(body, "\"aa\":\"MQ==\"") != NULL);
    CHECK(strstr(body, "\"zz\":\"Mg==\"") != NULL);
    CHECK(strstr(body, "bm9uc2Vuc2U=") == NULL);
    bed_deinit(&bed);
}

static void check_left_alone(const char *there)
{
    struct bed bed;
    bed_init(&bed);
    CHECK(!pl_shared_secret_is_foreign(bed.secret));
    for (int looks = 0; looks < 5; looks++) {
        fake_reply(FAKE_EXPECT(&bed.net, "GET", PATH "/certs"), 200, there);
        run(&bed, PL_MS);
        CHECK(pl_shared_secret_is_foreign(bed.secret));
        CHECK(fake_take(&bed.net, "PUT", "") == NULL);
        run(&bed, 60 * PL_SECOND);
    }
    CHECK_INT(bed.changes, 0);
    struct fake_request *get = FAKE_EXPECT(&bed.net, "GET", PATH "/certs");
    fake_reply(get, 404, not_found);
    run(&bed, PL_MS);
    FAKE_EXPECT(&bed.net, "POST", PATH);
    CHECK(!pl_shared_secret_is_foreign(bed.secret));
    bed_deinit(&bed);
}

TEST(one_of_somebody_else_is_left_alone_until_it_has_gone)
{
    check_left_alone(SECRET(",\"type\":\"Opaque\",\"data\":{\"password\":\"MQ==\"}"));
    check_left_alone(SECRET(",\"type\":\"kubernetes.io/tls\",\"data\":{\"tls.crt\":\"MQ==\","
                            "\"tls.key\":\"MQ==\"}"));
}

TEST_MAIN()
