/* Runs a controller's keys with a candidate beside the running controller. It has its own queue:
 * keys at rest once, and each key whose run in the running controller has ended. The effects of
 * both are compared; nothing is sent. */
#include "control/rehearsal.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "control/controller_impl.h"
#include "object/meta.h"

#define RUN_LIMIT_NS                                                                               \
    (30 * PL_SECOND)   /* the longest time of a candidate's run, whatever its own timeout */
#define AT_ONCE    4   /* concurrent runs */
#define AHEAD      256 /* limit of queued keys; beyond it the walk pauses */
#define SLICE_DOCS 64
#define WALK_NS    (5 * PL_MS) /* pause between pieces while the queue is long */
#define AGAIN_NS                                                                                   \
    (50 * PL_MS) /* pause before checking a key again that the running controller is working on */
#define FOLLOW_KEY 8 /* limit of runs of one key that wait to be followed */
#define FOLLOW_ALL 4096

/* A run of the running controller that the candidate has not followed yet. */
struct ran {
    struct pl_link link;        /* in a key's rans */
    struct pl_capture *capture; /* counted */
    bool failed;
};

struct key {
    struct pl_list rans; /* oldest first */
    size_t count;
};

struct run {
    struct pl_run run;
    struct pl_link link; /* in the rehearsal's runs */
    struct pl_rehearsal *rehearsal;
    struct pl_timer timeout;
    struct ran *ran; /* owned: the run that it follows; NULL: none */
    char *key;       /* owned */
    bool disturbed;  /* the running controller worked on the key meanwhile */
    bool canceled;
    struct pl_cause cause;
};

struct pl_rehearsal {
    struct pl_rehearsal_options o;
    struct pl_timers *timers;
    struct pl_workqueue *queue;
    struct pl_map keys; /* runs to follow: key -> struct key, owned */
    size_t to_follow;
    struct pl_list runs;
    size_t in_flight;
    struct pl_timer walk_on, due;
    struct pl_task drive;
    bool drive_deferred, walking, stopped;
    size_t source;
    struct pl_store_walk walk;
    uint64_t done, skipped;
    struct pl_run_watcher watcher;
};

static int64_t rehearsal_now_of(const struct pl_rehearsal *r)
{
    return pl_clock_mono(r->timers->clock);
}

static void drive_later(struct pl_rehearsal *r);

/* ---- runs to follow ---- */

static void free_ran(struct ran *ran)
{
    if (ran == NULL)
        return;
    pl_capture_unref(ran->capture);
    pl_free(ran);
}

static struct ran *take_ran(struct pl_rehearsal *r, struct pl_slice text)
{
    struct key *key = pl_map_get(&r->keys, text);
    if (key == NULL)
        return NULL;
    struct ran *ran = PL_CONTAINER_OF(pl_list_pop(&key->rans), struct ran, link);
    r->to_follow--;
    if (--key->count == 0)
        pl_free(pl_map_remove(&r->keys, text));
    return ran;
}

static void drop_all(struct pl_rehearsal *r)
{
    size_t at = 0;
    struct pl_slice text;
    void *value;
    while (pl_map_next(&r->keys, &at, &text, &value)) {
        struct key *key = value;
        struct pl_link *link;
        while ((link = pl_list_pop(&key->rans)) != NULL)
            free_ran(PL_CONTAINER_OF(link, struct ran, link));
        pl_free(key);
    }
    pl_map_deinit(&r->keys);
    r->to_follow = 0;
}

static void rehearsal_follow(struct pl_rehearsal *r, const struct pl_run *run, bool failed)
{
    struct key *key = pl_map_get(&r->keys, run->key);
    if (r->to_follow >= FOLLOW_ALL || (key != NULL && key->count >= FOLLOW_KEY)) {
        r->skipped++;
        return;
    }
    if (key == NULL) {
        key = PL_NEW(struct key);
        pl_list_init(&key->rans);
        pl_map_put(&r->keys, run->key, key);
    }
    struct ran *ran = PL_NEW(struct ran);
    ran->capture = pl_capture_ref(run->capture);
    ran->failed = failed;
    pl_list_push(&key->rans, &ran->link);
    key->count++;
    r->to_follow++;
    struct pl_add how = {.priority = 0};
    pl_workqueue_add(r->queue, run->key, &how, rehearsal_now_of(r));
}

