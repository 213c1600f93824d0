#include "scene.h"

#include "base/alloc.h"
#include "event/question.h"

/* ---- the store follows the server ---- */

TEST(events_are_told_after_the_store_has_them)
{
    struct scene scene = {0};
    begin(&scene);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    check_events(&scene, "~a@5>11");
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "12", "")));
    check_events(&scene, "-a@12");
    check_stored(&scene, "d/a", "absent");
    finish(&scene);
}

TEST(a_relist_tells_of_what_changed_and_of_nothing_else) /* F3, F5 */
{
    struct scene scene = {0};
    begin(&scene);
    relist(&scene, BED_MAPS("20", BED_MAP("a", "1", "5", "") "," BED_MAP("c", "3", "15", "")));
    check_events(&scene, "+c@15 !b@6");
    check_stored(&scene, "d/b", "absent");
    relist(&scene, BED_MAPS("30", BED_MAP("a", "1", "25", "") "," BED_MAP("c", "3", "15", "")));
    check_events(&scene, "~a@5>25");
    finish(&scene);
}

TEST(an_object_that_is_another_one_since_is_first_gone_and_then_new) /* F4, rule 47 */
{
    struct scene scene = {0};
    begin(&scene);
    relist(&scene, BED_MAPS("20", BED_MAP("a", "9", "15", "") "," BED_MAP("b", "2", "6", "")));
    check_events(&scene, "!a@5 +a@15");
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("b", "8", "21", "")));
    check_events(&scene, "!b@6 +b@21");
    finish(&scene);
}

TEST(an_added_object_that_a_relist_lacks_leaves_no_ghost) /* F1 */
{
    struct scene scene = {0};
    begin(&scene);
    event(&scene, BED_EVENT("ADDED", BED_MAP("c", "3", "11", "")));
    relist(&scene, BED_MAPS("20", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", "")));
    check_events(&scene, "+c@11 !c@11");
    finish(&scene);
}

TEST(the_store_never_goes_back) /* F11 */
{
    struct scene scene = {0};
    begin(&scene);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "15", "")));
    pl_buf_clear(&scene.log);
    relist(&scene, BED_MAPS("15", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", "")));
    check_events(&scene, "");
    check_stored(&scene, "d/a", "15");
    finish(&scene);
}

TEST(a_restored_server_wins) /* F27 */
{
    struct scene scene = {0};
    begin(&scene);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "15", "")));
    pl_buf_clear(&scene.log);
    bed_pass(&scene.bed, 2 * PL_SECOND);
    event(&scene, BED_BOOKMARK("ConfigMap", "7"));
    bed_pass(&scene.bed, 2 * PL_SECOND);
    scene.watch = list_and_watch(&scene, "/api/v1/configmaps?limit=500",
                                 BED_MAPS("7", BED_MAP("a", "1", "5", "")));
    check_events(&scene, "~a@15>5 !b@6");
    finish(&scene);
}

static void check_version(struct scene *scene, const char *want)
{
    struct pl_buf rv = PL_BUF_INIT;
    pl_store_rv(pl_informer_store(scene->informer), &rv);
    CHECK_SLICE(pl_buf_slice(&rv), want);
    pl_buf_deinit(&rv);
}

TEST(F15_a_streamed_list_counts_when_it_is_whole) /* rule 77 */
{
    struct scene scene = {.streams = true};
    begin_unsynced(&scene, NULL);
    scene.watch = bed_expect(&scene.bed, "GET", "/api/v1/configmaps");
    static const char *const events[] = {
        BED_EVENT("ADDED", BED_MAP("a", "1", "5", "")),
        BED_EVENT("ADDED", BED_MAP("b", "2", "90", "")),
        BED_EVENT("MODIFIED", BED_MAP("a", "1", "91", "")),
        BED_EVENT("DELETED", BED_MAP("b", "2", "92", "")),
        BED_EVENT("DELETED",
                  BED_MAP("c", "3", "93", "")), /* of an object that was never reported */
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(events); i++) {
        event(&scene, events[i]);
        CHECK(!pl_informer_has_synced(scene.informer));
        check_version(&scene, "");
    }
    event(&scene, BED_INITIAL_END("93"));
    CHECK(pl_informer_has_synced(scene.informer));
    check_version(&scene, "93");
    check_stored(&scene, "d/a", "91");
    check_stored(&scene, "d/b", "absent");
    check_events(&scene, "+a@5 +b@90 ~a@5>91 -b@92");
    finish(&scene);
}

