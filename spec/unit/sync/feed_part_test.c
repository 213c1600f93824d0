#include "sync/feed_part.h"

#include "scene.h"

/* Of 4 shards. Namespaces: e is in 0, b in 1, a in 2, f in 3. Uids: ba. is in 0, ja. in 1, 8a. in
 * 2, aa. in 3. */
#define IN(ns, name, uid, rv)                                                                      \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name                 \
    "\",\"namespace\":\"" ns "\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv "\"}}"
#define OWNED(name, uid, rv, owner)                                                                \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name                 \
    "\",\"namespace\":\"d\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv                         \
    "\",\"ownerReferences\":[{\"apiVersion\":\"example.com/v1\",\"kind\":\"Website\","             \
    "\"name\":\"w\",\"uid\":\"" owner "\",\"controller\":true}]}}"
#define MAPS "/api/v1/configmaps"

static void set(struct scene *scene, unsigned shard, enum pl_shard_state state)
{
    struct pl_shard_set which = {{0}};
    pl_shard_set_add(&which, shard);
    pl_shards_set(scene->shards, &which, state);
    bed_run(&scene->bed);
}

static void open_scene(struct scene *scene, enum pl_shard_by by, enum pl_source_part part)
{
    *scene = (struct scene){.shards = pl_shards_create(4, by), .options = {.part = part}};
    begin_unsynced(scene, NULL);
    bed_run(&scene->bed);
}

static void close_scene(struct scene *scene)
{
    struct pl_shards *shards = scene->shards;
    finish(scene);
    pl_shards_destroy(shards);
}

static void check_keys(struct scene *scene, const char *want)
{
    char **keys = pl_store_keys(pl_informer_store(scene->informer));
    struct pl_buf text = PL_BUF_INIT;
    for (char **key = keys; *key != NULL; key++)
        pl_buf_add_f(&text, "%s%s", text.len > 0 ? " " : "", *key);
    CHECK_SLICE(pl_buf_slice(&text), want);
    pl_store_free_names(keys);
    pl_buf_deinit(&text);
}

static void check_query(const struct fake_request *request, const char *name, const char *want)
{
    struct pl_buf value = PL_BUF_INIT;
    bool there = fake_query(request, name, &value);
    CHECK(there == (want != NULL));
    if (there && want != NULL)
        CHECK_SLICE(pl_buf_slice(&value), want);
    pl_buf_deinit(&value);
}

#define ALL_OF_NS                                                                                  \
    IN("e", "x", "1", "5")                                                                         \
    "," IN("b", "x", "2", "6") "," IN("a", "x", "3", "7") "," IN("f", "x", "4", "8")

TEST(without_shards_nothing_is_listed_and_the_source_has_synced)
{
    struct scene scene;
    open_scene(&scene, PL_SHARD_BY_NAMESPACE, PL_PART_NAMESPACE);
    CHECK(bed_is_quiet(&scene.bed));
    CHECK(pl_informer_has_synced(scene.informer));
    set(&scene, 1, PL_SHARD_COMING);
    CHECK(!pl_shards_is_settled(scene.shards, 1));
    scene.watch = list_and_watch(&scene, MAPS, BED_MAPS("10", ALL_OF_NS));
    check_keys(&scene, "b/x");
    CHECK(pl_shards_is_settled(scene.shards, 1));
    close_scene(&scene);
}

/* Held from the start: the first list is filtered as it comes. */
static void begin_with(struct scene *scene, enum pl_shard_by by, enum pl_source_part part,
                       unsigned shard, const char *list)
{
    *scene = (struct scene){.shards = pl_shards_create(4, by), .options = {.part = part}};
    struct pl_shard_set which = {{0}};
    pl_shard_set_add(&which, shard);
    pl_shards_set(scene->shards, &which, PL_SHARD_COMING);
    begin_unsynced(scene, NULL);
    scene->watch = list_and_watch(scene, MAPS, list);
    pl_shards_set(scene->shards, &which, PL_SHARD_OURS);
}

