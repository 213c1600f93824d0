/* Selectors, field selectors, paths and other short texts: an accepted text is written in a form
 * that reads back to the same value. */
#include "base/check.h"
#include "format/units.h"
#include "object/jsonpath.h"
#include "object/kind.h"
#include "object/path.h"
#include "object/pointer.h"
#include "object/selector.h"
#include "value/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void labels(struct pl_slice text)
{
    struct pl_buf first = PL_BUF_INIT, second = PL_BUF_INIT;
    struct pl_selector *selector = pl_selector_parse(text, NULL);
    if (selector == NULL)
        return;
    pl_selector_matches(selector, PL_NODE_MISSING);
    pl_selector_text(selector, &first);
    pl_selector_destroy(selector);
    selector = pl_selector_parse(pl_buf_slice(&first), NULL);
    PL_REQUIRE(selector != NULL);
    pl_selector_text(selector, &second);
    PL_REQUIRE(pl_slice_eq(pl_buf_slice(&first), pl_buf_slice(&second)));
    pl_selector_destroy(selector);
    pl_buf_deinit(&first);
    pl_buf_deinit(&second);
}

static void fields(struct pl_slice text)
{
    struct pl_buf first = PL_BUF_INIT;
    struct pl_fields *a = pl_fields_parse(text, NULL);
    if (a == NULL)
        return;
    pl_fields_match(a, PL_NODE_MISSING);
    pl_fields_text(a, &first);
    struct pl_fields *b = pl_fields_parse(pl_buf_slice(&first), NULL);
    PL_REQUIRE(b != NULL && pl_fields_count(a) == pl_fields_count(b));
    pl_fields_destroy(a);
    pl_fields_destroy(b);
    pl_buf_deinit(&first);
}

static void path(struct pl_slice text)
{
    struct pl_buf written = PL_BUF_INIT;
    struct pl_path *a = pl_path_parse(text, NULL);
    if (a == NULL)
        return;
    for (size_t i = 0; i < pl_path_len(a); i++) {
        struct pl_step step = pl_path_step(a, i);
        if (step.key.ptr == NULL)
            pl_path_add_index(&written, step.index);
        else
            pl_path_add_key(&written, step.key);
    }
    struct pl_path *b = pl_path_parse(pl_buf_slice(&written), NULL);
    PL_REQUIRE(b != NULL && pl_path_len(a) == pl_path_len(b));
    for (size_t i = 0; i < pl_path_len(a); i++)
        PL_REQUIRE(pl_slice_eq(pl_path_step(a, i).key, pl_path_step(b, i).key) &&
                   pl_path_step(a, i).index == pl_path_step(b, i).index);
    pl_path_destroy(a);
    pl_path_destroy(b);
    pl_buf_deinit(&written);
}

static bool is_enough(void *arg, struct pl_node value)
{
    size_t *found = arg;
    PL_REQUIRE(!pl_node_is_missing(value));
    return ++*found < 1000;
}

static void jsonpath(struct pl_slice text)
{
    static const char object[] =
        "{\"a\":{\"b\":[1,{\"t\":\"x\",\"n\":[[2],null]},true]},\"c\":\"d\"}";
    struct pl_jsonpath *path = pl_jsonpath_parse(text, NULL);
    struct pl_doc *doc = path != NULL ? pl_scan_text(pl_slice_z(object), NULL, NULL) : NULL;
    size_t found = 0;
    if (path != NULL)
        PL_IGNORE(pl_jsonpath_each(path, pl_doc_root(doc), is_enough, &found, NULL));
    pl_doc_unref(doc);
    pl_jsonpath_destroy(path);
}

static void pointer(struct pl_slice text)
{
    struct pl_slice rest = text;
    struct pl_buf word = PL_BUF_INIT, again = PL_BUF_INIT;
    int rc;
    while ((rc = pl_pointer_next(&rest, &word, NULL)) == 1)
        pl_pointer_add(&again, pl_buf_slice(&word));
    PL_REQUIRE(rc < 0 || pl_slice_eq(pl_buf_slice(&again), text));
    pl_buf_deinit(&word);
    pl_buf_deinit(&again);
}

static void kind_and_units(struct pl_slice text)
{
    struct pl_kind kind, again;
    char out[PL_KIND_TEXT];
    int64_t ns, back;
    uint64_t bytes;
    double number;
    if (pl_kind_parse(text, &kind, NULL) == 0)
        PL_REQUIRE(pl_kind_parse(pl_slice_z(pl_kind_text(&kind, out)), &again, NULL) == 0 &&
                   pl_kind_eq(&kind, &again));
    pl_duration_parse(text, &ns);
    if (pl_time_parse(text, &ns)) {
        pl_time_text(ns, 9, out);
        PL_REQUIRE(pl_time_parse(pl_slice_z(out), &back) && back == ns);
    }
    pl_quantity_parse(text, &number);
    pl_size_parse(text, &bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_slice text = pl_slice((const char *)data, size);
    labels(text);
    fields(text);
    path(text);
    kind_and_units(text);
    jsonpath(text);
    pointer(text);
    return 0;
}
