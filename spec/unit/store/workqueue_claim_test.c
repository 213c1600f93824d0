/* Claimed keys, whose run begins later or never. */
#include "store/workqueue.h"

#include "base/buf.h"
#include "base/err.h"
#include "support/test.h"

static struct pl_workqueue *q;
static int64_t now;

static void begin(const char *keys)
{
    now = 1000;
    q = pl_workqueue_create(&(struct pl_workqueue_options){0});
    for (; *keys != '\0'; keys++)
        pl_workqueue_add(q, pl_slice(keys, 1), &(struct pl_add){0}, now);
}

static void end(void)
{
    pl_workqueue_destroy(q);
    q = NULL;
}

static void add(const char *key, int priority, int64_t after_ns)
{
    struct pl_add how = {.priority = priority, .after_ns = after_ns};
    pl_workqueue_add(q, pl_slice_z(key), &how, now);
}

static const char *text_of(const struct pl_item *item, int code)
{
    static char key[16];
    snprintf(key, sizeof key, "%.*s", PL_FMT(item->key));
    return code == 0 ? key : code == PL_ECLOSED ? "." : "-";
}

static const char *claim(void)
{
    struct pl_item item = {0};
    int code = pl_workqueue_claim(q, &item, now);
    return text_of(&item, code);
}

static const char *take(void)
{
    struct pl_item item = {0};
    int code = pl_workqueue_take(q, &item, now);
    return text_of(&item, code);
}

static void begins(const char *key)
{
    pl_workqueue_begin(q, pl_slice_z(key), now);
}

static void unclaim(const char *key)
{
    pl_workqueue_unclaim(q, pl_slice_z(key));
}

static void done(const char *key)
{
    pl_workqueue_done(q, pl_slice_z(key), now);
}

/* What is taken one after another: "abc". */
static const char *drain(void)
{
    static char all[64];
    all[0] = '\0';
    struct pl_item item;
    while (pl_workqueue_take(q, &item, now) == 0) {
        strncat(all, item.key.ptr, item.key.len);
        pl_workqueue_done(q, item.key, now);
    }
    return all;
}

static int64_t latencies, latency_sum, works, work_sum;

static void on_latency(void *arg, int64_t ns)
{
    PL_UNUSED(arg);
    latencies++;
    latency_sum += ns;
}

static void on_work(void *arg, int64_t ns)
{
    PL_UNUSED(arg);
    works++;
    work_sum += ns;
}

static void write_key(void *arg, const struct pl_queued *queued)
{
    pl_buf_add_f(arg, "%.*s%s%s ", PL_FMT(queued->key), queued->running ? "*" : "",
                 queued->ready ? "!" : "");
}

TEST(a_claimed_key_is_not_taken_and_comes_back_to_its_place)
{
    begin("abcd");
    CHECK_STR(claim(), "a");
    CHECK_STR(claim(), "b");
    CHECK_STR(take(), "c");
    done("c");
    unclaim("b");
    unclaim("a");
    CHECK_STR(drain(), "abd");
    end();
}

TEST(a_claimed_key_counts_and_is_shown_as_ready_until_it_begins)
{
    begin("ab");
    pl_workqueue_observe(q, &(struct pl_workqueue_observer){on_latency, on_work, NULL});
    latencies = latency_sum = works = work_sum = 0;
    claim();
    now += 10;
    struct pl_workqueue_metrics metrics;
    pl_workqueue_metrics(q, now, &metrics);
    CHECK_INT(metrics.depth, 2);
    CHECK_INT(metrics.longest_ns, 0);
    struct pl_depth depth;
    CHECK_INT(pl_workqueue_depths(q, now, &depth, 1), 1);
    CHECK_INT(depth.count, 2);
    struct pl_buf text = PL_BUF_INIT;
    pl_workqueue_each(q, now, 9, write_key, &text);
    CHECK_STR(pl_buf_z(&text), "a! b! ");
    CHECK_INT(latencies, 0);
    begins("a");
    CHECK_INT(latency_sum, 10);
    now += 5;
    pl_workqueue_metrics(q, now, &metrics);
    CHECK_INT(metrics.depth, 1);
    CHECK_INT(metrics.longest_ns, 5);
    CHECK_INT(metrics.adds, 2);
    pl_buf_clear(&text);
    pl_workqueue_each(q, now, 9, write_key, &text);
    CHECK_STR(pl_buf_z(&text), "a* b! ");
    pl_buf_deinit(&text);
    done("a");
    CHECK_INT(latencies, 1);
    CHECK_INT(work_sum, 5);
    CHECK_STR(drain(), "b");
    end();
}

/* The run may have read the state before the add (rule 88). */
TEST(what_is_added_to_a_claimed_key_runs_once_more_after_it)
{
    begin("ab");
    claim();
    add("a", 0, 0);
    add("a", 0, 0);
    begins("a");
    CHECK_STR(take(), "b");
    CHECK_STR(take(), "-");
    done("a");
    CHECK_STR(take(), "a");
    done("a");
    CHECK_STR(take(), "-");
    end();
}

TEST(what_is_added_to_an_unclaimed_key_is_one_with_it)
{
    begin("a");
    claim();
    add("a", 0, 0);
    add("a", 0, 50);
    unclaim("a");
    CHECK_STR(drain(), "a");
    CHECK_INT(pl_workqueue_waiting(q), 0); /* rule 103 */
    now += 100;
    CHECK_STR(take(), "-");
    end();
}

TEST(a_delay_of_a_claimed_key_is_kept_when_it_begins)
{
    begin("ab");
    claim();
    claim();
    add("a", 0, 50);
    add("b", 0, 50);
    begins("a");
    now += 100; /* b's ends while it is claimed */
    CHECK_INT(pl_workqueue_len(q, now), 2);
    begins("b");
    done("a");
    done("b");
    CHECK_STR(drain(), "ab");
    end();
}

TEST(a_claimed_key_whose_priority_rises_comes_back_above_the_others) /* rule 101 */
{
    begin("ab");
    claim();
    claim();
    add("b", 5, 0);
    CHECK_STR(take(), "-");
    unclaim("b");
    unclaim("a");
    CHECK_STR(drain(), "ba");
    end();
}

TEST(what_is_dropped_of_a_claimed_key_is_only_what_came_since)
{
    begin("a");
    claim();
    CHECK(!pl_workqueue_drop(q, pl_slice_z("a")));
    add("a", 0, 0);
    CHECK(pl_workqueue_drop(q, pl_slice_z("a")));
    begins("a");
    done("a");
    CHECK_STR(take(), "-");
    end();
}

TEST(a_queue_with_a_claimed_key_is_not_drained) /* rules 89-91 */
{
    begin("a");
    claim();
    pl_workqueue_shutdown(q);
    CHECK(!pl_workqueue_is_drained(q, now));
    CHECK_STR(take(), ".");
    unclaim("a");
    CHECK_STR(drain(), "a");
    CHECK(pl_workqueue_is_drained(q, now));
    end();
}

TEST_MAIN()
