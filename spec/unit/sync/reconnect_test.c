#include "sync/reconnect.h"

#include "base/log.h"
#include "support/test.h"
#include "support/virtual_clock.h"

#include <unistd.h>

#define ALL 200

static const struct pl_err away = {.code = PL_ENETWORK, .message = "connection refused"};

/* Connections that want to reconnect, and a server that answers or does not. */
struct one {
    struct pl_reconnect turn;
    bool connected;
    int tries;
    int64_t last_ns;
};

static struct bed {
    struct virtual_clock clock;
    struct pl_timers timers;
    struct pl_rand rand;
    struct pl_reconnects *all;
    struct one ones[ALL];
    bool up;
    int tries;
    enum pl_reconnect_kind kind;
} bed;

static void go(struct pl_reconnect *turn);

static void attempt(struct one *one)
{
    one->tries++;
    bed.tries++;
    one->last_ns = bed.clock.now_ns;
    if (bed.up) {
        one->connected = true;
        pl_reconnect_heard(bed.all, &one->turn);
    } else {
        CHECK(pl_reconnect_failed(bed.all, &one->turn, &away));
        CHECK(!pl_reconnect_ask(bed.all, &one->turn, bed.kind, go));
    }
}

static void go(struct pl_reconnect *turn)
{
    attempt(PL_CONTAINER_OF(turn, struct one, turn));
}

static void ask(struct one *one)
{
    if (pl_reconnect_ask(bed.all, &one->turn, bed.kind, go))
        attempt(one);
}

static void pass(int64_t ns)
{
    int64_t until = bed.clock.now_ns + ns, due_ns;
    while (pl_timers_next(&bed.timers, &due_ns) && due_ns <= until) {
        bed.clock.now_ns = due_ns > bed.clock.now_ns ? due_ns : bed.clock.now_ns;
        pl_timers_run(&bed.timers);
    }
    bed.clock.now_ns = until;
}

static void begin(enum pl_reconnect_kind kind)
{
    memset(&bed, 0, sizeof bed);
    pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    virtual_clock_init(&bed.clock, 1000 * PL_SECOND);
    pl_timers_init(&bed.timers, &bed.clock.clock);
    pl_rand_seed(&bed.rand, 3);
    bed.all = pl_reconnects_create(&bed.timers, &bed.rand);
    bed.kind = kind;
    bed.up = true;
}

static void finish(void)
{
    for (size_t i = 0; i < ALL; i++)
        pl_reconnect_forget(bed.all, &bed.ones[i].turn);
    pl_reconnects_destroy(bed.all);
    CHECK_INT(bed.timers.heap.count, 0);
    pl_timers_deinit(&bed.timers);
}

static int connected(void)
{
    int count = 0;
    for (size_t i = 0; i < ALL; i++)
        count += bed.ones[i].connected;
    return count;
}

TEST(one_alone_goes_at_once)
{
    begin(PL_RECONNECT_WATCH);
    ask(&bed.ones[0]);
    CHECK(bed.ones[0].connected);
    finish();
}

TEST(F37_two_hundred_watches_come_back_one_after_another)
{
    begin(PL_RECONNECT_WATCH);
    for (size_t i = 0; i < ALL; i++)
        ask(&bed.ones[i]);
    CHECK_INT(connected(), 10);
    pass(PL_SECOND);
    CHECK(connected() > 30 && connected() < 90);
    pass(6 * PL_SECOND);
    CHECK_INT(connected(), ALL);
    /* The distances must not all be the same. */
    int same = 0;
    for (size_t i = 12; i < ALL; i++)
        same += bed.ones[i].last_ns - bed.ones[i - 1].last_ns ==
                bed.ones[i - 1].last_ns - bed.ones[i - 2].last_ns;
    CHECK(same < 10);
    finish();
}

TEST(F37_fifty_relists_are_spread_over_ten_seconds)
{
    begin(PL_RECONNECT_LIST);
    for (size_t i = 0; i < 50; i++)
        ask(&bed.ones[i]);
    pass(5 * PL_SECOND);
    CHECK(connected() < 40);
    pass(10 * PL_SECOND);
    CHECK_INT(connected(), 50);
    finish();
}

TEST(F37_while_the_server_is_away_few_try_and_all_follow_quickly)
{
    begin(PL_RECONNECT_WATCH);
    bed.up = false;
    for (size_t i = 0; i < ALL; i++)
        ask(&bed.ones[i]);
    CHECK_INT(bed.tries, 1);
    CHECK(pl_reconnects_is_away(bed.all));
    pass(5 * 60 * PL_SECOND);
    /* One in five to ten seconds, with a few soon after each reset of the backoff (rule 84). */
    CHECK(bed.tries > 20 && bed.tries < 90);
    bed.up = true;
    pass(10 * PL_SECOND);
    CHECK(!pl_reconnects_is_away(bed.all));
    pass(6 * PL_SECOND);
    CHECK_INT(connected(), ALL);
    finish();
}