TEST(bookmarks_move_the_stores_version_and_are_no_objects) /* rule 24, F14 */
{
    struct scene scene = {0};
    begin(&scene);
    event(&scene, BED_BOOKMARK("ConfigMap", "44"));
    check_version(&scene, "44");
    check_events(&scene, "");
    finish(&scene);
}

TEST(F26_what_a_relist_finds_unchanged_is_the_same_document)
{
    struct scene scene = {0};
    begin(&scene);
    struct pl_store *store = pl_informer_store(scene.informer);
    struct pl_doc *before = pl_store_get(store, pl_slice_z("d/a"));
    /* Without a version, so that the list counts. */
    fake_stream(scene.watch, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    while (bed_is_quiet(&scene.bed))
        bed_pass(&scene.bed, 100 * PL_MS);
    bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", "/api/v1/configmaps"), 410,
              BED_STATUS(410, "Expired"));
    scene.watch =
        list_and_watch(&scene, "/api/v1/configmaps?limit=500",
                       BED_MAPS("12", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "7", "")));
    struct pl_doc *after = pl_store_get(store, pl_slice_z("d/a"));
    CHECK(before == after);
    pl_doc_unref(before);
    pl_doc_unref(after);
    check_events(&scene, "~b@6>7");
    finish(&scene);
}

/* Looks at the store whenever one of three objects changes. */
struct look {
    struct pl_key_watch watch;
    struct pl_store *store;
    int *changes;
    bool *whole;
};

static void on_look(struct pl_key_watch *watch)
{
    struct look *look = PL_CONTAINER_OF(watch, struct look, watch);
    ++*look->changes;
    struct pl_doc *a = pl_store_get(look->store, pl_slice_z("d/a"));
    struct pl_doc *c = pl_store_get(look->store, pl_slice_z("d/c"));
    *look->whole = *look->whole && a == NULL && c != NULL && pl_store_count(look->store) == 2;
    pl_doc_unref(a);
    pl_doc_unref(c);
}

#define PAGE(rv, token, object) BED_LIST("ConfigMap", rv, ",\"continue\":\"" token "\"", object)

TEST(a_first_list_is_stored_as_it_comes_but_not_synced_before_it_is_whole)
{
    struct scene scene = {0};
    begin_unsynced(&scene, NULL);
    struct fake_request *list = bed_expect(&scene.bed, "GET", "/api/v1/configmaps");
    bed_reply(&scene.bed, list, 200, PAGE("10", "t", BED_MAP("a", "1", "5", "")));
    check_stored(&scene, "d/a", "5");
    CHECK(!pl_informer_has_synced(scene.informer));
    check_events(&scene, "+a@5");
    list = bed_expect(&scene.bed, "GET", "/api/v1/configmaps");
    bed_reply(&scene.bed, list, 410, BED_STATUS(410, "Expired"));
    /* The server has lost what it had then. */
    scene.watch =
        list_and_watch(&scene, "/api/v1/configmaps", BED_MAPS("20", BED_MAP("b", "2", "16", "")));
    check_stored(&scene, "d/a", "absent");
    check_events(&scene, "+b@16 !a@5");
    CHECK(pl_informer_has_synced(scene.informer));
    finish(&scene);
}

TEST(F26_readers_see_a_relist_as_a_whole)
{
    struct scene scene = {0};
    begin(&scene);
    static const char *const keys[] = {"d/a", "d/b", "d/c"};
    struct look looks[3];
    int changes = 0;
    bool whole = true;
    for (size_t i = 0; i < PL_ARRAY_LEN(keys); i++) {
        looks[i] = (struct look){.watch = {.key = (char *)keys[i], .changed = on_look},
                                 .store = pl_informer_store(scene.informer),
                                 .changes = &changes,
                                 .whole = &whole};
        pl_informer_watch_key(scene.informer, &looks[i].watch);
    }
    relist(&scene, BED_MAPS("12", BED_MAP("b", "2", "9", "") "," BED_MAP("c", "3", "8", "")));
    CHECK_INT(changes, 3);
    CHECK(whole);
    for (size_t i = 0; i < PL_ARRAY_LEN(keys); i++)
        pl_informer_unwatch_key(&looks[i].watch);
    pl_buf_clear(&scene.log);
    finish(&scene);
}

#define SOURCES 60

/* One line when the server went away and one when it came back, for any number of sources. */
static void check_said(FILE *log)
{
    char line[512];
    int went = 0, came = 0, lines = 0;
    rewind(log);
    while (fgets(line, sizeof line, log) != NULL) {
        lines++;
        went += strstr(line, "the API server does not answer") != NULL;
        came += strstr(line, "the API server answers again") != NULL;
    }
    CHECK_INT(went, 1);
    CHECK_INT(came, 1);
    CHECK_INT(lines, 2);
}

