#include "store/workqueue.h"

#include "base/err.h"
#include "base/rand.h"
#include "support/test.h"

static struct pl_workqueue *q;
static int64_t now;
static int changes;

static void on_change(void *arg)
{
    PL_UNUSED(arg);
    changes++;
}

static void begin(void)
{
    now = 1000;
    changes = 0;
    q = pl_workqueue_create(&(struct pl_workqueue_options){.changed = on_change});
}

static void begin_plain(void)
{
    now = 1000;
    q = pl_workqueue_create(&(struct pl_workqueue_options){.plain = true});
}

static void end(void)
{
    pl_workqueue_destroy(q);
    q = NULL;
}

static void add(const char *key)
{
    pl_workqueue_add(q, pl_slice_z(key), &(struct pl_add){0}, now);
}

static void add_at(const char *key, int priority)
{
    pl_workqueue_add(q, pl_slice_z(key), &(struct pl_add){.priority = priority}, now);
}

static void add_after(const char *key, int64_t after)
{
    pl_workqueue_add(q, pl_slice_z(key), &(struct pl_add){.after_ns = after}, now);
}

static void add_limited(const char *key)
{
    pl_workqueue_add(q, pl_slice_z(key), &(struct pl_add){.rate_limited = true}, now);
}

static void done(const char *key)
{
    pl_workqueue_done(q, pl_slice_z(key), now);
}

/* The key taken, "-" when nothing can be, "." when closed. */
static const char *take(void)
{
    static char key[64];
    struct pl_item item;
    int rc = pl_workqueue_take(q, &item, now);
    if (rc != 0)
        return rc == PL_ECLOSED ? "." : "-";
    snprintf(key, sizeof(key), "%.*s", PL_FMT(item.key));
    return key;
}

static int take_priority(void)
{
    struct pl_item item;
    REQUIRE(pl_workqueue_take(q, &item, now) == 0);
    return item.priority;
}

/* Takes and finishes until nothing can be taken: "abc". */
static const char *drain(void)
{
    static char all[256];
    all[0] = '\0';
    struct pl_item item;
    while (pl_workqueue_take(q, &item, now) == 0) {
        strncat(all, item.key.ptr, item.key.len);
        pl_workqueue_done(q, item.key, now);
    }
    return all;
}

/* ---- one level ---- */

/* rules 86, 87, 100 */
TEST(keys_come_once_in_the_order_of_adding)
{
    begin();
    add("b");
    add("a");
    add("b");
    add("c");
    CHECK_INT(pl_workqueue_len(q, now), 3);
    CHECK_STR(drain(), "bac");
    CHECK_STR(take(), "-");
    end();
}

/* rule 88 */
TEST(many_adds_while_it_is_worked_on_make_one_more_run)
{
    begin();
    add("a");
    CHECK_STR(take(), "a");
    add("a");
    add("a");
    CHECK_STR(take(), "-");
    done("a");
    CHECK_STR(take(), "a");
    done("a");
    CHECK_STR(take(), "-");
    end();
}

/* rule 105 */
TEST(a_key_worked_on_keeps_its_turn_but_holds_up_nobody)
{
    begin();
    add("a");
    CHECK_STR(take(), "a");
    add("a");
    add("b");
    add("c");
    CHECK_INT(pl_workqueue_len(q, now), 3);
    CHECK_STR(take(), "b");
    done("a");
    CHECK_STR(take(), "a");
    CHECK_STR(take(), "c");
    CHECK_STR(take(), "-");
    end();
}

/* Rule 105: keys that were passed over come back in the order of their turns. */
TEST(keys_passed_over_come_back_in_their_order)
{
    begin();
    add("a");
    add("b");
    add("c");
    CHECK_STR(take(), "a");
    CHECK_STR(take(), "b");
    CHECK_STR(take(), "c");
    add("c");
    add("a");
    add("b");
    add("d");
    CHECK_STR(take(), "d");
    add("e");
    done("b");
    done("a");
    done("c");
    done("d");
    CHECK_STR(drain(), "cabe");
    end();
}