TEST(what_lies_elsewhere_is_dropped_whatever_the_server_sends)
{
    struct scene scene;
    begin_with(&scene, PL_SHARD_BY_NAMESPACE, PL_PART_NAMESPACE, 0, BED_MAPS("10", ALL_OF_NS));
    check_query(scene.watch, "shardSelector", NULL); /* no list: shards divide namespaces */
    check_keys(&scene, "e/x");
    event(&scene, BED_EVENT("ADDED", IN("b", "y", "9", "11")));
    event(&scene, BED_EVENT("MODIFIED", IN("e", "x", "1", "12")));
    event(&scene, BED_EVENT("DELETED", IN("a", "x", "3", "13")));
    check_keys(&scene, "e/x");
    check_events(&scene, "+x@5 ~x@5>12");
    /* Its version counts: the next watch continues from it. */
    fake_end(scene.watch);
    bed_pass(&scene.bed, 2 * PL_SECOND);
    check_query(bed_expect(&scene.bed, "GET", MAPS), "resourceVersion", "13");
    close_scene(&scene);
}

TEST(a_shard_that_comes_is_listed_beside_the_watch)
{
    struct scene scene;
    begin_with(&scene, PL_SHARD_BY_NAMESPACE, PL_PART_NAMESPACE, 0, BED_MAPS("10", ALL_OF_NS));
    check_events(&scene, "+x@5");
    set(&scene, 3, PL_SHARD_COMING);
    struct fake_request *list = bed_expect(&scene.bed, "GET", MAPS);
    check_query(list, "watch", NULL);
    check_query(list, "resourceVersion", "10");
    check_query(list, "resourceVersionMatch", "NotOlderThan");
    /* The watch is faster than the list. */
    event(&scene, BED_EVENT("ADDED", IN("f", "new", "7", "11")));
    event(&scene, BED_EVENT("DELETED", IN("f", "gone", "8", "12")));
    CHECK(!pl_shards_is_settled(scene.shards, 3));
    bed_reply(
        &scene.bed, list, 200,
        BED_MAPS("11", ALL_OF_NS "," IN("f", "gone", "8", "9") "," IN("f", "new", "7", "11")));
    CHECK(pl_shards_is_settled(scene.shards, 3));
    check_keys(&scene, "e/x f/new f/x");
    check_events(&scene, "+new@11 +x@8"); /* the kept one notices nothing */
    CHECK(bed_is_quiet(&scene.bed));      /* nor does the watch */
    close_scene(&scene);
}

TEST(a_shard_that_goes_takes_its_objects_along_in_silence)
{
    struct scene scene;
    begin_with(&scene, PL_SHARD_BY_NAMESPACE, PL_PART_NAMESPACE, 0, BED_MAPS("10", ALL_OF_NS));
    set(&scene, 3, PL_SHARD_COMING);
    bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", MAPS), 200, BED_MAPS("10", ALL_OF_NS));
    check_events(&scene, "+x@5 +x@8");
    set(&scene, 3, PL_SHARD_OURS);
    set(&scene, 3, PL_SHARD_GOING);
    check_keys(&scene, "e/x f/x"); /* held until it has drained */
    set(&scene, 3, PL_SHARD_ELSEWHERE);
    check_keys(&scene, "e/x");
    event(&scene, BED_EVENT("MODIFIED", IN("f", "x", "4", "14")));
    check_events(&scene, "");
    set(&scene, 3, PL_SHARD_COMING); /* the changes meanwhile are unknown */
    bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", MAPS), 200,
              BED_MAPS("14", IN("f", "x", "4", "14")));
    check_keys(&scene, "e/x f/x");
    close_scene(&scene);
}

#define RANGE(from, to) "shardRange(object.metadata.uid, '0x" from "', '0x" to "')"
#define Q0              "0000000000000000"
#define Q1              "4000000000000000"
#define Q2              "8000000000000000"
#define Q3              "c000000000000000"
#define Q4              "10000000000000000"

