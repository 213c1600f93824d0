/* Counts keys by shard. A count walks through the For objects of all controllers in pieces, so that
 * it delays nothing however many there are. It is discarded when shards come or go; only held
 * shards are shown. No decision may depend on it: it is for people. */
#include "control/shard_key_count.h"

#include "base/alloc.h"
#include "base/log.h"
#include "control/key_shards.h"
#include "object/meta.h"
#include "sync/informer.h"

#include <stdio.h>

#define AGAIN       (15 * PL_SECOND) /* time from one count to the next */
#define SOON        (1 * PL_SECOND)  /* time after shards have come or gone */
#define PIECE       500
#define FEW_KEYS    10 /* no advice is given if the largest shard has fewer keys */
#define TOO_MANY(n) (2 * (n))

struct pl_shard_key_count {
    struct pl_manager *manager;
    struct pl_site *site;
    struct pl_shards *shards;
    struct pl_shards_follower follower;
    struct pl_timer timer;
    size_t controller, source; /* position of the count */
    struct pl_store_walk walk;
    int64_t counting[PL_SHARDS_MAX];
    int64_t counted[PL_SHARDS_MAX]; /* of shards that were held then; -1: others */
    bool advised;
    struct pl_metric *metric;                /* NULL: no metrics */
    struct pl_series *series[PL_SHARDS_MAX]; /* of shards that are ours; NULL: other shards */
};

static void on_tally_timer(struct pl_timer *timer);

static void count_after(struct pl_shard_key_count *t, int64_t delay_ns)
{
    t->controller = t->source = 0;
    t->walk = (struct pl_store_walk){0};
    memset(t->counting, 0, sizeof t->counting);
    pl_timer_start(pl_site_timers(t->site), &t->timer, delay_ns, on_tally_timer);
}

int64_t pl_shard_key_count_keys(const struct pl_shard_key_count *t, unsigned shard)
{
    return t != NULL ? t->counted[shard] : -1;
}

void pl_shard_key_count_advise(const struct pl_shard_key_count *t, struct pl_buf *out)
{
    int64_t all = 0, most = 0;
    unsigned ours = 0, which = 0;
    for (unsigned i = 0; t != NULL && i < pl_shards_count(t->shards); i++) {
        int64_t keys = pl_shard_key_count_keys(t, i);
        if (keys < 0 || pl_shards_state(t->shards, i) == PL_SHARD_COMING)
            continue; /* the objects of a shard that is coming are not all listed yet */
        ours++;
        all += keys;
        if (keys > most) {
            most = keys;
            which = i;
        }
    }
    if (ours < 2 || most < FEW_KEYS || most * ours <= TOO_MANY(all))
        return;
    pl_buf_add_f(out, "shard %u has %lld keys, more than twice the mean of %lld%s", which,
                 (long long)most, (long long)(all / ours),
                 pl_shards_by(t->shards) == PL_SHARD_BY_NAMESPACE ? ": --shard-by uid spreads them"
                                                                  : "");
}

/* ---- counting ---- */

static void count_show(struct pl_shard_key_count *t)
{
    for (unsigned i = 0; t->metric != NULL && i < pl_shards_count(t->shards); i++) {
        char text[12];
        const char *const values[] = {text};
        snprintf(text, sizeof text, "%u", i);
        int64_t keys = pl_shard_key_count_keys(t, i);
        if (keys >= 0 && t->series[i] == NULL)
            t->series[i] = pl_metric_hold(t->metric, values);
        if (keys >= 0) {
            pl_series_set(t->series[i], (double)keys);
        } else if (t->series[i] != NULL) {
            pl_series_release(t->series[i]);
            t->series[i] = NULL;
        }
    }
}

static void count_finish(struct pl_shard_key_count *t)
{
    struct pl_buf advice = PL_BUF_INIT;
    for (unsigned i = 0; i < pl_shards_count(t->shards); i++)
        t->counted[i] = pl_shards_state(t->shards, i) != PL_SHARD_ELSEWHERE ? t->counting[i] : -1;
    count_show(t);
    pl_shard_key_count_advise(t, &advice);
    if (advice.len > 0 && !t->advised)
        pl_log(PL_LOG_WARN, pl_buf_z(&advice));
    t->advised = t->advised || advice.len > 0;
    pl_buf_deinit(&advice);
    count_after(t, AGAIN);
}

