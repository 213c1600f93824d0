/* One controller as one generation declares it, and how a controller adopts an edition: a source
 * that both editions watch is handed over at its current position, others are started and stopped.
 * A run holds the edition under which it began. */
#include "control/controller_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "object/meta.h"

#include <string.h>

/* ---- lifetime ---- */

static struct pl_informer *informer_of(const struct pl_writer *writer, size_t source)
{
    return pl_edition_informer(PL_CONTAINER_OF(writer, struct pl_edition, writer), source);
}

struct pl_edition *pl_edition_create(const struct pl_controller_options *options,
                                     struct pl_controller_spec *spec)
{
    struct pl_edition *edition = PL_NEW(struct pl_edition);
    edition->refs = 1;
    edition->o = *options;
    edition->spec = *spec;
    edition->writer = (struct pl_writer){.spec = &edition->spec, .informer = informer_of};
    *spec = (struct pl_controller_spec){0};
    pl_edition_share(edition);
    edition->subscriptions =
        pl_calloc(edition->spec.source_count + 1, sizeof(struct pl_subscription));
    for (size_t i = 0; i < edition->spec.source_count; i++)
        pl_subscription_init(&edition->subscriptions[i], edition, &edition->spec.sources[i], i);
    return edition;
}

struct pl_edition *pl_edition_ref(struct pl_edition *edition)
{
    edition->refs++;
    return edition;
}

void pl_edition_unref(struct pl_edition *edition)
{
    if (edition == NULL || --edition->refs > 0)
        return;
    for (size_t i = 0; i < edition->spec.source_count; i++)
        pl_subscription_stop(&edition->subscriptions[i]);
    pl_members_free(edition);
    pl_link_unlink(&edition->of_controller);
    pl_free(edition->subscriptions);
    pl_controller_spec_deinit(&edition->spec);
    pl_free(edition);
}

void pl_edition_tell_ran(const struct pl_edition *edition, const struct pl_ran *ran)
{
    if (edition->o.ran != NULL)
        edition->o.ran(edition->o.ran_arg, ran);
}

const struct pl_controller_options *pl_edition_options(const struct pl_edition *edition)
{
    return &edition->o;
}

void pl_edition_open(struct pl_edition *edition, void (*on_sync)(void *arg), void *arg)
{
    edition->on_sync = on_sync;
    edition->on_sync_arg = arg;
    if (edition->is_open)
        return;
    edition->is_open = true;
    pl_edition_open_sources(edition);
}

void pl_edition_open_sources(struct pl_edition *edition)
{
    pl_edition_share(edition);
    for (size_t i = 0; i < edition->spec.source_count; i++)
        if (edition->subscriptions[i].informer == NULL && pl_edition_may_open(edition, i))
            pl_subscription_start(&edition->subscriptions[i]);
}

void pl_edition_forget_sync(struct pl_edition *edition)
{
    edition->on_sync = NULL;
}

bool pl_edition_is_synced(const struct pl_edition *edition)
{
    for (size_t i = 0; i < edition->spec.source_count; i++)
        if (!edition->subscriptions[i].is_synced)
            return false;
    return edition->is_open;
}

const struct pl_writer *pl_edition_writer(const struct pl_edition *edition)
{
    return &edition->writer;
}

const struct pl_controller_spec *pl_edition_spec(const struct pl_edition *edition)
{
    return &edition->spec;
}

struct pl_informer *pl_edition_informer(const struct pl_edition *edition, size_t source)
{
    return edition->subscriptions[source].informer;
}

int pl_edition_check_key(const struct pl_edition *edition, const char *verb, struct pl_slice key,
                         struct pl_err *err)
{
    struct pl_slice ns, name;
    struct pl_err why;
    pl_err_clear(&why);
    if (pl_key_split(key, &ns, &name) != 0)
        return pl_err_set(err, PL_EINVAL, "%s to controller \"%s\": \"%.*s\" is no key", verb,
                          edition->spec.name, PL_FMT(key));
    for (size_t i = 0; i < edition->spec.source_count; i++) {
        if (edition->spec.sources[i].role != PL_SOURCE_FOR)
            continue;
        const struct pl_informer *informer = pl_edition_informer(edition, i);
        const struct pl_resource *resource =
            informer != NULL ? pl_informer_resource(informer) : NULL;
        if (resource != NULL && pl_resource_check_scope(resource, ns, name, &why) != 0)
            return pl_err_set(err, PL_EINVAL, "%s to controller \"%s\": %s", verb,
                              edition->spec.name, why.message);
    }
    return 0;
}