#define ALL_OF_UIDS                                                                                \
    IN("d", "v", "baa", "5")                                                                       \
    "," IN("d", "w", "jaa", "6") "," IN("d", "x", "8aa", "7") "," IN("d", "y", "aaa", "8")

TEST(a_server_that_filters_is_asked_for_the_new_ranges_alone)
{
    struct scene scene;
    open_scene(&scene, PL_SHARD_BY_UID, PL_PART_FOR);
    pl_site_set_filters_uids(pl_cluster_site(scene.bed.cluster), true);
    set(&scene, 1, PL_SHARD_COMING);
    struct fake_request *list = bed_expect(&scene.bed, "GET", MAPS);
    check_query(list, "shardSelector", RANGE(Q1, Q2));
    bed_reply(&scene.bed, list, 200, BED_MAPS("10", IN("d", "w", "jaa", "6")));
    struct fake_request *watch = bed_expect(&scene.bed, "GET", MAPS);
    check_query(watch, "shardSelector", RANGE(Q1, Q2));
    fake_begin(watch, 200);
    bed_stream(&scene.bed, watch, BED_EVENT("MODIFIED", IN("d", "w", "jaa", "11")));
    set(&scene, 1, PL_SHARD_OURS);
    check_events(&scene, "+w@6 ~w@6>11");

    set(&scene, 3, PL_SHARD_COMING);
    set(&scene, 2, PL_SHARD_COMING); /* while the list of the other is under way */
    struct fake_request *first = bed_expect(&scene.bed, "GET", MAPS);
    check_query(first, "watch", NULL);
    check_query(first, "shardSelector", RANGE(Q3, Q4));
    struct fake_request *again = bed_expect(&scene.bed, "GET", MAPS);
    check_query(again, "watch", "true");
    check_query(again, "resourceVersion", "11");
    check_query(again, "shardSelector", RANGE(Q1, Q4));
    fake_begin(again, 200);
    bed_reply(&scene.bed, first, 200, BED_MAPS("12", IN("d", "y", "aaa", "8")));
    struct fake_request *second = bed_expect(&scene.bed, "GET", MAPS);
    check_query(second, "shardSelector", RANGE(Q2, Q3));
    bed_reply(&scene.bed, second, 200, BED_MAPS("12", IN("d", "x", "8aa", "7")));
    check_events(&scene, "+y@8 +x@7");
    CHECK(bed_is_quiet(&scene.bed));
    close_scene(&scene);
}

static struct fake_request *page_of(struct scene *scene, const char *token, const char *ranges)
{
    struct fake_request *list = bed_expect(&scene->bed, "GET", MAPS);
    check_query(list, "continue", token);
    check_query(list, "watch", NULL);
    check_query(list, "shardSelector", ranges);
    return list;
}

TEST(each_page_of_a_list_is_asked_for_with_the_ranges)
{
    struct scene scene;
    open_scene(&scene, PL_SHARD_BY_UID, PL_PART_FOR);
    pl_site_set_filters_uids(pl_cluster_site(scene.bed.cluster), true);
    set(&scene, 1, PL_SHARD_COMING);
    bed_reply(&scene.bed, page_of(&scene, NULL, RANGE(Q1, Q2)), 200,
              BED_LIST("ConfigMap", "10", ",\"continue\":\"t\"", IN("d", "w", "jaa", "6")));
    bed_reply(&scene.bed, page_of(&scene, "t", RANGE(Q1, Q2)), 200, BED_MAPS("10", ));
    scene.watch = bed_expect(&scene.bed, "GET", MAPS);
    fake_begin(scene.watch, 200);
    set(&scene, 1, PL_SHARD_OURS);
    set(&scene, 3, PL_SHARD_COMING); /* beside the watch */
    bed_reply(&scene.bed, page_of(&scene, NULL, RANGE(Q3, Q4)), 200,
              BED_LIST("ConfigMap", "11", ",\"continue\":\"u\"", IN("d", "y", "aaa", "8")));
    struct fake_request *watch = bed_expect(&scene.bed, "GET", MAPS);
    check_query(watch, "watch", "true");
    fake_begin(watch, 200);
    bed_reply(&scene.bed, page_of(&scene, "u", RANGE(Q3, Q4)), 200, BED_MAPS("11", ));
    check_keys(&scene, "d/w d/y");
    CHECK(pl_shards_is_settled(scene.shards, 3));
    CHECK(bed_is_quiet(&scene.bed));
    close_scene(&scene);
}

