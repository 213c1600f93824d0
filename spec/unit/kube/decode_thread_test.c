#include "kube/decode_thread.h"

#include "support/turn.h"
#include "watch_diary.h"

/* A client whose large answers are decoded by a thread; the test is the loop's thread. */
struct apart {
    struct bench b;
    struct pl_loop *loop;
    struct pl_decode_thread *thread;
    /* The answers, in their order. */
    struct {
        int code, status;
        size_t items;
        char first[64], last[64], doc[256];
    } got[8];
    int count;
    struct pl_op *next; /* of the latest answer */
};

static void apart_init(struct apart *a)
{
    memset(a, 0, sizeof *a);
    bench_prepare(&a->b);
    a->loop = pl_loop_create(&a->b.clock.clock);
    a->b.options.decode_thread = a->thread = pl_decode_thread_create(a->loop);
    bench_start(&a->b);
}

/* In the order of a host's end: the client first. */
static void apart_deinit(struct apart *a)
{
    pl_client_destroy(a->b.client);
    a->b.client = NULL;
    pl_decode_thread_destroy(a->thread);
    bench_deinit(&a->b);
    pl_loop_destroy(a->loop);
}

static void name_of(const struct pl_doc *doc, char out[64])
{
    struct pl_scratch scratch;
    struct pl_slice name = pl_node_str(pl_node_dig(pl_doc_root(doc), "metadata", "name"), &scratch);
    snprintf(out, 64, "%.*s", PL_FMT(name));
}

static void on_answer(void *arg, const struct pl_answer *answer)
{
    struct apart *a = arg;
    int i = a->count++;
    REQUIRE(i < (int)PL_ARRAY_LEN(a->got));
    a->got[i].code = answer->err != NULL ? answer->err->code : 0;
    a->got[i].status = answer->status;
    a->next = answer->next;
    if (answer->err != NULL)
        return;
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, pl_doc_root(answer->doc), PL_WRITE_COMPACT);
    snprintf(a->got[i].doc, sizeof a->got[i].doc, "%s", pl_buf_z(&text));
    pl_buf_deinit(&text);
    a->got[i].items = answer->items->count;
    if (answer->items->count == 0)
        return;
    name_of(answer->items->items[0], a->got[i].first);
    name_of(answer->items->items[answer->items->count - 1], a->got[i].last);
}

static struct pl_op *list_pods(struct apart *a)
{
    struct pl_call call = list_call();
    call.large = true;
    call.limit = 500;
    call.rv = pl_slice_z("0");
    call.labels = pl_slice_z("a=b");
    return pl_client_start(a->b.client, &call, on_answer, a);
}

#define FIRST_PAGE "/prefix/api/v1/pods?labelSelector=a%3Db&limit=500&resourceVersion=0"
#define NEXT_PAGE  "/prefix/api/v1/pods?labelSelector=a%3Db&limit=500&continue="

/* Pods from..to-1, of a page that ends where the next one begins ("": it is the last). */
static void write_page(struct pl_buf *out, int from, int to, const char *next)
{
    pl_buf_add_f(out, "{\"kind\":\"PodList\",\"metadata\":{\"continue\":\"%s\"},\"items\":[", next);
    for (int i = from; i < to; i++)
        pl_buf_add_f(out, "%s{\"metadata\":{\"name\":\"p%d\",\"uid\":\"u%d\",\"labels\":%s}}",
                     i > from ? "," : "", i, i, "{\"app\":\"some application\"}");
    pl_buf_add_z(out, "]}");
}

static void stream_pieces(struct fake_request *request, const struct pl_buf *text, size_t from,
                          size_t size)
{
    for (size_t at = from; at < text->len; at += size) {
        size_t len = text->len - at < size ? text->len - at : size;
        fake_stream_bytes(request, pl_slice(text->ptr + at, len));
    }
}

