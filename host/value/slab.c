/* Size classes in spans of 64 KiB, each span with a bit for each block. A block never moves, and a
 * new span is used only when no span of the class has room.
 *
 * Memory goes back to the system page by page: each call of a sweep looks at a bounded number of
 * dirty spans. Huge pages are switched off for the range, as they would bring released pages back.
 * The holder of the only reference to a block can help to empty a span by copying the block
 * elsewhere (pl_slab_drain).
 *
 * A wrong free is detected: the bit must say that the block was in use. Under AddressSanitizer,
 * free blocks are poisoned. */
#include "value/slab.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum {
    PAGE = 4096,
    SPAN_PAGES = SLAB_SPAN / PAGE,
    WORDS = SLAB_SPAN / 32 / 64, /* the smallest class with many blocks has 32 bytes */
    SWEEP_SPANS = 64,            /* spans that one call looks at */
    SWEEP_MIN = 1 << 20,         /* freed bytes that make a sweep worthwhile */
    LEAST_RESERVE = 1 << 20,
};

_Static_assert(SLAB_SPAN % PAGE == 0 && SPAN_PAGES <= 16, "released has a bit a page");

enum span_state { SPAN_FREE, SPAN_SMALL, SPAN_LARGE };

struct slab_span {
    uint8_t state;
    uint8_t size_class; /* SPAN_SMALL */
    bool is_open;       /* linked in its class's list of spans with room */
    bool is_draining;   /* never linked again */
    bool is_dirty;      /* a block was freed since the last sweep */
    uint16_t live, slots;
    uint16_t word;     /* there is no free slot before this word */
    uint16_t released; /* a bit for each page that was returned and not used since */
    int32_t next, prev;
    uint64_t free[WORDS];
};

/* A run of free spans. */
struct slab_run {
    int32_t first, count;
};

/* ---- size classes: steps of 1/16 to 1/8 of the size ---- */

static unsigned class_of(size_t size)
{
    size_t s = size - 1;
    if (size <= 256)
        return (unsigned)(s >> 4); /* 16 classes, 16 apart */
    if (size <= 1024)
        return 16 + (unsigned)((s - 256) >> 5); /* 24, 32 apart */
    /* 16 classes a doubling from here on */
    unsigned class = 40, shift = 6;
    for (size_t top = 2048; size > top; top *= 2, shift++)
        class += 16;
    return class + (unsigned)((s - ((size_t)16 << shift)) >> shift);
}

static size_t class_size(unsigned class)
{
    if (class < 16)
        return ((size_t) class + 1) << 4;
    if (class < 40)
        return 256 + ((size_t)(class - 15) << 5);
    unsigned shift = 6 + (class - 40) / 16;
    return ((size_t)16 << shift) + ((size_t)((class - 40) % 16 + 1) << shift);
}

/* ---- the stretch ---- */

static void *reserve(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void pl_slab_init(struct slab *slab, size_t bytes)
{
    memset(slab, 0, sizeof(*slab));
    slab->sweep = SLAB_NONE;
    for (int i = 0; i < SLAB_CLASSES; i++)
        slab->classes[i].open = SLAB_NONE;
    for (; slab->base == NULL; bytes /= 2) {
        if (bytes < LEAST_RESERVE) {
            fprintf(stderr, "perilune: cannot reserve addresses for the pool\n");
            abort();
        }
        slab->base = reserve(bytes);
        slab->reserved = bytes;
    }
    size_t table = slab->reserved / SLAB_SPAN * sizeof(struct slab_span);
    slab->spans = reserve(table);
    if (slab->spans == NULL) {
        fprintf(stderr, "perilune: out of memory reserving %zu bytes\n", table);
        abort();
    }
    /* Huge pages would undo the release of single pages. */
    madvise(slab->base, slab->reserved, MADV_NOHUGEPAGE);
}

void pl_slab_deinit(struct slab *slab)
{
    ASAN_UNPOISON_MEMORY_REGION(slab->base, (size_t)slab->used * SLAB_SPAN);
    munmap(slab->base, slab->reserved);
    munmap(slab->spans, slab->reserved / SLAB_SPAN * sizeof(struct slab_span));
    pl_free(slab->runs);
    memset(slab, 0, sizeof(*slab));
}

/* ---- free spans ---- */

static void insert_run(struct slab *slab, size_t at, struct slab_run run)
{
    if (slab->run_count == slab->run_cap) {
        slab->run_cap = slab->run_cap ? slab->run_cap * 2 : 16;
        slab->runs = pl_reallocarray(slab->runs, slab->run_cap, sizeof(*slab->runs));
    }
    memmove(slab->runs + at + 1, slab->runs + at, (slab->run_count - at) * sizeof(run));
    slab->runs[at] = run;
    slab->run_count++;
}

static void remove_run(struct slab *slab, size_t at)
{
    slab->run_count--;
    memmove(slab->runs + at, slab->runs + at + 1, (slab->run_count - at) * sizeof(*slab->runs));
}

static void give_spans(struct slab *slab, int32_t first, int32_t count)
{
    size_t low = 0, high = slab->run_count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (slab->runs[mid].first < first)
            low = mid + 1;
        else
            high = mid;
    }
    struct slab_run *before = low > 0 ? &slab->runs[low - 1] : NULL;
    bool joins_next = low < slab->run_count && first + count == slab->runs[low].first;
    for (int32_t i = first; i < first + count; i++) {
        slab->spans[i].state = SPAN_FREE;
        slab->spans[i].is_dirty = true;
    }
    if (before != NULL && before->first + before->count == first) {
        before->count += count;
        if (joins_next) {
            before->count += slab->runs[low].count;
            remove_run(slab, low);
        }
    } else if (joins_next) {
        slab->runs[low].first = first;
        slab->runs[low].count += count;
    } else {
        insert_run(slab, low, (struct slab_run){first, count});
    }
}

