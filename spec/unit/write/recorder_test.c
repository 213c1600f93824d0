#include "unit/control/bed.h"

#include "write/recorder.h"

struct scene {
    struct bed bed;
    struct pl_recorder *recorder; /* the cluster's */
};

static void begin(struct scene *scene)
{
    *scene = (struct scene){0};
    bed_init(&scene->bed);
    scene->recorder = pl_cluster_recorder(scene->bed.cluster);
}

static void finish(struct scene *scene)
{
    bed_deinit(&scene->bed);
}

static struct pl_report report_of(bool warning, const char *reason, const char *note)
{
    return (struct pl_report){
        .regarding = {pl_slice_z("apps/v1"), pl_slice_z("Deployment"), pl_slice_z("d"),
                      pl_slice_z("web"), pl_slice_z("u-1"), pl_slice_z("17")},
        .warning = warning,
        .reason = pl_slice_z(reason),
        .note = pl_slice_z(note),
        .controller = pl_slice_z("sites"),
    };
}

static void say(struct scene *scene, bool warning, const char *reason, const char *note)
{
    struct pl_report report = report_of(warning, reason, note);
    pl_recorder_event(scene->recorder, &report);
}

#define PATH "/apis/events.k8s.io/v1/namespaces/d/events"

static struct pl_doc *body_of(struct fake_request *request)
{
    return bed_doc(pl_buf_z(&request->body));
}

static int64_t count_of(struct fake_request *request)
{
    struct pl_doc *body = body_of(request);
    int64_t count = 0;
    pl_node_int(pl_node_dig(pl_doc_root(body), "series", "count"), &count);
    pl_doc_unref(body);
    return count;
}

static void check_text(struct pl_node node, const char *want)
{
    struct pl_scratch scratch;
    CHECK_SLICE(pl_node_str(node, &scratch), want);
}

static struct pl_recorder_stats stats_of(struct scene *scene)
{
    struct pl_recorder_stats stats;
    pl_recorder_stats(scene->recorder, &stats);
    return stats;
}

/* Answers all requests within ns with success; returns their number. */
static int serve(struct scene *scene, int64_t ns)
{
    int served = 0;
    for (int64_t passed = 0; passed <= ns; passed += PL_SECOND) {
        bed_run(&scene->bed);
        for (struct fake_request *r; (r = fake_next(&scene->bed.net)) != NULL; served++)
            bed_reply(&scene->bed, r, 201, "{}");
        bed_pass(&scene->bed, PL_SECOND);
    }
    return served;
}

TEST(an_event_says_what_happened_to_whom)
{
    struct scene scene;
    begin(&scene);
    say(&scene, true, "Broken", "it is \xc3\xb6ut");
    struct fake_request *create = bed_expect(&scene.bed, "POST", PATH "?");
    struct pl_doc *body = body_of(create);
    struct pl_node root = pl_doc_root(body);
    check_text(pl_node_getz(root, "apiVersion"), "events.k8s.io/v1");
    check_text(pl_node_getz(root, "kind"), "Event");
    check_text(pl_node_dig(root, "metadata", "namespace"), "d");
    check_text(pl_node_getz(root, "eventTime"), "1970-01-01T00:16:40.000000Z");
    check_text(pl_node_getz(root, "type"), "Warning");
    check_text(pl_node_getz(root, "reason"), "Broken");
    check_text(pl_node_getz(root, "note"), "it is \xc3\xb6ut");
    check_text(pl_node_getz(root, "action"), "Reconcile");
    check_text(pl_node_getz(root, "reportingController"), "sites");
    check_text(pl_node_getz(root, "reportingInstance"), "perilune");
    check_text(pl_node_dig(root, "regarding", "apiVersion"), "apps/v1");
    check_text(pl_node_dig(root, "regarding", "kind"), "Deployment");
    check_text(pl_node_dig(root, "regarding", "namespace"), "d");
    check_text(pl_node_dig(root, "regarding", "name"), "web");
    check_text(pl_node_dig(root, "regarding", "uid"), "u-1");
    check_text(pl_node_dig(root, "regarding", "resourceVersion"), "17");
    CHECK(pl_node_is_missing(pl_node_getz(root, "series")));
    struct pl_scratch scratch;
    struct pl_slice name = pl_node_str(pl_node_dig(root, "metadata", "name"), &scratch);
    CHECK_INT(name.len, strlen("web.") + 16);
    CHECK(strncmp(name.ptr, "web.", 4) == 0);
    pl_doc_unref(body);
    bed_reply(&scene.bed, create, 201, "{}");
    CHECK_INT(stats_of(&scene).sent, 1);
    finish(&scene);
}