TEST(a_list_comes_whole_and_in_order_in_whatever_pieces)
{
    struct apart a;
    apart_init(&a);
    struct pl_buf text = PL_BUF_INIT;
    write_page(&text, 0, 3000, "");
    for (int round = 0; round < 2; round++) {
        list_pods(&a);
        struct fake_request *request = FAKE_EXPECT(&a.b.net, "GET", FIRST_PAGE);
        stream_pieces(request, &text, 0, round == 0 ? 777 : text.len);
        fake_end(request);
        TURN_UNTIL(a.loop, a.count == round + 1);
        CHECK_INT(a.got[round].code, 0);
        CHECK_INT(a.got[round].status, 200);
        CHECK_INT(a.got[round].items, 3000);
        CHECK_STR(a.got[round].first, "p0");
        CHECK_STR(a.got[round].last, "p2999");
        CHECK_STR(a.got[round].doc, "{\"kind\":\"PodList\",\"metadata\":{\"continue\":\"\"}}");
        CHECK(a.next == NULL);
    }
    pl_buf_deinit(&text);
    apart_deinit(&a);
}

TEST(more_text_than_may_wait_comes_all_the_same)
{
    struct apart a;
    apart_init(&a);
    struct pl_buf text = PL_BUF_INIT;
    write_page(&text, 0, 300000, "");
    CHECK(text.len > (size_t)16 << 20);
    list_pods(&a);
    struct fake_request *request = fake_next(&a.b.net);
    stream_pieces(request, &text, 0, 128 << 10);
    fake_end(request);
    TURN_UNTIL(a.loop, a.count == 1);
    CHECK_INT(a.got[0].items, 300000);
    CHECK_STR(a.got[0].last, "p299999");
    pl_buf_deinit(&text);
    apart_deinit(&a);
}

TEST(what_cannot_be_decoded_is_an_error)
{
    static const char *const bodies[] = {
        "{\"kind\":\"PodList\",\"items\":[{\"a\":}]}",
        "{\"kind\":\"PodList\",\"items\":[{}",
        "<html>",
        "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no\"}",
    };
    struct apart a;
    apart_init(&a);
    for (int i = 0; i < (int)PL_ARRAY_LEN(bodies); i++) {
        list_pods(&a);
        struct fake_request *request = fake_next(&a.b.net);
        fake_stream(request, bodies[i]);
        fake_end(request);
        TURN_UNTIL(a.loop, (bench_run(&a.b, 0), a.count == i + 1));
        CHECK_INT(a.got[i].code, i < 3 ? PL_ESYNTAX : PL_EAPI);
    }
    apart_deinit(&a);
}

TEST(an_error_in_the_middle_ends_the_request)
{
    struct apart a;
    apart_init(&a);
    list_pods(&a);
    struct fake_request *request = fake_next(&a.b.net);
    fake_stream(request, "{\"kind\":\"PodList\",\"items\":[nonsense");
    while (!request->done) { /* it is reported with a later piece */
        fake_stream(request, " ");
        bench_run(&a.b, 0);
    }
    CHECK_INT(request->done_code, PL_ESYNTAX);
    TURN_UNTIL(a.loop, a.count == 1);
    CHECK_INT(a.got[0].code, PL_ESYNTAX);
    apart_deinit(&a);
}

TEST(the_next_page_is_asked_for_while_one_is_decoded) /* rule 55: only by its token */
{
    struct apart a;
    apart_init(&a);
    struct pl_buf text = PL_BUF_INIT;
    list_pods(&a);
    struct fake_request *request = FAKE_EXPECT(&a.b.net, "GET", FIRST_PAGE);
    write_page(&text, 0, 500, "t=1");
    fake_stream_bytes(request, pl_buf_slice(&text));
    fake_end(request);
    TURN_UNTIL(a.loop, a.b.net.start_count == 2);
    struct fake_request *next = FAKE_EXPECT(&a.b.net, "GET", NEXT_PAGE "t%3D1");
    TURN_UNTIL(a.loop, a.count == 1);
    CHECK_INT(a.got[0].items, 500);
    CHECK(a.next != NULL);
    pl_buf_clear(&text);
    write_page(&text, 500, 700, "");
    fake_stream_bytes(next, pl_buf_slice(&text));
    fake_end(next);
    TURN_UNTIL(a.loop, a.count == 2);
    CHECK_STR(a.got[1].first, "p500");
    CHECK_STR(a.got[1].last, "p699");
    CHECK(a.next == NULL);
    CHECK_INT(a.b.net.start_count, 2);
    pl_buf_deinit(&text);
    apart_deinit(&a);
}

