#include "diary.h"

#include "base/alloc.h"

TEST(lists_from_zero_by_pages_then_watches_from_the_lists_version)
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    bed_stream(&diary.bed, watch, BED_EVENT("ADDED", BED_MAP("b", "2", "11", "")));
    bed_stream(&diary.bed, watch, BED_EVENT("MODIFIED", BED_MAP("b", "2", "12", "")));
    bed_stream(&diary.bed, watch, BED_EVENT("DELETED", BED_MAP("b", "2", "13", "")));
    bed_stream(&diary.bed, watch, BED_BOOKMARK("ConfigMap", "14"));
    check_diary(&diary, "add b@11;update b@12;remove b@13;bookmark 14;");
    CHECK_SLICE(pl_reflector_rv(diary.reflector), "14");
    CHECK(pl_reflector_trouble(diary.reflector) == NULL);
    finish(&diary);
}

TEST(a_watch_asks_for_five_to_ten_minutes) /* rule 61 */
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    struct pl_buf value = PL_BUF_INIT;
    REQUIRE(fake_query(watch, "timeoutSeconds", &value));
    long seconds = strtol(pl_buf_z(&value), NULL, 10);
    CHECK(seconds >= 300 && seconds <= 600);
    pl_buf_deinit(&value);
    finish(&diary);
}

TEST(pages_are_followed_without_a_version_and_stored_as_one) /* rules 55, 60 */
{
    struct diary diary;
    begin(&diary);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200,
              BED_LIST("ConfigMap", "10", ",\"continue\":\"t1\"", BED_MAP("a", "1", "5", "")));
    check_diary(&diary, "");
    bed_reply(&diary.bed, take_list(&diary, "limit=500&continue=t1"), 200,
              BED_LIST("ConfigMap", "10", ",\"continue\":\"t2\"", BED_MAP("b", "2", "6", "")));
    /* F25: a last page that is empty, with an empty token. */
    bed_reply(&diary.bed, take_list(&diary, "limit=500&continue=t2"), 200,
              BED_LIST("ConfigMap", "10", ",\"continue\":\"\"", ));
    check_diary(&diary, "replace 10 a@5 b@6;");
    take_watch(&diary, "10");
    finish(&diary);
}

TEST(a_server_without_a_watch_cache_is_paged_later_too) /* rule 53 */
{
    struct diary diary;
    begin(&diary);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200,
              BED_LIST("ConfigMap", "10", ",\"continue\":\"t1\"", ));
    bed_reply(&diary.bed, take_list(&diary, "limit=500&continue=t1"), 200, BED_MAPS("10", ));
    bed_reply(&diary.bed, take_watch(&diary, "10"), 410, BED_STATUS(410, "Expired"));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    take_list(&diary, "limit=500&resourceVersion=10&resourceVersionMatch=NotOlderThan");
    finish(&diary);
}

TEST(later_lists_are_not_limited_so_that_the_watch_cache_answers) /* rules 50, 52, 65 */
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    bed_stream(&diary.bed, watch, BED_BOOKMARK("ConfigMap", "20"));
    bed_stream(&diary.bed, watch, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    bed_reply(&diary.bed, take_list(&diary, "resourceVersion=20"), 200, BED_MAPS("21", ));
    check_diary(&diary, "bookmark 20;replace 21;");
    take_watch(&diary, "21");
    finish(&diary);
}

TEST(F25_an_expired_page_leads_to_one_unlimited_list) /* rule 55 */
{
    static const char *const answers[] = {
        BED_STATUS(410, "Expired"),
        /* With a token for an inconsistent continuation, which is not used. */
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":"
        "\"Expired\",\"code\":410,\"metadata\":{\"continue\":\"t9\"}}",
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(answers); i++) {
        struct diary diary;
        begin(&diary);
        bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200,
                  BED_LIST("ConfigMap", "10", ",\"continue\":\"t1\"", BED_MAP("a", "1", "5", "")));
        bed_reply(&diary.bed, take_list(&diary, "limit=500&continue=t1"), 410, answers[i]);
        bed_reply(&diary.bed, take_list(&diary, "resourceVersion=0"), 200,
                  BED_MAPS("12", BED_MAP("a", "1", "5", "")));
        check_diary(&diary, "replace 12 a@5;");
        finish(&diary);
    }
}

