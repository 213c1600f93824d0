#include "net/line_server.h"

#include "base/alloc.h"
#include "support/turn.h"
#include "support/virtual_clock.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>

/* The test uses plain sockets on the same thread, with the kernel's buffers between. */
struct world {
    struct virtual_clock time;
    struct pl_loop *loop;
    struct pl_line_server *server;
    char dir[64], path[96];
    struct pl_buf log; /* "line\n" of each request */
    struct pl_line_client *held;
    int gone;
    bool hold; /* requests are not answered */
    int ended;
    int64_t idle_ns; /* that clients get; 0: none is set */
};

static void on_line(void *arg, struct pl_line_client *client, struct pl_slice line)
{
    struct world *world = arg;
    if (world->idle_ns > 0)
        pl_line_set_idle(client, world->idle_ns);
    pl_buf_add_slice(&world->log, line);
    pl_buf_add_char(&world->log, '\n');
    if (world->hold) {
        world->held = client;
        return;
    }
    pl_line_write(client, line);
    pl_line_write(client, pl_slice_z("."));
    pl_line_end(client);
}

static void on_gone(void *arg, struct pl_line_client *client)
{
    struct world *world = arg;
    CHECK(client == world->held);
    world->held = NULL;
    world->gone++;
}

static void on_end(void *arg, struct pl_line_client *client)
{
    struct world *world = arg;
    PL_UNUSED(client);
    world->ended++;
}

static const struct pl_line_ops ops = {on_line, on_gone, on_end};

static void set_up(struct world *world)
{
    struct pl_err err;
    memset(world, 0, sizeof *world);
    virtual_clock_init(&world->time, 50 * PL_SECOND);
    world->loop = pl_loop_create(&world->time.clock);
    snprintf(world->dir, sizeof world->dir, "/tmp/perilune-lines-XXXXXX");
    REQUIRE(mkdtemp(world->dir) != NULL);
    snprintf(world->path, sizeof world->path, "%s/sock", world->dir);
    world->server = pl_line_server_create(world->loop, world->path, &ops, world, &err);
    REQUIRE(world->server != NULL);
}

static void tear_down(struct world *world)
{
    pl_line_server_destroy(world->server);
    pl_loop_turn(world->loop, 0);
    pl_loop_turn(world->loop, 0);
    pl_loop_destroy(world->loop);
    pl_buf_deinit(&world->log);
    CHECK(access(world->path, F_OK) != 0); /* the socket is removed */
    rmdir(world->dir);
}

static void join(struct world *world, struct raw_peer *peer)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memset(peer, 0, sizeof *peer);
    memcpy(name.sun_path, world->path, strlen(world->path) + 1);
    peer->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(connect(peer->fd, (struct sockaddr *)&name, sizeof name) == 0);
}

static bool logged(struct world *world, const char *text)
{
    return strcmp(pl_buf_z(&world->log), text) == 0;
}

TEST(lines_are_answered_in_order_one_at_a_time)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    join(&world, &peer);
    raw_send(&peer, "one\ntwo\nthr");
    TURN_UNTIL(world.loop, raw_got(&peer, "one\n.\ntwo\n.\n"));
    raw_send(&peer, "ee\n");
    TURN_UNTIL(world.loop, raw_got(&peer, "three\n.\n"));
    world.hold = true;
    raw_send(&peer, "four\nfive\n");
    TURN_UNTIL(world.loop, world.held != NULL);
    pl_loop_turn(world.loop, 2);
    CHECK(logged(&world, "one\ntwo\nthree\nfour\n")); /* five waits for the answer to four */
    world.hold = false;
    pl_line_end(world.held);
    TURN_UNTIL(world.loop, raw_got(&peer, "five\n.\n"));
    raw_close(&peer);
    tear_down(&world);
}

TEST(a_client_that_goes_before_its_answer_is_told)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    world.hold = true;
    join(&world, &peer);
    raw_send(&peer, "wait\n");
    TURN_UNTIL(world.loop, world.held != NULL);
    raw_close(&peer);
    TURN_UNTIL(world.loop, world.gone == 1);
    join(&world, &peer);
    raw_send(&peer, "again\n");
    TURN_UNTIL(world.loop, world.held != NULL);
    tear_down(&world); /* cuts it */
    CHECK_INT(world.gone, 2);
    raw_close(&peer);
}

TEST(the_end_of_a_connection_is_told_once)
{
    struct world world;
    struct raw_peer asks, silent, cut;
    set_up(&world);
    join(&world, &asks);
    join(&world, &silent);
    raw_send(&asks, "hello\n");
    TURN_UNTIL(world.loop, raw_got(&asks, "hello\n.\n"));
    CHECK_INT(world.ended, 0);
    raw_close(&asks);
    TURN_UNTIL(world.loop, world.ended == 1);
    CHECK_INT(world.gone, 0);
    raw_close(&silent);
    TURN_UNTIL(world.loop, world.ended == 2);
    world.hold = true;
    join(&world, &cut);
    raw_send(&cut, "wait\n");
    TURN_UNTIL(world.loop, world.held != NULL);
    tear_down(&world);
    CHECK_INT(world.gone, 1);
    CHECK_INT(world.ended, 3);
    raw_close(&cut);
}