TEST(done_of_a_key_that_is_not_worked_on_is_harmless)
{
    begin();
    done("x");
    add("a");
    done("a");
    CHECK_INT(pl_workqueue_len(q, now), 1);
    CHECK_STR(take(), "a");
    end();
}

/* ---- priorities ---- */

/* rule 100 */
TEST(higher_numbers_come_first_and_equals_in_order)
{
    begin();
    add_at("a", -5);
    add_at("b", 10);
    add_at("c", 0);
    add_at("d", 10);
    add_at("e", PL_PRIORITY_LOW);
    CHECK_STR(drain(), "bdcae");
    end();
}

/* rule 101 */
TEST(a_raised_key_goes_to_the_end_of_its_new_level_and_none_is_lowered)
{
    begin();
    add_at("a", 0);
    add_at("b", 1);
    add_at("a", 1);
    add_at("b", -7);
    CHECK_STR(drain(), "ba");
    end();
}

TEST(a_taken_key_forgets_its_priority)
{
    begin();
    add_at("a", 5);
    CHECK_INT(take_priority(), 5);
    add_at("a", -3);
    add_at("a", -1);
    done("a");
    CHECK_INT(take_priority(), -1);
    end();
}

TEST(a_high_key_that_is_worked_on_does_not_block_lower_ones)
{
    begin();
    add_at("a", 9);
    CHECK_STR(take(), "a");
    add_at("a", 9);
    add_at("b", -9);
    CHECK_STR(take(), "b");
    CHECK_STR(take(), "-");
    done("a");
    CHECK_STR(take(), "a");
    end();
}

TEST(depths_name_the_levels_that_have_keys)
{
    begin();
    struct pl_depth depths[4];
    for (int i = 0; i < 100; i++) {
        add_at("x", i);
        CHECK_STR(drain(), "x");
    }
    add_at("a", 3);
    add_at("b", -3);
    add_at("c", 3);
    CHECK_INT(pl_workqueue_depths(q, now, depths, 4), 2);
    CHECK(depths[0].priority == 3 && depths[0].count == 2);
    CHECK(depths[1].priority == -3 && depths[1].count == 1);
    CHECK_INT(pl_workqueue_depths(q, now, depths, 0), 2);
    end();
}

/* ---- delays ---- */

/* rules 104, 106 */
TEST(a_delayed_key_queues_behind_those_that_were_ready_before_it)
{
    begin();
    add_after("a", 100);
    CHECK_INT(pl_workqueue_len(q, now), 0);
    CHECK_INT(pl_workqueue_waiting(q), 1);
    int64_t due = 0;
    CHECK(pl_workqueue_next_due(q, &due) && due == 1100);
    now += 50;
    add("b");
    now += 100;
    add("c");
    CHECK_INT(pl_workqueue_len(q, now), 3);
    CHECK_STR(drain(), "bac");
    CHECK(!pl_workqueue_next_due(q, &due));
    end();
}

TEST(a_key_is_ready_at_exactly_its_time)
{
    begin();
    add_after("a", 10);
    now += 9;
    CHECK_STR(take(), "-");
    now += 1;
    CHECK_STR(take(), "a");
    end();
}

/* Rule 101: the earlier time, the higher priority. */
TEST(delays_of_one_key_keep_the_earlier_time)
{
    begin();
    add_after("a", 50);
    add_after("a", 70);
    add_after("b", 70);
    add_after("b", 50);
    pl_workqueue_add(q, pl_slice_z("b"), &(struct pl_add){.after_ns = 900, .priority = 4}, now);
    now += 50;
    CHECK_STR(drain(), "ba");
    now += 1000;
    CHECK_STR(drain(), "");
    end();
}

/* rule 106, unlike rule 92 */
TEST(an_add_without_delay_takes_the_delay_away)
{
    begin();
    add_after("a", 100);
    add("a");
    CHECK_STR(drain(), "a");
    now += 100;
    CHECK_STR(drain(), "");
    CHECK_INT(pl_workqueue_waiting(q), 0);
    end();
}

