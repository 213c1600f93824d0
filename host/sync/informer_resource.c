/* The resource of an informer's kind: searches for it until it exists, creates the feeds, and
 * searches again when it was removed. */
#include "sync/informer_impl.h"

#include "base/alloc.h"
#include "base/log.h"
#include "kube/status.h"

#include <string.h>

#define SEARCH_BASE  (800 * PL_MS)
#define SEARCH_CAP   (5 * PL_SECOND)
#define SEARCH_RESET (120 * PL_SECOND)
#define TURN_WITHIN  (10 * 60 * PL_SECOND) /* a longer wait is suspicious */

static void find_resource(struct pl_informer *informer);

static void on_informer_resource_turn(struct pl_reconnect *turn)
{
    find_resource(PL_CONTAINER_OF(turn, struct pl_informer, turn));
}

/* At once, or when it is its turn while the server is away. */
static void informer_resource_look(struct pl_informer *informer)
{
    struct pl_waits *waits = pl_site_waits(informer->site);
    if (pl_reconnect_ask(pl_site_reconnects(informer->site), &informer->turn, PL_RECONNECT_FIRST,
                         on_informer_resource_turn))
        find_resource(informer);
    else if (waits != NULL)
        pl_wait_begin(waits, &informer->wait, "turn to look for the kind", informer->owner,
                      TURN_WITHIN);
}

static void on_informer_resource_retry(struct pl_timer *timer)
{
    informer_resource_look(PL_CONTAINER_OF(timer, struct pl_informer, retry));
}

/* Reports problems that people have to resolve in an Event. A server that is away is not reported.
 */
void pl_informer_tell_trouble(struct pl_informer *informer)
{
    const struct pl_err *err = pl_informer_trouble(informer);
    bool is_theirs = err != NULL && (pl_err_is_forbidden(err) || err->code == PL_ENOTFOUND);
    if (is_theirs && !informer->told) {
        char *note = pl_format("cannot watch %s: %s", informer->owner, err->message);
        pl_site_say(informer->site, "SourceNotSynced", note);
        pl_free(note);
    }
    informer->told = is_theirs;
}

static void retry_later(struct pl_informer *informer, const struct pl_err *err)
{
    struct pl_field source = pl_str("source", informer->owner);
    int64_t now = pl_informer_now(informer);
    pl_reconnect_forget(pl_site_reconnects(informer->site), &informer->turn);
    pl_trouble_note(&informer->trouble, err, now, "cannot watch source", &source, 1);
    pl_informer_tell_trouble(informer);
    int64_t delay = pl_backoff_next(&informer->backoff, now, pl_site_rand(informer->site));
    pl_timer_start(pl_informer_timers(informer), &informer->retry, delay,
                   on_informer_resource_retry);
    if (pl_site_waits(informer->site) != NULL)
        pl_wait_begin(pl_site_waits(informer->site), &informer->wait, "next look for the kind",
                      informer->owner, delay);
}

static void add_feed(struct pl_informer *informer, const char *ns)
{
    informer->feeds =
        pl_reallocarray(informer->feeds, informer->feed_count + 1, sizeof(struct pl_feed *));
    informer->feeds[informer->feed_count++] = pl_feed_create(informer, ns);
}

/* One for each namespace that both the source and the host include. */
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
                          "the server does not support watching %s: read it with perilune.live",
                          informer->kind_text);
    informer->resource = resource;
    return add_feeds(informer, err);
}

/* True when discovery got no answer, which concerns all sources: one log line is enough, and they
 * search again one after another. */
static bool is_away(struct pl_informer *informer, const struct pl_err *why)
{
    if ((why->code != PL_ENETWORK && why->code != PL_ETIMEOUT) ||
        !pl_reconnect_failed(pl_site_reconnects(informer->site), &informer->turn, why))
        return false;
    pl_trouble_count(&informer->trouble, why, pl_informer_now(informer));
    pl_informer_tell_trouble(informer);
    return true;
}

static void on_kind_found(void *arg, const struct pl_resource *resource, const struct pl_err *why)
{
    struct pl_informer *informer = arg;
    struct pl_err err = {0};
    informer->resolving = false;
    pl_wait_end(&informer->wait);
    if (resource == NULL && is_away(informer, why)) {
        informer_resource_look(informer);
        return;
    }
    if (informer->turn.trying && (resource != NULL || why->status != 0))
        pl_reconnect_heard(pl_site_reconnects(informer->site), &informer->turn);
    if (resource == NULL || use_resource(informer, resource, &err) != 0) {
        retry_later(informer, resource == NULL ? why : &err);
        return;
    }
    struct pl_field source = pl_str("source", informer->owner);
    pl_trouble_end(&informer->trouble, pl_informer_now(informer), "source was found", &source, 1);
    for (size_t i = 0; i < informer->feed_count; i++)
        pl_feed_start(informer->feeds[i]);
}

/* ---- a kind that was removed, and may come back as another resource (F43) ---- */

static bool is_same_place(const struct pl_resource *a, const struct pl_resource *b)
{
    return strcmp(a->plural, b->plural) == 0 && a->namespaced == b->namespaced;
}

static void on_found_again(void *arg, const struct pl_resource *resource, const struct pl_err *why)
{
    struct pl_informer *informer = arg;
    PL_UNUSED(why); /* the reflectors keep asking, and report the reason */
    informer->resolving = false;
    if (resource == NULL || is_same_place(resource, informer->resource))
        return;
    pl_log(PL_LOG_INFO, "the kind is now served as another resource",
           pl_str("source", informer->owner), pl_str("plural", resource->plural),
           pl_bool("namespaced", resource->namespaced));
    informer->ending += informer->feed_count;
    for (size_t i = 0; i < informer->feed_count; i++)
        pl_feed_stop(informer->feeds[i]);
    informer->feed_count = 0;
    on_kind_found(informer, resource, NULL);
}

void pl_informer_gone(struct pl_informer *informer)
{
    struct pl_discovery *discovery = pl_site_discovery(informer->site);
    if (informer->resolving || informer->stopping)
        return;
    informer->resolving = true;
    pl_discovery_doubt(discovery, &informer->kind);
    pl_discovery_find(discovery, &informer->kind, on_found_again, informer);
}

static void find_resource(struct pl_informer *informer)
{
    informer->resolving = true;
    if (pl_site_waits(informer->site) != NULL)
        pl_wait_begin_open(pl_site_waits(informer->site), &informer->wait, "discovery",
                           informer->owner, "the client limits each request");
    pl_discovery_find(pl_site_discovery(informer->site), &informer->kind, on_kind_found, informer);
}

void pl_informer_start(struct pl_informer *informer)
{
    pl_backoff_init_with(&informer->backoff, SEARCH_BASE, SEARCH_CAP, SEARCH_RESET,
                         pl_informer_now(informer));
    informer_resource_look(informer);
}

void pl_informer_stop_search(struct pl_informer *informer)
{
    pl_discovery_forget(pl_site_discovery(informer->site), informer);
    pl_timer_stop(pl_informer_timers(informer), &informer->retry);
    pl_reconnect_forget(pl_site_reconnects(informer->site), &informer->turn);
    pl_wait_end(&informer->wait);
}
