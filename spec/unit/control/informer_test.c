#include "control/informer.h"

#include "base/alloc.h"
#include "bed.h"
#include "control/backlog.h"
#include "control/question.h"

/* An informer on ConfigMaps with a follower that writes events down: "+a@5 ~a@5>6 -a@6 !a@6"
 * (! is a missed deletion). */
struct scene {
    struct bed bed;
    struct pl_informer *informer;
    struct fake_request *watch;
    struct pl_follower follower;
    struct pl_buf log;
    struct pl_source_options options;
};

static void add_version(struct pl_buf *out, struct pl_doc *doc)
{
    struct pl_scratch scratch;
    pl_buf_add_slice(out, pl_meta_rv(pl_doc_root(doc), &scratch));
}

static void on_event(struct pl_follower *follower, const struct pl_event *event)
{
    struct scene *scene = PL_CONTAINER_OF(follower, struct scene, follower);
    struct pl_scratch scratch;
    pl_buf_add_f(&scene->log, "%s%c%.*s@", scene->log.len > 0 ? " " : "",
                 event->stale ? '!' : "+~-?"[event->type],
                 PL_FMT(pl_meta_name(pl_doc_root(event->object), &scratch)));
    if (event->old != NULL) {
        add_version(&scene->log, event->old);
        pl_buf_add_char(&scene->log, '>');
    }
    add_version(&scene->log, event->object);
}

static void begin_kind(struct scene *scene, char **host_namespaces, struct pl_kind kind)
{
    struct pl_source_options options = scene->options;
    *scene = (struct scene){.options = options};
    bed_init_with(&scene->bed, host_namespaces, false);
    scene->informer = pl_cluster_informer(scene->bed.cluster, &kind, &options);
    scene->follower.on_event = on_event;
    pl_informer_follow(scene->informer, &scene->follower);
}

static void begin_unsynced(struct scene *scene, char **host_namespaces)
{
    begin_kind(scene, host_namespaces, (struct pl_kind){"", "v1", "ConfigMap"});
}

static void check_events(struct scene *scene, const char *want)
{
    CHECK_SLICE(pl_buf_slice(&scene->log), want);
    pl_buf_clear(&scene->log);
}

static struct fake_request *list_and_watch(struct scene *scene, const char *path, const char *list)
{
    bed_reply(&scene->bed, bed_expect(&scene->bed, "GET", path), 200, list);
    char plain[128]; /* without the list's own query */
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(path, "?"), path);
    struct fake_request *watch = bed_expect(&scene->bed, "GET", plain);
    CHECK(strstr(watch->path, "watch=true") != NULL);
    fake_begin(watch, 200);
    bed_run(&scene->bed);
    return watch;
}

