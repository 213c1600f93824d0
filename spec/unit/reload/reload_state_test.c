#include "reload/reload_state.h"

#include "base/base.h"
#include "base/rand.h"
#include "support/test.h"
#include "support/virtual_clock.h"

/* Records effects and answers as the test says: `looks`, `checks` and `prepares` may come from
 * inside the effect, as in the host. */
struct bed {
    struct virtual_clock time;
    struct pl_reload_state state;
    char did[256]; /* effects in order: "look load ..." */
    int64_t due_ns;
    bool no_room, no_load, bad;
    int inside; /* an event that `prepare` reports before it returns; -1: none */
    int loads, looks;
};

static void did(struct bed *bed, const char *what)
{
    size_t len = strlen(bed->did);
    snprintf(bed->did + len, sizeof bed->did - len, "%s%s", len > 0 ? " " : "", what);
}

static void do_wait(void *arg, int64_t due_ns)
{
    struct bed *bed = arg;
    bed->due_ns = due_ns;
    char text[32];
    snprintf(text, sizeof text, "wait:%" PRId64, (due_ns - bed->time.now_ns) / PL_MS);
    did(bed, text);
}

static void do_look(void *arg)
{
    ((struct bed *)arg)->looks++;
    did(arg, "look");
}

static void do_check(void *arg)
{
    did(arg, "check");
}

static bool do_make_room(void *arg)
{
    return !((struct bed *)arg)->no_room;
}

static bool do_load(void *arg)
{
    struct bed *bed = arg;
    did(bed, "load");
    bed->loads++;
    return !bed->no_load;
}

static bool do_judge(void *arg)
{
    return !((struct bed *)arg)->bad;
}

static void do_prepare(void *arg)
{
    struct bed *bed = arg;
    did(bed, "prepare");
    if (bed->inside >= 0)
        pl_reload_state_tell(&bed->state, (enum pl_reload_event)bed->inside);
}

static void do_apply(void *arg)
{
    did(arg, "apply");
}

static void do_refuse(void *arg)
{
    did(arg, "refuse");
}

static void do_drop(void *arg)
{
    did(arg, "drop");
}

static void do_settle(void *arg, bool asked)
{
    did(arg, asked ? "settle:asked" : "settle");
}

static const struct pl_reload_ops ops = {
    .wait = do_wait,
    .look = do_look,
    .check = do_check,
    .make_room = do_make_room,
    .load = do_load,
    .judge = do_judge,
    .prepare = do_prepare,
    .apply = do_apply,
    .refuse = do_refuse,
    .drop = do_drop,
    .settle = do_settle,
};

static void bed_init(struct bed *bed)
{
    memset(bed, 0, sizeof *bed);
    bed->inside = -1;
    virtual_clock_init(&bed->time, 1000 * PL_SECOND);
    pl_reload_state_init(&bed->state, &ops, bed, &bed->time.clock, true);
}

/* The effects of the event. */
static const char *tell(struct bed *bed, enum pl_reload_event event)
{
    bed->did[0] = '\0';
    pl_reload_state_tell(&bed->state, event);
    return bed->did;
}

static void pass(struct bed *bed, int64_t ms)
{
    bed->time.now_ns += ms * PL_MS;
}

/* Advances the time to the next timer. */
static const char *wait_over(struct bed *bed)
{
    if (bed->due_ns > bed->time.now_ns)
        bed->time.now_ns = bed->due_ns;
    return tell(bed, PL_RELOAD_DUE);
}

static void go_to(struct bed *bed, enum pl_reload_at at)
{
    static const enum pl_reload_event way[] = {
        PL_RELOAD_CHANGED, PL_RELOAD_DUE,     PL_RELOAD_IS_NEW, PL_RELOAD_LOADED,
        PL_RELOAD_UNMIXED, PL_RELOAD_CHANGED, PL_RELOAD_DUE};
    for (size_t i = 0; bed->state.at != at && i < PL_ARRAY_LEN(way); i++)
        tell(bed, way[i]);
    if (at == PL_RELOAD_STOPPED)
        tell(bed, PL_RELOAD_STOP);
    REQUIRE(bed->state.at == at);
}