/* ---- reporting ---- */

/* True when the key is at rest between two attempts. */
static bool is_failing(const struct pl_rehearsal *r, struct pl_slice key)
{
    return r->o.running != NULL &&
           pl_workqueue_requeues(pl_controller_queue(r->o.running), key) > 0;
}

static void rehearsal_tell(struct pl_rehearsal *r, struct pl_slice key, const struct ran *ran,
                           const struct pl_capture *candidate, const char *error)
{
    struct pl_rehearsed rehearsed = {.key = key,
                                     .running = ran != NULL ? ran->capture : NULL,
                                     .candidate = candidate,
                                     .running_failed =
                                         ran != NULL ? ran->failed : is_failing(r, key),
                                     .error = error};
    r->done++;
    r->o.compared(r->o.arg, &rehearsed);
}

static void on_rehearsal_ran(void *arg, struct pl_controller *controller, const struct pl_run *run,
                             const struct pl_outcome_of_run *outcome)
{
    struct pl_rehearsal *r = arg;
    bool failed = pl_outcome_is_error(outcome->outcome) || outcome->outcome == PL_OUTCOME_CONFLICT;
    PL_UNUSED(controller);
    PL_LIST_FOR (link, &r->runs) {
        struct run *own = PL_CONTAINER_OF(link, struct run, link);
        if (pl_slice_eq(own->run.key, run->key))
            own->disturbed = true;
    }
    if (run->capture == NULL || outcome->outcome == PL_OUTCOME_CANCELED)
        return;
    if (pl_capture_is_disturbed(run->capture)) { /* the change that caused it has another run */
        r->skipped++;
        return;
    }
    if (r->o.edition != NULL) {
        rehearsal_follow(r, run, failed);
        return;
    }
    struct ran gone = {.capture = run->capture, .failed = failed};
    struct pl_capture *nothing = pl_capture_create();
    rehearsal_tell(r, run->key, &gone, nothing, NULL);
    pl_capture_unref(nothing);
}

/* ---- runs ---- */

/* The running controller works on the key or is about to: its run will be followed. */
static bool is_busy(struct pl_rehearsal *r, struct pl_slice key)
{
    struct pl_queued queued;
    if (r->o.running == NULL)
        return false;
    bool any =
        pl_workqueue_look(pl_controller_queue(r->o.running), key, rehearsal_now_of(r), &queued);
    return any && (queued.running || queued.ready);
}

static void rehearsal_again(struct pl_rehearsal *r, struct pl_slice key)
{
    struct pl_add how = {.priority = PL_PRIORITY_LOW, .after_ns = AGAIN_NS};
    pl_workqueue_add(r->queue, key, &how, rehearsal_now_of(r));
}

static const char *error_of(const struct pl_outcome_of_run *outcome)
{
    bool failed = pl_outcome_is_error(outcome->outcome) || outcome->outcome == PL_OUTCOME_CONFLICT;
    return !failed ? NULL : outcome->message != NULL ? outcome->message : "it failed";
}

static void on_finished(struct pl_run *finished, const struct pl_outcome_of_run *outcome)
{
    struct run *run = PL_CONTAINER_OF(finished, struct run, run);
    struct pl_rehearsal *r = run->rehearsal;
    struct pl_slice key = run->run.key;
    pl_timer_stop(r->timers, &run->timeout);
    pl_link_unlink(&run->link);
    r->in_flight--;
    bool disturbed = run->ran == NULL && (run->disturbed || is_busy(r, key));
    bool counts = !r->stopped && outcome->outcome != PL_OUTCOME_CANCELED;
    if (counts && disturbed && !pl_map_has(&r->keys, key))
        rehearsal_again(r, key);
    else if (counts && !disturbed)
        rehearsal_tell(r, key, run->ran, run->run.capture, error_of(outcome));
    pl_workqueue_done(r->queue, key, rehearsal_now_of(r));
    if (!r->stopped && pl_map_has(&r->keys, key)) { /* another run of the key is to be followed */
        struct pl_add how = {.priority = 0};
        pl_workqueue_add(r->queue, key, &how, rehearsal_now_of(r));
    }
    free_ran(run->ran);
    pl_edition_unref(run->run.edition);
    pl_capture_unref(run->run.capture);
    pl_free(run->key);
    pl_free(run);
    pl_site_release(pl_cluster_site(r->o.cluster));
    drive_later(r);
}

