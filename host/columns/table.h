/* Objects as rows, the form of lists that kubectl requests. */
#pragma once

#include "base/buf.h"
#include "schema/type.h"

struct pl_api_table_options {
    int64_t now_ns;          /* ages are computed for this time */
    bool with_columns;       /* watches send the columns only with the first event */
    struct pl_slice list_rv; /* the list's resourceVersion; empty for a single object */
    struct pl_slice next;    /* continue token */
    bool without_objects;    /* the rows have cells only */
    /* Writes the whole object of a row; NULL: its metadata. */
    void (*write)(struct pl_buf *out, const struct pl_api_type *type, size_t version,
                  struct pl_node object, bool in_list);
};

void pl_api_table_write(struct pl_buf *out, const struct pl_api_type *type, size_t version,
                        const struct pl_node *objects, size_t count,
                        const struct pl_api_table_options *options);
/* Only the object's metadata, as PartialObjectMetadata. */
void pl_api_partial_write(struct pl_buf *out, struct pl_node object);
