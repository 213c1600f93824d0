/* YAML that can be read can be written, and reads back equal. */
#include "base/check.h"
#include "format/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_docs docs = {0}, again = {0};
    struct pl_err err;
    pl_err_clear(&err);
    int rc = pl_yaml_decode(pl_slice((const char *)data, size), &docs, &err);
    PL_REQUIRE(rc == err.code && (rc == 0 || docs.count == 0));
    for (size_t i = 0; i < docs.count; i++) {
        struct pl_buf text = PL_BUF_INIT;
        pl_yaml_encode(pl_doc_root(docs.items[i]), &text);
        PL_REQUIRE(pl_yaml_decode(pl_buf_slice(&text), &again, NULL) == 0);
        PL_REQUIRE(again.count == 1);
        PL_REQUIRE(pl_node_equal(pl_doc_root(again.items[0]), pl_doc_root(docs.items[i])));
        pl_docs_deinit(&again);
        pl_buf_deinit(&text);
    }
    pl_docs_deinit(&docs);
    return 0;
}
