/* Replicas that elect a leader on a real server: the one that $PL_TEST_KUBECONFIG names or, with
 * PL_TEST_EMBEDDED, the embedded one in this process. Nothing is simulated, so this also tests
 * which Leases a server accepts and how its watches behave. */
#include "apiserver/apiserver.h"
#include "base/alloc.h"
#include "base/log.h"
#include "lead/election.h"
#include "lead/lease.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "support/test.h"

#include <inttypes.h>
#include <unistd.h>

#define SKIPPED 77
#define LIMIT   (60 * PL_SECOND)
#define ROUNDS  10
/* Long enough to distinguish a poll from a watch, also on a busy machine. */
#define RETRY (8 * PL_SECOND)

struct replica {
    struct pl_lease *lease;
    struct pl_election *election;
    char identity[PL_LEASE_HOLDER];
    int started, lost, stopped, leaders;
};

struct host {
    struct pl_loop *loop;
    struct pl_rand rand;
    struct pl_waits waits;
    struct pl_apiserver *server; /* NULL: the kubeconfig's */
    struct pl_kubeconfig config;
    char *url;
    struct pl_http_client *http;
    struct pl_client *client;
    char name[64];
    struct replica a, b;
    int answers;
    struct pl_err err;
};

static struct host host;

static void begin(void)
{
    struct pl_err err;
    static const char *const none[] = {NULL};
    struct pl_kubeconfig_options kubeconfig = {.files = getenv("PL_TEST_KUBECONFIG"),
                                               .environ = none};
    host = (struct host){.loop = pl_loop_create(pl_clock_system())};
    pl_loop_turn(host.loop, 0);
    pl_log_configure(getenv("TEST_LOG") != NULL ? PL_LOG_INFO : PL_LOG_ERROR + 1, false, 2);
    pl_rand_init(&host.rand);
    pl_waits_init(&host.waits, pl_loop_clock(host.loop));
    if (getenv("PL_TEST_EMBEDDED") != NULL) {
        host.server = pl_apiserver_create(host.loop, &(struct pl_apiserver_options){0}, &err);
        REQUIRE(host.server != NULL);
        host.url = pl_format("http://127.0.0.1:%d", pl_apiserver_port(host.server));
        host.config = (struct pl_kubeconfig){.source = (char *)"test", .server = host.url};
    } else {
        REQUIRE(pl_kubeconfig_load(&kubeconfig, &host.config, &err) == 0);
    }
    host.http = pl_http_client_create(host.loop);
    struct pl_client_options client = {.transport = pl_http_client_transport(host.http),
                                       .timers = pl_loop_timers(host.loop),
                                       .rand = &host.rand,
                                       .waits = &host.waits,
                                       .loop = host.loop,
                                       .config = &host.config,
                                       .user_agent = "perilune-test"};
    host.client = pl_client_create(&client, &err);
    REQUIRE(host.client != NULL);
    snprintf(host.name, sizeof host.name, "election-%" PRIx64, pl_rand_u64(&host.rand));
}

static void end(void)
{
    pl_client_destroy(host.client);
    pl_http_client_destroy(host.http);
    pl_apiserver_destroy(host.server);
    for (int i = 0; i < 10; i++)
        pl_loop_turn(host.loop, 10);
    CHECK_INT(host.waits.count, 0);
    if (host.server == NULL)
        pl_kubeconfig_deinit(&host.config);
    pl_loop_destroy(host.loop);
    pl_waits_deinit(&host.waits);
    pl_free(host.url);
}

/* ---- replicas ---- */

static void on_started(void *arg)
{
    ((struct replica *)arg)->started++;
}

static void on_lost(void *arg, const char *why)
{
    struct replica *r = arg;
    fprintf(stderr, "lost: %s\n", why);
    r->lost++;
}

static void on_leader(void *arg, const char *identity)
{
    ((struct replica *)arg)->leaders += identity[0] != '\0';
}

static void on_stopped(void *arg)
{
    ((struct replica *)arg)->stopped++;
}

static const struct pl_election_ops ops = {
    .on_started = on_started, .on_lost = on_lost, .on_leader = on_leader};

static struct pl_lease *create_lease(void)
{
    return pl_lease_create(&(struct pl_lease_options){
        .client = host.client,
        .ns = "default",
        .name = host.name,
        .request_timeout_ns = pl_lease_request_timeout(20 * PL_SECOND),
        .silence_ns = 30 * PL_SECOND,
    });
}

static void create_replica(struct replica *r)
{
    *r = (struct replica){.lease = create_lease()};
    pl_election_identity(&host.rand, "test", r->identity);
    struct pl_election_options options = {
        .lock = pl_lease_lock(r->lease),
        .timers = pl_loop_timers(host.loop),
        .clock = pl_loop_clock(host.loop),
        .rand = &host.rand,
        .waits = &host.waits,
        .owner = "default/test",
        .identity = r->identity,
        .lease_duration_ns = 30 * PL_SECOND,
        .renew_deadline_ns = 20 * PL_SECOND,
        .retry_period_ns = RETRY,
        .release_on_exit = true,
        .health_tolerance_ns = PL_ELECTION_TOLERANCE,
        .ops = &ops,
        .arg = r,
    };
    REQUIRE(pl_election_check(&options, NULL) == 0);
    r->election = pl_election_create(&options);
}