static struct pl_reconnect hanging[20];
static int hung;

static void hang(struct pl_reconnect *turn)
{
    PL_UNUSED(turn);
    hung++;
}

TEST(of_attempts_that_hang_there_are_three_until_one_is_given_up)
{
    begin(PL_RECONNECT_WATCH);
    hung = 0;
    CHECK(pl_reconnect_ask(bed.all, &bed.ones[0].turn, bed.kind, go));
    CHECK(pl_reconnect_failed(bed.all, &bed.ones[0].turn, &away));
    memset(hanging, 0, sizeof hanging);
    for (size_t i = 0; i < PL_ARRAY_LEN(hanging); i++)
        CHECK(!pl_reconnect_ask(bed.all, &hanging[i], PL_RECONNECT_WATCH, hang));
    pass(60 * PL_SECOND);
    CHECK_INT(hung, 3);
    CHECK(pl_reconnect_failed(bed.all, &hanging[0], &away));
    pass(60 * PL_SECOND);
    CHECK_INT(hung, 4);
    for (size_t i = 0; i < PL_ARRAY_LEN(hanging); i++)
        pl_reconnect_forget(bed.all, &hanging[i]);
    finish();
}

static void give_up(struct pl_reconnect *turn)
{
    hung++;
    if (!bed.up)
        CHECK(!pl_reconnect_ask(bed.all, turn, PL_RECONNECT_LIST, give_up));
}

/* A request that failed for another reason than the server is not reported here. */
TEST(attempts_that_end_in_their_own_way_keep_nobody_from_trying)
{
    begin(PL_RECONNECT_LIST);
    bed.up = false;
    hung = 0;
    CHECK(pl_reconnect_ask(bed.all, &bed.ones[0].turn, bed.kind, go));
    CHECK(pl_reconnect_failed(bed.all, &bed.ones[0].turn, &away));
    memset(hanging, 0, sizeof hanging);
    CHECK(!pl_reconnect_ask(bed.all, &hanging[0], PL_RECONNECT_LIST, give_up));
    pass(10 * 60 * PL_SECOND);
    CHECK(hung > 30);
    bed.up = true;
    CHECK(!pl_reconnect_ask(bed.all, &bed.ones[1].turn, PL_RECONNECT_FIRST, go));
    pass(30 * PL_SECOND);
    CHECK(bed.ones[1].connected);
    pl_reconnect_forget(bed.all, &hanging[0]);
    finish();
}

TEST(trouble_of_one_alone_is_not_the_servers)
{
    begin(PL_RECONNECT_WATCH);
    CHECK(pl_reconnect_ask(bed.all, &bed.ones[0].turn, bed.kind, go));
    bed.clock.now_ns += PL_SECOND;
    ask(&bed.ones[1]); /* and is answered */
    bed.clock.now_ns += PL_SECOND;
    CHECK(!pl_reconnect_failed(bed.all, &bed.ones[0].turn, &away));
    CHECK(!pl_reconnects_is_away(bed.all));
    finish();
}

/* ---- log lines for operators ---- */

static void fail_with(const char *message)
{
    struct pl_err err = {0};
    pl_err_set(&err, PL_ENETWORK, "%s", message);
    if (!pl_reconnects_is_away(bed.all))
        CHECK(pl_reconnect_ask(bed.all, &bed.ones[0].turn, PL_RECONNECT_FIRST, go));
    CHECK(pl_reconnect_failed(bed.all, &bed.ones[0].turn, &err));
}

/* Lines since the last look that have `part` in them. */
static int said(FILE *log, const char *part)
{
    static off_t seen;
    static char text[16384];
    off_t end = lseek(fileno(log), 0, SEEK_END);
    ssize_t len = pread(fileno(log), text, sizeof text - 1, end < seen ? 0 : seen);
    REQUIRE(len >= 0 && (size_t)len < sizeof text - 1);
    text[len] = '\0';
    seen = end;
    int count = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        count += strstr(line, part) != NULL;
    return count;
}

#define AWAY  "the API server does not answer"
#define AGAIN "the API server answers again"

