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
/* The document at i, for loops that read documents in order: the following documents are
 * prefetched. Borrowed: the list keeps its reference. */
struct pl_doc *pl_docs_at(const struct pl_docs *docs, size_t i);
/* The same, for loops that read more than metadata. */
struct pl_doc *pl_docs_whole_at(const struct pl_docs *docs, size_t i);
/* Takes a reference to each document from index `first` on, for documents that were added without.
 * Drops the documents that certainly lack a label of these bits (value/label_bloom.h; 0: none). */
void pl_docs_ref_from(struct pl_docs *docs, size_t first, uint64_t labels);
/* Room for `more` documents, so that adding them allocates nothing. */
void pl_docs_reserve(struct pl_docs *docs, size_t more);