TEST(F25_a_list_that_expires_again_and_again_pauses)
{
    struct diary diary;
    begin(&diary);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200,
              BED_LIST("ConfigMap", "10", ",\"continue\":\"t1\"", BED_MAP("a", "1", "5", "")));
    bed_reply(&diary.bed, take_list(&diary, "limit=500&continue=t1"), 410,
              BED_STATUS(410, "Expired"));
    /* In pages although none were requested, and they expire too. */
    bed_reply(&diary.bed, take_list(&diary, "resourceVersion=0"), 200,
              BED_LIST("ConfigMap", "11", ",\"continue\":\"t2\"", BED_MAP("a", "1", "5", "")));
    bed_reply(&diary.bed, take_list(&diary, "continue=t2"), 410, BED_STATUS(410, "Expired"));
    CHECK(bed_is_quiet(&diary.bed));
    check_diary(&diary, "");
    CHECK(pl_reflector_trouble(diary.reflector) != NULL);
    finish(&diary);
}

TEST(a_page_that_is_always_cut_is_asked_for_in_smaller_ones_until_it_comes)
{
    struct diary diary;
    begin(&diary);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200,
              BED_LIST("ConfigMap", "10", ",\"continue\":\"t1\"", BED_MAP("a", "1", "5", "")));
    static const char *const asked[] = {"limit=500&continue=t1", "limit=250&continue=t1",
                                        "limit=125&continue=t1", "limit=62&continue=t1",
                                        "limit=31&continue=t1",  "limit=20&continue=t1",
                                        "limit=20&continue=t1"};
    for (size_t i = 0; i < PL_ARRAY_LEN(asked); i++) {
        struct fake_request *page = take_list(&diary, asked[i]);
        fake_stream(page, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"items\":[");
        fake_fail(page, PL_ENETWORK, "ConnectionReset");
        CHECK(bed_is_quiet(&diary.bed));
        while (bed_is_quiet(&diary.bed))
            bed_pass(&diary.bed, 1 * PL_SECOND);
    }
    /* What came before is kept. */
    bed_reply(&diary.bed, take_list(&diary, "limit=20&continue=t1"), 200,
              BED_LIST("ConfigMap", "10", ",\"continue\":\"t2\"", BED_MAP("b", "2", "6", "")));
    bed_reply(&diary.bed, take_list(&diary, "limit=20&continue=t2"), 200, BED_MAPS("10", ));
    check_diary(&diary, "replace 10 a@5 b@6;");
    /* The next list is still paged, with larger pages. */
    bed_stream(&diary.bed, take_watch(&diary, "10"),
               BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    while (bed_is_quiet(&diary.bed))
        bed_pass(&diary.bed, 1 * PL_SECOND);
    take_list(&diary, "limit=40&resourceVersion=10&resourceVersionMatch=NotOlderThan");
    finish(&diary);
}

TEST(a_list_in_one_piece_that_is_cut_is_paged) /* rule 52 gives way */
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    bed_stream(&diary.bed, watch, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    struct fake_request *list = take_list(&diary, "resourceVersion=10");
    fake_stream(list, "{\"kind\":\"ConfigMapList\",\"items\":[");
    fake_fail(list, PL_ENETWORK, "ConnectionReset");
    CHECK(bed_is_quiet(&diary.bed));
    bed_pass(&diary.bed, 4 * PL_SECOND);
    bed_reply(&diary.bed,
              take_list(&diary, "limit=500&resourceVersion=10&resourceVersionMatch=NotOlderThan"),
              200, BED_MAPS("12", ));
    check_diary(&diary, "replace 12;");
    finish(&diary);
}

