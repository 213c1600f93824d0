#include "net/files.h"

#include "base/alloc.h"
#include "support/turn.h"
#include "support/virtual_clock.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Real files and inotify, virtual time for the quiet time. */
struct world {
    struct virtual_clock time;
    struct pl_loop *loop;
    struct pl_files *files;
    char dir[64];
    int changes;
    char path[256];
    bool clear_when_told;
};

static void on_changed(void *arg, const char *path)
{
    struct world *world = arg;
    world->changes++;
    snprintf(world->path, sizeof world->path, "%s", path);
    if (world->clear_when_told)
        pl_files_clear(world->files);
}

static void set_up(struct world *world)
{
    struct pl_err err;
    memset(world, 0, sizeof *world);
    virtual_clock_init(&world->time, 50 * PL_SECOND);
    world->loop = pl_loop_create(&world->time.clock);
    world->files = pl_files_create(world->loop, NULL, on_changed, world, &err);
    REQUIRE(world->files != NULL);
    snprintf(world->dir, sizeof world->dir, "/tmp/perilune-files-XXXXXX");
    REQUIRE(mkdtemp(world->dir) != NULL);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    PL_UNUSED(st), PL_UNUSED(type), PL_UNUSED(walk);
    return remove(path);
}

static void remove_all(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void tear_down(struct world *world)
{
    pl_files_destroy(world->files);
    pl_loop_destroy(world->loop);
    remove_all(world->dir);
}

/* Path under the test's directory, in one of a few buffers used in turn. */
static const char *at(struct world *world, const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, 256, "%s/%s", world->dir, name);
    return path;
}

