#include "store/workqueue.h"

#include "base/buf.h"
#include "support/test.h"

static void add(struct pl_workqueue *q, const char *key, int priority, int64_t after_ns,
                int64_t now)
{
    struct pl_add how = {.priority = priority, .after_ns = after_ns};
    pl_workqueue_add(q, pl_slice_z(key), &how, now);
}

static void write_key(void *arg, const struct pl_queued *queued)
{
    pl_buf_add_f(arg, "%.*s%s%s%s ", PL_FMT(queued->key), queued->running ? "*" : "",
                 queued->ready ? "!" : "", queued->delayed ? "~" : "");
}

TEST(each_shows_running_then_ready_then_delayed_keys)
{
    struct pl_workqueue_options options = {0};
    struct pl_workqueue *q = pl_workqueue_create(&options);
    struct pl_item item;
    struct pl_buf text = PL_BUF_INIT;
    add(q, "run", 0, 0, 1);
    CHECK_INT(pl_workqueue_take(q, &item, 2), 0);
    add(q, "later", 0, 500, 3);
    add(q, "soon", 0, 100, 3);
    add(q, "low", PL_PRIORITY_LOW, 0, 3);
    add(q, "first", 0, 0, 4);
    add(q, "second", 0, 0, 5);
    add(q, "high", 7, 0, 6);
    CHECK_INT(pl_workqueue_each(q, 7, 100, write_key, &text), 7);
    CHECK_STR(pl_buf_z(&text), "run* high! first! second! low! soon~ later~ ");
    pl_buf_clear(&text);
    CHECK_INT(pl_workqueue_each(q, 7, 2, write_key, &text), 7);
    CHECK_STR(pl_buf_z(&text), "run* high! ");
    pl_buf_clear(&text);
    add(q, "run", 0, 0, 8); /* once more, when it is done */
    CHECK_INT(pl_workqueue_each(q, 103, 1, write_key, &text), 7);
    CHECK_STR(pl_buf_z(&text), "run*! ");
    pl_buf_deinit(&text);
    pl_workqueue_done(q, pl_slice_z("run"), 110);
    pl_workqueue_destroy(q);
}

TEST(look_says_where_a_key_is_and_since_when)
{
    struct pl_workqueue_options options = {0};
    struct pl_workqueue *q = pl_workqueue_create(&options);
    struct pl_slice key = pl_slice_z("ns/a");
    struct pl_queued queued;
    struct pl_item item;
    CHECK(!pl_workqueue_look(q, key, 1, &queued));
    CHECK_INT(queued.requeues, 0);
    struct pl_add retry = {.rate_limited = true};
    pl_workqueue_add(q, key, &retry, 10);
    CHECK(pl_workqueue_look(q, key, 11, &queued));
    CHECK(queued.delayed && !queued.ready && !queued.running);
    CHECK_INT(queued.due_ns, 10 + 5 * PL_MS);
    CHECK_INT(queued.requeues, 1);
    CHECK(pl_workqueue_look(q, key, 20 + 5 * PL_MS, &queued));
    CHECK(queued.ready && !queued.delayed);
    CHECK_INT(queued.ready_ns, 10 + 5 * PL_MS);
    CHECK_INT(pl_workqueue_take(q, &item, 30 + 5 * PL_MS), 0);
    CHECK(pl_workqueue_look(q, key, 40 + 5 * PL_MS, &queued));
    CHECK(queued.running && !queued.ready);
    CHECK_INT(queued.started_ns, 30 + 5 * PL_MS);
    pl_workqueue_done(q, key, 50 + 5 * PL_MS);
    CHECK(!pl_workqueue_look(q, key, 60 + 5 * PL_MS, &queued));
    CHECK_INT(queued.requeues, 1); /* until it is forgotten */
    pl_workqueue_destroy(q);
}

TEST_MAIN()
