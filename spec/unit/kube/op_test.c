#include "kube/client.h"

#include "base/alloc.h"
#include "harness.h"
#include "kube/status.h"
#include "value/scan.h"

#define POD                                                                                        \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"default\",\"name\":"    \
    "\"a\"}}"

TEST(an_answer_comes_once_and_not_from_inside_the_start)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, got_answer, &got);
    CHECK_INT(got.count, 0);
    struct fake_request *request =
        FAKE_EXPECT(&b.net, "GET", "/prefix/api/v1/namespaces/default/pods/a");
    CHECK_STR(fake_header(request, "user-agent"), "perilune/test");
    CHECK_STR(fake_header(request, "accept"), "application/json");
    CHECK_INT(request->request.timeout_ms, 30000);
    CHECK_INT(b.waits.count, 1);
    fake_reply(request, 200, POD);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.status, 200);
    CHECK_INT(got.err.code, 0);
    CHECK_STR(got.doc, POD);
    bench_deinit(&b);
    CHECK_INT(got.count, 1);
}

TEST(an_error_of_the_server_carries_its_status_document)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, got_answer, &got);
    fake_reply(
        fake_next(&b.net), 404,
        "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"pods \\\"a\\\" not found\"}");
    CHECK_INT(got.count, 1);
    CHECK(pl_err_is_not_found(&got.err));
    CHECK_STR(got.err.message, "pods \"a\" not found");
    CHECK(strstr(got.doc, "NotFound") != NULL);
    CHECK_INT(got.status, 404);
    bench_deinit(&b);
}

TEST(a_call_that_makes_no_request_is_an_error_told_later)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("");
    pl_client_start(b.client, &call, got_answer, &got);
    CHECK_INT(got.count, 0);
    bench_run(&b, 0);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_EINVAL);
    CHECK_INT(b.net.start_count, 0);
    bench_deinit(&b);
}

/* ---- text ---- */

static void ask_for_log(struct bench *b, struct got *got, bool takes_text, const char *type,
                        const char *body)
{
    struct pl_call call = get_call("a");
    call.subresource = pl_slice_z("log");
    call.takes_text = takes_text;
    pl_client_start(b->client, &call, got_answer, got);
    const struct pl_http_header header = {"content-type", type};
    struct fake_request *request = fake_next(&b->net);
    CHECK_STR(fake_header(request, "accept"),
              takes_text ? "application/json, */*" : "application/json");
    fake_reply_with(request, 200, &header, type != NULL, pl_slice_z(body));
}

TEST(an_answer_may_be_text_for_who_takes_it)
{
    static const struct {
        const char *type, *body;
        bool is_text;
    } cases[] = {
        {"text/plain", "one\ntwo\n", true},
        {"text/plain; charset=utf-8", "{\"a\":1}", true},
        {"text/plain", "", true},
        {NULL, "", true},
        {"application/json", "{\"a\":1}", false},
        {"application/json", "", false},
        {NULL, "{\"a\":1}", false},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct bench b;
        struct got got = {0};
        bench_init(&b);
        ask_for_log(&b, &got, true, cases[i].type, cases[i].body);
        CHECK_INT(got.err.code, 0);
        CHECK_INT(got.is_text, cases[i].is_text);
        CHECK_STR(got.doc, cases[i].body);
        bench_deinit(&b);
    }
}

TEST(text_is_no_answer_for_others_and_has_a_limit)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    ask_for_log(&b, &got, false, "text/plain", "one");
    CHECK_INT(got.err.code, PL_ESYNTAX);
    char *large = pl_malloc(PL_SCAN_BYTES + 2);
    memset(large, 'x', PL_SCAN_BYTES + 1);
    large[PL_SCAN_BYTES + 1] = '\0';
    ask_for_log(&b, &got, true, "text/plain", large);
    bench_run(&b, 0);
    CHECK_INT(got.err.code, PL_ELIMIT);
    CHECK(strstr(got.err.message, "/log: the text is longer than 16777216 bytes") != NULL);
    pl_free(large);
    bench_deinit(&b);
}

