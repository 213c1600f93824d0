/* Remembers which object had which value. The pool shares a value when a second, different object
 * has it. So a value that is unique to one object never enters the pool, however often that object
 * is updated. The filter is lossy by design: forgetting a value loses a little sharing, and a false
 * match costs a little memory. Only host/value includes this. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filter {
    uint32_t *entries; /* reserved for the largest size; 20 bits of hash, 12 of owner; 0: none */
    unsigned bits;     /* 2^bits entries are in use */
    uint32_t moved;    /* growing to 2^(bits + 1): entries before this one have moved */
    bool is_growing;
};

enum {
    FILTER_OWNER_UNKNOWN = 0,
    FILTER_OWNERS = 4094, /* owners are 1 to FILTER_OWNERS */
};

void pl_filter_init(struct filter *filter);
void pl_filter_deinit(struct filter *filter);
/* True when a different owner had this value; otherwise remembers this owner. */
bool pl_filter_saw(struct filter *filter, uint64_t hash, uint32_t owner);
/* Remembers a value that no other owner can have shown. */
void pl_filter_mark(struct filter *filter, uint64_t hash, uint32_t owner);
/* True when two owners are known to have had it; for an object without an owner number yet. */
bool pl_filter_is_shared(struct filter *filter, uint64_t hash);
/* As pl_filter_saw, for a value that was already stored unshared: the next owner shares it. */
void pl_filter_note(struct filter *filter, uint64_t hash, uint32_t owner);
/* Adapts the size to the number of documents. */
void pl_filter_fit(struct filter *filter, size_t documents);

/* The entry is most likely not in the processor's cache. */
static inline void filter_prefetch(const struct filter *filter, uint64_t hash)
{
    __builtin_prefetch(&filter->entries[hash & ((UINT32_C(1) << filter->bits) - 1)], 1);
}

static inline size_t filter_bytes(const struct filter *filter)
{
    return sizeof(uint32_t) << (filter->bits + filter->is_growing);
}
