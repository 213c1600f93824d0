/* Documents in tests: JSON with ' for ", so that it can be read in C. */
#pragma once

#include "value/build.h"
#include "value/scan.h"
#include "value/write.h"

#include "support/test.h"

/* Every ' becomes a ". The caller frees it. */
static inline char *json_text(const char *quoted)
{
    char *text = strdup(quoted);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    return text;
}

static inline struct pl_doc *json(const char *quoted)
{
    char *text = json_text(quoted);
    struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_err err;
    struct pl_doc *doc = pl_scan_text(pl_slice_z(text), &options, &err);
    if (doc == NULL)
        TEST_FAIL("%s: %s", text, err.message);
    REQUIRE(doc != NULL);
    free(text);
    return doc;
}

static inline void check_json_at(const char *file, int line, const char *what, struct pl_node node,
                                 const char *quoted)
{
    char *want = json_text(quoted);
    struct pl_buf got = PL_BUF_INIT;
    pl_write(&got, node, PL_WRITE_COMPACT);
    if (strcmp(pl_buf_z(&got), want) != 0) {
        test_failures++;
        fprintf(stderr, "%s:%d: %s: got %s, want %s\n", file, line, what, pl_buf_z(&got), want);
    }
    pl_buf_deinit(&got);
    free(want);
}

#define CHECK_JSON(node, quoted) check_json_at(__FILE__, __LINE__, #node, node, quoted)
