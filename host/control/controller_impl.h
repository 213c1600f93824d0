/* The inside of a controller, shared by controller.c, subscription.c, run.c, ahead.c
 * and controller_metrics.c, and by nobody else. I/O thread. */
#pragma once

#include "base/heap.h"
#include "base/map.h"
#include "base/timer.h"
#include "base/wait.h"
#include "cluster/cluster.h"
#include "control/edition.h"
#include "control/loops.h"
#include "control/tuning.h"
#include "control/waiting.h"
#include "event/causes.h"
#include "event/question.h"
#include "sync/backlog.h"
#include "write/gate.h"
#include "write/pause.h"

/* What is remembered of a key, or of a map function, while it fails. */
struct pl_failing {
    int failures;
    int since;     /* serial of the edition under which it began to */
    char *message; /* owned; of the last error that was logged in full */
    int64_t logged_ns;
    int repeated; /* the same again since then, unsaid */
    int named;    /* of a map function: other objects that failed so, and were said, since then */
};

/* One run. In the controller's runs from its beginning to its end. */
struct pl_run_record {
    struct pl_run run;
    struct pl_link link;        /* in the controller's runs */
    struct pl_run_record *next; /* that follows it, as far as is known here; NULL: none */
    struct pl_cause_list causes;
    struct pl_timer timeout;
    int priority;
    int64_t started_ns;
    bool canceled, timed_out, waited;
    char key[]; /* run.key, run.ns and run.name point into it */
};

/* One source of one controller, or one member of a source that is a family. */
struct pl_subscription {
    size_t number;                       /* among the edition's sources, then its members */
    struct pl_edition *edition;          /* back-pointer */
    struct pl_controller *controller;    /* back-pointer; NULL until one has adopted the edition */
    const struct pl_source_spec *source; /* of the edition's spec, or the member's */
    struct pl_member *member;            /* back-pointer; NULL: a source of the spec */
    struct pl_informer *informer;        /* counted; NULL before start */
    struct pl_handler handler;
    struct pl_follower follower; /* at the informer; unused for Reads */
    struct pl_sync_wait synced;
    bool is_synced;
    char kind[PL_KIND_TEXT];
    const char *cause_kind;    /* the same, of the controller, so that causes outlive the edition */
    size_t initial;            /* questions about the first list that are not answered */
    struct pl_failing failing; /* its map function */
    bool said_foreign;         /* that it gave a key of another shard */
};

/* One kind that a family follows, or has followed. */
struct pl_member {
    size_t family;                /* its place among the edition's sources */
    bool active;                  /* it is followed now */
    struct pl_source_spec source; /* the family's, with a kind; what it points to is the family's */
    struct pl_subscription subscription;
};

/* A paused For object's key. */
struct pl_parked {
    struct pl_wait wait;
    struct pl_link resumed; /* while several are found to be */
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
    struct pl_series *held[22]; /* all of the above, released with the controller */
    size_t held_count;
};

struct pl_edition {
    int refs;
    struct pl_controller_options o;
    struct pl_controller_spec spec;        /* owned */
    struct pl_writer writer;               /* lent to writes */
    struct pl_subscription *subscriptions; /* owned */
    struct pl_member **members; /* owned; they stay until the end, as questions point to them */
    size_t member_count;
    struct pl_controller *controller; /* back-pointer; NULL: of none, or it is gone */
    struct pl_link of_controller;     /* in its list of editions */
    int serial;                       /* counts the controller's editions */
    bool is_open;
    void (*on_sync)(void *arg);
    void *on_sync_arg;
};

struct pl_controller {
    char *name;                            /* owned; of every edition */
    struct pl_cluster *cluster;            /* borrowed for life */
    struct pl_site *site;                  /* the cluster's */
    struct pl_edition *edition;            /* counted: the current one; */
    const struct pl_controller_spec *spec; /* its, */
    struct pl_writer writer;               /* its, */
    struct pl_subscription *subscriptions; /* and its */
    int editions;                          /* so far */
    struct pl_list its_editions;           /* those that are still there: their back-pointers */
    struct pl_timers *timers;              /* the cluster's */
    struct pl_map kinds;                   /* texts of kinds that causes borrow */
    struct pl_workqueue *queue;
    struct pl_causes causes;
    struct pl_map failing; /* key -> struct pl_failing, owned */
    struct pl_map parked;  /* key -> struct pl_parked, owned */
    struct pl_map waiting; /* waiting.c's, owned */
    struct {
        char *message, *key; /* owned; NULL: none yet */
        int64_t at_ns;
    } last_error;
    struct pl_requests requests; /* scratch of subscription.c */

