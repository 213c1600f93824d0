#include "object/hide.h"

#include "base/alloc.h"
#include "support/test.h"
#include "value/scan.h"
#include "value/write.h"

static void check(const char *text, const struct pl_secrets *secrets, bool all, const char *want)
{
    struct pl_doc *doc = pl_scan_text(pl_slice_z(text), &(struct pl_scan_options){0}, NULL);
    struct pl_build *b = pl_build_create(NULL);
    struct pl_buf out = PL_BUF_INIT;
    pl_hide_build(b, pl_doc_root(doc), secrets, all);
    struct pl_doc *hidden = pl_build_close(b);
    pl_write(&out, pl_doc_root(hidden), PL_WRITE_COMPACT);
    CHECK_STR(pl_buf_z(&out), want);
    pl_buf_deinit(&out);
    pl_doc_unref(hidden);
    pl_doc_unref(doc);
}

TEST(texts_under_the_data_of_a_secret_are_hidden_wherever_it_stands)
{
    check("[{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"bcd\"},\"type\":\"t\"}]",
          NULL, false,
          "[{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"<3 "
          "bytes>\"},\"type\":\"t\"}]");
    check("{\"kind\":\"ConfigMap\",\"data\":{\"a\":\"bcd\"}}", NULL, false,
          "{\"kind\":\"ConfigMap\",\"data\":{\"a\":\"bcd\"}}");
    check("{\"a\":[\"bcd\",1,null]}", NULL, true, "{\"a\":[\"<3 bytes>\",1,null]}");
}

TEST(what_kubectl_applied_is_hidden_in_a_secret)
{
    static const char text[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"%s\",\"metadata\":{\"annotations\":{\"a\":\"b\","
        "\"kubectl.kubernetes.io/last-applied-configuration\":\"%s\"}}}";
    static const char *const kinds[] = {"Secret", "ConfigMap"};
    for (int i = 0; i < 2; i++) {
        char *before = pl_format(text, kinds[i], "{}"),
             *after = pl_format(text, kinds[i], i == 0 ? "<2 bytes>" : "{}");
        check(before, NULL, false, after);
        pl_free(before);
        pl_free(after);
    }
}

/* As text in JSON they would have been escaped. */
TEST(secrets_are_cut_out_of_texts_and_names)
{
    struct pl_secrets secrets = {.count = 0};
    pl_secrets_add(&secrets, pl_slice_z("one\n\"two\""));
    check("{\"x-one\\n\\\"two\\\"\":[\"in one\\n\\\"two\\\".\"]}", &secrets, false,
          "{\"x-<9 bytes>\":[\"in <9 bytes>.\"]}");
    pl_secrets_clear(&secrets);
}

TEST_MAIN()
