/* A list of documents. Zero-initialise. */
#pragma once

#include "value/doc.h"

struct pl_docs {
    struct pl_doc **items; /* owned array of references */
    size_t count;
    size_t cap; /* private */
};

/* Drops the references. */
void pl_docs_deinit(struct pl_docs *docs);
void pl_docs_add(struct pl_docs *docs, struct pl_doc *doc); /* takes doc */
/* Room for `more` documents, so that adding them allocates nothing. */
void pl_docs_reserve(struct pl_docs *docs, size_t more);
