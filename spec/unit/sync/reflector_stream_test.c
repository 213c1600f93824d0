#include "diary.h"

/* A list that is streamed from that version. */
static struct fake_request *take_stream(struct diary *diary, const char *rv)
{
    struct fake_request *stream = take_watch(diary, rv);
    struct pl_buf value = PL_BUF_INIT;
    CHECK(fake_query(stream, "sendInitialEvents", &value));
    pl_buf_clear(&value);
    CHECK(fake_query(stream, "resourceVersionMatch", &value));
    CHECK_SLICE(pl_buf_slice(&value), "NotOlderThan");
    pl_buf_deinit(&value);
    return stream;
}

static struct fake_request *take_plain_watch(struct diary *diary, const char *rv)
{
    struct fake_request *watch = take_watch(diary, rv);
    struct pl_buf value = PL_BUF_INIT;
    CHECK(!fake_query(watch, "sendInitialEvents", &value));
    pl_buf_deinit(&value);
    return watch;
}

static struct fake_request *get_streaming(struct diary *diary)
{
    begin_with(diary, true);
    struct fake_request *stream = take_stream(diary, "");
    bed_stream(&diary->bed, stream, BED_EVENT("ADDED", BED_MAP("a", "1", "5", "")));
    bed_stream(&diary->bed, stream, BED_EVENT("ADDED", BED_MAP("b", "2", "90", "")));
    check_diary(diary, "");
    bed_stream(&diary->bed, stream, BED_INITIAL_END("10"));
    check_diary(diary, "replace 10 a@5 b@90;");
    return stream;
}

