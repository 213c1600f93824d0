/* Questions about events: predicates and map functions that are the implementer's are asked here,
 * and a map function that failed is asked again later, by then of the current edition.
 *
 * No event may be lost without a trace. A failed question waits with growing delays; a later
 * event of the same object and source is folded into it. The number of waiting questions is
 * limited: events beyond the limit are counted, and every object is mapped again when there is
 * room. A question holds its edition until it is freed. */
#include "control/controller_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "object/meta.h"

#include <string.h>

#define MAP_RETRY_BASE     PL_SECOND
#define MAP_RETRY_CAP      (300 * PL_SECOND)
#define MAP_RETRIES_MAX    100000
#define SAY_AGAIN          (60 * PL_SECOND)
#define MAP_FAILURES_NAMED 10

/* A question about one event; it is asked again when the map function failed. */
struct ask {
    struct pl_asked asked;
    struct pl_subscription *subscription; /* back-pointer */
    bool initial;                         /* counted in the subscription's initial */
    int failures;
    struct pl_heap_node node; /* in the controller's retries */
    int64_t due_ns;
    char *retry_key; /* owned; in retry_keys; NULL: not waiting */
};

static struct ask *ask_of_node(const struct pl_heap_node *node)
{
    return PL_CONTAINER_OF(node, struct ask, node);
}

static void free_ask(struct ask *ask)
{
    PL_REQUIRE(ask->retry_key == NULL);
    struct pl_edition *edition = ask->subscription->edition;
    pl_asked_deinit(&ask->asked);
    pl_free(ask);
    pl_edition_unref(edition);
}

static void flush_sources(struct pl_controller *c)
{
    for (size_t i = 0; i < c->spec->source_count; i++)
        if (c->subscriptions[i].informer != NULL)
            pl_informer_flush(c->subscriptions[i].informer);
    for (size_t i = 0; i < c->edition->member_count; i++)
        if (c->edition->members[i]->subscription.informer != NULL)
            pl_informer_flush(c->edition->members[i]->subscription.informer);
}

/* The same error is logged in full once a minute, and in between once for each other object, up to
 * a limit. Unlogged ones are counted. */
static bool is_said_again(struct pl_failing *failing, const struct ask *ask, int64_t now)
{
    const char *message = ask->asked.map_failure;
    if (failing->message == NULL || strcmp(failing->message, message) != 0 ||
        now - failing->logged_ns >= SAY_AGAIN)
        return false;
    if (ask->failures == 0 && failing->named < MAP_FAILURES_NAMED)
        failing->named++;
    else
        failing->repeated++;
    return true;
}

static void log_map_failure(struct pl_subscription *subscription, const struct ask *ask)
{
    struct pl_failing *failing = &subscription->failing;
    int64_t now = pl_controller_now(subscription->controller);
    int unsaid = failing->repeated;
    bool again = is_said_again(failing, ask, now);
    failing->failures++;
    if (again && failing->repeated > unsaid)
        return;
    struct pl_buf key = PL_BUF_INIT;
    pl_meta_put_key(pl_doc_root(ask->asked.q.event.object), &key);
    struct pl_field fields[] = {
        pl_str("controller", subscription->controller->name),
        pl_str("kind", subscription->kind),
        pl_strn("key", pl_buf_slice(&key)),
        pl_int("attempt", ask->failures),
        pl_str("error", ask->asked.map_failure),
        pl_int("repeated", failing->repeated),
        pl_str("traceback", ask->asked.traceback),
    };
    bool in_full = !again && ask->asked.traceback != NULL;
    pl_log_fields(PL_LOG_ERROR, "map function failed: the object is mapped again later", fields,
                  PL_ARRAY_LEN(fields) - !in_full);
    pl_buf_deinit(&key);
    if (again)
        return;
    pl_free(failing->message);
    failing->message = pl_strdup(ask->asked.map_failure);
    failing->logged_ns = now;
    failing->repeated = failing->named = 0;
}

static void asking_send(struct ask *ask)
{
    struct pl_controller *c = ask->subscription->controller;
    c->asked++;
    const struct pl_controller_options *by = &ask->subscription->edition->o;
    by->ops->ask(by->self, &ask->asked.q);
}

/* Sets the parts of the question, by the ask's source. */
static void describe_question(struct ask *ask, bool predicates)
{
    const struct pl_subscription *subscription = ask->subscription;
    ask->asked.q.source = subscription->source;
    ask->asked.q.external = subscription->source->external;
    ask->asked.q.kind = subscription->kind;
    ask->asked.q.ask_predicates = predicates;
    ask->asked.q.ask_map = subscription->source->map_by == PL_MAP_EXTERNAL;
}