TEST(where_all_shards_have_gone_no_more_is_asked_for)
{
    struct scene scene;
    open_scene(&scene, PL_SHARD_BY_UID, PL_PART_FOR);
    pl_site_set_filters_uids(pl_cluster_site(scene.bed.cluster), true);
    set(&scene, 1, PL_SHARD_COMING);
    scene.watch = list_and_watch(&scene, MAPS, BED_MAPS("10", IN("d", "w", "jaa", "6")));
    set(&scene, 1, PL_SHARD_ELSEWHERE);
    check_keys(&scene, "");
    CHECK(bed_is_quiet(&scene.bed));
    bed_pass(&scene.bed, 2 * PL_SECOND);
    fake_end(scene.watch);
    struct fake_request *watch = bed_expect(&scene.bed, "GET", MAPS);
    check_query(watch, "watch", "true");
    check_query(watch, "shardSelector", RANGE(Q1, Q2));
    close_scene(&scene);
}

TEST(a_server_that_takes_the_selector_and_ignores_it_is_filtered_here)
{
    struct scene scene;
    open_scene(&scene, PL_SHARD_BY_UID, PL_PART_FOR);
    pl_site_set_filters_uids(pl_cluster_site(scene.bed.cluster), true);
    set(&scene, 1, PL_SHARD_COMING);
    scene.watch = list_and_watch(&scene, MAPS, BED_MAPS("10", ALL_OF_UIDS));
    check_keys(&scene, "d/w");
    event(&scene, BED_EVENT("ADDED", IN("d", "z", "aab", "11")));
    check_keys(&scene, "d/w");
    close_scene(&scene);
}

#define REFUSAL(code)                                                                              \
    ((code) == 500 ? "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","          \
                     "\"code\":500,\"message\":\"invalid shard selector: unexpected kind 3\"}"     \
                   : "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","          \
                     "\"code\":400,\"message\":\"unknown parameter\"}")

TEST(a_server_that_refuses_the_selector_is_asked_without_it)
{
    static const int codes[] = {500, 400};
    for (size_t i = 0; i < PL_ARRAY_LEN(codes); i++) {
        struct scene scene;
        open_scene(&scene, PL_SHARD_BY_UID, PL_PART_FOR);
        pl_site_set_filters_uids(pl_cluster_site(scene.bed.cluster), true);
        set(&scene, 1, PL_SHARD_COMING);
        bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", MAPS), codes[i], REFUSAL(codes[i]));
        bed_pass(&scene.bed, 2 * PL_SECOND);
        struct fake_request *list = bed_expect(&scene.bed, "GET", MAPS);
        check_query(list, "shardSelector", NULL);
        bed_reply(&scene.bed, list, 200, BED_MAPS("10", ALL_OF_UIDS));
        check_keys(&scene, "d/w");
        check_events(&scene, "+w@6");
        CHECK(!pl_site_filters_uids(pl_cluster_site(scene.bed.cluster)));
        close_scene(&scene);
    }
}

