/* A client of API servers with very small costs of its own.
 *
 *     bench-load-apiserver ready PORT TOKEN                    when /readyz is answered with 200
 *     bench-load-apiserver create PORT TOKEN COUNT CONNECTIONS how long so many ConfigMaps take
 *     bench-load-apiserver fan PORT TOKEN WATCHERS ROUNDS      how long until all watchers know a
 * write
 *
 * All over kept TLS connections with HTTP/1.1, which are not verified on the loopback. It prints a
 * line of JSON, and ends with 1 where an answer is not what it must be. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER = 64 << 10, PATIENCE_S = 60, VALUE = 1000 };

#define MAPS "/api/v1/namespaces/default/configmaps"

static SSL_CTX *tls;
static int port;
static const char *token;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static _Noreturn void die(const char *what, const char *answer)
{
    fprintf(stderr, "load-apiserver: %s\n%.400s\n", what, answer);
    exit(1);
}

/* ---- one connection ---- */

/* NULL: the server does not accept. */
static SSL *open_connection(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    SSL *ssl = SSL_new(tls);
    SSL_set_fd(ssl, fd);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 && SSL_connect(ssl) == 1)
        return ssl;
    SSL_free(ssl);
    close(fd);
    return NULL;
}

static void close_connection(SSL *ssl)
{
    int fd = SSL_get_fd(ssl);
    SSL_free(ssl);
    close(fd);
}

static SSL *must_open(void)
{
    SSL *ssl = open_connection();
    if (ssl == NULL)
        die("the server does not accept a connection", "");
    return ssl;
}