/* ---- every state, every event ---- */

static const char *const state_names[PL_RELOAD_STATES] = {
    "idle",    "quiet",         "look",         "load",   "check",
    "prepare", "prepare_quiet", "prepare_look", "stopped"};
static const char *const event_names[PL_RELOAD_EVENTS] = {
    "asked",  "changed", "read",    "back",  "due",      "is_running", "is_refused", "is_next",
    "is_new", "loaded",  "unmixed", "mixed", "prepared", "unprepared", "stop"};

/* Each answer that is not "nothing": the state, the event, the state after it, the effects. If a
 * change led to the state, an answer that waits does so until the changes stop. */
static const char *const expected[][4] = {
    {"idle", "asked", "quiet", "wait:0"},
    {"idle", "changed", "quiet", "wait:20"},
    {"idle", "read", "quiet", "wait:20"},
    {"idle", "back", "quiet", "wait:20"},
    {"quiet", "asked", "quiet", "wait:0"},
    {"quiet", "changed", "quiet", "wait:20"},
    {"quiet", "due", "look", "look"},
    {"look", "is_running", "idle", "settle"},
    {"look", "is_refused", "idle", ""},
    {"look", "is_next", "look", "look"},
    {"look", "is_new", "load", "load"},
    {"load", "loaded", "check", "check"},
    {"check", "unmixed", "prepare", "prepare"},
    {"check", "mixed", "quiet", "drop wait:20"},
    {"prepare", "asked", "prepare_quiet", "wait:0"},
    {"prepare", "changed", "prepare_quiet", "wait:20"},
    {"prepare", "read", "prepare_quiet", "wait:20"},
    {"prepare", "back", "quiet", "drop wait:20"},
    {"prepare", "prepared", "quiet", "apply wait:20"},
    {"prepare", "unprepared", "quiet", "refuse wait:20"},
    {"prepare_quiet", "asked", "prepare_quiet", "wait:0"},
    {"prepare_quiet", "changed", "prepare_quiet", "wait:20"},
    {"prepare_quiet", "back", "quiet", "drop wait:20"},
    {"prepare_quiet", "due", "prepare_look", "look"},
    {"prepare_quiet", "prepared", "quiet", "apply wait:20"},
    {"prepare_quiet", "unprepared", "quiet", "refuse wait:20"},
    {"prepare_look", "back", "look", "drop"},
    {"prepare_look", "is_running", "idle", "drop settle"},
    {"prepare_look", "is_refused", "idle", "drop"},
    {"prepare_look", "is_next", "prepare", ""},
    {"prepare_look", "is_new", "load", "drop load"},
    {"prepare_look", "prepared", "look", "apply"},
    {"prepare_look", "unprepared", "look", "refuse"},
};

static void expect(const char *state, const char *event, const char **after, const char **effects)
{
    *after = strcmp(event, "stop") == 0 ? "stopped" : state;
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
    for (int at = 0; at < PL_RELOAD_STATES; at++) {
        for (int event = 0; event < PL_RELOAD_EVENTS; event++) {
            struct bed bed;
            const char *after, *effects;
            bed_init(&bed);
            go_to(&bed, (enum pl_reload_at)at);
            pass(&bed, 1);
            expect(state_names[at], event_names[event], &after, &effects);
            const char *done = tell(&bed, (enum pl_reload_event)event);
            if (strcmp(state_names[bed.state.at], after) != 0 || strcmp(done, effects) != 0)
                TEST_FAIL("%s, %s: %s \"%s\", not %s \"%s\"", state_names[at], event_names[event],
                          state_names[bed.state.at], done, after, effects);
        }
    }
}

/* ---- bursts ---- */