    /* Questions to the implementer. */
    struct pl_heap retries;   /* maps that failed, by due time */
    struct pl_map retry_keys; /* "source key" -> the same */
    struct pl_timer retry;
    struct pl_wait retry_wait; /* for the next of them */
    size_t asked;              /* not answered yet */
    /* There was no room for more retries: */
    bool overflowed;
    size_t unmapped; /* so many events were left out */
    int64_t unmapped_said_ns;
    bool listening;

    struct pl_loops *loops; /* owned; NULL: none of its runs has written */
    struct pl_list askers;  /* loop_report.c's: who is asked for a field's managers */

    struct pl_tuning tuning; /* zero: as declared */
    struct pl_timer tuned;   /* active while something is tuned */

    /* Life. */
    bool started, may_run, running, stopping, told_stopped;
    bool standing_by; /* synced and idle, but may not run */
    bool draining;    /* may not run any more, but runs had not ended then */
    bool task_begun;  /* since it last could not run */
    bool task_ran;    /* at least once, to its end */
    size_t gave_up;   /* keys that failed more often than max_retries, so far */
    bool retired;     /* nothing declares it any more */
    void (*gone)(void *arg, struct pl_controller *controller);
    void *gone_arg;
    enum pl_again showing;          /* why objects are being looked at anew: */
    struct pl_timer show;           /* the next piece, */
    size_t show_source;             /* the source it is at, */
    struct pl_store_walk show_walk; /* and where in it */
    bool sync_timed_out;
    struct pl_timer sync_limit, due, resync;
    struct pl_wait sync_wait;
    struct pl_wait due_wait; /* for the next key that is delayed */
    struct pl_task drive;
    bool drive_deferred;
    struct pl_list runs;
    size_t in_flight;
    struct {                        /* what was handed over before there was room: ahead.c */
        struct pl_run_record *head; /* the run at whose end the others follow; NULL: none may */
        struct pl_run_record *tail; /* the last of them */
        size_t count, most;
        bool moved; /* one of them has begun since the timer was set */
        struct pl_timer limit;
    } ahead;
    struct pl_shards_follower shards; /* the site's, where there are some */
    int64_t grace_ns;                 /* for runs whose shards go; then they are cancelled */
    struct pl_timer drain_limit;      /* of such */
    bool shard_left;                  /* the last run of a shard that goes may have ended */
    void (*stopped)(void *arg);
    void *stopped_arg;
    void (*changed)(void *arg, struct pl_controller *controller);
    void *changed_arg;
    const struct pl_run_watcher *watcher; /* borrowed; NULL: nobody */
    struct pl_controller_metrics metrics;
};

/* Hears nothing and starts nothing any more. */
static inline bool pl_controller_is_over(const struct pl_controller *controller)
{
    return controller->stopping || controller->retired;
}

static inline int64_t pl_controller_now(const struct pl_controller *controller)
{
    return pl_clock_mono(controller->timers->clock);
}

/* ---- subscription.c ---- */

void pl_subscription_init(struct pl_subscription *subscription, struct pl_edition *edition,
                          const struct pl_source_spec *source, size_t number);
void pl_subscription_adopt(struct pl_subscription *subscription, struct pl_controller *controller);
/* Both hear the same events: of one role and one informer. */
bool pl_subscription_is_twin(const struct pl_subscription *a, const struct pl_subscription *b);
/* A cached object is looked at anew. */
void pl_subscription_show_again(struct pl_subscription *subscription, struct pl_doc *object,
                                enum pl_again why);
/* A cached object is told as gone, in its last known state. */
void pl_subscription_show_end(struct pl_subscription *subscription, struct pl_doc *object);
void pl_subscription_start(struct pl_subscription *subscription);
/* Hears nothing more; the informer is released. */
void pl_subscription_stop(struct pl_subscription *subscription);
/* Its informer has synced, and what the implementer was asked about the first list is answered. */
bool pl_subscription_is_ready(const struct pl_subscription *subscription);
/* Every informer has synced: from now on events are heard, first those of what is there. So a
 * map function may read every source of its controller. */
void pl_subscriptions_listen(struct pl_controller *controller);
/* A map function that failed is to be asked again, and has not been so often. */
bool pl_subscriptions_try_again(const struct pl_controller *controller, int tries);
/* Drops what is to be retried. */
void pl_subscriptions_drop(struct pl_controller *controller);
/* What is to be retried is the current edition's business from now on. */
void pl_subscriptions_renew_retries(struct pl_controller *controller);
/* Where events were left out for want of room and there is room now, all is looked at again. */
void pl_subscriptions_check_overflow(struct pl_controller *controller);
void pl_subscriptions_init_retries(struct pl_controller *controller);