static void rehearsal_cancel(struct run *run, int code, const char *why)
{
    struct pl_err err = {0};
    if (run->canceled)
        return;
    run->canceled = true;
    pl_err_set(&err, code, "%s", why);
    run->rehearsal->o.ops->cancel(run->rehearsal->o.self, &run->run, &err);
}

static void on_rehearsal_timeout(struct pl_timer *timer)
{
    rehearsal_cancel(PL_CONTAINER_OF(timer, struct run, timeout), PL_ETIMEOUT,
                     "the time for a shadow's run is over");
}

/* The run sees what the followed run found, and nothing of later runs. */
static void set_view(struct pl_rehearsal *r, struct run *run)
{
    pl_capture_show_more(run->run.capture, run->ran->capture);
    struct key *key = pl_map_get(&r->keys, run->run.key);
    if (key == NULL)
        return;
    PL_LIST_FOR (link, &key->rans)
        pl_capture_show_more(run->run.capture, PL_CONTAINER_OF(link, struct ran, link)->capture);
}

static const struct pl_run_owner owner = {.finish = on_finished};

static void rehearsal_start(struct pl_rehearsal *r, struct pl_slice text, struct ran *ran)
{
    const struct pl_controller_spec *spec = pl_edition_spec(r->o.edition);
    struct run *run = PL_NEW(struct run);
    int64_t limit = spec->reconcile_timeout_ns;
    limit = limit > 0 && limit < RUN_LIMIT_NS ? limit : RUN_LIMIT_NS;
    run->rehearsal = r;
    run->ran = ran;
    run->key = pl_text_copy(text);
    run->cause.type = PL_CAUSE_RELOAD;
    run->run.edition = pl_edition_ref(r->o.edition);
    run->run.key = pl_slice(run->key, text.len);
    pl_key_split(run->run.key, &run->run.ns, &run->run.name);
    pl_run_set_id(&run->run, pl_rand_u64(pl_site_rand(pl_cluster_site(r->o.cluster))));
    run->run.deadline_ns = rehearsal_now_of(r) + limit;
    run->run.causes = &run->cause;
    run->run.cause_count = 1;
    run->run.capture = pl_capture_create();
    run->run.owner = &owner;
    if (ran != NULL)
        set_view(r, run);
    pl_timer_start(r->timers, &run->timeout, limit, on_rehearsal_timeout);
    pl_list_push(&r->runs, &run->link);
    r->in_flight++;
    pl_site_hold(pl_cluster_site(r->o.cluster));
    r->o.ops->start(r->o.self, &run->run);
}

static void rehearsal_take(struct pl_rehearsal *r, struct pl_slice key)
{
    struct ran *ran = take_ran(r, key);
    if (ran != NULL || !is_busy(r, key)) {
        rehearsal_start(r, key, ran);
        return;
    }
    rehearsal_again(r, key);
    pl_workqueue_done(r->queue, key, rehearsal_now_of(r));
}

static void on_rehearsal_due(struct pl_timer *timer)
{
    drive_later(PL_CONTAINER_OF(timer, struct pl_rehearsal, due));
}

static void drive(struct pl_task *task)
{
    struct pl_rehearsal *r = PL_CONTAINER_OF(task, struct pl_rehearsal, drive);
    struct pl_item item;
    int64_t due_ns;
    r->drive_deferred = false;
    pl_site_release(pl_cluster_site(r->o.cluster));
    while (!r->stopped && r->in_flight < AT_ONCE &&
           pl_workqueue_take(r->queue, &item, rehearsal_now_of(r)) == 0)
        rehearsal_take(r, item.key);
    pl_workqueue_promote(r->queue, rehearsal_now_of(r));
    if (!r->stopped && pl_workqueue_next_due(r->queue, &due_ns))
        pl_timer_start(r->timers, &r->due, due_ns - rehearsal_now_of(r), on_rehearsal_due);
}

static void drive_later(struct pl_rehearsal *r)
{
    if (r->drive_deferred || r->stopped)
        return;
    r->drive_deferred = true;
    pl_site_hold(pl_cluster_site(r->o.cluster));
    pl_site_defer(pl_cluster_site(r->o.cluster), &r->drive, drive);
}