TEST(each_reason_of_a_servers_silence_is_one_line_and_no_retry_is_another)
{
    begin(PL_RECONNECT_WATCH);
    FILE *log = tmpfile();
    REQUIRE(log != NULL);
    pl_log_configure(PL_LOG_INFO, false, fileno(log));
    for (int i = 0; i < 20; i++) /* the text in brackets differs each time */
        fail_with(i % 2 ? "GET host:1: connection refused (after 1 ms)"
                        : "PATCH host:2: connection refused (after 20 ms)");
    CHECK_INT(said(log, AWAY), 1);
    for (int i = 0; i < 20; i++)
        fail_with("GET host:1: the server's certificate is not trusted (expired)");
    CHECK_INT(said(log, "not trusted"), 1);
    fail_with("GET host:1: connection refused (after 2 ms)"); /* back and forth */
    bed.clock.now_ns += 10 * 60 * PL_SECOND;                  /* and however long */
    fail_with("GET host:1: connection refused (after 2 ms)");
    CHECK_INT(said(log, AWAY), 0);
    pl_reconnect_heard(bed.all, &bed.ones[0].turn);
    pl_reconnect_heard(bed.all, &bed.ones[0].turn);
    CHECK_INT(said(log, AGAIN), 1);

    /* It comes and goes: the same reason within a minute makes no line, nor does its end; another
     * reason makes one. */
    for (int i = 0; i < 3; i++) {
        bed.clock.now_ns += 10 * PL_SECOND;
        fail_with("GET host:1: connection refused (after 1 ms)");
        pl_reconnect_heard(bed.all, &bed.ones[0].turn);
        CHECK_INT(said(log, ""), i == 0 ? 2 : 0);
    }
    fail_with("GET host:1: no such host (nowhere)");
    fail_with("GET host:1: connection refused (after 1 ms)");
    pl_reconnect_heard(bed.all, &bed.ones[0].turn);
    CHECK_INT(said(log, ""), 2);

    /* Later it makes a line again. */
    bed.clock.now_ns += 61 * PL_SECOND;
    fail_with("GET host:1: connection refused (after 1 ms)");
    CHECK_INT(said(log, AWAY), 1);

    /* More reasons than are remembered: each is logged, and none twice in a row. */
    char text[64];
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "GET host:1: reason %d (x)", i / 2);
        fail_with(text);
    }
    CHECK_INT(said(log, AWAY), 20);
    pl_reconnect_heard(bed.all, &bed.ones[0].turn);
    pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    fclose(log);
    finish();
}

TEST(a_first_list_waits_for_nobody_but_a_server_that_is_away)
{
    begin(PL_RECONNECT_FIRST);
    for (size_t i = 0; i < ALL; i++)
        ask(&bed.ones[i]);
    CHECK_INT(connected(), ALL);
    bed.up = false;
    ask(&bed.ones[0]);
    bed.ones[1].connected = false;
    CHECK(!pl_reconnect_ask(bed.all, &bed.ones[1].turn, PL_RECONNECT_FIRST, go));
    bed.up = true;
    pass(15 * PL_SECOND);
    CHECK(bed.ones[1].connected);
    finish();
}

TEST(a_refusal_to_stream_is_forgotten_after_a_while)
{
    begin(PL_RECONNECT_WATCH);
    CHECK(pl_reconnects_may_stream(bed.all));
    pl_reconnects_refuse_streams(bed.all);
    pass(PL_STREAM_REFUSED_NS - 1);
    CHECK(!pl_reconnects_may_stream(bed.all));
    pass(1);
    CHECK(pl_reconnects_may_stream(bed.all));
    finish();
}

static int told;

static void on_restored(struct pl_reconnect *one)
{
    PL_UNUSED(one);
    told++;
}

TEST(what_one_finds_restored_every_other_is_told_once) /* F27 */
{
    struct virtual_clock time;
    struct pl_timers timers;
    struct pl_rand rand;
    virtual_clock_init(&time, PL_SECOND);
    pl_timers_init(&timers, &time.clock);
    pl_rand_seed(&rand, 1);
    struct pl_reconnects *all = pl_reconnects_create(&timers, &rand);
    struct pl_reconnect a = {0}, b = {0}, late = {0};
    told = 0;
    pl_reconnect_join(all, &a, on_restored);
    pl_reconnect_join(all, &b, on_restored);
    CHECK(pl_reconnect_is_current(all, &a));
    pl_reconnect_found_restored(all, &a);
    CHECK_INT(told, 1);
    CHECK(!pl_reconnect_is_current(all, &a) && !pl_reconnect_is_current(all, &b));
    pl_reconnect_found_restored(all, &b); /* that was known */
    CHECK_INT(told, 1);
    pl_reconnect_lists(all, &b);
    CHECK(pl_reconnect_is_current(all, &b) && !pl_reconnect_is_current(all, &a));
    pl_reconnect_join(all, &late, NULL);
    CHECK(pl_reconnect_is_current(all, &late));
    pl_reconnect_leave(&a);
    pl_reconnect_found_restored(all, &b);
    CHECK_INT(told, 1);
    pl_reconnect_leave(&b);
    pl_reconnect_leave(&late);
    pl_reconnects_destroy(all);
    pl_timers_deinit(&timers);
}

TEST_MAIN()