static size_t documents(struct pl_pool *pool)
{
    struct pl_pool_stats stats;
    pl_pool_stats(pool, &stats);
    return stats.documents;
}

/* The first page has been received but cannot be decoded completely; the next page was
 * requested. */
static struct fake_request *hold_first_page(struct apart *a, struct pl_op **op)
{
    struct pl_buf text = PL_BUF_INIT;
    *op = list_pods(a);
    struct fake_request *request = fake_next(&a->b.net);
    write_page(&text, 0, 2000, "t");
    fake_stream_bytes(request, pl_slice(text.ptr, 1000));
    TURN_UNTIL(a->loop, documents(a->b.pool) > 0); /* it delivers its token with them */
    pl_pool_enter(a->b.pool);
    stream_pieces(request, &text, 1000, 50000);
    fake_end(request);
    TURN_UNTIL(a->loop, a->b.net.start_count == 2);
    CHECK_INT(a->count, 0);
    pl_buf_deinit(&text);
    return FAKE_EXPECT(&a->b.net, "GET", NEXT_PAGE "t");
}

TEST(a_page_that_fails_early_is_told_in_its_turn)
{
    struct apart a;
    struct pl_op *op;
    apart_init(&a);
    struct fake_request *next = hold_first_page(&a, &op);
    fake_fail(next, PL_ENETWORK, "Unreachable");
    bench_run(&a.b, 0);
    CHECK_INT(a.count, 0);
    pl_pool_leave(a.b.pool);
    TURN_UNTIL(a.loop, a.count == 1);
    CHECK_INT(a.got[0].items, 2000);
    CHECK(a.next != NULL);
    bench_run(&a.b, 0);
    CHECK_INT(a.count, 2);
    CHECK_INT(a.got[1].code, PL_ENETWORK);
    apart_deinit(&a);
}

TEST(a_list_that_is_cancelled_takes_its_next_page_along)
{
    struct apart a;
    struct pl_op *op;
    apart_init(&a);
    struct fake_request *next = hold_first_page(&a, &op);
    pl_op_cancel(op);
    CHECK(next->canceled);
    bench_run(&a.b, 0);
    CHECK_INT(a.count, 1);
    CHECK_INT(a.got[0].code, PL_ECANCELED);
    CHECK(a.next == NULL);
    pl_pool_leave(a.b.pool);
    apart_deinit(&a);
    CHECK_INT(a.count, 1);
}

TEST(a_client_may_go_while_its_answers_are_decoded)
{
    struct apart a;
    struct pl_op *op;
    apart_init(&a);
    hold_first_page(&a, &op);
    pl_pool_leave(a.b.pool);
    apart_deinit(&a);
    CHECK_INT(a.count, 1);
    CHECK_INT(a.got[0].code, PL_ECANCELED);
}

TEST(a_page_that_cannot_be_decoded_takes_its_next_page_along)
{
    struct apart a;
    apart_init(&a);
    list_pods(&a);
    struct fake_request *request = fake_next(&a.b.net);
    fake_stream(request,
                "{\"kind\":\"PodList\",\"metadata\":{\"continue\":\"t\"},\"items\":[{},]}");
    fake_end(request);
    TURN_UNTIL(a.loop, (bench_run(&a.b, 0), a.count == 1));
    CHECK_INT(a.got[0].code, PL_ESYNTAX);
    CHECK(a.next == NULL);
    bench_run(&a.b, 0);
    CHECK_INT(a.b.net.open_count, 0);
    apart_deinit(&a);
}

