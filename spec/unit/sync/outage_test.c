/* The API server's name does not resolve for ten minutes: every request fails at once, without any
 * information about the server. Sources, the Lease and its consequences together. */
#include "unit/control/bed_controller.h"

#include "control/leadership.h"
#include "lead/lease.h"

#include <unistd.h>

#define STEP   (50 * PL_MS)
#define OUTAGE (10 * 60 * PL_SECOND)
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define TRIES  2000

enum { MAPS, PODS, SITES, SOURCES };

static const char *const paths[SOURCES] = {"/api/v1/configmaps", "/api/v1/pods",
                                           "/apis/example.com/v1/websites"};
static const char *const kinds[SOURCES] = {"ConfigMap", "Pod", "Website"};

/* The times of failed requests. */
struct tries {
    int64_t at_ns[TRIES];
    int count;
};

struct world {
    struct stage stage;
    struct pl_lease *lease;
    struct pl_leadership *leadership;
    struct fake_request *watches[SOURCES + 1]; /* open ones; the last is the Lease's */
    int lists[SOURCES], probes[SOURCES], opened[SOURCES];
    struct pl_buf spec; /* of the Lease, as it was written last */
    int lease_rv, renewals;
    int64_t renewed_ns; /* when the last of them was sent */
    bool down;
    struct tries source_tries, lease_tries, lease_watches, discovery_tries;
    FILE *log;
};

/* ---- the server ---- */

static bool has(const struct fake_request *request, const char *name, const char *want)
{
    struct pl_buf value = PL_BUF_INIT;
    bool is = fake_query(request, name, &value) &&
              (want == NULL || pl_slice_eqz(pl_buf_slice(&value), want));
    pl_buf_deinit(&value);
    return is;
}

static void open_watch(struct world *world, int place, struct fake_request *request)
{
    CHECK(world->watches[place] == NULL);
    world->watches[place] = request;
    fake_begin(request, 200);
}

static void answer_source(struct world *world, int source, struct fake_request *request)
{
    char list[300];
    bool probe = has(request, "limit", "1");
    snprintf(list, sizeof list,
             "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"10\"},"
             "\"items\":[]}",
             probe ? "PartialObjectMetadata" : kinds[source],
             probe             ? "meta.k8s.io/v1"
             : source == SITES ? "example.com/v1"
                               : "v1");
    if (has(request, "watch", NULL)) {
        CHECK(has(request, "resourceVersion", "10"));
        world->opened[source]++;
        open_watch(world, source, request);
    } else if (probe) {
        world->probes[source]++;
        fake_reply(request, 200, list);
    } else {
        world->lists[source]++;
        fake_reply(request, 200, list);
    }
}

static void answer_lease(struct world *world, struct fake_request *request)
{
    bool is_write = strcmp(request->method, "GET") != 0;
    if (has(request, "watch", NULL)) {
        open_watch(world, SOURCES, request);
        return;
    }
    if (!is_write && world->spec.len == 0) {
        fake_reply(request, 404, BED_STATUS(404, "NotFound"));
        return;
    }
    if (is_write) { /* its spec comes last */
        const char *spec = strstr(pl_buf_z(&request->body), "\"spec\":");
        REQUIRE(spec != NULL);
        pl_buf_clear(&world->spec);
        pl_buf_add_z(&world->spec, spec);
        world->lease_rv++;
        world->renewals++;
        world->renewed_ns = world->stage.bed.clock.now_ns;
    }
    char *body = pl_format("{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                           "\"metadata\":{\"name\":\"l\",\"namespace\":\"kube-system\",\"uid\":"
                           "\"u\",\"resourceVersion\":\"%d\"},%s",
                           world->lease_rv, pl_buf_z(&world->spec));
    fake_reply(request, strcmp(request->method, "POST") == 0 ? 201 : 200, body);
    pl_free(body);
}

static void note(struct world *world, struct tries *tries)
{
    REQUIRE(tries->count < TRIES);
    tries->at_ns[tries->count++] = world->stage.bed.clock.now_ns;
}

static void serve(struct world *world)
{
    struct fake_request *request;
    bed_run(&world->stage.bed);
    while ((request = fake_next(&world->stage.bed.net)) != NULL) {
        bool of_lease = strncmp(request->path, LEASES, strlen(LEASES)) == 0;
        int source = 0;
        while (source < SOURCES &&
               strncmp(request->path, paths[source], strlen(paths[source])) != 0)
            source++;
        if (world->down && !of_lease && source == SOURCES) {
            note(world, &world->discovery_tries);
            fake_fail(request, PL_ENETWORK, "DNS");
        } else if (world->down) {
            bool watch = has(request, "watch", NULL);
            note(world, !of_lease ? &world->source_tries
                        : watch   ? &world->lease_watches
                                  : &world->lease_tries);
            if (!of_lease)
                world->lists[source] += !watch && !has(request, "limit", "1");
            fake_fail(request, PL_ENETWORK, "DNS");
        } else if (of_lease) {
            answer_lease(world, request);
        } else {
            answer_source(world, source, request);
        }
        bed_run(&world->stage.bed);
    }
}

