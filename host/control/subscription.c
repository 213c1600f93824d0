/* From a source's events to keys in the queue. Predicates and handlers that the core knows decide
 * here; asking.c asks the implementer for the others.
 *
 * A predicate must not hide that a paused object is resumed or gone. Events are delivered only when
 * every informer of the controller has synced, so a map function may read all of its sources. */
#include "control/controller_impl.h"

#include "base/alloc.h"
#include "event/predicate.h"
#include "object/meta.h"

/* ---- keys ---- */

static void add_cause(struct pl_subscription *subscription, const struct pl_event *event,
                      struct pl_slice key, struct pl_slice object)
{
    struct pl_causes *causes = &subscription->controller->causes;
    const struct pl_cause *cause =
        pl_causes_add_event(causes, key, event, object, subscription->cause_kind);
    pl_controller_note_event(subscription, key, event, cause);
    if (subscription->controller->loops != NULL)
        pl_controller_heard(subscription, key, event, cause);
}

static void subscription_enqueue(struct pl_subscription *subscription, const struct pl_event *event,
                                 const struct pl_requests *requests)
{
    struct pl_controller *c = subscription->controller;
    struct pl_add how = {.priority = pl_event_priority(event)};
    bool is_own = subscription->handler.by == PL_MAP_SELF; /* the key is the object's */
    struct pl_buf object = PL_BUF_INIT;
    if (!is_own && requests->count > 0)
        pl_meta_put_key(pl_doc_root(event->object), &object);
    for (size_t i = 0; i < requests->count; i++) {
        struct pl_slice key = pl_requests_key(requests, i);
        if (!pl_subscription_may_queue(subscription, event, key))
            continue;
        if (event->again == PL_AGAIN_RELOAD) {
            pl_causes_add(&c->causes, key, PL_CAUSE_RELOAD);
            pl_controller_note(c, key, PL_HAPPENED_EVENT, 0, "RELOAD: the code has changed");
        } else if (event->again != PL_AGAIN_NOT) {
            pl_causes_add(&c->causes, key, PL_CAUSE_RESYNC);
            pl_controller_note(c, key, PL_HAPPENED_EVENT, 0,
                               event->again == PL_AGAIN_RESYNC
                                   ? "RESYNC: events were left out"
                                   : "RESYNC: another replica has acted meanwhile");
        } else {
            add_cause(subscription, event, key, is_own ? key : pl_buf_slice(&object));
        }
        pl_workqueue_add(c->queue, key, &how, pl_controller_now(c));
    }
    pl_buf_deinit(&object);
    if (requests->count > 0)
        pl_controller_drive(c);
}

/* A paused For object was resumed, is being deleted, or is gone: predicates must not hide that. */
static bool check_parked(struct pl_subscription *subscription, const struct pl_event *event)
{
    struct pl_controller *c = subscription->controller;
    if (subscription->source->role != PL_SOURCE_FOR || c->parked.count == 0)
        return false;
    struct pl_buf key = PL_BUF_INIT;
    pl_meta_put_key(pl_doc_root(event->object), &key);
    bool paused = event->type != PL_EVENT_DELETE && pl_object_is_paused(pl_doc_root(event->object));
    bool resumed = !paused && pl_map_has(&c->parked, pl_buf_slice(&key));
    if (resumed)
        pl_controller_unpark(c, pl_buf_slice(&key));
    pl_buf_deinit(&key);
    return resumed;
}

static void note_resumed(struct pl_subscription *subscription, const struct pl_event *event)
{
    struct pl_buf key = PL_BUF_INIT;
    pl_meta_put_key(pl_doc_root(event->object), &key);
    add_cause(subscription, event, pl_buf_slice(&key), pl_buf_slice(&key));
    pl_buf_deinit(&key);
}

static void dropped(struct pl_subscription *subscription, const struct pl_event *event)
{
    struct pl_controller *c = subscription->controller;
    const struct pl_controller_options *by = &subscription->edition->o;
    pl_controller_note_dropped(subscription, event);
    if (event->type != PL_EVENT_DELETE || subscription->source->role != PL_SOURCE_FOR)
        return;
    struct pl_buf key = PL_BUF_INIT;
    struct pl_queued queued;
    pl_meta_put_key(pl_doc_root(event->object), &key);
    pl_controller_waits_no_more(c, pl_buf_slice(&key));
    if (by->ops->gone != NULL &&
        !pl_workqueue_look(c->queue, pl_buf_slice(&key), pl_controller_now(c), &queued))
        by->ops->gone(by->self, c, pl_buf_slice(&key));
    pl_buf_deinit(&key);
}

/* ---- events ---- */

void pl_subscription_answered(struct pl_subscription *subscription, struct pl_asked *asked)
{
    const struct pl_event *event = &asked->q.event;
    if (pl_predicate_test(subscription->source->predicate, event, pl_asked_verdict, asked) ==
        PL_VERDICT_DROP) {
        dropped(subscription, event);
        return;
    }
    if (!asked->q.ask_map)
        pl_handler_requests(&subscription->handler, event, &asked->requests);
    subscription_enqueue(subscription, event, &asked->requests);
}

static struct pl_subscription *subscription_of(struct pl_follower *follower)
{
    return PL_CONTAINER_OF(follower, struct pl_subscription, follower);
}

void pl_subscription_deliver(struct pl_subscription *subscription, const struct pl_event *event)
{
    struct pl_controller *c = subscription->controller;
    if (pl_controller_is_over(c))
        return;
    bool resumed = check_parked(subscription, event);
    enum pl_verdict verdict = pl_predicate_test(subscription->source->predicate, event, NULL, NULL);
    if (verdict == PL_VERDICT_DROP) {
        if (resumed)
            note_resumed(subscription, event);
        else
            dropped(subscription, event);
        return;
    }
    pl_requests_clear(&c->requests);
    if (verdict == PL_VERDICT_ASK)
        pl_subscription_ask(subscription, event, true);
    else if (pl_handler_requests(&subscription->handler, event, &c->requests))
        subscription_enqueue(subscription, event, &c->requests);
    else
        pl_subscription_ask(subscription, event, false);
}