TEST(a_streamed_list_is_one_replace_and_the_same_stream_goes_on) /* rules 76, 77 */
{
    struct diary diary;
    struct fake_request *stream = get_streaming(&diary);
    CHECK_INT(pl_reflector_state(diary.reflector), PL_REFLECTOR_WATCHING);
    CHECK(bed_is_quiet(&diary.bed));
    bed_stream(&diary.bed, stream, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    bed_stream(&diary.bed, stream, BED_BOOKMARK("ConfigMap", "14"));
    check_diary(&diary, "update a@11;bookmark 14;");
    CHECK_SLICE(pl_reflector_rv(diary.reflector), "14");
    finish(&diary);
}

TEST(the_end_of_that_stream_leads_to_a_watch_from_its_version) /* rules 67, 79: not to a list */
{
    struct diary diary;
    struct fake_request *stream = get_streaming(&diary);
    bed_pass(&diary.bed, 2 * PL_SECOND);
    fake_end(stream);
    take_plain_watch(&diary, "10");
    finish(&diary);
}

TEST(changes_before_the_bookmark_are_part_of_the_list) /* rule 77 */
{
    struct diary diary;
    begin_with(&diary, true);
    struct fake_request *stream = take_stream(&diary, "");
    static const char *const events[] = {
        BED_EVENT("ADDED", BED_MAP("a", "1", "5", "")),
        BED_EVENT("ADDED", BED_MAP("b", "2", "6", "")),
        BED_EVENT("ADDED", BED_MAP("c", "3", "7", "")),
        BED_EVENT("MODIFIED", BED_MAP("c", "3", "8", "")),
        BED_EVENT("DELETED", BED_MAP("a", "1", "9", "")),
        BED_EVENT("DELETED", BED_MAP("x", "9", "9", "")),
        BED_EVENT("ADDED", BED_MAP("d", "4", "10", "")),
        BED_EVENT("MODIFIED", BED_MAP("c", "3", "11", "")),
        BED_EVENT("ADDED", BED_MAP("a", "5", "12", "")),
        BED_BOOKMARK("ConfigMap", "12"), /* an ordinary one */
        BED_EVENT("DELETED", BED_MAP("a", "5", "13", "")),
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(events); i++)
        bed_stream(&diary.bed, stream, events[i]);
    check_diary(&diary, "");
    bed_stream(&diary.bed, stream, BED_INITIAL_END("13"));
    check_diary(&diary, "replace 13 c@11 b@6 d@10;");
    finish(&diary);
}

static void stream_some(struct diary *diary, struct fake_request *stream, int count)
{
    for (int i = 0; i < count; i++) {
        char line[300];
        snprintf(line, sizeof line,
                 "{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                 "\"metadata\":{\"name\":\"m%d\",\"namespace\":\"d\",\"uid\":\"u%d\","
                 "\"resourceVersion\":\"%d\"}}}\n",
                 i, i, i + 1);
        bed_stream(&diary->bed, stream, line);
    }
}

/* Its sink stores lists while they arrive. */
static struct fake_request *begin_taking(struct diary *diary)
{
    begin_with(diary, true);
    diary->takes = true;
    return take_stream(diary, "");
}

TEST(a_sink_may_take_a_streamed_list_as_it_comes)
{
    struct diary diary;
    struct fake_request *stream = begin_taking(&diary);
    stream_some(&diary, stream, 130);
    CHECK_INT(diary.pages, 2);
    CHECK_INT(diary.taken, 128);
    CHECK_SLICE(pl_reflector_rv(diary.reflector), ""); /* F15 */
    bed_stream(&diary.bed, stream, BED_INITIAL_END("200"));
    check_diary(&diary, "replace 200 m128@129 m129@130;");
    bed_stream(&diary.bed, stream, BED_EVENT("ADDED", BED_MAP("a", "1", "201", "")));
    check_diary(&diary, "add a@201;");
    finish(&diary);
}

TEST(changes_of_what_was_taken_are_taken_in_their_order) /* rule 77 */
{
    struct diary diary;
    struct fake_request *stream = begin_taking(&diary);
    static const struct {
        const char *event;
        size_t taken; /* after it */
    } steps[] = {
        {BED_EVENT("ADDED", BED_MAP("a", "1", "5", "")), 0},
        {BED_EVENT("ADDED", BED_MAP("b", "2", "6", "")), 0},
        {BED_EVENT("MODIFIED", BED_MAP("a", "1", "8", "")), 2},
        {BED_EVENT("DELETED", BED_MAP("b", "2", "9", "")), 3},
        {BED_EVENT("ADDED", BED_MAP("d", "4", "10", "")), 3},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(steps); i++) {
        bed_stream(&diary.bed, stream, steps[i].event);
        CHECK_INT(diary.taken, steps[i].taken);
    }
    check_diary(&diary, "remove b@9;");
    bed_stream(&diary.bed, stream, BED_INITIAL_END("13"));
    check_diary(&diary, "replace 13 d@10;");
    finish(&diary);
}

TEST(a_list_that_was_taken_in_part_begins_anew_when_it_is_cut) /* rules 60, 78 */
{
    for (int way = 0; way < 2; way++) {
        struct diary diary;
        struct fake_request *stream = begin_taking(&diary);
        stream_some(&diary, stream, 70);
        CHECK_INT(diary.taken, 64);
        diary.refuse_page = way == 1;
        if (way == 0)
            fake_fail(stream, PL_ENETWORK, "ConnectionReset");
        else
            stream_some(&diary, stream, 64);
        bed_pass(&diary.bed, 4 * PL_SECOND);
        CHECK_INT(diary.taken, 64);
        diary.taken = 0; /* the next page begins a new list */
        stream = take_stream(&diary, "");
        stream_some(&diary, stream, 64);
        CHECK_INT(diary.taken, 64);
        bed_stream(&diary.bed, stream, BED_INITIAL_END("91"));
        check_diary(&diary, "replace 91;");
        finish(&diary);
    }
}

TEST(it_may_be_stopped_by_what_a_streamed_list_takes_back)
{
    struct diary diary;
    struct fake_request *stream = begin_taking(&diary);
    diary.stop_in_event = true;
    bed_stream(&diary.bed, stream, BED_EVENT("ADDED", BED_MAP("a", "1", "5", "")));
    bed_stream(&diary.bed, stream, BED_EVENT("DELETED", BED_MAP("a", "1", "6", "")));
    check_diary(&diary, "remove a@6;");
    finish(&diary);
}

TEST(F15_a_cut_among_the_initial_events_moves_no_version)
{
    struct diary diary;
    struct fake_request *stream = get_streaming(&diary);
    bed_stream(&diary.bed, stream, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    stream = take_stream(&diary, "10"); /* rule 65: not older than the known version */
    bed_stream(&diary.bed, stream, BED_EVENT("ADDED", BED_MAP("b", "2", "90", "")));
    CHECK_SLICE(pl_reflector_rv(diary.reflector), "10");
    fake_fail(stream, PL_ENETWORK, "ConnectionReset");
    CHECK(bed_is_quiet(&diary.bed));
    bed_pass(&diary.bed, 4 * PL_SECOND);
    stream = take_stream(&diary, "10"); /* rule 78: once more, without a version */
    check_diary(&diary, "");
    bed_stream(&diary.bed, stream, BED_EVENT("ADDED", BED_MAP("a", "1", "5", "")));
    bed_stream(&diary.bed, stream, BED_INITIAL_END("91"));
    check_diary(&diary, "replace 91 a@5;");
    finish(&diary);
}

TEST(F21_a_bookmark_that_does_not_come_leads_to_a_list_within_30_s)
{
    struct diary diary;
    begin_with(&diary, true);
    struct fake_request *stream = take_stream(&diary, "");
    bed_stream(&diary.bed, stream, BED_EVENT("ADDED", BED_MAP("a", "1", "5", "")));
    bed_pass(&diary.bed, 29 * PL_SECOND);
    CHECK(!stream->canceled);
    bed_pass(&diary.bed, 1 * PL_SECOND);
    CHECK(stream->canceled);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200,
              BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    check_diary(&diary, "replace 10 a@5;");
    /* Other kinds go on streaming; this one lists for some minutes. */
    CHECK(pl_reconnects_may_stream(diary.reconnects));
    bed_stream(&diary.bed, take_plain_watch(&diary, "10"),
               BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    take_list(&diary, "resourceVersion=10");
    finish(&diary);
}

TEST(a_long_list_may_stream_for_longer)
{
    struct diary diary;
    begin_with(&diary, true);
    struct fake_request *stream = take_stream(&diary, "");
    for (int i = 0; i < 20; i++) {
        stream_some(&diary, stream, 100);
        bed_pass(&diary.bed, 2 * PL_SECOND);
    }
    CHECK(!stream->canceled);
    bed_pass(&diary.bed, 25 * PL_SECOND); /* nothing comes any more */
    CHECK(stream->canceled);
    take_list(&diary, "limit=500&resourceVersion=0");
    finish(&diary);
}

TEST(F22_what_is_refused_is_listed_at_once_and_not_asked_for_again)
{
    struct diary diary;
    begin_with(&diary, true);
    bed_reply(&diary.bed, take_stream(&diary, ""), 422, BED_STATUS(422, "Invalid"));
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200, BED_MAPS("10", ));
    check_diary(&diary, "replace 10;");
    CHECK(pl_reflector_trouble(diary.reflector) == NULL);
    CHECK(!pl_reconnects_may_stream(diary.reconnects)); /* nor for any other kind */
    bed_stream(&diary.bed, take_plain_watch(&diary, "10"),
               BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    bed_reply(&diary.bed, take_list(&diary, "resourceVersion=10"), 200, BED_MAPS("11", ));
    struct fake_request *watch = take_plain_watch(&diary, "11");
    fake_begin(watch, 200);
    for (int i = 0; i < 11; i++) { /* until that is forgotten */
        bed_stream(&diary.bed, watch, BED_BOOKMARK("ConfigMap", "12"));
        bed_pass(&diary.bed, 60 * PL_SECOND);
        if (watch->canceled || watch->done)
            fake_begin(watch = take_plain_watch(&diary, "12"), 200);
    }
    bed_stream(&diary.bed, watch, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    take_stream(&diary, "12");
    finish(&diary);
}

TEST(F22_any_other_failure_leads_to_a_list_at_once_and_to_a_stream_next_time) /* rules 78, 79 */
{
    static const struct {
        int status;
        const char *body;
    } answers[] = {
        {500, BED_STATUS(500, "InternalError")},
        {403, BED_STATUS(403, "Forbidden")},
        {200, BED_EVENT("ERROR", BED_STATUS(500, "InternalError"))},
        {200, BED_EVENT("ADDED", "{{")},
        {200, "<html>please log in</html>"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(answers); i++) {
        struct diary diary;
        begin_with(&diary, true);
        struct fake_request *stream = take_stream(&diary, "");
        if (answers[i].status == 200)
            bed_stream(&diary.bed, stream, answers[i].body);
        else
            bed_reply(&diary.bed, stream, answers[i].status, answers[i].body);
        bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200,
                  BED_MAPS("10", ));
        check_diary(&diary, "replace 10;");
        bed_stream(&diary.bed, take_plain_watch(&diary, "10"),
                   BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
        bed_pass(&diary.bed, 2 * PL_SECOND);
        take_stream(&diary, "10");
        finish(&diary);
    }
}

TEST(F22_a_stream_that_is_always_cut_gives_way_to_a_list)
{
    struct diary diary;
    begin_with(&diary, true);
    for (int i = 0; i < 2; i++) {
        struct fake_request *stream = take_stream(&diary, "");
        bed_stream(&diary.bed, stream, BED_EVENT("ADDED", BED_MAP("a", "1", "5", "")));
        if (i == 0)
            fake_end(stream);
        else
            fake_fail(stream, PL_ENETWORK, "ConnectionReset");
        bed_run(&diary.bed);
        if (i == 0)
            bed_pass(&diary.bed, 2 * PL_SECOND);
    }
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200, BED_MAPS("10", ));
    check_diary(&diary, "replace 10;");
    /* Rule 79: the next cycle streams again. */
    bed_stream(&diary.bed, take_plain_watch(&diary, "10"),
               BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    bed_pass(&diary.bed, 4 * PL_SECOND);
    take_stream(&diary, "10");
    finish(&diary);
}

TEST(a_version_that_cannot_be_streamed_is_dropped_at_once) /* rule 78, F10, F12 */
{
    static const struct {
        int status;
        const char *body;
    } answers[] = {{410, BED_STATUS(410, "Expired")}, {504, too_large}};
    for (size_t i = 0; i < PL_ARRAY_LEN(answers); i++) {
        struct diary diary;
        struct fake_request *stream = get_streaming(&diary);
        bed_stream(&diary.bed, stream, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
        bed_pass(&diary.bed, 2 * PL_SECOND);
        bed_reply(&diary.bed, take_stream(&diary, "10"), answers[i].status, answers[i].body);
        stream = take_stream(&diary, "");
        bed_stream(&diary.bed, stream, BED_INITIAL_END("4"));
        check_diary(&diary, "anew 4;");
        CHECK_SLICE(pl_reflector_rv(diary.reflector), "4");
        /* And if that fails too, a list, with pauses. */
        bed_stream(&diary.bed, stream, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
        bed_pass(&diary.bed, 4 * PL_SECOND);
        bed_reply(&diary.bed, take_stream(&diary, "4"), 410, BED_STATUS(410, "Expired"));
        bed_reply(&diary.bed, take_stream(&diary, ""), 410, BED_STATUS(410, "Expired"));
        bed_reply(&diary.bed, take_list(&diary, "limit=500"), 410, BED_STATUS(410, "Expired"));
        CHECK(bed_is_quiet(&diary.bed));
        finish(&diary);
    }
}

TEST(a_server_that_is_busy_or_away_is_asked_for_the_stream_again) /* rule 78 */
{
    struct diary diary;
    begin_with(&diary, true);
    bed_reply(&diary.bed, take_stream(&diary, ""), 429, BED_STATUS(429, "TooManyRequests"));
    CHECK(bed_is_quiet(&diary.bed));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    fake_fail(take_stream(&diary, ""), PL_ENETWORK, "ConnectionRefused");
    CHECK(bed_is_quiet(&diary.bed));
    bed_pass(&diary.bed, 4 * PL_SECOND);
    bed_stream(&diary.bed, take_stream(&diary, ""), BED_INITIAL_END("4"));
    check_diary(&diary, "replace 4;");
    finish(&diary);
}

TEST(an_end_that_is_older_than_what_we_have_is_asked_for_anew) /* F11, F27 */
{
    struct diary diary;
    struct fake_request *stream = get_streaming(&diary);
    bed_stream(&diary.bed, stream, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    bed_stream(&diary.bed, take_stream(&diary, "10"), BED_INITIAL_END("3"));
    check_diary(&diary, "");
    bed_pass(&diary.bed, 4 * PL_SECOND);
    bed_stream(&diary.bed, take_stream(&diary, ""), BED_INITIAL_END("3"));
    check_diary(&diary, "anew 3;");
    finish(&diary);
}

TEST(what_cannot_be_stored_is_streamed_again) /* rule 60 */
{
    struct diary diary;
    begin_with(&diary, true);
    diary.refuse = true;
    bed_stream(&diary.bed, take_stream(&diary, ""), BED_INITIAL_END("4"));
    CHECK_SLICE(pl_reflector_rv(diary.reflector), "");
    CHECK(bed_is_quiet(&diary.bed));
    bed_pass(&diary.bed, 2 * PL_SECOND);
    bed_stream(&diary.bed, take_stream(&diary, ""), BED_INITIAL_END("4"));
    check_diary(&diary, "replace 4;");
    finish(&diary);
}

TEST(a_stream_stops_at_any_moment)
{
    for (int moment = 0; moment < 4; moment++) {
        struct diary diary;
        begin_with(&diary, true);
        struct fake_request *stream = moment > 0 ? take_stream(&diary, "") : NULL;
        if (moment > 1)
            bed_stream(&diary.bed, stream, BED_EVENT("ADDED", BED_MAP("a", "1", "5", "")));
        if (moment > 2)
            fake_end(stream);
        finish(&diary);
    }
}

TEST_MAIN()