/* The list beside the watch notices it first. */
TEST(a_new_shard_is_listed_without_the_selector_that_is_refused)
{
    static const int codes[] = {400, 500};
    for (size_t i = 0; i < PL_ARRAY_LEN(codes); i++) {
        struct scene scene;
        open_scene(&scene, PL_SHARD_BY_UID, PL_PART_FOR);
        pl_site_set_filters_uids(pl_cluster_site(scene.bed.cluster), true);
        set(&scene, 1, PL_SHARD_COMING);
        scene.watch = list_and_watch(&scene, MAPS, BED_MAPS("10", IN("d", "w", "jaa", "6")));
        check_events(&scene, "+w@6");
        set(&scene, 3, PL_SHARD_COMING);
        struct fake_request *list = bed_expect(&scene.bed, "GET", MAPS);
        check_query(list, "shardSelector", RANGE(Q3, Q4));
        struct fake_request *watch = bed_expect(&scene.bed, "GET", MAPS);
        check_query(watch, "watch", "true");
        fake_begin(watch, 200);
        bed_reply(&scene.bed, list, codes[i], REFUSAL(codes[i]));
        bed_pass(&scene.bed, 2 * PL_SECOND);
        list = bed_expect(&scene.bed, "GET", MAPS);
        check_query(list, "watch", NULL);
        check_query(list, "shardSelector", NULL);
        bed_reply(&scene.bed, list, 200, BED_MAPS("11", ALL_OF_UIDS));
        CHECK(pl_shards_is_settled(scene.shards, 3));
        CHECK(!pl_site_filters_uids(pl_cluster_site(scene.bed.cluster)));
        check_keys(&scene, "d/w d/y");
        check_events(&scene, "+y@8"); /* the kept one notices nothing */
        CHECK(bed_is_quiet(&scene.bed));
        close_scene(&scene);
    }
}

TEST(a_streamed_list_is_asked_for_without_the_selector_that_is_refused)
{
    struct scene scene = {.streams = true,
                          .shards = pl_shards_create(4, PL_SHARD_BY_UID),
                          .options = {.part = PL_PART_FOR}};
    struct pl_shard_set which = {{1}};
    pl_shards_set(scene.shards, &which, PL_SHARD_COMING);
    begin_unsynced(&scene, NULL);
    pl_site_set_filters_uids(pl_cluster_site(scene.bed.cluster), true);
    bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", MAPS), 400, REFUSAL(400));
    bed_pass(&scene.bed, 2 * PL_SECOND);
    scene.watch = bed_expect(&scene.bed, "GET", MAPS);
    check_query(scene.watch, "sendInitialEvents", "true"); /* it streams lists nevertheless */
    check_query(scene.watch, "shardSelector", NULL);
    event(&scene, BED_EVENT("ADDED", IN("d", "v", "baa", "5")));
    event(&scene, BED_EVENT("ADDED", IN("d", "w", "jaa", "6")));
    event(&scene, BED_INITIAL_END("10"));
    check_keys(&scene, "d/v");
    check_events(&scene, "+v@5");
    close_scene(&scene);
}

/* The objects that are ours stay correct: the watch continues from its version. */
TEST(a_server_that_stops_to_filter_in_the_middle_is_not_listed_again)
{
    struct scene scene;
    open_scene(&scene, PL_SHARD_BY_UID, PL_PART_FOR);
    pl_site_set_filters_uids(pl_cluster_site(scene.bed.cluster), true);
    set(&scene, 1, PL_SHARD_COMING);
    scene.watch = list_and_watch(&scene, MAPS, BED_MAPS("10", IN("d", "w", "jaa", "6")));
    event(&scene, BED_EVENT("MODIFIED", IN("d", "w", "jaa", "11")));
    event(&scene, BED_EVENT("ADDED", IN("d", "z", "aab", "12"))); /* without a word */
    check_keys(&scene, "d/w");
    bed_pass(&scene.bed, 2 * PL_SECOND);
    fake_end(scene.watch);
    struct fake_request *watch = bed_expect(&scene.bed, "GET", MAPS);
    check_query(watch, "shardSelector", RANGE(Q1, Q2));
    bed_reply(&scene.bed, watch, 400,
              "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":400,"
              "\"message\":\"unknown parameter\"}");
    bed_pass(&scene.bed, 2 * PL_SECOND);
    watch = bed_expect(&scene.bed, "GET", MAPS);
    check_query(watch, "watch", "true");
    check_query(watch, "resourceVersion", "12");
    check_query(watch, "shardSelector", NULL);
    fake_begin(watch, 200);
    bed_stream(&scene.bed, watch, BED_EVENT("ADDED", IN("d", "y", "aaa", "13")));
    bed_stream(&scene.bed, watch, BED_EVENT("MODIFIED", IN("d", "w", "jaa", "14")));
    check_keys(&scene, "d/w");
    check_events(&scene, "+w@6 ~w@6>11 ~w@11>14");
    CHECK(bed_is_quiet(&scene.bed));
    close_scene(&scene);
}

