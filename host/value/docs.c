#include "value/docs.h"

#include "base/alloc.h"
#include "value/label_bloom.h"

void pl_docs_deinit(struct pl_docs *docs)
{
    for (size_t i = 0; i < docs->count; i++)
        pl_doc_unref(docs->items[i]);
    pl_free(docs->items);
    *docs = (struct pl_docs){0};
}

void pl_docs_reserve(struct pl_docs *docs, size_t more)
{
    size_t need = docs->count + more, cap = docs->cap ? docs->cap : 8;
    if (need <= docs->cap)
        return;
    while (cap < need)
        cap *= 2;
    docs->items = pl_reallocarray(docs->items, cap, sizeof(struct pl_doc *));
    docs->cap = cap;
}

/* Starts loading for a loop that is at i: at first all following documents, then one more each
 * time. */
static void look_ahead(const struct pl_docs *docs, size_t i, size_t ahead,
                       void (*prefetch)(const struct pl_doc *doc))
{
    for (size_t n = i == 0 ? 0 : i + ahead; n <= i + ahead && n < docs->count; n++)
        prefetch(docs->items[n]);
}

struct pl_doc *pl_docs_at(const struct pl_docs *docs, size_t i)
{
    look_ahead(docs, i, 8, pl_doc_prefetch);
    return docs->items[i];
}

struct pl_doc *pl_docs_whole_at(const struct pl_docs *docs, size_t i)
{
    look_ahead(docs, i, 3,
               pl_doc_prefetch_rest); /* documents whose heads have been loaded by now */
    return pl_docs_at(docs, i);
}

void pl_docs_ref_from(struct pl_docs *docs, size_t first, uint64_t labels)
{
    size_t kept = first;
    for (size_t i = first; i < docs->count; i++) {
        struct pl_doc *doc = pl_docs_at(docs, i);
        if (pl_label_bloom_may_have(doc, labels))
            docs->items[kept++] = pl_doc_ref(doc);
    }
    docs->count = kept;
}

void pl_docs_add(struct pl_docs *docs, struct pl_doc *doc)
{
    pl_docs_reserve(docs, 1);
    docs->items[docs->count++] = doc;
}
