/* Questions whose functions would have had to wait: they get no answer, and are asked again when
 * the missing data is there, or when it is not expected any more. Index functions may be asked
 * before other kinds have synced; after a reload, predicates and maps may be asked while an index
 * is being built. I/O thread. */
#include "lane/lane.h"

#include "base/clock.h"

#define POLL_NS      (10 * PL_MS)
#define SYNC_TIMEOUT (120 * PL_SECOND)

static int64_t ask_again_now_of(struct pl_lanes *lanes)
{
    return pl_clock_mono(pl_loop_timers(lanes->loop)->clock);
}

/* Index functions of the kind may be what the cache waits for, possibly the asking ones. */
static bool is_indexed(const struct pl_lanes *lanes, const struct pl_kind *kind)
{
    for (size_t i = 0; i < lanes->index_count; i++)
        if (lanes->indexes[i].path == NULL && pl_kind_eq(&lanes->indexes[i].kind, kind))
            return true;
    return false;
}

/* Whether the cache is about to sync, as far as can be seen. */
static bool is_syncing(struct pl_cache *cache, const struct pl_informer *informer)
{
    struct pl_lanes *lanes = cache->lanes;
    int64_t limit = pl_edition_spec(cache->edition)->cache_sync_timeout_ns;
    if (cache->awaited_ns == 0)
        cache->awaited_ns = ask_again_now_of(lanes);
    return pl_informer_trouble(informer) == NULL && !is_indexed(lanes, &cache->spec->kind) &&
           ask_again_now_of(lanes) - cache->awaited_ns < (limit > 0 ? limit : SYNC_TIMEOUT);
}

/* Whether the missing data is expected. */
static bool is_expected(struct pl_ask *ask)
{
    struct pl_cache *cache = ask->lacks;
    const struct pl_informer *informer = pl_edition_informer(cache->edition, cache->source);
    if (informer == NULL)
        return false; /* its controller has ended */
    if (ask->again_ns == 0)
        ask->again_ns = ask_again_now_of(cache->lanes);
    if (ask->lacks_index != NULL)
        return ask_again_now_of(cache->lanes) - ask->again_ns < SYNC_TIMEOUT;
    return is_syncing(cache, informer);
}

static bool is_there(const struct pl_ask *ask)
{
    struct pl_cache *cache = ask->lacks;
    struct pl_docs docs = {.items = NULL};
    pl_cache_publish(cache);
    if (!atomic_load_explicit(&cache->ready, memory_order_relaxed))
        return false;
    if (ask->lacks_index == NULL)
        return true;
    int failed = pl_store_by_index(cache->store, ask->lacks_index, pl_slice("", 0), 0, &docs);
    pl_docs_deinit(&docs);
    return failed != PL_EAGAIN;
}

static void on_ask_again_poll(struct pl_timer *timer)
{
    struct pl_lanes *lanes = PL_CONTAINER_OF(timer, struct pl_lanes, again.poll);
    struct pl_list waiting;
    struct pl_link *link;
    pl_list_init(&waiting);
    pl_list_splice(&waiting, &lanes->again.asks);
    while ((link = pl_list_pop(&waiting)) != NULL)
        pl_ask_again_io(lanes, PL_CONTAINER_OF(link, struct pl_ask, link));
}

void pl_ask_again_io(struct pl_lanes *lanes, struct pl_ask *ask)
{
    bool there = is_there(ask);
    if (!there && is_expected(ask)) {
        pl_list_push(&lanes->again.asks, &ask->link);
        if (!pl_timer_is_active(&lanes->again.poll))
            pl_timer_start(pl_loop_timers(lanes->loop), &lanes->again.poll, POLL_NS,
                           on_ask_again_poll);
        return;
    }
    ask->is_last = !there;
    pl_lanes_send_ask(lanes, ask);
}

void pl_lanes_drop_again(struct pl_lanes *lanes)
{
    struct pl_link *link;
    if (lanes->loop != NULL)
        pl_timer_stop(pl_loop_timers(lanes->loop), &lanes->again.poll);
    while ((link = pl_list_pop(&lanes->again.asks)) != NULL)
        pl_ask_drop(PL_CONTAINER_OF(link, struct pl_ask, link));
}
