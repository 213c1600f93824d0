/* A circular array of texts under a lock: log lines come on any thread. */
#include "page/ring.h"

#include "base/alloc.h"
#include "base/text.h"

#include <inttypes.h>
#include <pthread.h>

struct pl_ring {
    pthread_mutex_t lock;
    size_t cap, limit, bytes;
    uint64_t first, next;   /* numbers of the oldest item and of the one to come */
    struct pl_slice *items; /* owned array of owned texts: item n is at n % cap */
};

struct pl_ring *pl_ring_create(size_t items, size_t bytes)
{
    struct pl_ring *ring = PL_NEW(struct pl_ring);
    pthread_mutex_init(&ring->lock, NULL);
    ring->cap = items;
    ring->limit = bytes;
    ring->first = ring->next = 1;
    ring->items = pl_calloc(items, sizeof *ring->items);
    return ring;
}

static void forget_oldest(struct pl_ring *ring)
{
    struct pl_slice *item = &ring->items[ring->first++ % ring->cap];
    ring->bytes -= item->len;
    pl_free((char *)item->ptr);
    *item = pl_slice_z(NULL);
}

static void forget_all(struct pl_ring *ring)
{
    while (ring->first < ring->next)
        forget_oldest(ring);
}

void pl_ring_destroy(struct pl_ring *ring)
{
    if (ring == NULL)
        return;
    forget_all(ring);
    pthread_mutex_destroy(&ring->lock);
    pl_free(ring->items);
    pl_free(ring);
}

void pl_ring_clear(struct pl_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    forget_all(ring);
    pthread_mutex_unlock(&ring->lock);
}

void pl_ring_add(struct pl_ring *ring, struct pl_slice json)
{
    pthread_mutex_lock(&ring->lock);
    while (ring->first < ring->next &&
           (ring->next - ring->first == ring->cap || ring->bytes + json.len > ring->limit))
        forget_oldest(ring);
    ring->items[ring->next++ % ring->cap] = pl_slice(pl_text_copy(json), json.len);
    ring->bytes += json.len;
    pthread_mutex_unlock(&ring->lock);
}

void pl_ring_write(struct pl_ring *ring, uint64_t from, struct pl_buf *out)
{
    pthread_mutex_lock(&ring->lock);
    if (from == 0 || from > ring->next) /* a number of another process: write everything */
        from = 1;
    uint64_t begin = from > ring->first ? from : ring->first;
    pl_buf_add_f(out, "{\"next\":%" PRIu64 ",\"forgotten\":%" PRIu64 ",\"items\":[", ring->next,
                 begin - from);
    for (uint64_t n = begin; n < ring->next; n++) {
        pl_buf_add_z(out, n > begin ? "," : "");
        pl_buf_add_slice(out, ring->items[n % ring->cap]);
    }
    pl_buf_add_z(out, "]}");
    pthread_mutex_unlock(&ring->lock);
}