/* Returns the first of `count` adjacent spans, or SLAB_NONE. */
static int32_t take_spans(struct slab *slab, int32_t count)
{
    for (size_t i = 0; i < slab->run_count; i++) {
        struct slab_run *run = &slab->runs[i];
        if (run->count < count)
            continue;
        int32_t first = run->first;
        run->first += count;
        run->count -= count;
        if (run->count == 0)
            remove_run(slab, i);
        return first;
    }
    if ((size_t)slab->used + (size_t)count > slab->reserved / SLAB_SPAN)
        return SLAB_NONE;
    int32_t first = slab->used;
    slab->used += count;
    for (int32_t i = first; i < slab->used; i++)
        slab->spans[i].released = UINT16_MAX;
    ASAN_POISON_MEMORY_REGION(slab->base + (size_t)first * SLAB_SPAN, (size_t)count * SLAB_SPAN);
    return first;
}

/* ---- a class's spans with room ---- */

static void open_span(struct slab *slab, int32_t i)
{
    struct slab_span *span = &slab->spans[i];
    struct slab_class *class = &slab->classes[span->size_class];
    span->is_open = true;
    span->prev = SLAB_NONE;
    span->next = class->open;
    if (class->open != SLAB_NONE)
        slab->spans[class->open].prev = i;
    class->open = i;
}

static void close_span(struct slab *slab, int32_t i)
{
    struct slab_span *span = &slab->spans[i];
    if (!span->is_open)
        return;
    span->is_open = false;
    if (span->prev != SLAB_NONE)
        slab->spans[span->prev].next = span->next;
    else
        slab->classes[span->size_class].open = span->next;
    if (span->next != SLAB_NONE)
        slab->spans[span->next].prev = span->prev;
}

static int32_t new_span(struct slab *slab, unsigned class)
{
    int32_t i = take_spans(slab, 1);
    if (i == SLAB_NONE)
        return SLAB_NONE;
    struct slab_span *span = &slab->spans[i];
    size_t slots = SLAB_SPAN / class_size(class);
    if (slots > (size_t)WORDS * 64)
        slots = (size_t)WORDS * 64;
    span->state = SPAN_SMALL;
    span->size_class = (uint8_t) class;
    span->is_draining = false;
    span->live = 0;
    span->slots = (uint16_t)slots;
    span->word = 0;
    for (size_t w = 0; w < WORDS; w++) {
        size_t left = slots > w * 64 ? slots - w * 64 : 0;
        span->free[w] = left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;
    }
    slab->classes[class].spans++;
    open_span(slab, i);
    return i;
}

/* ---- blocks ---- */

static void mark_pages_used(struct slab_span *span, size_t offset, size_t size)
{
    for (size_t page = offset / PAGE; page <= (offset + size - 1) / PAGE; page++)
        span->released &= (uint16_t) ~(1u << page);
}

static void *alloc_large(struct slab *slab, size_t size)
{
    int32_t count = (int32_t)((size + SLAB_SPAN - 1) / SLAB_SPAN);
    int32_t first = take_spans(slab, count);
    if (first == SLAB_NONE)
        return NULL;
    for (int32_t i = first; i < first + count; i++) {
        slab->spans[i].state = SPAN_LARGE;
        slab->spans[i].released = 0;
    }
    slab->live_bytes += (size_t)count * SLAB_SPAN;
    void *block = slab->base + (size_t)first * SLAB_SPAN;
    ASAN_UNPOISON_MEMORY_REGION(block, size);
    return block;
}

void *pl_slab_alloc(struct slab *slab, size_t size)
{
    if (size > SLAB_SMALL)
        return size < slab->reserved ? alloc_large(slab, size) : NULL;
    unsigned class = class_of(size);
    int32_t i = slab->classes[class].open;
    if (i == SLAB_NONE && (i = new_span(slab, class)) == SLAB_NONE)
        return NULL;
    struct slab_span *span = &slab->spans[i];
    while (span->free[span->word] == 0)
        span->word++;
    unsigned bit = (unsigned)__builtin_ctzll(span->free[span->word]);
    span->free[span->word] &= span->free[span->word] - 1;
    slab->classes[class].live++;
    if (++span->live == span->slots)
        close_span(slab, i);
    size_t block_size = class_size(class), offset = (span->word * 64 + bit) * block_size;
    slab->live_bytes += block_size;
    if (span->released != 0)
        mark_pages_used(span, offset, block_size);
    void *block = slab->base + (size_t)i * SLAB_SPAN + offset;
    ASAN_UNPOISON_MEMORY_REGION(block, size);
    return block;
}