/* rule 103 */
TEST(a_ready_key_stays_ready_when_added_with_a_delay)
{
    begin();
    add("a");
    add_after("a", 100);
    CHECK_INT(pl_workqueue_waiting(q), 0);
    CHECK_STR(drain(), "a");
    now += 100;
    CHECK_STR(drain(), "");
    end();
}

TEST(a_delay_may_end_while_the_key_is_worked_on)
{
    begin();
    add("a");
    CHECK_STR(take(), "a");
    add_after("a", 10);
    CHECK_INT(pl_workqueue_len(q, now), 0);
    now += 10;
    CHECK_INT(pl_workqueue_len(q, now), 1);
    CHECK_STR(take(), "-");
    done("a");
    CHECK_STR(take(), "a");
    done("a");
    CHECK_STR(take(), "-");
    end();
}

/* rules 95, 102 */
TEST(rate_limited_adds_wait_and_count_even_when_something_else_is_sooner)
{
    begin();
    add_limited("a");
    now += 4 * PL_MS;
    CHECK_STR(take(), "-");
    now += PL_MS;
    CHECK_STR(take(), "a");
    done("a");
    pl_workqueue_add(q, pl_slice_z("a"),
                     &(struct pl_add){.rate_limited = true, .after_ns = 7 * PL_MS}, now);
    CHECK_INT(pl_workqueue_requeues(q, pl_slice_z("a")), 2);
    now += 7 * PL_MS;
    CHECK_STR(take(), "a");
    done("a");
    pl_workqueue_forget(q, pl_slice_z("a"));
    CHECK_INT(pl_workqueue_requeues(q, pl_slice_z("a")), 0);
    end();
}

TEST(an_endless_delay_does_not_wrap_round)
{
    begin();
    add_after("a", INT64_MAX);
    now = INT64_MAX - 1;
    CHECK_STR(take(), "-");
    end();
}

/* ---- shutdown ---- */

/* rules 89, 90, 94 */
TEST(shutdown_hands_out_what_is_ready_and_loses_what_waits)
{
    begin();
    add("a");
    add_after("b", 10);
    pl_workqueue_shutdown(q);
    add("c");
    add_limited("d");
    now += 10;
    CHECK(pl_workqueue_is_shutting_down(q) && !pl_workqueue_is_drained(q, now));
    CHECK_STR(take(), "a");
    CHECK_STR(take(), ".");
    CHECK(!pl_workqueue_is_drained(q, now));
    done("a");
    CHECK(pl_workqueue_is_drained(q, now));
    CHECK_INT(pl_workqueue_requeues(q, pl_slice_z("d")), 0);
    end();
}

/* rule 90 */
TEST(a_key_marked_before_shutdown_still_comes_back)
{
    begin();
    add("a");
    CHECK_STR(take(), "a");
    add("a");
    pl_workqueue_shutdown(q);
    CHECK_STR(take(), ".");
    CHECK(!pl_workqueue_is_drained(q, now));
    done("a");
    CHECK_STR(take(), "a");
    add("a");
    done("a");
    CHECK_STR(take(), ".");
    CHECK(pl_workqueue_is_drained(q, now));
    end();
}

/* ---- drop ---- */

TEST(drop_removes_a_key_wherever_it_waits)
{
    begin();
    CHECK(!pl_workqueue_drop(q, pl_slice_z("a")));
    add("a");
    add("b");
    add_after("c", 5);
    CHECK(pl_workqueue_drop(q, pl_slice_z("a")));
    CHECK(pl_workqueue_drop(q, pl_slice_z("c")));
    now += 5;
    CHECK_STR(take(), "b");
    CHECK(!pl_workqueue_drop(q, pl_slice_z("b")));
    add("b");
    CHECK(pl_workqueue_drop(q, pl_slice_z("b")));
    done("b");
    CHECK_STR(take(), "-");
    CHECK_INT(pl_workqueue_len(q, now), 0);
    end();
}

/* ---- metrics ---- */

static int64_t last_latency, last_work;

static void on_latency(void *arg, int64_t ns)
{
    PL_UNUSED(arg);
    last_latency = ns;
}

static void on_work(void *arg, int64_t ns)
{
    PL_UNUSED(arg);
    last_work = ns;
}

