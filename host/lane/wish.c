#include "lane/wish.h"

#include "base/alloc.h"
#include "control/edition.h"
#include "sync/label_index.h"

#define MOST_WISHES 64 /* limit for one cache */

struct wish {
    struct pl_lane_note note;
    struct pl_cache *cache;
    struct pl_slice key, value;
    char bytes[]; /* what the slices point to */
};

static void wish_drop(struct pl_lane_note *note)
{
    pl_free(PL_CONTAINER_OF(note, struct wish, note));
}

static void wish_take(struct pl_lane_note *note)
{
    const struct wish *wish = PL_CONTAINER_OF(note, struct wish, note);
    /* Not the cache's informer, which may be gone when no run of the lane is under way. */
    struct pl_informer *informer = pl_edition_informer(wish->cache->edition, wish->cache->source);
    if (informer != NULL)
        pl_informer_want_label(informer, wish->key, wish->value);
    wish_drop(note);
}

static void wish_send(struct pl_lane *lane, struct pl_cache *cache, struct pl_slice key,
                      struct pl_slice value)
{
    struct wish *wish = pl_calloc(1, sizeof *wish + key.len + value.len + 1);
    wish->note.take = wish_take;
    wish->note.drop = wish_drop;
    wish->cache = cache;
    memcpy(wish->bytes, key.ptr, key.len);
    memcpy(wish->bytes + key.len, value.ptr, value.len);
    wish->key = pl_slice(wish->bytes, key.len);
    wish->value = pl_slice(wish->bytes + key.len, value.len);
    pl_lane_send_io(lane, &wish->note.msg, PL_IO_NOTE);
}

/* A script that invents new labels all the time gains nothing from indices: the number of requests
 * is limited. */
static bool is_first(struct pl_lanes *lanes, struct pl_cache *cache, struct pl_slice key)
{
    pthread_mutex_lock(&lanes->hint_lock);
    bool first =
        cache->wished.count < MOST_WISHES && pl_map_put(&cache->wished, key, cache) == NULL;
    pthread_mutex_unlock(&lanes->hint_lock);
    return first;
}

void pl_wish_consider(struct pl_lane *lane, struct pl_cache *cache,
                      const struct pl_selector *labels, size_t seen, size_t found)
{
    if (seen < PL_LABEL_INDEX_SEEN || found * PL_LABEL_INDEX_SHARE > seen)
        return;
    size_t at = 0;
    struct pl_slice key, value;
    while (pl_selector_single(labels, &at, &key, &value))
        if (is_first(lane->lanes, cache, key))
            wish_send(lane, cache, key, value);
}