TEST(eight_saves_10_ms_apart_are_loaded_once)
{
    struct bed bed;
    bed_init(&bed);
    for (int i = 0; i < 8; i++) {
        tell(&bed, PL_RELOAD_CHANGED);
        CHECK_INT(bed.due_ns, bed.time.now_ns + 20 * PL_MS);
        pass(&bed, 10);
    }
    CHECK_INT(bed.looks, 0);
    wait_over(&bed);
    tell(&bed, PL_RELOAD_IS_NEW);
    tell(&bed, PL_RELOAD_LOADED);
    CHECK_STR(tell(&bed, PL_RELOAD_UNMIXED), "prepare");
    CHECK_INT(bed.loads, 1);
}

TEST(eight_saves_while_a_load_is_under_way_are_loaded_once_more)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_RELOAD_LOAD);
    for (int i = 0; i < 8; i++) {
        tell(&bed, PL_RELOAD_CHANGED);
        if (i == 2) /* it ends between two saves */
            tell(&bed, PL_RELOAD_LOADED);
        if (i == 3)
            CHECK_STR(tell(&bed, PL_RELOAD_MIXED), "drop wait:20");
        pass(&bed, 10);
        CHECK(bed.due_ns >= bed.time.now_ns || i < 3);
    }
    CHECK_INT(bed.loads, 1);
    CHECK_STR(wait_over(&bed), "look");
    CHECK_STR(tell(&bed, PL_RELOAD_IS_NEW), "load");
    CHECK_INT(bed.loads, 2);
}

TEST(a_burst_goes_on_while_the_disk_is_compared)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_RELOAD_LOOK);
    pass(&bed, 5);
    CHECK_STR(tell(&bed, PL_RELOAD_CHANGED), "");
    CHECK_STR(tell(&bed, PL_RELOAD_IS_NEW), "wait:20");
    wait_over(&bed);
    CHECK_STR(tell(&bed, PL_RELOAD_IS_NEW), "load");

    bed_init(&bed); /* the result "nothing to do" may be too early */
    go_to(&bed, PL_RELOAD_LOOK);
    tell(&bed, PL_RELOAD_CHANGED);
    CHECK_STR(tell(&bed, PL_RELOAD_IS_RUNNING), "wait:20");
    wait_over(&bed);
    CHECK_STR(tell(&bed, PL_RELOAD_IS_RUNNING), "settle");
}

TEST(a_burst_without_end_is_cut)
{
    struct bed bed;
    bed_init(&bed);
    int64_t began = bed.time.now_ns;
    while (bed.time.now_ns < began + 500 * PL_MS) {
        tell(&bed, PL_RELOAD_CHANGED);
        pass(&bed, 10);
    }
    CHECK_INT(bed.due_ns, began + 500 * PL_MS);
    CHECK_STR(tell(&bed, PL_RELOAD_DUE), "look");
    tell(&bed, PL_RELOAD_CHANGED);
    CHECK_STR(tell(&bed, PL_RELOAD_IS_NEW), "load");
}

TEST(a_burst_without_end_that_changes_nothing_is_looked_at_again_and_again_with_pauses)
{
    struct bed bed;
    bed_init(&bed);
    tell(&bed, PL_RELOAD_CHANGED);
    for (int i = 0; i < 100; i++) {
        wait_over(&bed);
        pass(&bed, 10);
        tell(&bed, PL_RELOAD_CHANGED);
        CHECK_STR(tell(&bed, PL_RELOAD_IS_RUNNING), "wait:20");
    }
}

TEST(an_earlier_change_does_not_cut_a_later_burst)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_RELOAD_LOAD);
    tell(&bed, PL_RELOAD_CHANGED);
    pass(&bed, 2000);
    tell(&bed, PL_RELOAD_CHANGED);
    tell(&bed, PL_RELOAD_LOADED);
    CHECK_STR(tell(&bed, PL_RELOAD_MIXED), "drop wait:20");
}

