#include "reload/shadow_state.h"

#include "base/base.h"
#include "base/rand.h"
#include "support/test.h"
#include "support/virtual_clock.h"

/* Records effects in order, and keeps the state that the real effects would leave. */
struct bed {
    struct virtual_clock time;
    struct pl_shadow_state state;
    char did[256];
    bool busy;                 /* a run is under way */
    int inside;                /* an event that `prepare` reports before it returns; -1: none */
    int64_t limit_ns, poll_ns; /* due; 0: not started */
    int told, ended, resets;
    bool untold, closing, loading;
    int64_t ended_ns;
};

static void did(struct bed *bed, const char *what)
{
    size_t len = strlen(bed->did);
    snprintf(bed->did + len, sizeof bed->did - len, "%s%s", len > 0 ? " " : "", what);
}

static void do_prepare(void *arg)
{
    struct bed *bed = arg;
    did(bed, "prepare");
    if (bed->inside >= 0)
        pl_shadow_state_tell(&bed->state, (enum pl_shadow_event)bed->inside);
}

static void do_run(void *arg)
{
    CHECK_INT(((struct bed *)arg)->state.at, PL_SHADOW_RUNNING);
    did(arg, "run");
}

static void do_end(void *arg, enum pl_shadow_why why, bool ran)
{
    static const char *const whys[] = {"duration",  "keys",    "finished",
                                       "too_early", "refused", "aborted"};
    struct bed *bed = arg;
    char text[32];
    snprintf(text, sizeof text, "end:%s%s", whys[why], ran ? ":ran" : "");
    did(bed, text);
    bed->ended++;
    bed->ended_ns = bed->time.now_ns;
}

static bool do_is_quiet(void *arg)
{
    return !((struct bed *)arg)->busy;
}

static void do_close(void *arg)
{
    struct bed *bed = arg;
    CHECK(!bed->busy && !bed->loading);
    bed->closing = true;
    did(bed, "close");
}

static void do_tell(void *arg)
{
    struct bed *bed = arg;
    bed->told += bed->untold;
    bed->untold = false;
    did(bed, "tell");
}

static void do_reset(void *arg)
{
    struct bed *bed = arg;
    bed->told += bed->untold;
    bed->untold = false;
    bed->resets++;
    bed->limit_ns = bed->poll_ns = 0;
    did(bed, "reset");
}

static void do_limit(void *arg, int64_t due_ns)
{
    struct bed *bed = arg;
    char text[32];
    bed->limit_ns = due_ns;
    snprintf(text, sizeof text, "limit:%" PRId64, (due_ns - bed->time.now_ns) / PL_MS);
    did(bed, text);
}

static void do_poll(void *arg, int64_t due_ns)
{
    struct bed *bed = arg;
    char text[32];
    bed->poll_ns = due_ns;
    snprintf(text, sizeof text, "poll:%" PRId64, (due_ns - bed->time.now_ns) / PL_MS);
    did(bed, text);
}

static const struct pl_shadow_ops ops = {
    .prepare = do_prepare,
    .run = do_run,
    .end = do_end,
    .is_quiet = do_is_quiet,
    .close = do_close,
    .tell = do_tell,
    .reset = do_reset,
    .limit = do_limit,
    .poll = do_poll,
};

static void bed_init(struct bed *bed)
{
    memset(bed, 0, sizeof *bed);
    bed->inside = -1;
    virtual_clock_init(&bed->time, 1000 * PL_SECOND);
    pl_shadow_state_init(&bed->state, &ops, bed, &bed->time.clock);
}

/* The effects of the event. */
static const char *tell(struct bed *bed, enum pl_shadow_event event)
{
    bed->did[0] = '\0';
    pl_shadow_state_tell(&bed->state, event);
    return bed->did;
}