static void free_large(struct slab *slab, int32_t i, size_t size)
{
    int32_t count = (int32_t)((size + SLAB_SPAN - 1) / SLAB_SPAN);
    slab->live_bytes -= (size_t)count * SLAB_SPAN;
    slab->freed_bytes += (size_t)count * SLAB_SPAN;
    give_spans(slab, i, count);
}

void pl_slab_free(struct slab *slab, void *block, size_t size)
{
    size_t at = (size_t)((uint8_t *)block - slab->base);
    int32_t i = (int32_t)(at / SLAB_SPAN);
    ASAN_POISON_MEMORY_REGION(block, size);
    if (size > SLAB_SMALL) {
        free_large(slab, i, size);
        return;
    }
    struct slab_span *span = &slab->spans[i];
    size_t block_size = class_size(span->size_class);
    size_t slot = at % SLAB_SPAN / block_size;
    uint64_t bit = UINT64_C(1) << slot % 64;
    PL_REQUIRE(span->state == SPAN_SMALL && (span->free[slot / 64] & bit) == 0);
    span->free[slot / 64] |= bit;
    span->is_dirty = true;
    if (slot / 64 < span->word)
        span->word = (uint16_t)(slot / 64);
    slab->classes[span->size_class].live--;
    slab->live_bytes -= block_size;
    slab->freed_bytes += block_size;
    if (--span->live == 0) {
        close_span(slab, i);
        slab->classes[span->size_class].spans--;
        give_spans(slab, i, 1);
    } else if (!span->is_open && !span->is_draining) {
        open_span(slab, i);
    }
}

void *pl_slab_take(struct slab *slab, size_t size)
{
    void *block = pl_slab_alloc(slab, size);
    return block != NULL ? block : pl_malloc(size);
}

void pl_slab_give(struct slab *slab, void *block, size_t size)
{
    if (slab_holds(slab, block))
        pl_slab_free(slab, block, size);
    else
        pl_free(block);
}

/* ---- giving memory back ---- */

static bool page_is_free(const struct slab_span *span, size_t page)
{
    if (span->state == SPAN_FREE)
        return true;
    size_t size = class_size(span->size_class);
    size_t first = page * PAGE / size, last = ((page + 1) * PAGE - 1) / size;
    for (size_t slot = first; slot <= last && slot < span->slots; slot++) {
        if ((span->free[slot / 64] >> slot % 64 & 1) == 0)
            return false;
    }
    return true;
}

static void release_span(struct slab *slab, int32_t i)
{
    struct slab_span *span = &slab->spans[i];
    if (!span->is_dirty || span->state == SPAN_LARGE)
        return;
    span->is_dirty = false;
    uint8_t *start = slab->base + (size_t)i * SLAB_SPAN;
    for (size_t page = 0; page < SPAN_PAGES; page++) {
        size_t end = page;
        while (end < SPAN_PAGES && (span->released >> end & 1) == 0 && page_is_free(span, end))
            span->released |= (uint16_t)(1u << end++);
        if (end > page)
            madvise(start + page * PAGE, (end - page) * PAGE, MADV_DONTNEED);
        page = end;
    }
}

void pl_slab_sweep(struct slab *slab)
{
    slab->freed_bytes = 0;
    slab->sweep = 0;
}

void pl_slab_rest(struct slab *slab)
{
    if (slab->sweep == SLAB_NONE && slab->freed_bytes >= SWEEP_MIN)
        pl_slab_sweep(slab);
}

void pl_slab_release(struct slab *slab)
{
    if (slab->sweep == SLAB_NONE) {
        if (slab->freed_bytes < SWEEP_MIN || slab->freed_bytes < slab->live_bytes / 8)
            return;
        pl_slab_sweep(slab);
    }
    int32_t end = slab->sweep + SWEEP_SPANS;
    if (end > slab->used)
        end = slab->used;
    for (; slab->sweep < end; slab->sweep++)
        release_span(slab, slab->sweep);
    if (slab->sweep == slab->used)
        slab->sweep = SLAB_NONE;
}

bool pl_slab_drain(struct slab *slab, const void *block, size_t size)
{
    if (size > SLAB_SMALL)
        return false;
    int32_t i = (int32_t)((size_t)((const uint8_t *)block - slab->base) / SLAB_SPAN);
    struct slab_span *span = &slab->spans[i];
    const struct slab_class *class = &slab->classes[span->size_class];
    bool is_sparse =
        span->live * 2 < span->slots && class->spans * 4 > 5 * (class->live / span->slots) + 4;
    if (!is_sparse && !span->is_draining)
        return false;
    span->is_draining = true;
    close_span(slab, i);
    return true;
}