static void begin(struct scene *scene)
{
    begin_unsynced(scene, NULL);
    CHECK(!pl_informer_has_synced(scene->informer));
    scene->watch =
        list_and_watch(scene, "/api/v1/configmaps",
                       BED_MAPS("10", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", "")));
    CHECK(pl_informer_has_synced(scene->informer));
    check_events(scene, "+a@5 +b@6");
}

static void finish(struct scene *scene)
{
    pl_backlog_unfollow(&scene->follower);
    pl_informer_unref(scene->informer);
    bed_run(&scene->bed);
    pl_buf_deinit(&scene->log);
    bed_deinit(&scene->bed);
}

static void event(struct scene *scene, const char *text)
{
    bed_stream(&scene->bed, scene->watch, text);
}

static void write_through(struct scene *scene, const char *json, bool deleted)
{
    struct pl_doc *doc = bed_doc(json);
    pl_informer_write_through(scene->informer, doc, deleted);
    pl_doc_unref(doc);
}

static void check_stored(struct scene *scene, const char *key, const char *rv)
{
    struct pl_doc *doc = pl_store_get(pl_informer_store(scene->informer), pl_slice_z(key));
    struct pl_scratch scratch;
    CHECK_SLICE(doc != NULL ? pl_meta_rv(pl_doc_root(doc), &scratch) : pl_slice_z("absent"), rv);
    pl_doc_unref(doc);
}

/* The watch ends, expires, and a list follows. */
static void relist(struct scene *scene, const char *list)
{
    bed_pass(&scene->bed, 2 * PL_SECOND);
    fake_stream(scene->watch, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    while (bed_is_quiet(&scene->bed))
        bed_pass(&scene->bed, 100 * PL_MS);
    scene->watch = list_and_watch(scene, "/api/v1/configmaps", list);
}

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

TEST(an_object_that_is_another_one_since_is_first_gone_and_then_new) /* F4, 47 */
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

TEST(bookmarks_move_the_stores_version_and_are_no_objects) /* 24, F14 */
{
    struct scene scene = {0};
    begin(&scene);
    event(&scene, BED_BOOKMARK("ConfigMap", "44"));
    struct pl_buf rv = PL_BUF_INIT;
    pl_store_rv(pl_informer_store(scene.informer), &rv);
    CHECK_SLICE(pl_buf_slice(&rv), "44");
    pl_buf_deinit(&rv);
    check_events(&scene, "");
    finish(&scene);
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
        bed_pass(&scene.bed, 60 * PL_SECOND);
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

/* ---- read your writes ---- */

TEST(a_write_is_stored_at_once_and_older_news_of_it_is_ignored)
{
    struct scene scene = {0};
    begin(&scene);
    write_through(&scene, BED_MAP("a", "1", "12", ""), false);
    check_events(&scene, "~a@5>12");
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    check_events(&scene, "");
    check_stored(&scene, "d/a", "12");
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")));
    check_events(&scene, "");
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "13", "")));
    check_events(&scene, "~a@12>13");
    finish(&scene);
}

TEST(a_change_of_others_before_the_echo_is_neither_lost_nor_told_twice) /* F39 */
{
    struct scene scene = {0};
    begin(&scene);
    /* Ours is 12 and contains theirs, 11. */
    write_through(&scene, BED_MAP("a", "1", "12", ",\"data\":{\"x\":\"1\",\"y\":\"2\"}"), false);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", ",\"data\":{\"x\":\"1\"}")));
    event(&scene,
          BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", ",\"data\":{\"x\":\"1\",\"y\":\"2\"}")));
    check_events(&scene, "~a@5>12");
    /* Ours is 14, theirs came after it. */
    write_through(&scene, BED_MAP("a", "1", "14", ""), false);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "14", "")));
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "15", "")));
    check_events(&scene, "~a@12>14 ~a@14>15");
    finish(&scene);
}

TEST(an_answer_that_is_older_than_the_watch_changes_nothing)
{
    struct scene scene = {0};
    begin(&scene);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "13", "")));
    event(&scene, BED_EVENT("DELETED", BED_MAP("b", "2", "14", "")));
    event(&scene, BED_EVENT("ADDED", BED_MAP("b", "3", "15", "")));
    pl_buf_clear(&scene.log);
    write_through(&scene, BED_MAP("a", "1", "12", ""), false);
    write_through(&scene, BED_MAP("b", "2", "12", ""), false);
    write_through(&scene, BED_MAP("b", "2", "6", ""), true); /* the end of the former b */
    check_events(&scene, "");
    check_stored(&scene, "d/a", "13");
    check_stored(&scene, "d/b", "15");
    finish(&scene);
}

TEST(an_answer_after_the_end_of_its_object_does_not_bring_it_back)
{
    struct scene scene = {0};
    begin(&scene);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "12", "")));
    check_events(&scene, "~a@5>11 -a@12");
    write_through(&scene, BED_MAP("a", "1", "11", ""), false);
    check_events(&scene, "");
    check_stored(&scene, "d/a", "absent");
    finish(&scene);
}

TEST(an_earlier_answer_after_our_own_delete_does_not_bring_the_object_back)
{
    struct scene scene = {0};
    begin(&scene);
    write_through(&scene, BED_MAP("a", "1", "5", ""), true);
    write_through(&scene, BED_MAP("a", "1", "12", ""), false); /* of a patch before it */
    check_events(&scene, "-a@5");
    check_stored(&scene, "d/a", "absent");
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")));
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "13", "")));
    check_events(&scene, "");
    finish(&scene);
}

