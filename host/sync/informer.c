/* An informer's life and its followers: it starts when it is needed, and stops with its last
 * reference. Storing, writing through and searching the kind are in other files (informer_impl.h).
 */
#include "sync/informer_impl.h"

#include "base/check.h"
#include "base/alloc.h"
#include "base/log.h"
#include "value/build.h"
#include "object/meta.h"
#include "object/patch.h"

#include <string.h>

/* ---- indices of every store ---- */

static int controller_uid(void *arg, struct pl_node object, struct pl_values *out,
                          struct pl_err *err)
{
    PL_UNUSED(arg);
    PL_UNUSED(err);
    struct pl_owner owner;
    if (pl_meta_controller(object, &owner))
        pl_values_add(out, owner.uid);
    return 0;
}

static int namespace_of(void *arg, struct pl_node object, struct pl_values *out, struct pl_err *err)
{
    PL_UNUSED(arg);
    PL_UNUSED(err);
    struct pl_scratch scratch;
    struct pl_slice ns = pl_meta_namespace(object, &scratch);
    if (ns.len > 0)
        pl_values_add(out, ns);
    return 0;
}

static const struct pl_index_ops controller_uid_ops = {controller_uid, NULL};
static const struct pl_index_ops namespace_ops = {namespace_of, NULL};

/* ---- lifetime ---- */

/* "edge:v1/Pod" for another cluster. */
static void add_kind(struct pl_buf *text, const struct pl_informer *informer)
{
    const char *cluster = pl_site_name(informer->site);
    if (cluster != NULL)
        pl_buf_add_f(text, "%s:", cluster);
    pl_buf_add_z(text, informer->kind_text);
}

static char *informer_name_of(const struct pl_informer *informer)
{
    const struct pl_source_options *o = &informer->options;
    struct pl_buf text = PL_BUF_INIT;
    add_kind(&text, informer);
    for (char **ns = o->namespaces; ns != NULL && *ns != NULL; ns++)
        pl_buf_add_f(&text, "%s%s", ns == o->namespaces ? " in " : ",", *ns);
    if (o->labels != NULL)
        pl_buf_add_f(&text, " labels %s", o->labels);
    if (o->fields != NULL)
        pl_buf_add_f(&text, " fields %s", o->fields);
    if (o->metadata_only)
        pl_buf_add_z(&text, " (metadata)");
    return pl_buf_take(&text);
}

/* Held until the informer is freed: kinds that are not watched any more leave the page. */
static struct pl_series *informer_series(struct pl_metrics *metrics, enum pl_metric_type type,
                                         const char *name, const char *help, const char *kind,
                                         const char *event)
{
    struct pl_metric_spec spec = {.name = name, .help = help, .type = type, .labels = {"kind"}};
    if (event != NULL)
        spec.labels[1] = "type";
    const char *values[] = {kind, event};
    return pl_metric_hold(pl_metrics_add(metrics, &spec), values);
}

static void release_metrics(struct pl_informer *informer)
{
    pl_series_release(informer->objects);
    pl_series_release(informer->bytes);
    pl_series_release(informer->lists);
    pl_series_release(informer->watches);
    for (size_t i = 0; i < PL_ARRAY_LEN(informer->events); i++)
        pl_series_release(informer->events[i]);
}

static void informer_add_metrics(struct pl_informer *informer)
{
    struct pl_metrics *metrics = pl_site_metrics(informer->site);
    if (metrics == NULL)
        return;
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
    struct pl_buf label = PL_BUF_INIT;
    add_kind(&label, informer);
    const char *kind = pl_buf_z(&label);
    informer->objects = informer_series(metrics, PL_METRIC_GAUGE, "perilune_informer_objects",
                                        "Objects in caches.", kind, NULL);
    informer->bytes =
        informer_series(metrics, PL_METRIC_GAUGE, "perilune_informer_bytes",
                        "Bytes of documents in caches, without what they share.", kind, NULL);
    informer->lists = informer_series(metrics, PL_METRIC_COUNTER, "perilune_informer_lists_total",
                                      "List requests, each page counted.", kind, NULL);
    informer->watches =
        informer_series(metrics, PL_METRIC_COUNTER, "perilune_informer_watches_total",
                        "Watch requests.", kind, NULL);
    for (size_t i = 0; i < PL_ARRAY_LEN(types); i++)
        informer->events[i] =
            informer_series(metrics, PL_METRIC_COUNTER, "perilune_informer_watch_events_total",
                            "Events that watches brought.", kind, types[i]);
    pl_buf_deinit(&label);
}

static void on_backlog_changed(void *arg)
{
    pl_informer_check(arg);
}