static void go_to(struct bed *bed, enum pl_shadow_at at)
{
    static const enum pl_shadow_event ways[][6] = {
        [PL_SHADOW_NONE] = {PL_SHADOW_EVENTS},
        [PL_SHADOW_LOADING] = {PL_SHADOW_BEGUN, PL_SHADOW_EVENTS},
        [PL_SHADOW_PREPARING] = {PL_SHADOW_BEGUN, PL_SHADOW_LOADED, PL_SHADOW_EVENTS},
        [PL_SHADOW_RUNNING] = {PL_SHADOW_BEGUN, PL_SHADOW_LOADED, PL_SHADOW_PREPARED,
                               PL_SHADOW_EVENTS},
        [PL_SHADOW_ENDING_LOAD] = {PL_SHADOW_BEGUN, PL_SHADOW_FINISH, PL_SHADOW_EVENTS},
        [PL_SHADOW_ENDING] = {PL_SHADOW_BEGUN, PL_SHADOW_UNLOADED, PL_SHADOW_EVENTS},
        [PL_SHADOW_CLOSING] = {PL_SHADOW_BEGUN, PL_SHADOW_UNLOADED, PL_SHADOW_POLL,
                               PL_SHADOW_EVENTS},
    };
    for (const enum pl_shadow_event *event = ways[at]; *event != PL_SHADOW_EVENTS; event++)
        tell(bed, *event);
    REQUIRE(bed->state.at == at);
}

/* ---- every state, every event ---- */

static const char *const state_names[PL_SHADOW_STATES] = {
    "none", "loading", "preparing", "running", "ending_load", "ending", "closing"};
static const char *const event_names[PL_SHADOW_EVENTS] = {
    "begun", "loaded", "unloaded", "prepared", "unprepared",
    "limit", "poll",   "finish",   "abort",    "closed"};

/* Each answer that is not "nothing": the state, the event, the state after it, the effects. */
static const char *const expected[][4] = {
    {"none", "begun", "loading", ""},
    {"loading", "loaded", "preparing", "prepare"},
    {"loading", "unloaded", "ending", "end:refused limit:2000 poll:0"},
    {"loading", "finish", "ending_load", "end:too_early limit:2000"},
    {"loading", "abort", "ending_load", "end:aborted limit:2000"},
    {"preparing", "prepared", "running", "run"},
    {"preparing", "unprepared", "ending", "end:refused limit:2000 poll:0"},
    {"preparing", "finish", "ending", "end:too_early limit:2000 poll:0"},
    {"preparing", "abort", "ending", "end:aborted limit:2000 poll:0"},
    {"running", "limit", "ending", "end:duration:ran limit:2000 poll:0"},
    {"running", "poll", "ending", "end:keys:ran limit:2000 poll:0"},
    {"running", "finish", "ending", "end:finished:ran limit:2000 poll:0"},
    {"running", "abort", "ending", "end:aborted:ran limit:2000 poll:0"},
    {"ending_load", "loaded", "ending", "poll:0"},
    {"ending_load", "unloaded", "ending", "poll:0"},
    {"ending_load", "limit", "ending_load", "tell"},
    {"ending", "poll", "closing", "close"},
    {"ending", "limit", "ending", "tell"},
    {"closing", "limit", "closing", "tell"},
    {"closing", "closed", "none", "reset"},
};

static void expect(const char *state, const char *event, const char **after, const char **effects)
{
    *after = state;
    *effects = "";
    for (size_t i = 0; i < PL_ARRAY_LEN(expected); i++) {
        if (strcmp(expected[i][0], state) != 0 || strcmp(expected[i][1], event) != 0)
            continue;
        *after = expected[i][2];
        *effects = expected[i][3];
    }
}

TEST(every_state_answers_every_event)
{
    for (int at = 0; at < PL_SHADOW_STATES; at++) {
        for (int event = 0; event < PL_SHADOW_EVENTS; event++) {
            struct bed bed;
            const char *after, *effects;
            bed_init(&bed);
            go_to(&bed, (enum pl_shadow_at)at);
            expect(state_names[at], event_names[event], &after, &effects);
            const char *done = tell(&bed, (enum pl_shadow_event)event);
            if (strcmp(state_names[bed.state.at], after) != 0 || strcmp(done, effects) != 0)
                TEST_FAIL("%s, %s: %s \"%s\", not %s \"%s\"", state_names[at], event_names[event],
                          state_names[bed.state.at], done, after, effects);
        }
    }
}