static void count_docs(struct pl_shard_key_count *t, struct pl_controller *c,
                       const struct pl_docs *docs)
{
    struct pl_buf key = PL_BUF_INIT;
    for (size_t i = 0; i < docs->count; i++) {
        pl_buf_clear(&key);
        if (pl_meta_key(pl_doc_root(docs->items[i]), &key, NULL) != 0)
            continue;
        unsigned shard = pl_controller_shard_of(c, pl_buf_slice(&key));
        if (shard != PL_NO_SHARD)
            t->counting[shard]++;
    }
    pl_buf_deinit(&key);
}

/* False when this controller has no more objects. */
static bool count_piece(struct pl_shard_key_count *t, struct pl_controller *c)
{
    const struct pl_controller_spec *spec = pl_controller_spec(c);
    while (t->source < spec->source_count &&
           (!spec->leader_election || spec->sources[t->source].role != PL_SOURCE_FOR))
        t->source++;
    struct pl_informer *informer =
        t->source < spec->source_count ? pl_controller_informer(c, t->source) : NULL;
    if (informer == NULL)
        return false;
    struct pl_docs docs = {0};
    bool more = pl_store_walk(pl_informer_store(informer), &t->walk, PIECE, &docs);
    count_docs(t, c, &docs);
    pl_docs_deinit(&docs);
    return more;
}

static void on_tally_timer(struct pl_timer *timer)
{
    struct pl_shard_key_count *t = PL_CONTAINER_OF(timer, struct pl_shard_key_count, timer);
    if (t->controller >= pl_manager_count(t->manager)) {
        count_finish(t);
        return;
    }
    if (!count_piece(t, pl_manager_at(t->manager, t->controller))) {
        t->controller++;
        t->source = 0;
        t->walk = (struct pl_store_walk){0};
    }
    pl_timer_start(pl_site_timers(t->site), timer, 0, on_tally_timer);
}

/* ---- lifetime ---- */

static void on_tally_change(void *arg, const struct pl_shard_set *which, enum pl_shard_state state)
{
    struct pl_shard_key_count *t = arg;
    for (unsigned i = 0; state == PL_SHARD_ELSEWHERE && i < pl_shards_count(t->shards); i++)
        if (pl_shard_set_has(which, i))
            t->counted[i] = -1;
    if (state == PL_SHARD_OURS || state == PL_SHARD_ELSEWHERE) {
        count_show(t);
        count_after(t, SOON);
    }
}

static const struct pl_shards_follower_ops follower_ops = {on_tally_change, NULL};

struct pl_shard_key_count *pl_shard_key_count_create(struct pl_manager *manager)
{
    struct pl_site *site = pl_cluster_site(pl_manager_cluster(manager));
    struct pl_metrics *metrics = pl_site_metrics(site);
    if (pl_site_shards(site) == NULL)
        return NULL;
    struct pl_shard_key_count *t = PL_NEW(struct pl_shard_key_count);
    t->manager = manager;
    t->site = site;
    t->shards = pl_site_shards(site);
    for (unsigned i = 0; i < PL_SHARDS_MAX; i++)
        t->counted[i] = -1;
    if (metrics != NULL) {
        struct pl_metric_spec spec = {.name = "perilune_shard_keys",
                                      .help =
                                          "For keys of each shard that this replica holds, counted "
                                          "each 15 s and when shards have moved.",
                                      .type = PL_METRIC_GAUGE,
                                      .labels = {"shard"}};
        t->metric = pl_metrics_add(metrics, &spec);
    }
    pl_shards_follow(t->shards, &t->follower, &follower_ops, t);
    count_after(t, SOON);
    return t;
}

void pl_shard_key_count_destroy(struct pl_shard_key_count *t)
{
    if (t == NULL)
        return;
    pl_timer_stop(pl_site_timers(t->site), &t->timer);
    pl_shards_unfollow(t->shards, &t->follower);
    for (unsigned i = 0; i < PL_SHARDS_MAX; i++)
        pl_series_release(t->series[i]);
    pl_free(t);
}
