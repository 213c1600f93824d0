/* Keys and shards. A key lies in the shard of its For object: by its namespace, or by the uid of
 * the cached object. A controller without a For kind and without keys (tasks, controllers that only
 * watch) runs on the replica with shard 0. On the others its queue collects what happens, so that
 * an object that goes while nobody has shard 0 is not missed. Controllers that act on every replica
 * are not sharded.
 *
 * A run of a key begins only if the key's shard is ours. When a shard becomes ours, the key of each
 * of its For objects is queued once. When it goes, its runs end, and the state of its keys is
 * dropped. */
#include "control/controller_impl.h"
#include "control/key_shards.h"

#include "base/log.h"
#include "object/meta.h"

enum sharing {
    SHARING_NONE, /* every key is ours */
    SHARING_ZERO, /* runs on the replica with shard 0 */
    SHARING_BY_NAMESPACE,
    SHARING_BY_UID,
};

static struct pl_shards *shards_of(const struct pl_controller *c)
{
    return pl_site_shards(c->site);
}

static size_t for_index(const struct pl_controller_spec *spec)
{
    size_t i = 0;
    while (i < spec->source_count && spec->sources[i].role != PL_SOURCE_FOR)
        i++;
    return i;
}

static enum sharing sharing_of(const struct pl_controller *c)
{
    if (shards_of(c) == NULL || !c->spec->leader_election)
        return SHARING_NONE;
    size_t i = for_index(c->spec);
    if (i == c->spec->source_count)
        return SHARING_ZERO;
    const struct pl_informer *informer = c->subscriptions[i].informer;
    const struct pl_resource *resource = informer != NULL ? pl_informer_resource(informer) : NULL;
    bool by_uid = pl_shards_by(shards_of(c)) == PL_SHARD_BY_UID ||
                  (resource != NULL && !resource->namespaced);
    return by_uid ? SHARING_BY_UID : SHARING_BY_NAMESPACE;
}

static unsigned shard_of_uid(const struct pl_controller *c, struct pl_doc *object)
{
    struct pl_scratch scratch;
    return pl_shards_of_uid(shards_of(c), pl_meta_uid(pl_doc_root(object), &scratch));
}

static unsigned sharing_place(struct pl_controller *c, enum sharing sharing, struct pl_slice key)
{
    struct pl_slice ns, name;
    if (sharing == SHARING_ZERO)
        return 0;
    if (sharing == SHARING_BY_NAMESPACE)
        return pl_key_split(key, &ns, &name) == 0 ? pl_shards_of_namespace(shards_of(c), ns)
                                                  : PL_NO_SHARD;
    struct pl_doc *object = sharing == SHARING_BY_UID ? pl_controller_for_object(c, key) : NULL;
    unsigned shard = object != NULL ? shard_of_uid(c, object) : PL_NO_SHARD;
    pl_doc_unref(object);
    return shard;
}

unsigned pl_controller_shard_of(struct pl_controller *c, struct pl_slice key)
{
    return sharing_place(c, sharing_of(c), key);
}

bool pl_controller_is_foreign(struct pl_controller *c, struct pl_slice key)
{
    enum sharing sharing = sharing_of(c);
    if (sharing == SHARING_NONE)
        return false;
    unsigned shard = sharing_place(c, sharing, key);
    return shard != PL_NO_SHARD && pl_shards_state(shards_of(c), shard) == PL_SHARD_ELSEWHERE;
}

/* ---- which keys may be queued, and begin ---- */

bool pl_controller_may_queue(struct pl_controller *c, struct pl_slice key)
{
    enum sharing sharing = sharing_of(c);
    if (sharing == SHARING_NONE || sharing == SHARING_ZERO)
        return true;
    unsigned shard = sharing_place(c, sharing, key);
    return shard != PL_NO_SHARD && pl_shards_run(shards_of(c), shard);
}

bool pl_controller_may_begin(struct pl_controller *c, struct pl_slice key)
{
    enum sharing sharing = sharing_of(c);
    unsigned shard = sharing == SHARING_NONE ? PL_NO_SHARD : sharing_place(c, sharing, key);
    return shard == PL_NO_SHARD || pl_shards_run(shards_of(c), shard);
}