TEST(an_event_about_a_cluster_scoped_object_is_in_default_and_has_a_legal_name)
{
    struct scene scene;
    begin(&scene);
    struct pl_report report = report_of(false, "Seen", "");
    report.regarding.ns = pl_slice_z("");
    report.regarding.name = pl_slice_z("system:Node..x_");
    report.controller = pl_slice_z("");
    pl_recorder_event(scene.recorder, &report);
    struct fake_request *create =
        bed_expect(&scene.bed, "POST", "/apis/events.k8s.io/v1/namespaces/default/events");
    struct pl_doc *body = body_of(create);
    struct pl_scratch scratch;
    struct pl_slice name =
        pl_node_str(pl_node_dig(pl_doc_root(body), "metadata", "name"), &scratch);
    CHECK(strncmp(name.ptr, "system-node.x.", 14) == 0);
    check_text(pl_node_dig(pl_doc_root(body), "regarding", "name"), "system:Node..x_");
    CHECK(pl_node_is_missing(pl_node_dig(pl_doc_root(body), "regarding", "namespace")));
    check_text(pl_node_getz(pl_doc_root(body), "reportingController"), "perilune");
    pl_doc_unref(body);
    bed_reply(&scene.bed, create, 201, "{}");
    finish(&scene);
}

TEST(texts_are_cut_at_a_character_and_made_clean)
{
    struct scene scene;
    begin(&scene);
    char note[2001];
    memset(note, 'x', sizeof note);
    memcpy(note + 1023, "\xc3\xb6", 2); /* its second byte would be the 1025th */
    note[2000] = '\0';
    say(&scene, false, "Long", note);
    struct fake_request *create = bed_expect(&scene.bed, "POST", PATH);
    struct pl_doc *body = body_of(create);
    struct pl_scratch scratch;
    CHECK_INT(pl_node_str(pl_node_getz(pl_doc_root(body), "note"), &scratch).len, 1023);
    pl_doc_unref(body);
    bed_reply(&scene.bed, create, 201, "{}");
    say(&scene, false, "Bad",
        "a\xff"
        "b");
    create = bed_expect(&scene.bed, "POST", PATH);
    body = body_of(create);
    check_text(pl_node_getz(pl_doc_root(body), "note"), "a?b");
    pl_doc_unref(body);
    bed_reply(&scene.bed, create, 201, "{}");
    finish(&scene);
}

TEST(the_same_warning_ten_thousand_times_costs_few_writes_and_counts_right)
{
    struct scene scene;
    begin(&scene);
    int writes = 0;
    int64_t last = 0;
    for (int second = 0; second < 180; second++) {
        for (int i = 0; i < 167 && second < 60; i++)
            say(&scene, true, "Broken", "again");
        bed_run(&scene.bed);
        for (struct fake_request *r; (r = fake_next(&scene.bed.net)) != NULL; writes++) {
            CHECK_STR(r->method, writes == 0 ? "POST" : "PATCH");
            if (writes > 0)
                last = count_of(r);
            bed_reply(&scene.bed, r, 200, "{}");
        }
        if (second == 59)
            CHECK(writes <= 12);
        bed_pass(&scene.bed, PL_SECOND);
    }
    CHECK_INT(last, 167 * 60);
    CHECK(writes >= 3 && writes <= 8);
    CHECK_INT(stats_of(&scene).dropped, 0);
    finish(&scene);
}

TEST(a_hundred_reasons_at_once_are_all_recorded)
{
    struct scene scene;
    begin(&scene);
    for (int i = 0; i < 100; i++) {
        char reason[32];
        snprintf(reason, sizeof reason, "Reason%d", i);
        say(&scene, false, reason, "x");
    }
    CHECK_INT(stats_of(&scene).in_flight, PL_EVENT_FLIGHT);
    CHECK_INT(serve(&scene, 10 * PL_SECOND), 100);
    CHECK_INT(stats_of(&scene).dropped, 0);
    finish(&scene);
}