TEST(times_are_observed_and_running_work_is_summed)
{
    begin();
    pl_workqueue_observe(q, &(struct pl_workqueue_observer){on_latency, on_work, NULL});
    add("a");
    add_after("b", 10);
    now += 30;
    CHECK_STR(take(), "a");
    CHECK_INT(last_latency, 30);
    now += 5;
    CHECK_STR(take(), "b");
    CHECK_INT(last_latency, 25);
    now += 7;
    struct pl_workqueue_metrics metrics;
    pl_workqueue_metrics(q, now, &metrics);
    CHECK_INT(metrics.adds, 2);
    CHECK_INT(metrics.retries, 1);
    CHECK_INT(metrics.unfinished_ns, 12 + 7);
    CHECK_INT(metrics.longest_ns, 12);
    done("a");
    CHECK_INT(last_work, 12);
    pl_workqueue_metrics(q, now, &metrics);
    CHECK_INT(metrics.unfinished_ns, 7);
    CHECK_INT(metrics.longest_ns, 7);
    done("b");
    pl_workqueue_metrics(q, now, &metrics);
    CHECK_INT(metrics.unfinished_ns + metrics.longest_ns, 0);
    end();
}

/* Rule 93: everything that is requested as a retry counts, a plain add does not. */
TEST(retries_count_what_was_asked_for)
{
    begin();
    struct pl_workqueue_metrics metrics;
    add("a");
    add_after("a", 5);
    add_limited("a");
    add_after("b", -1);
    pl_workqueue_metrics(q, now, &metrics);
    CHECK_INT(metrics.retries, 3);
    CHECK_INT(metrics.adds, 2);
    CHECK_INT(metrics.depth, 2);
    CHECK(changes >= 2);
    end();
}

/* ---- the plain form ---- */

/* rules 88, 92 */
TEST(plain_keys_queue_at_the_end_and_delays_run_on_their_own)
{
    begin_plain();
    add("a");
    CHECK_STR(take(), "a");
    add("a");
    add("b");
    CHECK_INT(pl_workqueue_len(q, now), 1);
    done("a");
    add("c");
    CHECK_STR(drain(), "bac");
    add_after("d", 10);
    add("d");
    CHECK_STR(drain(), "d");
    now += 10;
    CHECK_STR(drain(), "d");
    end();
}

/* ---- against a model ---- */

enum { MODEL_KEYS = 12 };

static struct {
    bool ready, processing, waiting;
    int priority;
    int64_t due;
    uint64_t turn;
} model[MODEL_KEYS];
static uint64_t model_turn;

static void model_ready(int i)
{
    model[i].ready = true;
    model[i].waiting = false;
    model[i].turn = model_turn++;
}

static void model_promote(void)
{
    for (;;) {
        int first = -1;
        for (int i = 0; i < MODEL_KEYS; i++)
            if (model[i].waiting && model[i].due <= now &&
                (first < 0 || model[i].due < model[first].due))
                first = i;
        if (first < 0)
            return;
        model_ready(first);
    }
}

static void model_add(int i, int priority, int64_t after)
{
    model_promote();
    if (!model[i].ready && !model[i].waiting)
        model[i].priority = priority;
    if (priority > model[i].priority) {
        model[i].priority = priority;
        model[i].turn = model_turn++;
    }
    if (model[i].ready)
        return;
    if (after == 0) {
        model_ready(i);
    } else if (!model[i].waiting || now + after < model[i].due) {
        model[i].waiting = true;
        model[i].due = now + after;
    }
}

static int model_take(void)
{
    model_promote();
    int best = -1;
    for (int i = 0; i < MODEL_KEYS; i++)
        if (model[i].ready && !model[i].processing &&
            (best < 0 || model[i].priority > model[best].priority ||
             (model[i].priority == model[best].priority && model[i].turn < model[best].turn)))
            best = i;
    if (best >= 0) {
        model[best].ready = false;
        model[best].processing = true;
    }
    return best;
}

static void key_name(char out[16], int i)
{
    snprintf(out, 16, "k%d", i);
}

