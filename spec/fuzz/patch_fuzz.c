/* Two JSON texts, each on a line: a document and a patch, tried as every kind of patch. */
#include "base/check.h"
#include "object/diff.h"
#include "object/patch.h"
#include "value/scan.h"
#include "value/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A result is a document like any other: it can be written and read. */
static void check_result(struct pl_node target, struct pl_doc *doc)
{
    struct pl_buf text = PL_BUF_INIT;
    struct pl_paths paths;
    pl_write(&text, pl_doc_root(doc), PL_WRITE_COMPACT);
    struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_doc *again = pl_scan_text(pl_buf_slice(&text), &options, NULL);
    PL_REQUIRE(again != NULL && pl_node_equal(pl_doc_root(again), pl_doc_root(doc)));
    PL_REQUIRE(pl_subset(pl_doc_root(doc), pl_doc_root(again)));
    pl_diff(pl_doc_root(doc), pl_doc_root(again), 4, &paths);
    PL_REQUIRE(paths.count == 0);
    pl_paths_deinit(&paths);
    pl_diff(target, pl_doc_root(doc), 4, &paths);
    PL_REQUIRE((paths.count == 0) == pl_node_equal(target, pl_doc_root(doc)));
    pl_paths_deinit(&paths);
    pl_doc_unref(again);
    pl_buf_deinit(&text);
}

static void merge(struct pl_node target, struct pl_node patch)
{
    struct pl_doc *once = pl_patch_merge(target, patch, NULL);
    PL_REQUIRE(once != NULL);
    check_result(target, once);
    struct pl_doc *twice = pl_patch_merge(pl_doc_root(once), patch, NULL);
    PL_REQUIRE(pl_node_equal(pl_doc_root(once), pl_doc_root(twice)));
    pl_doc_unref(once);
    pl_doc_unref(twice);
}

static void other(struct pl_node target, struct pl_node patch)
{
    struct pl_kind pod = {.group = "", .version = "v1", .kind = "Pod"};
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *doc = pl_patch_json(target, patch, &err);
    PL_REQUIRE((doc == NULL) == (err.code != 0));
    if (doc != NULL)
        check_result(target, doc);
    pl_doc_unref(doc);
    pl_err_clear(&err);
    doc = pl_patch_strategic(target, patch, pl_schema_builtin(&pod), &err);
    PL_REQUIRE((doc == NULL) == (err.code != 0));
    if (doc != NULL)
        check_result(target, doc);
    pl_doc_unref(doc);
    pl_schema_destroy(pl_schema_from_openapi(target, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;
    if (line == NULL)
        return 0;
    size_t len = (size_t)(line - text);
    struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_doc *target = pl_scan_text(pl_slice(text, len), &options, NULL);
    struct pl_doc *patch = pl_scan_text(pl_slice(line + 1, size - len - 1), &options, NULL);
    if (target != NULL && patch != NULL) {
        merge(pl_doc_root(target), pl_doc_root(patch));
        other(pl_doc_root(target), pl_doc_root(patch));
    }
    pl_doc_unref(target);
    pl_doc_unref(patch);
    return 0;
}