static void pass(struct world *world, int64_t ns)
{
    for (int64_t passed = 0; passed < ns; passed += STEP) {
        serve(world);
        bed_pass(&world->stage.bed, STEP);
    }
    serve(world);
}

/* No request reaches the server any more, and open ones end. */
static void go_down(struct world *world)
{
    world->down = true;
    for (int i = 0; i <= SOURCES; i++) {
        if (world->watches[i] != NULL)
            fake_fail(world->watches[i], PL_ENETWORK, "ConnectionReset");
        world->watches[i] = NULL;
    }
}

/* ---- the host ---- */

static void on_changed(void *arg, enum pl_lead_change change, const char *text)
{
    PL_UNUSED(arg);
    PL_UNUSED(change);
    PL_UNUSED(text);
}

static void add(struct world *world, const char *name, const char *kind, bool leader)
{
    struct pl_controller_spec spec = spec_of(name);
    spec.leader_election = leader;
    add_source(&spec, PL_SOURCE_FOR, kind, PL_MAP_SELF);
    stage_add(&world->stage, &spec);
}

static void lead(struct world *world)
{
    struct bed *bed = &world->stage.bed;
    world->lease = pl_lease_create(&(struct pl_lease_options){
        .client = bed->client,
        .ns = "kube-system",
        .name = "l",
        .request_timeout_ns = pl_lease_request_timeout(10 * PL_SECOND),
        .silence_ns = 15 * PL_SECOND,
    });
    world->leadership = pl_leadership_create(&(struct pl_leadership_options){
        .cluster = bed->cluster,
        .election = {.lock = pl_lease_lock(world->lease),
                     .timers = &bed->timers,
                     .clock = &bed->clock.clock,
                     .rand = &bed->rand,
                     .waits = &bed->waits,
                     .owner = "kube-system/l",
                     .identity = "me",
                     .lease_duration_ns = 15 * PL_SECOND,
                     .renew_deadline_ns = 10 * PL_SECOND,
                     .retry_period_ns = 2 * PL_SECOND,
                     .release_on_exit = true,
                     .health_tolerance_ns = PL_ELECTION_TOLERANCE},
        .name = "l",
        .standby_on_loss = true,
        .changed = on_changed,
    });
    pl_manager_destroy(world->stage.manager); /* the stage's own has no leadership */
    world->stage.manager =
        pl_manager_create(&(struct pl_manager_options){.cluster = bed->cluster,
                                                       .grace_ns = 25 * PL_SECOND,
                                                       .leadership = world->leadership,
                                                       .stopped = on_manager_stopped,
                                                       .arg = &world->stage});
}

static void start(struct world *world)
{
    *world = (struct world){.log = tmpfile()};
    REQUIRE(world->log != NULL);
    stage_init(&world->stage);
    lead(world);
    add(world, "beat", "v1/ConfigMap", true);
    add(world, "pods", "v1/Pod", false);
    add(world, "sites", "example.com/v1/Website", false);
    pl_log_configure(PL_LOG_INFO, false, fileno(world->log));
    pl_manager_start(world->stage.manager);
}

/* The host leads and watches three kinds, and a minute has passed without faults. */
static void begin(struct world *world)
{
    start(world);
    pass(world, 60 * PL_SECOND);
    CHECK(pl_leadership_is_leading(world->leadership));
    for (int i = 0; i < SOURCES; i++)
        CHECK(world->lists[i] == 1 && world->watches[i] != NULL);
    REQUIRE(ftruncate(fileno(world->log), 0) == 0);
    lseek(fileno(world->log), 0, SEEK_SET);
}

static void finish(struct world *world)
{
    pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    pl_manager_stop(world->stage.manager);
    pass(world, PL_SECOND);
    pl_cluster_stop(world->stage.bed.cluster);
    pass(world, PL_SECOND);
    CHECK_INT(world->stage.stopped, 1);
    pl_manager_destroy(world->stage.manager);
    fake_deinit(&world->stage.fake);
    pl_leadership_destroy(world->leadership);
    pl_lease_destroy(world->lease);
    bed_deinit(&world->stage.bed);
    pl_buf_deinit(&world->spec);
    fclose(world->log);
}

/* Lines of the log that have `part` in them. */
static int said(const struct world *world, const char *part)
{
    static char text[65536];
    ssize_t len = pread(fileno(world->log), text, sizeof text - 1, 0);
    REQUIRE(len >= 0 && (size_t)len < sizeof text - 1);
    text[len] = '\0';
    int count = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        count += strstr(line, part) != NULL;
    return count;
}

