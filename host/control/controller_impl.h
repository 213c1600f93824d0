/* The inside of a controller, shared by the files that its sections below name, and by nobody else.
 * I/O thread. */
#pragma once

#include "base/heap.h"
#include "base/map.h"
#include "base/timer.h"
#include "base/wait.h"
#include "cluster/cluster.h"
#include "control/edition.h"
#include "control/write_loops.h"
#include "control/tuning.h"
#include "control/waiting.h"
#include "event/causes.h"
#include "event/question.h"
#include "sync/backlog.h"
#include "write/gate.h"
#include "write/pause.h"

/* State of a key, or of a map function, while it fails. */
struct pl_failing {
    int failures;
    int since;     /* serial of the edition under which it began to fail */
    char *message; /* owned; the last error that was logged in full */
    int64_t logged_ns;
    int repeated; /* unlogged repetitions since then */
    int named;    /* for a map function: other objects that failed in the same way and were logged
                     since then */
};

/* One run. In the controller's runs from its beginning to its end. */
struct pl_run_record {
    struct pl_run run;
    struct pl_link link;        /* in the controller's runs */
    struct pl_run_record *next; /* the run that follows it; NULL: none */
    struct pl_cause_list causes;
    struct pl_timer timeout;
    int priority;
    int64_t started_ns;
    bool canceled, timed_out, waited;
    char key[]; /* run.key, run.ns and run.name point into it */
};

/* One source of one controller, or one member of a source that is a family. */
struct pl_subscription {
    size_t number;              /* index among the edition's sources, then its members */
    struct pl_edition *edition; /* back-pointer */
    struct pl_controller
        *controller; /* back-pointer; NULL until a controller has adopted the edition */
    const struct pl_source_spec *source; /* a source of the edition's spec, or the member's */
    struct pl_member *member;            /* back-pointer; NULL: a source of the spec */
    struct pl_informer *informer;        /* counted; NULL before start */
    struct pl_handler handler;
    struct pl_follower follower; /* registered at the informer; unused for Reads */
    struct pl_sync_wait synced;
    bool is_synced;
    char kind[PL_KIND_TEXT];
    const char *
        cause_kind; /* the same text, owned by the controller, so that causes outlive the edition */
    size_t initial; /* unanswered questions about the first list */
    struct pl_failing failing; /* state of its map function */
    bool said_foreign;         /* it was logged that the map function gave a key of another shard */
};

/* One kind that a family follows, or has followed. */
struct pl_member {
    size_t family; /* its place among the edition's sources */
    bool active;   /* the family follows it now */
    struct pl_source_spec
        source; /* the family's source with this kind; the family owns what it points to */
    struct pl_subscription subscription;
};

/* The key of a paused For object. */
struct pl_parked {
    struct pl_wait wait;
    struct pl_link resumed; /* used while several are resumed */
    char *key;              /* owned */
    int priority;
};

struct pl_controller_metrics {
    bool on;
    struct pl_series *success, *error, *requeue, *requeue_after;
    struct pl_series *errors, *terminal, *timeouts, *seconds;
    struct pl_series *loops, *fights;
    struct pl_series *active, *max_concurrent, *waiting;
    struct pl_series *depth, *adds, *retries, *unfinished, *longest, *latency, *work;
    uint64_t adds_seen, retries_seen;
    struct pl_series *held[22]; /* all series above, released with the controller */
    size_t held_count;
};

struct pl_edition {
    int refs;
    struct pl_controller_options o;
    struct pl_controller_spec spec;        /* owned */
    struct pl_writer writer;               /* lent to its writes */
    struct pl_subscription *subscriptions; /* owned */
    struct pl_member **members; /* owned until the edition's end, since questions point to them */
    size_t member_count;
    struct pl_controller *controller; /* back-pointer; NULL: none, or it is destroyed */
    struct pl_link of_controller;     /* in its list of editions */
    int serial;                       /* number within the controller */
    bool is_open;
    void (*on_sync)(void *arg);
    void *on_sync_arg;
};