TEST(an_end_that_the_watch_has_told_of_is_not_asked_about)
{
    struct scene scene = {0};
    begin(&scene);
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "12", "")));
    write_through(&scene, BED_MAP("a", "1", "5", ""), true);
    check_events(&scene, "-a@12");
    bed_pass(&scene.bed, 30 * PL_SECOND);
    CHECK(bed_is_quiet(&scene.bed));
    finish(&scene);
}

TEST(what_was_created_survives_a_list_that_is_older)
{
    struct scene scene = {0};
    begin(&scene);
    write_through(&scene, BED_MAP("n", "7", "22", ""), false);
    write_through(&scene, BED_MAP("a", "1", "23", ""), false);
    write_through(&scene, BED_MAP("b", "2", "6", ""), true);
    check_events(&scene, "+n@22 ~a@5>23 -b@6");
    relist(&scene, BED_MAPS("20", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", "")));
    check_events(&scene, "");
    check_stored(&scene, "d/n", "22");
    check_stored(&scene, "d/a", "23");
    check_stored(&scene, "d/b", "absent");
    /* A list that is newer decides. */
    relist(&scene, BED_MAPS("30", BED_MAP("a", "1", "23", "")));
    check_events(&scene, "!n@22");
    finish(&scene);
}

TEST(a_write_before_the_first_list_is_part_of_it)
{
    struct scene scene = {0};
    begin_unsynced(&scene, NULL);
    write_through(&scene, BED_MAP("n", "7", "22", ""), false);
    CHECK(!pl_informer_has_synced(scene.informer));
    check_events(&scene, "");
    bed_run(&scene.bed);
    scene.watch =
        list_and_watch(&scene, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    check_events(&scene, "+a@5 +n@22");
    event(&scene, BED_EVENT("ADDED", BED_MAP("n", "7", "22", "")));
    check_events(&scene, "");
    finish(&scene);
}

TEST(deleted_and_created_anew_under_the_same_name)
{
    struct scene scene = {0};
    begin(&scene);
    write_through(&scene, BED_MAP("a", "1", "5", ""), true);
    write_through(&scene, BED_MAP("a", "9", "13", ""), false);
    check_events(&scene, "-a@5 +a@13");
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "12", "")));
    event(&scene, BED_EVENT("ADDED", BED_MAP("a", "9", "13", "")));
    check_events(&scene, "");
    check_stored(&scene, "d/a", "13");
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "9", "14", "")));
    check_events(&scene, "-a@14");
    finish(&scene);
}

TEST(what_the_watch_does_not_confirm_is_asked_and_the_answer_wins) /* F27, F50 */
{
    static const struct {
        int status;
        const char *body, *events, *rv;
    } cases[] = {
        {200, BED_MAP("a", "1", "8", ""), "~a@12>8", "8"},
        {200, BED_MAP("a", "1", "12", ""), "", "12"},
        {404, BED_STATUS(404, "NotFound"), "!a@12", "absent"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct scene scene = {0};
        begin(&scene);
        write_through(&scene, BED_MAP("a", "1", "12", ""), false);
        pl_buf_clear(&scene.log);
        bed_pass(&scene.bed, 9 * PL_SECOND);
        CHECK(bed_is_quiet(&scene.bed));
        bed_pass(&scene.bed, PL_SECOND);
        const char *path = "/api/v1/namespaces/d/configmaps/a";
        bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", path), 500,
                  BED_STATUS(500, "InternalError"));
        bed_pass(&scene.bed, 10 * PL_SECOND);
        bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", path), cases[i].status, cases[i].body);
        check_events(&scene, cases[i].events);
        check_stored(&scene, "d/a", cases[i].rv);
        bed_pass(&scene.bed, 30 * PL_SECOND);
        CHECK(bed_is_quiet(&scene.bed));
        finish(&scene);
    }
}

