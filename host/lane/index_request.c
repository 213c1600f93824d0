#include "lane/index_request.h"

#include "base/alloc.h"
#include "control/edition.h"
#include "sync/label_index.h"

#define MOST_REQUESTS 64 /* limit for one cache */

struct index_request {
    struct pl_lane_note note;
    struct pl_cache *cache;
    struct pl_slice key, value;
    char bytes[]; /* what the slices point to */
};

static void index_request_drop(struct pl_lane_note *note)
{
    pl_free(PL_CONTAINER_OF(note, struct index_request, note));
}

static void index_request_take(struct pl_lane_note *note)
{
    const struct index_request *request = PL_CONTAINER_OF(note, struct index_request, note);
    /* Not the cache's informer, which may be gone when no run of the lane is under way. */
    struct pl_informer *informer =
        pl_edition_informer(request->cache->edition, request->cache->source);
    if (informer != NULL)
        pl_informer_want_label(informer, request->key, request->value);
    index_request_drop(note);
}

static void index_request_send(struct pl_lane *lane, struct pl_cache *cache, struct pl_slice key,
                               struct pl_slice value)
{
    struct index_request *request = pl_calloc(1, sizeof *request + key.len + value.len + 1);
    request->note.take = index_request_take;
    request->note.drop = index_request_drop;
    request->cache = cache;
    memcpy(request->bytes, key.ptr, key.len);
    memcpy(request->bytes + key.len, value.ptr, value.len);
    request->key = pl_slice(request->bytes, key.len);
    request->value = pl_slice(request->bytes + key.len, value.len);
    pl_lane_send_io(lane, &request->note.msg, PL_IO_NOTE);
}

/* A script that invents new labels all the time gains nothing from indices: the number of requests
 * is limited. */
static bool is_first(struct pl_lanes *lanes, struct pl_cache *cache, struct pl_slice key)
{
    pthread_mutex_lock(&lanes->hint_lock);
    bool first =
        cache->requested.count < MOST_REQUESTS && pl_map_put(&cache->requested, key, cache) == NULL;
    pthread_mutex_unlock(&lanes->hint_lock);
    return first;
}

void pl_index_request_consider(struct pl_lane *lane, struct pl_cache *cache,
                               const struct pl_selector *labels, size_t seen, size_t found)
{
    if (seen < PL_LABEL_INDEX_SEEN || found * PL_LABEL_INDEX_SHARE > seen)
        return;
    size_t at = 0;
    struct pl_slice key, value;
    while (pl_selector_single(labels, &at, &key, &value))
        if (is_first(lane->lanes, cache, key))
            index_request_send(lane, cache, key, value);
}
