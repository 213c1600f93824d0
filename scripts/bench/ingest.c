/* Time and memory of the document core: lists are received, each object is updated once by a watch
 * event in random order, nine of ten are deleted at random, and the rest is moved together. Each
 * kind of object has a separate process, so that its memory can be measured. The floor is the cost
 * of any receiver: copying the same bytes and finding the ends of lines. */
#include "ingest_data.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/rand.h"
#include "value/pool.h"
#include "value/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 500, CHUNK = 16 << 10, EVENTS = 500 };

typedef void (*data_fn)(struct pl_buf *out, uint32_t i, uint32_t version);

struct bench {
    data_fn data;
    uint32_t count;
    struct pl_pool *pool;
    struct pl_doc **docs;
    uint32_t *order;      /* a shuffle of all objects */
    const uint32_t *next; /* where the next document goes */
    uint32_t taken;
    size_t bytes;
    struct pl_buf pages; /* double: microseconds an object, page by page */
    int64_t floor_ns, ns, base_rss;
};

/* CPU time: other programs on the machine do not count. */
static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * PL_SECOND + t.tv_nsec;
}

static int64_t rss_anon(void)
{
    char line[256];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        sscanf(line, "RssAnon: %ld kB", &kb);
    if (file != NULL)
        fclose(file);
    return (int64_t)kb * 1024;
}

static int take(void *arg, struct pl_slice type, struct pl_doc *doc)
{
    struct bench *b = arg;
    (void)type;
    uint32_t i = b->next != NULL ? b->next[b->taken] : b->taken;
    pl_doc_unref(b->docs[i]);
    b->docs[i] = doc;
    b->taken++;
    return 0;
}

static void feed(struct bench *b, struct pl_scan *scan, struct pl_slice text)
{
    static char copy[CHUNK];
    int64_t start = now_ns();
    size_t lines = 0;
    for (size_t at = 0; at < text.len; at += CHUNK) {
        size_t len = text.len - at < CHUNK ? text.len - at : CHUNK;
        memcpy(copy, text.ptr + at, len);
        lines += memchr(copy, '\n', len) != NULL;
    }
    b->floor_ns += now_ns() - start;
    start = now_ns();
    struct pl_err err;
    uint32_t before = b->taken;
    for (size_t at = 0; at < text.len; at += CHUNK) {
        size_t len = text.len - at < CHUNK ? text.len - at : CHUNK;
        if (pl_scan_feed(scan, pl_slice(text.ptr + at, len), &err) != 0) {
            fprintf(stderr, "bench: %s\n", err.message);
            exit(1);
        }
        pl_pool_collect(b->pool);
    }
    int64_t took = now_ns() - start;
    double each = (double)took / 1e3 / (b->taken - before);
    pl_buf_add(&b->pages, &each, sizeof(each));
    b->ns += took;
    b->bytes += text.len + (lines > text.len);
}

static void list_all(struct bench *b)
{
    struct pl_scan_options options = {.pool = b->pool};
    struct pl_scan_sink sink = {.on_doc = take, .arg = b};
    struct pl_buf text = PL_BUF_INIT;
    for (uint32_t i = 0; i < b->count; i += PAGE) {
        pl_buf_clear(&text);
        pl_buf_add_z(&text,
                     "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[");
        for (uint32_t j = i; j < i + PAGE && j < b->count; j++) {
            pl_buf_add_z(&text, j > i ? "," : "");
            b->data(&text, j, 0);
        }
        pl_buf_add_z(&text, "]}");
        struct pl_scan *scan = pl_scan_create(PL_SCAN_LIST, &options, &sink);
        feed(b, scan, pl_buf_slice(&text));
        PL_REQUIRE(pl_scan_end(scan, NULL) == 0);
        pl_scan_destroy(scan);
    }
    pl_buf_deinit(&text);
}