TEST(requests_are_paced)
{
    struct scene scene;
    begin(&scene);
    for (int i = 0; i < 400; i++) {
        char reason[32];
        snprintf(reason, sizeof reason, "Reason%d", i);
        say(&scene, false, reason, "x");
    }
    CHECK_INT(serve(&scene, 0), PL_EVENT_BURST);
    int later = serve(&scene, 5 * PL_SECOND);
    CHECK(later > 0 && later <= 7 * PL_EVENT_RATE);
    CHECK_INT(serve(&scene, 60 * PL_SECOND) + later, 300);
    finish(&scene);
}

TEST(ever_new_notes_for_one_reason_are_limited_and_other_reasons_are_not)
{
    struct scene scene;
    begin(&scene);
    for (int i = 0; i < 1000; i++) {
        char note[32];
        snprintf(note, sizeof note, "%d of 1000", i);
        say(&scene, false, "Progress", note);
    }
    say(&scene, false, "Done", "1000 of 1000");
    CHECK_INT(serve(&scene, 10 * PL_SECOND), PL_EVENT_NOTES + 1);
    CHECK_INT(stats_of(&scene).dropped, 1000 - PL_EVENT_NOTES);
    bed_pass(&scene.bed, PL_EVENT_NOTE_EVERY);
    say(&scene, false, "Progress", "one more");
    CHECK_INT(serve(&scene, 0), 1);
    struct pl_buf page = PL_BUF_INIT;
    pl_metrics_write(scene.bed.metrics, &page);
    CHECK(strstr(pl_buf_z(&page),
                 "perilune_events_dropped_total{type=\"Normal\",why=\"rate\"} 990") != NULL);
    pl_buf_deinit(&page);
    finish(&scene);
}

static void say_of(struct scene *scene, bool warning, const char *reason, int object)
{
    char name[32];
    snprintf(name, sizeof name, "o-%d", object);
    struct pl_report report = report_of(warning, reason, "x");
    report.regarding.name = pl_slice_z(name);
    pl_recorder_event(scene->recorder, &report);
}

TEST(while_the_server_is_away_memory_is_bounded_and_warnings_are_the_last_to_go)
{
    struct scene scene;
    begin(&scene);
    fake_transport_down(&scene.bed.net, PL_ENETWORK, "ConnectionRefused");
    for (int reason = 0; reason < 8; reason++)
        for (int i = 0; i < 200; i++) {
            char text[32];
            snprintf(text, sizeof text, "Normal%d", reason);
            say_of(&scene, false, text, i);
        }
    CHECK(stats_of(&scene).waiting <= PL_EVENT_WAITING);
    for (int i = 0; i < 2 * PL_EVENT_SHARE; i++)
        say_of(&scene, true, "Broken", i);
    bed_pass(&scene.bed, 600 * PL_SECOND);
    struct pl_recorder_stats stats = stats_of(&scene);
    CHECK(stats.waiting + stats.in_flight <= PL_EVENT_WAITING);
    CHECK(stats.waiting >= PL_EVENT_WAITING - PL_EVENT_FLIGHT);
    CHECK_INT(stats.sent, 0);
    /* Half of the many Events of one reason exceed its share; no other Warning was dropped for
     * them. */
    fake_transport_down(&scene.bed.net, 0, NULL);
    int warnings = 0;
    for (int second = 0; second < 120; second++) {
        bed_pass(&scene.bed, PL_SECOND);
        for (struct fake_request *r; (r = fake_next(&scene.bed.net)) != NULL;) {
            struct pl_doc *body = body_of(r);
            warnings +=
                pl_node_str_eq(pl_node_getz(pl_doc_root(body), "type"), pl_slice_z("Warning"));
            pl_doc_unref(body);
            bed_reply(&scene.bed, r, 201, "{}");
        }
    }
    CHECK(warnings >= PL_EVENT_SHARE);
    CHECK_INT(stats_of(&scene).waiting, 0);
    CHECK_INT(stats_of(&scene).sent + stats_of(&scene).dropped, 8 * 200 + 2 * PL_EVENT_SHARE);
    finish(&scene);
}

