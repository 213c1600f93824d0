#include "support/proxy.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

struct proxy {
    enum proxy_kind kind;
    int listener, port, target_port;
    int stop[2]; /* a pipe: closing its writing end stops the thread */
    pthread_t thread;
    struct pl_buf heard;
};

/* Waits for fd or the stop; returns true if fd is readable. */
static bool wait_for(struct proxy *proxy, int fd)
{
    struct pollfd polls[2] = {{.fd = fd, .events = POLLIN},
                              {.fd = proxy->stop[0], .events = POLLIN}};
    poll(polls, 2, -1);
    return polls[1].revents == 0 && polls[0].revents != 0;
}

static bool read_exactly(struct proxy *proxy, int fd, char *out, size_t len)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = wait_for(proxy, fd) ? read(fd, out + got, len - got) : 0;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

static void say(int fd, const char *bytes, size_t len)
{
    PL_REQUIRE(send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len);
}

static bool negotiate_http(struct proxy *proxy, int fd)
{
    char c;
    while (strstr(pl_buf_z(&proxy->heard), "\r\n\r\n") == NULL) {
        if (!read_exactly(proxy, fd, &c, 1))
            return false;
        pl_buf_add_char(&proxy->heard, c);
    }
    const char *answer = proxy->kind == PROXY_REFUSE
                             ? "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
                             : "HTTP/1.1 200 Connected\r\nX-Proxy: yes\r\n\r\n";
    say(fd, answer, strlen(answer));
    return proxy->kind == PROXY_CONNECT;
}

static bool negotiate_socks(struct proxy *proxy, int fd)
{
    unsigned char head[4], len, port[2];
    char methods[256], host[256];
    if (!read_exactly(proxy, fd, (char *)head, 2) || !read_exactly(proxy, fd, methods, head[1]))
        return false;
    say(fd, "\x05\x00", 2);
    if (!read_exactly(proxy, fd, (char *)head, 4))
        return false;
    if (head[3] == 3) {
        if (!read_exactly(proxy, fd, (char *)&len, 1) || !read_exactly(proxy, fd, host, len))
            return false;
        pl_buf_add(&proxy->heard, host, len);
    } else {
        if (!read_exactly(proxy, fd, host, 4))
            return false;
        pl_buf_add_z(&proxy->heard, "(an address)");
    }
    if (!read_exactly(proxy, fd, (char *)port, 2))
        return false;
    pl_buf_add_f(&proxy->heard, ":%d", port[0] * 256 + port[1]);
    say(fd, "\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00", 10);
    return true;
}

static bool pass_on(int from, int to)
{
    char bytes[16384];
    ssize_t n = read(from, bytes, sizeof bytes);
    if (n <= 0)
        return false;
    say(to, bytes, (size_t)n);
    return true;
}

static void tunnel(struct proxy *proxy, int fd)
{
    int target = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)proxy->target_port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    PL_REQUIRE(connect(target, (struct sockaddr *)&name, sizeof name) == 0);
    for (bool open = true; open;) {
        struct pollfd polls[3] = {{.fd = fd, .events = POLLIN},
                                  {.fd = target, .events = POLLIN},
                                  {.fd = proxy->stop[0], .events = POLLIN}};
        poll(polls, 3, -1);
        open = polls[2].revents == 0;
        if (open && polls[0].revents != 0)
            open = pass_on(fd, target);
        if (open && polls[1].revents != 0)
            open = pass_on(target, fd);
    }
    close(target);
}

static void *run(void *arg)
{
    struct proxy *proxy = arg;
    while (wait_for(proxy, proxy->listener)) {
        int fd = accept(proxy->listener, NULL, NULL);
        pl_buf_clear(&proxy->heard);
        if (proxy->kind == PROXY_SOCKS5 ? negotiate_socks(proxy, fd) : negotiate_http(proxy, fd))
            tunnel(proxy, fd);
        close(fd);
    }
    return NULL;
}

struct proxy *proxy_start(enum proxy_kind kind, int target_port)
{
    struct proxy *proxy = PL_NEW(struct proxy);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof name;
    proxy->kind = kind;
    proxy->target_port = target_port;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    PL_REQUIRE(bind(proxy->listener, (struct sockaddr *)&name, sizeof name) == 0);
    PL_REQUIRE(listen(proxy->listener, 16) == 0);
    PL_REQUIRE(getsockname(proxy->listener, (struct sockaddr *)&name, &len) == 0);
    proxy->port = ntohs(name.sin_port);
    PL_REQUIRE(pipe(proxy->stop) == 0);
    PL_REQUIRE(pthread_create(&proxy->thread, NULL, run, proxy) == 0);
    return proxy;
}

int proxy_port(const struct proxy *proxy)
{
    return proxy->port;
}

void proxy_stop(struct proxy *proxy)
{
    close(proxy->stop[1]);
    pthread_join(proxy->thread, NULL);
    close(proxy->stop[0]);
    close(proxy->listener);
}

const char *proxy_heard(const struct proxy *proxy)
{
    return pl_buf_z(&proxy->heard);
}

void proxy_destroy(struct proxy *proxy)
{
    pl_buf_deinit(&proxy->heard);
    pl_free(proxy);
}