static void on_more_due(struct pl_timer *timer)
{
    pl_backlog_flush(PL_CONTAINER_OF(timer, struct pl_informer, more)->backlog);
}

static void on_backlog_more(void *arg)
{
    struct pl_informer *informer = arg;
    if (!informer->stopping)
        pl_timer_start(pl_informer_timers(informer), &informer->more, 0, on_more_due);
}

struct pl_informer *pl_informer_create(const struct pl_informer_options *options)
{
    const struct pl_source_options *source = options->source;
    struct pl_informer *informer = PL_NEW(struct pl_informer);
    informer->refs = 1;
    informer->site = options->site;
    informer->kind = *options->kind;
    informer->host_namespaces = options->host_namespaces;
    informer->unused = options->unused;
    informer->unused_arg = options->arg;
    pl_source_options_copy(&informer->options, source);
    pl_kind_text(options->kind, informer->kind_text);
    informer->owner = informer_name_of(informer);
    if (source->labels != NULL)
        informer->labels = pl_selector_parse(pl_slice_z(source->labels), NULL);
    if (source->fields != NULL)
        informer->fields = pl_fields_parse(pl_slice_z(source->fields), NULL);
    informer->store = pl_store_create();
    PL_REQUIRE(pl_store_add_index(informer->store, PL_INDEX_CONTROLLER_UID, &controller_uid_ops,
                                  NULL, NULL) == 0);
    PL_REQUIRE(
        pl_store_add_index(informer->store, PL_INDEX_NAMESPACE, &namespace_ops, NULL, NULL) == 0);
    struct pl_backlog_options backlog = {.store = informer->store,
                                         .kind = informer->kind_text,
                                         .changed = on_backlog_changed,
                                         .more = on_backlog_more,
                                         .arg = informer};
    informer->backlog = pl_backlog_create(&backlog);
    pl_list_init(&informer->sync_waits);
    pl_list_init(&informer->index_waits);
    pl_own_writes_init(&informer->own);
    informer_add_metrics(informer);
    pl_site_hold(informer->site);
    return informer;
}

void pl_informer_clear_gauges(struct pl_informer *informer)
{
    if (informer->objects == NULL)
        return;
    pl_series_set(informer->objects, 0);
    pl_series_set(informer->bytes, 0);
}

void pl_informer_add_gauges(struct pl_informer *informer)
{
    if (informer->objects == NULL)
        return;
    pl_series_add(informer->objects, (double)pl_store_count(informer->store));
    pl_series_add(informer->bytes, (double)pl_store_bytes(informer->store));
}

static void free_key_watches(struct pl_informer *informer)
{
    size_t at = 0;
    struct pl_slice key;
    void *watches;
    while (pl_map_next(&informer->key_watches, &at, &key, &watches))
        pl_free(watches);
    pl_map_deinit(&informer->key_watches);
}

static void free_informer(struct pl_informer *informer)
{
    while (pl_list_pop(&informer->index_waits) != NULL)
        ;
    pl_informer_clear_gauges(informer);
    release_metrics(informer);
    free_key_watches(informer);
    pl_own_writes_deinit(&informer->own);
    pl_backlog_destroy(informer->backlog);
    pl_informer_free_indexes(informer);
    pl_store_destroy(informer->store);
    pl_selector_destroy(informer->labels);
    pl_fields_destroy(informer->fields);
    pl_source_options_deinit(&informer->options);
    pl_free(informer->feeds);
    pl_free(informer->owner);
    pl_free(informer);
}

static void on_informer_ended(struct pl_timer *timer)
{
    struct pl_informer *informer = PL_CONTAINER_OF(timer, struct pl_informer, tick);
    struct pl_site *site = informer->site;
    informer->ended = true;
    if (informer->refs == 0)
        free_informer(informer);
    pl_site_release(site);
}

struct pl_informer *pl_informer_ref(struct pl_informer *informer)
{
    informer->refs++;
    return informer;
}

void pl_informer_stop(struct pl_informer *informer)
{
    if (informer->stopping)
        return;
    informer->stopping = true;
    pl_informer_stop_search(informer);
    pl_timer_stop(pl_informer_timers(informer), &informer->tick);
    pl_timer_stop(pl_informer_timers(informer), &informer->more);
    pl_informer_stop_confirm(informer);
    pl_informer_stop_compact(informer);
    pl_informer_stop_building(informer);
    pl_backlog_stop(informer->backlog);
    for (size_t i = 0; i < informer->feed_count; i++)
        pl_feed_stop(informer->feeds[i]);
    pl_informer_check(informer);
}