static void put(struct world *world, const char *name, const char *text)
{
    int fd = open(at(world, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    CHECK_INT(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void watch(struct world *world, const char *name)
{
    struct pl_err err = {0};
    CHECK_INT(pl_files_watch(world->files, at(world, name), NULL, &err), 0);
    CHECK_STR(err.message, "");
}

/* inotify's events are there when the system call that made them has returned. */
static void pass(struct world *world, int64_t ms)
{
    pl_loop_turn(world->loop, 0);
    world->time.now_ns += ms * PL_MS;
    pl_loop_turn(world->loop, 0);
}

TEST(a_write_is_told_once_it_has_been_quiet)
{
    struct world world;
    set_up(&world);
    put(&world, "a.lua", "one");
    watch(&world, "a.lua");
    pass(&world, 5000);
    CHECK_INT(world.changes, 0);
    put(&world, "a.lua", "two");
    pass(&world, 99);
    CHECK_INT(world.changes, 0);
    pass(&world, 1);
    CHECK_INT(world.changes, 1);
    CHECK_STR(world.path, at(&world, "a.lua"));
    pass(&world, 5000);
    CHECK_INT(world.changes, 1);
    tear_down(&world);
}

TEST(a_touch_the_same_content_and_other_files_are_no_change)
{
    struct world world;
    set_up(&world);
    put(&world, "a.lua", "one");
    watch(&world, "a.lua");
    put(&world, "a.lua", "one");
    put(&world, "a.lua~", "two");
    put(&world, "b.lua", "two");
    pass(&world, 5000);
    pass(&world, 5000);
    CHECK_INT(world.changes, 0);
    tear_down(&world);
}

TEST(an_endless_burst_is_told_at_the_cap)
{
    struct world world;
    char text[16];
    set_up(&world);
    put(&world, "a.lua", "one");
    watch(&world, "a.lua");
    for (int i = 0; i < 19; i++) {
        snprintf(text, sizeof text, "%d", i);
        put(&world, "a.lua", text);
        pass(&world, 50);
        CHECK_INT(world.changes, 0);
    }
    put(&world, "a.lua", "more");
    pass(&world, 50);
    CHECK_INT(world.changes, 1);
    tear_down(&world);
}

TEST(a_file_that_is_replaced_removed_and_made_again_stays_watched)
{
    struct world world;
    set_up(&world);
    put(&world, "a.lua", "one");
    watch(&world, "a.lua");
    for (int i = 1; i <= 3; i++) {
        char text[16];
        snprintf(text, sizeof text, "new %d", i);
        put(&world, "tmp", text);
        REQUIRE(rename(at(&world, "tmp"), at(&world, "a.lua")) == 0);
        pass(&world, 100);
        CHECK_INT(world.changes, i);
    }
    unlink(at(&world, "a.lua"));
    pass(&world, 100);
    CHECK_INT(world.changes, 4);
    put(&world, "a.lua", "back");
    pass(&world, 100);
    CHECK_INT(world.changes, 5);
    tear_down(&world);
}

static void make_version(struct world *world, const char *version, const char *text)
{
    char name[64];
    REQUIRE(mkdir(at(world, version), 0700) == 0);
    snprintf(name, sizeof name, "%s/main.lua", version);
    put(world, name, text);
    REQUIRE(symlink(version, at(world, "..data_tmp")) == 0);
    REQUIRE(rename(at(world, "..data_tmp"), at(world, "..data")) == 0);
}

TEST(the_swap_of_a_configmap_volume_is_seen_again_and_again)
{
    struct world world;
    set_up(&world);
    make_version(&world, "..1", "one");
    REQUIRE(symlink("..data/main.lua", at(&world, "main.lua")) == 0);
    watch(&world, "main.lua");
    make_version(&world, "..2", "two");
    remove_all(at(&world, "..1"));
    pass(&world, 100);
    CHECK_INT(world.changes, 1);
    make_version(&world, "..3", "three");
    pass(&world, 100);
    CHECK_INT(world.changes, 2);
    make_version(&world, "..4", "three"); /* another key of the ConfigMap changed */
    pass(&world, 100);
    CHECK_INT(world.changes, 2);
    tear_down(&world);
}

TEST(a_directory_tells_of_new_changed_and_removed_files_of_its_suffix)
{
    struct world world;
    struct pl_err err;
    set_up(&world);
    put(&world, "a.lua", "one");
    CHECK_INT(pl_files_watch_dir(world.files, world.dir, ".lua", &err), 0);
    put(&world, "notes.txt", "x");
    pass(&world, 100);
    CHECK_INT(world.changes, 0);
    put(&world, "b.lua", "one");
    pass(&world, 100);
    CHECK_INT(world.changes, 1);
    put(&world, "b.lua", "two");
    pass(&world, 100);
    CHECK_INT(world.changes, 2);
    rename(at(&world, "b.lua"), at(&world, "c.lua"));
    pass(&world, 100);
    CHECK_INT(world.changes, 3);
    unlink(at(&world, "a.lua"));
    pass(&world, 100);
    CHECK_INT(world.changes, 4);
    tear_down(&world);
}

TEST(a_directory_that_is_made_again_is_watched_again)
{
    struct world world;
    set_up(&world);
    REQUIRE(mkdir(at(&world, "lib"), 0700) == 0);
    put(&world, "lib/m.lua", "one");
    watch(&world, "lib/m.lua");
    remove_all(at(&world, "lib"));
    pass(&world, 100);
    CHECK_INT(world.changes, 1);
    REQUIRE(mkdir(at(&world, "lib"), 0700) == 0);
    put(&world, "lib/m.lua", "two");
    pass(&world, 1000);
    CHECK_INT(world.changes, 2);
    put(&world, "lib/m.lua", "three");
    pass(&world, 100);
    CHECK_INT(world.changes, 3);
    tear_down(&world);
}

TEST(content_in_use_that_differs_from_the_file_is_a_change)
{
    struct world world;
    struct pl_err err;
    set_up(&world);
    put(&world, "a.lua", "newer");
    struct pl_slice older = pl_slice_z("older"), newer = pl_slice_z("newer");
    CHECK_INT(pl_files_watch(world.files, at(&world, "a.lua"), &newer, &err), 0);
    pass(&world, 5000);
    CHECK_INT(world.changes, 0);
    CHECK_INT(pl_files_watch(world.files, at(&world, "a.lua"), &older, &err), 0);
    pass(&world, 100);
    CHECK_INT(world.changes, 1);
    tear_down(&world);
}

TEST(clearing_forgets_also_from_inside_the_callback)
{
    struct world world;
    set_up(&world);
    put(&world, "a.lua", "one");
    watch(&world, "a.lua");
    world.clear_when_told = true;
    put(&world, "a.lua", "two");
    pass(&world, 100);
    CHECK_INT(world.changes, 1);
    put(&world, "a.lua", "three");
    pass(&world, 5000);
    CHECK_INT(world.changes, 1);
    watch(&world, "a.lua");
    put(&world, "a.lua", "four");
    pass(&world, 100);
    CHECK_INT(world.changes, 2);
    tear_down(&world);
}

TEST(a_directory_that_is_not_there_is_an_error_that_names_it)
{
    struct world world;
    struct pl_err err;
    set_up(&world);
    CHECK_INT(pl_files_watch(world.files, "/nowhere/at/all.lua", NULL, &err), PL_EIO);
    CHECK(strstr(err.message, "/nowhere/at cannot be watched") != NULL);
    CHECK_INT(pl_files_watch(world.files, "missing-here.lua", NULL, &err), 0);
    tear_down(&world);
}

TEST_MAIN()