/* No stream was cut: there was no connection. */
TEST(F37_lists_that_get_no_connection_wait_for_the_server_with_all_others)
{
    struct diary diary;
    begin(&diary);
    for (int i = 0; i < 6; i++) {
        fake_fail(take_list(&diary, "limit=500&resourceVersion=0"), PL_ETIMEOUT, "ConnectTimeout");
        bed_run(&diary.bed);
        CHECK(pl_reconnects_is_away(diary.reconnects));
        for (int k = 0; k < 200 && bed_is_quiet(&diary.bed); k++)
            bed_pass(&diary.bed, 100 * PL_MS);
    }
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200, BED_MAPS("10", ));
    check_diary(&diary, "replace 10;");
    finish(&diary);
}

TEST(a_list_that_is_older_than_was_asked_for_is_asked_for_anew) /* F11, F27 */
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    bed_stream(&diary.bed, watch, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    bed_reply(&diary.bed, take_list(&diary, "resourceVersion=10"), 200, BED_MAPS("7", ));
    check_diary(&diary, "");
    bed_reply(&diary.bed, take_list(&diary, "limit=500"), 200, BED_MAPS("7", ));
    check_diary(&diary, "anew 7;");
    take_watch(&diary, "7");
    finish(&diary);
}

TEST(a_repeated_continue_token_is_an_error_and_no_endless_loop) /* F25 */
{
    struct diary diary;
    begin(&diary);
    for (int i = 0; i < 2; i++)
        bed_reply(&diary.bed, bed_expect(&diary.bed, "GET", "/api/v1/configmaps"), 200,
                  BED_LIST("ConfigMap", "10", ",\"continue\":\"t1\"", ));
    CHECK(bed_is_quiet(&diary.bed));
    REQUIRE(pl_reflector_trouble(diary.reflector) != NULL);
    CHECK(strstr(pl_reflector_trouble(diary.reflector)->err.message, "token") != NULL);
    finish(&diary);
}

TEST(a_version_that_cannot_be_listed_is_dropped_at_once_and_once) /* rules 51, 57, F12 */
{
    static const char *const answers[] = {
        BED_STATUS(410, "Gone"),
        BED_STATUS(410, "Expired"),
        too_large,
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(answers); i++) {
        struct diary diary;
        struct fake_request *watch = get_going(&diary);
        bed_stream(&diary.bed, watch, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
        bed_pass(&diary.bed, 2 * PL_SECOND);
        bed_reply(&diary.bed, take_list(&diary, "resourceVersion=10"), i < 2 ? 410 : 504,
                  answers[i]);
        /* Without a pause; if that fails too, with one. */
        bed_reply(&diary.bed, take_list(&diary, "limit=500"), 410, BED_STATUS(410, "Gone"));
        CHECK(bed_is_quiet(&diary.bed));
        bed_pass(&diary.bed, 4 * PL_SECOND);
        bed_reply(&diary.bed, take_list(&diary, "limit=500"), 200, BED_MAPS("2", ));
        check_diary(&diary, "anew 2;");
        take_watch(&diary, "2");
        finish(&diary);
    }
}

TEST(F9_gone_in_three_forms_is_one_relist_and_never_an_object)
{
    static const char *const events[] = {
        NULL, /* as the answer's own status */
        BED_EVENT("ERROR", BED_STATUS(410, "Gone")),
        BED_EVENT("ERROR", "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":"
                           "\"too old resource version: 10 (99)\"}"),
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(events); i++) {
        struct diary diary;
        struct fake_request *watch = get_going(&diary);
        if (events[i] == NULL) {
            fake_end(watch);
            bed_reply(&diary.bed, take_watch(&diary, "10"), 410, BED_STATUS(410, "Expired"));
        } else {
            bed_stream(&diary.bed, watch, events[i]);
        }
        check_diary(&diary, "");
        bed_pass(&diary.bed, 2 * PL_SECOND);
        bed_reply(&diary.bed, take_list(&diary, "resourceVersion=10"), 200, BED_MAPS("99", ));
        check_diary(&diary, "replace 99;");
        take_watch(&diary, "99");
        CHECK(bed_is_quiet(&diary.bed));
        finish(&diary);
    }
}

TEST(F10_watches_that_always_expire_lead_to_lists_without_a_version_and_longer_pauses)
{
    struct diary diary;
    begin(&diary);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200, BED_MAPS("10", ));
    int64_t pauses[5];
    for (int i = 0; i < 5; i++) {
        bed_reply(&diary.bed, take_watch(&diary, "10"), 410, BED_STATUS(410, "Expired"));
        CHECK((pl_reflector_trouble(diary.reflector) != NULL) == (i > 0));
        CHECK_INT(pl_reflector_state(diary.reflector), PL_REFLECTOR_PAUSING);
        int64_t since = diary.bed.clock.now_ns;
        while (bed_is_quiet(&diary.bed))
            bed_pass(&diary.bed, 50 * PL_MS);
        pauses[i] = diary.bed.clock.now_ns - since;
        bed_reply(&diary.bed, take_list(&diary, i == 0 ? "resourceVersion=10" : "limit=500"), 200,
                  BED_MAPS("10", ));
    }
    for (int i = 0; i < 5; i++) /* rule 83, and a step of the test */
        CHECK(pauses[i] >= (800 * PL_MS << i) && pauses[i] <= (1600 * PL_MS << i) + 50 * PL_MS);
    finish(&diary);
}

