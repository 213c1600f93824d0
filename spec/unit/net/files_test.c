#include "net/files.h"

#include "base/alloc.h"
#include "support/turn.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Real files and inotify: events are available when the system call that caused them has
 * returned. */
struct world {
    struct pl_loop *loop;
    struct pl_files *files;
    char dir[64];
    int events; /* told */
    char path[256];
    bool clear_when_told;
};

static void on_event(void *arg, const char *path)
{
    struct world *world = arg;
    world->events++;
    snprintf(world->path, sizeof world->path, "%s", path);
    if (world->clear_when_told)
        pl_files_use(world->files, pl_files_set_create(world->files));
}

static void set_up(struct world *world)
{
    struct pl_err err;
    memset(world, 0, sizeof *world);
    world->loop = pl_loop_create(pl_clock_system());
    world->files = pl_files_create(world->loop, on_event, world, &err);
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

static struct pl_files_set *set_of(struct world *world, const char *name)
{
    struct pl_err err = {0};
    struct pl_files_set *set = pl_files_set_create(world->files);
    CHECK_INT(pl_files_set_add(set, at(world, name), &err), 0);
    CHECK_STR(err.message, "");
    return set;
}

static void watch(struct world *world, const char *name)
{
    pl_files_use(world->files, set_of(world, name));
}

static void watch_folder(struct world *world)
{
    struct pl_err err = {0};
    struct pl_files_set *set = pl_files_set_create(world->files);
    CHECK_INT(pl_files_set_add_folder(set, world->dir, ".lua", &err), 0);
    pl_files_use(world->files, set);
}

/* Whether there were events since the last call. */
static bool told(struct world *world)
{
    pl_loop_turn(world->loop, 0);
    pl_loop_turn(world->loop, 0);
    bool some = world->events > 0;
    world->events = 0;
    return some;
}

TEST(a_write_is_told_and_other_files_are_not)
{
    struct world world;
    set_up(&world);
    put(&world, "a.lua", "one");
    watch(&world, "a.lua");
    CHECK(!told(&world));
    put(&world, "a.lua", "two");
    CHECK(told(&world));
    CHECK_STR(world.path, at(&world, "a.lua"));
    put(&world, "a.lua~", "two");
    put(&world, "b.lua", "two");
    CHECK(!told(&world));
    tear_down(&world);
}

TEST(a_file_that_is_replaced_removed_and_made_again_stays_watched)
{
    struct world world;
    set_up(&world);
    put(&world, "a.lua", "one");
    watch(&world, "a.lua");
    for (int i = 1; i <= 3; i++) {
        put(&world, "tmp", "new");
        REQUIRE(rename(at(&world, "tmp"), at(&world, "a.lua")) == 0);
        CHECK(told(&world));
    }
    unlink(at(&world, "a.lua"));
    CHECK(told(&world));
    put(&world, "a.lua", "back");
    CHECK(told(&world));
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
    CHECK(!told(&world));
    for (int i = 2; i <= 4; i++) {
        char version[8], before[8];
        snprintf(version, sizeof version, "..%d", i);
        snprintf(before, sizeof before, "..%d", i - 1);
        make_version(&world, version, "more");
        remove_all(at(&world, before));
        CHECK(told(&world));
    }
    tear_down(&world);
}

TEST(a_folder_tells_of_new_changed_and_removed_files_of_its_suffix)
{
    struct world world;
    set_up(&world);
    put(&world, "a.lua", "one");
    watch_folder(&world);
    put(&world, "notes.txt", "x");
    CHECK(!told(&world));
    put(&world, "b.lua", "one");
    CHECK(told(&world));
    put(&world, "b.lua", "two");
    CHECK(told(&world));
    rename(at(&world, "b.lua"), at(&world, "c.lua"));
    CHECK(told(&world));
    unlink(at(&world, "a.lua"));
    CHECK(told(&world));
    tear_down(&world);
}

TEST(a_folder_that_goes_is_told_and_watched_again_by_another_set)
{
    struct world world;
    set_up(&world);
    REQUIRE(mkdir(at(&world, "lib"), 0700) == 0);
    put(&world, "lib/m.lua", "one");
    watch(&world, "lib/m.lua");
    remove_all(at(&world, "lib"));
    CHECK(told(&world));
    REQUIRE(mkdir(at(&world, "lib"), 0700) == 0);
    put(&world, "lib/m.lua", "two");
    CHECK(!told(&world));
    watch(&world, "lib/m.lua");
    put(&world, "lib/m.lua", "three");
    CHECK(told(&world));
    REQUIRE(rename(at(&world, "lib"), at(&world, "elsewhere")) == 0);
    CHECK(told(&world));
    put(&world, "elsewhere/m.lua", "four");
    CHECK(!told(&world));
    tear_down(&world);
}

static void watch_path(struct world *world, const char *name)
{
    struct pl_err err = {0};
    struct pl_files_set *set = pl_files_set_create(world->files);
    CHECK_INT(pl_files_set_add_path(set, at(world, name), &err), 0);
    CHECK_STR(err.message, "");
    pl_files_use(world->files, set);
}

TEST(a_path_is_followed_through_its_links)
{
    struct world world;
    set_up(&world);
    REQUIRE(mkdir(at(&world, "app"), 0700) == 0);
    REQUIRE(mkdir(at(&world, "lib"), 0700) == 0);
    REQUIRE(mkdir(at(&world, "far"), 0700) == 0);
    put(&world, "far/real.lua", "one");
    REQUIRE(symlink(at(&world, "far/real.lua"), at(&world, "lib/link.lua")) == 0);
    REQUIRE(symlink("../lib/link.lua", at(&world, "app/main.lua")) == 0);
    watch_path(&world, "app/main.lua");
    CHECK(!told(&world));
    put(&world, "far/real.lua", "two");
    CHECK(told(&world));
    put(&world, "far/tmp", "three");
    CHECK(!told(&world));
    REQUIRE(rename(at(&world, "far/tmp"), at(&world, "far/real.lua")) == 0);
    CHECK(told(&world));
    REQUIRE(symlink("../far/other.lua", at(&world, "lib/new")) == 0);
    CHECK(!told(&world));
    REQUIRE(rename(at(&world, "lib/new"), at(&world, "lib/link.lua")) == 0);
    CHECK(told(&world));
    watch_path(&world, "app/main.lua"); /* the link leads nowhere */
    put(&world, "far/other.lua", "four");
    CHECK(told(&world));
    unlink(at(&world, "app/main.lua"));
    CHECK(told(&world));
    tear_down(&world);
}

TEST(links_that_lead_in_a_circle_are_watched_and_end)
{
    struct world world;
    set_up(&world);
    REQUIRE(symlink("b.lua", at(&world, "a.lua")) == 0);
    REQUIRE(symlink("a.lua", at(&world, "b.lua")) == 0);
    watch_path(&world, "a.lua");
    unlink(at(&world, "b.lua"));
    CHECK(told(&world));
    tear_down(&world);
}

TEST(a_path_is_followed_through_missing_folders_and_links_to_folders)
{
    struct world world;
    set_up(&world);
    watch_path(&world, "now/more/tls.crt");
    REQUIRE(mkdir(at(&world, "other"), 0700) == 0);
    CHECK(!told(&world));
    REQUIRE(mkdir(at(&world, "v1"), 0700) == 0);
    REQUIRE(symlink("v1", at(&world, "now")) == 0);
    CHECK(told(&world));
    watch_path(&world, "now/more/tls.crt");
    REQUIRE(mkdir(at(&world, "v1/more"), 0700) == 0);
    CHECK(told(&world));
    watch_path(&world, "now/more/tls.crt");
    put(&world, "v1/more/tls.crt", "one");
    CHECK(told(&world));
    REQUIRE(symlink("v2", at(&world, "tmp")) == 0);
    REQUIRE(rename(at(&world, "tmp"), at(&world, "now")) == 0);
    CHECK(told(&world));
    tear_down(&world);
}

TEST(what_happens_while_a_set_is_filled_is_told_when_it_is_used)
{
    struct world world;
    set_up(&world);
    REQUIRE(mkdir(at(&world, "lib"), 0700) == 0);
    watch(&world, "a.lua");
    struct pl_files_set *set = set_of(&world, "lib/m.lua");
    put(&world, "lib/m.lua", "one");
    put(&world, "lib/other.lua", "one");
    CHECK(!told(&world));
    pl_files_use(world.files, set);
    CHECK(told(&world));
    CHECK_STR(world.path, at(&world, "lib/m.lua"));
    set = set_of(&world, "lib/m.lua");
    put(&world, "lib/other.lua", "two");
    CHECK(!told(&world));
    pl_files_use(world.files, set);
    CHECK(!told(&world));
    tear_down(&world);
}

TEST(more_than_is_kept_while_a_set_is_filled_counts_as_a_change)
{
    struct world world;
    set_up(&world);
    watch(&world, "a.lua");
    struct pl_files_set *set = set_of(&world, "b.lua");
    for (int i = 0; i < 1500; i++) {
        char name[32];
        snprintf(name, sizeof name, "other-%d.lua", i);
        put(&world, name, "one");
    }
    CHECK(!told(&world));
    pl_files_use(world.files, set);
    CHECK(told(&world));
    tear_down(&world);
}

TEST(a_set_may_be_used_from_inside_the_callback)
{
    struct world world;
    set_up(&world);
    put(&world, "a.lua", "one");
    watch(&world, "a.lua");
    world.clear_when_told = true;
    put(&world, "a.lua", "two");
    CHECK(told(&world));
    put(&world, "a.lua", "three");
    CHECK(!told(&world));
    watch(&world, "a.lua");
    put(&world, "a.lua", "four");
    CHECK(told(&world));
    tear_down(&world);
}

TEST(a_set_may_outlive_its_watcher)
{
    struct world world;
    set_up(&world);
    struct pl_files_set *set = set_of(&world, "a.lua");
    pl_files_destroy(world.files);
    world.files = NULL;
    pl_loop_turn(world.loop, 0);
    struct pl_err err = {0};
    CHECK_INT(pl_files_set_add(set, "/tmp/b.lua", &err), 0);
    pl_files_set_free(set);
    tear_down(&world);
}

TEST(a_folder_that_is_not_there_is_an_error_that_names_it)
{
    struct world world;
    struct pl_err err;
    set_up(&world);
    struct pl_files_set *set = pl_files_set_create(world.files);
    CHECK_INT(pl_files_set_add(set, "/nowhere/at/all.lua", &err), PL_EIO);
    CHECK(strstr(err.message, "/nowhere/at cannot be watched") != NULL);
    CHECK_INT(pl_files_set_add(set, "missing-here.lua", &err), 0);
    pl_files_use(world.files, set);
    tear_down(&world);
}

TEST_MAIN()
