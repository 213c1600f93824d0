#include "admin/path.h"

#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct world {
    char runtime[64], folder[96];
};

static void set_up(struct world *world)
{
    snprintf(world->runtime, sizeof world->runtime, "/tmp/perilune-paths-XXXXXX");
    REQUIRE(mkdtemp(world->runtime) != NULL);
    snprintf(world->folder, sizeof world->folder, "%s/perilune", world->runtime);
    setenv("XDG_RUNTIME_DIR", world->runtime, 1);
}

static void tear_down(struct world *world)
{
    rmdir(world->folder);
    rmdir(world->runtime);
    unsetenv("XDG_RUNTIME_DIR");
}

/* A socket there; with listen the caller closes what it gets. */
static int put_socket(const struct world *world, const char *name, bool listens)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", world->folder, name);
    REQUIRE(bind(fd, (const struct sockaddr *)&address, sizeof address) == 0);
    if (listens) {
        REQUIRE(listen(fd, 0) == 0);
        return fd;
    }
    close(fd);
    return -1;
}

static void forget(const struct world *world, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", world->folder, name);
    unlink(path);
}

TEST(the_socket_is_named_after_the_process_in_a_folder_of_the_users_own)
{
    struct world world;
    struct pl_err err;
    struct stat st;
    char path[PL_ADMIN_PATH], want[PL_ADMIN_PATH + 32];
    set_up(&world);
    CHECK_INT(pl_admin_path_make(path, &err), 0);
    snprintf(want, sizeof want, "%s/%ld.sock", world.folder, (long)getpid());
    CHECK_STR(path, want);
    REQUIRE(stat(world.folder, &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0700);
    CHECK_INT(pl_admin_path_make(path, &err), 0); /* also when the folder is there */
    tear_down(&world);
}

TEST(a_folder_that_others_can_write_to_is_refused)
{
    struct world world;
    struct pl_err err;
    char path[PL_ADMIN_PATH];
    set_up(&world);
    REQUIRE(mkdir(world.folder, 0700) == 0 && chmod(world.folder, 0777) == 0);
    CHECK_INT(pl_admin_path_make(path, &err), PL_EREFUSED);
    CHECK_INT(pl_admin_path_find(0, path, &err), PL_EREFUSED);
    CHECK(strstr(err.message, "nobody else can write to") != NULL);
    tear_down(&world);
}

TEST(the_only_host_that_listens_is_found_and_several_are_named)
{
    struct world world;
    struct pl_err err;
    char path[PL_ADMIN_PATH];
    set_up(&world);
    CHECK_INT(pl_admin_path_find(0, path, &err), PL_ENOTFOUND);
    CHECK(strstr(err.message, "no host is running") != NULL);
    REQUIRE(pl_admin_path_make(path, &err) == 0);
    int one = put_socket(&world, "4194305.sock", true); /* a process of another container */
    put_socket(&world, "notes.sock", false);
    CHECK_INT(pl_admin_path_find(0, path, &err), 0);
    CHECK(strstr(path, "/4194305.sock") != NULL);
    int other = put_socket(&world, "1.sock", true);
    CHECK_INT(pl_admin_path_find(0, path, &err), PL_ENOTFOUND);
    CHECK(strstr(err.message, "choose with --pid") != NULL);
    CHECK_INT(pl_admin_path_find(1, path, &err), 0);
    CHECK(strstr(path, "/1.sock") != NULL);
    CHECK_INT(pl_admin_path_find(4194306, path, &err), PL_ENOTFOUND);
    close(one);
    close(other);
    forget(&world, "4194305.sock");
    forget(&world, "notes.sock");
    forget(&world, "1.sock");
    tear_down(&world);
}

TEST(a_socket_that_nobody_listens_on_is_no_host_although_its_process_lives)
{
    struct world world;
    struct pl_err err;
    char path[PL_ADMIN_PATH], mine[64];
    set_up(&world);
    REQUIRE(pl_admin_path_make(path, &err) == 0);
    snprintf(mine, sizeof mine, "%ld.sock", (long)getpid());
    put_socket(&world, mine, false);
    CHECK_INT(pl_admin_path_find(0, path, &err), PL_ENOTFOUND);
    CHECK(strstr(err.message, "no host is running") != NULL);
    CHECK_INT(pl_admin_path_find(getpid(), path, &err), PL_ENOTFOUND);
    CHECK(strstr(err.message, "no host with pid") != NULL);
    int other = put_socket(&world, "1.sock", true);
    CHECK_INT(pl_admin_path_find(0, path, &err), 0); /* no need to choose */
    CHECK(strstr(path, "/1.sock") != NULL);
    close(other);
    forget(&world, mine);
    forget(&world, "1.sock");
    tear_down(&world);
}

static bool exists(const struct world *world, const char *name)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", world->folder, name);
    return lstat(path, &st) == 0;
}

static void make_old(const struct world *world, const char *name)
{
    const struct timespec times[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    char path[256];
    snprintf(path, sizeof path, "%s/%s", world->folder, name);
    REQUIRE(utimensat(AT_FDCWD, path, times, 0) == 0);
}

TEST(sockets_that_killed_hosts_have_left_are_removed_by_the_next_one)
{
    struct world world;
    struct pl_err err;
    char path[PL_ADMIN_PATH];
    set_up(&world);
    REQUIRE(pl_admin_path_make(path, &err) == 0);
    put_socket(&world, "1.sock", false);
    put_socket(&world, "2.sock", false); /* it may listen in a moment */
    put_socket(&world, "notes.sock", false);
    int served = put_socket(&world, "3.sock", true);
    make_old(&world, "1.sock");
    make_old(&world, "3.sock");
    make_old(&world, "notes.sock");
    REQUIRE(pl_admin_path_make(path, &err) == 0);
    CHECK(!exists(&world, "1.sock"));
    CHECK(exists(&world, "2.sock"));
    CHECK(exists(&world, "3.sock"));
    CHECK(exists(&world, "notes.sock"));
    close(served);
    forget(&world, "2.sock");
    forget(&world, "3.sock");
    forget(&world, "notes.sock");
    tear_down(&world);
}

TEST(a_path_too_long_for_a_socket_is_an_error)
{
    struct pl_err err;
    char path[PL_ADMIN_PATH], deep[200];
    memset(deep, 'd', sizeof deep - 1);
    deep[0] = '/';
    deep[sizeof deep - 1] = '\0';
    setenv("XDG_RUNTIME_DIR", deep, 1);
    CHECK_INT(pl_admin_path_make(path, &err), PL_ELIMIT);
    unsetenv("XDG_RUNTIME_DIR");
}

TEST_MAIN()
