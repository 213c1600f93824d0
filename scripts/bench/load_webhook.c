/* A client of webhook servers with very small costs of its own.
 *
 *     bench-load-webhook first PORT PATH FILE               when the first request is answered
 *     bench-load-webhook load PORT PATH FILE CONNECTIONS SECONDS
 *
 * Sends one review (FILE) again and again over kept TLS connections, each as soon as the last one
 * is answered, with one blocking thread for each connection. It prints a line of JSON. An answer
 * that is not 200 or does not contain "allowed":true is a failure, which is counted and not timed.
 * TLS is not verified on the loopback. `first` tries to connect until a server accepts. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER = 64 << 10, MOST = 4 << 20, WARM_UP_PERCENT = 20 };

struct job {
    SSL_CTX *tls;
    int port;
    char *request;
    size_t len;
    int64_t from_ns, until_ns; /* answers in this interval count */
};

struct worker {
    const struct job *job;
    pthread_t thread;
    uint32_t *took_us; /* owned */
    size_t count, failed;
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "load-webhook: %s\n", what);
    exit(1);
}

static SSL *open_connection(const struct job *job)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)job->port)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    SSL *ssl = SSL_new(job->tls);
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

/* Reads the whole answer, by its Content-Length or up to the last chunk; < 0: the connection is
 * lost. */
static int read_answer(SSL *ssl, char *text)
{
    int len = 0;
    for (;;) {
        int got = SSL_read(ssl, text + len, ANSWER - 1 - len);
        if (got <= 0)
            return -1;
        len += got;
        text[len] = '\0';
        const char *body = strstr(text, "\r\n\r\n");
        if (body == NULL)
            continue;
        const char *length = strcasestr(text, "content-length:");
        bool chunked = length == NULL || length > body;
        if (chunked ? strstr(body, "\r\n0\r\n\r\n") != NULL
                    : len >= (int)(body + 4 - text) + atoi(length + 15))
            return len;
    }
}

static bool ask(const struct job *job, SSL *ssl, char *text)
{
    return SSL_write(ssl, job->request, (int)job->len) == (int)job->len &&
           read_answer(ssl, text) > 0 && strncmp(text, "HTTP/1.1 200", 12) == 0 &&
           (strstr(text, "\"allowed\":true") != NULL || strstr(text, "\"allowed\": true") != NULL);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    const struct job *job = w->job;
    char *text = malloc(ANSWER);
    SSL *ssl = NULL;
    for (int64_t begin; (begin = now_ns()) < job->until_ns;) {
        if (ssl == NULL)
            ssl = open_connection(job);
        bool good = ssl != NULL && ask(job, ssl, text);
        int64_t end = now_ns();
        if (!good) {
            w->failed++;
            if (ssl != NULL)
                close_connection(ssl);
            ssl = NULL;
        } else if (end >= job->from_ns && end < job->until_ns && w->count < MOST) {
            w->took_us[w->count++] = (uint32_t)((end - begin) / 1000);
        }
    }
    if (ssl != NULL)
        close_connection(ssl);
    free(text);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void load(struct job *job, int connections, double seconds)
{
    struct worker *all = calloc((size_t)connections, sizeof *all);
    uint32_t *took = malloc(sizeof *took * MOST);
    size_t count = 0, failed = 0;
    job->from_ns = now_ns() + (int64_t)(seconds * 1e7 * WARM_UP_PERCENT);
    job->until_ns = job->from_ns + (int64_t)(seconds * 1e9);
    for (int i = 0; i < connections; i++) {
        all[i] = (struct worker){.job = job, .took_us = malloc(sizeof *took * (MOST / 16))};
        if (pthread_create(&all[i].thread, NULL, work, &all[i]) != 0)
            die("a thread can't be started");
    }
    for (int i = 0; i < connections; i++) {
        pthread_join(all[i].thread, NULL);
        size_t room = MOST - count, take = all[i].count < room ? all[i].count : room;
        memcpy(took + count, all[i].took_us, take * sizeof *took);
        count += take;
        failed += all[i].failed;
        free(all[i].took_us);
    }
    qsort(took, count, sizeof *took, compare);
    printf("{\"requests\":%zu,\"failed\":%zu,\"seconds\":%g,\"p50_us\":%u,\"p99_us\":%u,\"p999_"
           "us\":%u,"
           "\"max_us\":%u}\n",
           count, failed, seconds, count > 0 ? took[count / 2] : 0,
           count > 0 ? took[count * 99 / 100] : 0, count > 0 ? took[count * 999 / 1000] : 0,
           count > 0 ? took[count - 1] : 0);
    free(took);
    free(all);
}

static void first(const struct job *job)
{
    char *text = malloc(ANSWER);
    for (int64_t end = now_ns() + 60000000000; now_ns() < end; usleep(200)) {
        SSL *ssl = open_connection(job);
        bool good = ssl != NULL && ask(job, ssl, text);
        int64_t at = now_ns();
        if (ssl != NULL)
            close_connection(ssl);
        if (!good)
            continue;
        printf("{\"answered_ns\":%lld}\n", (long long)at);
        free(text);
        return;
    }
    die("nobody answers");
}

static void read_request(struct job *job, const char *path, const char *file_name)
{
    FILE *file = fopen(file_name, "re");
    char *body = malloc(1 << 20);
    size_t len = file != NULL ? fread(body, 1, 1 << 20, file) : 0;
    if (len == 0)
        die("the review can't be read");
    fclose(file);
    job->request = malloc(len + 1024);
    int head = snprintf(job->request, 1024,
                        "POST %s?timeout=10s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                        "Content-Type: application/json\r\nAccept: application/json\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        path, job->port, len);
    if (head < 0 || head >= 1024)
        die("the path is too long");
    memcpy(job->request + head, body, len);
    job->len = (size_t)head + len;
    free(body);
}

int main(int argc, char **argv)
{
    if (argc != 5 && argc != 7)
        die("first PORT PATH FILE | load PORT PATH FILE CONNECTIONS SECONDS");
    struct job job = {.tls = SSL_CTX_new(TLS_client_method()), .port = atoi(argv[2])};
    SSL_CTX_set_verify(job.tls, SSL_VERIFY_NONE, NULL);
    read_request(&job, argv[3], argv[4]);
    if (argc == 5)
        first(&job);
    else
        load(&job, atoi(argv[5]), atof(argv[6]));
    free(job.request);
    SSL_CTX_free(job.tls);
    return 0;
}