TEST(a_client_may_be_given_more_time)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    world.idle_ns = 600 * PL_SECOND;
    join(&world, &peer);
    raw_send(&peer, "one\n");
    TURN_UNTIL(world.loop, raw_got(&peer, "one\n.\n"));
    world.time.now_ns += 599 * PL_SECOND;
    for (int i = 0; i < 20; i++)
        pl_loop_turn(world.loop, 1);
    CHECK(!raw_ended(&peer));
    world.time.now_ns += 2 * PL_SECOND;
    TURN_UNTIL(world.loop, raw_ended(&peer));
    raw_close(&peer);
    tear_down(&world);
}

TEST(only_the_owner_may_connect)
{
    struct world world;
    struct stat st;
    set_up(&world);
    REQUIRE(stat(world.path, &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    tear_down(&world);
}

TEST(a_socket_in_use_is_an_error_and_a_stale_one_is_replaced)
{
    struct world world;
    struct pl_err err;
    set_up(&world);
    CHECK(pl_line_server_create(world.loop, world.path, &ops, &world, &err) == NULL);
    CHECK_INT(err.code, PL_EEXIST);
    CHECK(strstr(err.message, "another process listens") != NULL);

    char stale[128];
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(stale, sizeof stale, "%s/stale", world.dir);
    memcpy(name.sun_path, stale, strlen(stale) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(bind(fd, (struct sockaddr *)&name, sizeof name) == 0);
    close(fd);
    struct pl_line_server *second = pl_line_server_create(world.loop, stale, &ops, &world, &err);
    REQUIRE(second != NULL);
    pl_line_server_destroy(second);
    tear_down(&world);
}

TEST(what_is_no_socket_is_left_alone)
{
    struct world world;
    struct pl_err err;
    char file[128];
    set_up(&world);
    snprintf(file, sizeof file, "%s/file", world.dir);
    FILE *made = fopen(file, "we");
    REQUIRE(made != NULL);
    fclose(made);
    CHECK(pl_line_server_create(world.loop, file, &ops, &world, &err) == NULL);
    CHECK(strstr(err.message, "is not a socket") != NULL);
    CHECK_INT(unlink(file), 0);
    char deep[200];
    memset(deep, 'x', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    CHECK(pl_line_server_create(world.loop, deep, &ops, &world, &err) == NULL);
    CHECK_INT(err.code, PL_EINVAL);
    tear_down(&world);
}

TEST(a_folder_that_is_not_there_is_named)
{
    struct world world;
    struct pl_err err;
    char want[200];
    set_up(&world);
    char *path = pl_format("%s/none/a.sock", world.dir);
    snprintf(want, sizeof want, "%s/none/: No such file or directory", world.dir);
    CHECK(pl_line_server_create(world.loop, path, &ops, &world, &err) == NULL);
    CHECK_STR(err.message, want);
    pl_free(path);
    tear_down(&world);
}

TEST(lines_over_the_limit_cut_the_connection)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    join(&world, &peer);
    char *chunk = malloc(65536);
    REQUIRE(chunk != NULL);
    memset(chunk, 'x', 65536);
    for (int i = 0; i < 20 && !raw_ended(&peer); i++) {
        (void)!send(peer.fd, chunk, 65536, MSG_NOSIGNAL | MSG_DONTWAIT);
        pl_loop_turn(world.loop, 2);
    }
    free(chunk);
    TURN_UNTIL(world.loop, raw_ended(&peer));
    CHECK(logged(&world, ""));
    raw_close(&peer);
    tear_down(&world);
}

TEST(silence_between_requests_ends_after_a_minute)
{
    struct world world;
    struct raw_peer peer, busy;
    set_up(&world);
    join(&world, &peer);
    join(&world, &busy);
    world.hold = true;
    raw_send(&busy, "a question that takes its time\n");
    TURN_UNTIL(world.loop, world.held != NULL);
    world.time.now_ns += 61 * PL_SECOND;
    TURN_UNTIL(world.loop, raw_ended(&peer));
    CHECK(!raw_ended(&busy));
    raw_close(&peer);
    raw_close(&busy);
    TURN_UNTIL(world.loop, world.gone == 1);
    tear_down(&world);
}

TEST(connections_over_the_limit_are_closed)
{
    struct world world;
    struct raw_peer peers[17];
    set_up(&world);
    for (int i = 0; i < 17; i++)
        join(&world, &peers[i]);
    TURN_UNTIL(world.loop, raw_ended(&peers[16]));
    raw_send(&peers[15], "hello\n");
    TURN_UNTIL(world.loop, raw_got(&peers[15], "hello\n.\n"));
    for (int i = 0; i < 17; i++)
        raw_close(&peers[i]);
    tear_down(&world);
}

TEST(a_client_that_does_not_read_is_cut)
{
    struct world world;
    struct raw_peer peer;
    set_up(&world);
    world.hold = true;
    join(&world, &peer);
    raw_send(&peer, "everything\n");
    TURN_UNTIL(world.loop, world.held != NULL);
    char *line = malloc(1 << 20);
    REQUIRE(line != NULL);
    memset(line, 'x', 1 << 20);
    for (int i = 0; i < 20; i++)
        pl_line_write(world.held, pl_slice(line, 1 << 20));
    free(line);
    TURN_UNTIL(world.loop, world.gone == 1);
    raw_close(&peer);
    tear_down(&world);
}

TEST_MAIN()