/* The API server is away for five minutes while there are many watches, and comes back. */
TEST(F37_sources_whose_server_was_away_come_back_one_after_another_and_do_not_list)
{
    struct bed bed;
    struct pl_informer *informers[SOURCES];
    char labels[SOURCES][16];
    struct pl_kind kind = {"", "v1", "ConfigMap"};
    bed_init(&bed);
    for (int i = 0; i < SOURCES; i++) {
        snprintf(labels[i], sizeof labels[i], "n=%d", i);
        struct pl_source_options options = {.labels = labels[i]};
        informers[i] = pl_informers_take(pl_cluster_informers(bed.cluster), &kind, &options);
        bed_reply(&bed, bed_expect(&bed, "GET", "/api/v1/configmaps"), 200, BED_MAPS("10", ));
        fake_begin(bed_expect(&bed, "GET", "/api/v1/configmaps"), 200);
    }
    bed_pass(&bed, 2 * PL_SECOND);
    FILE *log = tmpfile();
    pl_log_configure(PL_LOG_INFO, false, fileno(log));
    fake_transport_down(&bed.net, PL_ENETWORK, "ConnectionRefused");
    PL_LIST_FOR (link, &bed.net.taken) {
        struct fake_request *watch = PL_CONTAINER_OF(link, struct fake_request, link);
        if (!watch->done)
            fake_fail(watch, PL_ENETWORK, "ConnectionReset");
    }
    int before = bed.net.start_count;
    bed_pass(&bed, PL_SECOND);
    CHECK(bed.net.start_count - before <= 14); /* at most a burst, and not one for each */
    bed_pass(&bed, 5 * 60 * PL_SECOND);
    CHECK(bed.net.start_count - before <= 100); /* one in five to ten seconds */
    while (fake_next(&bed.net) != NULL)
        ;
    fake_transport_down(&bed.net, 0, NULL);
    int lists = 0, watches = 0, most = 0;
    for (int i = 0; i < 160 && watches < SOURCES; i++) {
        struct fake_request *request;
        int now = 0;
        bed_pass(&bed, 100 * PL_MS);
        while ((request = fake_next(&bed.net)) != NULL) {
            now++;
            if (strstr(request->path, "watch=true") != NULL) {
                watches++;
                fake_begin(request, 200);
            } else if (strstr(request->path, "limit=1&") != NULL) {
                bed_reply(&bed, request, 200, BED_MAPS("10", ));
            } else {
                lists++;
            }
        }
        most = now > most ? now : most;
    }
    CHECK_INT(watches, SOURCES); /* within 16 s */
    CHECK_INT(lists, 0);
    CHECK(most <= 40);
    bed_pass(&bed, 2 * PL_SECOND);
    CHECK(pl_informer_trouble(informers[SOURCES - 1]) == NULL);
    pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    check_said(log);
    fclose(log);
    for (int i = 0; i < SOURCES; i++)
        pl_informer_unref(informers[i]);
    bed_deinit(&bed);
}

TEST(objects_of_a_kind_that_goes_away_are_gone) /* F43 */
{
    struct scene scene = {0};
    begin(&scene);
    for (int i = 0; i < 20; i++) {
        bed_pass(&scene.bed, 2 * PL_SECOND);
        fake_end(scene.watch);
        bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", "/api/v1/configmaps"), 404,
                  "404 page not found\n");
        check_events(&scene, i == 0 ? "!a@5 !b@6" : "!c@7");
        for (int k = 0; k < 6; k++) {
            bed_pass(&scene.bed, 11 * PL_SECOND); /* it is requested at least that often */
            bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", "/api/v1/configmaps"), 404,
                      "404 page not found\n");
            check_events(&scene, "");
        }
        bed_pass(&scene.bed, 11 * PL_SECOND);
        scene.watch = list_and_watch(&scene, "/api/v1/configmaps",
                                     BED_MAPS("30", BED_MAP("c", "3", "7", "")));
        check_events(&scene, "+c@7");
    }
    finish(&scene);
}