TEST(the_end_of_a_watch_leads_to_the_next_one_and_to_no_list) /* rules 63, 67, 73, F20 */
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    fake_end(watch);
    watch = take_watch(&diary, "10"); /* at once */
    fake_begin(watch, 200);
    bed_pass(&diary.bed, 2 * PL_SECOND);
    fake_fail(watch, PL_ENETWORK, "ConnectionReset");
    watch = take_watch(&diary, "10");
    fake_fail(watch, PL_ENETWORK, "ConnectionRefused");
    CHECK(bed_is_quiet(&diary.bed)); /* after a pause */
    bed_pass(&diary.bed, 2 * PL_SECOND);
    answer_version(&diary, "10", "10");
    watch = take_watch(&diary, "10");
    bed_reply(&diary.bed, watch, 429, BED_STATUS(429, "TooManyRequests"));
    CHECK(bed_is_quiet(&diary.bed));
    bed_pass(&diary.bed, 4 * PL_SECOND);
    watch = take_watch(&diary, "10");
    CHECK(pl_reflector_trouble(diary.reflector) != NULL);
    fake_begin(watch, 200);
    bed_pass(&diary.bed, 2 * PL_SECOND);
    CHECK(pl_reflector_trouble(diary.reflector) == NULL);
    check_diary(&diary, "");
    finish(&diary);
}

TEST(a_watch_that_ends_within_a_second_is_opened_again_after_a_pause) /* rule 68 */
{
    struct diary diary;
    begin(&diary);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200, BED_MAPS("10", ));
    int64_t began = diary.bed.clock.now_ns;
    for (int i = 0; i < 4; i++) {
        struct fake_request *watch = take_watch(&diary, "10");
        fake_begin(watch, 200);
        fake_end(watch);
        CHECK(bed_is_quiet(&diary.bed));
        while (bed_is_quiet(&diary.bed))
            bed_pass(&diary.bed, 100 * PL_MS);
    }
    /* 0.8 + 1.6 + 3.2 + 6.4 s at least (rule 83). */
    CHECK(diary.bed.clock.now_ns - began >= 12 * PL_SECOND);
    CHECK(pl_reflector_trouble(diary.reflector) != NULL);
    finish(&diary);
}