/* ---- retries: rule 152, fault test F40 ---- */

TEST(retry_after_is_waited_for_once_an_answer_for_reads_and_writes)
{
    static const enum pl_verb verbs[] = {PL_VERB_GET, PL_VERB_CREATE, PL_VERB_UPDATE, PL_VERB_PATCH,
                                         PL_VERB_DELETE};
    static const int codes[] = {429, 503, 500};
    struct pl_doc *body = pl_scan_text(pl_slice_z(POD), &(struct pl_scan_options){0}, NULL);
    for (size_t i = 0; i < PL_ARRAY_LEN(verbs); i++) {
        struct bench b;
        struct got got = {0};
        bench_init(&b);
        struct pl_call call = get_call("a");
        call.verb = verbs[i];
        if (verbs[i] >= PL_VERB_CREATE && verbs[i] != PL_VERB_DELETE)
            call.body = body;
        pl_client_start(b.client, &call, got_answer, &got);
        for (size_t k = 0; k < PL_ARRAY_LEN(codes); k++) {
            fake_reply_after(fake_next(&b.net), codes[k], "2", "busy");
            CHECK_INT(got.count, 0);
            bench_run(&b, 2 * PL_SECOND - 1);
            CHECK(fake_next(&b.net) == NULL);
            CHECK_INT(b.waits.count, 1);
            bench_run(&b, 1);
        }
        struct fake_request *last = fake_next(&b.net);
        REQUIRE(last != NULL);
        CHECK_INT(last->request.timeout_ms, 24000); /* the deadline is one for all attempts */
        fake_reply(last, 200, POD);
        CHECK_INT(got.count, 1);
        CHECK_INT(got.err.code, 0);
        bench_deinit(&b);
    }
    pl_doc_unref(body);
}

TEST(without_retry_after_the_answer_surfaces_at_once)
{
    struct bench b;
    bench_init(&b);
    static const int codes[] = {429, 503, 500, 504};
    for (size_t i = 0; i < PL_ARRAY_LEN(codes); i++) {
        struct got got = {0};
        struct pl_call call = get_call("a");
        pl_client_start(b.client, &call, got_answer, &got);
        fake_reply(fake_next(&b.net), codes[i], "busy");
        CHECK_INT(got.count, 1);
        CHECK_INT(got.err.status, codes[i]);
    }
    bench_deinit(&b);
}

TEST(other_codes_are_not_retried_whatever_they_say)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, got_answer, &got);
    fake_reply_after(fake_next(&b.net), 409, "1",
                     "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\"}");
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.retry_after_ms, 1000);
    bench_deinit(&b);
}

/* Fault test F12: the reflector changes its request; the same request would have the same
 * answer. */
TEST(a_version_that_is_too_large_surfaces_at_once)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = list_call();
    pl_client_start(b.client, &call, got_answer, &got);
    fake_reply_after(fake_next(&b.net), 504, "1",
                     "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"code\":504,\"details\":{"
                     "\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}}");
    CHECK_INT(got.count, 1);
    CHECK(pl_err_is_too_large_rv(&got.err));
    bench_deinit(&b);
}

TEST(at_most_ten_retries)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, got_answer, &got);
    for (int i = 0; i < 11; i++) {
        fake_reply_after(fake_next(&b.net), 429, "1", "busy");
        bench_run(&b, PL_SECOND);
    }
    CHECK_INT(b.net.start_count, 11);
    CHECK_INT(got.count, 1);
    CHECK(pl_err_is_too_many_requests(&got.err));
    bench_deinit(&b);
}

TEST(a_retry_after_beyond_the_deadline_surfaces_at_once)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, got_answer, &got);
    fake_reply_after(fake_next(&b.net), 503, "31", "busy");
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.status, 503);
    CHECK_INT(got.err.retry_after_ms, 31000);
    bench_deinit(&b);
}

