#include "value/label_bloom.h"

#include "base/hash.h"
#include "value/tape.h"

/* Distinguishes "no labels" from "not kept"; labels may have the bit, too. */
#define KEPT (UINT64_C(1) << 63)

/* Two bits for each label: objects have few labels, so only one wrong match in some hundred passes
 * the filter. */
uint64_t pl_label_bloom(struct pl_slice key, struct pl_slice value)
{
    uint64_t hash = pl_hash(value.ptr, value.len, pl_hash(key.ptr, key.len, 0));
    return UINT64_C(1) << (hash & 63) | UINT64_C(1) << (hash >> 6 & 63);
}

static uint64_t bits_of(struct pl_node labels)
{
    uint64_t bits = KEPT;
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(labels);
    while (pl_iter_next(&it)) {
        struct pl_slice value = pl_node_str(it.value, &scratch);
        if (value.ptr != NULL)
            bits |= pl_label_bloom(it.key, value);
    }
    return bits;
}

/* Two threads may store the bits at once; both compute the same. */
void pl_label_bloom_keep(struct pl_node object, struct pl_node labels)
{
    struct pl_doc *doc = (struct pl_doc *)object.doc;
    if (object.at == NULL || object.at != doc->tape ||
        atomic_load_explicit(&doc->labels, memory_order_relaxed) != 0)
        return;
    atomic_store_explicit(&doc->labels, bits_of(labels), memory_order_relaxed);
}

bool pl_label_bloom_may_have(const struct pl_doc *object, uint64_t bits)
{
    uint64_t kept = atomic_load_explicit(&object->labels, memory_order_relaxed);
    return kept == 0 || (kept & bits) == bits;
}