TEST(the_second_of_a_watch_begins_with_its_request) /* rule 68 */
{
    struct diary diary;
    begin(&diary);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200, BED_MAPS("10", ));
    struct fake_request *watch = take_watch(&diary, "10");
    bed_pass(&diary.bed, 1100 * PL_MS);
    fake_begin(watch, 200);
    fake_end(watch);
    watch = take_watch(&diary, "10");
    CHECK(pl_reflector_trouble(diary.reflector) == NULL);
    bed_reply(&diary.bed, watch, 404, BED_STATUS(404, "NotFound"));
    finish(&diary);
}

TEST(other_answers_to_a_watch_lead_to_a_list_after_a_pause) /* rule 64 */
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    fake_end(watch);
    bed_reply(&diary.bed, take_watch(&diary, "10"), 500, BED_STATUS(500, "InternalError"));
    CHECK(bed_is_quiet(&diary.bed));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    take_list(&diary, "resourceVersion=10");
    finish(&diary);
}

TEST(an_error_event_keeps_the_version_and_is_never_stored) /* rule 66, F9, F13 */
{
    static const struct {
        const char *event;
        bool lists;
    } cases[] = {
        {BED_EVENT("ERROR", BED_STATUS(410, "Gone")), true},
        {BED_EVENT("ERROR", "{\"kind\":\"Status\",\"code\":410,\"message\":\"too old\"}"), true},
        {BED_EVENT("ERROR", BED_STATUS(500, "InternalError")), true},
        {BED_EVENT("ERROR", BED_STATUS(429, "TooManyRequests")), false},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct diary diary;
        struct fake_request *watch = get_going(&diary);
        bed_stream(&diary.bed, watch, BED_EVENT("ADDED", BED_MAP("b", "2", "11", "")));
        bed_stream(&diary.bed, watch, cases[i].event);
        check_diary(&diary, "add b@11;");
        bed_pass(&diary.bed, 2 * PL_SECOND);
        if (cases[i].lists)
            take_list(&diary, "resourceVersion=11");
        else
            take_watch(&diary, "11");
        finish(&diary);
    }
}

TEST(a_broken_line_leads_to_a_list_after_a_pause) /* rule 73, F19 */
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    bed_stream(&diary.bed, watch, "{\"type\":\"ADDED\",\"object\":{{}\n");
    bed_pass(&diary.bed, 2 * PL_SECOND);
    take_list(&diary, "resourceVersion=10");
    CHECK(pl_reflector_trouble(diary.reflector) != NULL);
    finish(&diary);
}

TEST(events_of_another_kind_are_skipped_and_their_version_does_not_count) /* rules 69, 70 */
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    bed_stream(&diary.bed, watch,
               "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
               "\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"40\"}}}\n");
    CHECK_SLICE(pl_reflector_rv(diary.reflector), "10");
    bed_stream(&diary.bed, watch, BED_EVENT("SHINY", BED_MAP("b", "2", "11", "")));
    CHECK_SLICE(pl_reflector_rv(diary.reflector), "11");
    check_diary(&diary, "");
    finish(&diary);
}

TEST(a_watch_from_nowhere_counts_versions_from_the_first_change) /* rule 62 */
{
    struct diary diary;
    begin(&diary);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200, BED_MAPS("0", ));
    struct fake_request *watch = take_watch(&diary, "0");
    bed_stream(&diary.bed, watch, BED_EVENT("ADDED", BED_MAP("b", "2", "20", "")));
    bed_stream(&diary.bed, watch, BED_EVENT("ADDED", BED_MAP("c", "3", "12", "")));
    CHECK_SLICE(pl_reflector_rv(diary.reflector), "0");
    bed_stream(&diary.bed, watch, BED_EVENT("MODIFIED", BED_MAP("c", "3", "21", "")));
    CHECK_SLICE(pl_reflector_rv(diary.reflector), "21");
    check_diary(&diary, "replace 0;add b@20;add c@12;update c@21;");
    finish(&diary);
}