TEST(the_deadline_holds_over_all_attempts)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    call.timeout_ns = 5 * PL_SECOND;
    pl_client_start(b.client, &call, got_answer, &got);
    fake_reply_after(fake_next(&b.net), 429, "3", "busy");
    bench_run(&b, 3 * PL_SECOND);
    struct fake_request *request = fake_next(&b.net);
    REQUIRE(request != NULL);
    CHECK_INT(request->request.timeout_ms, 2000);
    bench_run(&b, 2 * PL_SECOND);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_ETIMEOUT);
    bench_deinit(&b);
}

TEST(a_read_is_tried_again_on_a_fresh_connection_after_one_was_lost)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = list_call();
    pl_client_start(b.client, &call, got_answer, &got);
    struct fake_request *request = fake_next(&b.net);
    fake_stream(request, "{\"kind\":\"PodList\",\"items\":[" POD);
    fake_fail(request, PL_ENETWORK, "ConnectionReset");
    CHECK_INT(got.count, 0);
    bench_run(&b, PL_SECOND);
    request = fake_next(&b.net);
    REQUIRE(request != NULL);
    CHECK(request->request.fresh_connection);
    fake_reply(request, 200, "{\"kind\":\"PodList\",\"metadata\":{},\"items\":[" POD "]}");
    CHECK_INT(got.count, 1);
    CHECK_INT(got.items, 1); /* objects of the lost answer do not count */
    bench_deinit(&b);
}

TEST(a_write_is_not_repeated_after_a_lost_connection)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    call.verb = PL_VERB_DELETE;
    pl_client_start(b.client, &call, got_answer, &got);
    fake_fail(fake_next(&b.net), PL_ENETWORK, "ConnectionReset");
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_ENETWORK);
    bench_deinit(&b);
}

/* Fault test F18. */
TEST(a_write_that_the_server_did_not_look_at_is_sent_again)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    call.verb = PL_VERB_DELETE;
    pl_client_start(b.client, &call, got_answer, &got);
    fake_fail(fake_next(&b.net), PL_ENETWORK, "NotProcessed");
    bench_run(&b, 0);
    CHECK_INT(got.count, 0);
    struct fake_request *request = fake_next(&b.net);
    REQUIRE(request != NULL);
    CHECK(request->request.fresh_connection);
    CHECK_STR(request->request.method, "DELETE");
    fake_reply(request, 200, "{\"kind\":\"Status\",\"status\":\"Success\"}");
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, 0);
    bench_deinit(&b);
}

TEST(a_refused_connection_surfaces_at_once)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, got_answer, &got);
    fake_fail(fake_next(&b.net), PL_ENETWORK, "ConnectionRefused");
    CHECK_INT(got.count, 1);
    CHECK_STR(got.err.reason, "ConnectionRefused");
    bench_deinit(&b);
}

/* Fault test F17. */
TEST(after_a_timeout_the_lane_s_next_request_does_not_reuse_a_connection)
{
    struct bench b;
    struct got got = {0}, other = {0}, next = {0}, third = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, got_answer, &got);
    bench_run(&b, 30 * PL_SECOND);
    CHECK_INT(got.err.code, PL_ETIMEOUT);
    call.connection_lane = 1;
    pl_client_start(b.client, &call, got_answer, &other);
    fake_next(&b.net);
    CHECK(fake_next(&b.net) == NULL);
    call.connection_lane = 0;
    pl_client_start(b.client, &call, got_answer, &next);
    CHECK(fake_next(&b.net)->request.fresh_connection);
    pl_client_start(b.client, &call, got_answer, &third);
    CHECK(!fake_next(&b.net)->request.fresh_connection);
    bench_deinit(&b);
    CHECK_INT(third.err.code, PL_ECANCELED);
}

/* ---- cancelling, in each state ---- */