/* ---- members.c ---- */

/* Those that have synced are heard from now on, where the controller listens. */
void pl_members_listen(struct pl_controller *controller);
/* A controller goes on under `to`: what `from` follows is followed there, too, where it has the
 * same family. */
void pl_members_carry(struct pl_edition *from, struct pl_edition *to);
void pl_members_hand_over(struct pl_edition *from, struct pl_edition *to);
void pl_members_fall_silent(struct pl_edition *edition);
void pl_members_free(struct pl_edition *edition);
/* That of `edition` which hears the same; NULL: none. */
struct pl_subscription *pl_members_twin(struct pl_edition *edition,
                                        const struct pl_subscription *of);
/* Nothing of what is followed is on its way. One that cannot sync holds up nobody. */
bool pl_members_are_settled(const struct pl_controller *controller);

/* ---- loop_report.c ---- */

void pl_controller_run_wrote(struct pl_run *run, struct pl_node object);
/* An event has queued key; cause: as it was noted; NULL: there were enough. */
void pl_controller_heard(struct pl_subscription *subscription, struct pl_slice key,
                         const struct pl_event *event, const struct pl_cause *cause);
/* A run begins: what has come to light is told. */
void pl_controller_check_loops(struct pl_run *run);
void pl_controller_free_loops(struct pl_controller *controller);

/* ---- run.c ---- */

/* Starts what may start, a little later. */
void pl_controller_drive(struct pl_controller *controller);
/* How many runs may be under way at once. */
static inline int pl_controller_workers(const struct pl_controller *controller)
{
    return controller->tuning.workers > 0 ? controller->tuning.workers
                                          : controller->spec->max_concurrent;
}
/* What the spec says with what is tuned; the caller's. */
struct pl_ratelimit *pl_controller_current_limit(const struct pl_controller *controller);
/* A key's For object as cached (a reference), or NULL. */
struct pl_doc *pl_controller_for_object(struct pl_controller *controller, struct pl_slice key);
/* A run of the item, which has not begun. */
struct pl_run_record *pl_run_create(struct pl_controller *controller, const struct pl_item *item);
/* It has begun at that time. */
void pl_run_begun(struct pl_run_record *run, int64_t at_ns);
void pl_run_free(struct pl_run_record *run);
/* It should end; once is enough. */
void pl_run_cancel(struct pl_run_record *run, const struct pl_err *why);
/* Nothing is known of the key's failures any more. */
void pl_controller_forget_key(struct pl_controller *controller, struct pl_slice key);
/* The runs of one edition; NULL: of all. */
void pl_controller_cancel_all(struct pl_controller *controller, const struct pl_edition *edition,
                              const struct pl_err *why);
/* Those that began under a spec for leaders only. */
void pl_controller_cancel_as_leader(struct pl_controller *controller, const struct pl_err *why);
/* Every run is asked to come to its end by itself. */
void pl_controller_ask_to_stop(struct pl_controller *controller);
void pl_controller_free_keys(struct pl_controller *controller);

/* ---- ahead.c: runs are handed over before there is room for them ---- */

/* pl_run_owner.waits */
void pl_controller_run_waits(struct pl_run *waiting);
/* There is no more room: the next keys follow the run that began last, where its like have not
 * waited for anything. */
void pl_controller_hand_ahead(struct pl_controller *controller);
/* The run began in its turn: others may follow it. */
void pl_controller_may_follow(struct pl_controller *controller, struct pl_run_record *run);
/* The run, which is not counted any more, ended then: the one that follows it has begun. */
void pl_controller_follow_up(struct pl_controller *controller, struct pl_run_record *run,
                             int64_t ended_ns);

/* ---- parked.c ---- */

/* Its For object says that it is not to be reconciled for now. */
bool pl_controller_is_paused(struct pl_controller *controller, struct pl_slice key);
/* The key that was taken is handed back and parked, if its For object is paused. */
bool pl_controller_park(struct pl_controller *controller, const struct pl_item *item);
/* A parked key goes back to the queue. */
void pl_controller_unpark(struct pl_controller *controller, struct pl_slice key);
/* The same for all whose For object is not paused any more, or another one. */
void pl_controller_check_parked(struct pl_controller *controller);
/* Harmless when it is not. */
void pl_controller_drop_parked(struct pl_controller *controller, struct pl_slice key);
void pl_controller_free_parked(struct pl_controller *controller);

