/* An expression of any text, compiled, estimated and evaluated on an object: an answer or an error,
 * and within its limit. */
#include "cel/cel.h"

#include "base/check.h"
#include "value/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char object[] = "{\"n\":3,\"d\":1.5,\"s\":\"h\\u00e9llo\",\"list\":[\"a\",\"bb\"],"
                             "\"m\":{\"k\":[1,{\"x\":null}]}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_buf why = PL_BUF_INIT;
    const struct pl_cel_var self = {"self", NULL};
    struct pl_cel_program *program =
        pl_cel_compile(pl_slice((const char *)data, size), &self, 1, &why);
    PL_REQUIRE((program == NULL) == (why.len > 0));
    if (program != NULL) {
        struct pl_arena arena = {0};
        uint64_t cost = 0;
        struct pl_doc *doc = pl_scan_text(pl_slice_z(object), &(struct pl_scan_options){0}, NULL);
        struct pl_cel value =
            pl_cel_from_tree(&arena, pl_tree_from_node(&arena, pl_doc_root(doc)), NULL);
        pl_cel_evaluate(program, &arena, &value, 20000, &cost);
        pl_arena_deinit(&arena);
        pl_doc_unref(doc);
    }
    pl_cel_program_destroy(program);
    pl_buf_deinit(&why);
    return 0;
}
