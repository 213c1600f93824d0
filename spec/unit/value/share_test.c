/* Guesses: documents of one kind with small differences, so that names and strings are as guessed,
 * almost as guessed, or escaped. Every document must read back as written. */
#include "value/build.h"
#include "value/pool.h"
#include "value/scan.h"
#include "value/write.h"

#include "base/buf.h"
#include "base/rand.h"

#include "support/test.h"

static int keep(void *arg, struct pl_slice type, struct pl_doc *doc)
{
    (void)type;
    *(struct pl_doc **)arg = doc;
    return 0;
}

/* Feeds the text in two pieces and compares the result with that of a scan without a pool. */
static void check_pieces(struct pl_scan *scan, struct pl_doc **slot, struct pl_slice json,
                         size_t cut)
{
    struct pl_err err;
    *slot = NULL;
    CHECK_INT(pl_scan_feed(scan, pl_slice(json.ptr, cut), &err), 0);
    CHECK_INT(pl_scan_feed(scan, pl_slice(json.ptr + cut, json.len - cut), &err), 0);
    REQUIRE(*slot != NULL);
    struct pl_doc *plain = pl_scan_text(json, NULL, &err);
    struct pl_buf want = PL_BUF_INIT, got = PL_BUF_INIT;
    pl_write(&want, pl_doc_root(plain), 0);
    pl_write(&got, pl_doc_root(*slot), 0);
    CHECK_STR(pl_buf_z(&got), pl_buf_z(&want));
    pl_buf_deinit(&want);
    pl_buf_deinit(&got);
    pl_doc_unref(plain);
}

static void add_object(struct pl_rand *rand, struct pl_buf *out, int depth)
{
    static const char *const names[] = {"name", "namespace", "value", "v\\u0061lue", "image",
                                        "imag", "images",    "",      "q\\\"uote",   "name"};
    static const char *const texts[] = {"a common text",
                                        "a common text",
                                        "a common texts",
                                        "a c\\u006fmmon text",
                                        "with \\\"quotes\\\" inside",
                                        "2026-11-21T09:30:00Z",
                                        "short",
                                        "a common tex"};
    pl_buf_add_char(out, '{');
    size_t count = 1 + pl_rand_u64(rand) % 6;
    for (size_t i = 0; i < count; i++) {
        /* Mostly the same names in the same order. */
        size_t name = pl_rand_u64(rand) % 8 != 0 ? i : pl_rand_u64(rand) % 10;
        pl_buf_add_f(out, "%s\"%s\":", i ? "," : "", names[name]);
        if (depth > 0 && name == 2)
            add_object(rand, out, depth - 1);
        else
            pl_buf_add_f(out, "\"%s\"", texts[pl_rand_u64(rand) % 8]);
    }
    pl_buf_add_char(out, '}');
}

TEST(documents_that_are_nearly_as_guessed_read_back)
{
    enum { KEPT = 50 };
    struct pl_pool *pool = pl_pool_create();
    struct pl_doc *doc, *kept[KEPT] = {NULL};
    struct pl_scan_options options = {.pool = pool};
    struct pl_scan_sink sink = {.on_doc = keep, .arg = &doc};
    struct pl_scan *scan = pl_scan_create(PL_SCAN_VALUES, &options, &sink);
    struct pl_rand rand;
    pl_rand_seed(&rand, 11);
    struct pl_buf json = PL_BUF_INIT;
    for (int i = 0; i < 20000; i++) {
        pl_buf_clear(&json);
        add_object(&rand, &json, 3);
        check_pieces(scan, &doc, pl_buf_slice(&json), pl_rand_u64(&rand) % json.len);
        size_t slot = pl_rand_u64(&rand) % KEPT;
        pl_doc_unref(kept[slot]); /* often the last document with the guessed value */
        kept[slot] = doc;
        if (i % 1000 == 0) {
            for (size_t j = 0; j < KEPT; j++) {
                pl_doc_unref(kept[j]);
                kept[j] = NULL;
            }
        }
    }
    for (size_t j = 0; j < KEPT; j++)
        pl_doc_unref(kept[j]);
    pl_buf_deinit(&json);
    pl_scan_destroy(scan);
    pl_pool_destroy(pool);
}

TEST(a_name_with_a_quote_in_it_does_not_end_where_it_should_not)
{
    struct pl_pool *pool = pl_pool_create();
    struct pl_scan_options options = {.pool = pool};
    static const char good[] = "{\"a\\\"b\":\"long \\\" text\",\"uid\":%d}";
    struct pl_doc *docs[5];
    for (int i = 0; i < 5; i++) {
        char text[64];
        snprintf(text, sizeof(text), good, i);
        docs[i] = pl_scan_text(pl_slice_z(text), &options, NULL);
        REQUIRE(docs[i] != NULL);
    }
    CHECK(pl_scan_text(pl_slice_z("{\"a\"b\":\"long \" text\",\"uid\":1}"), &options, NULL) ==
          NULL);
    for (int i = 0; i < 5; i++)
        pl_doc_unref(docs[i]);
    pl_pool_destroy(pool);
}

TEST_MAIN()