TEST(what_the_server_could_not_take_is_sent_again_with_the_same_name)
{
    struct scene scene;
    begin(&scene);
    say(&scene, true, "Broken", "x");
    struct fake_request *first = bed_expect(&scene.bed, "POST", PATH);
    struct pl_doc *one = body_of(first);
    bed_reply(&scene.bed, first, 500, BED_STATUS(500, "InternalError"));
    CHECK(bed_is_quiet(&scene.bed));
    CHECK_INT(scene.bed.waits.count, 1);
    bed_pass(&scene.bed, 3 * PL_SECOND);
    struct fake_request *second = bed_expect(&scene.bed, "POST", PATH);
    struct pl_doc *two = body_of(second);
    CHECK(pl_node_equal(pl_doc_root(one), pl_doc_root(two)));
    pl_doc_unref(one);
    pl_doc_unref(two);
    /* The first request had arrived nevertheless. */
    bed_reply(&scene.bed, second, 409, BED_STATUS(409, "AlreadyExists"));
    bed_pass(&scene.bed, 60 * PL_SECOND);
    CHECK(bed_is_quiet(&scene.bed));
    CHECK_INT(stats_of(&scene).dropped, 0);
    finish(&scene);
}

TEST(a_write_that_never_succeeds_is_dropped_at_last)
{
    struct scene scene;
    begin(&scene);
    say(&scene, true, "Broken", "x");
    int tries = 0;
    for (int second = 0; second < 1200; second++) {
        bed_run(&scene.bed);
        for (struct fake_request *r; (r = fake_next(&scene.bed.net)) != NULL; tries++)
            bed_reply(&scene.bed, r, 500, BED_STATUS(500, "InternalError"));
        bed_pass(&scene.bed, PL_SECOND);
    }
    CHECK_INT(tries, 12);
    CHECK_INT(stats_of(&scene).dropped, 1);
    CHECK_INT(stats_of(&scene).series, 0);
    finish(&scene);
}

TEST(an_event_that_is_gone_is_created_anew_with_the_whole_count)
{
    struct scene scene;
    begin(&scene);
    say(&scene, false, "Scaled", "x");
    bed_reply(&scene.bed, bed_expect(&scene.bed, "POST", PATH), 201, "{}");
    say(&scene, false, "Scaled", "x");
    CHECK(bed_is_quiet(&scene.bed));
    bed_pass(&scene.bed, PL_EVENT_INTERVAL);
    struct fake_request *patch = bed_expect(&scene.bed, "PATCH", PATH "/web.");
    CHECK_STR(fake_header(patch, "content-type"), "application/merge-patch+json");
    CHECK_INT(count_of(patch), 2);
    bed_reply(&scene.bed, patch, 404, BED_STATUS(404, "NotFound"));
    struct fake_request *create = bed_expect(&scene.bed, "POST", PATH);
    CHECK_INT(count_of(create), 2);
    bed_reply(&scene.bed, create, 201, "{}");
    CHECK_INT(stats_of(&scene).dropped, 0);
    finish(&scene);
}

TEST(a_quiet_series_is_forgotten)
{
    struct scene scene;
    begin(&scene);
    say(&scene, false, "Scaled", "x");
    bed_reply(&scene.bed, bed_expect(&scene.bed, "POST", PATH), 201, "{}");
    bed_pass(&scene.bed, PL_EVENT_FORGET - PL_SECOND);
    CHECK_INT(stats_of(&scene).series, 1);
    bed_pass(&scene.bed, 2 * PL_SECOND);
    CHECK_INT(stats_of(&scene).series, 0);
    say(&scene, false, "Scaled", "x");
    bed_reply(&scene.bed, bed_expect(&scene.bed, "POST", PATH), 201, "{}");
    finish(&scene);
}

TEST(where_events_are_forbidden_they_are_dropped_for_a_while_without_asking)
{
    struct scene scene;
    begin(&scene);
    say(&scene, true, "A", "x");
    bed_reply(&scene.bed, bed_expect(&scene.bed, "POST", PATH), 403, BED_STATUS(403, "Forbidden"));
    say(&scene, true, "B", "x");
    CHECK(bed_is_quiet(&scene.bed));
    CHECK_INT(stats_of(&scene).dropped, 2);
    bed_pass(&scene.bed, 60 * PL_SECOND);
    say(&scene, true, "C", "x");
    bed_reply(&scene.bed, bed_expect(&scene.bed, "POST", PATH), 201, "{}");
    say(&scene, true, "D", "x");
    bed_reply(&scene.bed, bed_expect(&scene.bed, "POST", PATH), 201, "{}");
    CHECK_INT(stats_of(&scene).sent, 2);
    finish(&scene);
}

