/* Objects as rows, the form in which kubectl asks for lists. */
#pragma once

#include "base/buf.h"
#include "schema/type.h"

struct pl_api_table_options {
    int64_t now_ns;          /* ages are counted to here */
    bool with_columns;       /* watches send them with the first event only */
    struct pl_slice list_rv; /* of the list; empty for a single object */
    struct pl_slice next;    /* continue token */
};

void pl_api_table_write(struct pl_buf *out, const struct pl_api_type *type, size_t version,
                        const struct pl_node *objects, size_t count,
                        const struct pl_api_table_options *options);
/* The object's metadata alone, as PartialObjectMetadata. */
void pl_api_partial_write(struct pl_buf *out, struct pl_node object);
