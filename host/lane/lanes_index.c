/* The declared indexes, at the caches of their kinds. Generations share equal indexes: a path by
 * its text, a function by all files of its script. */
#include "lane/lane.h"

#include "base/alloc.h"
#include "base/check.h"
#include "lua/origin.h"

static char *stored_name(struct pl_lanes *lanes, const struct pl_index_spec *index)
{
    char kind[PL_KIND_TEXT], digest[2 * PL_SHA256_BYTES + 1];
    if (index->path != NULL)
        return pl_format("%s=%s", index->name, index->path);
    char *unit = pl_format(PL_UNIT_INDEX "%s %s", pl_kind_text(&index->kind, kind), index->name);
    pl_origin_unit_digest(lanes->origin, unit, digest);
    pl_free(unit);
    return pl_format("%s#%s", index->name, digest);
}

static struct pl_declared_index declared(struct pl_lanes *lanes, const struct pl_index_spec *index)
{
    return (struct pl_declared_index){.name = index->name,
                                      .stored = index->stored,
                                      .path = index->path,
                                      .ask = pl_lanes_ask,
                                      .self = lanes->indexer};
}

struct adding {
    struct pl_lanes *lanes;
    struct pl_index_spec *index;
    struct pl_err *err;
    int failed;
    size_t count;
};

static void add_index(void *arg, struct pl_informer *informer)
{
    struct adding *adding = arg;
    struct pl_declared_index index = declared(adding->lanes, adding->index);
    adding->count++;
    if (adding->failed == 0)
        adding->failed = pl_informer_add_index(informer, &index, adding->err);
}

int pl_lanes_add_indexes(struct pl_lanes *lanes, struct pl_err *err)
{
    if (lanes->indexer == NULL)
        lanes->indexer = pl_lanes_new_external(lanes, -1, -1);
    for (size_t i = 0; i < lanes->index_count; i++) {
        struct pl_index_spec *index = &lanes->indexes[i];
        struct adding adding = {.lanes = lanes, .index = index, .err = err};
        index->stored = stored_name(lanes, index);
        pl_informers_each(pl_cluster_informers(lanes->cluster), &index->kind, add_index, &adding);
        char kind[PL_KIND_TEXT];
        if (adding.count == 0)
            adding.failed = pl_err_set(err, PL_EINVAL, "index %s: no controller declares %s",
                                       index->name, pl_kind_text(&index->kind, kind));
        if (adding.failed) {
            pl_err_prefix(err, "%s", index->declared_at ? index->declared_at : "?");
            return adding.failed;
        }
    }
    return 0;
}

static void drop_index(void *arg, struct pl_informer *informer)
{
    struct adding *adding = arg;
    struct pl_declared_index index = declared(adding->lanes, adding->index);
    pl_informer_drop_index(informer, &index);
}

void pl_lanes_drop_indexes(struct pl_lanes *lanes)
{
    for (size_t i = 0; i < lanes->index_count; i++) {
        struct adding adding = {.lanes = lanes, .index = &lanes->indexes[i]};
        if (adding.index->stored != NULL)
            pl_informers_each(pl_cluster_informers(lanes->cluster), &adding.index->kind, drop_index,
                              &adding);
    }
}

/* ---- caches that index functions read ---- */

void pl_cache_hold(struct pl_cache *cache)
{
    bool ready = atomic_load_explicit(&cache->ready, memory_order_relaxed);
    if (cache->lanes->index_asks == 0 || cache->held != NULL || !ready)
        return;
    if (pl_edition_informer(cache->edition, cache->source) == cache->informer)
        cache->held = pl_informer_ref(cache->informer);
    else /* its controller has ended, and no one reads it */
        atomic_store_explicit(&cache->ready, false, memory_order_release);
}

static void each_cache(struct pl_lanes *lanes, void (*visit)(struct pl_cache *cache))
{
    for (size_t i = 0; i < lanes->controller_count; i++)
        for (size_t j = 0; j < lanes->controllers[i].cache_count; j++)
            visit(&lanes->controllers[i].caches[j]);
}

void pl_lanes_hold_caches(struct pl_lanes *lanes)
{
    if (lanes->index_asks++ == 0)
        each_cache(lanes, pl_cache_hold);
}

static void lanes_index_let_go(struct pl_cache *cache)
{
    struct pl_informer *held = cache->held;
    cache->held = NULL;
    pl_informer_unref(held);
}

void pl_lanes_let_go_caches(struct pl_lanes *lanes)
{
    PL_REQUIRE(lanes->index_asks > 0);
    if (--lanes->index_asks == 0)
        each_cache(lanes, lanes_index_let_go);
}

const struct pl_index_spec *pl_lanes_index(const struct pl_lanes *lanes, const struct pl_kind *kind,
                                           struct pl_slice name)
{
    for (size_t i = 0; i < lanes->index_count; i++) {
        const struct pl_index_spec *index = &lanes->indexes[i];
        if (pl_slice_eqz(name, index->name) && pl_kind_eq(kind, &index->kind))
            return index;
    }
    return NULL;
}