/* ---- each key once ---- */

static void queue_docs(struct pl_rehearsal *r, const struct pl_docs *docs)
{
    struct pl_buf key = PL_BUF_INIT;
    struct pl_add how = {.priority = PL_PRIORITY_LOW};
    for (size_t i = 0; i < docs->count; i++) {
        struct pl_node object = pl_doc_root(docs->items[i]);
        pl_buf_clear(&key);
        if (!pl_object_is_paused(object) && pl_meta_key(object, &key, NULL) == 0)
            pl_workqueue_add(r->queue, pl_buf_slice(&key), &how, rehearsal_now_of(r));
    }
    pl_buf_deinit(&key);
}

static void on_walk(struct pl_timer *timer)
{
    struct pl_rehearsal *r = PL_CONTAINER_OF(timer, struct pl_rehearsal, walk_on);
    const struct pl_controller_spec *spec = pl_edition_spec(r->o.edition);
    if (pl_workqueue_len(r->queue, rehearsal_now_of(r)) >= AHEAD) {
        pl_timer_start(r->timers, timer, WALK_NS, on_walk);
        return;
    }
    while (r->source < spec->source_count && spec->sources[r->source].role != PL_SOURCE_FOR)
        r->source++;
    r->walking = r->source < spec->source_count;
    if (!r->walking)
        return;
    struct pl_docs docs = {0};
    struct pl_informer *informer = pl_edition_informer(r->o.edition, r->source);
    if (!pl_store_walk(pl_informer_store(informer), &r->walk, SLICE_DOCS, &docs)) {
        r->walk = (struct pl_store_walk){0};
        r->source++;
    }
    queue_docs(r, &docs);
    pl_docs_deinit(&docs);
    pl_timer_start(r->timers, timer, 0, on_walk);
    drive_later(r);
}

/* ---- life ---- */

static void on_queue_changed(void *arg)
{
    drive_later(arg);
}

struct pl_rehearsal *pl_rehearsal_create(const struct pl_rehearsal_options *options)
{
    struct pl_rehearsal *r = PL_NEW(struct pl_rehearsal);
    struct pl_workqueue_options queue = {.changed = on_queue_changed, .arg = r};
    r->o = *options;
    r->timers = pl_site_timers(pl_cluster_site(options->cluster));
    pl_list_init(&r->runs);
    r->queue = pl_workqueue_create(&queue);
    r->watcher = (struct pl_run_watcher){.ran = on_rehearsal_ran, .arg = r};
    if (options->running != NULL)
        pl_controller_watch_runs(options->running, &r->watcher);
    if (options->edition != NULL) {
        pl_edition_ref(options->edition);
        r->walking = true;
        pl_timer_start(r->timers, &r->walk_on, 0, on_walk);
    }
    return r;
}

void pl_rehearsal_stop(struct pl_rehearsal *r)
{
    if (r->stopped)
        return;
    r->stopped = true;
    if (r->o.running != NULL)
        pl_controller_watch_runs(r->o.running, NULL);
    r->o.running = NULL;
    pl_timer_stop(r->timers, &r->walk_on);
    pl_timer_stop(r->timers, &r->due);
    drop_all(r);
    PL_LIST_FOR (link, &r->runs)
        rehearsal_cancel(PL_CONTAINER_OF(link, struct run, link), PL_ECANCELED,
                         "the shadow has ended");
}

bool pl_rehearsal_is_quiet(const struct pl_rehearsal *r)
{
    return r->in_flight == 0 && !r->drive_deferred;
}

void pl_rehearsal_destroy(struct pl_rehearsal *r)
{
    if (r == NULL)
        return;
    PL_REQUIRE(r->stopped && pl_rehearsal_is_quiet(r));
    drop_all(r);
    pl_workqueue_destroy(r->queue);
    pl_edition_unref(r->o.edition);
    pl_free(r);
}

void pl_rehearsal_stats(const struct pl_rehearsal *r, struct pl_rehearsal_stats *stats)
{
    *stats =
        (struct pl_rehearsal_stats){.pending = pl_workqueue_len(r->queue, rehearsal_now_of(r)) +
                                               pl_workqueue_waiting(r->queue) + r->in_flight,
                                    .walking = r->walking,
                                    .runs = r->done,
                                    .skipped = r->skipped};
}