struct pl_controller {
    char *name;                            /* owned; the same in every edition */
    struct pl_cluster *cluster;            /* borrowed for life */
    struct pl_site *site;                  /* the cluster's site */
    struct pl_edition *edition;            /* counted: the current edition */
    const struct pl_controller_spec *spec; /* of the current edition */
    struct pl_writer writer;               /* the current edition as a writer */
    struct pl_subscription *subscriptions; /* of the current edition */
    int editions;                          /* number of editions so far */
    struct pl_list its_editions;           /* existing editions: their back-pointers */
    struct pl_timers *timers;              /* the cluster's */
    struct pl_map kinds;                   /* texts of kinds, which causes borrow */
    struct pl_workqueue *queue;
    struct pl_causes causes;
    struct pl_map failing; /* key -> struct pl_failing, owned */
    struct pl_map parked;  /* key -> struct pl_parked, owned */
    struct pl_map waiting; /* owned by waiting.c */
    struct {
        char *message, *key; /* owned; NULL: none yet */
        int64_t at_ns;
    } last_error;
    struct pl_requests requests; /* scratch of subscription.c */

    /* Questions to the implementer. */
    struct pl_heap retries;   /* maps that failed, by due time */
    struct pl_map retry_keys; /* "source key" -> the same entries */
    struct pl_timer retry;
    struct pl_wait retry_wait; /* for the next retry */
    size_t asked;              /* unanswered questions */
    /* There was no room for more retries: */
    bool overflowed;
    size_t unmapped; /* number of events that were left out */
    int64_t unmapped_said_ns;
    bool listening;

    struct pl_write_loops *loops; /* owned; NULL: no run has written yet */
    struct pl_list askers;        /* write_loop_report.c: reads of objects for a field's managers */

    struct pl_tuning tuning; /* zero: as declared */
    struct pl_timer tuned;   /* active while a tuning is set */

    /* Life cycle. */
    bool started, may_run, running, stopping, told_stopped;
    bool standing_by; /* synced and idle, but may not run */
    bool was_away;    /* has run, and then another replica could act in its place */
    bool draining;    /* may not run any more, but has running runs left */
    bool task_begun;  /* since it last could not run */
    bool task_ran;    /* has run to its end at least once */
    size_t gave_up;   /* number of keys that have failed more often than max_retries */
    bool retired;     /* no generation declares it any more */
    void (*gone)(void *arg, struct pl_controller *controller);
    void *gone_arg;
    enum pl_again showing;          /* why all objects are being queued again */
    struct pl_timer show;           /* of that work: the time of its next piece */
    size_t show_source;             /* of that work: the current source */
    struct pl_store_walk show_walk; /* of that work: the position in the source */
    bool sync_timed_out;
    struct pl_timer sync_limit, due, resync;
    struct pl_wait sync_wait;
    struct pl_wait due_wait; /* for the next delayed key */
    int64_t late_ns;         /* pl_controller_set_lateness */
    struct pl_task drive;
    bool drive_deferred;
    struct pl_list runs;
    size_t in_flight;
    struct { /* runs that were handed over early: prefetch.c */
        struct pl_run_record
            *head; /* the run at whose end the others follow; NULL: none may follow */
        struct pl_run_record *tail; /* the last one */
        size_t count, most;
        bool moved; /* one of them has begun since the timer was set */
        struct pl_timer limit;
    } prefetch;
    struct pl_shards_follower shards; /* of the site's shards, if there are any */
    int64_t grace_ns;                 /* time for runs of leaving shards; then they are cancelled */
    struct pl_timer drain_limit;      /* for these runs */
    bool shard_left;                  /* the last run of a leaving shard may have ended */
    void (*stopped)(void *arg);
    void *stopped_arg;
    void (*changed)(void *arg, struct pl_controller *controller);
    void *changed_arg;
    const struct pl_run_watcher *watcher; /* borrowed; NULL: none */
    struct pl_controller_metrics metrics;
};

/* True when it receives no events and starts no runs any more. */
static inline bool pl_controller_is_over(const struct pl_controller *controller)
{
    return controller->stopping || controller->retired;
}

