/* Finds the informer that a source can share, or creates it. It holds no references: an informer is
 * removed here when its last reference is dropped, before it stops. */
#include "sync/informers.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sync/site.h"

struct pl_informers {
    struct pl_site *site;       /* borrowed */
    char *const *namespaces;    /* borrowed; NULL: all */
    struct pl_informer **items; /* owned array; each borrowed until `forget` */
    size_t count;
    struct pl_shards_follower follower; /* of the site's shards */
};

/* Two informers of a kind share its gauges. */
static void informers_collect(void *arg)
{
    struct pl_informers *informers = arg;
    for (size_t i = 0; i < informers->count; i++)
        pl_informer_clear_gauges(informers->items[i]);
    for (size_t i = 0; i < informers->count; i++)
        pl_informer_add_gauges(informers->items[i]);
}

/* ---- shards ---- */

static void on_shards(void *arg, const struct pl_shard_set *which, enum pl_shard_state state)
{
    struct pl_informers *informers = arg;
    PL_UNUSED(which);
    if (state == PL_SHARD_COMING || state == PL_SHARD_ELSEWHERE)
        for (size_t i = 0; i < informers->count; i++)
            pl_informer_shards_changed(informers->items[i]);
}

static bool informers_is_settled(void *arg, unsigned shard)
{
    const struct pl_informers *informers = arg;
    for (size_t i = 0; i < informers->count; i++)
        if (!pl_informer_has_shard(informers->items[i], shard))
            return false;
    return true;
}

static const struct pl_shards_follower_ops follower_ops = {on_shards, informers_is_settled};

/* For the For kind, by namespace, both parts are the same. */
static bool is_same_part(const struct pl_informer *informer, enum pl_source_part wanted)
{
    enum pl_source_part part = pl_informer_options(informer)->part;
    bool either = part == PL_PART_FOR || part == PL_PART_NAMESPACE;
    return part == wanted || (either && (wanted == PL_PART_FOR || wanted == PL_PART_NAMESPACE) &&
                              pl_informer_share(informer) == PL_SHARE_BY_NAMESPACE);
}

struct pl_informers *pl_informers_create(struct pl_site *site, char *const *namespaces)
{
    struct pl_informers *informers = PL_NEW(struct pl_informers);
    informers->site = site;
    informers->namespaces = namespaces;
    if (pl_site_shards(site) != NULL)
        pl_shards_follow(pl_site_shards(site), &informers->follower, &follower_ops, informers);
    if (pl_site_metrics(site) != NULL)
        pl_metrics_collect(pl_site_metrics(site), informers_collect, informers);
    return informers;
}

void pl_informers_destroy(struct pl_informers *informers)
{
    if (informers == NULL)
        return;
    PL_REQUIRE(informers->count == 0);
    if (pl_site_shards(informers->site) != NULL)
        pl_shards_unfollow(pl_site_shards(informers->site), &informers->follower);
    if (pl_site_metrics(informers->site) != NULL)
        pl_metrics_uncollect(pl_site_metrics(informers->site), informers_collect, informers);
    pl_free(informers->items);
    pl_free(informers);
}

void pl_informers_stop(struct pl_informers *informers)
{
    for (size_t i = informers->count; i-- > 0;)
        pl_informer_stop(informers->items[i]);
}

static void informers_forget(void *arg, const struct pl_informer *informer)
{
    struct pl_informers *informers = arg;
    size_t kept = 0;
    for (size_t i = 0; i < informers->count; i++)
        if (informers->items[i] != informer)
            informers->items[kept++] = informers->items[i];
    informers->count = kept;
}

static struct pl_informer *find_informer(const struct pl_informers *informers,
                                         const struct pl_kind *kind,
                                         const struct pl_source_options *wanted)
{
    for (size_t i = 0; i < informers->count; i++) {
        struct pl_informer *informer = informers->items[i];
        struct pl_source_options same = *wanted; /* borrows all */
        if (is_same_part(informer, wanted->part))
            same.part = pl_informer_options(informer)->part;
        if (pl_kind_eq(pl_informer_kind(informer), kind) &&
            pl_source_options_eq(pl_informer_options(informer), &same))
            return informer;
    }
    return NULL;
}

static struct pl_informer *make_informer(struct pl_informers *informers, const struct pl_kind *kind,
                                         const struct pl_source_options *wanted)
{
    struct pl_informer_options options = {.site = informers->site,
                                          .kind = kind,
                                          .source = wanted,
                                          .host_namespaces = informers->namespaces,
                                          .unused = informers_forget,
                                          .arg = informers};
    struct pl_informer *made = pl_informer_create(&options);
    informers->items =
        pl_reallocarray(informers->items, informers->count + 1, sizeof(struct pl_informer *));
    informers->items[informers->count++] = made;
    pl_informer_start(made);
    return made;
}

struct pl_informer *pl_informers_take(struct pl_informers *informers, const struct pl_kind *kind,
                                      const struct pl_source_options *options)
{
    pl_timers_require(pl_site_timers(informers->site));
    struct pl_source_options wanted;
    pl_source_options_copy(&wanted, options);
    struct pl_informer *informer = find_informer(informers, kind, &wanted);
    informer =
        informer != NULL ? pl_informer_ref(informer) : make_informer(informers, kind, &wanted);
    pl_source_options_deinit(&wanted);
    return informer;
}

void pl_informers_each(struct pl_informers *informers, const struct pl_kind *kind,
                       void (*visit)(void *arg, struct pl_informer *informer), void *arg)
{
    for (size_t i = informers->count; i-- > 0;)
        if (pl_kind_eq(pl_informer_kind(informers->items[i]), kind))
            visit(arg, informers->items[i]);
}

size_t pl_informers_count(const struct pl_informers *informers)
{
    return informers->count;
}

struct pl_informer *pl_informers_at(const struct pl_informers *informers, size_t i)
{
    return informers->items[i];
}
