/* The scanner: the same bytes in one piece and in chunks, with and without a pool, must give the
 * same documents or the same error. Written documents must read back equal. The first byte chooses
 * the form of the stream, the second the chunks. */
#include "base/buf.h"
#include "base/check.h"
#include "value/build.h"
#include "value/pool.h"
#include "value/scan.h"
#include "value/write.h"

struct result {
    struct pl_buf text;
    int code;
    struct pl_err err;
    struct pl_pool *pool;
    struct pl_doc *last; /* kept for a while, so that its shared values stay in the pool */
};

static void check_again(struct pl_doc *doc, struct pl_slice json)
{
    struct pl_err err;
    struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_doc *again = pl_scan_text(json, &options, &err);
    PL_REQUIRE(again != NULL);
    PL_REQUIRE(pl_node_equal(pl_doc_root(doc), pl_doc_root(again)));
    PL_REQUIRE(pl_node_equal(pl_doc_root(again), pl_doc_root(doc)));
    struct pl_doc *copy = pl_doc_from_node(pl_doc_root(doc), NULL);
    PL_REQUIRE(pl_node_equal(pl_doc_root(copy), pl_doc_root(again)));
    pl_doc_unref(copy);
    pl_doc_unref(again);
}

static int add(struct result *result, struct pl_slice type, struct pl_doc *doc)
{
    pl_buf_add_slice(&result->text, type);
    pl_buf_add_char(&result->text, '=');
    size_t start = result->text.len;
    pl_write(&result->text, pl_doc_root(doc), PL_WRITE_COMPACT);
    check_again(doc, pl_slice(result->text.ptr + start, result->text.len - start));
    pl_buf_add_char(&result->text, '\n');
    pl_doc_unref(result->last);
    result->last = doc;
    return 0;
}

static int on_doc(void *arg, struct pl_slice type, struct pl_doc *doc)
{
    return add(arg, type, doc);
}

static int on_list(void *arg, struct pl_doc *list)
{
    return add(arg, pl_slice_z("LIST"), list);
}

static void on_metadata(void *arg, const struct pl_doc *metadata)
{
    struct result *result = arg;
    pl_buf_add_z(&result->text, "METADATA=");
    pl_write(&result->text, pl_doc_root(metadata), PL_WRITE_COMPACT);
    pl_buf_add_char(&result->text, '\n');
}

static void scan(struct result *result, enum pl_scan_form form, struct pl_slice bytes,
                 unsigned chunks)
{
    struct pl_scan_options options = {
        .pool = result->pool, .max_depth = 40, .max_bytes = 4096, .refuse_duplicates = chunks & 1};
    struct pl_scan_sink sink = {
        .on_doc = on_doc, .on_list = on_list, .on_metadata = on_metadata, .arg = result};
    struct pl_scan *scan = pl_scan_create(form, &options, &sink);
    pl_err_clear(&result->err);
    unsigned size = chunks >> 1;
    while (bytes.len > 0 && result->code == 0) {
        size = size * 5 + 3;
        size_t len = chunks < 2 ? bytes.len : 1 + size % 37;
        len = len < bytes.len ? len : bytes.len;
        result->code = pl_scan_feed(scan, pl_slice(bytes.ptr, len), &result->err);
        bytes = pl_slice(bytes.ptr + len, bytes.len - len);
    }
    if (result->code == 0)
        result->code = pl_scan_end(scan, &result->err);
    pl_scan_destroy(scan);
}

static void deinit(struct result *result)
{
    pl_doc_unref(result->last);
    pl_pool_destroy(result->pool);
    pl_buf_deinit(&result->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    enum pl_scan_form form = data[0] % 3;
    struct pl_slice bytes = pl_slice((const char *)data + 2, size - 2);
    struct result whole = {.pool = NULL}, pieces = {.pool = pl_pool_create()};
    scan(&whole, form, bytes, data[1] & 1);
    scan(&pieces, form, bytes, data[1]);
    /* The limit is noticed earlier or later, depending on the chunks. */
    if (whole.code != PL_ELIMIT && pieces.code != PL_ELIMIT) {
        PL_REQUIRE(whole.code == pieces.code);
        PL_REQUIRE(whole.err.offset == pieces.err.offset);
        PL_REQUIRE(pl_slice_eq(pl_buf_slice(&whole.text), pl_buf_slice(&pieces.text)));
    }
    deinit(&whole);
    deinit(&pieces);
    return 0;
}
