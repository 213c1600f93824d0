/* Bodies of requests to a webhook server: the first byte chooses the sort of handler. A review that
 * can be read can be answered with a document, and a handler's changes of the object become a patch
 * that leads to them. */
#include "base/check.h"
#include "object/patch.h"
#include "object/patch_diff.h"
#include "value/build.h"
#include "value/build.h"
#include "value/scan.h"
#include "webhook/review.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct pl_buf *text)
{
    struct pl_scan_options options = {.keep_managed_fields = true, .max_bytes = SIZE_MAX};
    struct pl_doc *doc = pl_scan_text(pl_buf_slice(text), &options, NULL);
    PL_REQUIRE(doc != NULL);
    pl_doc_unref(doc);
    pl_buf_deinit(text);
}

static struct pl_doc *scan(const char *text)
{
    return pl_scan_text(pl_slice_z(text), NULL, NULL);
}

static void check_patch(struct pl_doc *before, struct pl_doc *after)
{
    if (before == NULL || after == NULL)
        return;
    struct pl_doc *patch = pl_patch_diff(pl_doc_root(before), pl_doc_root(after));
    struct pl_doc *made =
        patch != NULL ? pl_patch_json(pl_doc_root(before), pl_doc_root(patch), NULL) : NULL;
    PL_REQUIRE(patch == NULL ? pl_node_equal(pl_doc_root(before), pl_doc_root(after))
                             : pl_node_equal(pl_doc_root(made), pl_doc_root(after)));
    pl_doc_unref(made);
    pl_doc_unref(patch);
}

static void convert(struct pl_review *review)
{
    struct pl_kind kind;
    struct pl_buf text = PL_BUF_INIT;
    char *name = pl_review_failed_name(review);
    pl_review_kind(review, &kind, NULL);
    pl_review_refuse(review, name, &text);
    check_text(&text);
    struct pl_iter it = pl_iter(pl_hook_call_objects(review->call));
    while (pl_iter_next(&it))
        pl_hook_call_add(review->call, pl_doc_from_node(it.value, NULL));
    free(name);
}

static void open_call(struct pl_hook_call *call)
{
    pl_hook_call_open(call);
    check_patch(call->old, call->object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_review review;
    struct pl_err err;
    pl_err_clear(&err);
    if (size == 0)
        return 0;
    enum pl_hook_sort sort = (enum pl_hook_sort)(data[0] % 3);
    struct pl_slice body = pl_slice((const char *)data + 1, size - 1);
    int rc = pl_review_read(body, sort, &review, &err);
    PL_REQUIRE(rc == 0 || (rc == PL_EINVAL && err.message[0] != '\0' && review.call == NULL));
    int64_t ns;
    pl_review_timeout(body, &ns);
    if (rc != 0)
        return 0;
    if (sort == PL_HOOK_CONVERT)
        convert(&review);
    else
        open_call(review.call);
    struct pl_buf text = PL_BUF_INIT;
    review.call->answer.said =
        scan(data[0] & 4 ? "{\"allowed\":false,\"message\":\"no\",\"causes\":[{\"field\":\"a\","
                           "\"message\":\"b\"}]}"
                         : "{\"allowed\":true,\"warnings\":[\"w\"]}");
    pl_review_answer(&review, &text);
    check_text(&text);
    pl_review_deinit(&review);
    return 0;
}