TEST(a_silent_watch_is_replaced_after_150_seconds) /* F29 */
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    bed_pass(&diary.bed, 100 * PL_SECOND);
    bed_stream(&diary.bed, watch, BED_BOOKMARK("ConfigMap", "15"));
    bed_pass(&diary.bed, 149 * PL_SECOND);
    CHECK(!watch->canceled);
    bed_pass(&diary.bed, 2 * PL_SECOND);
    CHECK(watch->canceled);
    answer_version(&diary, "15", "15");
    take_watch(&diary, "15");
    finish(&diary);
}

TEST(a_watch_that_does_not_open_is_tried_again)
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    fake_end(watch);
    watch = take_watch(&diary, "10");
    bed_pass(&diary.bed, 31 * PL_SECOND);
    CHECK(watch->canceled);
    bed_pass(&diary.bed, 2 * PL_SECOND);
    answer_version(&diary, "10", "10");
    take_watch(&diary, "10");
    finish(&diary);
}

TEST(a_watch_that_the_server_does_not_end_is_ended_by_us)
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    for (int i = 0; i < 36 && !watch->canceled; i++) {
        bed_stream(&diary.bed, watch, BED_BOOKMARK("ConfigMap", "15"));
        bed_pass(&diary.bed, 20 * PL_SECOND);
    }
    CHECK(watch->canceled);
    take_watch(&diary, "15");
    finish(&diary);
}

TEST(versions_that_go_back_lead_to_a_list_without_a_version) /* F27 */
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    bed_stream(&diary.bed, watch, BED_BOOKMARK("ConfigMap", "3"));
    check_diary(&diary, "");
    bed_pass(&diary.bed, 2 * PL_SECOND);
    bed_reply(&diary.bed, take_list(&diary, "limit=500"), 200, BED_MAPS("4", ));
    check_diary(&diary, "anew 4;");
    finish(&diary);
}

/* The versions of a restored server soon exceed those that a source remembers. Then the source
 * cannot notice it, but another source may have seen it. */
TEST(what_another_source_found_restored_is_listed_anew) /* F27 */
{
    for (int watching = 0; watching < 2; watching++) {
        struct diary diary;
        struct pl_reconnect other = {0};
        struct fake_request *watch = get_going(&diary);
        pl_reconnect_join(diary.reconnects, &other, NULL);
        if (!watching) {
            fake_end(watch);
            fake_fail(take_watch(&diary, "10"), PL_ENETWORK, "ConnectionRefused");
            bed_run(&diary.bed);
        }
        pl_reconnect_found_restored(diary.reconnects, &other);
        while (bed_is_quiet(&diary.bed))
            bed_pass(&diary.bed, 100 * PL_MS);
        bed_reply(&diary.bed, take_list(&diary, "limit=500"), 200, BED_MAPS("400", ));
        check_diary(&diary, "anew 400;");
        take_watch(&diary, "400"); /* and only once */
        pl_reconnect_leave(&other);
        finish(&diary);
    }
}

TEST(a_server_that_comes_back_older_is_listed_anew) /* F27 */
{
    for (int way = 0; way < 2; way++) {
        struct diary diary;
        struct fake_request *watch = get_going(&diary);
        fake_end(watch);
        fake_fail(take_watch(&diary, "10"), PL_ENETWORK, "ConnectionRefused");
        bed_pass(&diary.bed, 2 * PL_SECOND);
        if (way == 0)
            answer_version(&diary, "10", "3");
        else
            bed_reply(
                &diary.bed,
                take_list(&diary, "limit=1&resourceVersion=10&resourceVersionMatch=NotOlderThan"),
                504, too_large);
        while (bed_is_quiet(&diary.bed))
            bed_pass(&diary.bed, 100 * PL_MS);
        bed_reply(&diary.bed, take_list(&diary, "limit=500"), 200, BED_MAPS("4", ));
        check_diary(&diary, "anew 4;");
        take_watch(&diary, "4");
        finish(&diary);
    }
}