bool pl_edition_is_quiet(const struct pl_edition *edition)
{
    return edition->refs == 1;
}

void pl_edition_cancel_runs(struct pl_edition *edition, const struct pl_err *why)
{
    if (edition->controller != NULL)
        pl_controller_cancel_all(edition->controller, edition, why);
}

/* ---- adopting ---- */

/* A source of the next edition that watches the same takes over its position at the informer. */
static void edition_hand_over(struct pl_edition *from, struct pl_edition *to)
{
    for (size_t i = 0; i < to->spec.source_count; i++) {
        struct pl_subscription *next = &to->subscriptions[i];
        for (size_t j = 0; j < from->spec.source_count; j++) {
            struct pl_subscription *last = &from->subscriptions[j];
            if (!pl_subscription_is_twin(last, next) || !pl_link_is_linked(&last->follower.link))
                continue;
            pl_backlog_hand_over(&last->follower, &next->follower);
            break;
        }
    }
    pl_members_hand_over(from, to);
}

static void fall_silent(struct pl_edition *edition)
{
    for (size_t i = 0; i < edition->spec.source_count; i++)
        pl_backlog_unfollow(&edition->subscriptions[i].follower);
    pl_members_fall_silent(edition);
}

void pl_controller_leave_editions(struct pl_controller *c)
{
    fall_silent(c->edition);
    PL_LIST_FOR (link, &c->its_editions) {
        PL_CONTAINER_OF(link, struct pl_edition, of_controller)->controller = NULL;
        pl_link_unlink(link);
    }
    pl_edition_unref(c->edition);
}

/* Applies changed times and limits of the spec. */
static void retime(struct pl_controller *c, const struct pl_controller_spec *old)
{
    if (memcmp(&old->rate, &c->spec->rate, sizeof old->rate) != 0)
        pl_workqueue_set_limit(c->queue, pl_controller_current_limit(c));
    if (c->running && old->resync_period_ns != c->spec->resync_period_ns)
        pl_controller_arm_resync(c);
    if (c->metrics.on)
        pl_series_set(c->metrics.max_concurrent, pl_controller_workers(c));
}

void pl_controller_use(struct pl_controller *c, struct pl_edition *edition)
{
    c->edition = pl_edition_ref(edition);
    c->spec = &edition->spec;
    c->writer.spec = c->spec;
    c->subscriptions = edition->subscriptions;
    c->editions++;
    edition->controller = c;
    pl_link_unlink(&edition->of_controller); /* it may have been here before */
    pl_list_push(&c->its_editions, &edition->of_controller);
    edition->serial = c->editions;
    for (size_t i = 0; i < edition->spec.source_count; i++)
        pl_subscription_adopt(&edition->subscriptions[i], c);
    for (size_t i = 0; i < edition->member_count; i++)
        pl_subscription_adopt(&edition->members[i]->subscription, c);
}

/* The order of the steps:
 *
 * 1. Runs that were handed over ahead are taken back first: they would begin under the old edition.
 * 2. The new edition follows the members of families before it takes over positions, since it takes
 * over theirs, too.
 * 3. Positions are taken over before the old edition falls silent, so that no event is lost.
 * 4. The old edition falls silent before the new one is used, so that no event is delivered twice.
 * 5. The old edition is released after its times were compared with the new ones.
 * 6. Keys are queued again last: pl_controller_check may have begun to listen to new sources. */
void pl_controller_adopt(struct pl_controller *c, struct pl_edition *edition, bool changed)
{
    PL_REQUIRE(strcmp(c->name, edition->spec.name) == 0 && edition->is_open);
    pl_controller_take_back(c);
    struct pl_edition *old = c->edition;
    struct pl_task_spec task = old->spec.task;
    bool ready = c->started && pl_edition_is_synced(edition), was_back = c->retired;
    enum pl_again showing = c->showing;
    pl_controller_stop_showing(c);
    if (!c->retired)
        pl_members_carry(old, edition);
    if (ready && !c->retired)
        edition_hand_over(old, edition);
    fall_silent(old);
    c->retired = false;
    pl_controller_use(c, edition);
    pl_subscriptions_renew_retries(c);
    retime(c, &old->spec);
    c->listening = false;
    if (c->started && !ready)
        pl_controller_await_sources(c);
    pl_edition_unref(old);
    pl_controller_check_parked(c);
    pl_controller_task_adopted(c, &task, changed);
    pl_controller_check(c);
    if (changed && !was_back && c->listening && c->spec->on_reload_enqueue)
        pl_controller_show_again(c, PL_AGAIN_RELOAD);
    if (showing != PL_AGAIN_NOT && c->listening)
        pl_controller_show_again(c, showing);
    pl_subscriptions_check_overflow(c);
    pl_controller_drive(c);
}