static inline int64_t pl_controller_now(const struct pl_controller *controller)
{
    return pl_clock_mono(controller->timers->clock);
}

/* Delayed keys that are due until then are not late any more (pl_controller_set_lateness). */
static inline int64_t pl_controller_due_until(const struct pl_controller *controller)
{
    return pl_controller_now(controller) - controller->late_ns;
}

/* ---- subscription.c ---- */

void pl_subscription_init(struct pl_subscription *subscription, struct pl_edition *edition,
                          const struct pl_source_spec *source, size_t number);
void pl_subscription_adopt(struct pl_subscription *subscription, struct pl_controller *controller);
/* True when both receive the same events: the same role and informer. */
bool pl_subscription_is_twin(const struct pl_subscription *a, const struct pl_subscription *b);
/* Evaluates an event: its keys are queued, or the implementer is asked. Does nothing when the
 * controller is over. The event is borrowed for the call. */
void pl_subscription_deliver(struct pl_subscription *subscription, const struct pl_event *event);
/* Evaluates the event of an answered question; the caller keeps the question. */
void pl_subscription_answered(struct pl_subscription *subscription, struct pl_asked *asked);
/* Evaluates a cached object again. */
void pl_subscription_show_again(struct pl_subscription *subscription, struct pl_doc *object,
                                enum pl_again why);
/* Delivers a cached object as deleted, in its last known state. */
void pl_subscription_show_end(struct pl_subscription *subscription, struct pl_doc *object);
void pl_subscription_start(struct pl_subscription *subscription);
/* Ends the events; the informer is released. */
void pl_subscription_stop(struct pl_subscription *subscription);
/* True when its informer has synced, and all questions about the first list are answered. */
bool pl_subscription_is_ready(const struct pl_subscription *subscription);
/* Every informer has synced: events are delivered from now on, beginning with the stored objects.
 * So a map function may read every source of its controller. */
void pl_subscriptions_listen(struct pl_controller *controller);

/* ---- asking.c: questions about events, and those that wait to be asked again ---- */

void pl_subscriptions_init_retries(struct pl_controller *controller);
/* Asks the implementer what the core cannot decide about an event: its map function, if it has one,
 * and with `predicates` its predicates. The event's documents and the edition are held until the
 * answer has been used. */
void pl_subscription_ask(struct pl_subscription *subscription, const struct pl_event *event,
                         bool predicates);
/* Whether a failed map function should be asked again after this number of attempts. */
bool pl_subscriptions_try_again(const struct pl_controller *controller, int tries);
/* Drops all retries. */
void pl_subscriptions_drop(struct pl_controller *controller);
/* Retries are now questions to the current edition's code. */
void pl_subscriptions_renew_retries(struct pl_controller *controller);
/* If events were left out for lack of room and there is room now, all objects are evaluated again.
 */
void pl_subscriptions_check_overflow(struct pl_controller *controller);

/* ---- members.c ---- */

/* Synced members receive events from now on, if the controller does. */
void pl_members_listen(struct pl_controller *controller);
/* A controller adopts `to`: kinds that `from` follows are followed there, too, if it has the same
 * family. */
void pl_members_carry(struct pl_edition *from, struct pl_edition *to);
void pl_members_hand_over(struct pl_edition *from, struct pl_edition *to);
void pl_members_fall_silent(struct pl_edition *edition);
void pl_members_free(struct pl_edition *edition);
/* The member of `edition` that receives the same events; NULL: none. It belongs to `edition`. */
struct pl_subscription *pl_members_twin(struct pl_edition *edition,
                                        const struct pl_subscription *of);
/* True when no event of followed kinds is under way. A member that cannot sync does not count. */
bool pl_members_are_settled(const struct pl_controller *controller);

/* ---- write_loop_report.c ---- */

void pl_controller_run_wrote(struct pl_run *run, struct pl_node object);
/* An event has queued key; cause: as it was noted; NULL: there were enough causes. */
void pl_controller_heard(struct pl_subscription *subscription, struct pl_slice key,
                         const struct pl_event *event, const struct pl_cause *cause);