static void stop_waiting(struct pl_controller *c, struct ask *ask)
{
    pl_heap_remove(&c->retries, &ask->node);
    pl_map_remove(&c->retry_keys, pl_slice_z(ask->retry_key));
    pl_free(ask->retry_key);
    ask->retry_key = NULL;
}

static void arm_retry(struct pl_controller *c);

static void on_asking_retry(struct pl_timer *timer)
{
    struct pl_controller *c = PL_CONTAINER_OF(timer, struct pl_controller, retry);
    struct pl_heap_node *node;
    while ((node = pl_heap_peek(&c->retries)) != NULL &&
           ask_of_node(node)->due_ns <= pl_controller_now(c) && c->asked < PL_QUESTIONS_MAX) {
        struct ask *ask = ask_of_node(node);
        stop_waiting(c, ask);
        pl_asked_reset(&ask->asked);
        asking_send(ask);
    }
    arm_retry(c);
}

static void arm_retry(struct pl_controller *c)
{
    struct pl_heap_node *node = pl_heap_peek(&c->retries);
    if (node == NULL || pl_controller_is_over(c)) {
        pl_timer_stop(c->timers, &c->retry);
        pl_wait_end(&c->retry_wait);
        return;
    }
    int64_t delay = ask_of_node(node)->due_ns - pl_controller_now(c);
    pl_timer_start(c->timers, &c->retry, delay > 0 ? delay : 100 * PL_MS, on_asking_retry);
    pl_controller_wait_until(c, &c->retry_wait, "map retry", c->retry.due_ns);
}

/* A waiting retry also covers later changes of the object. */
static void fold(struct ask *waiting, const struct ask *newer)
{
    struct pl_event *event = &waiting->asked.q.event;
    const struct pl_event *later = &newer->asked.q.event;
    if (event->old == NULL && event->type != PL_EVENT_CREATE)
        event->old = pl_doc_ref(event->object);
    pl_doc_ref(later->object);
    pl_doc_unref(event->object);
    event->object = later->object;
    event->type =
        later->type == PL_EVENT_CREATE && event->old != NULL ? PL_EVENT_UPDATE : later->type;
}

static size_t retries_max(const struct pl_controller *c)
{
    size_t told = c->edition->o.map_retries_max;
    return told > 0 ? told : MAP_RETRIES_MAX;
}

/* There is no room for another retry. The keys are queued when there is room again. */
static void overflow(struct pl_controller *c, const struct ask *ask)
{
    int64_t now = pl_controller_now(c);
    c->unmapped++;
    c->overflowed = true;
    if (c->unmapped_said_ns != 0 && now - c->unmapped_said_ns < SAY_AGAIN)
        return;
    c->unmapped_said_ns = now;
    pl_log(
        PL_LOG_ERROR, "too many objects wait for their map function: further objects are left out",
        pl_str("controller", c->name), pl_str("kind", ask->subscription->kind),
        pl_int("waiting", (int64_t)c->retry_keys.count), pl_int("left_out", (int64_t)c->unmapped));
}

void pl_subscriptions_check_overflow(struct pl_controller *c)
{
    if (!c->overflowed || !c->listening || c->retry_keys.count > retries_max(c) / 2)
        return;
    pl_log(PL_LOG_WARN, "events were left out: every object is mapped again",
           pl_str("controller", c->name), pl_int("left_out", (int64_t)c->unmapped));
    c->overflowed = false;
    c->unmapped = 0;
    c->unmapped_said_ns = 0;
    pl_controller_show_again(c, PL_AGAIN_RESYNC);
}

/* Waits until its due time; a second one of the same object and source is folded into the first. */
static void wait_for_retry(struct pl_controller *c, struct ask *ask)
{
    struct pl_buf key = PL_BUF_INIT;
    pl_buf_add_f(&key, "%zu ", ask->subscription->number);
    pl_meta_put_key(pl_doc_root(ask->asked.q.event.object), &key);
    struct ask *waiting = pl_map_get(&c->retry_keys, pl_buf_slice(&key));
    if (waiting != NULL || c->retry_keys.count >= retries_max(c)) {
        if (waiting != NULL)
            fold(waiting, ask);
        else
            overflow(c, ask);
        free_ask(ask);
        pl_buf_deinit(&key);
        return;
    }
    ask->retry_key = pl_buf_take(&key);
    pl_map_put(&c->retry_keys, pl_slice_z(ask->retry_key), ask);
    pl_heap_push(&c->retries, &ask->node);
}