TEST(tables_and_other_documents_are_refused) /* rule 56 */
{
    struct diary diary;
    begin(&diary);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200,
              "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"rows\":[]}");
    CHECK(pl_reflector_trouble(diary.reflector) != NULL);
    check_diary(&diary, "");
    finish(&diary);
}

TEST(a_list_that_cannot_be_stored_is_made_again) /* rule 60 */
{
    struct diary diary;
    begin(&diary);
    diary.refuse = true;
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200, BED_MAPS("10", ));
    CHECK_SLICE(pl_reflector_rv(diary.reflector), "");
    bed_pass(&diary.bed, 2 * PL_SECOND);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200, BED_MAPS("10", ));
    check_diary(&diary, "replace 10;");
    finish(&diary);
}

TEST(pages_that_are_taken_do_not_come_again)
{
    struct diary diary;
    begin(&diary);
    diary.takes = true;
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200,
              BED_LIST("ConfigMap", "10", ",\"continue\":\"t1\"", BED_MAP("a", "1", "5", "")));
    CHECK_INT(diary.taken, 1);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&continue=t1"), 410,
              BED_STATUS(410, "Expired"));
    diary.taken = 0; /* the list begins again */
    bed_reply(&diary.bed, take_list(&diary, "resourceVersion=0"), 200,
              BED_MAPS("12", BED_MAP("b", "2", "6", "")));
    check_diary(&diary, "replace 12 b@6;");
    CHECK_INT(diary.pages, 1);
    finish(&diary);
}

TEST(the_next_page_is_asked_for_before_one_is_worked_off)
{
    struct diary diary;
    begin(&diary);
    diary.takes = true;
    fake_reply(take_list(&diary, "limit=500&resourceVersion=0"), 200,
               BED_LIST("ConfigMap", "10", ",\"continue\":\"t1\"", BED_MAP("a", "1", "5", "")));
    CHECK_INT(diary.pages, 0);
    CHECK_INT(diary.bed.net.open_count, 1);
    struct fake_request *second = take_list(&diary, "limit=500&continue=t1");
    bed_run(&diary.bed);
    CHECK_INT(diary.pages, 1);
    bed_reply(&diary.bed, second, 200, BED_MAPS("10", BED_MAP("b", "2", "6", "")));
    check_diary(&diary, "replace 10 b@6;");
    take_watch(&diary, "10");
    finish(&diary);
}

TEST(a_page_that_cannot_be_stored_ends_the_list)
{
    struct diary diary;
    begin(&diary);
    diary.refuse_page = true;
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200,
              BED_LIST("ConfigMap", "10", ",\"continue\":\"t1\"", BED_MAP("a", "1", "5", "")));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200, BED_MAPS("11", ));
    check_diary(&diary, "replace 11;");
    CHECK_INT(diary.pages, 0);
    finish(&diary);
}

/* Of m0, m1 and so on; to be freed. */
static char *list_of(int count, const char *token)
{
    struct pl_buf items = PL_BUF_INIT;
    for (int i = 0; i < count; i++)
        pl_buf_add_f(&items,
                     "%s{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                     "\"m%d\",\"namespace\":\"d\",\"uid\":\"u%d\",\"resourceVersion\":\"5\"}}",
                     i > 0 ? "," : "", i, i);
    char *list = pl_format("{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
                           "\"resourceVersion\":\"10\",\"continue\":\"%s\"},\"items\":[%s]}",
                           token, pl_buf_z(&items));
    pl_buf_deinit(&items);
    return list;
}

