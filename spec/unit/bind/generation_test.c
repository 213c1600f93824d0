/* How a generation begins and ends, on a cluster without a server. */
#include "bind/bind.h"
#include "bind/generation.h"

#include "../control/bed.h"
#include "base/alloc.h"
#include "support/turn.h"

#include <unistd.h>

#define CONTROLLER                                                                                 \
    "require('perilune').controller('c'):For('v1/ConfigMap'):Reconcile(function() end)\n"

struct scene {
    struct bed bed;
    struct pl_loop *loop;
    char path[32];
    struct pl_generation *generation;
    int loaded, closed;
    bool had_lanes; /* the time of its closed callback */
    char *error;    /* owned: of the loading; NULL: none */
};

static void begin(struct scene *s, const char *script)
{
    *s = (struct scene){.path = "/tmp/perilune-XXXXXX"};
    bed_init(&s->bed);
    s->loop = pl_loop_create(pl_clock_system());
    int fd = mkstemp(s->path);
    REQUIRE(fd >= 0 && write(fd, script, strlen(script)) == (ssize_t)strlen(script));
    close(fd);
}

static void finish(struct scene *s)
{
    unlink(s->path);
    pl_free(s->error);
    pl_loop_destroy(s->loop);
    bed_deinit(&s->bed);
}

static void on_loaded(void *arg, struct pl_generation *generation, const struct pl_err *err)
{
    struct scene *s = arg;
    CHECK(generation == s->generation);
    s->loaded++;
    s->error = err != NULL ? pl_strdup(err->message) : NULL;
}

static void on_closed(void *arg, struct pl_generation *generation, const struct pl_err *err)
{
    struct scene *s = arg;
    CHECK(generation == s->generation && err == NULL);
    s->closed++;
    s->had_lanes = pl_generation_lanes(generation) != NULL;
}

static void load(struct scene *s)
{
    const struct pl_generation_options options = {.cluster = s->bed.cluster, .loop = s->loop};
    const struct pl_lanes_options lanes = {
        .hooks = &pl_bind_state_hooks, .count = 2, .generation = 7};
    const char *paths[] = {s->path};
    s->generation = pl_generation_load(&options, &lanes, paths, 1, on_loaded, s);
    CHECK_INT(pl_generation_number(s->generation), 7);
}

static bool turn(struct scene *s)
{
    pl_loop_turn(s->loop, 1);
    bed_pass(&s->bed, 10 * PL_MS);
    return s->closed > 0;
}

static void close_it(struct scene *s)
{
    pl_generation_close(s->generation, 0, on_closed, s);
    TURN_UNTIL(s->loop, turn(s));
    for (int i = 0; i < 10; i++) /* freed by now: it must not be called any more */
        turn(s);
    CHECK_INT(s->closed, 1);
    CHECK(!s->had_lanes);
}

TEST(a_generation_that_has_loaded_is_closed_when_its_threads_have_ended)
{
    struct scene s;
    begin(&s, CONTROLLER);
    load(&s);
    TURN_UNTIL(s.loop, s.loaded > 0);
    CHECK(s.error == NULL);
    CHECK_INT(pl_generation_controllers(s.generation), 1);
    close_it(&s);
    CHECK_INT(s.loaded, 1);
    finish(&s);
}

TEST(one_that_is_closed_while_it_loads_says_so_once_and_not_before_its_end)
{
    struct scene s;
    begin(&s, CONTROLLER);
    load(&s);
    close_it(&s);
    CHECK_INT(s.loaded, 0);
    finish(&s);
}

TEST(one_whose_script_is_wrong_says_why_and_can_be_closed)
{
    struct scene s;
    begin(&s, "error('no luck')\n");
    load(&s);
    TURN_UNTIL(s.loop, s.loaded > 0);
    REQUIRE(s.error != NULL);
    CHECK(strstr(s.error, ":1: no luck") != NULL);
    CHECK_INT(pl_generation_controllers(s.generation), 0);
    close_it(&s);
    finish(&s);
}

TEST(one_is_destroyed_at_once_whatever_is_under_way)
{
    struct scene s;
    begin(&s, CONTROLLER);
    load(&s);
    pl_generation_destroy(s.generation);
    CHECK_INT(s.loaded, 0);
    finish(&s);
}

/* Like a generation that was refused for its content, or whose host began to stop while it was
 * loaded. */
TEST(one_that_never_began_to_watch_asks_for_nothing_when_it_ends)
{
    for (int at_once = 0; at_once < 2; at_once++) {
        struct scene s;
        begin(&s, CONTROLLER);
        load(&s);
        TURN_UNTIL(s.loop, s.loaded > 0);
        CHECK_INT(pl_generation_controllers(s.generation), 1);
        if (at_once)
            pl_generation_destroy(s.generation);
        else
            close_it(&s);
        CHECK(pl_site_is_idle(pl_cluster_site(s.bed.cluster))); /* before any other work */
        CHECK_INT(pl_informers_count(pl_cluster_informers(s.bed.cluster)), 0);
        CHECK(pl_list_empty(&s.bed.net.started) && pl_list_empty(&s.bed.net.taken));
        finish(&s);
    }
}

TEST_MAIN()