/* ---- the list that a watch begins with ---- */

static struct fake_request *ask_for_watch(struct apart *a, struct diary *diary)
{
    struct pl_watch_call call = {.resource = &pods, .initial_events = true};
    diary->bench = &a->b;
    diary->watch = pl_client_watch(a->b.client, &call, &ops, diary);
    struct fake_request *request = fake_next(&a->b.net);
    REQUIRE(request != NULL);
    return request;
}

static struct fake_request *watch_pods(struct apart *a, struct diary *diary)
{
    struct fake_request *request = ask_for_watch(a, diary);
    fake_begin(request, 200);
    return request;
}

static void check_said(struct diary *diary, const char *want)
{
    CHECK_SLICE(pl_buf_slice(&diary->text), want);
    pl_buf_clear(&diary->text);
}

#define BOOKMARK(rv)                                                                               \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","                   \
    "\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"" rv "\"}}}\n"

TEST(a_watch_is_decoded_apart_until_something_else_than_ADDED_comes)
{
    struct apart a;
    struct diary diary = {0};
    apart_init(&a);
    struct fake_request *request = watch_pods(&a, &diary);
    pl_pool_enter(a.b.pool); /* so that no other thread can decode */
    fake_stream(request, EVENT("ADDED", "a", "5"));
    fake_stream(request, EVENT("ADDED", "b", "6") BOOKMARK("8"));
    pl_loop_turn(a.loop, 0);
    check_said(&diary, "open;");
    pl_pool_leave(a.b.pool);
    TURN_UNTIL(a.loop, diary.events == 3);
    check_said(&diary, "ADDED d/a@5;ADDED d/b@6;BOOKMARK x@8;");
    fake_stream(request, EVENT("ADDED", "c", "9"));
    check_said(&diary, "ADDED d/c@9;"); /* at once */
    fake_end(request);
    check_said(&diary, "end ok");
    apart_deinit(&a);
    pl_buf_deinit(&diary.text);
}

TEST(an_event_may_be_half_here_and_half_there)
{
    const char *event = EVENT("ADDED", "c", "9");
    for (size_t cut = 0; cut < strlen(event); cut++) {
        struct apart a;
        struct diary diary = {0};
        apart_init(&a);
        struct fake_request *request = watch_pods(&a, &diary);
        struct pl_buf first = PL_BUF_INIT;
        pl_buf_add_f(&first, "%s%.*s", BOOKMARK("8"), (int)cut, event);
        fake_stream_bytes(request, pl_buf_slice(&first));
        TURN_UNTIL(a.loop, diary.events >= 1);
        fake_stream(request, event + cut);
        fake_stream(request, EVENT("MODIFIED", "c", "10"));
        check_said(&diary, "open;BOOKMARK x@8;ADDED d/c@9;MODIFIED d/c@10;");
        pl_buf_deinit(&first);
        apart_deinit(&a);
        pl_buf_deinit(&diary.text);
    }
}

TEST(what_comes_while_the_thread_is_at_it_keeps_its_place)
{
    struct apart a;
    struct diary diary = {0};
    apart_init(&a);
    struct fake_request *request = watch_pods(&a, &diary);
    fake_stream(request, EVENT("MODIFIED", "a", "1"));
    pl_pool_enter(a.b.pool);
    fake_stream(request, EVENT("MODIFIED", "a", "2"));
    pl_pool_leave(a.b.pool);
    fake_stream(request, EVENT("MODIFIED", "a", "3"));
    TURN_UNTIL(a.loop, diary.events == 3);
    fake_stream(request, EVENT("MODIFIED", "a", "4"));
    check_said(&diary, "open;MODIFIED d/a@1;MODIFIED d/a@2;MODIFIED d/a@3;MODIFIED d/a@4;");
    apart_deinit(&a);
    pl_buf_deinit(&diary.text);
}

static void write_added(struct pl_buf *out, int count)
{
    for (int i = 0; i < count; i++)
        pl_buf_add_f(out, EVENT("ADDED", "p%d", "%d"), i, i);
}