TEST(it_is_on_until_it_ends)
{
    for (int at = 0; at < PL_SHADOW_STATES; at++) {
        struct bed bed;
        bed_init(&bed);
        go_to(&bed, (enum pl_shadow_at)at);
        CHECK_INT(pl_shadow_state_is_on(&bed.state),
                  at >= PL_SHADOW_LOADING && at <= PL_SHADOW_RUNNING);
    }
}

TEST(its_generation_is_closed_when_its_runs_have_ended)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_SHADOW_RUNNING);
    bed.busy = true;
    tell(&bed, PL_SHADOW_FINISH);
    for (int i = 0; i < 10; i++)
        CHECK_STR(tell(&bed, PL_SHADOW_POLL), "poll:10");
    bed.busy = false;
    CHECK_STR(tell(&bed, PL_SHADOW_POLL), "close");
}

TEST(what_is_prepared_at_once_runs_after_the_answer)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_SHADOW_LOADING);
    bed.inside = PL_SHADOW_PREPARED;
    CHECK_STR(tell(&bed, PL_SHADOW_LOADED), "prepare run");
    bed_init(&bed);
    go_to(&bed, PL_SHADOW_LOADING);
    bed.inside = PL_SHADOW_UNPREPARED;
    CHECK_STR(tell(&bed, PL_SHADOW_LOADED), "prepare end:refused limit:2000 poll:0");
}

/* ---- at random ---- */

static uint64_t below(struct pl_rand *rand, uint64_t limit)
{
    return pl_rand_u64(rand) % limit;
}

static void something_happens(struct bed *bed, struct pl_rand *rand)
{
    static const enum pl_shadow_event by_whim[] = {PL_SHADOW_FINISH, PL_SHADOW_ABORT};
    bed->time.now_ns += (int64_t)below(rand, 300) * PL_MS;
    if (bed->limit_ns != 0 && bed->limit_ns <= bed->time.now_ns) {
        bed->limit_ns = 0;
        tell(bed, PL_SHADOW_LIMIT);
    } else if (bed->poll_ns != 0 && bed->poll_ns <= bed->time.now_ns) {
        bed->poll_ns = 0;
        tell(bed, PL_SHADOW_POLL);
    } else if (bed->loading && below(rand, 4) == 0) {
        bed->loading = false;
        tell(bed, below(rand, 3) > 0 ? PL_SHADOW_LOADED : PL_SHADOW_UNLOADED);
    } else if (bed->state.at == PL_SHADOW_PREPARING && below(rand, 3) == 0) {
        tell(bed, below(rand, 3) > 0 ? PL_SHADOW_PREPARED : PL_SHADOW_UNPREPARED);
    } else if (bed->closing && below(rand, 8) == 0) {
        bed->closing = false;
        tell(bed, PL_SHADOW_CLOSED);
    } else if (below(rand, 10) == 0) {
        tell(bed, by_whim[below(rand, 2)]);
    }
    bed->busy = bed->state.at == PL_SHADOW_RUNNING || (bed->busy && below(rand, 6) > 0);
}

TEST(at_random_its_end_is_told_once_and_in_time)
{
    struct bed bed;
    struct pl_rand rand;
    bed_init(&bed);
    pl_rand_seed(&rand, 3);
    for (int round = 1; round <= 2000; round++) {
        bed.untold = bed.loading = true;
        tell(&bed, PL_SHADOW_BEGUN);
        for (int i = 0; i < 1000 && bed.state.at != PL_SHADOW_NONE; i++) {
            bool on = pl_shadow_state_is_on(&bed.state);
            something_happens(&bed, &rand);
            int64_t late = bed.time.now_ns - bed.ended_ns;
            CHECK(on || !bed.untold || late < PL_SHADOW_TELL_NS + 300 * PL_MS);
        }
        CHECK_INT(bed.state.at, PL_SHADOW_NONE);
        CHECK_INT(bed.ended, round);
        CHECK_INT(bed.told, round);
        CHECK_INT(bed.resets, round);
        bed.limit_ns = bed.poll_ns = 0;
    }
}

TEST_MAIN()