bool pl_controller_may_run_again(struct pl_controller *c, const struct pl_run_record *run)
{
    enum sharing sharing = sharing_of(c);
    if (run->run.shard == 0 || sharing == SHARING_NONE)
        return true;
    if (sharing == SHARING_ZERO) /* the shard may stay, and nothing would find all keys again */
        return !pl_controller_is_elsewhere(c);
    return pl_shards_run(shards_of(c), run->run.shard - 1);
}

bool pl_controller_is_here(struct pl_controller *c)
{
    return sharing_of(c) != SHARING_ZERO || pl_shards_run(shards_of(c), 0);
}

bool pl_controller_is_elsewhere(const struct pl_controller *c)
{
    return sharing_of(c) == SHARING_ZERO && pl_shards_state(shards_of(c), 0) == PL_SHARD_ELSEWHERE;
}

/* The map function of a source that keeps a part must give keys of that part; other keys are an
 * error. */
static void foreign_key(struct pl_subscription *subscription, struct pl_slice key)
{
    struct pl_controller *c = subscription->controller;
    struct pl_metrics *metrics = pl_site_metrics(c->site);
    if (metrics != NULL) {
        struct pl_metric_spec spec = {
            .name = "perilune_shard_foreign_keys_total",
            .help = "Keys of other replicas that map functions gave for objects of this one.",
            .type = PL_METRIC_COUNTER,
            .labels = {"controller"}};
        const char *const values[] = {c->name};
        pl_series_add(pl_metric_series(pl_metrics_add(metrics, &spec), values), 1);
    }
    if (subscription->said_foreign)
        return;
    subscription->said_foreign = true;
    pl_log(PL_LOG_ERROR,
           "a map function returned a key of another shard, which is dropped: with shared = true "
           "on the source, every replica sees every object",
           pl_str("controller", c->name), pl_str("kind", subscription->kind), pl_strn("key", key));
}

bool pl_subscription_may_queue(struct pl_subscription *subscription, const struct pl_event *event,
                               struct pl_slice key)
{
    struct pl_controller *c = subscription->controller;
    enum sharing sharing = sharing_of(c);
    if (sharing == SHARING_NONE || sharing == SHARING_ZERO)
        return true;
    bool is_own = subscription->source->role == PL_SOURCE_FOR && sharing == SHARING_BY_UID;
    unsigned shard = is_own ? shard_of_uid(c, event->object) : sharing_place(c, sharing, key);
    if (shard == PL_NO_SHARD)
        return false;
    if (pl_shards_state(shards_of(c), shard) == PL_SHARD_ELSEWHERE &&
        subscription->source->map_by == PL_MAP_EXTERNAL &&
        pl_informer_share(subscription->informer) != PL_SHARE_WHOLE)
        foreign_key(subscription, key);
    return pl_shards_run(shards_of(c), shard);
}

unsigned pl_controller_run_shard(struct pl_controller *c, struct pl_slice key)
{
    unsigned shard = pl_controller_shard_of(c, key);
    return shard == PL_NO_SHARD ? 0 : shard + 1;
}

/* ---- shards that come ---- */

static void queue_came(struct pl_controller *c, const struct pl_shard_set *which)
{
    size_t source = for_index(c->spec);
    enum sharing sharing = sharing_of(c);
    struct pl_docs docs = {0};
    struct pl_buf key = PL_BUF_INIT;
    struct pl_add how = {.priority = PL_PRIORITY_LOW};
    if (source == c->spec->source_count || !c->listening || sharing == SHARING_NONE)
        return;
    pl_store_list(pl_informer_store(c->subscriptions[source].informer), 0, &docs);
    for (size_t i = 0; i < docs.count; i++) {
        pl_buf_clear(&key);
        if (pl_meta_key(pl_doc_root(docs.items[i]), &key, NULL) != 0)
            continue;
        unsigned shard = sharing_place(c, sharing, pl_buf_slice(&key));
        if (shard != PL_NO_SHARD && pl_shard_set_has(which, shard))
            pl_controller_enqueue(c, pl_buf_slice(&key), &how, PL_CAUSE_RESYNC);
    }
    pl_docs_deinit(&docs);
    pl_buf_deinit(&key);
}

static void came(struct pl_controller *c, const struct pl_shard_set *which)
{
    queue_came(c, which);
    if (c->running && sharing_of(c) == SHARING_ZERO && pl_shard_set_has(which, 0)) {
        pl_controller_task_begin(c);
        pl_controller_catch_up(c);
    }
    pl_controller_drive(c);
}

/* ---- shards that go ---- */