/* ---- task.c; harmless for what is no task ---- */

/* It has begun to run: its first run is queued. */
void pl_controller_task_begin(struct pl_controller *controller);
/* Another edition than that of `old` is current. */
void pl_controller_task_adopted(struct pl_controller *controller, const struct pl_task_spec *old,
                                bool changed);
/* Of a task: a run ended, and what that leads to. */
void pl_controller_task_ended(struct pl_controller *controller, struct pl_slice key,
                              const struct pl_outcome_of_run *outcome, int64_t took_ns);

/* ---- edition.c ---- */

/* Those of its sources that may be opened and are not. */
void pl_edition_open_sources(struct pl_edition *edition);
/* The edition is the current one; a reference is taken. */
void pl_controller_use(struct pl_controller *controller, struct pl_edition *edition);
/* At its end. Editions that others hold keep their sources, and do not know it any more. */
void pl_controller_leave_editions(struct pl_controller *controller);
/* Enqueues every key again, at low priority and piece by piece. */
void pl_controller_show_again(struct pl_controller *controller, enum pl_again why);
void pl_controller_stop_showing(struct pl_controller *controller);

/* ---- sharing.c ---- */

void pl_controller_follow_shards(struct pl_controller *controller);
void pl_controller_unfollow_shards(struct pl_controller *controller);
/* The key is in a shard of ours that runs; what can't be placed is in none. */
bool pl_controller_may_queue(struct pl_controller *controller, struct pl_slice key);
/* The same of a key that an event gave; a map function's mistake is said and counted. */
bool pl_subscription_may_queue(struct pl_subscription *subscription, const struct pl_event *event,
                               struct pl_slice key);
/* What was queued may begin: it is not known to be in another's shard. */
bool pl_controller_may_begin(struct pl_controller *controller, struct pl_slice key);
/* A run has ended, and is to be followed by another. */
bool pl_controller_may_run_again(struct pl_controller *controller, const struct pl_run_record *run);
/* What has no keys of its own: shard 0 is ours. */
bool pl_controller_is_here(struct pl_controller *controller);
/* pl_run.shard */
unsigned pl_controller_run_shard(struct pl_controller *controller, struct pl_slice key);
/* The run has ended. */
void pl_controller_run_left_shard(struct pl_controller *controller,
                                  const struct pl_run_record *run);
/* Whoever waits for shards to drain hears of it. */
void pl_controller_tell_left(struct pl_controller *controller);
/* Says of each source which part it keeps, as far as it is known. */
void pl_edition_share(struct pl_edition *edition);
/* False: that is not known before the For kind is. */
bool pl_edition_may_open(const struct pl_edition *edition, size_t source);

/* ---- controller.c ---- */

struct pl_ratelimit *pl_controller_make_limit(const struct pl_controller_spec *spec);
void pl_controller_arm_resync(struct pl_controller *controller);
void pl_controller_stop_timers(struct pl_controller *controller);
/* It does not run until its sources have synced. */
void pl_controller_await_sources(struct pl_controller *controller);

/* Since when it waits stays: for one after another, of however many. */
void pl_controller_wait_until(struct pl_controller *controller, struct pl_wait *wait,
                              const char *name, int64_t due_ns);

/* Something that readiness depends on has changed. */
void pl_controller_check(struct pl_controller *controller);

/* ---- controller_history.c: what `perilune why` will tell ---- */

void pl_controller_note(struct pl_controller *controller, struct pl_slice key,
                        enum pl_happening what, int64_t amount, const char *detail);
/* cause: with what the event changed; NULL: unknown. */
void pl_controller_note_event(struct pl_subscription *subscription, struct pl_slice key,
                              const struct pl_event *event, const struct pl_cause *cause);
/* A predicate dropped it: noted for the keys that it would have queued, where the core knows. */
void pl_controller_note_dropped(struct pl_subscription *subscription, const struct pl_event *event);
/* pl_run_owner.called */
void pl_controller_run_called(struct pl_run *run, struct pl_slice what, struct pl_slice result,
                              int64_t took_ns);
void pl_controller_note_outcome(struct pl_controller *controller, const struct pl_run *run,
                                const struct pl_outcome_of_run *outcome, int64_t took_ns);

/* ---- controller_metrics.c ---- */

void pl_controller_metrics_init(struct pl_controller *controller);
void pl_controller_metrics_deinit(struct pl_controller *controller);
void pl_controller_metrics_run(struct pl_controller *controller, enum pl_outcome outcome,
                               bool timed_out, int64_t took_ns);