static void ask(SSL *ssl, const char *method, const char *path, const char *type, const char *body)
{
    char text[4096];
    int len =
        snprintf(text, sizeof text,
                 "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept: application/json\r\n"
                 "Authorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                 method, path, port, token, type, strlen(body), body);
    if (len < 0 || len >= (int)sizeof text || SSL_write(ssl, text, len) != len)
        die("a request can't be sent", path);
}

/* The whole answer, by its Content-Length or up to the last chunk. */
static void read_answer(SSL *ssl, char *text)
{
    int len = 0;
    for (;;) {
        int got = SSL_read(ssl, text + len, ANSWER - 1 - len);
        if (got <= 0)
            die("the connection is lost", "");
        len += got;
        text[len] = '\0';
        const char *body = strstr(text, "\r\n\r\n");
        if (body == NULL)
            continue;
        const char *length = strcasestr(text, "content-length:");
        bool chunked = length == NULL || length > body;
        if (chunked ? strstr(body, "\r\n0\r\n\r\n") != NULL
                    : len >= (int)(body + 4 - text) + atoi(length + 15))
            return;
    }
}

static void do_request(SSL *ssl, char *answer, const char *method, const char *path,
                       const char *type, const char *body)
{
    ask(ssl, method, path, type, body);
    read_answer(ssl, answer);
    if (strncmp(answer, "HTTP/1.1 20", 11) != 0)
        die("the server refuses a request", answer);
}

/* ---- ready ---- */

static void ready(void)
{
    char *answer = malloc(ANSWER);
    for (int64_t end = now_ns() + PATIENCE_S * 1000000000LL; now_ns() < end; usleep(200)) {
        SSL *ssl = open_connection();
        if (ssl == NULL)
            continue;
        ask(ssl, "GET", "/readyz", "application/json", "");
        read_answer(ssl, answer);
        int64_t at = now_ns();
        close_connection(ssl);
        if (strncmp(answer, "HTTP/1.1 200", 12) != 0)
            continue;
        printf("{\"ready_ns\":%lld}\n", (long long)at);
        free(answer);
        return;
    }
    die("the server does not become ready", "");
}

/* ---- create ---- */

struct creator {
    pthread_t thread;
    int from, until;
};

static void *create_some(void *arg)
{
    const struct creator *creator = arg;
    char *answer = malloc(ANSWER), body[2048], value[VALUE + 1];
    memset(value, 'v', VALUE);
    value[VALUE] = '\0';
    SSL *ssl = must_open();
    for (int i = creator->from; i < creator->until; i++) {
        snprintf(body, sizeof body,
                 "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"map-%d\","
                 "\"labels\":{\"app\":\"bench\"}},\"data\":{\"text\":\"%s\"}}",
                 i, value);
        do_request(ssl, answer, "POST", MAPS, "application/json", body);
    }
    close_connection(ssl);
    free(answer);
    return NULL;
}

static void create(int count, int connections)
{
    struct creator *all = calloc((size_t)connections, sizeof *all);
    int64_t began = now_ns();
    for (int i = 0; i < connections; i++) {
        all[i].from = count * i / connections;
        all[i].until = count * (i + 1) / connections;
        if (pthread_create(&all[i].thread, NULL, create_some, &all[i]) != 0)
            die("a thread can't be started", "");
    }
    for (int i = 0; i < connections; i++)
        pthread_join(all[i].thread, NULL);
    printf("{\"seconds\":%.6f}\n", (double)(now_ns() - began) / 1e9);
    free(all);
}

/* ---- fan ---- */

struct watcher {
    SSL *ssl;
    int seen; /* events so far */
};

/* The number of events that can be read now. */
static int read_events(SSL *ssl)
{
    char text[16384];
    int count = 0, got;
    while ((got = SSL_read(ssl, text, sizeof text - 1)) > 0) {
        text[got] = '\0';
        for (const char *at = text; (at = strstr(at, "{\"type\":")) != NULL; at++)
            count++;
    }
    if (SSL_get_error(ssl, got) != SSL_ERROR_WANT_READ)
        die("a watch ended", "");
    return count;
}

/* Waits until every watcher has seen that many events. */
static void await(struct watcher *all, struct pollfd *fds, int count, int events)
{
    int64_t end = now_ns() + PATIENCE_S * 1000000000LL;
    int behind = 0;
    for (int i = 0; i < count; i++)
        behind += all[i].seen < events;
    while (behind > 0) {
        if (now_ns() > end || poll(fds, (nfds_t)count, 1000) < 0)
            die("an event does not reach every watcher", "");
        for (int i = 0; i < count; i++) {
            if (fds[i].revents == 0)
                continue;
            bool was_behind = all[i].seen < events;
            all[i].seen += read_events(all[i].ssl);
            behind -= was_behind && all[i].seen >= events;
        }
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void fan(int count, int rounds)
{
    char *answer = malloc(ANSWER), body[128];
    struct watcher *all = calloc((size_t)count, sizeof *all);
    struct pollfd *fds = calloc((size_t)count, sizeof *fds);
    int64_t *took = calloc((size_t)rounds, sizeof *took);
    SSL *writer = must_open();
    do_request(writer, answer, "POST", MAPS, "application/json",
               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"fan\"}}");
    for (int i = 0; i < count; i++) {
        all[i].ssl = must_open();
        ask(all[i].ssl, "GET", MAPS "?watch=true&fieldSelector=metadata.name%3Dfan",
            "application/json", "");
        fds[i] = (struct pollfd){.fd = SSL_get_fd(all[i].ssl), .events = POLLIN};
        fcntl(fds[i].fd, F_SETFL, fcntl(fds[i].fd, F_GETFL) | O_NONBLOCK);
    }
    await(all, fds, count, 1);
    for (int i = 0; i < rounds; i++) {
        snprintf(body, sizeof body, "{\"data\":{\"n\":\"%d\"}}", i);
        int64_t began = now_ns();
        do_request(writer, answer, "PATCH", MAPS "/fan", "application/merge-patch+json", body);
        await(all, fds, count, i + 2);
        took[i] = now_ns() - began;
    }
    qsort(took, (size_t)rounds, sizeof *took, compare);
    printf("{\"median_ms\":%.3f,\"max_ms\":%.3f}\n", (double)took[rounds / 2] / 1e6,
           (double)took[rounds - 1] / 1e6);
    for (int i = 0; i < count; i++)
        close_connection(all[i].ssl);
    close_connection(writer);
    free(took);
    free(fds);
    free(all);
    free(answer);
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 6)
        die("ready PORT TOKEN | create PORT TOKEN COUNT CONNECTIONS | fan PORT TOKEN WATCHERS "
            "ROUNDS",
            "");
    tls = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_verify(tls, SSL_VERIFY_NONE, NULL);
    port = atoi(argv[2]);
    token = argv[3];
    if (argc == 4)
        ready();
    else if (strcmp(argv[1], "create") == 0)
        create(atoi(argv[4]), atoi(argv[5]));
    else
        fan(atoi(argv[4]), atoi(argv[5]));
    SSL_CTX_free(tls);
    return 0;
}