TEST(a_kind_that_comes_back_as_another_resource_is_watched_there) /* F43 */
{
    struct scene scene = {0};
    begin_kind(&scene, NULL, (struct pl_kind){"example.com", "v1", "Website"});
    scene.watch = list_and_watch(&scene, "/apis/example.com/v1/websites",
                                 BED_LIST("Website", "10", "", BED_MAP("a", "1", "5", "")));
    check_events(&scene, "+a@5");
    bed_pass(&scene.bed, 2 * PL_SECOND);
    fake_end(scene.watch);
    scene.bed.other_websites = true;
    bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", "/apis/example.com/v1/websites"), 404,
              "404 page not found\n");
    check_events(&scene, "!a@5");
    while (bed_is_quiet(&scene.bed))
        bed_pass(&scene.bed, 100 * PL_MS);
    list_and_watch(&scene, "/apis/example.com/v1/sites", BED_LIST("Website", "20", "", ));
    bed_pass(&scene.bed, 2 * PL_SECOND);
    CHECK(pl_informer_trouble(scene.informer) == NULL);
    finish(&scene);
}

TEST(a_right_that_is_taken_away_leaves_the_store_and_shows_trouble) /* F44 */
{
    struct scene scene = {0};
    begin(&scene);
    bed_pass(&scene.bed, 2 * PL_SECOND);
    fake_end(scene.watch);
    bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", "/api/v1/configmaps"), 403,
              BED_STATUS(403, "Forbidden"));
    REQUIRE(pl_informer_trouble(scene.informer) != NULL);
    CHECK_INT(pl_informer_trouble(scene.informer)->status, 403);
    CHECK_INT(pl_store_count(pl_informer_store(scene.informer)), 2);
    bed_pass(&scene.bed, 2 * PL_SECOND);
    scene.watch = list_and_watch(&scene, "/api/v1/configmaps", BED_MAPS("30", ));
    bed_pass(&scene.bed, 2 * PL_SECOND);
    CHECK(pl_informer_trouble(scene.informer) == NULL);
    pl_buf_clear(&scene.log);
    finish(&scene);
}

/* ---- sources that see less ---- */

TEST(an_object_that_leaves_the_selector_is_gone_for_this_source)
{
    struct scene scene = {.options = {.labels = (char *)"app=web"}};
    begin_unsynced(&scene, NULL);
    scene.watch = list_and_watch(&scene, "/api/v1/configmaps?labelSelector=app%3Dweb",
                                 BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    pl_buf_clear(&scene.log);
    write_through(&scene, BED_MAP("a", "1", "12", ""), false);
    check_events(&scene, "-a@12");
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "12", "")));
    check_events(&scene, "");
    event(&scene, BED_EVENT("ADDED", BED_MAP("a", "1", "13", "")));
    check_events(&scene, "+a@13");
    finish(&scene);
}

TEST(a_source_of_metadata_keeps_metadata)
{
    struct scene scene = {.options = {.metadata_only = true}};
    begin_unsynced(&scene, NULL);
    bed_run(&scene.bed);
    struct fake_request *list = bed_expect(&scene.bed, "GET", "/api/v1/configmaps");
    CHECK(strstr(fake_header(list, "accept"), "PartialObjectMetadataList") != NULL);
    bed_reply(&scene.bed, list, 200,
              "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\","
              "\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[{\"kind\":"
              "\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\"name\":"
              "\"a\",\"namespace\":\"d\",\"uid\":\"1\",\"resourceVersion\":\"5\"}}]}");
    check_events(&scene, "+a@5");
    write_through(&scene, BED_MAP("a", "1", "12", ",\"data\":{\"x\":\"1\"}"), false);
    check_events(&scene, "~a@5>12");
    struct pl_doc *doc = pl_store_get(pl_informer_store(scene.informer), pl_slice_z("d/a"));
    CHECK(pl_node_is_missing(pl_node_getz(pl_doc_root(doc), "data")));
    CHECK(pl_node_str_eq(pl_node_getz(pl_doc_root(doc), "kind"), pl_slice_z("ConfigMap")));
    pl_doc_unref(doc);
    finish(&scene);
}

