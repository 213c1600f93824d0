#include "value/docs.h"

#include "base/alloc.h"

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

struct pl_doc *pl_docs_at(const struct pl_docs *docs, size_t i)
{
    enum { AHEAD = 8 };
    size_t from = i == 0 ? 1 : i + AHEAD, to = i + AHEAD + 1;
    for (size_t next = from; next < to && next < docs->count; next++)
        pl_doc_prefetch(docs->items[next]);
    return docs->items[i];
}

void pl_docs_ref_from(struct pl_docs *docs, size_t first)
{
    for (size_t i = first; i < docs->count; i++)
        pl_doc_ref(pl_docs_at(docs, i));
}

void pl_docs_add(struct pl_docs *docs, struct pl_doc *doc)
{
    pl_docs_reserve(docs, 1);
    docs->items[docs->count++] = doc;
}
