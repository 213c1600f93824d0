/* The scanner against the cases of spec/data/json and those too large for a file. */
#include "value/pool.h"
#include "value/scan.h"
#include "value/write.h"

#include "base/alloc.h"
#include "base/base.h"
#include "base/buf.h"

#include "support/test.h"

#include <dirent.h>

static bool read_file(const char *name, struct pl_buf *text)
{
    char path[512], chunk[4096];
    snprintf(path, sizeof(path), "spec/data/json/%s", name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    size_t len;
    while ((len = fread(chunk, 1, sizeof(chunk), file)) > 0)
        pl_buf_add(text, chunk, len);
    fclose(file);
    return true;
}

static int drop_doc(void *arg, struct pl_slice type, struct pl_doc *doc)
{
    PL_UNUSED(type);
    ++*(int *)arg;
    pl_doc_unref(doc);
    return 0;
}

static const struct pl_scan_sink *drop_all(int *count, struct pl_scan_sink *sink)
{
    *sink = (struct pl_scan_sink){.on_doc = drop_doc, .arg = count};
    return sink;
}

/* The same text, fed byte by byte, gives the same result at the same position. A stream may have
 * several values, so texts with something after the value are left out. */
static void check_bytewise(const char *name, struct pl_slice text, const struct pl_err *want)
{
    struct pl_scan_sink sink;
    struct pl_err err;
    int count = 0, code = 0;
    struct pl_scan *scan = pl_scan_create(PL_SCAN_VALUES, NULL, drop_all(&count, &sink));
    for (size_t i = 0; i < text.len && code == 0; i++)
        code = pl_scan_feed(scan, pl_slice(text.ptr + i, 1), &err);
    if (code == 0)
        code = pl_scan_end(scan, &err);
    pl_scan_destroy(scan);
    bool several = count > 0 && want->code != 0;
    if (!several && text.len > 0 && count + (code != 0) > 0 && code != want->code)
        TEST_FAIL("%s: %d byte by byte, %d at once", name, code, want->code);
    if (!several && code != 0 && err.offset != want->offset)
        TEST_FAIL("%s: offset %d byte by byte, %d at once", name, (int)err.offset,
                  (int)want->offset);
}

static void check_file(const char *name)
{
    struct pl_buf text = PL_BUF_INIT;
    struct pl_err err;
    pl_err_clear(&err);
    REQUIRE(read_file(name, &text));
    struct pl_doc *doc = pl_scan_text(pl_buf_slice(&text), NULL, &err);
    if ((doc == NULL) != (name[0] == 'n'))
        TEST_FAIL("%s: %s", name, doc != NULL ? "was read" : err.message);
    if (doc == NULL) {
        CHECK_INT(err.code, PL_ESYNTAX);
        CHECK(err.offset >= 0 && err.offset <= (int64_t)text.len);
    }
    pl_doc_unref(doc);
    check_bytewise(name, pl_buf_slice(&text), &err);
    pl_buf_deinit(&text);
}

TEST(every_case_in_the_folder_gets_its_verdict)
{
    DIR *dir = opendir("spec/data/json");
    REQUIRE(dir != NULL);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t len = strlen(entry->d_name);
        if (len < 5 || strcmp(entry->d_name + len - 5, ".json") != 0)
            continue;
        check_file(entry->d_name);
        count++;
    }
    closedir(dir);
    CHECK(count > 200);
}