static void update_all(struct bench *b, uint32_t version)
{
    struct pl_scan_options options = {.pool = b->pool};
    struct pl_scan_sink sink = {.on_doc = take, .arg = b};
    struct pl_scan *scan = pl_scan_create(PL_SCAN_WATCH, &options, &sink);
    struct pl_buf text = PL_BUF_INIT;
    b->next = b->order;
    for (uint32_t i = 0; i < b->count; i += EVENTS) {
        pl_buf_clear(&text);
        for (uint32_t j = i; j < i + EVENTS && j < b->count; j++) {
            pl_buf_add_z(&text, "{\"type\":\"MODIFIED\",\"object\":");
            b->data(&text, b->order[j], version);
            pl_buf_add_z(&text, "}\n");
        }
        feed(b, scan, pl_buf_slice(&text));
    }
    pl_scan_destroy(scan);
    pl_buf_deinit(&text);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median is not affected by other programs that disturb a few pages. */
static double median_page(struct bench *b)
{
    size_t count = b->pages.len / sizeof(double);
    if (count == 0)
        return 0;
    double *pages = (double *)(void *)b->pages.ptr;
    qsort(pages, count, sizeof(double), by_size);
    b->pages.len = 0;
    return pages[count / 2];
}

static void report(struct bench *b, const char *what, uint32_t objects)
{
    struct pl_pool_stats stats;
    pl_pool_stats(b->pool, &stats);
    double n = objects, live = (double)(stats.document_bytes + stats.node_bytes);
    printf("  %-22s", what);
    if (b->bytes != 0)
        printf(" %6.2f us (median %.2f, floor %.2f), %4.0f MB/s;", (double)b->ns / n / 1e3,
               median_page(b), (double)b->floor_ns / n / 1e3,
               (double)b->bytes * 1e3 / (double)b->ns);
    else
        printf(" %6.2f us;", (double)b->ns / n / 1e3);
    double rest = stats.documents != 0 ? (double)stats.documents : 1;
    printf(" RSS %5.0f B, live %4.0f B an object (tape %.0f), %zu shared, %.1f MB tables\n",
           (double)(rss_anon() - b->base_rss) / rest, live / rest,
           (double)stats.document_bytes / rest, stats.nodes, (double)stats.table_bytes / 1e6);
    b->ns = b->floor_ns = 0;
    b->bytes = b->taken = 0;
}

static void shuffle(uint32_t *order, uint32_t count)
{
    struct pl_rand rand;
    pl_rand_seed(&rand, 42);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = (uint32_t)(pl_rand_u64(&rand) % i), t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
}

static void collect_fully(struct bench *b)
{
    for (int i = 0; i < 200; i++)
        pl_pool_collect(b->pool);
}

static void delete_most(struct bench *b)
{
    int64_t start = now_ns();
    for (uint32_t i = 0; i < b->count / 10 * 9; i++) {
        pl_doc_unref(b->docs[b->order[i]]);
        b->docs[b->order[i]] = NULL;
    }
    b->ns = now_ns() - start;
    collect_fully(b);
    report(b, "nine of ten deleted", b->count / 10 * 9);
    start = now_ns();
    for (uint32_t i = 0; i < b->count; i++) {
        struct pl_doc *copy = b->docs[i] != NULL ? pl_pool_compact(b->pool, b->docs[i]) : NULL;
        if (copy == NULL)
            continue;
        pl_doc_unref(b->docs[i]);
        b->docs[i] = copy;
    }
    b->ns = now_ns() - start;
    collect_fully(b);
    report(b, "what is left, moved", b->count / 10);
}

static void run(const char *name, data_fn data, uint32_t count)
{
    fflush(stdout);
    if (fork() != 0) {
        wait(NULL);
        return;
    }
    struct bench b = {.data = data, .count = count};
    b.docs = pl_calloc(count, sizeof(*b.docs));
    b.order = pl_calloc(count, sizeof(*b.order));
    for (uint32_t i = 0; i < count; i++)
        b.docs[i] = (struct pl_doc *)1; /* touched, so that it is not counted */
    memset(b.docs, 0, count * sizeof(*b.docs));
    shuffle(b.order, count);
    struct pl_buf text = PL_BUF_INIT;
    for (uint32_t i = 0; i < PAGE; i++)
        data(&text, b.order[i], 0);
    printf("%u %s of %zu bytes\n", count, name, text.len / PAGE);
    pl_buf_deinit(&text);
    b.base_rss = rss_anon();
    b.pool = pl_pool_create();
    list_all(&b);
    report(&b, "listed", count);
    update_all(&b, 1);
    report(&b, "each updated once", count);
    update_all(&b, 2);
    report(&b, "each updated again", count);
    delete_most(&b);
    for (uint32_t i = 0; i < count; i++)
        pl_doc_unref(b.docs[i]);
    pl_pool_destroy(b.pool);
    pl_buf_deinit(&b.pages);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
    if (count < 1000 || count > 10000000) {
        fprintf(stderr, "usage: bench-ingest [OBJECTS, 1000 to 10000000]\n");
        return 2;
    }
    run("pods", data_pod, (uint32_t)count);
    run("custom resources", data_website, (uint32_t)count);
    return 0;
}