TEST(cancelled_while_under_way)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    struct pl_op *op = pl_client_start(b.client, &call, got_answer, &got);
    struct fake_request *request = fake_next(&b.net);
    pl_op_cancel(op);
    CHECK_INT(got.count, 0);
    CHECK(request->canceled);
    bench_run(&b, 0);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_ECANCELED);
    bench_deinit(&b);
    CHECK_INT(got.count, 1);
}

TEST(cancelled_while_the_answer_comes_in)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = list_call();
    struct pl_op *op = pl_client_start(b.client, &call, got_answer, &got);
    struct fake_request *request = fake_next(&b.net);
    fake_stream(request, "{\"items\":[" POD ",");
    pl_op_cancel(op);
    bench_run(&b, 0);
    CHECK_INT(got.err.code, PL_ECANCELED);
    CHECK_INT(got.items, 0);
    bench_deinit(&b);
}

TEST(cancelled_between_attempts)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    struct pl_op *op = pl_client_start(b.client, &call, got_answer, &got);
    fake_reply_after(fake_next(&b.net), 429, "5", "busy");
    pl_op_cancel(op);
    bench_run(&b, 10 * PL_SECOND);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_ECANCELED);
    CHECK_INT(b.net.start_count, 1);
    bench_deinit(&b);
}

TEST(cancelled_before_its_error_was_told)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("..");
    struct pl_op *op = pl_client_start(b.client, &call, got_answer, &got);
    pl_op_cancel(op);
    bench_run(&b, 0);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_ECANCELED);
    bench_deinit(&b);
}

TEST(destroying_the_client_ends_every_operation_before_it_returns)
{
    struct bench b;
    struct got sent = {0}, paused = {0}, wrong = {0};
    bench_init(&b);
    struct pl_call call = get_call("a"), bad = get_call("");
    pl_client_start(b.client, &call, got_answer, &paused);
    fake_reply_after(fake_next(&b.net), 429, "5", "busy");
    pl_client_start(b.client, &call, got_answer, &sent);
    pl_client_start(b.client, &bad, got_answer, &wrong);
    pl_client_destroy(b.client);
    b.client = NULL;
    CHECK_INT(sent.count + paused.count + wrong.count, 3);
    CHECK_INT(sent.err.code, PL_ECANCELED);
    CHECK_INT(paused.err.code, PL_ECANCELED);
    bench_deinit(&b);
}

static void destroy_client(void *arg, const struct pl_answer *answer)
{
    PL_UNUSED(answer);
    struct bench *b = arg;
    pl_client_destroy(b->client);
    b->client = NULL;
}

TEST(the_client_may_be_destroyed_by_an_answer)
{
    struct bench b;
    struct got other = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, destroy_client, &b);
    struct fake_request *request = fake_next(&b.net);
    pl_client_start(b.client, &call, got_answer, &other);
    fake_reply(request, 200, POD);
    CHECK(b.client == NULL);
    CHECK_INT(other.err.code, PL_ECANCELED);
    bench_deinit(&b);
}

/* ---- may_send ---- */

static bool ask(void *arg)
{
    int *answers = arg;
    return (*answers)-- > 0;
}

TEST(each_attempt_asks_whether_it_may_be_sent)
{
    struct bench b;
    struct got got = {0};
    int answers = 1;
    bench_init(&b);
    struct pl_call call = get_call("a");
    call.verb = PL_VERB_DELETE;
    call.may_send = ask;
    call.may_send_arg = &answers;
    pl_client_start(b.client, &call, got_answer, &got);
    fake_reply_after(fake_next(&b.net), 429, "1", "busy");
    bench_run(&b, PL_SECOND);
    CHECK(fake_next(&b.net) == NULL);
    bench_run(&b, 0);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_EREFUSED);
    bench_deinit(&b);
}

/* ---- answers ---- */