TEST(children_lie_where_their_controller_does_and_move_with_it)
{
    struct scene scene;
    begin_with(&scene, PL_SHARD_BY_UID, PL_PART_CONTROLLER, 0,
               BED_MAPS("10", OWNED("m", "1", "5", "baa") "," OWNED("n", "2", "6", "aaa") "," IN(
                                  "d", "o", "3", "7")));
    check_query(scene.watch, "shardSelector", NULL); /* their own uids do not matter */
    check_keys(&scene, "d/m");
    event(&scene, BED_EVENT("MODIFIED", OWNED("n", "2", "11", "bab")));
    event(&scene, BED_EVENT("MODIFIED", OWNED("m", "1", "12", "aab")));
    check_keys(&scene, "d/n");
    check_events(&scene, "+m@5 +n@11 -m@12");
    close_scene(&scene);
}

TEST(by_uid_other_kinds_are_whole_and_cluster_scoped_ones_too)
{
    struct pl_shards *by_uid = pl_shards_create(4, PL_SHARD_BY_UID);
    struct pl_shards *by_ns = pl_shards_create(4, PL_SHARD_BY_NAMESPACE);
    struct pl_resource maps = {.namespaced = true}, nodes = {.namespaced = false};
    static const struct {
        enum pl_source_part part;
        enum pl_share_by uid, uid_cluster, ns, ns_cluster;
    } cases[] = {
        {PL_PART_WHOLE, PL_SHARE_WHOLE, PL_SHARE_WHOLE, PL_SHARE_WHOLE, PL_SHARE_WHOLE},
        {PL_PART_FOR, PL_SHARE_BY_UID, PL_SHARE_BY_UID, PL_SHARE_BY_NAMESPACE, PL_SHARE_BY_UID},
        {PL_PART_NAMESPACE, PL_SHARE_BY_NAMESPACE, PL_SHARE_WHOLE, PL_SHARE_BY_NAMESPACE,
         PL_SHARE_WHOLE},
        {PL_PART_CONTROLLER, PL_SHARE_BY_CONTROLLER, PL_SHARE_WHOLE, PL_SHARE_BY_CONTROLLER,
         PL_SHARE_WHOLE},
        {PL_PART_OWNERS, PL_SHARE_BY_OWNERS, PL_SHARE_WHOLE, PL_SHARE_BY_OWNERS, PL_SHARE_WHOLE},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        CHECK_INT(pl_share_by(by_uid, cases[i].part, &maps), cases[i].uid);
        CHECK_INT(pl_share_by(by_uid, cases[i].part, &nodes), cases[i].uid_cluster);
        CHECK_INT(pl_share_by(by_ns, cases[i].part, &maps), cases[i].ns);
        CHECK_INT(pl_share_by(by_ns, cases[i].part, &nodes), cases[i].ns_cluster);
        CHECK_INT(pl_share_by(NULL, cases[i].part, &maps), PL_SHARE_WHOLE);
    }
    pl_shards_destroy(by_uid);
    pl_shards_destroy(by_ns);
}