TEST(a_bookmark_confirms_everything_before_it)
{
    struct scene scene = {0};
    begin(&scene);
    write_through(&scene, BED_MAP("a", "1", "12", ""), false);
    event(&scene, BED_BOOKMARK("ConfigMap", "13"));
    bed_pass(&scene.bed, 60 * PL_SECOND);
    CHECK(bed_is_quiet(&scene.bed));
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
    struct pl_informer *shared = pl_cluster_informer(scene.bed.cluster, &kind, &same);
    CHECK(shared == scene.informer);
    struct pl_informer *apart = pl_cluster_informer(scene.bed.cluster, &kind, &other);
    CHECK(apart != scene.informer);
    pl_informer_unref(shared);
    pl_informer_unref(apart);
    bed_run(&scene.bed);
    CHECK_INT(pl_cluster_informer_count(scene.bed.cluster), 1);
    finish(&scene);
}

/* ---- indexes, keys, late comers ---- */

struct answers {
    struct pl_list questions;
    int asked;
};

static void on_ask(void *self, struct pl_question *question)
{
    struct answers *answers = self;
    answers->asked++;
    pl_list_push(&answers->questions, &question->link);
}

static void answer(struct answers *answers, const char *value)
{
    struct pl_link *link = pl_list_pop(&answers->questions);
    REQUIRE(link != NULL);
    struct pl_question *question = PL_CONTAINER_OF(link, struct pl_question, link);
    CHECK(question->ask_indexes);
    pl_question_value(question, "color", pl_slice_z(value));
    pl_question_done(question);
}

static size_t count_of(struct scene *scene, const char *index, const char *value)
{
    struct pl_docs docs = {0};
    CHECK_INT(
        pl_store_by_index(pl_informer_store(scene->informer), index, pl_slice_z(value), &docs), 0);
    size_t count = docs.count;
    pl_docs_deinit(&docs);
    return count;
}

TEST(the_values_of_a_scripts_index_are_stored_before_anybody_hears_of_the_object)
{
    struct scene scene = {0};
    struct answers answers = {0};
    pl_list_init(&answers.questions);
    begin_unsynced(&scene, NULL);
    struct pl_err err;
    CHECK_INT(pl_informer_add_index(scene.informer, "color", NULL, on_ask, &answers, &err), 0);
    scene.watch =
        list_and_watch(&scene, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    check_stored(&scene, "d/a", "5"); /* the store does not wait */
    check_events(&scene, "");
    CHECK(!pl_informer_has_synced(scene.informer));
    answer(&answers, "red");
    bed_run(&scene.bed);
    CHECK(pl_informer_has_synced(scene.informer));
    check_events(&scene, "+a@5");
    CHECK_INT(count_of(&scene, "color", "red"), 1);
    /* Two changes while the answer to the first is outstanding. */
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")));
    answer(&answers, "old");
    answer(&answers, "blue");
    check_events(&scene, "~a@5>12");
    CHECK_INT(count_of(&scene, "color", "red"), 0);
    CHECK_INT(count_of(&scene, "color", "old"), 0);
    CHECK_INT(count_of(&scene, "color", "blue"), 1);
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "13", "")));
    check_events(&scene, "-a@13");
    CHECK_INT(count_of(&scene, "color", "blue"), 0);
    finish(&scene);
}

TEST(an_index_that_comes_late_covers_what_is_there)
{
    struct scene scene = {0};
    struct answers answers = {0};
    pl_list_init(&answers.questions);
    begin(&scene);
    struct pl_err err;
    CHECK_INT(pl_informer_add_index(scene.informer, "color", NULL, on_ask, &answers, &err), 0);
    CHECK_INT(pl_informer_add_index(scene.informer, "name", "metadata.name", NULL, NULL, &err), 0);
    CHECK_INT(pl_informer_add_index(scene.informer, "odd", "metadata[", NULL, NULL, &err),
              PL_EINVAL);
    answer(&answers, "red");
    answer(&answers, "red");
    check_events(&scene, "");
    CHECK_INT(count_of(&scene, "color", "red"), 2);
    CHECK_INT(count_of(&scene, "name", "b"), 1);
    finish(&scene);
}

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

TEST(who_comes_late_hears_first_of_what_is_there) /* 40 */
{
    struct scene scene = {0};
    begin(&scene);
    pl_backlog_unfollow(&scene.follower);
    event(&scene, BED_EVENT("DELETED", BED_MAP("b", "2", "11", "")));
    pl_informer_follow(scene.informer, &scene.follower);
    check_events(&scene, "+a@5");
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
