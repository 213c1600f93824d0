#include "control/informer_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "control/recorder.h"
#include "kube/status.h"
#include "value/build.h"
#include "value/meta.h"
#include "value/patch.h"
#include "value/path.h"

#include <string.h>

#define DISCOVERY_BASE  (800 * PL_MS)
#define DISCOVERY_CAP   (5 * PL_SECOND)
#define DISCOVERY_RESET (120 * PL_SECOND)
#define TURN_WITHIN     (10 * 60 * PL_SECOND) /* longer than that looks odd */

static void find_resource(struct pl_informer *informer);

static struct pl_timers *timers_of(const struct pl_informer *informer)
{
    return pl_cluster_timers(informer->cluster);
}

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

static char *name_of(const struct pl_informer *informer)
{
    const struct pl_source_options *o = &informer->options;
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_z(&text, informer->kind_text);
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

/* Held until the informer goes: kinds that nobody watches any more leave the page. */
static struct pl_series *series(struct pl_metrics *metrics, enum pl_metric_type type,
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

static void add_metrics(struct pl_informer *informer)
{
    struct pl_metrics *metrics = pl_cluster_metrics(informer->cluster);
    if (metrics == NULL)
        return;
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
    const char *kind = informer->kind_text;
    informer->objects = series(metrics, PL_METRIC_GAUGE, "perilune_informer_objects",
                               "Objects in caches.", kind, NULL);
    informer->bytes = series(metrics, PL_METRIC_GAUGE, "perilune_informer_bytes",
                             "Bytes of documents in caches, without what they share.", kind, NULL);
    informer->lists = series(metrics, PL_METRIC_COUNTER, "perilune_informer_lists_total",
                             "List requests, each page counted.", kind, NULL);
    informer->watches = series(metrics, PL_METRIC_COUNTER, "perilune_informer_watches_total",
                               "Watch requests.", kind, NULL);
    for (size_t i = 0; i < PL_ARRAY_LEN(types); i++)
        informer->events[i] =
            series(metrics, PL_METRIC_COUNTER, "perilune_informer_watch_events_total",
                   "Events that watches brought.", kind, types[i]);
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
        pl_timer_start(timers_of(informer), &informer->more, 0, on_more_due);
}

struct pl_informer *pl_informer_create(struct pl_cluster *cluster, const struct pl_kind *kind,
                                       const struct pl_source_options *options,
                                       char *const *host_namespaces)
{
    struct pl_informer *informer = PL_NEW(struct pl_informer);
    informer->refs = 1;
    informer->cluster = cluster;
    informer->kind = *kind;
    informer->host_namespaces = host_namespaces;
    pl_source_options_copy(&informer->options, options);
    pl_kind_text(kind, informer->kind_text);
    informer->owner = name_of(informer);
    if (options->labels != NULL)
        informer->labels = pl_selector_parse(pl_slice_z(options->labels), NULL);
    if (options->fields != NULL)
        informer->fields = pl_fields_parse(pl_slice_z(options->fields), NULL);
    informer->store = pl_store_create();
    pl_store_add_index(informer->store, PL_INDEX_CONTROLLER_UID, &controller_uid_ops, NULL, NULL);
    pl_store_add_index(informer->store, PL_INDEX_NAMESPACE, &namespace_ops, NULL, NULL);
    struct pl_backlog_options backlog = {.store = informer->store,
                                         .kind = informer->kind_text,
                                         .changed = on_backlog_changed,
                                         .more = on_backlog_more,
                                         .arg = informer};
    informer->backlog = pl_backlog_create(&backlog);
    pl_list_init(&informer->sync_waits);
    pl_own_writes_init(&informer->own);
    add_metrics(informer);
    pl_backoff_init_with(&informer->backoff, DISCOVERY_BASE, DISCOVERY_CAP, DISCOVERY_RESET,
                         pl_informer_now(informer));
    pl_cluster_hold(cluster);
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

static void on_ended(struct pl_timer *timer)
{
    struct pl_informer *informer = PL_CONTAINER_OF(timer, struct pl_informer, tick);
    struct pl_cluster *cluster = informer->cluster;
    informer->ended = true;
    if (informer->refs == 0)
        free_informer(informer);
    pl_cluster_release(cluster);
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
    pl_discovery_forget(pl_cluster_discovery(informer->cluster), informer);
    pl_timer_stop(timers_of(informer), &informer->retry);
    pl_reconnect_forget(pl_cluster_reconnects(informer->cluster), &informer->turn);
    pl_timer_stop(timers_of(informer), &informer->tick);
    pl_wait_end(&informer->wait);
    pl_timer_stop(timers_of(informer), &informer->more);
    pl_informer_stop_confirm(informer);
    pl_informer_stop_compact(informer);
    pl_backlog_stop(informer->backlog);
    for (size_t i = 0; i < informer->feed_count; i++)
        pl_feed_stop(informer->feeds[i]);
    pl_informer_check(informer);
}

void pl_informer_unref(struct pl_informer *informer)
{
    if (informer == NULL || --informer->refs > 0)
        return;
    pl_cluster_forget_informer(informer->cluster, informer);
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
    informer->ending -= kept == count; /* one of those that were replaced */
    pl_informer_check(informer);
}

/* ---- discovery ---- */

static void on_turn(struct pl_reconnect *turn)
{
    find_resource(PL_CONTAINER_OF(turn, struct pl_informer, turn));
}

/* At once, or when it is its turn to ask a server that is away. */
static void look(struct pl_informer *informer)
{
    struct pl_waits *waits = pl_cluster_waits(informer->cluster);
    if (pl_reconnect_ask(pl_cluster_reconnects(informer->cluster), &informer->turn,
                         PL_RECONNECT_FIRST, on_turn))
        find_resource(informer);
    else if (waits != NULL)
        pl_wait_begin(waits, &informer->wait, "turn to look for the kind", informer->owner,
                      TURN_WITHIN);
}

static void on_retry(struct pl_timer *timer)
{
    look(PL_CONTAINER_OF(timer, struct pl_informer, retry));
}

/* What people have to mend is said where they look for it. A server that is away needs none. */
static void tell_trouble(struct pl_informer *informer)
{
    const struct pl_err *err = pl_informer_trouble(informer);
    bool is_theirs = err != NULL && (pl_err_is_forbidden(err) || err->code == PL_ENOTFOUND);
    if (is_theirs && !informer->told) {
        char *note = pl_format("cannot watch %s: %s", informer->owner, err->message);
        pl_recorder_own_event(pl_cluster_recorder(informer->cluster), true, "SourceNotSynced",
                              note);
        pl_free(note);
    }
    informer->told = is_theirs;
}

static void retry_later(struct pl_informer *informer, const struct pl_err *err)
{
    struct pl_field source = pl_str("source", informer->owner);
    int64_t now = pl_informer_now(informer);
    pl_reconnect_forget(pl_cluster_reconnects(informer->cluster), &informer->turn);
    pl_trouble_note(&informer->trouble, err, now, "cannot watch source", &source, 1);
    tell_trouble(informer);
    int64_t delay = pl_backoff_next(&informer->backoff, now, pl_cluster_rand(informer->cluster));
    pl_timer_start(timers_of(informer), &informer->retry, delay, on_retry);
    if (pl_cluster_waits(informer->cluster) != NULL)
        pl_wait_begin(pl_cluster_waits(informer->cluster), &informer->wait,
                      "next look for the kind", informer->owner, delay);
}

static void add_feed(struct pl_informer *informer, const char *ns)
{
    informer->feeds =
        pl_reallocarray(informer->feeds, informer->feed_count + 1, sizeof(struct pl_feed *));
    informer->feeds[informer->feed_count++] = pl_feed_create(informer, ns);
}

/* One for each namespace that both the source and the host ask for. */
static int add_feeds(struct pl_informer *informer, struct pl_err *err)
{
    char **own = informer->options.namespaces;
    char *const *host = informer->host_namespaces;
    if (!informer->resource->namespaced && own != NULL)
        return pl_err_set(err, PL_EINVAL, "%s is cluster-scoped: it takes no namespaces",
                          informer->kind_text);
    if (!informer->resource->namespaced || (own == NULL && host == NULL)) {
        add_feed(informer, NULL);
        return 0;
    }
    char *const *wanted = own != NULL ? own : host;
    for (; *wanted != NULL; wanted++)
        if (own == NULL || host == NULL || pl_texts_has(host, pl_slice_z(*wanted)))
            add_feed(informer, *wanted);
    if (informer->feed_count == 0)
        return pl_err_set(err, PL_EINVAL,
                          "none of the namespaces of %s is among those of --namespace",
                          informer->kind_text);
    return 0;
}

static int use_resource(struct pl_informer *informer, const struct pl_resource *resource,
                        struct pl_err *err)
{
    if (!resource->can_watch)
        return pl_err_set(err, PL_EUNSUPPORTED,
                          "the server does not let anybody watch %s: read it with perilune.live",
                          informer->kind_text);
    informer->resource = resource;
    return add_feeds(informer, err);
}

/* Discovery got no answer, which is everybody's trouble: one line is enough for all sources, and
 * they look again one after another. */
static bool is_away(struct pl_informer *informer, const struct pl_err *why)
{
    if ((why->code != PL_ENETWORK && why->code != PL_ETIMEOUT) ||
        !pl_reconnect_failed(pl_cluster_reconnects(informer->cluster), &informer->turn, why))
        return false;
    pl_trouble_count(&informer->trouble, why, pl_informer_now(informer));
    tell_trouble(informer);
    return true;
}

static void on_resource(void *arg, const struct pl_resource *resource, const struct pl_err *why)
{
    struct pl_informer *informer = arg;
    struct pl_err err = {0};
    informer->resolving = false;
    pl_wait_end(&informer->wait);
    if (resource == NULL && is_away(informer, why)) {
        look(informer);
        return;
    }
    if (informer->turn.trying && (resource != NULL || why->status != 0))
        pl_reconnect_heard(pl_cluster_reconnects(informer->cluster), &informer->turn);
    if (resource == NULL || use_resource(informer, resource, &err) != 0) {
        retry_later(informer, resource == NULL ? why : &err);
        return;
    }
    struct pl_field source = pl_str("source", informer->owner);
    pl_trouble_end(&informer->trouble, pl_informer_now(informer), "source was found", &source, 1);
    for (size_t i = 0; i < informer->feed_count; i++)
        pl_feed_start(informer->feeds[i]);
}

/* ---- a kind that went away, and may come back as another resource (F43) ---- */

static bool is_same_place(const struct pl_resource *a, const struct pl_resource *b)
{
    return strcmp(a->plural, b->plural) == 0 && a->namespaced == b->namespaced;
}

static void on_found_again(void *arg, const struct pl_resource *resource, const struct pl_err *why)
{
    struct pl_informer *informer = arg;
    PL_UNUSED(why); /* the reflectors keep asking, and say what is wrong */
    informer->resolving = false;
    if (resource == NULL || is_same_place(resource, informer->resource))
        return;
    pl_log(PL_LOG_INFO, "the kind is another resource now", pl_str("source", informer->owner),
           pl_str("plural", resource->plural), pl_bool("namespaced", resource->namespaced));
    informer->ending += informer->feed_count;
    for (size_t i = 0; i < informer->feed_count; i++)
        pl_feed_stop(informer->feeds[i]);
    informer->feed_count = 0;
    on_resource(informer, resource, NULL);
}

void pl_informer_gone(struct pl_informer *informer)
{
    struct pl_discovery *discovery = pl_cluster_discovery(informer->cluster);
    if (informer->resolving || informer->stopping)
        return;
    informer->resolving = true;
    pl_discovery_doubt(discovery, &informer->kind);
    pl_discovery_find(discovery, &informer->kind, on_found_again, informer);
}

static void find_resource(struct pl_informer *informer)
{
    informer->resolving = true;
    if (pl_cluster_waits(informer->cluster) != NULL)
        pl_wait_begin_open(pl_cluster_waits(informer->cluster), &informer->wait, "discovery",
                           informer->owner, "the client limits each request");
    pl_discovery_find(pl_cluster_discovery(informer->cluster), &informer->kind, on_resource,
                      informer);
}

void pl_informer_start(struct pl_informer *informer)
{
    look(informer);
}

/* ---- sync ---- */

static bool is_filled(const struct pl_informer *informer)
{
    for (size_t i = 0; i < informer->feed_count; i++)
        if (!pl_feed_has_listed(informer->feeds[i]))
            return false;
    return informer->feed_count > 0 && pl_backlog_unindexed(informer->backlog) == 0;
}

static void tell_synced(struct pl_timer *timer)
{
    struct pl_informer *informer = PL_CONTAINER_OF(timer, struct pl_informer, tick);
    struct pl_list due;
    pl_list_init(&due);
    pl_list_splice(&due, &informer->sync_waits);
    struct pl_link *link;
    pl_informer_ref(informer);
    while ((link = pl_list_pop(&due)) != NULL) {
        struct pl_sync_wait *wait = PL_CONTAINER_OF(link, struct pl_sync_wait, link);
        wait->synced(wait);
    }
    pl_informer_unref(informer);
}

void pl_informer_check(struct pl_informer *informer)
{
    if (informer->stopping) {
        if (!informer->ended && informer->feed_count == 0 && informer->ending == 0 &&
            informer->asking == NULL && pl_backlog_outstanding(informer->backlog) == 0)
            pl_timer_start(timers_of(informer), &informer->tick, 0, on_ended);
        return;
    }
    tell_trouble(informer);
    if (!informer->synced && is_filled(informer)) {
        informer->synced = true;
        pl_log(PL_LOG_INFO, "source synced", pl_str("source", informer->owner),
               pl_int("objects", (int64_t)pl_store_count(informer->store)));
    }
    if (informer->synced && !pl_list_empty(&informer->sync_waits))
        pl_timer_start(timers_of(informer), &informer->tick, 0, tell_synced);
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

/* ---- what belongs here, and in which form ---- */

bool pl_informer_covers(const struct pl_informer *informer, struct pl_slice ns)
{
    for (size_t i = 0; i < informer->feed_count; i++) {
        const char *of = pl_feed_ns(informer->feeds[i]);
        if (of == NULL || pl_slice_eqz(ns, of))
            return true;
    }
    return false;
}

bool pl_informer_wants(const struct pl_informer *informer, struct pl_node object)
{
    if (informer->labels != NULL && !pl_selector_matches(informer->labels, pl_meta_labels(object)))
        return false;
    if (informer->fields != NULL && !pl_fields_match(informer->fields, object))
        return false;
    struct pl_scratch scratch;
    return informer->feed_count == 0 ||
           pl_informer_covers(informer, pl_meta_namespace(object, &scratch));
}

static struct pl_doc *metadata_alone(const struct pl_informer *informer, struct pl_node object)
{
    struct pl_build *b = pl_build_create(pl_cluster_pool(informer->cluster));
    char text[PL_KIND_TEXT];
    pl_build_object(b);
    pl_build_keyz(b, "apiVersion");
    pl_build_strz(b, pl_kind_api_version(&informer->kind, text));
    pl_build_keyz(b, "kind");
    pl_build_strz(b, informer->kind.kind);
    pl_build_keyz(b, "metadata");
    pl_build_node(b, pl_node_getz(object, "metadata"));
    pl_build_end(b);
    struct pl_doc *doc = pl_build_finish(b);
    pl_build_destroy(b);
    return doc;
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