TEST(a_streamed_list_is_filtered_too)
{
    struct scene scene = {.streams = true,
                          .shards = pl_shards_create(4, PL_SHARD_BY_UID),
                          .options = {.part = PL_PART_FOR}};
    struct pl_shard_set which = {{1}};
    pl_shards_set(scene.shards, &which, PL_SHARD_COMING);
    begin_unsynced(&scene, NULL);
    pl_site_set_filters_uids(pl_cluster_site(scene.bed.cluster), true);
    scene.watch = bed_expect(&scene.bed, "GET", MAPS);
    check_query(scene.watch, "sendInitialEvents", "true");
    check_query(scene.watch, "shardSelector", RANGE(Q0, Q1));
    event(&scene, BED_EVENT("ADDED", IN("d", "v", "baa", "5")));
    event(&scene, BED_EVENT("ADDED", IN("d", "w", "jaa", "6")));
    event(&scene, BED_INITIAL_END("10"));
    event(&scene, BED_EVENT("ADDED", IN("d", "z", "aaa", "11")));
    event(&scene, BED_EVENT("MODIFIED", IN("d", "w", "jaa", "12")));
    check_keys(&scene, "d/v");
    check_events(&scene, "+v@5"); /* objects of others were never stored */
    CHECK(pl_shards_is_settled(scene.shards, 0));
    close_scene(&scene);
}

TEST(a_relist_brings_what_came_and_the_list_beside_it_is_not_needed)
{
    struct scene scene;
    begin_with(&scene, PL_SHARD_BY_NAMESPACE, PL_PART_NAMESPACE, 0, BED_MAPS("10", ALL_OF_NS));
    set(&scene, 3, PL_SHARD_COMING);
    bed_expect(&scene.bed, "GET", MAPS); /* is never answered */
    bed_pass(&scene.bed, 2 * PL_SECOND);
    fake_stream(scene.watch, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    while (bed_is_quiet(&scene.bed))
        bed_pass(&scene.bed, 100 * PL_MS);
    scene.watch = list_and_watch(&scene, MAPS, BED_MAPS("20", ALL_OF_NS));
    check_keys(&scene, "e/x f/x");
    CHECK(pl_shards_is_settled(scene.shards, 3));
    CHECK(bed_is_quiet(&scene.bed));
    close_scene(&scene);
}

TEST(a_list_beside_the_watch_that_fails_is_tried_again)
{
    struct scene scene;
    begin_with(&scene, PL_SHARD_BY_NAMESPACE, PL_PART_NAMESPACE, 0, BED_MAPS("10", ALL_OF_NS));
    set(&scene, 3, PL_SHARD_COMING);
    bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", MAPS), 500, BED_STATUS(500, "Broken"));
    CHECK(!pl_shards_is_settled(scene.shards, 3));
    while (bed_is_quiet(&scene.bed))
        bed_pass(&scene.bed, 100 * PL_MS);
    bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", MAPS), 200,
              BED_LIST("ConfigMap", "10", ",\"continue\":\"t\"", IN("f", "x", "4", "8")));
    struct fake_request *next = bed_expect(&scene.bed, "GET", MAPS);
    check_query(next, "continue", "t");
    bed_reply(&scene.bed, next, 410, BED_STATUS(410, "Expired"));
    while (bed_is_quiet(&scene.bed))
        bed_pass(&scene.bed, 100 * PL_MS);
    struct fake_request *anew = bed_expect(&scene.bed, "GET", MAPS);
    check_query(anew, "limit", NULL);
    bed_reply(&scene.bed, anew, 200, BED_MAPS("12", IN("f", "x", "4", "8")));
    check_keys(&scene, "e/x f/x");
    CHECK(pl_shards_is_settled(scene.shards, 3));
    close_scene(&scene);
}

TEST(what_we_write_elsewhere_is_not_stored)
{
    struct scene scene;
    begin_with(&scene, PL_SHARD_BY_NAMESPACE, PL_PART_NAMESPACE, 0, BED_MAPS("10", ALL_OF_NS));
    write_through(&scene, IN("f", "x", "4", "15"), false);
    check_keys(&scene, "e/x");
    close_scene(&scene);
}

TEST_MAIN()