void pl_informer_unref(struct pl_informer *informer)
{
    if (informer == NULL || --informer->refs > 0)
        return;
    informer->unused(informer->unused_arg, informer);
    pl_informer_stop(informer);
    if (informer->ended)
        free_informer(informer);
}

void pl_informer_feed_ended(struct pl_informer *informer, struct pl_feed *feed)
{
    size_t kept = 0, count = informer->feed_count;
    for (size_t i = 0; i < informer->feed_count; i++)
        if (informer->feeds[i] != feed)
            informer->feeds[kept++] = informer->feeds[i];
    informer->feed_count = kept;
    informer->ending -= kept == count; /* not found: it was one of the replaced feeds */
    pl_informer_check(informer);
}

/* ---- sync ---- */

static bool is_filled(const struct pl_informer *informer)
{
    for (size_t i = 0; i < informer->feed_count; i++)
        if (!pl_feed_has_listed(informer->feeds[i]) && !pl_feed_is_idle(informer->feeds[i]))
            return false;
    return informer->feed_count > 0 && pl_backlog_unindexed(informer->backlog) == 0;
}

static void tell_synced(struct pl_informer *informer)
{
    struct pl_list due;
    pl_list_init(&due);
    pl_list_splice(&due, &informer->sync_waits);
    struct pl_link *link;
    while ((link = pl_list_pop(&due)) != NULL) {
        struct pl_sync_wait *wait = PL_CONTAINER_OF(link, struct pl_sync_wait, link);
        wait->synced(wait);
    }
}

static void tell_indexed(struct pl_informer *informer)
{
    PL_LIST_FOR (link, &informer->index_waits) {
        struct pl_index_wait *wait = PL_CONTAINER_OF(link, struct pl_index_wait, link);
        if (!pl_informer_is_indexed(informer, wait->key))
            continue;
        pl_link_unlink(&wait->link);
        wait->indexed(wait);
    }
}

static void tell_waits(struct pl_timer *timer)
{
    struct pl_informer *informer = PL_CONTAINER_OF(timer, struct pl_informer, tick);
    pl_informer_ref(informer);
    if (informer->synced)
        tell_synced(informer);
    tell_indexed(informer);
    pl_informer_unref(informer);
}

void pl_informer_check(struct pl_informer *informer)
{
    if (informer->stopping) {
        if (!informer->ended && informer->feed_count == 0 && informer->ending == 0 &&
            informer->asking == NULL && pl_backlog_outstanding(informer->backlog) == 0)
            pl_timer_start(pl_informer_timers(informer), &informer->tick, 0, on_informer_ended);
        return;
    }
    pl_informer_tell_trouble(informer);
    if (!informer->synced && is_filled(informer)) {
        informer->synced = true;
        pl_log(PL_LOG_INFO, "source synced", pl_str("source", informer->owner),
               pl_int("objects", (int64_t)pl_store_count(informer->store)));
    }
    bool any_sync_wait = informer->synced && !pl_list_empty(&informer->sync_waits);
    if (any_sync_wait || !pl_list_empty(&informer->index_waits))
        pl_timer_start(pl_informer_timers(informer), &informer->tick, 0, tell_waits);
}

void pl_informer_on_sync(struct pl_informer *informer, struct pl_sync_wait *wait)
{
    pl_list_push(&informer->sync_waits, &wait->link);
    pl_informer_check(informer);
}

void pl_informer_forget_sync(struct pl_sync_wait *wait)
{
    pl_link_unlink(&wait->link);
}

bool pl_informer_is_indexed(const struct pl_informer *informer, struct pl_slice key)
{
    return pl_backlog_is_indexed(informer->backlog, key);
}

void pl_informer_on_indexed(struct pl_informer *informer, struct pl_index_wait *wait)
{
    pl_list_push(&informer->index_waits, &wait->link);
    pl_informer_check(informer);
}

void pl_informer_forget_indexed(struct pl_index_wait *wait)
{
    pl_link_unlink(&wait->link);
}

bool pl_informer_has_synced(const struct pl_informer *informer)
{
    return informer->synced;
}

const struct pl_err *pl_informer_trouble(const struct pl_informer *informer)
{
    if (pl_trouble_is_on(&informer->trouble))
        return &informer->trouble.err;
    for (size_t i = 0; i < informer->feed_count; i++) {
        const struct pl_trouble *trouble = pl_feed_trouble(informer->feeds[i]);
        if (trouble != NULL)
            return &trouble->err;
    }
    return NULL;
}

/* ---- which objects belong here, and in which form ---- */

bool pl_informer_covers(const struct pl_informer *informer, struct pl_slice ns)
{
    for (size_t i = 0; i < informer->feed_count; i++) {
        const char *of = pl_feed_ns(informer->feeds[i]);
        if (of == NULL || pl_slice_eqz(ns, of))
            return true;
    }
    return false;
}