TEST(files_that_never_stop_changing_are_taken_as_they_are_in_the_end)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_RELOAD_CHECK);
    for (int i = 0; i < PL_RELOAD_MIXTURES; i++) {
        CHECK_STR(tell(&bed, PL_RELOAD_MIXED), "drop wait:20");
        wait_over(&bed);
        tell(&bed, PL_RELOAD_IS_NEW);
        tell(&bed, PL_RELOAD_LOADED);
    }
    CHECK_STR(tell(&bed, PL_RELOAD_MIXED), "prepare");
    CHECK_STR(tell(&bed, PL_RELOAD_PREPARED), "apply wait:20");
    CHECK_INT(bed.state.mixtures, 0);
}

TEST(a_change_after_the_load_is_looked_at_while_it_is_prepared)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_RELOAD_CHECK);
    tell(&bed, PL_RELOAD_CHANGED);
    CHECK_STR(tell(&bed, PL_RELOAD_UNMIXED), "prepare wait:20");
    wait_over(&bed);
    CHECK_STR(tell(&bed, PL_RELOAD_IS_NEW), "drop load");
}

/* ---- requests of clients ---- */

TEST(who_asks_waits_for_nothing_and_has_what_was_refused_tried_again)
{
    struct bed bed;
    bed_init(&bed);
    CHECK_STR(tell(&bed, PL_RELOAD_ASKED), "wait:0");
    CHECK_STR(tell(&bed, PL_RELOAD_CHANGED), "");
    wait_over(&bed);
    CHECK_STR(tell(&bed, PL_RELOAD_IS_REFUSED), "load");

    bed_init(&bed);
    go_to(&bed, PL_RELOAD_LOOK);
    CHECK_STR(tell(&bed, PL_RELOAD_IS_REFUSED), "");

    bed_init(&bed);
    tell(&bed, PL_RELOAD_ASKED);
    wait_over(&bed);
    CHECK_STR(tell(&bed, PL_RELOAD_IS_RUNNING), "settle:asked");
}

TEST(who_asks_during_a_look_is_answered_by_another)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_RELOAD_LOOK);
    tell(&bed, PL_RELOAD_ASKED);
    CHECK_STR(tell(&bed, PL_RELOAD_IS_RUNNING), "look");
    CHECK_STR(tell(&bed, PL_RELOAD_IS_RUNNING), "settle:asked");
}

TEST(who_asks_during_a_load_has_another_look_when_it_is_over)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_RELOAD_LOAD);
    tell(&bed, PL_RELOAD_ASKED);
    tell(&bed, PL_RELOAD_LOADED);
    tell(&bed, PL_RELOAD_UNMIXED);
    CHECK_STR(tell(&bed, PL_RELOAD_PREPARED), "apply wait:0");
}

TEST(without_watching_only_who_asks_has_a_look)
{
    struct bed bed;
    bed_init(&bed);
    bed.state.watches = false;
    CHECK_STR(tell(&bed, PL_RELOAD_READ), "");
    CHECK_STR(tell(&bed, PL_RELOAD_BACK), "");
    tell(&bed, PL_RELOAD_ASKED);
    wait_over(&bed);
    tell(&bed, PL_RELOAD_IS_NEW);
    tell(&bed, PL_RELOAD_LOADED);
    tell(&bed, PL_RELOAD_UNMIXED);
    CHECK_STR(tell(&bed, PL_RELOAD_PREPARED), "apply");
    CHECK_INT(bed.state.at, PL_RELOAD_IDLE);
}

/* ---- obstacles ---- */

TEST(a_load_waits_for_room)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_RELOAD_LOOK);
    bed.no_room = true;
    CHECK_STR(tell(&bed, PL_RELOAD_IS_NEW), "wait:50");
    wait_over(&bed);
    bed.no_room = false;
    CHECK_STR(tell(&bed, PL_RELOAD_IS_NEW), "load");
}