TEST(a_long_list_of_a_watch_comes_some_at_a_time_and_whole_before_its_end)
{
    struct apart a;
    struct diary diary = {0};
    apart_init(&a);
    struct fake_request *request = watch_pods(&a, &diary);
    struct pl_buf text = PL_BUF_INIT, want = PL_BUF_INIT;
    write_added(&text, 1000);
    stream_pieces(request, &text, 0, 777);
    TURN_UNTIL(a.loop, diary.events >= 512); /* without any bookmark */
    fake_fail(request, PL_ENETWORK, "ConnectionReset");
    TURN_UNTIL(a.loop, diary.ends == 1);
    pl_buf_add_z(&want, "open;");
    for (int i = 0; i < 1000; i++)
        pl_buf_add_f(&want, "ADDED d/p%d@%d;", i, i);
    pl_buf_add_z(&want, "end ENETWORK");
    check_said(&diary, pl_buf_z(&want));
    pl_buf_deinit(&text);
    pl_buf_deinit(&want);
    apart_deinit(&a);
    pl_buf_deinit(&diary.text);
}

TEST(a_bad_event_is_told_even_if_nothing_follows_it)
{
    struct apart a;
    struct diary diary = {0};
    apart_init(&a);
    struct fake_request *request = watch_pods(&a, &diary);
    fake_stream(request, EVENT("ADDED", "a", "5") "{\"type\":\"ADDED\",\"object\":{,}}\n");
    TURN_UNTIL(a.loop, diary.ends == 1);
    check_said(&diary, "open;ADDED d/a@5;end ESYNTAX");
    CHECK(strstr(diary.err.message, "watch of /api/v1/pods") != NULL);
    CHECK(request->canceled);
    apart_deinit(&a);
    pl_buf_deinit(&diary.text);
}

TEST(what_is_no_stream_is_quoted)
{
    struct apart a;
    struct diary diary = {0};
    apart_init(&a);
    fake_stream(watch_pods(&a, &diary), "hello");
    TURN_UNTIL(a.loop, diary.ends == 1);
    CHECK(strstr(diary.err.message, "it begins with \"hello\"") != NULL);
    apart_deinit(&a);
    pl_buf_deinit(&diary.text);
}

TEST(a_watch_that_is_refused_says_why)
{
    struct apart a;
    struct diary diary = {0};
    apart_init(&a);
    fake_reply(ask_for_watch(&a, &diary), 410,
               "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410,\"message\":\"too old\"}");
    TURN_UNTIL(a.loop, diary.ends == 1);
    check_said(&diary, "end EAPI");
    CHECK_INT(diary.err.status, 410);
    CHECK(strstr(diary.err.message, "too old") != NULL);
    apart_deinit(&a);
    pl_buf_deinit(&diary.text);
}

TEST(a_watch_may_be_cancelled_while_it_is_decoded)
{
    for (int moment = 0; moment < 3; moment++) {
        struct apart a;
        struct diary diary = {.cancel_at = moment == 1 ? 1 : 0, .destroy_at = moment == 2 ? 1 : 0};
        apart_init(&a);
        struct fake_request *request = watch_pods(&a, &diary);
        struct pl_buf text = PL_BUF_INIT;
        write_added(&text, 1000);
        if (moment == 0)
            pl_pool_enter(a.b.pool);
        stream_pieces(request, &text, 0, 5000);
        if (moment == 0) {
            pl_watch_cancel(diary.watch);
            pl_pool_leave(a.b.pool);
        }
        TURN_UNTIL(a.loop, (bench_run(&a.b, 0), diary.ends == 1));
        check_said(&diary, moment == 0 ? "open;end ECANCELED" : "open;ADDED d/p0@0;end ECANCELED");
        pl_buf_deinit(&text);
        apart_deinit(&a);
        CHECK_INT(diary.ends, 1);
        pl_buf_deinit(&diary.text);
    }
}

TEST_MAIN()
