/* A lossy memory of which value was seen in which object: one 32-bit entry for each place, with
 * some bits of the value's hash and the object's number. A later value overwrites an earlier one of
 * the same place. Both kinds of error are harmless: see filter.h.
 *
 * The table lies in one reserved range of addresses and grows in place, a few entries at each use,
 * so that no call takes long. It never shrinks by moving entries: it forgets them instead.
 *
 * All functions require the pool's turn; there is no lock. */
#include "value/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    OWNER_BITS = 12,
    OWNER_MASK = (1 << OWNER_BITS) - 1,
    SHARED = OWNER_MASK, /* several owners, in place of an owner's number */
    LEAST_BITS = 12,     /* an entry holds the hash bits from here on, see move_some */
    MOST_BITS = 24,
    PER_DOCUMENT = 8, /* entries */
    MOVES = 32,       /* while growing, at each use */
};

_Static_assert((int)FILTER_OWNERS < (int)SHARED, "owners and marks are apart");

static const size_t reserved = sizeof(uint32_t) << MOST_BITS;

void pl_filter_init(struct filter *filter)
{
    memset(filter, 0, sizeof(*filter));
    filter->bits = LEAST_BITS;
    filter->entries = mmap(NULL, reserved, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (filter->entries == MAP_FAILED) {
        fprintf(stderr, "perilune: out of memory reserving %zu bytes\n", reserved);
        abort();
    }
}

void pl_filter_deinit(struct filter *filter)
{
    munmap(filter->entries, reserved);
    filter->entries = NULL;
}

/* The table grows in place and in small steps: an entry at i either stays or goes to i + 2^bits.
 * The next bit of its hash decides, and the entry itself holds that bit. */
static void move_some(struct filter *filter)
{
    uint32_t half = UINT32_C(1) << filter->bits;
    unsigned bit = OWNER_BITS + filter->bits - LEAST_BITS;
    for (int i = 0; i < MOVES; i++, filter->moved++) {
        uint32_t *entry = &filter->entries[filter->moved];
        if (*entry >> bit & 1) {
            entry[half] = *entry;
            *entry = 0;
        }
    }
    if (filter->moved == half) {
        filter->bits++;
        filter->is_growing = false;
    }
}

static uint32_t *entry_of(struct filter *filter, uint64_t hash)
{
    if (filter->is_growing)
        move_some(filter);
    uint32_t i = (uint32_t)hash & ((UINT32_C(1) << filter->bits) - 1);
    if (filter->is_growing && i < filter->moved)
        i = (uint32_t)hash & ((UINT32_C(2) << filter->bits) - 1);
    return &filter->entries[i];
}

static inline uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> LEAST_BITS) << OWNER_BITS;
}

static inline bool has_tag(uint32_t entry, uint32_t tag)
{
    return entry != 0 && (entry & ~(uint32_t)OWNER_MASK) == tag;
}

bool pl_filter_saw(struct filter *filter, uint64_t hash, uint32_t owner)
{
    uint32_t *entry = entry_of(filter, hash), tag = tag_of(hash);
    if (has_tag(*entry, tag) && (*entry & OWNER_MASK) != owner)
        return true;
    *entry = tag | owner;
    return false;
}

void pl_filter_mark(struct filter *filter, uint64_t hash, uint32_t owner)
{
    *entry_of(filter, hash) = tag_of(hash) | owner;
}

bool pl_filter_is_shared(struct filter *filter, uint64_t hash)
{
    uint32_t entry = *entry_of(filter, hash);
    return has_tag(entry, tag_of(hash)) && (entry & OWNER_MASK) == SHARED;
}

void pl_filter_note(struct filter *filter, uint64_t hash, uint32_t owner)
{
    uint32_t *entry = entry_of(filter, hash), tag = tag_of(hash);
    bool is_second = has_tag(*entry, tag) && (*entry & OWNER_MASK) != owner;
    *entry = tag | (is_second ? (uint32_t)SHARED : owner);
}

void pl_filter_fit(struct filter *filter, size_t documents)
{
    if (filter->is_growing)
        return;
    size_t size = (size_t)1 << filter->bits;
    if (documents * PER_DOCUMENT > size && filter->bits < MOST_BITS) {
        filter->is_growing = true;
        filter->moved = 0;
    } else if (documents * PER_DOCUMENT * 8 < size && filter->bits > LEAST_BITS) {
        /* The entries are lost, which costs less than the memory. */
        madvise(filter->entries, size * sizeof(*filter->entries), MADV_DONTNEED);
        while (filter->bits > LEAST_BITS && documents * PER_DOCUMENT * 2 < (size_t)1
                                                                               << filter->bits)
            filter->bits--;
    }
}