/* The gaps between tries from `first` on must be within the bounds and have many lengths. */
static void check_gaps(const struct tries *tries, int first, int64_t least, int64_t most)
{
    int64_t seen[TRIES];
    int lengths = 0;
    for (int i = first; i < tries->count; i++) {
        int64_t gap = tries->at_ns[i] - tries->at_ns[i - 1];
        CHECK(gap >= least - STEP && gap <= most + STEP);
        int known = 0;
        while (known < lengths && seen[known] != gap)
            known++;
        seen[known] = gap;
        lengths += known == lengths;
    }
    CHECK(lengths >= 10); /* with jitter; without it there would be one or two */
}

TEST(ten_minutes_without_a_name_cost_few_requests_two_lines_and_no_list) /* rules 64, 83-85, F37 */
{
    struct world world;
    begin(&world);
    go_down(&world);
    pass(&world, OUTAGE);
    CHECK_INT(said(&world, "the API server does not answer"), 1);
    CHECK_INT(said(&world, "answers again"), 0);
    /* One after another, at most 10 s apart, with a few soon after each reset of the backoff (rule
     * 84).
     */
    CHECK(world.source_tries.count > 60 && world.source_tries.count < 150);
    check_gaps(&world.source_tries, SOURCES + 1, 800 * PL_MS, 10 * PL_SECOND);

    world.down = false;
    pass(&world, 15 * PL_SECOND);
    CHECK_INT(said(&world, "the API server does not answer"), 1);
    CHECK_INT(said(&world, "the API server answers again"), 1);
    for (int i = 0; i < SOURCES; i++) { /* from the version it knew, which the server still has */
        CHECK(world.watches[i] != NULL);
        CHECK_INT(world.lists[i], 1);
        CHECK_INT(world.opened[i], 2);
        CHECK(world.probes[i] <= 1);
    }
    finish(&world);
}

TEST(the_lease_is_lost_in_time_when_its_server_has_no_name_and_won_again_after) /* rules 113-116 */
{
    struct world world;
    begin(&world);
    int64_t renewed_ns = world.renewed_ns;
    int before = world.renewals;
    go_down(&world);
    while (pl_leadership_is_leading(world.leadership) && world.lease_tries.count < 100)
        pass(&world, STEP);
    int64_t led_ns = world.stage.bed.clock.now_ns - renewed_ns;
    CHECK(led_ns >= 10 * PL_SECOND - STEP); /* not before its time */
    CHECK(led_ns <= 10 * PL_SECOND + 2 * PL_SECOND + STEP);
    CHECK_INT(said(&world, "lease lost"), 1);
    int lost = world.lease_tries.count;
    pass(&world, OUTAGE);
    CHECK(!pl_leadership_is_leading(world.leadership));
    CHECK_INT(world.renewals, before);
    /* Each retry period and up to 1.2 times that (rule 113). */
    check_gaps(&world.lease_tries, lost + 1, 2 * PL_SECOND, 4400 * PL_MS);
    CHECK(world.lease_tries.count > 120 && world.lease_tries.count < 310);
    CHECK(world.lease_watches.count < world.lease_tries.count);
    CHECK_INT(said(&world, "cannot renew the lease"), 1);
    CHECK_INT(said(&world, "cannot get the lease"), 1);
    CHECK_INT(said(&world, "lease acquired"), 0);

    world.down = false;
    pass(&world, 10 * PL_SECOND);
    CHECK(pl_leadership_is_leading(world.leadership));
    CHECK(world.renewals > before);
    CHECK_INT(said(&world, "the lease can be reached again"), 1);
    CHECK_INT(said(&world, "lease acquired"), 1);
    CHECK_INT(said(&world, "lease lost"), 1);
    /* Lines of ten minutes: the server, the Lease (renewal, then campaign), its result. */
    CHECK(said(&world, "") <= 12);
    finish(&world);
}

TEST(a_server_without_a_name_at_the_start_is_one_line_for_all_sources) /* F37 */
{
    struct world world;
    start(&world);
    world.down = world.stage.bed.no_discovery = true;
    pass(&world, 110 * PL_SECOND); /* in two minutes the host would give up */
    CHECK_INT(said(&world, "the API server does not answer"), 1);
    CHECK_INT(said(&world, "warn"), 1);
    CHECK(world.discovery_tries.count > 12 && world.discovery_tries.count < 30);
    check_gaps(&world.discovery_tries, SOURCES + 1, 800 * PL_MS, 10 * PL_SECOND);
    world.down = world.stage.bed.no_discovery = false;
    pass(&world, 11 * PL_SECOND);
    for (int i = 0; i < SOURCES; i++)
        CHECK(world.lists[i] == 1 && world.watches[i] != NULL);
    CHECK_INT(said(&world, "the API server answers again"), 1);
    CHECK_INT(said(&world, "warn"), 1);
    CHECK(pl_leadership_is_leading(world.leadership));
    finish(&world);
}

TEST_MAIN()