void pl_controller_retire(struct pl_controller *c,
                          void (*gone)(void *arg, struct pl_controller *controller), void *arg)
{
    if (c->retired || c->stopping)
        return;
    pl_log(PL_LOG_INFO, "controller is no longer declared", pl_str("controller", c->name),
           pl_int("running", (int64_t)c->in_flight));
    c->retired = true;
    c->running = c->listening = false;
    pl_controller_take_back(c);
    c->gone = gone;
    c->gone_arg = arg;
    pl_controller_stop_showing(c);
    pl_controller_stop_timers(c);
    if (c->spec->task.form != PL_NO_TASK)
        pl_controller_ask_to_stop(c);
    fall_silent(c->edition);
    pl_subscriptions_drop(c);
    pl_controller_drive(c);
}

/* ---- queueing everything again ---- */

#define SLICE_NS   (500 * PL_US)
#define SLICE_DOCS 64

static bool has_for(const struct pl_controller *c)
{
    for (size_t i = 0; i < c->spec->source_count; i++)
        if (c->spec->sources[i].role == PL_SOURCE_FOR)
            return true;
    return false;
}

/* After a change of the code: the For objects' keys; without For, all keys that its sources queue.
 * If events of a map function were left out, also the keys that it would queue. */
static bool is_shown_again(const struct pl_controller *c, const struct pl_source_spec *source)
{
    if (source->role == PL_SOURCE_FOR)
        return true;
    if (c->showing >= PL_AGAIN_RESYNC && source->map_by == PL_MAP_EXTERNAL)
        return true;
    return !has_for(c) && source->role == PL_SOURCE_WATCHES;
}

static void show_docs(struct pl_subscription *subscription, const struct pl_docs *docs,
                      enum pl_again why)
{
    for (size_t i = 0; i < docs->count; i++)
        pl_subscription_show_again(subscription, docs->items[i], why);
}

/* The sources, then the members of families. */
static struct pl_subscription *shown_at(struct pl_controller *c, size_t i)
{
    return i < c->spec->source_count
               ? &c->subscriptions[i]
               : &c->edition->members[i - c->spec->source_count]->subscription;
}

/* Evaluates one piece of one source; false when everything is done. */
static bool show_piece(struct pl_controller *c)
{
    while (c->show_source < c->spec->source_count + c->edition->member_count) {
        struct pl_subscription *subscription = shown_at(c, c->show_source);
        bool more = false;
        if (subscription->informer != NULL && is_shown_again(c, subscription->source)) {
            struct pl_docs docs = {0};
            more = pl_store_walk(pl_informer_store(subscription->informer), &c->show_walk,
                                 SLICE_DOCS, &docs);
            show_docs(subscription, &docs, c->showing);
            pl_docs_deinit(&docs);
        }
        if (more)
            return true;
        c->show_source++;
        c->show_walk = (struct pl_store_walk){0};
    }
    return false;
}

static void on_show(struct pl_timer *timer)
{
    struct pl_controller *c = PL_CONTAINER_OF(timer, struct pl_controller, show);
    int64_t until = pl_controller_now(c) + SLICE_NS;
    do {
        if (c->asked >= PL_QUESTIONS_MAX) {
            pl_timer_start(c->timers, timer, 5 * PL_MS, on_show);
            return;
        }
        if (!show_piece(c)) {
            c->showing = PL_AGAIN_NOT;
            return;
        }
    } while (pl_controller_now(c) < until);
    pl_timer_start(c->timers, timer, 0, on_show);
}

void pl_controller_stop_showing(struct pl_controller *c)
{
    pl_timer_stop(c->timers, &c->show);
    c->showing = PL_AGAIN_NOT;
}

void pl_controller_show_again(struct pl_controller *c, enum pl_again why)
{
    if (why > c->showing) /* a resync covers everything that changed code must see */
        c->showing = why;
    c->show_source = 0;
    c->show_walk = (struct pl_store_walk){0};
    pl_timer_start(c->timers, &c->show, 0, on_show); /* the switch itself must be short */
}

void pl_controller_catch_up(struct pl_controller *c)
{
    if (!c->was_away || !c->listening)
        return;
    c->was_away = false;
    pl_controller_show_again(c, PL_AGAIN_RETURNED);
}