TEST(an_invalid_event_is_dropped)
{
    struct scene scene;
    begin(&scene);
    say(&scene, true, "A", "x");
    bed_reply(&scene.bed, bed_expect(&scene.bed, "POST", PATH), 422, BED_STATUS(422, "Invalid"));
    bed_pass(&scene.bed, 60 * PL_SECOND);
    CHECK(bed_is_quiet(&scene.bed));
    CHECK_INT(stats_of(&scene).dropped, 1);
    CHECK_INT(stats_of(&scene).series, 0);
    finish(&scene);
}

TEST(draining_sends_what_is_known_and_tries_nothing_twice)
{
    struct scene scene;
    begin(&scene);
    say(&scene, false, "Scaled", "x");
    bed_reply(&scene.bed, bed_expect(&scene.bed, "POST", PATH), 201, "{}");
    say(&scene, false, "Scaled", "x");
    pl_recorder_drain(scene.recorder);
    struct fake_request *patch = bed_expect(&scene.bed, "PATCH", PATH);
    CHECK_INT(count_of(patch), 2);
    CHECK(!pl_site_is_idle(pl_cluster_site(scene.bed.cluster)));
    say(&scene, false, "Scaled", "x"); /* meanwhile */
    say(&scene, true, "LeaderElection", "stopped leading");
    bed_reply(&scene.bed, patch, 200, "{}");
    CHECK_INT(count_of(bed_expect(&scene.bed, "POST", PATH)), 0);
    patch = bed_expect(&scene.bed, "PATCH", PATH);
    CHECK_INT(count_of(patch), 3);
    fake_fail(patch, PL_ENETWORK, "ConnectionReset");
    bed_run(&scene.bed);
    CHECK(bed_is_quiet(&scene.bed));
    CHECK(!pl_site_is_idle(pl_cluster_site(scene.bed.cluster)));
    PL_LIST_FOR (link, &scene.bed.net.taken) {
        struct fake_request *request = PL_CONTAINER_OF(link, struct fake_request, link);
        if (!request->done)
            bed_reply(&scene.bed, request, 201, "{}");
    }
    CHECK(pl_site_is_idle(pl_cluster_site(scene.bed.cluster)));
    CHECK_INT(stats_of(&scene).dropped, 1);
    finish(&scene);
}

TEST(a_dry_run_sends_no_event)
{
    struct scene scene = {0};
    bed_init_with(&scene.bed, NULL, true);
    scene.recorder = pl_cluster_recorder(scene.bed.cluster);
    say(&scene, true, "A", "x");
    CHECK(bed_is_quiet(&scene.bed));
    CHECK_INT(stats_of(&scene).series, 0);
    finish(&scene);
}

TEST(what_befalls_the_host_is_said_of_its_pod)
{
    struct scene scene;
    begin(&scene);
    pl_recorder_own_event(scene.recorder, true, "SourceNotSynced", "no pod, no Event");
    CHECK(bed_is_quiet(&scene.bed));
    struct pl_object_ref self = {.api_version = pl_slice_z("v1"),
                                 .kind = pl_slice_z("Pod"),
                                 .ns = pl_slice_z("d"),
                                 .name = pl_slice_z("me")};
    struct pl_recorder *recorder = pl_recorder_create(
        &(struct pl_recorder_options){.site = pl_cluster_site(scene.bed.cluster), .self = &self});
    pl_recorder_own_event(recorder, true, "SourceNotSynced", "x");
    struct fake_request *create = bed_expect(&scene.bed, "POST", PATH);
    struct pl_doc *body = body_of(create);
    check_text(pl_node_dig(pl_doc_root(body), "regarding", "kind"), "Pod");
    check_text(pl_node_dig(pl_doc_root(body), "regarding", "name"), "me");
    check_text(pl_node_getz(pl_doc_root(body), "reportingController"), "perilune");
    check_text(pl_node_getz(pl_doc_root(body), "action"), "Run");
    pl_doc_unref(body);
    bed_reply(&scene.bed, create, 201, "{}");
    pl_recorder_destroy(recorder);
    finish(&scene);
}

TEST_MAIN()