static bool sharing_is_of(const struct pl_run_record *run, const struct pl_shard_set *which)
{
    return run->run.shard > 0 && pl_shard_set_has(which, run->run.shard - 1);
}

static void cancel_runs(struct pl_controller *c, const struct pl_shard_set *which)
{
    struct pl_err why = {0};
    pl_err_set(&why, PL_ECANCELED, "the shard went to another replica");
    PL_LIST_FOR (link, &c->runs) {
        struct pl_run_record *run = PL_CONTAINER_OF(link, struct pl_run_record, link);
        if (sharing_is_of(run, which))
            pl_run_cancel(run, &why);
    }
}

static void on_drain_limit(struct pl_timer *timer)
{
    struct pl_controller *c = PL_CONTAINER_OF(timer, struct pl_controller, drain_limit);
    struct pl_shard_set going = pl_shards_in(shards_of(c), PL_SHARD_GOING);
    cancel_runs(c, &going);
}

static bool has_runs_of(const struct pl_controller *c, const struct pl_shard_set *which)
{
    PL_LIST_FOR (link, &c->runs)
        if (sharing_is_of(PL_CONTAINER_OF(link, struct pl_run_record, link), which))
            return true;
    return false;
}

static void goes(struct pl_controller *c, const struct pl_shard_set *which)
{
    pl_controller_take_back(c);
    if (sharing_of(c) == SHARING_ZERO && pl_shard_set_has(which, 0)) {
        c->task_begun = false; /* the shard may stay */
        pl_controller_ask_to_stop(c);
    }
    if (has_runs_of(c, which))
        pl_timer_start(c->timers, &c->drain_limit, c->grace_ns, on_drain_limit);
}

void pl_controller_set_grace(struct pl_controller *c, int64_t grace_ns)
{
    c->grace_ns = grace_ns;
}

struct lost {
    struct pl_controller *c;
    enum sharing sharing;
    const struct pl_shard_set *which;
    struct pl_map keys;
};

static void note_lost(struct lost *lost, struct pl_slice key)
{
    unsigned shard = sharing_place(lost->c, lost->sharing, key);
    if (shard != PL_NO_SHARD && pl_shard_set_has(lost->which, shard))
        pl_map_put(&lost->keys, key, lost);
}

static void note_queued(void *arg, const struct pl_queued *queued)
{
    note_lost(arg, queued->key);
}

static void note_all_of(struct lost *lost, const struct pl_map *map)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(map, &at, &key, &value))
        note_lost(lost, key);
}

/* Memos are found by their objects, which are about to be removed. */
static void note_objects(struct lost *lost)
{
    size_t source = for_index(lost->c->spec);
    struct pl_informer *informer =
        source < lost->c->spec->source_count ? lost->c->subscriptions[source].informer : NULL;
    struct pl_docs docs = {0};
    struct pl_buf key = PL_BUF_INIT;
    if (informer != NULL)
        pl_store_list(pl_informer_store(informer), 0, &docs);
    for (size_t i = 0; i < docs.count; i++) {
        pl_buf_clear(&key);
        if (pl_meta_key(pl_doc_root(docs.items[i]), &key, NULL) == 0)
            note_lost(lost, pl_buf_slice(&key));
    }
    pl_docs_deinit(&docs);
    pl_buf_deinit(&key);
}

static void drop_key(struct pl_controller *c, struct pl_slice key)
{
    const struct pl_controller_options *by = &c->edition->o;
    struct pl_cause_list causes;
    pl_workqueue_drop(c->queue, key);
    pl_causes_take(&c->causes, key, &causes);
    pl_cause_list_deinit(&causes);
    pl_controller_forget_key(c, key);
    pl_controller_drop_parked(c, key);
    pl_controller_waits_no_more(c, key);
    if (by->ops->gone != NULL)
        by->ops->gone(by->self, c, key);
}

static void drop_keys(struct pl_controller *c, const struct pl_shard_set *which)
{
    struct lost lost = {.c = c, .sharing = sharing_of(c), .which = which};
    if (lost.sharing == SHARING_NONE)
        return;
    pl_workqueue_each(c->queue, pl_controller_now(c), SIZE_MAX, note_queued, &lost);
    note_all_of(&lost, &c->failing);
    note_all_of(&lost, &c->parked);
    note_all_of(&lost, &c->waiting);
    note_objects(&lost);
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&lost.keys, &at, &key, &value))
        drop_key(c, key);
    pl_map_deinit(&lost.keys);
}

