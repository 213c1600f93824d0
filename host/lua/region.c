/* A copy of a process shares its pages with the original until it writes. The state's allocator
 * would hand out small free pieces that lie in many pages, and each first write to one makes the
 * kernel copy that page. So the state takes memory from the beginning of one region, which is made
 * ready many pages at a time. Freed memory is not used again, unless it was taken last.
 *
 * When the region is full, the earlier allocator goes on. It never gets back what it did not give.
 */
#include "lua/region.h"

#include <lua.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#define REGION ((size_t)64 << 20)  /* bytes */
#define READY  ((size_t)128 << 10) /* so many are made ready at a time */
#define ALIGN  ((size_t)16)

struct region {
    char *begin, *end;
    char *at;    /* the free rest begins here */
    char *ready; /* pages before this are there */
    lua_Alloc earlier;
    void *earlier_data;
};

static size_t rounded(size_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

static bool is_last(const struct region *region, const char *ptr, size_t size)
{
    return ptr >= region->begin && ptr < region->at && ptr + rounded(size) == region->at;
}

/* An older kernel refuses, then each page is made ready by its first use. */
static void region_make_ready(struct region *region)
{
    while (region->ready < region->at) {
#ifdef MADV_POPULATE_WRITE
        (void)madvise(region->ready, READY, MADV_POPULATE_WRITE);
#endif
        region->ready += READY;
    }
}

/* NULL: the region is full. */
static void *region_take(struct region *region, size_t size)
{
    if (size > (size_t)(region->end - region->at))
        return NULL;
    void *taken = region->at;
    region->at += rounded(size);
    region_make_ready(region);
    return taken;
}

/* A lua_Alloc. */
static void *region_alloc(void *data, void *ptr, size_t old_size, size_t new_size)
{
    struct region *region = data;
    bool last = is_last(region, ptr, old_size);
    if (last && new_size <= (size_t)(region->end - (char *)ptr)) {
        region->at = ptr;
        return new_size > 0 ? region_take(region, new_size) : NULL;
    }
    if (ptr != NULL && new_size <= old_size)
        return new_size > 0 ? ptr : NULL;
    void *taken = region_take(region, new_size);
    if (taken == NULL)
        taken = region->earlier(region->earlier_data, NULL, 0, new_size);
    if (taken != NULL && ptr != NULL)
        memcpy(taken, ptr, old_size);
    return taken;
}

void pl_region_own(lua_State *L)
{
    char *begin = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED)
        return;
    struct region start = {.begin = begin, .end = begin + REGION, .at = begin, .ready = begin};
    struct region *region =
        region_take(&start, sizeof start); /* it begins with what describes it */
    *region = start;
    region->earlier = lua_getallocf(L, &region->earlier_data);
    lua_setallocf(L, region_alloc, region);
}
