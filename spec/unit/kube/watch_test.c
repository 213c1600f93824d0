#include "kube/status.h"
#include "watch_diary.h"

static struct fake_request *start(struct bench *b, struct diary *diary)
{
    struct pl_watch_call call = {
        .resource = &pods,
        .rv = pl_slice_z("4"),
        .timeout_seconds = 300,
        .silence_ns = 150 * PL_SECOND,
    };
    diary->bench = b;
    diary->watch = pl_client_watch(b->client, &call, &ops, diary);
    struct fake_request *request = fake_next(&b->net);
    REQUIRE(request != NULL);
    return request;
}

static const char stream[] = EVENT("ADDED", "p\xc3\xa9", "5") EVENT("MODIFIED", "p\\u00e9", "6")
    EVENT("DELETED", "b", "7") "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":"
                               "\"v1\",\"metadata\":{"
                               "\"name\":\"x\",\"resourceVersion\":\"8\"}}}\n" EVENT("SOMETHING",
                                                                                     "c", "9");
static const char stream_diary[] =
    "open;ADDED d/p\xc3\xa9@5;MODIFIED d/p\xc3\xa9@6;DELETED d/b@7;BOOKMARK x@8;? d/c@9;end ok";

TEST(the_request_asks_for_bookmarks_from_a_version_and_for_a_time)
{
    struct bench b;
    struct diary diary = {0};
    bench_init(&b);
    struct fake_request *request = start(&b, &diary);
    CHECK_STR(request->path, "/prefix/api/v1/pods?watch=true&allowWatchBookmarks=true"
                             "&resourceVersion=4&timeoutSeconds=300");
    CHECK_INT(request->request.silence_ms, 150000);
    CHECK_INT(request->request.timeout_ms, 330000);
    CHECK(request->request.long_response);
    bench_deinit(&b);
    CHECK_STR(pl_buf_z(&diary.text), "end ECANCELED");
    pl_buf_deinit(&diary.text);
}