static const char pod[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web-7d4b9c-x2x4z\",\"uid\":"
    "\"0b2cd8f1-7c0e-4b52-8a5e-0f1d1f2a3b4c\",\"creationTimestamp\":\"2026-11-21T09:30:00Z\","
    "\"managedFields\":[{\"manager\":\"kubelet\",\"fieldsV1\":{\"f:status\":{\"k:{\\\"type\\\":"
    "\\\"Ready\\\"}\":{\".\":{},\"f:status\":{}}}},\"time\":\"2026-11-21T09:30:00Z\"}],"
    "\"labels\":{\"app\":\"caf\u00e9 \\u20ac "
    "\\ud83d\\ude00\"}},\"spec\":{\"containers\":[{\"name\":"
    "\"app\",\"resources\":{\"limits\":{\"cpu\":\"500m\"}},\"ports\":[{\"containerPort\":8080}]}],"
    "\"priority\":-0,\"x\":1.5e-7,\"enableServiceLinks\":true,\"y\":false,\"z\":null}}";

TEST(a_pod_cut_anywhere_is_an_error_at_the_cut)
{
    struct pl_pool *pool = pl_pool_create();
    struct pl_scan_options options = {.pool = pool};
    struct pl_err err;
    for (int round = 0; round < 3; round++) {
        for (size_t len = 0; len < sizeof(pod) - 1; len++) {
            char *copy = pl_memdup0(pod, len);
            struct pl_doc *doc = pl_scan_text(pl_slice(copy, len), &options, &err);
            pl_free(copy);
            REQUIRE(doc == NULL);
            CHECK_INT(err.code, PL_ESYNTAX);
            CHECK_INT(err.offset, len);
        }
        struct pl_doc *doc = pl_scan_text(pl_slice_z(pod), &options, &err);
        REQUIRE(doc != NULL);
        pl_doc_unref(doc);
    }
    struct pl_pool_stats stats;
    pl_pool_stats(pool, &stats);
    CHECK_INT(stats.nodes, 0);
    CHECK_INT(stats.documents, 0);
    pl_pool_destroy(pool);
}

TEST(a_pod_in_any_two_pieces_is_the_same_pod)
{
    struct pl_doc *whole = pl_scan_text(pl_slice_z(pod), NULL, NULL);
    struct pl_buf want = PL_BUF_INIT;
    pl_write(&want, pl_doc_root(whole), 0);
    CHECK(strstr(pl_buf_z(&want), "managedFields") == NULL);
    pl_doc_unref(whole);
    int count = 0;
    struct pl_scan_sink sink;
    struct pl_scan *scan = pl_scan_create(PL_SCAN_VALUES, NULL, drop_all(&count, &sink));
    for (size_t cut = 0; cut < sizeof(pod) - 1; cut++) {
        CHECK_INT(pl_scan_feed(scan, pl_slice(pod, cut), NULL), 0);
        CHECK_INT(pl_scan_feed(scan, pl_slice(pod + cut, sizeof(pod) - 1 - cut), NULL), 0);
    }
    CHECK_INT(pl_scan_end(scan, NULL), 0);
    CHECK_INT(count, sizeof(pod) - 1);
    pl_scan_destroy(scan);
    pl_buf_deinit(&want);
}

TEST(a_depth_bomb_is_refused_in_any_form)
{
    static const char *const bombs[] = {"[", "{\"a\":", "{\"metadata\":{\"managedFields\":[",
                                        "[{\"a\":"};
    for (size_t b = 0; b < PL_ARRAY_LEN(bombs); b++) {
        int count = 0, code = 0;
        struct pl_scan_sink sink;
        struct pl_err err;
        struct pl_scan *scan = pl_scan_create(PL_SCAN_VALUES, NULL, drop_all(&count, &sink));
        for (int i = 0; i < 1000000 && code == 0; i++)
            code = pl_scan_feed(scan, pl_slice_z(i > 0 && b == 2 ? "[" : bombs[b]), &err);
        CHECK_INT(code, PL_ELIMIT);
        CHECK(err.offset <= PL_SCAN_DEPTH * 40);
        pl_scan_destroy(scan);
    }
}

/* Chunks of `text`, after `start`, until it fails; how many bytes that took. */
static size_t feed_until_limit(const char *start, const char *text)
{
    enum { CHUNK = 64 << 10 };
    int count = 0;
    struct pl_scan_sink sink;
    struct pl_err err;
    struct pl_scan *scan = pl_scan_create(PL_SCAN_VALUES, NULL, drop_all(&count, &sink));
    char *chunk = pl_malloc(CHUNK);
    for (size_t i = 0; i < CHUNK; i++)
        chunk[i] = text[i % strlen(text)];
    size_t fed = 0;
    int code = pl_scan_feed(scan, pl_slice_z(start), &err);
    for (; fed < (size_t)1 << 30 && code == 0; fed += CHUNK)
        code = pl_scan_feed(scan, pl_slice(chunk, CHUNK), &err);
    CHECK_INT(code, PL_ELIMIT);
    CHECK_INT(count, 0);
    pl_free(chunk);
    pl_scan_destroy(scan);
    return fed;
}

TEST(endless_values_stop_at_the_limit)
{
    size_t most = PL_SCAN_BYTES + (128 << 10);
    CHECK(feed_until_limit("\"", "x") <= most);
    CHECK(feed_until_limit("\"", "\\n") <= most);
    CHECK(feed_until_limit("\"", "\xc3\xa9") <= most);
    CHECK(feed_until_limit("[", "1,") <= most);
    CHECK(feed_until_limit("[\"", "x\",\"") <= most);
    CHECK(feed_until_limit("{\"metadata\":{\"managedFields\":[", "[], ") <= most);
    CHECK(feed_until_limit("", "1") <= 128 << 10); /* a number has a limit of its own */
    CHECK(feed_until_limit("[1", " ") <= most);
}

TEST(numbers_of_many_digits_survive_up_to_their_limit)
{
    struct pl_buf text = PL_BUF_INIT, out = PL_BUF_INIT;
    struct pl_err err;
    for (int i = 0; i < 4096; i++)
        pl_buf_add_char(&text, (char)('1' + i % 9));
    struct pl_doc *doc = pl_scan_text(pl_buf_slice(&text), NULL, &err);
    REQUIRE(doc != NULL);
    pl_write(&out, pl_doc_root(doc), 0);
    CHECK(pl_slice_eq(pl_buf_slice(&out), pl_buf_slice(&text)));
    pl_doc_unref(doc);
    pl_buf_add_char(&text, '1');
    CHECK(pl_scan_text(pl_buf_slice(&text), NULL, &err) == NULL);
    CHECK_INT(err.code, PL_ELIMIT);
    pl_buf_deinit(&text);
    pl_buf_deinit(&out);
}

TEST_MAIN()
