/* Waits for a condition by turning the loop; and a plain socket to test servers. */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "net/loop.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* Turns the loop until cond holds, for at most four minutes of real time, since other processes may
 * use the CPU. */
#define TURN_UNTIL(loop, cond)                                                                     \
    do {                                                                                           \
        int64_t turn_deadline = pl_clock_mono(pl_clock_system()) + 240 * PL_SECOND;                \
        while (!(cond) && pl_clock_mono(pl_clock_system()) < turn_deadline)                        \
            pl_loop_turn(loop, 2);                                                                 \
        if (!(cond))                                                                               \
            TEST_FAIL("never became true: %s", #cond);                                             \
    } while (0)

/* A client of a connection, byte by byte. */
struct raw_peer {
    int fd;
    struct pl_buf got; /* the bytes that raw_read has read so far */
    bool ended;        /* the other side closed or reset */
};

static inline void raw_connect(struct raw_peer *peer, int port)
{
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    memset(peer, 0, sizeof *peer);
    peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(peer->fd >= 0);
    REQUIRE(connect(peer->fd, (struct sockaddr *)&name, sizeof name) == 0);
}

static inline void raw_send_bytes(struct raw_peer *peer, const char *bytes, size_t len)
{
    CHECK_INT(send(peer->fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
}

static inline void raw_send(struct raw_peer *peer, const char *text)
{
    raw_send_bytes(peer, text, strlen(text));
}

/* Reads the available bytes without waiting; returns false when the connection has ended. */
static inline bool raw_read(struct raw_peer *peer)
{
    char bytes[65536];
    ssize_t n;
    while (!peer->ended && (n = recv(peer->fd, bytes, sizeof bytes, MSG_DONTWAIT)) != 0) {
        if (n > 0)
            pl_buf_add(&peer->got, bytes, (size_t)n);
        else if (errno == EAGAIN)
            return true;
        else
            break;
    }
    peer->ended = true;
    return false;
}

static inline bool raw_got(struct raw_peer *peer, const char *text)
{
    raw_read(peer);
    return strstr(pl_buf_z(&peer->got), text) != NULL;
}

static inline bool raw_ended(struct raw_peer *peer)
{
    raw_read(peer);
    return peer->ended;
}

static inline void raw_close(struct raw_peer *peer)
{
    if (peer->fd >= 0)
        close(peer->fd);
    pl_buf_deinit(&peer->got);
}

/* A listening socket on a free port; the test accepts its connections. */
static inline int raw_listen(int backlog, int *port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof name;
    REQUIRE(bind(fd, (struct sockaddr *)&name, sizeof name) == 0);
    REQUIRE(listen(fd, backlog) == 0);
    REQUIRE(getsockname(fd, (struct sockaddr *)&name, &len) == 0);
    *port = ntohs(name.sin_port);
    return fd;
}