#define ITEM(n)                                                                                    \
    "{\"metadata\":{\"namespace\":\"d\",\"name\":\"p" n "\"},\"spec\":{\"nodeName\":\"\\u00e9\"}}"
#define LIST                                                                                       \
    "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\","         \
    "\"continue\":\"tok\",\"remainingItemCount\":4},\"items\":[" ITEM("1") "," ITEM("2") "]}"

TEST(a_list_comes_as_items_that_name_their_kind_and_the_list_without_them)
{
    for (size_t chunk = 1; chunk <= 64; chunk = chunk < 4 ? chunk + 1 : chunk * 2) {
        struct bench b;
        struct got got = {.keep = true};
        bench_init(&b);
        struct pl_call call = list_call();
        call.limit = 500;
        call.labels = pl_slice_z("app=web,tier!=db");
        pl_client_start(b.client, &call, got_answer, &got);
        struct fake_request *request = fake_next(&b.net);
        CHECK_STR(request->path,
                  "/prefix/api/v1/pods?labelSelector=app%3Dweb%2Ctier%21%3Ddb&limit=500");
        CHECK(request->request.long_response);
        fake_begin(request, 200);
        for (size_t at = 0; at < strlen(LIST); at += chunk) {
            size_t left = strlen(LIST) - at;
            fake_stream_bytes(request, pl_slice(LIST + at, left < chunk ? left : chunk));
        }
        fake_end(request);
        CHECK_INT(got.err.code, 0);
        CHECK_STR(got.keys, "d/p1 d/p2 ");
        CHECK_STR(got.doc,
                  "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{"
                  "\"resourceVersion\":\"9\",\"continue\":\"tok\",\"remainingItemCount\":4}}");
        REQUIRE(got.kept.count == 2);
        struct pl_node item = pl_doc_root(got.kept.items[1]);
        CHECK(pl_node_str_eq(pl_node_getz(item, "kind"), pl_slice_z("Pod")));
        CHECK(pl_node_str_eq(pl_node_getz(item, "apiVersion"), pl_slice_z("v1")));
        CHECK(pl_node_str_eq(pl_node_dig(item, "spec", "nodeName"), pl_slice_z("\xc3\xa9")));
        pl_docs_deinit(&got.kept);
        bench_deinit(&b);
    }
}

TEST(metadata_only_asks_for_partial_objects_and_gives_them_the_kind_they_belong_to)
{
    struct bench b;
    struct got got = {.keep = true};
    bench_init(&b);
    struct pl_call call = list_call();
    call.metadata_only = true;
    pl_client_start(b.client, &call, got_answer, &got);
    struct fake_request *request = fake_next(&b.net);
    CHECK(strstr(fake_header(request, "accept"), "as=PartialObjectMetadataList;") != NULL);
    fake_reply(
        request, 200,
        "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"items\":["
        "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
        "\"metadata\":{\"name\":\"a\"}}]}");
    REQUIRE(got.kept.count == 1);
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, pl_doc_root(got.kept.items[0]), PL_WRITE_COMPACT);
    CHECK_STR(pl_buf_z(&text),
              "{\"metadata\":{\"name\":\"a\"},\"apiVersion\":\"v1\",\"kind\":\"Pod\"}");
    pl_buf_deinit(&text);
    pl_docs_deinit(&got.kept);
    bench_deinit(&b);
}