/* At the beginning of a run: reports detected loops. */
void pl_controller_check_loops(struct pl_run *run);
void pl_controller_free_loops(struct pl_controller *controller);

/* ---- run.c ---- */

/* Starts as many runs as possible, a little later. */
void pl_controller_drive(struct pl_controller *controller);
/* The limit of concurrent runs. */
static inline int pl_controller_workers(const struct pl_controller *controller)
{
    return controller->tuning.workers > 0 ? controller->tuning.workers
                                          : controller->spec->max_concurrent;
}
/* The limiter of the spec with the current tuning; the caller owns it. */
struct pl_ratelimit *pl_controller_current_limit(const struct pl_controller *controller);
/* A reference to the cached For object of a key, or NULL. */
struct pl_doc *pl_controller_for_object(struct pl_controller *controller, struct pl_slice key);
/* Creates a run of the item, which has not begun. The caller owns it (pl_run_free). */
struct pl_run_record *pl_run_create(struct pl_controller *controller, const struct pl_item *item);
/* The run began at that time. */
void pl_run_begun(struct pl_run_record *run, int64_t at_ns);
void pl_run_free(struct pl_run_record *run);
/* Asks the run to end; repeated calls have no effect. */
void pl_run_cancel(struct pl_run_record *run, const struct pl_err *why);
/* Forgets the failures of the key. */
void pl_controller_forget_key(struct pl_controller *controller, struct pl_slice key);
/* Cancels the runs of one edition; NULL: of all. */
void pl_controller_cancel_all(struct pl_controller *controller, const struct pl_edition *edition,
                              const struct pl_err *why);
/* Cancels the runs that began under a leader-only spec. */
void pl_controller_cancel_as_leader(struct pl_controller *controller, const struct pl_err *why);
/* Asks every run to end by itself. */
void pl_controller_ask_to_stop(struct pl_controller *controller);
void pl_controller_free_keys(struct pl_controller *controller);

/* ---- prefetch.c: runs that are handed over before there is room for them ---- */

/* Implements pl_run_owner.waits. */
void pl_controller_run_waits(struct pl_run *waiting);
/* There is no more room: the next keys follow the run that began last, if similar runs have not
 * waited. */
void pl_controller_prefetch(struct pl_controller *controller);
/* The run began in its turn: others may follow it. */
void pl_controller_may_follow(struct pl_controller *controller, struct pl_run_record *run);
/* The run, which is not counted any more, ended at that time: its follower has begun. */
void pl_controller_follow_up(struct pl_controller *controller, struct pl_run_record *run,
                             int64_t ended_ns);

/* ---- parked.c ---- */

/* True when its For object is paused. */
bool pl_controller_is_paused(struct pl_controller *controller, struct pl_slice key);
/* If the For object of the taken key is paused, the key is handed back and parked. */
bool pl_controller_park(struct pl_controller *controller, const struct pl_item *item);
/* Moves a parked key back to the queue. */
void pl_controller_unpark(struct pl_controller *controller, struct pl_slice key);
/* The same for all keys whose For object is not paused any more, or was replaced. */
void pl_controller_check_parked(struct pl_controller *controller);
/* Does nothing when it is not parked. */
void pl_controller_drop_parked(struct pl_controller *controller, struct pl_slice key);
void pl_controller_free_parked(struct pl_controller *controller);

/* ---- task.c; the functions do nothing for controllers that are not tasks ---- */

/* It has begun to run: queues its first run. */
void pl_controller_task_begin(struct pl_controller *controller);
/* A new edition replaces that of `old`. */
void pl_controller_task_adopted(struct pl_controller *controller, const struct pl_task_spec *old,
                                bool changed);
/* A run of a task has ended: decides when the next one is. */
void pl_controller_task_ended(struct pl_controller *controller, struct pl_slice key,
                              const struct pl_outcome_of_run *outcome, int64_t took_ns);

/* ---- edition.c ---- */

/* Opens the sources that may be opened and are not open. */
void pl_edition_open_sources(struct pl_edition *edition);
/* Makes the edition the current one; a reference is taken. */
void pl_controller_use(struct pl_controller *controller, struct pl_edition *edition);
/* At the controller's end. Editions with other holders keep their sources, without the controller.
 */