TEST(what_cannot_begin_or_may_not_run_is_refused)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_RELOAD_LOOK);
    bed.no_load = true;
    CHECK_STR(tell(&bed, PL_RELOAD_IS_NEW), "load refuse wait:20");

    bed_init(&bed);
    go_to(&bed, PL_RELOAD_CHECK);
    bed.bad = true;
    CHECK_STR(tell(&bed, PL_RELOAD_UNMIXED), "refuse wait:20");
}

TEST(what_is_prepared_at_once_is_applied_after_the_answer)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_RELOAD_CHECK);
    bed.inside = PL_RELOAD_PREPARED;
    CHECK_STR(tell(&bed, PL_RELOAD_UNMIXED), "prepare apply wait:20");
    bed_init(&bed);
    go_to(&bed, PL_RELOAD_CHECK);
    bed.inside = PL_RELOAD_UNPREPARED;
    CHECK_STR(tell(&bed, PL_RELOAD_UNMIXED), "prepare refuse wait:20");
}

TEST(what_was_compared_with_a_generation_that_does_not_run_any_more_is_compared_again)
{
    struct bed bed;
    bed_init(&bed);
    go_to(&bed, PL_RELOAD_LOOK);
    tell(&bed, PL_RELOAD_BACK);
    CHECK_STR(tell(&bed, PL_RELOAD_IS_RUNNING), "look");
    CHECK_STR(tell(&bed, PL_RELOAD_IS_REFUSED), "");

    bed_init(&bed);
    go_to(&bed, PL_RELOAD_CHECK);
    tell(&bed, PL_RELOAD_BACK);
    CHECK_STR(tell(&bed, PL_RELOAD_UNMIXED), "check");
    CHECK_STR(tell(&bed, PL_RELOAD_UNMIXED), "prepare");

    bed_init(&bed); /* a look that never ends delays nothing else */
    go_to(&bed, PL_RELOAD_PREPARE_LOOK);
    CHECK_STR(tell(&bed, PL_RELOAD_PREPARED), "apply");
    CHECK_STR(tell(&bed, PL_RELOAD_IS_NEXT), "look");
}

/* ---- at random ---- */

/* The state of the disk is a number, and so are generations; numbers that end with 0 cannot run. */
struct world {
    struct bed bed;
    struct pl_rand rand;
    int disk, running, refused, next, read;
    bool has_next, is_waiting, is_looking, is_loading, is_checking;
    int asked, told;
};

static struct world *world_of(void *arg)
{
    return PL_CONTAINER_OF((struct bed *)arg, struct world, bed);
}

static void on_wait(void *arg, int64_t due_ns)
{
    struct world *world = world_of(arg);
    CHECK(!world->is_looking || world->has_next);
    world->is_waiting = true;
    world->bed.due_ns = due_ns;
}

static void on_look(void *arg)
{
    struct world *world = world_of(arg);
    CHECK(!world->is_looking && !world->is_loading && !world->is_checking);
    world->is_looking = true;
    world->read = world->disk;
}

static void on_check(void *arg)
{
    struct world *world = world_of(arg);
    CHECK(world->has_next && !world->is_looking && !world->is_loading && !world->is_checking);
    world->is_checking = true;
    world->read = world->disk;
}

static bool on_load(void *arg)
{
    struct world *world = world_of(arg);
    CHECK(!world->has_next && !world->is_looking && !world->is_loading && !world->is_checking);
    world->has_next = world->is_loading = true;
    world->next = world->disk;
    return true;
}

static bool on_judge(void *arg)
{
    return world_of(arg)->next % 10 != 0;
}

static void on_prepare(void *arg)
{
    CHECK(world_of(arg)->has_next);
}

static void on_apply(void *arg)
{
    struct world *world = world_of(arg);
    CHECK(world->has_next);
    world->running = world->next;
    world->refused = -1;
    world->has_next = false;
    world->told = world->asked;
}

static void on_refuse(void *arg)
{
    struct world *world = world_of(arg);
    CHECK(world->has_next);
    world->refused = world->next;
    world->has_next = false;
    world->told = world->asked;
}