static void went(struct pl_controller *c, const struct pl_shard_set *which)
{
    pl_controller_take_back(c);
    cancel_runs(c, which);
    drop_keys(c, which);
    if (sharing_of(c) == SHARING_ZERO && pl_shard_set_has(which, 0)) {
        c->task_begun = false;
        c->was_away = true;
    }
}

/* ---- following ---- */

static void on_sharing_change(void *arg, const struct pl_shard_set *which,
                              enum pl_shard_state state)
{
    struct pl_controller *c = arg;
    if (pl_controller_is_over(c) || sharing_of(c) == SHARING_NONE)
        return;
    if (state == PL_SHARD_OURS)
        came(c, which);
    else if (state == PL_SHARD_GOING)
        goes(c, which);
    else if (state == PL_SHARD_ELSEWHERE)
        went(c, which);
}

static bool sharing_is_settled(void *arg, unsigned shard)
{
    const struct pl_controller *c = arg;
    struct pl_shard_set which = {{0}};
    pl_shard_set_add(&which, shard);
    return pl_shards_state(shards_of(c), shard) != PL_SHARD_GOING || !has_runs_of(c, &which);
}

static const struct pl_shards_follower_ops follower_ops = {on_sharing_change, sharing_is_settled};

void pl_controller_follow_shards(struct pl_controller *c)
{
    if (shards_of(c) != NULL)
        pl_shards_follow(shards_of(c), &c->shards, &follower_ops, c);
}

void pl_controller_unfollow_shards(struct pl_controller *c)
{
    pl_timer_stop(c->timers, &c->drain_limit);
    if (shards_of(c) != NULL)
        pl_shards_unfollow(shards_of(c), &c->shards);
}

void pl_controller_run_left_shard(struct pl_controller *c, const struct pl_run_record *run)
{
    if (run->run.shard > 0 && shards_of(c) != NULL &&
        pl_shards_state(shards_of(c), run->run.shard - 1) == PL_SHARD_GOING)
        c->shard_left = true;
}

void pl_controller_tell_left(struct pl_controller *c)
{
    bool left = c->shard_left;
    c->shard_left = false;
    if (left)
        pl_shards_settled(shards_of(c));
}

/* ---- which part of its kind a source keeps ---- */

/* The For kind's scope is unknown, and the parts of the other sources depend on it. */
static bool is_scope_open(const struct pl_edition *edition)
{
    const struct pl_site *site = pl_cluster_site(edition->o.cluster);
    const struct pl_shards *shards = pl_site_shards(site);
    size_t i = for_index(&edition->spec);
    return shards != NULL && pl_shards_by(shards) == PL_SHARD_BY_NAMESPACE &&
           edition->spec.leader_election && i < edition->spec.source_count &&
           pl_discovery_known(pl_site_discovery(site), &edition->spec.sources[i].kind) == NULL;
}

static enum pl_source_part sharing_part_of(const struct pl_source_spec *source, bool by_uid)
{
    if (source->options.shared)
        return PL_PART_WHOLE;
    if (source->role == PL_SOURCE_FOR)
        return PL_PART_FOR;
    if (!by_uid)
        return PL_PART_NAMESPACE;
    if (source->role != PL_SOURCE_OWNS)
        return PL_PART_WHOLE;
    return source->match_every_owner ? PL_PART_OWNERS : PL_PART_CONTROLLER;
}

void pl_edition_share(struct pl_edition *edition)
{
    const struct pl_site *site = pl_cluster_site(edition->o.cluster);
    const struct pl_shards *shards = pl_site_shards(site);
    size_t of_for = for_index(&edition->spec);
    if (shards == NULL || !edition->spec.leader_election || of_for == edition->spec.source_count)
        return;
    const struct pl_resource *resource =
        pl_discovery_known(pl_site_discovery(site), &edition->spec.sources[of_for].kind);
    bool by_uid =
        pl_shards_by(shards) == PL_SHARD_BY_UID || (resource != NULL && !resource->namespaced);
    for (size_t i = 0; i < edition->spec.source_count; i++)
        edition->spec.sources[i].options.part = sharing_part_of(&edition->spec.sources[i], by_uid);
}

bool pl_edition_may_open(const struct pl_edition *edition, size_t source)
{
    return edition->spec.sources[source].role == PL_SOURCE_FOR || !is_scope_open(edition);
}