TEST(a_page_is_seen_by_pieces_between_which_the_next_one_comes)
{
    struct diary diary;
    begin(&diary);
    diary.takes = true;
    char *list = list_of(150, "t1");
    fake_reply(take_list(&diary, "limit=500&resourceVersion=0"), 200, list);
    for (int pieces = 1; pieces <= 3; pieces++) {
        CHECK_INT(diary.pages, pieces - 1);
        pl_timers_run(&diary.bed.timers);
    }
    CHECK_INT(diary.pages, 3);
    CHECK_INT(diary.taken, 150);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&continue=t1"), 200, BED_MAPS("10", ));
    check_diary(&diary, "replace 10;");
    take_watch(&diary, "10");
    pl_free(list);
    finish(&diary);
}

TEST(a_list_in_one_piece_is_worked_off_by_pieces)
{
    struct diary diary;
    begin(&diary);
    diary.takes = true;
    char *list = list_of(1200, "");
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200, list);
    bed_run(&diary.bed);
    CHECK_INT(diary.pages, 2);
    CHECK(strncmp(pl_buf_z(&diary.text), "replace 10 m1000@5 m1001@5 ", 27) == 0);
    pl_buf_clear(&diary.text);
    take_watch(&diary, "10");
    pl_free(list);
    finish(&diary);
}

TEST(a_kind_that_is_gone_is_reported_and_asked_for_again) /* F43 */
{
    struct diary diary;
    struct fake_request *watch = get_going(&diary);
    fake_end(watch);
    bed_reply(&diary.bed, take_watch(&diary, "10"), 404, "404 page not found\n");
    CHECK_INT(diary.gone, 1);
    bed_pass(&diary.bed, 2 * PL_SECOND);
    bed_reply(&diary.bed, take_list(&diary, "resourceVersion=10"), 404, "404 page not found\n");
    CHECK_INT(diary.gone, 2);
    bed_pass(&diary.bed, 4 * PL_SECOND);
    bed_reply(&diary.bed, take_list(&diary, "resourceVersion=10"), 200, BED_MAPS("30", ));
    check_diary(&diary, "replace 30;");
    finish(&diary);
}

TEST(it_stops_at_any_moment)
{
    for (int moment = 0; moment < 7; moment++) {
        struct diary diary;
        if (moment < 2)
            begin(&diary);
        if (moment == 1)
            take_list(&diary, "limit=500&resourceVersion=0");
        struct fake_request *watch = moment >= 2 ? get_going(&diary) : NULL;
        if (moment == 3)
            fake_end(watch);
        if (moment == 4 || moment == 6) {
            fake_end(watch);
            fake_fail(take_watch(&diary, "10"), PL_ENETWORK, "ConnectionRefused");
            bed_run(&diary.bed);
        }
        if (moment == 6) {
            bed_pass(&diary.bed, 2 * PL_SECOND); /* its version is asked for */
            CHECK(!bed_is_quiet(&diary.bed));
        }
        if (moment == 5) {
            diary.stop_in_event = true;
            bed_stream(&diary.bed, watch,
                       BED_EVENT("ADDED", BED_MAP("b", "2", "11", ""))
                           BED_EVENT("ADDED", BED_MAP("c", "3", "12", "")));
            check_diary(&diary, "add b@11;");
        }
        finish(&diary);
    }
}

TEST(ten_thousand_failures_leave_nothing_behind) /* F8 */
{
    struct diary diary;
    get_going(&diary);
    struct fake_request *watch =
        PL_CONTAINER_OF(diary.bed.net.taken.head.prev, struct fake_request, link);
    fake_end(watch);
    for (int i = 0; i < 10000; i++) {
        fake_fail(bed_expect(&diary.bed, "GET", "/api/v1/configmaps"), PL_ENETWORK,
                  "ConnectionRefused");
        while (bed_is_quiet(&diary.bed))
            bed_pass(&diary.bed, 10 * PL_SECOND);
    }
    CHECK(diary.bed.timers.heap.count <= 4);
    CHECK_INT(diary.bed.waits.count, 1);
    finish(&diary);
}

TEST_MAIN()