static void on_drop(void *arg)
{
    struct world *world = world_of(arg);
    CHECK(world->has_next && !world->is_loading);
    world->has_next = false;
}

static void on_settle(void *arg, bool asked)
{
    struct world *world = world_of(arg);
    PL_UNUSED(asked);
    world->refused = -1;
    world->told = world->asked;
}

static const struct pl_reload_ops world_ops = {
    .wait = on_wait,
    .look = on_look,
    .check = on_check,
    .make_room = do_make_room,
    .load = on_load,
    .judge = on_judge,
    .prepare = on_prepare,
    .apply = on_apply,
    .refuse = on_refuse,
    .drop = on_drop,
    .settle = on_settle,
};

static uint64_t below(struct world *world, uint64_t limit)
{
    return pl_rand_u64(&world->rand) % limit;
}

/* One thing that is under way ends; false: nothing is. */
static bool end_something(struct world *world)
{
    struct pl_reload_state *state = &world->bed.state;
    if (world->is_looking) {
        world->is_looking = false;
        pl_reload_state_tell(state, world->has_next && world->read == world->next
                                        ? PL_RELOAD_IS_NEXT
                                    : world->read == world->running ? PL_RELOAD_IS_RUNNING
                                    : world->read == world->refused ? PL_RELOAD_IS_REFUSED
                                                                    : PL_RELOAD_IS_NEW);
    } else if (world->is_loading) {
        world->is_loading = false;
        pl_reload_state_tell(state, PL_RELOAD_LOADED);
    } else if (world->is_checking) {
        world->is_checking = false;
        pl_reload_state_tell(state,
                             world->read == world->next ? PL_RELOAD_UNMIXED : PL_RELOAD_MIXED);
    } else if (world->is_waiting) {
        world->is_waiting = false;
        if (world->bed.due_ns > world->bed.time.now_ns)
            world->bed.time.now_ns = world->bed.due_ns;
        pl_reload_state_tell(state, PL_RELOAD_DUE);
    } else if (world->has_next) {
        pl_reload_state_tell(state,
                             below(world, 4) > 0 ? PL_RELOAD_PREPARED : PL_RELOAD_UNPREPARED);
    } else {
        return false;
    }
    return true;
}

static void do_something(struct world *world)
{
    struct pl_reload_state *state = &world->bed.state;
    switch (below(world, 8)) {
    case 0:
    case 1:
        world->disk = (int)below(world, 30);
        pl_reload_state_tell(state, PL_RELOAD_CHANGED);
        break;
    case 2:
        world->asked++;
        pl_reload_state_tell(state, PL_RELOAD_ASKED);
        break;
    case 3:
        pl_reload_state_tell(state, PL_RELOAD_READ);
        break;
    case 4:
        world->refused = world->running;
        world->running = 31;
        pl_reload_state_tell(state, PL_RELOAD_BACK);
        break;
    default:
        world->bed.time.now_ns += (int64_t)below(world, 40) * PL_MS;
        end_something(world);
    }
}

TEST(at_random_what_is_on_the_disk_runs_in_the_end_and_who_asked_is_told)
{
    struct world world = {.running = 1, .refused = -1};
    world.bed.inside = -1;
    pl_rand_seed(&world.rand, 7);
    virtual_clock_init(&world.bed.time, 1000 * PL_SECOND);
    pl_reload_state_init(&world.bed.state, &world_ops, &world.bed, &world.bed.time.clock, true);
    for (int round = 0; round < 3000; round++) {
        for (int i = 0; i < 20; i++)
            do_something(&world);
        int steps = 0;
        while (end_something(&world) && steps < 200)
            steps++;
        CHECK(steps < 200);
        CHECK_INT(world.bed.state.at, PL_RELOAD_IDLE);
        CHECK(world.running == world.disk || world.refused == world.disk);
        CHECK_INT(world.told, world.asked);
    }
}

TEST_MAIN()