TEST(a_watch_list_asks_for_the_initial_events)
{
    struct bench b;
    struct diary diary = {0};
    bench_init(&b);
    struct pl_watch_call call = {.resource = &deployments,
                                 .ns = pl_slice_z("ns"),
                                 .fields = pl_slice_z("metadata.name=a"),
                                 .initial_events = true,
                                 .metadata_only = true};
    pl_client_watch(b.client, &call, &ops, &diary);
    struct fake_request *request = fake_next(&b.net);
    CHECK_STR(request->path, "/prefix/apis/apps/v1/namespaces/ns/deployments?watch=true"
                             "&allowWatchBookmarks=true&fieldSelector=metadata.name%3Da"
                             "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    CHECK(strstr(fake_header(request, "accept"), "as=PartialObjectMetadata;") != NULL);
    bench_deinit(&b);
    pl_buf_deinit(&diary.text);
}

/* The members of an event come in any order; a Status is always a Status. */
TEST(partial_metadata_carries_the_kind_it_is_of)
{
    static const char partial[] =
        "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
        "\"namespace\":\"d\",\"name\":\"a\",\"resourceVersion\":\"5\"}}";
    struct bench b;
    struct diary diary = {0};
    bench_init(&b);
    struct pl_watch_call call = {.resource = &pods, .metadata_only = true};
    pl_client_watch(b.client, &call, &ops, &diary);
    struct fake_request *request = fake_next(&b.net);
    struct pl_buf events = PL_BUF_INIT;
    pl_buf_add_f(&events, "{\"type\":\"ADDED\",\"object\":%s}", partial);
    pl_buf_add_f(&events, "{\"object\":%s,\"type\":\"ADDED\"}", partial);
    pl_buf_add_z(&events,
                 "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"message\":\"m\"}}");
    fake_stream_bytes(request, pl_buf_slice(&events));
    CHECK_STR(pl_buf_z(&diary.text), "open;ADDED d/a@5;ADDED d/a@5;ERROR m@;");
    pl_buf_deinit(&events);
    bench_deinit(&b);
    pl_buf_deinit(&diary.text);
}

/* Fault test F23. */
TEST(events_are_whole_wherever_the_stream_is_cut)
{
    for (size_t cut = 0; cut <= strlen(stream); cut++) {
        struct bench b;
        struct diary diary = {0};
        bench_init(&b);
        struct fake_request *request = start(&b, &diary);
        fake_begin(request, 200);
        fake_stream_bytes(request, pl_slice(stream, cut));
        fake_stream_bytes(request, pl_slice(stream + cut, strlen(stream) - cut));
        fake_end(request);
        if (strcmp(pl_buf_z(&diary.text), stream_diary) != 0)
            TEST_FAIL("cut at %zu: %s", cut, pl_buf_z(&diary.text));
        pl_buf_deinit(&diary.text);
        bench_deinit(&b);
    }
}

TEST(events_come_byte_by_byte_as_soon_as_each_is_complete)
{
    struct bench b;
    struct diary diary = {0};
    bench_init(&b);
    struct fake_request *request = start(&b, &diary);
    const char *first = EVENT("ADDED", "a", "5");
    fake_begin(request, 200);
    for (size_t i = 0; i + 2 < strlen(first); i++)
        fake_stream_bytes(request, pl_slice(first + i, 1));
    CHECK_STR(pl_buf_z(&diary.text), "open;");
    fake_stream(request, "}");
    CHECK_STR(pl_buf_z(&diary.text), "open;ADDED d/a@5;");
    bench_deinit(&b);
    pl_buf_deinit(&diary.text);
}

/* Rule 73: the end of the stream, also inside an event, is no failure. */
TEST(an_event_cut_off_by_the_end_is_dropped_in_silence)
{
    struct bench b;
    struct diary diary = {0};
    bench_init(&b);
    struct fake_request *request = start(&b, &diary);
    fake_stream(request, EVENT("ADDED", "a", "5") "{\"type\":\"ADD");
    fake_end(request);
    CHECK_STR(pl_buf_z(&diary.text), "open;ADDED d/a@5;end ok");
    bench_deinit(&b);
    pl_buf_deinit(&diary.text);
}

TEST(a_lost_connection_and_silence_are_told_apart_from_a_normal_end)
{
    struct bench b;
    struct diary lost = {0}, silent = {0};
    bench_init(&b);
    struct fake_request *request = start(&b, &lost);
    fake_stream(request, EVENT("ADDED", "a", "5"));
    fake_fail(request, PL_ENETWORK, "ConnectionReset");
    CHECK_STR(pl_buf_z(&lost.text), "open;ADDED d/a@5;end ENETWORK");
    request = start(&b, &silent);
    CHECK(request->request.fresh_connection);
    fake_begin(request, 200);
    bench_run(&b, 100 * PL_SECOND);
    fake_stream(request, EVENT("ADDED", "a", "5"));
    bench_run(&b, 149 * PL_SECOND);
    CHECK_INT(silent.ends, 0);
    bench_run(&b, 1 * PL_SECOND);
    CHECK_STR(pl_buf_z(&silent.text), "open;ADDED d/a@5;end ETIMEOUT");
    CHECK_STR(silent.err.reason, "Silence");
    bench_deinit(&b);
    pl_buf_deinit(&lost.text);
    pl_buf_deinit(&silent.text);
}

TEST(a_server_that_does_not_open_is_given_up)
{
    struct bench b;
    struct diary diary = {0};
    bench_init(&b);
    struct fake_request *request = start(&b, &diary);
    bench_run(&b, 30 * PL_SECOND);
    CHECK_STR(pl_buf_z(&diary.text), "end ETIMEOUT");
    CHECK(request->canceled);
    pl_buf_deinit(&diary.text);
    diary = (struct diary){0};
    CHECK(start(&b, &diary)->request.fresh_connection);
    bench_deinit(&b);
    pl_buf_deinit(&diary.text);
}

/* Fault test F9, all three ways. */
TEST(gone_comes_as_http_status_or_as_an_event)
{
    struct bench b;
    struct diary http = {0}, event = {0};
    bench_init(&b);
    fake_reply(start(&b, &http), 410,
               "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410,"
               "\"message\":\"too old resource version: 4 (9)\"}");
    CHECK_STR(pl_buf_z(&http.text), "end EAPI");
    CHECK(pl_err_is_expired(&http.err));
    struct fake_request *request = start(&b, &event);
    fake_stream(request,
                "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
                "\"metadata\":{},\"code\":410,\"reason\":\"Gone\",\"message\":\"old\"}}\n");
    fake_end(request);
    CHECK_STR(pl_buf_z(&event.text), "open;ERROR old@;end ok");
    bench_deinit(&b);
    pl_buf_deinit(&http.text);
    pl_buf_deinit(&event.text);
}

TEST(too_many_requests_when_opening_says_when_to_come_back)
{
    struct bench b;
    struct diary diary = {0};
    bench_init(&b);
    fake_reply_after(start(&b, &diary), 429, "7", "{\"kind\":\"Status\",\"code\":429}");
    CHECK(pl_err_is_too_many_requests(&diary.err));
    CHECK_INT(diary.err.retry_after_ms, 7000);
    CHECK_INT(b.net.start_count, 1);
    bench_deinit(&b);
    pl_buf_deinit(&diary.text);
}

TEST(a_200_that_is_no_watch_stream_is_named)
{
    static const struct {
        const char *content_type, *body, *says;
    } cases[] = {
        {"text/html", "<html>log in</html>", "HTML"},
        {"application/json", "<html>log in</html>", "<html>"},
        {"application/json", "{\"kind\":\"PodList\",\"items\":[]}", "PodList"},
        {"application/json", "[1]", "watch of /api/v1/pods"},
        {"application/json", "hello", "hello"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct bench b;
        struct diary diary = {0};
        bench_init(&b);
        const struct pl_http_header header = {"content-type", cases[i].content_type};
        fake_reply_with(start(&b, &diary), 200, &header, 1, pl_slice_z(cases[i].body));
        bench_run(&b, 0);
        CHECK_INT(diary.ends, 1);
        CHECK_INT(diary.err.code, PL_ESYNTAX);
        if (strstr(diary.err.message, cases[i].says) == NULL)
            TEST_FAIL("%s: not in \"%s\"", cases[i].says, diary.err.message);
        bench_deinit(&b);
        pl_buf_deinit(&diary.text);
    }
}

TEST(a_bad_event_ends_the_watch_after_those_before_it)
{
    struct bench b;
    struct diary diary = {0};
    bench_init(&b);
    struct fake_request *request = start(&b, &diary);
    fake_stream(request, EVENT("ADDED", "a", "5") "{\"type\":\"ADDED\",\"object\":{,}}\n");
    bench_run(&b, 0);
    CHECK_STR(pl_buf_z(&diary.text), "open;ADDED d/a@5;end ESYNTAX");
    bench_deinit(&b);
    pl_buf_deinit(&diary.text);
}

/* Fault test F24: refused loudly. */
TEST(an_event_over_the_limit_ends_the_watch_and_names_the_limit)
{
    struct bench b;
    struct diary diary = {0};
    bench_init(&b);
    struct fake_request *request = start(&b, &diary);
    static char piece[1 << 20];
    memset(piece, 'x', sizeof piece);
    fake_stream(request, "{\"type\":\"ADDED\",\"object\":{\"data\":\"");
    for (int i = 0; i < 20 && diary.ends == 0; i++) {
        fake_stream_bytes(request, pl_slice(piece, sizeof piece));
        bench_run(&b, 0);
    }
    CHECK_INT(diary.err.code, PL_ELIMIT);
    CHECK(strstr(diary.err.message, "16777216") != NULL);
    bench_deinit(&b);
    pl_buf_deinit(&diary.text);
}

TEST(a_3_mib_object_is_delivered)
{
    struct bench b;
    struct diary diary = {0};
    bench_init(&b);
    struct fake_request *request = start(&b, &diary);
    static char piece[3 << 20];
    memset(piece, 'x', sizeof piece);
    fake_stream(request,
                "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"big\"},\"data\":\"");
    fake_stream_bytes(request, pl_slice(piece, sizeof piece));
    fake_stream(request, "\"}}\n");
    CHECK_STR(pl_buf_z(&diary.text), "open;MODIFIED big@;");
    bench_deinit(&b);
    pl_buf_deinit(&diary.text);
}

TEST(cancelled_before_it_opened_while_open_and_from_inside_an_event)
{
    struct bench b;
    struct diary opening = {0}, open = {0}, inside = {.cancel_at = 2};
    bench_init(&b);
    start(&b, &opening);
    pl_watch_cancel(opening.watch);
    CHECK_INT(opening.ends, 0);
    struct fake_request *request = start(&b, &open);
    fake_stream(request, EVENT("ADDED", "a", "5"));
    pl_watch_cancel(open.watch);
    fake_stream(request, EVENT("ADDED", "b", "6"));
    request = start(&b, &inside);
    fake_stream(request,
                EVENT("ADDED", "a", "5") EVENT("ADDED", "b", "6") EVENT("ADDED", "c", "7"));
    CHECK_INT(inside.ends, 0);
    bench_run(&b, 0);
    CHECK_STR(pl_buf_z(&opening.text), "end ECANCELED");
    CHECK_STR(pl_buf_z(&open.text), "open;ADDED d/a@5;end ECANCELED");
    CHECK_STR(pl_buf_z(&inside.text), "open;ADDED d/a@5;ADDED d/b@6;end ECANCELED");
    bench_deinit(&b);
    pl_buf_deinit(&opening.text);
    pl_buf_deinit(&open.text);
    pl_buf_deinit(&inside.text);
}

TEST(the_client_may_be_destroyed_from_inside_an_event)
{
    struct bench b;
    struct diary diary = {.destroy_at = 1};
    bench_init(&b);
    struct fake_request *request = start(&b, &diary);
    fake_stream(request, EVENT("ADDED", "a", "5") EVENT("ADDED", "b", "6"));
    CHECK_STR(pl_buf_z(&diary.text), "open;ADDED d/a@5;end ECANCELED");
    bench_deinit(&b);
    CHECK_INT(diary.ends, 1);
    pl_buf_deinit(&diary.text);
}

/* ---- signs of life (rule 154) ---- */

static void prepare_probing(struct bench *b)
{
    bench_prepare(b);
    b->options.probe_ns = 30 * PL_SECOND;
    bench_start(b);
}

TEST(a_silent_watch_makes_the_client_ask_and_an_answer_is_enough)
{
    struct bench b;
    struct diary diary = {0};
    prepare_probing(&b);
    struct fake_request *watch = start(&b, &diary);
    fake_begin(watch, 200);
    bench_run(&b, 20 * PL_SECOND);
    fake_stream(watch, EVENT("ADDED", "a", "5"));
    bench_run(&b, 30 * PL_SECOND - 1);
    CHECK(fake_next(&b.net) == NULL);
    for (int i = 0; i < 2; i++) {
        bench_run(&b, 1);
        struct fake_request *probe = FAKE_EXPECT(&b.net, "GET", "/prefix/version");
        CHECK_INT(probe->request.timeout_ms, 15000);
        bench_run(&b, 14 * PL_SECOND);
        fake_reply(probe, i == 1 ? 403 : 200, "{}"); /* a refusal is a sign of life, too */
        bench_run(&b, 30 * PL_SECOND - 1);
    }
    CHECK_INT(diary.ends, 0);
    bench_deinit(&b);
    pl_buf_deinit(&diary.text);
}

TEST(without_a_sign_of_life_the_watches_that_stayed_silent_end)
{
    struct bench b;
    struct diary dead = {0}, alive = {0}, opening = {0};
    prepare_probing(&b);
    fake_begin(start(&b, &dead), 200);
    struct fake_request *live = start(&b, &alive);
    fake_begin(live, 200);
    bench_run(&b, 30 * PL_SECOND);
    FAKE_EXPECT(&b.net, "GET", "/prefix/version");
    fake_stream(live, " ");
    start(&b, &opening);
    fake_stream(live, EVENT("ADDED", "a", "5"));
    bench_run(&b, 1 * PL_SECOND);
    fake_stream(live, " ");
    bench_run(&b, 14 * PL_SECOND);
    CHECK_STR(pl_buf_z(&dead.text), "open;end ETIMEOUT");
    CHECK_STR(dead.err.reason, "Silence");
    CHECK_INT(alive.ends, 0);
    CHECK_INT(opening.ends, 0);
    bench_deinit(&b);
    pl_buf_deinit(&dead.text);
    pl_buf_deinit(&alive.text);
    pl_buf_deinit(&opening.text);
}

TEST(no_watch_no_questions)
{
    struct bench b;
    struct diary diary = {0};
    prepare_probing(&b);
    struct fake_request *watch = start(&b, &diary);
    fake_begin(watch, 200);
    fake_end(watch);
    bench_run(&b, 600 * PL_SECOND);
    CHECK_INT(b.net.start_count, 1);
    CHECK(!pl_timers_next(&b.timers, &(int64_t){0}));
    bench_deinit(&b);
    pl_buf_deinit(&diary.text);
}

TEST(destroyed_while_it_asks)
{
    struct bench b;
    struct diary diary = {0};
    prepare_probing(&b);
    fake_begin(start(&b, &diary), 200);
    bench_run(&b, 31 * PL_SECOND);
    FAKE_EXPECT(&b.net, "GET", "/prefix/version");
    bench_deinit(&b);
    CHECK_STR(pl_buf_z(&diary.text), "open;end ECANCELED");
    pl_buf_deinit(&diary.text);
}

TEST(a_namespace_for_a_cluster_scoped_kind_is_an_error_told_later)
{
    struct bench b;
    struct diary diary = {0};
    bench_init(&b);
    struct pl_watch_call call = {.resource = &nodes, .ns = pl_slice_z("ns")};
    pl_client_watch(b.client, &call, &ops, &diary);
    CHECK_INT(diary.ends, 0);
    bench_run(&b, 0);
    CHECK_INT(diary.err.code, PL_EINVAL);
    bench_deinit(&b);
    pl_buf_deinit(&diary.text);
}

TEST_MAIN()