TEST(single_objects_have_a_kind_also_where_the_server_leaves_it_out)
{
    static const struct {
        enum pl_verb verb;
        bool metadata_only;
        const char *body, *want;
    } cases[] = {
        {PL_VERB_GET, false, "{\"spec\":{}}",
         "{\"spec\":{},\"apiVersion\":\"v1\",\"kind\":\"Pod\"}"},
        {PL_VERB_GET, false, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}",
         "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}"},
        {PL_VERB_GET, true,
         "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\"}",
         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}"},
        {PL_VERB_DELETE, false, "{\"kind\":\"Status\",\"apiVersion\":\"v1\"}",
         "{\"kind\":\"Status\",\"apiVersion\":\"v1\"}"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct bench b;
        struct got got = {0};
        bench_init(&b);
        struct pl_call call = get_call("a");
        call.verb = cases[i].verb;
        call.metadata_only = cases[i].metadata_only;
        pl_client_start(b.client, &call, got_answer, &got);
        fake_reply(fake_next(&b.net), 200, cases[i].body);
        bench_run(&b, 0);
        CHECK_INT(got.err.code, 0);
        CHECK_STR(got.doc, cases[i].want);
        bench_deinit(&b);
    }
}

TEST(what_is_no_answer_of_an_api_server_is_named)
{
    static const struct {
        const char *content_type, *body, *says;
    } cases[] = {
        {"text/html", "<html><body>Please log in</body></html>", "HTML"},
        {"text/html", "<html>", "text/html"},
        {"text/plain", "hello", "hello"},
        {"application/json", "{\"kind\":\"Pod\"", "answer to GET"},
        {"application/json", "{\"kind\":\"Pod\"}{}", "more than one"},
        {"application/json", "{\"kind\":\"Table\",\"rows\":[]}", "Table"}, /* rule 56 */
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct bench b;
        struct got got = {0};
        bench_init(&b);
        struct pl_call call = get_call("a");
        pl_client_start(b.client, &call, got_answer, &got);
        const struct pl_http_header header = {"content-type", cases[i].content_type};
        fake_reply_with(fake_next(&b.net), 200, &header, 1, pl_slice_z(cases[i].body));
        bench_run(&b, 0);
        CHECK_INT(got.count, 1);
        CHECK_INT(got.err.code, PL_ESYNTAX);
        if (strstr(got.err.message, cases[i].says) == NULL)
            TEST_FAIL("%s: not in \"%s\"", cases[i].says, got.err.message);
        bench_deinit(&b);
    }
}

TEST(a_list_that_is_a_table_or_a_status_is_refused)
{
    static const struct {
        const char *body;
        int code;
    } cases[] = {
        {"{\"kind\":\"Table\",\"rows\":[]}", PL_ESYNTAX},
        {"{\"kind\":\"Status\",\"status\":\"Success\"}", PL_ESYNTAX},
        {"{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410}", PL_EAPI},
        {"[]", PL_ESYNTAX},
        {"", PL_ESYNTAX},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct bench b;
        struct got got = {0};
        bench_init(&b);
        struct pl_call call = list_call();
        pl_client_start(b.client, &call, got_answer, &got);
        fake_reply(fake_next(&b.net), 200, cases[i].body);
        bench_run(&b, 0);
        CHECK_INT(got.count, 1);
        if (got.err.code != cases[i].code)
            TEST_FAIL("%s: %s %s", cases[i].body, pl_code_name(got.err.code), got.err.message);
        bench_deinit(&b);
    }
}

TEST(a_document_over_the_limit_is_refused_and_the_request_ended)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, got_answer, &got);
    struct fake_request *request = fake_next(&b.net);
    fake_stream(request, "{\"data\":[");
    char *piece = pl_malloc(1 << 20);
    memset(piece, ' ', 1 << 20);
    memcpy(piece, "\"", 1);
    memcpy(piece + (1 << 20) - 2, "\",", 2);
    for (int i = 0; i < 40 && !request->done; i++) {
        fake_stream_bytes(request, pl_slice(piece, 1 << 20));
        bench_run(&b, 0);
    }
    pl_free(piece);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_ELIMIT);
    bench_deinit(&b);
}

TEST(an_empty_answer_is_a_success_without_a_document)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    call.verb = PL_VERB_DELETE;
    pl_client_start(b.client, &call, got_answer, &got);
    fake_reply(fake_next(&b.net), 200, "");
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, 0);
    CHECK_STR(got.doc, "");
    bench_deinit(&b);
}

