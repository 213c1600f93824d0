/* Keys that their own writes queue again, and fields that two writers change in turns: each is
 * reported once, and nothing else is. */
#include "control/write_loops.h"

#include "base/base.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

struct scene {
    struct pl_write_loops *loops;
    int64_t now;
    uint64_t mark;
    struct pl_loop found;
};

static struct scene begin(void)
{
    return (struct scene){.loops = pl_write_loops_create(), .now = PL_SECOND, .mark = 100};
}

static char *paths_of(const char *path, char **out)
{
    out[0] = (char *)path;
    out[1] = NULL;
    return out[0];
}

static void hear(struct scene *scene, uint64_t mark, const char *path)
{
    char *paths[2];
    paths_of(path, paths);
    pl_write_loops_heard(scene->loops, pl_slice_z("d/a"), mark, paths, "v1/Pod", "d/p", scene->now);
}

/* A run that writes, and whose write queues its key again. */
static bool run(struct scene *scene, bool event_first, bool only_events)
{
    uint64_t mark = ++scene->mark;
    scene->now += PL_MS;
    if (event_first)
        hear(scene, mark, "status.count");
    pl_write_loops_wrote(scene->loops, pl_slice_z("d/a"), mark, scene->now);
    if (!event_first)
        hear(scene, mark, "status.count");
    return pl_write_loops_begun(scene->loops, pl_slice_z("d/a"), only_events, scene->now,
                                &scene->found);
}

TEST(a_key_that_wakes_itself_is_told_once_with_its_fields)
{
    struct scene scene = begin();
    int told = 0;
    for (int i = 0; i < 5 * PL_LOOP_RUNS; i++) {
        /* A key is followed from its first write on: earlier events do not count. */
        bool found = run(&scene, i > 0 && i % 2 == 0, true);
        told += found;
        if (!found)
            continue;
        CHECK(!scene.found.is_fight);
        CHECK_INT(scene.found.times, PL_LOOP_RUNS);
        CHECK_STR(scene.found.fields, "status.count");
    }
    CHECK_INT(told, 1);
    scene.now += 700 * PL_SECOND; /* after a pause it happens again */
    for (int i = 0; i < 2 * PL_LOOP_RUNS; i++)
        told += run(&scene, false, true);
    CHECK_INT(told, 2);
    pl_write_loops_destroy(scene.loops);
}

TEST(a_key_that_somebody_else_wakes_now_and_then_is_no_loop)
{
    struct scene scene = begin();
    for (int i = 0; i < 10 * PL_LOOP_RUNS; i++) {
        if (i % 10 == 9)
            hear(&scene, 7, "spec.replicas");
        CHECK(!run(&scene, false, true));
    }
    for (int i = 0; i < 10 * PL_LOOP_RUNS; i++) /* or keys that ask to run again */
        CHECK(!run(&scene, false, i % 10 != 9));
    for (int i = 0; i < 10 * PL_LOOP_RUNS; i++) /* or whose writes queue no key */
        CHECK(!pl_write_loops_begun(scene.loops, pl_slice_z("d/a"), true, scene.now, &scene.found));
    pl_write_loops_destroy(scene.loops);
}

TEST(a_field_that_is_changed_in_turns_is_told_once)
{
    struct scene scene = begin();
    int told = 0;
    for (int i = 0; i < 5 * PL_LOOP_TURNS; i++) {
        scene.now += PL_SECOND;
        uint64_t mark = ++scene.mark;
        pl_write_loops_wrote(scene.loops, pl_slice_z("d/a"), mark, scene.now);
        hear(&scene, mark, "spec.replicas");
        hear(&scene, 1000000 + mark, "spec.replicas"); /* the other one */
        hear(&scene, 2000000 + mark, "metadata.generation");
        if (pl_write_loops_begun(scene.loops, pl_slice_z("d/a"), true, scene.now, &scene.found)) {
            told++;
            CHECK(scene.found.is_fight);
            CHECK_INT(scene.found.times, PL_LOOP_TURNS);
            CHECK_STR(scene.found.fields, "spec.replicas");
            CHECK_STR(scene.found.kind, "v1/Pod");
            CHECK_STR(scene.found.object, "d/p");
        }
    }
    CHECK_INT(told, 1);
    pl_write_loops_destroy(scene.loops);
}

TEST(who_writes_other_fields_fights_nobody)
{
    struct scene scene = begin();
    for (int i = 0; i < 10 * PL_LOOP_TURNS; i++) {
        scene.now += PL_SECOND;
        uint64_t mark = ++scene.mark;
        pl_write_loops_wrote(scene.loops, pl_slice_z("d/a"), mark, scene.now);
        hear(&scene, mark, "status.phase");
        hear(&scene, 1000000 + mark, "spec.replicas");
        CHECK(!pl_write_loops_begun(scene.loops, pl_slice_z("d/a"), true, scene.now, &scene.found));
    }
    pl_write_loops_destroy(scene.loops);
}

static void count(void *arg, const char *key, const struct pl_loop *loop)
{
    PL_UNUSED(key), PL_UNUSED(loop);
    ++*(int *)arg;
}

TEST(memory_is_bounded_whatever_is_written)
{
    struct scene scene = begin();
    int shown = 0;
    for (int i = 0; i < 100000; i++) {
        char key[32];
        snprintf(key, sizeof key, "d/%d", i);
        scene.now += PL_MS;
        pl_write_loops_wrote(scene.loops, pl_slice_z(key), (uint64_t)i + 1, scene.now);
        pl_write_loops_heard(scene.loops, pl_slice_z(key), (uint64_t)i + 1, NULL, NULL, NULL,
                             scene.now);
        if (i % 3 == 0)
            CHECK(
                !pl_write_loops_begun(scene.loops, pl_slice_z(key), true, scene.now, &scene.found));
    }
    pl_write_loops_each(scene.loops, scene.now, count, &shown);
    CHECK_INT(shown, 0);
    pl_write_loops_destroy(scene.loops);
}

TEST_MAIN()