char **pl_informer_namespaces(const struct pl_informer *informer)
{
    if (pl_informer_covers(informer, pl_slice("", 0)) || informer->feed_count == 0)
        return NULL;
    char **all = pl_calloc(informer->feed_count + 1, sizeof *all);
    for (size_t i = 0; i < informer->feed_count; i++)
        all[i] = pl_strdup(pl_feed_ns(informer->feeds[i]));
    return all;
}

/* An object of another shard is not kept. */
static bool is_kept(const struct pl_informer *informer, struct pl_node object)
{
    struct pl_scratch scratch;
    struct pl_slice ns = pl_meta_namespace(object, &scratch);
    for (size_t i = 0; i < informer->feed_count; i++) {
        const char *of = pl_feed_ns(informer->feeds[i]);
        if (of == NULL || pl_slice_eqz(ns, of))
            return pl_feed_keeps(informer->feeds[i], object);
    }
    return informer->feed_count == 0;
}

bool pl_informer_wants(const struct pl_informer *informer, struct pl_node object)
{
    if (informer->labels != NULL && !pl_selector_matches(informer->labels, pl_meta_labels(object)))
        return false;
    if (informer->fields != NULL && !pl_fields_match(informer->fields, object))
        return false;
    return is_kept(informer, object);
}

static struct pl_doc *metadata_alone(const struct pl_informer *informer, struct pl_node object)
{
    struct pl_build *b = pl_build_create(pl_site_pool(informer->site));
    char text[PL_KIND_TEXT];
    pl_build_object(b);
    pl_build_keyz(b, "apiVersion");
    pl_build_strz(b, pl_kind_api_version(&informer->kind, text));
    pl_build_keyz(b, "kind");
    pl_build_strz(b, informer->kind.kind);
    pl_build_keyz(b, "metadata");
    pl_build_node(b, pl_node_getz(object, "metadata"));
    pl_build_end(b);
    return pl_build_close(b);
}

struct pl_doc *pl_informer_shape(const struct pl_informer *informer, struct pl_doc *object)
{
    struct pl_doc *doc = informer->options.metadata_only
                             ? metadata_alone(informer, pl_doc_root(object))
                             : pl_doc_ref(object);
    static const char *const managed[] = {"metadata", "managedFields"};
    if (informer->options.managed_fields ||
        pl_node_is_missing(pl_node_dig_n(pl_doc_root(doc), managed, 2)))
        return doc;
    struct pl_doc *stripped = pl_doc_with(pl_doc_root(doc), managed, 2, PL_NODE_MISSING);
    pl_doc_unref(doc);
    return stripped;
}

/* ---- shards ---- */

void pl_informer_shards_changed(struct pl_informer *informer)
{
    for (size_t i = 0; i < informer->feed_count && !informer->stopping; i++)
        pl_feed_shards_changed(informer->feeds[i]);
}

bool pl_informer_has_shard(const struct pl_informer *informer, unsigned shard)
{
    for (size_t i = 0; i < informer->feed_count && informer->synced; i++)
        if (!pl_feed_has_shard(informer->feeds[i], shard))
            return informer->stopping;
    return true;
}

enum pl_share_by pl_informer_share(const struct pl_informer *informer)
{
    return informer->resource != NULL ? pl_share_by(pl_site_shards(informer->site),
                                                    informer->options.part, informer->resource)
                                      : PL_SHARE_WHOLE;
}

/* ---- the rest ---- */

const struct pl_kind *pl_informer_kind(const struct pl_informer *informer)
{
    return &informer->kind;
}

const struct pl_source_options *pl_informer_options(const struct pl_informer *informer)
{
    return &informer->options;
}

const char *pl_informer_owner(const struct pl_informer *informer)
{
    return informer->owner;
}

bool pl_informer_is_waiting(const struct pl_informer *informer, const struct pl_wait *wait)
{
    bool mine = strcmp(wait->owner, informer->owner) == 0;
    for (size_t i = 0; i < informer->feed_count; i++)
        mine |= strcmp(wait->owner, pl_feed_owner(informer->feeds[i])) == 0;
    return mine;
}

const struct pl_resource *pl_informer_resource(const struct pl_informer *informer)
{
    return informer->resource;
}

struct pl_store *pl_informer_store(struct pl_informer *informer)
{
    return informer->store;
}

void pl_informer_follow(struct pl_informer *informer, struct pl_follower *follower)
{
    pl_backlog_follow(informer->backlog, follower);
}

void pl_informer_flush(struct pl_informer *informer)
{
    pl_backlog_flush(informer->backlog);
}