void pl_controller_leave_editions(struct pl_controller *controller);
/* Queues every key again, at low priority and in pieces. */
void pl_controller_show_again(struct pl_controller *controller, enum pl_again why);
void pl_controller_stop_showing(struct pl_controller *controller);
/* Queues every key again if another replica could act since this one last did: a key may have
 * failed there. Does nothing before its sources are heard. */
void pl_controller_catch_up(struct pl_controller *controller);

/* ---- key_shards.c ---- */

void pl_controller_follow_shards(struct pl_controller *controller);
void pl_controller_unfollow_shards(struct pl_controller *controller);
/* True when the key is in a shard of ours that runs; a key without a known shard is not. */
bool pl_controller_may_queue(struct pl_controller *controller, struct pl_slice key);
/* The same for a key from an event; an error of a map function is logged and counted. */
bool pl_subscription_may_queue(struct pl_subscription *subscription, const struct pl_event *event,
                               struct pl_slice key);
/* True when a queued key may begin: it is not known to be in another replica's shard. */
bool pl_controller_may_begin(struct pl_controller *controller, struct pl_slice key);
/* Whether the key of an ended run may run again. */
bool pl_controller_may_run_again(struct pl_controller *controller, const struct pl_run_record *run);
/* For controllers without keys: whether shard 0 is ours. */
bool pl_controller_is_here(struct pl_controller *controller);
/* For controllers without keys: whether another replica has shard 0, so that nothing runs here. */
bool pl_controller_is_elsewhere(const struct pl_controller *controller);
/* The value for pl_run.shard. */
unsigned pl_controller_run_shard(struct pl_controller *controller, struct pl_slice key);
/* The run has ended. */
void pl_controller_run_left_shard(struct pl_controller *controller,
                                  const struct pl_run_record *run);
/* Tells those that wait for shards to drain. */
void pl_controller_tell_left(struct pl_controller *controller);
/* Sets for each source which part it keeps, as far as known. */
void pl_edition_share(struct pl_edition *edition);
/* False: the part is unknown until the For kind is known. */
bool pl_edition_may_open(const struct pl_edition *edition, size_t source);

/* ---- controller.c ---- */

void pl_controller_arm_resync(struct pl_controller *controller);
void pl_controller_stop_timers(struct pl_controller *controller);
/* Registers the wait for its sources. */
void pl_controller_await_sources(struct pl_controller *controller);

/* Moves the deadline and keeps the start: for a sequence of waits. */
void pl_controller_wait_until(struct pl_controller *controller, struct pl_wait *wait,
                              const char *name, int64_t due_ns);

/* A condition of its readiness has changed. */
void pl_controller_check(struct pl_controller *controller);

/* ---- controller_history.c: the history for `perilune why` ---- */

void pl_controller_note(struct pl_controller *controller, struct pl_slice key,
                        enum pl_happening what, int64_t amount, const char *detail);
/* cause: with the changes of the event; NULL: unknown. */
void pl_controller_note_event(struct pl_subscription *subscription, struct pl_slice key,
                              const struct pl_event *event, const struct pl_cause *cause);
/* A predicate dropped the event: noted for the keys that it would have queued, if the core knows
 * them. */
void pl_controller_note_dropped(struct pl_subscription *subscription, const struct pl_event *event);
/* Implements pl_run_owner.called. */
void pl_controller_run_called(struct pl_run *run, struct pl_slice what, struct pl_slice result,
                              int64_t took_ns);
void pl_controller_note_outcome(struct pl_controller *controller, const struct pl_run *run,
                                const struct pl_outcome_of_run *outcome, int64_t took_ns);

/* ---- controller_metrics.c ---- */

void pl_controller_metrics_init(struct pl_controller *controller);
void pl_controller_metrics_deinit(struct pl_controller *controller);
void pl_controller_metrics_run(struct pl_controller *controller, enum pl_outcome outcome,
                               bool timed_out, int64_t took_ns);