TEST(each_namespace_has_a_watch_of_its_own_and_its_own_lists)
{
    static char *namespaces[] = {(char *)"d", (char *)"e", NULL};
    struct scene scene = {0};
    begin_unsynced(&scene, namespaces);
    scene.watch = list_and_watch(&scene, "/api/v1/namespaces/d/configmaps",
                                 BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    CHECK(!pl_informer_has_synced(scene.informer));
    struct fake_request *other =
        list_and_watch(&scene, "/api/v1/namespaces/e/configmaps",
                       BED_MAPS("12", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                                      "\"name\":\"x\",\"namespace\":\"e\",\"uid\":\"4\","
                                      "\"resourceVersion\":\"7\"}}"));
    PL_UNUSED(other);
    CHECK(pl_informer_has_synced(scene.informer));
    char **covered = pl_informer_namespaces(scene.informer);
    CHECK(covered != NULL && strcmp(covered[0], "d") == 0 && strcmp(covered[1], "e") == 0 &&
          covered[2] == NULL);
    pl_texts_free(covered);
    check_events(&scene, "+a@5 +x@7");
    struct pl_buf rv = PL_BUF_INIT;
    pl_store_rv(pl_informer_store(scene.informer), &rv);
    CHECK_SLICE(pl_buf_slice(&rv), "10");
    pl_buf_deinit(&rv);
    bed_pass(&scene.bed, 2 * PL_SECOND);
    fake_stream(scene.watch, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    bed_pass(&scene.bed, 2 * PL_SECOND);
    list_and_watch(&scene, "/api/v1/namespaces/d/configmaps", BED_MAPS("20", ));
    check_events(&scene, "!a@5"); /* and x stays */
    finish(&scene);
}

TEST(sources_with_the_same_options_share_an_informer)
{
    struct scene scene = {0};
    begin(&scene);
    struct pl_kind kind = {"", "v1", "ConfigMap"};
    struct pl_source_options same = {0}, other = {.labels = (char *)"a=b"};
    struct pl_informer *shared =
        pl_informers_take(pl_cluster_informers(scene.bed.cluster), &kind, &same);
    CHECK(shared == scene.informer);
    CHECK(pl_informer_namespaces(shared) == NULL);
    struct pl_informer *apart =
        pl_informers_take(pl_cluster_informers(scene.bed.cluster), &kind, &other);
    CHECK(apart != scene.informer);
    pl_informer_unref(shared);
    pl_informer_unref(apart);
    bed_run(&scene.bed);
    CHECK_INT(pl_informers_count(pl_cluster_informers(scene.bed.cluster)), 1);
    finish(&scene);
}

/* ---- keys, late listeners ---- */

struct key_diary {
    struct pl_key_watch watch;
    int changes;
    bool once;
};

static void on_key(struct pl_key_watch *watch)
{
    struct key_diary *diary = PL_CONTAINER_OF(watch, struct key_diary, watch);
    diary->changes++;
    if (diary->once)
        pl_informer_unwatch_key(watch);
}

TEST(key_watches_hear_of_their_key_until_they_are_forgotten)
{
    struct scene scene = {0};
    begin(&scene);
    struct key_diary one = {.watch = {.key = (char *)"d/a", .changed = on_key}};
    struct key_diary two = {.watch = {.key = (char *)"d/a", .changed = on_key}, .once = true};
    pl_informer_watch_key(scene.informer, &one.watch);
    pl_informer_watch_key(scene.informer, &two.watch);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("b", "2", "12", "")));
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "13", "")));
    CHECK_INT(one.changes, 2);
    CHECK_INT(two.changes, 1);
    pl_informer_unwatch_key(&one.watch);
    pl_informer_unwatch_key(&two.watch);
    finish(&scene);
}

TEST(who_comes_late_hears_first_of_what_is_there) /* rule 40 */
{
    struct scene scene = {0};
    begin(&scene);
    pl_backlog_unfollow(&scene.follower);
    event(&scene, BED_EVENT("DELETED", BED_MAP("b", "2", "11", "")));
    event(&scene, BED_EVENT("ADDED", BED_MAP("c", "3", "12", "")));
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("c", "3", "13", "")));
    pl_informer_follow(scene.informer, &scene.follower);
    check_events(&scene, "+a@5 +c@13");
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("c", "3", "14", "")));
    check_events(&scene, "~c@13>14");
    finish(&scene);
}

struct sync_diary {
    struct pl_sync_wait wait;
    int synced;
};

static void on_sync(struct pl_sync_wait *wait)
{
    PL_CONTAINER_OF(wait, struct sync_diary, wait)->synced++;
}

TEST(who_waits_for_the_first_sync_is_told_once_and_later)
{
    struct scene scene = {0};
    begin(&scene);
    struct sync_diary one = {.wait.synced = on_sync}, two = one;
    pl_informer_on_sync(scene.informer, &one.wait);
    pl_informer_on_sync(scene.informer, &two.wait);
    CHECK_INT(one.synced, 0);
    pl_informer_forget_sync(&two.wait);
    bed_run(&scene.bed);
    CHECK_INT(one.synced, 1);
    CHECK_INT(two.synced, 0);
    finish(&scene);
}

TEST_MAIN()