/* Turns the loop until *counter is at least that; returns false at the limit. */
static bool reaches(const int *counter, int value)
{
    int64_t limit = pl_loop_now(host.loop) + LIMIT;
    while (*counter < value && pl_loop_now(host.loop) < limit)
        pl_loop_turn(host.loop, 20);
    return *counter >= value;
}

static void pass(int64_t ns)
{
    int64_t until = pl_loop_now(host.loop) + ns;
    while (pl_loop_now(host.loop) < until)
        pl_loop_turn(host.loop, 20);
}

static void destroy_replica(struct replica *r)
{
    int before = r->stopped;
    pl_election_stop(r->election, true, on_stopped, r);
    CHECK(reaches(&r->stopped, before + 1));
    pl_election_destroy(r->election);
    pl_lease_destroy(r->lease);
}

TEST(a_released_lease_is_taken_over_by_who_watches)
{
    begin();
    create_replica(&host.a);
    create_replica(&host.b);
    struct replica *leader = &host.a, *other = &host.b;
    pl_election_campaign(leader->election);
    REQUIRE(reaches(&leader->started, 1));
    CHECK(pl_election_may_write(leader->election));
    int64_t longest = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int seen = other->leaders, started = other->started, stopped = leader->stopped;
        pl_election_campaign(other->election);
        REQUIRE(reaches(&other->leaders, seen + 1));
        pass(200 * PL_MS); /* the watch opens */
        CHECK_INT(other->started, started);
        CHECK_STR(pl_election_holder(other->election), leader->identity);
        int64_t began = pl_loop_now(host.loop);
        pl_election_stop(leader->election, true, on_stopped, leader);
        CHECK(!pl_election_may_write(leader->election));
        REQUIRE(reaches(&other->started, started + 1));
        int64_t took = pl_loop_now(host.loop) - began;
        longest = took > longest ? took : longest;
        REQUIRE(reaches(&leader->stopped, stopped + 1));
        struct replica *swap = leader;
        leader = other;
        other = swap;
    }
    printf("%d takeovers after a release, the longest in %.3f s\n", ROUNDS,
           (double)longest / (double)PL_SECOND);
    CHECK(longest < RETRY); /* a poll would have been later */
    CHECK_INT(host.a.lost + host.b.lost, 0);
    destroy_replica(&host.a);
    destroy_replica(&host.b);
    end();
}

static void on_answer(void *arg, const struct pl_err *err, const struct pl_lease_record *record)
{
    PL_UNUSED(arg);
    PL_UNUSED(record);
    host.answers++;
    pl_err_clear(&host.err);
    if (err != NULL)
        host.err = *err;
}

static void write_record(struct pl_lease *lease, enum pl_lease_verb verb,
                         const struct pl_lease_record *record, int status)
{
    struct pl_lease_lock lock = pl_lease_lock(lease);
    int before = host.answers;
    lock.ops->start(lock.self, verb, record, on_answer, NULL);
    REQUIRE(reaches(&host.answers, before + 1));
    CHECK_INT(host.err.status, status);
    if (host.err.status != status)
        fprintf(stderr, "%s\n", host.err.message);
}

TEST(a_holder_that_is_gone_is_replaced_when_its_duration_ends)
{
    begin();
    struct pl_lease *dead = create_lease(), *late = create_lease();
    struct pl_lease_record record = {
        .holder = "gone",
        .duration_s = 4,
        .acquire_us = INT64_C(1795253400000007), /* no clock agrees with it */
        .renew_us = INT64_C(1795253400000007),
        .transitions = 3,
    };
    write_record(late, PL_LEASE_GET, NULL, 404);
    write_record(dead, PL_LEASE_CREATE, &record, 0);
    write_record(late, PL_LEASE_CREATE, &record, 409);
    write_record(late, PL_LEASE_GET, NULL, 0);
    create_replica(&host.a);
    pl_election_campaign(host.a.election);
    REQUIRE(reaches(&host.a.leaders, 1));
    pass(1 * PL_SECOND);
    int64_t began = pl_loop_now(host.loop);
    record.renew_us++;
    write_record(dead, PL_LEASE_UPDATE, &record, 0); /* its last renewal */
    write_record(late, PL_LEASE_UPDATE, &record, 409);
    REQUIRE(reaches(&host.a.started, 1));
    int64_t took = pl_loop_now(host.loop) - began;
    printf("a takeover %.3f s after the last sign of life of 4 s\n",
           (double)took / (double)PL_SECOND);
    CHECK(took >= 4 * PL_SECOND && took < RETRY);
    pl_lease_destroy(dead);
    pl_lease_destroy(late);
    destroy_replica(&host.a);
    end();
}

int main(int argc, char **argv)
{
    const char *path = getenv("PL_TEST_KUBECONFIG");
    if (getenv("PL_TEST_EMBEDDED") == NULL && (path == NULL || access(path, R_OK) != 0)) {
        printf("skipped: PL_TEST_KUBECONFIG names no API server\n");
        return SKIPPED;
    }
    return test_run_all(argc, argv);
}