/* rules 100-106 */
TEST(agrees_with_a_model_over_random_calls) /* F38, F49 */
{
    struct pl_rand rand;
    pl_rand_seed(&rand, 20);
    memset(model, 0, sizeof(model));
    begin();
    for (int round = 0; round < 100000; round++) {
        uint64_t draw = pl_rand_u64(&rand);
        int i = (int)(draw % MODEL_KEYS), op = (int)(draw >> 8 & 7);
        char key[16];
        key_name(key, i);
        if (op < 3) {
            int priority = (int)(draw >> 16 & 3) - 2;
            /* All due times differ, since equal ones have no order. */
            int64_t after = draw >> 24 & 1 ? (int64_t)(draw >> 32 & 15) * 1000 + round % 1000 : 0;
            for (int k = 0; k < MODEL_KEYS; k++)
                after += after != 0 && model[k].waiting && model[k].due == now + after;
            model_add(i, priority, after);
            pl_workqueue_add(q, pl_slice_z(key),
                             &(struct pl_add){.priority = priority, .after_ns = after}, now);
        } else if (op < 5) {
            int want = model_take();
            char name[16] = "-";
            if (want >= 0)
                key_name(name, want);
            CHECK_STR(take(), name);
        } else if (op < 7) {
            model[i].processing = false;
            done(key);
        } else {
            now += (int64_t)(draw >> 16 & 4095);
        }
    }
    end();
}

TEST(another_limiter_goes_on_from_the_failures_there_were)
{
    begin();
    struct pl_add again = {.rate_limited = true};
    for (int i = 0; i < 3; i++) {
        pl_workqueue_add(q, pl_slice_z("a"), &again, now);
        now += PL_SECOND;
        CHECK_STR(take(), "a");
        done("a");
    }
    pl_workqueue_set_limit(q, pl_ratelimit_exponential(10 * PL_SECOND, 1000 * PL_SECOND));
    CHECK_INT(pl_workqueue_requeues(q, pl_slice_z("a")), 3);
    pl_workqueue_add(q, pl_slice_z("a"), &again, now);
    int64_t due;
    CHECK(pl_workqueue_next_due(q, &due));
    CHECK_INT(due - now, 80 * PL_SECOND);
    end();
}

TEST(a_key_moved_earlier_a_million_times_waits_once) /* F48 */
{
    begin();
    int64_t due = 0;
    for (int i = 1000000; i > 0; i--)
        add_after("a", i);
    CHECK_INT(pl_workqueue_waiting(q), 1);
    CHECK(pl_workqueue_next_due(q, &due));
    CHECK_INT(due, now + 1);
    now += 1;
    CHECK_STR(take(), "a");
    done("a");
    now += 1000000;
    CHECK_STR(take(), "-");
    end();
}

TEST(a_high_key_that_is_not_due_holds_up_no_low_one) /* F49 */
{
    begin();
    pl_workqueue_add(q, pl_slice_z("high"), &(struct pl_add){.priority = 10, .after_ns = 100}, now);
    add("low");
    add("other");
    CHECK_STR(take(), "low");
    add("low"); /* while it is worked on */
    CHECK_STR(take(), "other");
    now += 100;
    CHECK_STR(take(), "high");
    done("low");
    CHECK_STR(take(), "low");
    CHECK_STR(take(), "-");
    end();
}

TEST(a_million_delayed_keys_come_in_the_order_of_their_times)
{
    enum { KEYS = 1000000 };
    begin();
    struct pl_rand rand;
    pl_rand_seed(&rand, 21);
    for (int i = 0; i < KEYS; i++) {
        char key[24];
        snprintf(key, sizeof(key), "%d", i);
        add_after(key, 1 + (int64_t)(pl_rand_u64(&rand) % 1000000000));
    }
    CHECK_INT(pl_workqueue_waiting(q), KEYS);
    now += 1000000000;
    int64_t last = 0;
    struct pl_item item;
    size_t count = 0;
    while (pl_workqueue_take(q, &item, now) == 0) {
        CHECK(item.added_ns >= last);
        last = item.added_ns;
        count++;
        pl_workqueue_done(q, item.key, now);
    }
    CHECK_INT(count, KEYS);
    end();
}

TEST_MAIN()
