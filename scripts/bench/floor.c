/* The minimal costs of any client: receives the same bytes and discards them, or scans them into
 * documents that share a pool and keeps those.
 *
 *     bench-floor discard|scan PORT PATH [--tls] [--objects N]
 *
 * Follows `continue`. With --objects the answer is a stream (a watch), which is closed after that
 * number of objects. Prints bytes, seconds and CPU seconds as a line of JSON. TLS is not verified
 * on the loopback. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "value/pool.h"
#include "value/scan.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RECEIVE = 256 << 10 };

struct receiver {
    int fd;
    SSL *ssl; /* owned; NULL: plain */
    char bytes[RECEIVE];
    size_t at, len; /* the rest that is not used yet */
    uint64_t total;
    uint32_t objects; /* to come; 0: until the end */
    struct pl_pool *pool;
    struct pl_scan *scan; /* NULL: discard */
    struct pl_buf docs;   /* struct pl_doc *, owned */
    struct pl_buf token;  /* of the next page; empty: none */
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * PL_SECOND + t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "floor: %s\n", what);
    exit(1);
}

/* ---- bytes ---- */

static void open_connection(struct receiver *r, int port, bool tls)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    r->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (r->fd < 0 || connect(r->fd, (struct sockaddr *)&to, sizeof to) != 0)
        die("cannot connect");
    if (!tls)
        return;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    r->ssl = context != NULL ? SSL_new(context) : NULL;
    SSL_CTX_free(context);
    if (r->ssl == NULL || SSL_set_fd(r->ssl, r->fd) != 1 || SSL_connect(r->ssl) != 1)
        die("no TLS");
}

static void send_all(struct receiver *r, struct pl_slice text)
{
    while (text.len > 0) {
        ssize_t n = r->ssl != NULL ? SSL_write(r->ssl, text.ptr, (int)text.len)
                                   : send(r->fd, text.ptr, text.len, MSG_NOSIGNAL);
        if (n <= 0)
            die("cannot send");
        text = pl_slice(text.ptr + n, text.len - (size_t)n);
    }
}

static void receive(struct receiver *r)
{
    ssize_t n =
        r->ssl != NULL ? SSL_read(r->ssl, r->bytes, RECEIVE) : recv(r->fd, r->bytes, RECEIVE, 0);
    if (n <= 0)
        die("the answer was cut");
    r->at = 0;
    r->len = (size_t)n;
    r->total += (uint64_t)n;
}

static char next_byte(struct receiver *r)
{
    if (r->at == r->len)
        receive(r);
    return r->bytes[r->at++];
}

static void line(struct receiver *r, struct pl_buf *out)
{
    pl_buf_clear(out);
    for (char c; (c = next_byte(r)) != '\n';)
        pl_buf_add_char(out, c);
}

/* ---- documents ---- */

static int on_doc(void *arg, struct pl_slice type, struct pl_doc *doc)
{
    struct receiver *r = arg;
    PL_UNUSED(type);
    pl_buf_add(&r->docs, &doc, sizeof doc);
    if (r->objects > 0)
        r->objects--;
    return 0;
}

static void start_scan(struct receiver *r)
{
    if (r->pool == NULL)
        r->pool = pl_pool_create();
    struct pl_scan_options options = {.pool = r->pool};
    struct pl_scan_sink sink = {.on_doc = on_doc, .arg = r};
    r->scan = pl_scan_create(r->objects > 0 ? PL_SCAN_WATCH : PL_SCAN_LIST, &options, &sink);
}

static void use(struct receiver *r, struct pl_slice piece, bool is_first)
{
    struct pl_err err;
    if (is_first) {
        /* A page's head is in its first piece. */
        static const char mark[] = "\"continue\":\"";
        const char *token =
            memmem(piece.ptr, piece.len < 256 ? piece.len : 256, mark, sizeof mark - 1);
        if (token != NULL)
            pl_buf_add(&r->token, token + sizeof mark - 1, strcspn(token + sizeof mark - 1, "\""));
    }
    if (r->scan != NULL) {
        if (pl_scan_feed(r->scan, piece, &err) != 0)
            die(err.message);
        pl_pool_collect(r->pool);
    } else if (r->objects > 0) {
        for (const char *p = piece.ptr, *end = p + piece.len;
             r->objects > 0 && (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
            r->objects--;
    }
}

/* ---- one answer ---- */

static void chunks(struct receiver *r, bool streams)
{
    struct pl_buf head = PL_BUF_INIT;
    for (bool is_first = true;; is_first = false) {
        line(r, &head);
        size_t left = strtoul(pl_buf_z(&head), NULL, 16);
        if (left == 0)
            break;
        while (left > 0) {
            if (r->at == r->len)
                receive(r);
            size_t n = r->len - r->at < left ? r->len - r->at : left;
            use(r, pl_slice(r->bytes + r->at, n), is_first);
            is_first = false;
            r->at += n;
            left -= n;
        }
        if (streams && r->objects == 0)
            goto done;
        line(r, &head);
    }
    line(r, &head);
done:
    pl_buf_deinit(&head);
}

static void get(struct receiver *r, const char *path)
{
    bool streams = r->objects > 0;
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_f(&text, "GET %s", path);
    if (r->token.len > 0)
        pl_buf_add_f(&text, "%scontinue=%s", strchr(path, '?') != NULL ? "&" : "?",
                     pl_buf_z(&r->token));
    pl_buf_add_z(&text, " HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n");
    send_all(r, pl_buf_slice(&text));
    pl_buf_clear(&r->token);
    line(r, &text);
    if (strncmp(pl_buf_z(&text), "HTTP/1.1 200", 12) != 0)
        die(pl_buf_z(&text));
    do
        line(r, &text);
    while (text.len > 1);
    chunks(r, streams);
    pl_buf_deinit(&text);
}

int main(int argc, char **argv)
{
    static struct receiver r;
    bool tls = false;
    if (argc < 4 || (strcmp(argv[1], "discard") != 0 && strcmp(argv[1], "scan") != 0))
        die("usage: bench-floor discard|scan PORT PATH [--tls] [--objects N]");
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "--tls") == 0)
            tls = true;
        else if (strcmp(argv[i], "--objects") == 0 && i + 1 < argc)
            r.objects = (uint32_t)strtoul(argv[++i], NULL, 10);
        else
            die("unknown argument");
    }
    int64_t start = now_ns(CLOCK_MONOTONIC);
    open_connection(&r, atoi(argv[2]), tls);
    do {
        if (strcmp(argv[1], "scan") == 0)
            start_scan(&r);
        get(&r, argv[3]);
        pl_scan_destroy(r.scan);
        r.scan = NULL;
    } while (r.token.len > 0);
    printf("{\"bytes\":%llu,\"seconds\":%.6f,\"cpu_seconds\":%.6f}\n", (unsigned long long)r.total,
           (double)(now_ns(CLOCK_MONOTONIC) - start) / 1e9,
           (double)now_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
    SSL_free(r.ssl);
    close(r.fd);
    for (size_t i = 0; i < r.docs.len; i += sizeof(struct pl_doc *))
        pl_doc_unref(*(struct pl_doc **)(void *)(r.docs.ptr + i));
    pl_buf_deinit(&r.docs);
    pl_buf_deinit(&r.token);
    pl_pool_destroy(r.pool);
    return 0;
}