/* ---- the client-side limit ---- */

TEST(the_rate_limit_spaces_requests_and_counts_retries)
{
    struct bench b;
    struct got got[4] = {0};
    bench_prepare(&b);
    b.options.qps = 2;
    b.options.burst = 2;
    bench_start(&b);
    struct pl_call call = get_call("a");
    for (int i = 0; i < 4; i++)
        pl_client_start(b.client, &call, got_answer, &got[i]);
    CHECK_INT(b.net.start_count, 2);
    bench_run(&b, 500 * PL_MS);
    CHECK_INT(b.net.start_count, 3);
    bench_run(&b, 500 * PL_MS);
    CHECK_INT(b.net.start_count, 4);
    fake_reply_after(fake_next(&b.net), 429, "0", "busy");
    bench_run(&b, 499 * PL_MS);
    CHECK_INT(b.net.start_count, 4);
    bench_run(&b, 1 * PL_MS);
    CHECK_INT(b.net.start_count, 5);
    bench_deinit(&b);
}

TEST(a_lane_of_its_own_and_watches_are_not_limited)
{
    struct bench b;
    struct got got[3] = {0};
    bench_prepare(&b);
    b.options.qps = 0.1;
    b.options.burst = 1;
    bench_start(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, got_answer, &got[0]);
    call.connection_lane = 1;
    pl_client_start(b.client, &call, got_answer, &got[1]);
    pl_client_start(b.client, &call, got_answer, &got[2]);
    CHECK_INT(b.net.start_count, 3);
    bench_deinit(&b);
}

TEST(a_delay_past_the_deadline_fails_at_once_and_says_why)
{
    struct bench b;
    struct got first = {0}, got = {0};
    bench_prepare(&b);
    b.options.qps = 0.01;
    b.options.burst = 1;
    bench_start(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, got_answer, &first);
    pl_client_start(b.client, &call, got_answer, &got);
    bench_run(&b, 0);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_ETIMEOUT);
    CHECK(strstr(got.err.message, "rate limit") != NULL);
    bench_deinit(&b);
}

TEST(cancelled_while_the_limit_holds_it)
{
    struct bench b;
    struct got first = {0}, got = {0};
    bench_prepare(&b);
    b.options.qps = 0.1;
    b.options.burst = 1;
    bench_start(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, got_answer, &first);
    pl_op_cancel(pl_client_start(b.client, &call, got_answer, &got));
    bench_run(&b, 20 * PL_SECOND);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_ECANCELED);
    CHECK_INT(b.net.start_count, 1);
    bench_deinit(&b);
}

TEST(requests_are_counted_by_code_method_and_host)
{
    struct bench b;
    struct got got = {0};
    bench_init(&b);
    struct pl_call call = get_call("a");
    pl_client_start(b.client, &call, got_answer, &got);
    fake_reply_after(fake_next(&b.net), 429, "1", "busy");
    bench_run(&b, PL_SECOND);
    fake_reply(fake_next(&b.net), 200, POD);
    pl_client_start(b.client, &call, got_answer, &got);
    fake_fail(fake_next(&b.net), PL_ENETWORK, "ConnectionRefused");
    struct pl_buf page = PL_BUF_INIT;
    pl_metrics_write(b.metrics, &page);
    static const char *const lines[] = {
        "rest_client_requests_total{code=\"429\",method=\"GET\",host=\"api:6443\"} 1",
        "rest_client_requests_total{code=\"200\",method=\"GET\",host=\"api:6443\"} 1",
        "rest_client_requests_total{code=\"<error>\",method=\"GET\",host=\"api:6443\"} 1",
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(lines); i++) {
        if (strstr(pl_buf_z(&page), lines[i]) == NULL)
            TEST_FAIL("no %s in\n%s", lines[i], pl_buf_z(&page));
    }
    pl_buf_deinit(&page);
    bench_deinit(&b);
}

TEST_MAIN()