static void on_subscription_event(struct pl_follower *follower, const struct pl_event *event)
{
    pl_subscription_deliver(subscription_of(follower), event);
}

static void caught_up(struct pl_follower *follower)
{
    pl_controller_check(subscription_of(follower)->controller);
}

static bool is_full(struct pl_follower *follower)
{
    return subscription_of(follower)->controller->asked >= PL_QUESTIONS_MAX;
}

/* ---- life ---- */

static const struct pl_source_spec *for_source(const struct pl_controller *c, size_t *index)
{
    for (size_t i = 0; i < c->spec->source_count; i++)
        if (c->spec->sources[i].role == PL_SOURCE_FOR) {
            *index = i;
            return &c->spec->sources[i];
        }
    return NULL;
}

void pl_subscription_init(struct pl_subscription *subscription, struct pl_edition *edition,
                          const struct pl_source_spec *source, size_t number)
{
    subscription->edition = edition;
    subscription->number = number;
    subscription->source = source;
    pl_kind_text(&subscription->source->kind, subscription->kind);
    subscription->handler.by = subscription->source->map_by;
    subscription->handler.every_owner = subscription->source->match_every_owner;
    subscription->follower.on_event = on_subscription_event;
    subscription->follower.is_full = is_full;
    subscription->follower.caught_up = caught_up;
}

void pl_subscription_adopt(struct pl_subscription *subscription, struct pl_controller *c)
{
    subscription->controller = c;
    struct pl_slice kind = pl_slice_z(subscription->kind);
    if (!pl_map_has(&c->kinds, kind))
        pl_map_put(&c->kinds, kind, c);
    subscription->cause_kind = pl_map_key(&c->kinds, kind).ptr;
}

bool pl_subscription_is_twin(const struct pl_subscription *a, const struct pl_subscription *b)
{
    return a->source->role == b->source->role && a->informer != NULL && a->informer == b->informer;
}

/* The For objects' keys, whatever predicates say; for other sources, keys that the predicates let
 * pass. */
void pl_subscription_show_again(struct pl_subscription *subscription, struct pl_doc *object,
                                enum pl_again why)
{
    struct pl_event event = {
        .type = PL_EVENT_CREATE, .object = object, .initial = true, .again = why};
    if (subscription->source->role != PL_SOURCE_FOR) {
        pl_subscription_deliver(subscription, &event);
        return;
    }
    struct pl_requests *requests = &subscription->controller->requests;
    pl_requests_clear(requests);
    pl_handler_requests(&subscription->handler, &event, requests);
    subscription_enqueue(subscription, &event, requests);
}

void pl_subscription_show_end(struct pl_subscription *subscription, struct pl_doc *object)
{
    struct pl_event event = {.type = PL_EVENT_DELETE, .object = object, .stale = true};
    pl_subscription_deliver(subscription, &event);
}

static void on_synced(struct pl_sync_wait *wait)
{
    struct pl_subscription *subscription = PL_CONTAINER_OF(wait, struct pl_subscription, synced);
    struct pl_edition *edition = subscription->edition;
    struct pl_controller *c = edition->controller;
    subscription->is_synced = true;
    if (subscription->source->role == PL_SOURCE_FOR)
        pl_edition_open_sources(edition); /* sources that depended on its kind */
    if (c != NULL && c->edition == edition)
        pl_controller_check(c);
    if (edition->on_sync != NULL)
        edition->on_sync(edition->on_sync_arg); /* may free the edition */
}

void pl_subscription_start(struct pl_subscription *subscription)
{
    if (pl_source_is_family(subscription->source)) {
        subscription->is_synced = true; /* it has no cache of its own */
        return;
    }
    struct pl_cluster *cluster = subscription->source->cluster != NULL
                                     ? subscription->source->cluster
                                     : subscription->edition->o.cluster;
    subscription->informer = pl_informers_take(
        pl_cluster_informers(cluster), &subscription->source->kind, &subscription->source->options);
    subscription->is_synced = pl_informer_has_synced(subscription->informer);
    subscription->synced.synced = on_synced;
    pl_informer_on_sync(subscription->informer, &subscription->synced);
}

void pl_subscriptions_listen(struct pl_controller *c)
{
    size_t of_for = 0;
    const struct pl_source_spec *owner = for_source(c, &of_for);
    for (size_t i = 0; i < c->spec->source_count; i++) {
        struct pl_subscription *subscription = &c->subscriptions[i];
        if (owner != NULL) {
            subscription->handler.owner = owner->kind;
            subscription->handler.owner_cluster_scoped =
                !pl_informer_resource(c->subscriptions[of_for].informer)->namespaced;
        }
        if (subscription->source->role != PL_SOURCE_READS && subscription->informer != NULL &&
            !pl_link_is_linked(&subscription->follower.link))
            pl_informer_follow(subscription->informer, &subscription->follower);
    }
}

void pl_subscription_stop(struct pl_subscription *subscription)
{
    pl_backlog_unfollow(&subscription->follower);
    pl_informer_forget_sync(&subscription->synced);
    pl_informer_unref(subscription->informer);
    subscription->informer = NULL;
    pl_free(subscription->failing.message);
    subscription->failing.message = NULL;
}

bool pl_subscription_is_ready(const struct pl_subscription *subscription)
{
    return subscription->is_synced && !pl_follower_is_behind(&subscription->follower) &&
           subscription->initial == 0;
}
