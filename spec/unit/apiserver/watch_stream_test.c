#include "apiserver/watch_stream.h"

#include "support/api_fixture.h"

enum { MANY = 40, EVENTS = 60 };

#define CMS_WATCH DEFAULT_CMS "?watch=1&resourceVersion=1"

/* Makes or changes a ConfigMap of about 20 KB. */
static void write_big(struct api *t, int i)
{
    struct pl_buf body = PL_BUF_INIT;
    pl_buf_add_f(&body, "{'metadata':{'name':'m%02d'},'data':{'n':'%d','k':'", i % 30, i);
    for (int k = 0; k < 20000; k++)
        pl_buf_add_char(&body, 'x');
    pl_buf_add_z(&body, "'}}");
    char path[100];
    snprintf(path, sizeof(path), DEFAULT_CMS "/m%02d", i % 30);
    CHECK_INT(i < 30 ? api_post(t, DEFAULT_CMS, pl_buf_z(&body))
                     : api_merge(t, path, pl_buf_z(&body)),
              i < 30 ? 201 : 200);
    pl_buf_deinit(&body);
}

static size_t lines(const struct api_watch *watch)
{
    size_t count = 0;
    for (size_t i = 0; i < watch->text.len; i++)
        count += watch->text.ptr[i] == '\n';
    return count;
}

static void drain_all(struct api_watch *watch)
{
    while (watch->on_drained != NULL)
        api_watch_drain(watch);
}

TEST(watches_that_do_not_read_wait_and_miss_nothing)
{
    static struct api_watch stuck[MANY];
    struct api t;
    struct api_watch reads;
    api_open(&t);
    api_watch_open(&t, &reads, CMS_WATCH);
    for (int i = 0; i < MANY; i++)
        api_watch_start(&t, &stuck[i], CMS_WATCH, true);
    for (int i = 0; i < EVENTS; i++)
        write_big(&t, i);
    CHECK_INT(lines(&reads), EVENTS);
    for (int i = 0; i < MANY; i++) {
        CHECK(stuck[i].text.len < (256 << 10) + 30000);
        CHECK(lines(&stuck[i]) < EVENTS);
        drain_all(&stuck[i]);
        CHECK(pl_slice_eq(pl_buf_slice(&stuck[i].text), pl_buf_slice(&reads.text)));
        stuck[i].stuck = false;
    }
    write_big(&t, EVENTS);
    CHECK_INT(lines(&stuck[0]), EVENTS + 1);
    for (int i = 0; i < MANY; i++)
        api_watch_close(&stuck[i]);
    api_watch_close(&reads);
    api_close(&t);
}

TEST(all_watches_share_one_bound_and_those_furthest_behind_are_cut)
{
    static struct api_watch stuck[MANY];
    struct api t;
    struct api_watch reads;
    api_open_with(&t, (struct pl_api_options){.watch_bytes = 2 << 20});
    api_watch_open(&t, &reads, CMS_WATCH);
    for (int i = 0; i < 10; i++)
        write_big(&t, i);
    uint64_t now = 15; /* the namespaces came first */
    for (int i = 0; i < MANY; i++) {
        char path[100];
        snprintf(path, sizeof(path), DEFAULT_CMS "?watch=1&resourceVersion=%d",
                 (int)now - (i < MANY / 2 ? 10 : 1));
        api_watch_start(&t, &stuck[i], path, true);
    }
    size_t unread = 0, cut_old = 0, cut_new = 0;
    for (int i = 10; i < EVENTS; i++)
        write_big(&t, i);
    for (int i = 0; i < MANY; i++) {
        unread += stuck[i].unread;
        cut_old += i < MANY / 2 && stuck[i].cut;
        cut_new += i >= MANY / 2 && stuck[i].cut;
    }
    CHECK(unread <= 2 << 20);
    CHECK(cut_old + cut_new < MANY);
    CHECK_INT(cut_old, MANY / 2);
    CHECK_INT(lines(&reads), EVENTS);
    for (int i = 0; i < MANY; i++)
        api_watch_close(&stuck[i]);
    api_watch_close(&reads);
    api_close(&t);
}

TEST(who_falls_out_of_the_history_is_told)
{
    struct api t;
    struct api_watch watch;
    api_open_with(&t, (struct pl_api_options){.history = 20});
    api_watch_start(&t, &watch, CMS_WATCH, true);
    for (int i = 0; i < EVENTS; i++)
        write_big(&t, i);
    CHECK(!watch.ended);
    drain_all(&watch);
    CHECK(watch.ended);
    CHECK(strstr(pl_buf_z(&watch.text), "\"code\":410") != NULL);
    api_watch_close(&watch);
    api_close(&t);
}

TEST(the_history_is_limited_in_bytes)
{
    struct api t;
    struct api_watch watch;
    api_open_with(&t, (struct pl_api_options){.history_bytes = 200000});
    for (int i = 0; i < EVENTS; i++)
        write_big(&t, i);
    api_watch_open(&t, &watch, CMS_WATCH);
    CHECK(strstr(pl_buf_z(&watch.text), "\"code\":410") != NULL);
    api_watch_close(&watch);
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&resourceVersion=60");
    CHECK_INT(lines(&watch), 5);
    api_watch_close(&watch);
    api_close(&t);
}

/* What changes while the state is being sent comes after it. */
TEST(a_state_is_sent_as_fast_as_it_is_read)
{
    struct api t;
    struct api_watch watch;
    api_open(&t);
    for (int i = 0; i < 30; i++)
        write_big(&t, i);
    api_watch_start(&t, &watch,
                    DEFAULT_CMS "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&"
                                "resourceVersionMatch=NotOlderThan",
                    true);
    CHECK(watch.text.len < 300000);
    api_advance(&t, 61 * PL_SECOND); /* no bookmark: there is more */
    for (int i = 30; i < 60; i++)
        write_big(&t, i);
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/m29", NULL), 200);
    drain_all(&watch);
    CHECK_INT(lines(&watch), 30 + 1 + 30 + 1);
    const char *mark = strstr(pl_buf_z(&watch.text), "BOOKMARK");
    const char *changed = strstr(pl_buf_z(&watch.text), "MODIFIED");
    REQUIRE(mark != NULL && changed != NULL);
    CHECK(mark < changed);
    CHECK(strstr(pl_buf_z(&watch.text), "\"n\":\"29\"") < mark);
    CHECK(strstr(mark, "\"n\":\"59\"") != NULL);
    api_watch_close(&watch);
    api_close(&t);
}

TEST_MAIN()