static void retry_later(struct pl_controller *c, struct ask *ask)
{
    int shift = ask->failures < 16 ? ask->failures : 16;
    int64_t delay = MAP_RETRY_BASE << shift;
    ask->failures++;
    ask->due_ns = pl_controller_now(c) + (delay < MAP_RETRY_CAP ? delay : MAP_RETRY_CAP);
    wait_for_retry(c, ask);
    arm_retry(c);
}

bool pl_subscriptions_try_again(const struct pl_controller *c, int tries)
{
    for (size_t i = 0; i < c->retries.count; i++)
        if (ask_of_node(c->retries.nodes[i])->failures <= tries)
            return true;
    return false;
}

/* The source of the current edition that receives the same events; NULL: none. */
static struct pl_subscription *current_of(struct pl_controller *c, struct pl_subscription *of)
{
    if (of->edition == c->edition)
        return of;
    if (of->member != NULL)
        return pl_members_twin(c->edition, of);
    for (size_t i = 0; i < c->spec->source_count; i++)
        if (pl_subscription_is_twin(of, &c->subscriptions[i]))
            return &c->subscriptions[i];
    return NULL;
}

/* A repeated question goes to the current edition's code. False: the edition has no such source, or
 * knows the answer itself, and the ask is freed. */
static bool asking_renew(struct pl_controller *c, struct ask *ask)
{
    struct pl_subscription *current = current_of(c, ask->subscription);
    if (current == ask->subscription)
        return true;
    if (current == NULL || current->source->map_by != PL_MAP_EXTERNAL) {
        if (current != NULL)
            pl_subscription_deliver(current, &ask->asked.q.event);
        free_ask(ask);
        return false;
    }
    struct pl_edition *old = ask->subscription->edition;
    ask->subscription = current;
    describe_question(ask, current->source->predicate != NULL);
    pl_edition_ref(current->edition);
    pl_edition_unref(old);
    return true;
}

static void on_asking_answer(struct pl_asked *asked)
{
    struct ask *ask = PL_CONTAINER_OF(asked, struct ask, asked);
    struct pl_subscription *subscription = ask->subscription;
    struct pl_controller *c = subscription->controller;
    bool was_full = c->asked >= PL_QUESTIONS_MAX;
    c->asked--;
    if (ask->initial)
        subscription->initial--;
    ask->initial = false;
    if (pl_controller_is_over(c)) {
        free_ask(ask);
        pl_controller_drive(c);
        return;
    }
    if (asked->map_failure != NULL) {
        log_map_failure(subscription, ask);
        if (asking_renew(c, ask))
            retry_later(c, ask);
    } else {
        pl_subscription_answered(subscription, asked);
        free_ask(ask);
        pl_subscriptions_check_overflow(c);
    }
    if (was_full)
        flush_sources(c);
    pl_controller_drive(c);
}

void pl_subscription_ask(struct pl_subscription *subscription, const struct pl_event *event,
                         bool predicates)
{
    struct ask *ask = PL_NEW(struct ask);
    pl_asked_init(&ask->asked, event, on_asking_answer);
    ask->subscription = subscription;
    pl_edition_ref(subscription->edition);
    describe_question(ask, predicates);
    ask->initial = event->initial;
    subscription->initial += event->initial;
    asking_send(ask);
}

static bool is_sooner(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
    return ask_of_node(a)->due_ns < ask_of_node(b)->due_ns;
}

void pl_subscriptions_init_retries(struct pl_controller *c)
{
    pl_heap_init(&c->retries, is_sooner);
}

void pl_subscriptions_renew_retries(struct pl_controller *c)
{
    struct pl_list asks;
    pl_list_init(&asks);
    struct pl_heap_node *node;
    while ((node = pl_heap_peek(&c->retries)) != NULL) {
        struct ask *ask = ask_of_node(node);
        stop_waiting(c, ask);
        pl_list_push(&asks, &ask->asked.q.link);
    }
    struct pl_link *link;
    while ((link = pl_list_pop(&asks)) != NULL) {
        struct ask *ask = PL_CONTAINER_OF(link, struct ask, asked.q.link);
        if (asking_renew(c, ask))
            wait_for_retry(c, ask);
    }
    arm_retry(c);
}

void pl_subscriptions_drop(struct pl_controller *c)
{
    struct pl_heap_node *node;
    pl_timer_stop(c->timers, &c->retry);
    pl_wait_end(&c->retry_wait);
    while ((node = pl_heap_peek(&c->retries)) != NULL) {
        struct ask *ask = ask_of_node(node);
        stop_waiting(c, ask);
        free_ask(ask);
    }
}
